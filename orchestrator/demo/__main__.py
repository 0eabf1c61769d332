"""Runs the demo: `python -m orchestrator.demo`, which `make demo` calls."""

import sys

from orchestrator.demo.demo import main
from orchestrator.process.crash import guarded

if __name__ == "__main__":
    sys.exit(guarded(main))

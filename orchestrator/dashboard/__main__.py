"""Write the dashboard to stdout."""

import sys

from orchestrator.crash import guarded
from orchestrator.dashboard.dashboard import text
from orchestrator.terminal import write_document

sys.exit(guarded(lambda: write_document(text())))

"""Write the dashboard to stdout."""

import sys

from orchestrator.dashboard.dashboard import text

sys.stdout.write(text())

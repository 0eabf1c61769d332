"""Write the dashboard to stdout."""

from orchestrator.dashboard.dashboard import text
from orchestrator.terminal import write_document

write_document(text())

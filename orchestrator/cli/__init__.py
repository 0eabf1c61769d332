"""The command line, one file a command; importing it stays light."""

import signal
import sys

_is_program = sys.argv[0].endswith(("/kraftgate", "/orchestrator/__main__.py"))
if _is_program and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    # Ctrl-C during the imports ends the program without a traceback; Program.main handles it later.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from orchestrator.cli.program import main  # noqa: E402

__all__ = ["main"]

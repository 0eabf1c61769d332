"""The page of exit codes, from their enum."""

from typing import Final

from orchestrator.errors import ExitCode
from orchestrator.reference.markdown import page, table

_NOTES: Final = """
A command that fails prints one line to stderr: what failed, the value, the place and the fix. An
error that Kraftgate does not know ends with 1; the message then names the file that holds the
traceback.
"""


def exit_codes() -> str:
    """Return the page."""
    codes = table(("code", "meaning"), [(str(int(each)), each.meaning) for each in ExitCode])
    return page(
        "Exit codes",
        "Every command uses the same exit codes. A script can rely on them.",
        codes,
        _NOTES,
    )

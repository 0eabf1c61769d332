"""The copy of an executed runbook, and how to continue if its file was changed since."""

from pathlib import Path

from orchestrator.audit.execution.entries import RUNBOOKS


def kept_runbook(state_dir: Path, sha256: str) -> Path:
    """Return the file that holds the text with which an execution began, if it was kept."""
    return state_dir / RUNBOOKS / f"{sha256}.yaml"


def restore_words(file: Path, kept: Path) -> str:
    """Return how to restore the text; a bundled runbook cannot be restored after an upgrade."""
    if not kept.is_file():
        return f"restore {file}"
    return f"restore {file}, or set `runbook.file` to {kept}, the text that it began with"

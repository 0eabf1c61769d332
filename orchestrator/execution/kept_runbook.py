"""The copy of an executed runbook, and how to continue if another one is configured."""

from pathlib import Path

from orchestrator.audit.execution.entries import RUNBOOKS


def kept_runbook(state_dir: Path, sha256: str) -> Path:
    """Return the file that holds the text with which an execution began, if it was kept."""
    return state_dir / RUNBOOKS / f"{sha256}.yaml"


def set_words(name: str, kept: Path) -> str:
    """Return how to configure the runbook of an execution, given its name."""
    if not kept.is_file():
        return f"set `runbook.file` to the file of the runbook {name}"
    return f"set `runbook.file` to {kept}, the text that it began with"


def restore_words(file: Path, name: str, kept: Path) -> str:
    """Return how to restore the text; a bundled runbook cannot be restored after an upgrade."""
    return f"restore {file}" + (f", or {set_words(name, kept)}" if kept.is_file() else "")

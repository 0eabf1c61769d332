"""What the nodes of a lab logged as errors: a test that fails prints it, CI shows nothing else."""

import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final
from weakref import WeakSet

from orchestrator.lab.cluster.processes import LabProcesses

_FAULT: Final = re.compile(r"\b(ERROR|FATAL)\b")
_LINES_MAX: Final = 20

Section = tuple[str, str]

_running: Final[WeakSet[LabProcesses]] = WeakSet()
_ended: Final[list[Section]] = []
"""Of labs that were closed since the test began, whose homes may be gone."""


def watch() -> None:
    """Begin with a test: watch the labs of this process, and forget those that ended before."""
    _ended.clear()
    if not hasattr(LabProcesses.close, "__wrapped__"):
        setattr(LabProcesses, "close", _keeping(LabProcesses.close))  # noqa: B010  # for mypy
        setattr(LabProcesses, "__enter__", _noticed(LabProcesses.__enter__))  # noqa: B010


def sections() -> list[Section]:
    """Return a section for each node of the test's labs."""
    return [*_ended, *(each for lab in _running for each in faults(lab.home / "logs"))]


def faults(logs: Path) -> list[Section]:
    """Return for each node the last errors that it logged, and how its log ends."""
    found = []
    for file in sorted(logs.glob("*.log")):
        lines = file.read_text("utf-8", "replace").splitlines()
        errors = [line for line in lines if _FAULT.search(line)][-_LINES_MAX:]
        shown = [*errors, f"... the last of {len(lines)} lines:", *lines[-_LINES_MAX // 2 :]]
        found.append((f"lab {file.stem}", "\n".join(shown)))
    return found


def _noticed(enter: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @wraps(enter)
    def noticed(lab: LabProcesses) -> Any:
        _running.add(lab)
        return enter(lab)

    return noticed


def _keeping(close: Callable[[Any], None]) -> Callable[[Any], None]:
    @wraps(close)
    def keeping(lab: LabProcesses) -> None:
        if lab in _running:
            _running.discard(lab)
            _ended.extend(faults(lab.home / "logs"))
        close(lab)

    return keeping

"""The status of a runbook's execution, next to the store: `clusters/NAME/walk.json`.

The process that executes the runbook writes the file and has the status in memory; other processes
read the file. Decisions are in the audit trail, not here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from orchestrator.audit.execution.entries import RecordedFinding
from orchestrator.audit.execution.state import STAGE_WORDS, Stage, Unexpected
from streams.state.files import make_parents, replace_file

EXECUTION_FILE: Final = "walk.json"
IF_BEGUN: Final = "Complete the step if it was begun: "
"""Before a step that must not be begun now, and that may be half done."""


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", from_attributes=True)


class CheckpointStatus(_Stored):
    """One entered checkpoint, by its name in the audit trail."""

    id: str
    stage: Stage
    how: str | None
    entered_ms: int | None
    ended_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What an operator must do so that the execution continues.

    Attributes:
        text: a sentence; "": nothing.
        why: the cause; "": `text` says it.
        commands: that it needs, complete, the most likely first.
    """

    text: str = ""
    why: str = ""
    commands: tuple[str, ...] = ()


class ExecutionStatus(_Stored):
    """The status of a cluster's execution at one tick.

    Attributes that `Execution` has, too, are described there.

    Attributes:
        execute: whether hooks perform the steps.
        output: the last lines that the failed hook printed.
        can: the actions that an operator may take now.
        at: what each of them concerns, as an opaque value.
        people: how many people must approve the step before it begins; 0: none.
        basis: the state that an approval would be given for; None: none is needed.
        approved_by: who approved, as far as the approvals are in force; one entry for each login.
        unexpected: changes in the cluster that no step made, newest last.
        has_effect: whether the gate shows the effect of a step that was shown.
    """

    at_ms: int
    runbook: str
    checkpoint: str | None
    title: str | None
    stage: Stage | None
    holds: tuple[str, ...]
    findings: tuple[RecordedFinding, ...]
    shown: str | None
    path: str | None
    paused: str | None
    outcome: str | None
    execute: bool
    asks: str | None
    places: tuple[CheckpointStatus, ...]
    unexpected: tuple[Unexpected, ...]
    people: int = 0
    basis: Mapping[str, str] | None = None
    approved_by: tuple[str, ...] = ()
    finalize_is_near: bool | None = None
    finalize_is_in_progress: bool | None = None
    controllers_stop: bool = False
    place: str = ""
    turn: str = ""
    why: str = ""
    commands: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    can: tuple[str, ...] = ()
    at: Mapping[str, str] = {}
    has_effect: bool = False
    in_zookeeper_mode: Mapping[int, int] = {}

    @property
    def stage_text(self) -> str | None:
        """The stage as text for views; None: it is not shown."""
        if self.stage is None:
            return None
        if self.stage is Stage.SHOWN and (not self.turn or self.turn.startswith(IF_BEGUN)):
            return STAGE_WORDS[Stage.STEP_DONE] if self.has_effect else "do not begin it now"
        return STAGE_WORDS.get(self.stage)

    def says_the_same(self, later: "ExecutionStatus", within_ms: int) -> bool:
        """Return whether `later` differs only in its time, by less than `within_ms`."""
        as_old = later.model_copy(update={"at_ms": self.at_ms})
        return abs(later.at_ms - self.at_ms) < within_ms and as_old == self


def write(file: Path, status: ExecutionStatus) -> None:
    """Replace the file with this status, atomically."""
    make_parents(file, 2)
    replace_file(file, status.model_dump_json(), durable=False)


def read_for(state_dir: Path, cluster: str) -> ExecutionStatus | None:
    return read(state_dir / "clusters" / cluster / EXECUTION_FILE)


def read(file: Path) -> ExecutionStatus | None:
    """Read the last status; None: there is none, or none that this version can read."""
    try:
        return ExecutionStatus.model_validate_json(file.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None

"""The audit entries of an execution: one typed body for each kind of entry.

The state of the execution is a fold over these entries (`orchestrator.audit.execution.state`), and
nothing else is stored, so that a reader of the audit trail has everything that the orchestrator
had. `checkpoint` is an instance: an id, with the broker or controller in brackets if the checkpoint
is repeated for each (`brokers-kraft[3]`).
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from migration.assessment.conditions import Finding, Verdict
from migration.metadata.event_kinds import Weight
from migration.values.evidence import joined
from orchestrator.audit.execution.running_step import RunningStep
from orchestrator.audit.kinds import EntryBody, EntryKind
from orchestrator.runbook.model import Part

JsonFacts: TypeAlias = Mapping[str, object]
Decision: TypeAlias = Literal["done", "repeat", "execute"]
_DECISIONS: Final[Mapping[Decision, str]] = {
    "done": "done",
    "repeat": "to be repeated",
    "execute": "to be performed by its hook",
}

Outcome: TypeAlias = Literal["completed", "rolled-back", "aborted"]
HOW_ENDED: Final[Mapping[Outcome, str]] = {
    "completed": "was completed",
    "rolled-back": "was rolled back",
    "aborted": "was aborted",
}

RUNBOOKS: Final = "runbooks"
"""The directory below the state directory with the text of every executed runbook, by its hash."""


CONSOLE_LOGIN: Final = "console"
"""The login of everyone who has the console's token: together they count as one person."""


class Person(BaseModel):
    """Who decided.

    Attributes:
        who: the name given, or the login; a comment that proves nothing.
        login: who logged in, or `CONSOLE_LOGIN`. This is what counts.
        uid: the user id of that login; None: the console, or an entry of an older version.
        sudo_uid: the user that called sudo, as the environment says; a comment, too.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    who: str
    login: str
    host: str
    uid: int | None = None
    sudo_uid: int | None = None

    def same_login(self, other: "Person") -> bool:
        """Return whether both count as one person."""
        return self.login == other.login or (self.uid is not None and self.uid == other.uid)

    def words(self) -> str:
        """Return the login, and the name that was given with it."""
        return self.login if self.who == self.login else f"{self.who} (login {self.login})"


class RecordedFinding(BaseModel):
    """One condition as it was evaluated, with its first facts and the number of the others."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    condition: str
    verdict: Verdict
    reason: str
    evidence: tuple[str, ...] = ()
    broker: int | None = None

    @classmethod
    def of(cls, finding: Finding) -> "RecordedFinding":
        return cls(
            condition=finding.condition,
            verdict=finding.verdict,
            reason=finding.reason,
            evidence=finding.shown,
            broker=finding.broker,
        )

    def finding(self) -> Finding:
        """Return the finding that was recorded."""
        return Finding(**dict(self))


class Body(EntryBody):
    """An entry of an execution."""

    types: ClassVar[dict[str, type[Any]]] = {}


class OfCheckpoint(Body):
    """An entry about one checkpoint."""

    checkpoint: str


class Decided(Body):
    """An entry that records an operator's decision."""

    by: Person
    reason: str


class _OfHook(OfCheckpoint):
    """An entry about one run of a hook, which names its files in the state directory."""

    run: str


class ExecutionBegan(Decided, kind=EntryKind.WALK_BEGAN):
    """An execution began; `runbooks/SHA256.yaml` keeps the text of the runbook."""

    runbook: str
    sha256: str


class OrchestratorStarted(Body, kind=EntryKind.ORCHESTRATOR_STARTED):
    """A process started to execute the runbook; `fence` rises with each."""

    owner: str
    version: str
    execute: bool
    hooks_sha256: str | None
    fence: int


class OrchestratorEnded(Body, kind=EntryKind.ORCHESTRATOR_ENDED):
    """The process ended; after a kill there is no such entry."""

    owner: str
    reason: str


class LockLost(Body, kind=EntryKind.LOCK_LOST):
    """The lock of the cluster was lost; no step begins meanwhile."""

    reason: str


class LockAcquired(Body, kind=EntryKind.LOCK_HELD):
    """The lock of the cluster was acquired."""

    token: int


class CheckpointEntered(OfCheckpoint, kind=EntryKind.CHECKPOINT_ENTERED):
    """The execution entered this checkpoint.

    Attributes:
        place: "checkpoint 6 of 9, broker 2 of 3"; "": an earlier release wrote the entry.
    """

    place: str = ""

    def words(self) -> Mapping[str, object]:
        return {"where": f" ({self.place})" if self.place else ""}


class Evaluated(OfCheckpoint, kind=EntryKind.JUDGED):
    """Guards or gate were evaluated, with another result than before.

    Attributes:
        part: `already` (is the step needed?), `needs` (may it begin?), `opens_when` (the gate).
        facts: the basis of the result: metadata offset, znodes, when the disks were polled.
    """

    part: Part
    verdict: Verdict
    findings: tuple[RecordedFinding, ...]
    facts: JsonFacts

    @property
    def weight(self) -> Weight:
        return "bad" if self.verdict is Verdict.VIOLATED else self.kind.weight

    def words(self) -> Mapping[str, object]:
        holds, not_yet = _RESULTS[self.part]
        if self.verdict is Verdict.SATISFIED:
            return {"result": holds.format(self.checkpoint)}
        unmet = [each for each in self.findings if each.verdict is not Verdict.SATISFIED]
        unmet.sort(key=lambda each: each.verdict is not self.verdict)
        reasons = joined([each.reason for each in unmet], 1)
        why = f": {reasons}" if unmet and self.part != "already" else ""
        unknown = ", unknown" if self.verdict is Verdict.UNKNOWN else ""
        return {"result": f"{not_yet.format(self.checkpoint)}{unknown}{why}"}


_RESULTS: Final = {
    "already": ("the step of {} has nothing left to do", "the step of {} is needed"),
    "needs": ("the guards of {} hold", "the guards of {} do not hold"),
    "opens_when": ("the gate of {} is open", "the gate of {} is closed"),
}


class Approved(OfCheckpoint, Decided, kind=EntryKind.APPROVED):
    """An operator approved the checkpoint's step, in the state that `basis` describes.

    Attributes:
        confirmed: the cluster's name as the approver typed it; None: it was not asked for.
    """

    basis: Mapping[str, str]
    confirmed: str | None = None


class ApprovalsExpired(OfCheckpoint, kind=EntryKind.APPROVALS_EXPIRED):
    """The state for which the approvals were given has changed."""

    changed: tuple[str, ...]

    def words(self) -> Mapping[str, object]:
        return {"changed": "; ".join(self.changed)}


class StepShown(OfCheckpoint, kind=EntryKind.STEP_SHOWN):
    """The step was shown for an operator to perform.

    Attributes:
        open_before: whether the gate was open already, so that only the operator
            can decide that it is done.
    """

    text: str
    open_before: bool
    facts: JsonFacts


class StepStarted(_OfHook, kind=EntryKind.STEP_STARTED):
    """A hook is about to start; written before the start.

    Attributes:
        run: names its output and its outcome in the state directory.
        token: of the lock that was held then.
        open_before: whether the gate held already, so that it does not show the step's effect.
    """

    attempt: int
    argv: tuple[str, ...]
    token: int
    open_before: bool
    facts: JsonFacts


class StepEnded(_OfHook, kind=EntryKind.STEP_ENDED):
    """A hook ended.

    Attributes:
        how: the end as text, such as `ended with exit code 1`.
        started: False: its command was not started, so nothing was done.
        output: its last part, without secrets; the file of the run has it whole.
        output_sha256: of that file.
        still_running: processes that it left behind.
    """

    succeeded: bool
    how: str
    started: bool = True
    exit_code: int | None
    signal: int | None
    took_ms: int
    output: str
    output_bytes: int
    output_sha256: str
    still_running: tuple[int, ...]

    @property
    def weight(self) -> Weight:
        return "notable" if self.succeeded else "bad"


class StepNotStarted(_OfHook, kind=EntryKind.STEP_NOT_STARTED):
    """Kraftgate ended between `step_started` and the hook's start: nothing was done."""


class StepUnknown(_OfHook, kind=EntryKind.STEP_UNKNOWN):
    """A hook started, and its end is unknown."""

    why: str


class StepDecided(OfCheckpoint, Decided, kind=EntryKind.STEP_DECIDED):
    """An operator's decision about a step.

    Attributes:
        decision: `done` or `repeat` for a step that failed or whose end is not known; `execute`
            for one that was shown: its hook does it.
    """

    decision: Decision

    def words(self) -> Mapping[str, object]:
        return {"decided": _DECISIONS[self.decision]}


class StepElsewhere(Body, kind=EntryKind.STEP_ELSEWHERE):
    """Another orchestrator has begun a step; no step begins meanwhile."""

    step: RunningStep

    def words(self) -> Mapping[str, object]:
        return {"step": self.step.words()}


class StepElsewhereEnded(Body, kind=EntryKind.STEP_ELSEWHERE_ENDED):
    """The step of another orchestrator ended.

    Attributes:
        by: who decided that; None: its record was removed where it began.
    """

    step: RunningStep
    by: Person | None = None
    reason: str = "its record was removed where it began"

    def words(self) -> Mapping[str, object]:
        decided = "" if self.by is None else f"{self.by.who} decided: "
        return {"step": self.step.words(), "decided": decided}


class CheckpointPassed(OfCheckpoint, kind=EntryKind.CHECKPOINT_PASSED):
    """The gate opened; one more entry, without brackets, after the last broker.

    Attributes:
        how: `opened` after its step, `already`: the step was not needed, or had been taken.
    """

    how: Literal["opened", "already"]
    facts: JsonFacts

    def words(self) -> Mapping[str, object]:
        return {"already": "" if self.how == "opened" else ", whose step had nothing left to do"}


class CheckpointSkipped(OfCheckpoint, Decided, kind=EntryKind.CHECKPOINT_SKIPPED):
    """An operator skipped the checkpoint."""


class UnexpectedChange(Body, kind=EntryKind.UNEXPECTED):
    """The cluster shows a change that no step of this execution made."""

    text: str
    broker: int | None = None


class Paused(Decided, kind=EntryKind.PAUSED):
    """An operator paused the execution: no further step begins."""


class Resumed(Decided, kind=EntryKind.RESUMED):
    """An operator resumed the execution."""


class RollbackBegan(Decided, kind=EntryKind.ROLLBACK_BEGAN):
    """An operator started a rollback."""

    path: str
    at: str


class Aborted(Decided, kind=EntryKind.ABORTED):
    """An operator ended the execution where it was."""


class ExecutionEnded(Body, kind=EntryKind.WALK_ENDED):
    """The last checkpoint of the runbook, or of the rollback, was passed."""

    outcome: Literal["completed", "rolled-back"]

    def words(self) -> Mapping[str, object]:
        return {"ended": HOW_ENDED[self.outcome]}

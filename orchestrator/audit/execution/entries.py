"""The audit entries of an execution: one typed body for each kind of entry.

The state of the execution is a fold over these entries (`orchestrator.audit.execution.state`), and
nothing else is stored, so that a reader of the audit trail has everything that the orchestrator
had. `checkpoint` is an instance: an id, with the broker or controller in brackets if the checkpoint
is repeated for each (`brokers-kraft[3]`).
"""

from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from migration.assessment.conditions import Finding, Verdict
from migration.metadata.event_kinds import Weight
from orchestrator.audit.execution.running_step import RunningStep
from orchestrator.audit.kinds import EntryBody, EntryKind

JsonFacts: TypeAlias = Mapping[str, object]
Decision: TypeAlias = Literal["done", "repeat", "execute"]
_DECISIONS: Final[Mapping[Decision, str]] = {
    "done": "done",
    "repeat": "to be repeated",
    "execute": "to be performed by its hook",
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
        uid: of that login; None: the console, or an entry of an older version.
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
    """One condition as it was evaluated."""

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
            evidence=finding.evidence,
            broker=finding.broker,
        )


class ExecutionBegan(EntryBody):
    """An execution began; `runbooks/SHA256.yaml` keeps the text of the runbook."""

    kind: Literal[EntryKind.WALK_BEGAN] = EntryKind.WALK_BEGAN
    runbook: str
    sha256: str
    by: Person
    reason: str


class OrchestratorStarted(EntryBody):
    """A process started to execute the runbook; `fence` rises with each."""

    kind: Literal[EntryKind.ORCHESTRATOR_STARTED] = EntryKind.ORCHESTRATOR_STARTED
    owner: str
    version: str
    execute: bool
    hooks_sha256: str | None
    fence: int


class OrchestratorEnded(EntryBody):
    """The process ended normally; after a kill there is no such entry."""

    kind: Literal[EntryKind.ORCHESTRATOR_ENDED] = EntryKind.ORCHESTRATOR_ENDED
    owner: str
    reason: str


class LockLost(EntryBody):
    """The lock of the cluster was lost; no step begins meanwhile."""

    kind: Literal[EntryKind.LOCK_LOST] = EntryKind.LOCK_LOST
    reason: str


class LockAcquired(EntryBody):
    """The lock of the cluster was acquired."""

    kind: Literal[EntryKind.LOCK_HELD] = EntryKind.LOCK_HELD
    token: int


class CheckpointEntered(EntryBody):
    """The execution entered this checkpoint."""

    kind: Literal[EntryKind.CHECKPOINT_ENTERED] = EntryKind.CHECKPOINT_ENTERED
    checkpoint: str


class Evaluated(EntryBody):
    """Guards or gate were evaluated, with another result than before.

    Attributes:
        part: `already` (is the step needed?), `needs` (may it begin?), `opens_when` (the gate).
        facts: the basis of the result: metadata offset, znodes, when the disks were polled.
    """

    kind: Literal[EntryKind.JUDGED] = EntryKind.JUDGED
    checkpoint: str
    part: Literal["already", "needs", "opens_when"]
    verdict: Verdict
    findings: tuple[RecordedFinding, ...]
    facts: JsonFacts


class Approved(EntryBody):
    """An operator approved the checkpoint's step, in the state that `basis` describes.

    Attributes:
        confirmed: the cluster's name as the approver typed it; None: it was not asked for.
    """

    kind: Literal[EntryKind.APPROVED] = EntryKind.APPROVED
    checkpoint: str
    by: Person
    reason: str
    basis: Mapping[str, str]
    confirmed: str | None = None


class ApprovalsExpired(EntryBody):
    """The state for which the approvals were given has changed."""

    kind: Literal[EntryKind.APPROVALS_EXPIRED] = EntryKind.APPROVALS_EXPIRED
    checkpoint: str
    changed: tuple[str, ...]

    def words(self) -> Mapping[str, object]:
        return {"changed": "; ".join(self.changed)}


class StepShown(EntryBody):
    """The step was shown for an operator to perform.

    Attributes:
        open_before: whether the gate was open already, so that only the operator
            can decide that it is done.
    """

    kind: Literal[EntryKind.STEP_SHOWN] = EntryKind.STEP_SHOWN
    checkpoint: str
    text: str
    open_before: bool
    facts: JsonFacts


class StepStarted(EntryBody):
    """A hook is about to start; written before the start.

    Attributes:
        run: names its output and its outcome in the state directory.
        token: of the lock that was held then.
        open_before: whether the gate held already, so that it does not show the step's effect.
    """

    kind: Literal[EntryKind.STEP_STARTED] = EntryKind.STEP_STARTED
    checkpoint: str
    run: str
    attempt: int
    argv: tuple[str, ...]
    token: int
    open_before: bool
    facts: JsonFacts


class StepEnded(EntryBody):
    """A hook ended.

    Attributes:
        how: in words, such as `ended with exit code 1`.
        output: its last part, without secrets; the file of the run has it whole.
        output_sha256: of that file.
        still_running: processes that it left behind.
    """

    kind: Literal[EntryKind.STEP_ENDED] = EntryKind.STEP_ENDED
    checkpoint: str
    run: str
    succeeded: bool
    how: str
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


class StepNotStarted(EntryBody):
    """Kraftgate ended between `step_started` and the hook's start: nothing was done."""

    kind: Literal[EntryKind.STEP_NOT_STARTED] = EntryKind.STEP_NOT_STARTED
    checkpoint: str
    run: str


class StepUnknown(EntryBody):
    """A hook started, and its end is unknown."""

    kind: Literal[EntryKind.STEP_UNKNOWN] = EntryKind.STEP_UNKNOWN
    checkpoint: str
    run: str
    why: str


class StepDecided(EntryBody):
    """An operator's decision about a step.

    Attributes:
        decision: `done` or `repeat` for a step that failed or whose end is not known; `execute`
            for one that was shown: its hook does it.
    """

    kind: Literal[EntryKind.STEP_DECIDED] = EntryKind.STEP_DECIDED
    checkpoint: str
    decision: Decision
    by: Person
    reason: str

    def words(self) -> Mapping[str, object]:
        return {"decided": _DECISIONS[self.decision]}


class StepElsewhere(EntryBody):
    """Another orchestrator has begun a step; no step begins meanwhile."""

    kind: Literal[EntryKind.STEP_ELSEWHERE] = EntryKind.STEP_ELSEWHERE
    step: RunningStep

    def words(self) -> Mapping[str, object]:
        return {"step": self.step.words()}


class StepElsewhereEnded(EntryBody):
    """The step of another orchestrator ended.

    Attributes:
        by: who decided that; None: its record was removed where it began.
    """

    kind: Literal[EntryKind.STEP_ELSEWHERE_ENDED] = EntryKind.STEP_ELSEWHERE_ENDED
    step: RunningStep
    by: Person | None = None
    reason: str = "its record was removed where it began"

    def words(self) -> Mapping[str, object]:
        decided = "" if self.by is None else f"{self.by.who} decided: "
        return {"step": self.step.words(), "decided": decided}


class CheckpointPassed(EntryBody):
    """The gate opened; one more entry, without brackets, after the last broker.

    Attributes:
        how: `opened` after its step, `already`: the step was not needed, or had been taken.
    """

    kind: Literal[EntryKind.CHECKPOINT_PASSED] = EntryKind.CHECKPOINT_PASSED
    checkpoint: str
    how: Literal["opened", "already"]
    facts: JsonFacts

    def words(self) -> Mapping[str, object]:
        return {"already": "" if self.how == "opened" else ", whose step was not needed"}


class CheckpointSkipped(EntryBody):
    """An operator skipped the checkpoint."""

    kind: Literal[EntryKind.CHECKPOINT_SKIPPED] = EntryKind.CHECKPOINT_SKIPPED
    checkpoint: str
    by: Person
    reason: str


class UnexpectedChange(EntryBody):
    """The cluster shows a change that no step of this execution made."""

    kind: Literal[EntryKind.UNEXPECTED] = EntryKind.UNEXPECTED
    text: str
    broker: int | None = None


class Paused(EntryBody):
    """An operator paused the execution: no further step begins."""

    kind: Literal[EntryKind.PAUSED] = EntryKind.PAUSED
    by: Person
    reason: str


class Resumed(EntryBody):
    """An operator resumed the execution."""

    kind: Literal[EntryKind.RESUMED] = EntryKind.RESUMED
    by: Person
    reason: str


class RollbackBegan(EntryBody):
    """An operator started a rollback."""

    kind: Literal[EntryKind.ROLLBACK_BEGAN] = EntryKind.ROLLBACK_BEGAN
    path: str
    at: str
    by: Person
    reason: str


class Aborted(EntryBody):
    """An operator ended the execution where it was."""

    kind: Literal[EntryKind.ABORTED] = EntryKind.ABORTED
    by: Person
    reason: str


class ExecutionEnded(EntryBody):
    """The last checkpoint of the runbook, or of the rollback, was passed."""

    kind: Literal[EntryKind.WALK_ENDED] = EntryKind.WALK_ENDED
    outcome: Literal["completed", "rolled-back"]


Body: TypeAlias = (
    ExecutionBegan
    | OrchestratorStarted
    | OrchestratorEnded
    | LockLost
    | LockAcquired
    | CheckpointEntered
    | Evaluated
    | Approved
    | ApprovalsExpired
    | StepShown
    | StepStarted
    | StepEnded
    | StepNotStarted
    | StepUnknown
    | StepDecided
    | StepElsewhere
    | StepElsewhereEnded
    | CheckpointPassed
    | CheckpointSkipped
    | UnexpectedChange
    | Paused
    | Resumed
    | RollbackBegan
    | Aborted
    | ExecutionEnded
)
_BODY: Final[TypeAdapter[Body]] = TypeAdapter(Annotated[Body, Field(discriminator="kind")])
KINDS: Final = frozenset(each.model_fields["kind"].default for each in get_args(Body))
"""The kinds of audit entries that belong to an execution."""


def body_of(kind: str, body: Mapping[str, object]) -> Body:
    """Return the typed body of an entry.

    Raises:
        pydantic.ValidationError: it is not an entry of an execution, or another version wrote it.
    """
    return _BODY.validate_python({**body, "kind": EntryKind(kind)})

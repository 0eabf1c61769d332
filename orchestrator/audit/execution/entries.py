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
from orchestrator.audit.execution.running_step import RunningStep
from orchestrator.output.json_value import JsonValue

JsonFacts: TypeAlias = Mapping[str, object]
Decision: TypeAlias = Literal["done", "repeat", "execute"]

RUNBOOKS: Final = "runbooks"
"""The directory below the state directory with the text of every executed runbook, by its hash."""


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


CONSOLE_LOGIN: Final = "console"
"""The login of everyone who has the console's token: together they count as one person."""


class Person(_Body):
    """Who decided.

    Attributes:
        who: the name given, or the login; a comment that proves nothing.
        login: who logged in, or `CONSOLE_LOGIN`. This is what counts.
        uid: of that login; None: the console, or an entry of an older version.
        sudo_uid: the user that called sudo, as the environment says; a comment, too.
    """

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


class RecordedFinding(_Body):
    """One condition as it was judged."""

    condition: str
    verdict: Verdict
    reason: str
    evidence: tuple[str, ...] = ()
    broker: int | None = None

    @classmethod
    def of(cls, finding: Finding) -> "RecordedFinding":
        """Return the finding as an audit entry stores it."""
        return cls(
            condition=finding.condition,
            verdict=finding.verdict,
            reason=finding.reason,
            evidence=finding.evidence,
            broker=finding.broker,
        )


class ExecutionBegan(_Body):
    """An execution began; `runbooks/SHA256.yaml` keeps the text of the runbook."""

    kind: Literal["walk_began"] = "walk_began"
    runbook: str
    sha256: str
    by: Person
    reason: str


class OrchestratorStarted(_Body):
    """A process started to execute the runbook; `fence` rises with each."""

    kind: Literal["orchestrator_started"] = "orchestrator_started"
    owner: str
    version: str
    execute: bool
    hooks_sha256: str | None
    fence: int


class OrchestratorEnded(_Body):
    """The process ended normally; after a kill there is no such entry."""

    kind: Literal["orchestrator_ended"] = "orchestrator_ended"
    owner: str
    reason: str


class LockLost(_Body):
    """The lock of the cluster was lost; no step begins meanwhile."""

    kind: Literal["lock_lost"] = "lock_lost"
    reason: str


class LockAcquired(_Body):
    """The lock of the cluster was acquired."""

    kind: Literal["lock_held"] = "lock_held"
    token: int


class CheckpointEntered(_Body):
    """The execution entered this checkpoint."""

    kind: Literal["checkpoint_entered"] = "checkpoint_entered"
    checkpoint: str


class Evaluated(_Body):
    """Guards or gate were evaluated, with another result than before.

    Attributes:
        part: `already` (is the step needed?), `needs` (may it be taken?), `opens_when` (the gate).
        facts: what the judgement rests on: metadata offset, znodes, when the disks were looked at.
    """

    kind: Literal["judged"] = "judged"
    checkpoint: str
    part: Literal["already", "needs", "opens_when"]
    verdict: Verdict
    findings: tuple[RecordedFinding, ...]
    facts: JsonFacts


class Approved(_Body):
    """An operator approved the checkpoint's step, in the state that `basis` describes.

    Attributes:
        confirmed: the cluster's name as the approver typed it; None: it was not asked for.
    """

    kind: Literal["approved"] = "approved"
    checkpoint: str
    by: Person
    reason: str
    basis: Mapping[str, str]
    confirmed: str | None = None


class ApprovalsExpired(_Body):
    """The state for which the approvals were given has changed."""

    kind: Literal["approvals_expired"] = "approvals_expired"
    checkpoint: str
    changed: tuple[str, ...]


class StepShown(_Body):
    """The step was shown for an operator to perform.

    Attributes:
        open_before: whether the gate held already, so that only the person can say it is done.
    """

    kind: Literal["step_shown"] = "step_shown"
    checkpoint: str
    text: str
    open_before: bool
    facts: JsonFacts


class StepStarted(_Body):
    """A hook is about to start; written before the start.

    Attributes:
        run: names its output and its outcome in the state directory.
        token: of the lock that was held then.
        open_before: whether the gate held already, so that it cannot tell the step's effect.
    """

    kind: Literal["step_started"] = "step_started"
    checkpoint: str
    run: str
    attempt: int
    argv: tuple[str, ...]
    token: int
    open_before: bool
    facts: JsonFacts


class StepEnded(_Body):
    """A hook ended.

    Attributes:
        how: in words, such as `ended with exit code 1`.
        output: its last part, without secrets; the file of the run has it whole.
        output_sha256: of that file.
        still_running: processes that it left behind.
    """

    kind: Literal["step_ended"] = "step_ended"
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


class StepNotStarted(_Body):
    """Kraftgate ended between `step_started` and the hook's start: nothing was done."""

    kind: Literal["step_not_started"] = "step_not_started"
    checkpoint: str
    run: str


class StepUnknown(_Body):
    """A hook started, and its end is unknown."""

    kind: Literal["step_unknown"] = "step_unknown"
    checkpoint: str
    run: str
    why: str


class StepDecided(_Body):
    """An operator's decision about a step.

    Attributes:
        decision: `done` or `repeat` for a step that failed or whose end is not known; `execute`
            for one that was shown: its hook does it.
    """

    kind: Literal["step_decided"] = "step_decided"
    checkpoint: str
    decision: Decision
    by: Person
    reason: str


class StepElsewhere(_Body):
    """Another orchestrator has begun a step; no step begins meanwhile."""

    kind: Literal["step_elsewhere"] = "step_elsewhere"
    step: RunningStep


class StepElsewhereEnded(_Body):
    """The step of another orchestrator ended.

    Attributes:
        by: who decided that; None: its record was removed where it began.
    """

    kind: Literal["step_elsewhere_ended"] = "step_elsewhere_ended"
    step: RunningStep
    by: Person | None = None
    reason: str = "its record was removed where it began"


class CheckpointPassed(_Body):
    """The gate opened; one more entry, without brackets, after the last broker.

    Attributes:
        how: `opened` after its step, `already`: the step was not needed, or had been taken.
    """

    kind: Literal["checkpoint_passed"] = "checkpoint_passed"
    checkpoint: str
    how: Literal["opened", "already"]
    facts: JsonFacts


class CheckpointSkipped(_Body):
    """An operator skipped the checkpoint."""

    kind: Literal["checkpoint_skipped"] = "checkpoint_skipped"
    checkpoint: str
    by: Person
    reason: str


class UnexpectedChange(_Body):
    """The cluster shows a change that no step of this execution made."""

    kind: Literal["unexpected"] = "unexpected"
    text: str
    broker: int | None = None


class Paused(_Body):
    """An operator paused the execution: no further step begins."""

    kind: Literal["paused"] = "paused"
    by: Person
    reason: str


class Resumed(_Body):
    """An operator resumed the execution."""

    kind: Literal["resumed"] = "resumed"
    by: Person
    reason: str


class RollbackBegan(_Body):
    """An operator started a rollback."""

    kind: Literal["rollback_began"] = "rollback_began"
    path: str
    at: str
    by: Person
    reason: str


class Aborted(_Body):
    """An operator ended the execution where it was."""

    kind: Literal["aborted"] = "aborted"
    by: Person
    reason: str


class ExecutionEnded(_Body):
    """The last checkpoint of the runbook, or of the rollback, was passed."""

    kind: Literal["walk_ended"] = "walk_ended"
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
    return _BODY.validate_python({**body, "kind": kind})


def as_json(body: Body) -> dict[str, JsonValue]:
    """Return the body as the audit trail stores it, without its kind."""
    return body.model_dump(mode="json", exclude={"kind"})

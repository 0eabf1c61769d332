"""The kinds of audit entries: stored names and words; the base class of their bodies."""

from collections.abc import Iterable, Iterator, Mapping
from enum import auto
from typing import Any, ClassVar, Final, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from migration.metadata.event_kinds import Weight, WeightedKind
from orchestrator.audit.entry import Entry
from orchestrator.errors import AuditError
from orchestrator.output.json_value import JsonValue

NEW_STATE_DIR: Final = (
    "start with a new state directory, and skip what the migration has passed: kraftgate help"
    " state-and-backup"
)
"""The fix without the trail; it takes more than another `state_dir`, so the page has the steps."""


class EntryKind(WeightedKind):
    """What an entry records.

    Words in braces are fields of the entry's body, as `EntryBody.words` returns them.
    """

    FENCE = auto(), "plain", "{by} took over, with fence {fence}"
    WRONG_CONSOLE_TOKEN = (
        auto(),
        "bad",
        "the console received a wrong token from {host}, number {count} within a minute",
    )
    # An execution: `orchestrator.audit.execution.entries`
    WALK_BEGAN = auto(), "notable", "{by.who} began an execution of {runbook}: {reason}"
    ORCHESTRATOR_STARTED = auto(), "plain", "an orchestrator started: {owner}"
    ORCHESTRATOR_ENDED = auto(), "plain", "the orchestrator ended: {reason}"
    LOCK_LOST = auto(), "bad", "the lock was lost: {reason}"
    LOCK_HELD = auto(), "plain", "the lock was acquired"
    CHECKPOINT_ENTERED = auto(), "notable", "the execution entered {checkpoint}{where}"
    JUDGED = auto(), "plain", "{result}"
    APPROVED = auto(), "notable", "{by.who} approved {checkpoint}: {reason}"
    APPROVALS_EXPIRED = auto(), "bad", "the approval of {checkpoint} expired: {changed}"
    STEP_SHOWN = auto(), "notable", "the step of {checkpoint} was shown, to be performed by hand"
    STEP_STARTED = auto(), "notable", "the hook of {checkpoint} was started, attempt {attempt}"
    STEP_ENDED = auto(), "notable", "the hook of {checkpoint} {how}"
    STEP_NOT_STARTED = auto(), "notable", "the hook of {checkpoint} was not started"
    STEP_UNKNOWN = auto(), "bad", "{checkpoint}: {why}"
    STEP_DECIDED = (
        auto(),
        "notable",
        "{by.who} decided that the step of {checkpoint} is {decided}: {reason}",
    )
    STEP_ELSEWHERE = auto(), "bad", "{step}, belongs to another orchestrator: no step begins"
    STEP_ELSEWHERE_ENDED = auto(), "notable", "{decided}{step}, ended: {reason}"
    CHECKPOINT_PASSED = auto(), "notable", "the execution passed {checkpoint}{already}"
    CHECKPOINT_SKIPPED = auto(), "notable", "{by.who} skipped {checkpoint}: {reason}"
    UNEXPECTED = auto(), "bad", "{text}"
    PAUSED = auto(), "notable", "{by.who} paused the execution: {reason}"
    RESUMED = auto(), "notable", "{by.who} resumed the execution: {reason}"
    ROLLBACK_BEGAN = auto(), "notable", "{by.who} started the rollback {path} at {at}: {reason}"
    ABORTED = auto(), "notable", "{by.who} aborted the execution: {reason}"
    WALK_ENDED = auto(), "notable", "the execution {ended}"
    # A `kraftgate run`: `orchestrator.audit.run_entries`
    FOLLOW_BEGAN = auto(), "notable", "kraftgate {version} started to follow: {owner}"
    FOLLOW_ENDED = auto(), "notable", "kraftgate run ended{reason}"
    SOURCE_SEEN = auto(), "notable", "{source} became current"
    SOURCE_LOST = auto(), "bad", "{source} became stale: {why}"
    HAZARD_BEGAN = auto(), "bad", "hazard {hazard}: {text}"
    HAZARD_CHANGED = auto(), "bad", "hazard {hazard}{of} is {severity}{blocked}"
    HAZARD_ENDED = auto(), "notable", "hazard {hazard}{of} ended"
    ALERT_BEGAN = auto(), "bad", "alert {alert}: {description}"
    ALERT_ENDED = auto(), "notable", "alert {alert} was resolved"
    # `kraftgate move apply` and `move cancel`: `orchestrator.audit.move_entries`
    MOVE_BEGAN = auto(), "notable", "{by.who} began `move {command}` of {replicas} replicas"
    MOVE_THROTTLED = (
        auto(),
        "notable",
        "the throttle of the moves of broker {broker} becomes {value}, before: {before}",
    )
    MOVE_SENT = auto(), "notable", "broker {broker} is asked to {asked}"
    MOVE_UNTHROTTLED = auto(), "notable", "the throttle of the moves of broker {broker} {restored}"
    MOVE_ENDED = auto(), "notable", "`move {command}` ended: {done} done, {left} left{reason}"


KINDS: Final[frozenset[str]] = frozenset(EntryKind)


class EntryBody(BaseModel):
    """The typed body of an entry; the trail stores its fields.

    Attributes:
        types: the bodies of one family by kind; each family's base class has its own.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: ClassVar[EntryKind]
    types: ClassVar[dict[str, type[Any]]]

    def __init_subclass__(cls, kind: EntryKind | None = None) -> None:
        super().__init_subclass__()
        if kind is not None:
            cls.kind = kind
            cls.types[kind] = cls

    @classmethod
    def read(cls, entries: Iterable[Entry]) -> Iterator[tuple[Entry, Self]]:
        """Yield the entries of this family with typed bodies, in the trail's order.

        Raises:
            AuditError: another version wrote an entry; one of a kind that this version does not
                know may change what the others mean.
        """
        for entry in entries:
            if entry.kind in cls.types:
                yield entry, cls._of_entry(entry)
            elif entry.kind not in KINDS:
                raise _unreadable(entry, "its kind is not known")

    @classmethod
    def _of_entry(cls, entry: Entry) -> Self:
        try:
            body: Self = cls.types[entry.kind].model_validate(entry.body)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"]))
            raise _unreadable(entry, f"`{field}`: {first['msg']}") from error
        return body

    @property
    def weight(self) -> Weight:
        """How much the entry matters to a reader of the report."""
        return self.kind.weight

    def words(self) -> Mapping[str, object]:
        """Return the fields of the sentence that are not fields of the body."""
        return {}

    def sentence(self) -> str:
        return self.kind.sentence.format_map({**dict(self), **self.words()})

    def as_json(self) -> dict[str, JsonValue]:
        return self.model_dump(mode="json")


def _unreadable(entry: Entry, why: str) -> AuditError:
    return AuditError(
        f"entry {entry.sequence} ({entry.kind}) of {entry.cluster} in the audit trail is one that"
        f" this version cannot read: {why}. Use the version of Kraftgate that wrote it, or"
        f" {NEW_STATE_DIR}"
    )

"""The audit entries of a followed cluster: a typed body for each kind of entry."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Final, Literal, Self, TypeAlias, get_args

from pydantic import Field, TypeAdapter

from migration.assessment.alerts import Alert
from migration.assessment.data_source import SOURCE_WORDS, DataSource
from migration.assessment.hazards import Hazard
from orchestrator.audit import Entry
from orchestrator.audit.kinds import EntryBody, EntryKind


class FollowBegan(EntryBody):
    """A `kraftgate run` started to follow the cluster.

    Attributes:
        last_seen_ms: when a source last reported to the run before; None: there was none.
    """

    kind: Literal[EntryKind.FOLLOW_BEGAN] = EntryKind.FOLLOW_BEGAN
    owner: str
    version: str
    last_seen_ms: int | None


class FollowEnded(EntryBody):
    """The `kraftgate run` ended normally; after a kill there is no such entry."""

    kind: Literal[EntryKind.FOLLOW_ENDED] = EntryKind.FOLLOW_ENDED
    owner: str


class SourceSeen(EntryBody):
    """A source became current: `metadata_log`, `zookeeper`, `log_dirs` or `jmx`."""

    kind: Literal[EntryKind.SOURCE_SEEN] = EntryKind.SOURCE_SEEN
    source: str

    def words(self) -> Mapping[str, object]:
        return {"source": SOURCE_WORDS[DataSource(self.source)]}


class SourceLost(EntryBody):
    """A source is no longer current.

    Attributes:
        last_seen_ms: when it last was.
    """

    kind: Literal[EntryKind.SOURCE_LOST] = EntryKind.SOURCE_LOST
    source: str
    why: str
    last_seen_ms: int

    def words(self) -> Mapping[str, object]:
        return {"source": SOURCE_WORDS[DataSource(self.source)]}


class _ActiveHazard(EntryBody):
    """An active hazard; see `migration.assessment.hazards.Hazard`."""

    hazard: str
    broker: int | None
    severity: str
    blocks: str | None
    text: str
    evidence: tuple[str, ...]
    way_out: str
    since_ms: int | None

    @classmethod
    def of(cls, hazard: Hazard) -> Self:
        return cls.model_validate(
            {
                "hazard": str(hazard.kind),
                "broker": hazard.broker,
                "severity": str(hazard.severity),
                "blocks": None if hazard.blocks is None else str(hazard.blocks),
                "text": hazard.text,
                "evidence": hazard.shown,
                "way_out": hazard.way_out,
                "since_ms": hazard.since_ms,
            }
        )


class HazardBegan(_ActiveHazard):
    """A hazard became active."""

    kind: Literal[EntryKind.HAZARD_BEGAN] = EntryKind.HAZARD_BEGAN


class HazardChanged(_ActiveHazard):
    """The severity of a hazard changed, or the step that it blocks."""

    kind: Literal[EntryKind.HAZARD_CHANGED] = EntryKind.HAZARD_CHANGED

    def words(self) -> Mapping[str, object]:
        return {"blocked": "" if self.blocks is None else f" and blocks {self.blocks}"}


class HazardEnded(EntryBody):
    """A hazard ended.

    Attributes:
        text: its last text; None: an earlier process recorded it.
        last_seen_ms: the last tick with it; None: likewise.
    """

    kind: Literal[EntryKind.HAZARD_ENDED] = EntryKind.HAZARD_ENDED
    hazard: str
    broker: int | None
    text: str | None
    evidence: tuple[str, ...]
    last_seen_ms: int | None


class AlertBegan(EntryBody):
    """An alert became active; see `migration.assessment.alerts`.

    Attributes:
        fingerprint: the same for the same name and labels, whatever its words.
        since_ms: when the condition began, if that is known.
    """

    kind: Literal[EntryKind.ALERT_BEGAN] = EntryKind.ALERT_BEGAN
    alert: str
    fingerprint: str
    labels: Mapping[str, str]
    summary: str
    description: str
    since_ms: int | None

    @classmethod
    def of(cls, alert: Alert) -> "AlertBegan":
        return cls(
            alert=alert.name,
            fingerprint=alert.fingerprint,
            labels=alert.labels,
            summary=alert.summary,
            description=alert.description,
            since_ms=alert.since_ms,
        )


class AlertEnded(EntryBody):
    """An alert was resolved on current data."""

    kind: Literal[EntryKind.ALERT_ENDED] = EntryKind.ALERT_ENDED
    alert: str
    fingerprint: str


Body: TypeAlias = (
    FollowBegan
    | FollowEnded
    | SourceSeen
    | SourceLost
    | HazardBegan
    | HazardChanged
    | HazardEnded
    | AlertBegan
    | AlertEnded
)
_BODY: Final[TypeAdapter[Body]] = TypeAdapter(Annotated[Body, Field(discriminator="kind")])
KINDS: Final = frozenset(each.model_fields["kind"].default for each in get_args(Body))
"""The kinds of audit entries in this module."""


def bodies(entries: Iterable[Entry]) -> Iterator[tuple[Entry, Body]]:
    """Yield the entries of this module's kinds, with typed bodies, in the trail's order.

    Raises:
        pydantic.ValidationError: another version wrote an entry.
    """
    for each in entries:
        if each.kind in KINDS:
            yield each, _BODY.validate_python({**each.body, "kind": EntryKind(each.kind)})

"""The audit entries of a followed cluster: a typed body for each kind of entry."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from migration.assessment.alerts import Alert
from migration.assessment.data_source import SOURCE_WORDS, DataSource
from migration.assessment.hazards import Hazard
from migration.metadata.event_kinds import Weight
from orchestrator.audit.kinds import EntryBody, EntryKind


class Body(EntryBody):
    """An entry of a followed cluster."""

    types: ClassVar[dict[str, type[Any]]] = {}


class FollowBegan(Body, kind=EntryKind.FOLLOW_BEGAN):
    """A `kraftgate run` started to follow the cluster.

    Attributes:
        last_seen_ms: when a source last reported to the run before; None: there was none.
    """

    owner: str
    version: str
    last_seen_ms: int | None


class FollowEnded(Body, kind=EntryKind.FOLLOW_ENDED):
    """The `kraftgate run` ended; after a kill there is no such entry.

    Attributes:
        why: the error that ended it; "": it was stopped, or an earlier release wrote the entry.
    """

    owner: str
    why: str = ""

    @property
    def weight(self) -> Weight:
        return "bad" if self.why else self.kind.weight

    def words(self) -> Mapping[str, object]:
        return {"reason": f" with an error: {self.why}" if self.why else ""}


class SourceSeen(Body, kind=EntryKind.SOURCE_SEEN):
    """A source became current: `metadata_log`, `zookeeper`, `log_dirs` or `jmx`."""

    source: str

    def words(self) -> Mapping[str, object]:
        return {"source": SOURCE_WORDS[DataSource(self.source)]}


class SourceLost(Body, kind=EntryKind.SOURCE_LOST):
    """A source is no longer current.

    Attributes:
        last_seen_ms: when it last was.
    """

    source: str
    why: str
    last_seen_ms: int

    def words(self) -> Mapping[str, object]:
        return {"source": SOURCE_WORDS[DataSource(self.source)]}


class _ActiveHazard(Body):
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


class HazardBegan(_ActiveHazard, kind=EntryKind.HAZARD_BEGAN):
    """A hazard became active."""


class HazardChanged(_ActiveHazard, kind=EntryKind.HAZARD_CHANGED):
    """The severity of a hazard changed, or the step that it blocks."""

    def words(self) -> Mapping[str, object]:
        of = "" if self.broker is None else f" of broker {self.broker}"
        return {"of": of, "blocked": "" if self.blocks is None else f" and blocks {self.blocks}"}


class HazardEnded(Body, kind=EntryKind.HAZARD_ENDED):
    """A hazard ended.

    Attributes:
        text: its last text; None: an earlier process recorded it.
        last_seen_ms: the last tick with it; None: likewise.
    """

    hazard: str
    broker: int | None
    text: str | None
    evidence: tuple[str, ...]
    last_seen_ms: int | None

    def words(self) -> Mapping[str, object]:
        return {"of": "" if self.broker is None else f" of broker {self.broker}"}


class AlertBegan(Body, kind=EntryKind.ALERT_BEGAN):
    """An alert became active; see `migration.assessment.alerts`.

    Attributes:
        fingerprint: the same for the same name and labels, whatever its words.
        since_ms: when the condition began, if that is known.
    """

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


class AlertEnded(Body, kind=EntryKind.ALERT_ENDED):
    """An alert was resolved on current data."""

    alert: str
    fingerprint: str

"""The audit entries of a followed cluster: a typed body for each kind of entry."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Final, Literal, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from migration.assessment.alerts import Alert
from migration.assessment.hazards import Hazard
from orchestrator.audit import Entry
from orchestrator.output.json_value import JsonValue


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FollowBegan(_Body):
    """A `kraftgate run` started to follow the cluster.

    Attributes:
        last_seen_ms: the last sign of life of the one before; None: there was none.
    """

    kind: Literal["follow_began"] = "follow_began"
    owner: str
    version: str
    last_seen_ms: int | None


class FollowEnded(_Body):
    """The `kraftgate run` ended normally; after a kill there is no such entry."""

    kind: Literal["follow_ended"] = "follow_ended"
    owner: str


class SourceSeen(_Body):
    """A source became current: `metadata_log`, `zookeeper`, `log_dirs` or `jmx`."""

    kind: Literal["source_seen"] = "source_seen"
    source: str


class SourceLost(_Body):
    """A source is no longer current.

    Attributes:
        last_seen_ms: when it last was.
    """

    kind: Literal["source_lost"] = "source_lost"
    source: str
    why: str
    last_seen_ms: int


class _HazardStands(_Body):
    """A hazard as it was judged; see `migration.assessment.hazards.Hazard`."""

    hazard: str
    broker: int | None
    severity: str
    blocks: str | None
    text: str
    evidence: tuple[str, ...]
    way_out: str
    since_ms: int | None


class HazardBegan(_HazardStands):
    """A hazard became active."""

    kind: Literal["hazard_began"] = "hazard_began"

    @classmethod
    def of(cls, hazard: Hazard) -> "HazardBegan":
        """Return the hazard as an audit entry stores it."""
        return cls.model_validate(_fields(hazard))


class HazardChanged(_HazardStands):
    """The severity of a hazard changed, or the step that it blocks."""

    kind: Literal["hazard_changed"] = "hazard_changed"

    @classmethod
    def of(cls, hazard: Hazard) -> "HazardChanged":
        """Return the hazard as an audit entry stores it."""
        return cls.model_validate(_fields(hazard))


class HazardEnded(_Body):
    """A hazard ended.

    Attributes:
        text: what was last said of it; None: by a process before this one.
        last_seen_ms: the last look at which it stood; None: likewise.
    """

    kind: Literal["hazard_ended"] = "hazard_ended"
    hazard: str
    broker: int | None
    text: str | None
    evidence: tuple[str, ...]
    last_seen_ms: int | None


class AlertBegan(_Body):
    """An alert became active; see `migration.assessment.alerts`.

    Attributes:
        fingerprint: the same for the same name and labels, whatever its words.
        since_ms: since when what it tells of is so, as well as is known.
    """

    kind: Literal["alert_began"] = "alert_began"
    alert: str
    fingerprint: str
    labels: Mapping[str, str]
    summary: str
    description: str
    since_ms: int | None

    @classmethod
    def of(cls, alert: Alert) -> "AlertBegan":
        """Return the alert as an audit entry stores it."""
        return cls(
            alert=alert.name,
            fingerprint=alert.fingerprint,
            labels=alert.labels,
            summary=alert.summary,
            description=alert.description,
            since_ms=alert.since_ms,
        )


class AlertEnded(_Body):
    """An alert was resolved on current data."""

    kind: Literal["alert_ended"] = "alert_ended"
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
            yield each, _BODY.validate_python({**each.body, "kind": each.kind})


def as_json(body: Body) -> dict[str, JsonValue]:
    """Return the body as the audit trail stores it, without its kind."""
    return body.model_dump(mode="json", exclude={"kind"})


def _fields(hazard: Hazard) -> dict[str, object]:
    return {
        "hazard": str(hazard.kind),
        "broker": hazard.broker,
        "severity": str(hazard.severity),
        "blocks": None if hazard.blocks is None else str(hazard.blocks),
        "text": hazard.text,
        "evidence": hazard.shown,
        "way_out": hazard.way_out,
        "since_ms": hazard.since_ms,
    }

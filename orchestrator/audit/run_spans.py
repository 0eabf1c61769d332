"""The periods of runs, hazards, alerts and lost sources: a pure fold over the audit trail.

The report and a restart use it. An end without a beginning is left out: only a trail that was
changed has one.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from orchestrator.audit import Entry
from orchestrator.audit.run_entries import (
    AlertBegan,
    AlertEnded,
    Body,
    FollowBegan,
    FollowEnded,
    HazardBegan,
    HazardChanged,
    HazardEnded,
    SourceLost,
    SourceSeen,
)

NOT_RUNNING: Final = "Kraftgate did not run"
HazardKey = tuple[str, int | None]
"""A hazard and its broker. The text does not identify a hazard: it contains ages and counts."""


@dataclass(slots=True, kw_only=True)
class RunSpan:
    """A `kraftgate run` that followed the cluster.

    Attributes:
        ended_ms: None: it is running, or it was killed.
        why: the error that ended it; "": none is known.
        last_seen_ms: if it was killed, when a source last reported to it.
    """

    version: str
    owner: str
    began_ms: int
    ended_ms: int | None = None
    why: str = ""
    last_seen_ms: int | None = None

    @property
    def until_ms(self) -> int | None:
        """Until when it followed; None: it goes on."""
        return self.last_seen_ms if self.ended_ms is None else self.ended_ms


@dataclass(slots=True, kw_only=True)
class HazardSpan:
    """A hazard from its beginning to its end.

    Attributes:
        first: the hazard when it became active.
        latest: the hazard when its severity, or the action that it blocks, last changed.
        ended_ms: the first tick without it; None: it is active.
        last_seen_ms: the last tick with it; None: unknown, because a process ended in between.
        last_text: its last recorded text.
        entries: the sequence numbers of its entries.
    """

    first: HazardBegan
    latest: HazardBegan | HazardChanged
    began_ms: int
    ended_ms: int | None = None
    last_seen_ms: int | None = None
    last_text: str
    last_evidence: tuple[str, ...]
    entries: list[int]

    @property
    def key(self) -> HazardKey:
        return self.first.hazard, self.first.broker


@dataclass(slots=True, kw_only=True)
class AlertSpan:
    """An alert from its beginning to its end; `ended_ms` None: it is active."""

    alert: AlertBegan
    began_ms: int
    ended_ms: int | None = None
    entries: list[int]


@dataclass(slots=True, kw_only=True)
class SourceGap:
    """A period in which a source was not current; `ended_ms` None: it still is not."""

    source: str
    why: str
    began_ms: int
    ended_ms: int | None = None


@dataclass(slots=True, kw_only=True)
class Periods:
    """The periods of one cluster, each list in the order of beginning.

    Attributes:
        sources: when each source was first current; the others never were.
    """

    runs: list[RunSpan] = field(default_factory=list)
    hazards: list[HazardSpan] = field(default_factory=list)
    alerts: list[AlertSpan] = field(default_factory=list)
    gaps: list[SourceGap] = field(default_factory=list)
    sources: dict[str, int] = field(default_factory=dict)

    def active_hazards(self) -> dict[HazardKey, HazardSpan]:
        return {each.key: each for each in self.hazards if each.ended_ms is None}

    def active_alerts(self) -> list[AlertSpan]:
        return [each for each in self.alerts if each.ended_ms is None]


def periods(entries: Iterable[Entry]) -> Periods:
    """Return the periods from the entries of one cluster, in the trail's order."""
    found = Periods()
    for entry, body in Body.read(entries):
        _add(found, entry, body)
    found.gaps.sort(key=lambda each: (each.began_ms, each.source))
    return found


def _add(found: Periods, entry: Entry, body: Body) -> None:  # noqa: C901  # a case an entry
    at_ms, sequence = entry.at_ms, entry.sequence
    match body:
        case FollowBegan():
            _begin_run(found, at_ms, body)
        case FollowEnded():
            for run in found.runs[-1:]:
                run.ended_ms, run.why = at_ms, body.why
        case SourceLost():
            lost = SourceGap(source=body.source, why=body.why, began_ms=body.last_seen_ms)
            found.gaps.append(lost)
        case SourceSeen():
            found.sources.setdefault(body.source, at_ms)
            for gap in found.gaps:
                if gap.source == body.source and gap.ended_ms is None:
                    gap.ended_ms = at_ms
        case HazardBegan():
            found.hazards.append(
                HazardSpan(
                    first=body,
                    latest=body,
                    began_ms=at_ms,
                    last_text=body.text,
                    last_evidence=body.evidence,
                    entries=[sequence],
                )
            )
        case HazardChanged() | HazardEnded():
            hazard = found.active_hazards().get((body.hazard, body.broker))
            if hazard is not None:
                hazard.entries.append(sequence)
                hazard.last_text = body.text or hazard.last_text
                hazard.last_evidence = body.evidence or hazard.last_evidence
                if isinstance(body, HazardChanged):
                    hazard.latest, hazard.last_evidence = body, body.evidence
                else:
                    hazard.ended_ms = at_ms
                    hazard.last_seen_ms = _last_seen_ms(found, body)
        case AlertBegan():
            found.alerts.append(AlertSpan(alert=body, began_ms=at_ms, entries=[sequence]))
        case AlertEnded():
            for alert in found.active_alerts():
                if alert.alert.fingerprint == body.fingerprint:
                    alert.ended_ms = at_ms
                    alert.entries.append(sequence)


def _begin_run(found: Periods, at_ms: int, body: FollowBegan) -> None:
    """Begin a run; every source counts as not current since the previous run."""
    since_ms = at_ms if body.last_seen_ms is None else body.last_seen_ms
    if found.runs:
        before = found.runs[-1]
        since_ms = before.ended_ms or max(since_ms, before.began_ms)
        if before.ended_ms is None:
            before.last_seen_ms = since_ms
    found.runs.append(RunSpan(version=body.version, owner=body.owner, began_ms=at_ms))
    lost = {each.source for each in found.gaps if each.ended_ms is None}
    for source in sorted(found.sources.keys() - lost):
        found.gaps.append(SourceGap(source=source, why=NOT_RUNNING, began_ms=since_ms))


def _last_seen_ms(found: Periods, body: HazardEnded) -> int | None:
    """Return the last tick with the hazard; if no tick of this run had it: of the run before."""
    if body.last_seen_ms is not None or len(found.runs) < 2:
        return body.last_seen_ms
    return found.runs[-2].until_ms

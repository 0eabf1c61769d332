"""The periods of hazards, alerts and lost sources: a pure fold over the audit trail.

The report and a restart use it. An end without a beginning is left out: only a trail that was
changed has one.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from orchestrator.audit import Entry
from orchestrator.audit.run_entries import (
    AlertBegan,
    AlertEnded,
    FollowBegan,
    FollowEnded,
    HazardBegan,
    HazardChanged,
    HazardEnded,
    SourceLost,
    SourceSeen,
    bodies,
)

NOT_RUNNING: Final = "Kraftgate did not run"
Which = tuple[str, int | None]
"""A hazard and its broker. The text does not identify a hazard: it contains ages and counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A `kraftgate run` that followed the cluster.

    Attributes:
        ended_ms: None: it is running, or it was killed.
        last_seen_ms: if it was killed, when a source last reported to it, as the next run recorded.
    """

    version: str
    owner: str
    began_ms: int
    ended_ms: int | None = None
    last_seen_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HazardSpan:
    """A hazard from its beginning to its end.

    Attributes:
        first: the hazard when it became active.
        judged: the hazard when its severity, or the action that it blocks, last changed.
        ended_ms: the first tick without it; None: it is active.
        last_seen_ms: the last tick with it; None: unknown, because a process ended in between.
        last_text: its last recorded text.
        entries: the sequence numbers of its entries.
    """

    first: HazardBegan
    judged: HazardBegan | HazardChanged
    began_ms: int
    ended_ms: int | None = None
    last_seen_ms: int | None = None
    last_text: str
    last_evidence: tuple[str, ...] = ()
    entries: tuple[int, ...] = ()

    @property
    def which(self) -> Which:
        """The key of the hazard."""
        return self.first.hazard, self.first.broker


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertSpan:
    """An alert from its beginning to its end; `ended_ms` None: it is active."""

    alert: AlertBegan
    began_ms: int
    ended_ms: int | None = None
    entries: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """A period in which a source was not current; `ended_ms` None: it still is not."""

    source: str
    why: str
    began_ms: int
    ended_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stood:
    """The periods of one cluster, each list in the order of beginning.

    Attributes:
        seen: the sources that were ever current.
    """

    runs: tuple[Run, ...] = ()
    hazards: tuple[HazardSpan, ...] = ()
    alerts: tuple[AlertSpan, ...] = ()
    unseen: tuple[Unseen, ...] = ()
    seen: frozenset[str] = frozenset()


def stood(entries: Iterable[Entry]) -> Stood:  # noqa: C901  # a case an entry
    """Return the periods from the entries of one cluster, in the trail's order."""
    fold = _Fold()
    for entry, body in bodies(entries):
        match body:
            case FollowBegan():
                fold.began(entry, body)
            case FollowEnded():
                fold.runs[-1:] = [replace(e, ended_ms=entry.at_ms) for e in fold.runs[-1:]]
            case SourceLost():
                lost = Unseen(source=body.source, why=body.why, began_ms=body.last_seen_ms)
                fold.unseen.append(lost)
            case SourceSeen():
                fold.seen.add(body.source)
                fold.see(body.source, entry.at_ms)
            case HazardBegan():
                fold.open[body.hazard, body.broker] = len(fold.hazards)
                fold.hazards.append(
                    HazardSpan(
                        first=body,
                        judged=body,
                        began_ms=entry.at_ms,
                        last_text=body.text,
                        last_evidence=body.evidence,
                        entries=(entry.sequence,),
                    )
                )
            case HazardChanged():
                fold.changed(entry, body)
            case HazardEnded():
                fold.ended(entry, body)
            case AlertBegan():
                began = AlertSpan(alert=body, began_ms=entry.at_ms, entries=(entry.sequence,))
                fold.alerts.append(began)
            case AlertEnded():
                fold.alert_ended(entry, body)
    return Stood(
        runs=tuple(fold.runs),
        hazards=tuple(fold.hazards),
        alerts=tuple(fold.alerts),
        unseen=tuple(sorted(fold.unseen, key=lambda each: (each.began_ms, each.source))),
        seen=frozenset(fold.seen),
    )


class _Fold:
    """The mutable state of the fold."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.hazards: list[HazardSpan] = []
        self.open: dict[Which, int] = {}
        self.alerts: list[AlertSpan] = []
        self.unseen: list[Unseen] = []
        self.seen: set[str] = set()

    def began(self, entry: Entry, body: FollowBegan) -> None:
        """Start a run; every source counts as not current since the previous run."""
        run = Run(version=body.version, owner=body.owner, began_ms=entry.at_ms)
        since_ms = entry.at_ms if body.last_seen_ms is None else body.last_seen_ms
        if self.runs:
            before = self.runs[-1]
            since_ms = before.ended_ms or max(since_ms, before.began_ms)
            if before.ended_ms is None:
                self.runs[-1] = replace(before, last_seen_ms=since_ms)
        self.runs.append(run)
        lost = {each.source for each in self.unseen if each.ended_ms is None}
        for source in sorted(self.seen - lost):
            self.unseen.append(Unseen(source=source, why=NOT_RUNNING, began_ms=since_ms))

    def see(self, source: str, at_ms: int) -> None:
        """End the lost period of a source."""
        self.unseen = [
            replace(each, ended_ms=at_ms)
            if each.source == source and each.ended_ms is None
            else each
            for each in self.unseen
        ]

    def changed(self, entry: Entry, body: HazardChanged) -> None:
        """Record a change of a hazard."""
        at = self.open.get((body.hazard, body.broker))
        if at is None:
            return
        before = self.hazards[at]
        self.hazards[at] = replace(
            before,
            judged=body,
            last_text=body.text,
            last_evidence=body.evidence,
            entries=(*before.entries, entry.sequence),
        )

    def ended(self, entry: Entry, body: HazardEnded) -> None:
        """Record the end of a hazard."""
        at = self.open.pop((body.hazard, body.broker), None)
        if at is None:
            return
        before = self.hazards[at]
        last_seen_ms = body.last_seen_ms
        if last_seen_ms is None and len(self.runs) > 1:
            was = self.runs[-2]
            last_seen_ms = was.ended_ms or was.last_seen_ms
        self.hazards[at] = replace(
            before,
            ended_ms=entry.at_ms,
            last_seen_ms=last_seen_ms,
            last_text=body.text or before.last_text,
            last_evidence=body.evidence or before.last_evidence,
            entries=(*before.entries, entry.sequence),
        )

    def alert_ended(self, entry: Entry, body: AlertEnded) -> None:
        """Record the end of an alert."""
        self.alerts = [
            replace(each, ended_ms=entry.at_ms, entries=(*each.entries, entry.sequence))
            if each.alert.fingerprint == body.fingerprint and each.ended_ms is None
            else each
            for each in self.alerts
        ]

"""What the trail says of what stood: a pure fold over its entries, for the report and a restart.

An end without a beginning is left out: only a trail that was tampered with has it.
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
"""A hazard and the broker that it is about; its words carry ages and counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A `kraftgate run` that followed the cluster.

    Attributes:
        ended_ms: None: it runs, or it was killed.
        last_seen_ms: of one that was killed, its last sign of life, as the next one found it.
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
        first: as it was first judged.
        judged: as it was judged when its severity, or what it forbids, last changed.
        ended_ms: the first look without it; None: it stands.
        last_seen_ms: the last look with it; None: not known, a process ended in between.
        last_text: what was last said of it.
        entries: the numbers of the trail's entries about it.
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
        """What it is."""
        return self.first.hazard, self.first.broker


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertSpan:
    """An alert from its beginning to its end; `ended_ms` None: it stands."""

    alert: AlertBegan
    began_ms: int
    ended_ms: int | None = None
    entries: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """A time in which a source was not seen; `ended_ms` None: it is not."""

    source: str
    why: str
    began_ms: int
    ended_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stood:
    """Everything, in the order in which it began.

    Attributes:
        seen: the sources that were ever current.
    """

    runs: tuple[Run, ...] = ()
    hazards: tuple[HazardSpan, ...] = ()
    alerts: tuple[AlertSpan, ...] = ()
    unseen: tuple[Unseen, ...] = ()
    seen: frozenset[str] = frozenset()


def stood(entries: Iterable[Entry]) -> Stood:  # noqa: C901  # a case an entry
    """Fold the entries of one cluster, in the trail's order."""
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
    """The working copy."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.hazards: list[HazardSpan] = []
        self.open: dict[Which, int] = {}
        self.alerts: list[AlertSpan] = []
        self.unseen: list[Unseen] = []
        self.seen: set[str] = set()

    def began(self, entry: Entry, body: FollowBegan) -> None:
        """Nobody looked since the run before was last seen."""
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
        """The source is seen again."""
        self.unseen = [
            replace(each, ended_ms=at_ms)
            if each.source == source and each.ended_ms is None
            else each
            for each in self.unseen
        ]

    def changed(self, entry: Entry, body: HazardChanged) -> None:
        """A hazard is judged otherwise."""
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
        """A hazard is over."""
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
        """An alert is over."""
        self.alerts = [
            replace(each, ended_ms=entry.at_ms, entries=(*each.entries, entry.sequence))
            if each.alert.fingerprint == body.fingerprint and each.ended_ms is None
            else each
            for each in self.alerts
        ]

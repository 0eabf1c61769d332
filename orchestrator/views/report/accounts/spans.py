"""The spans of hazards, alerts and runs, each from beginning to end, and the losses of records."""

from collections.abc import Iterable, Iterator, Sequence

from migration.assessment.hazards import Hazard, HazardKind
from migration.metadata.events import Event
from migration.values.severity import Severity
from orchestrator.api.report.report import AlertAccount, HazardAccount, LossAccount, RunAccount
from orchestrator.audit.run_entries import HazardBegan
from orchestrator.audit.run_spans import HazardSpan, Periods
from orchestrator.views.report.accounts.incarnations import Registration


def hazards(
    found: Periods, registrations: Iterable[Registration], now: Sequence[Hazard], as_of_ms: int
) -> Iterator[HazardAccount]:
    """Yield every hazard: those that Kraftgate evaluated, and those that only the records show.

    `now`: the hazards that are active at the end; they are added here if no run recorded hazards.
    """
    kept = {each.key for each in found.hazards}
    active = {(str(each.kind), each.broker): each for each in now}
    only_now = [] if found.runs else [e for key, e in active.items() if key not in kept]
    exposed_now = {each.broker for each in only_now if each.kind is HazardKind.UNFENCED_EARLY}
    for each in found.hazards:
        yield _recorded(each, None if each.ended_ms else active.get(each.key), as_of_ms)
    for reg in registrations:
        lasting = reg.broker in exposed_now
        yield from _unpolled(reg, found.hazards, as_of_ms, is_reported=lasting)
    for one in only_now:
        yield _from_store(one, as_of_ms)


def _recorded(each: HazardSpan, now: Hazard | None, as_of_ms: int) -> HazardAccount:
    """`now`: the hazard at the end; the trail does not record each change of its text."""
    return HazardAccount.lasting(
        each.began_ms,
        each.ended_ms,
        as_of_ms,
        facts=each.latest,
        text=each.first.text,
        last_text=each.last_text if now is None else now.text,
        evidence=each.last_evidence if now is None else now.shown,
        since_at=each.first.since_ms,
        last_seen_at=each.last_seen_ms,
        known_by="looks",
        entries=tuple(each.entries),
    )


def _unpolled(
    reg: Registration, recorded: Sequence[HazardSpan], as_of_ms: int, *, is_reported: bool
) -> Iterator[HazardAccount]:
    """Yield the times of early unfencing that no tick caught: they often last milliseconds.

    `is_reported`: one that still lasts has been reported already.
    """
    kind = HazardKind.UNFENCED_EARLY
    mine = [each for each in recorded if each.key == (str(kind), reg.broker)]
    for one in reg.exposed:
        began_ms, ended_ms = one.began_ms, one.ended_ms
        if (is_reported and ended_ms is None) or any(_meet(e, began_ms, ended_ms) for e in mine):
            continue
        text = f"broker {reg.broker} was unfenced while {one.pending} of its replicas had no known"
        yield HazardAccount.lasting(
            began_ms,
            ended_ms,
            as_of_ms,
            exact=one.exact,
            hazard=str(kind),
            broker=reg.broker,
            severity=str(Severity.WARNING),
            blocks=None,
            text=f"{text} log directory",
            last_text="it ended before the next poll" if ended_ms is not None else "",
            evidence=(f"unfenced with {one.pending} pending",),
            way_out="",
            since_at=began_ms,
            last_seen_at=None,
            known_by="records",
            entries=(),
        )


def _meet(each: HazardSpan, began_ms: int | None, ended_ms: int | None) -> bool:
    """Whether an evaluated hazard covers this time; `since_ms` is that of the same record."""
    if each.first.since_ms is not None and each.first.since_ms == began_ms:
        return True
    ends_before = ended_ms is not None and ended_ms < (each.first.since_ms or each.began_ms)
    begins_behind = each.ended_ms is not None and began_ms is not None and began_ms > each.ended_ms
    return not (ends_before or begins_behind)


def _from_store(one: Hazard, as_of_ms: int) -> HazardAccount:
    return HazardAccount.lasting(
        one.since_ms,
        None,
        as_of_ms,
        facts=HazardBegan.of(one),
        exact=False,
        last_text=one.text,
        since_at=one.since_ms,
        last_seen_at=None,
        known_by="store",
        entries=(),
    )


def losses(events: Iterable[Event]) -> Iterator[LossAccount]:
    for event in events:
        if event.kind != "records_lost" or event.moment_ms is None:
            continue
        fields = event.fields
        first, last = _int(fields["first_lost_offset"]), _int(fields["last_lost_offset"])
        yield LossAccount(
            at=event.moment_ms,
            topic=str(fields["topic"]),
            partition=_int(fields["partition"]),
            broker=event.broker,
            first_offset=first,
            last_offset=last,
            records=max(0, last - first + 1),
            last_seen_at=_int(fields["end_offset_seen_ms"]),
        )


def alerts(found: Periods, as_of_ms: int) -> Iterator[AlertAccount]:
    for each in found.alerts:
        labels = dict(each.alert.labels)
        labels.pop("cluster", None)
        yield AlertAccount.lasting(
            each.began_ms,
            each.ended_ms,
            as_of_ms,
            name=each.alert.alert,
            severity=labels.pop("severity", "info"),
            labels=labels,
            text=each.alert.description,
            since_at=each.alert.since_ms,
            entries=tuple(each.entries),
        )


def runs(found: Periods, as_of_ms: int) -> Iterator[RunAccount]:
    """Yield every `kraftgate run`; one without an end still runs, unless another one followed."""
    for each in found.runs:
        killed = each.ended_ms is None and each.last_seen_ms is not None
        yield RunAccount.lasting(each.began_ms, each.until_ms, as_of_ms, facts=each, killed=killed)


def _int(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"an event's field is a whole number, not {value!r}")
    return value

"""Folds the gathered facts into the report. Pure: the same state gives the same report.

It reads no clock: `as_of` is the last moment that the state directory has, and a span without an
end lasts until then.
"""

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version

from migration.assessment.assess import assess
from migration.assessment.hazards import Hazard
from migration.image.summary import BrokerSummary, ClusterSummary
from migration.metadata.versions import name_of
from migration.observed.source_status import SourceStatus
from migration.values.timestamps import within
from orchestrator.api.report.brokers import BrokerAccount, Incarnation, Series
from orchestrator.api.report.report import AuditAccount, ClusterReport, Report, Window
from orchestrator.audit import Entry
from orchestrator.audit.run_spans import periods
from orchestrator.run.assessor import snapshot_of
from orchestrator.run.cluster_read import ClusterRead
from orchestrator.views.report.accounts import (
    executions,
    incarnations,
    source_gaps,
    summary,
    timeline,
)
from orchestrator.views.report.accounts import spans as standing
from orchestrator.views.report.accounts.assignments import Assigned, series
from orchestrator.views.report.accounts.attempts import attempts_of
from orchestrator.views.report.accounts.incarnations import Life
from orchestrator.views.report.accounts.phases import phases_of, window_of
from orchestrator.views.report.gather import Gathered, State


def build(state: State) -> Report:
    """Return the report.

    Raises:
        pydantic.ValidationError: an entry of the trail was written by another version.
    """
    audit = None
    if state.audit is not None:
        audit = AuditAccount(
            file=state.audit_file.name,
            intact=state.audit.ok,
            entries=state.audit.count,
            head=state.audit.head,
            first_bad=state.audit.first_bad,
            why=state.audit.why,
        )
    return Report(
        kraftgate=version("kraftgate"),
        audit=audit,
        clusters=tuple(_cluster(each, audit) for each in state.clusters),
    )


def _cluster(found: Gathered, audit: AuditAccount | None) -> ClusterReport:
    one = found.snapshot
    now = one.summary
    as_of_ms = _as_of(one, found.entries)
    until_ms = as_of_ms or 0
    events = [event for _, event in one.events]
    kept = periods(found.entries)
    walked = executions.walks(found.entries)
    accounts = [
        executions.account(
            each, found.runbooks, kept.runs, one.walk if each is walked[-1] else None, until_ms
        )
        for each in walked
    ]
    phases = phases_of(events, now.phase, until_ms)
    lives = incarnations.lives(events, now.brokers)
    brokers = tuple(_brokers(lives, now, found.assigned, until_ms))
    window = window_of(accounts, phases, brokers, _first(one, found.entries), as_of_ms)
    hazards = sorted(
        standing.hazards(
            kept,
            (life for each in lives.values() for life in each),
            _dangers(found, until_ms),
            until_ms,
        ),
        key=lambda each: (each.began_at or 0, each.hazard, each.broker or 0),
    )
    alerts = tuple(standing.alerts(kept, until_ms))
    losses = tuple(standing.losses(events))
    blind = source_gaps.unseen(events, kept, phases, until_ms)
    attempts = attempts_of(phases, accounts, until_ms)
    decisions = tuple(timeline.decisions(walked))
    return ClusterReport(
        cluster=now.cluster,
        cluster_id=one.status.cluster_id,
        as_of=as_of_ms,
        phase=str(now.phase),
        metadata_version=None if now.metadata_version is None else name_of(now.metadata_version),
        attention=tuple(
            summary.attention(
                window, audit, losses, found.unreadable, kept=bool(kept.runs), phases=phases
            )
        ),
        summary=(
            summary.outcome(now.cluster, str(now.phase), window, phases, attempts),
            *summary.of_attempts(attempts),
            *summary.of_walks(accounts),
            *summary.of_brokers(brokers),
            *summary.of_dangers(hazards, losses, disks_followed=now.disks is not None),
            *summary.of_alerts(alerts),
            *summary.of_people(decisions),
            *summary.of_sources(blind),
        ),
        window=window,
        phases=phases,
        walks=tuple(accounts),
        decisions=decisions,
        brokers=brokers,
        replicas=_series(found, window, until_ms),
        hazards=tuple(hazards),
        alerts=alerts,
        losses=losses,
        unseen=tuple(blind),
        runs=tuple(standing.runs(kept, until_ms)),
        limits=one.limits,
        happened=tuple(timeline.happened(one, found.entries, walked)),
        attempts=attempts,
    )


def _dangers(found: Gathered, as_of_ms: int) -> Sequence[Hazard]:
    """Return the active hazards at the end, evaluated at `as_of_ms`."""
    snapshot = snapshot_of(
        found.entry, found.snapshot, as_of_ms, stall_after_ms=found.stall_after_ms
    )
    return assess(snapshot).hazards


def _series(found: Gathered, window: Window, as_of_ms: int) -> Series | None:
    """Return the replicas over the window; a hold may end after it."""
    if found.transitions is None or window.began_at is None:
        return None
    until_ms = as_of_ms if window.ended_at is None else window.ended_at
    return series(found.transitions, window.began_at, until_ms)


def _as_of(one: ClusterRead, entries: Sequence[Entry]) -> int | None:
    """Return the last moment that the facts have; None: there is none."""
    said: tuple[SourceStatus, ...] = (one.status, one.zookeeper, one.log_dirs, one.jmx)
    known = [
        *(each.observed_ms for each in said if each.observed_ms),
        *(event.seen_ms or event.timestamp_ms for _, event in one.events),
        *(each.at_ms for each in entries),
        one.summary.observed_ms,
        None if one.walk is None else one.walk.at_ms,
    ]
    return max((within(each) for each in known if each is not None), default=None)


def _first(one: ClusterRead, entries: Sequence[Entry]) -> int | None:
    known = [*(event.moment_ms for _, event in one.events), *(each.at_ms for each in entries)]
    return min((within(each) for each in known if each is not None), default=None)


def _brokers(
    lives: Mapping[int, Sequence[Life]],
    now: ClusterSummary,
    assigned: Assigned | None,
    as_of_ms: int,
) -> Iterator[BrokerAccount]:
    known: Mapping[int, BrokerSummary] = {each.id: each for each in now.brokers}
    for id_ in sorted(lives.keys() | known.keys()):
        broker = known.get(id_)
        told = tuple(_incarnation(each, assigned, as_of_ms) for each in lives.get(id_, ()))
        spans = [each.held for each in told if each.held is not None]
        yield BrokerAccount(
            id=id_,
            host=None if broker is None else broker.host,
            rack=None if broker is None else broker.rack,
            mode="gone" if broker is None else str(broker.mode),
            held=broker is not None and broker.held,
            fenced=broker is not None and broker.fenced,
            held_ms=sum(each.duration_ms or 0 for each in spans),
            fenced_ms=sum(each.duration_ms or 0 for one in told for each in one.fenced),
            exposed_ms=sum(each.duration_ms or 0 for one in told for each in one.exposed),
            assigned=sum(one.assignments.assigned for one in told if one.assignments is not None),
            incarnations=told,
        )


def _incarnation(life: Life, assigned: Assigned | None, as_of_ms: int) -> Incarnation:
    found = None
    if assigned is not None and life.held is not None and life.registered_offset is not None:
        found = assigned.of(life.broker, life.log, life.registered_offset, life.held_before)
    return Incarnation(
        metadata_log=life.log,
        registered_at=life.registered_ms,
        registered_offset=life.registered_offset,
        epoch=life.epoch,
        mode=life.mode,
        log_dirs=life.log_dirs,
        pending=life.pending,
        held=None if life.held is None else life.held.told(as_of_ms),
        completed_offset=life.completed_offset,
        unfenced_at=life.unfenced_ms,
        unfenced_offset=life.unfenced_offset,
        fenced=tuple(each.told(as_of_ms) for each in life.fenced),
        exposed=tuple(each.exposure(as_of_ms) for each in life.exposed),
        shut_down_at=life.shut_down_ms,
        directories_lost=life.directories_lost,
        ended_at=life.ended_ms,
        assignments=found,
    )

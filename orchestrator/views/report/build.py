"""Folds the gathered facts into the report. Pure: the same state gives the same report.

It reads no clock: `as_of` is the last moment that the state directory has, and a span without an
end lasts until then.
"""

from collections.abc import Sequence
from importlib.metadata import version

from migration.assessment.assess import assess
from migration.assessment.data_source import DataSource
from migration.assessment.hazards import Hazard
from migration.metadata.events import Event
from migration.metadata.versions import name_of
from migration.observed.source_status import STALE_AFTER_MS, SourceStatus
from migration.values.timestamps import within
from orchestrator.api.report.brokers import Series
from orchestrator.api.report.execution import ExecutionAccount
from orchestrator.api.report.report import (
    Absences,
    AuditAccount,
    ClusterReport,
    Report,
    Window,
)
from orchestrator.audit import Entry
from orchestrator.audit.run_entries import Body
from orchestrator.audit.run_spans import Periods, periods
from orchestrator.run.assessed import configured_sources, snapshot_of
from orchestrator.run.reader import ClusterRead
from orchestrator.views.report.accounts import (
    executions,
    incarnations,
    source_gaps,
    spans,
    summary,
    timeline,
)
from orchestrator.views.report.accounts.assignments import Assigned, series
from orchestrator.views.report.accounts.executions import RecordedExecution
from orchestrator.views.report.accounts.phases import UNKNOWN, attempts_of, phases_of, window_of
from orchestrator.views.report.gather import ClusterFacts, Facts


def build(facts: Facts) -> Report:
    """Return the report.

    Raises:
        AuditError: an entry of the trail was written by another version.
    """
    audit = None
    if facts.audit is not None:
        audit = AuditAccount.from_facts(
            facts.audit,
            file=facts.audit_file.name,
            intact=facts.audit.ok,
            entries=facts.audit.count,
        )
    return Report(
        kraftgate=version("kraftgate"),
        audit=audit,
        clusters=tuple(_cluster(each, audit) for each in facts.clusters),
    )


def _cluster(found: ClusterFacts, audit: AuditAccount | None) -> ClusterReport:
    one = found.snapshot
    now = one.summary
    as_of_ms = _as_of(one, found.entries)
    until_ms = as_of_ms or 0
    events = [event for _, event in one.events]
    kept, sources = periods(found.entries), configured_sources(found.entry)
    _date_kill(kept, found)
    recorded = executions.executions(found.entries)
    is_cut = audit is not None and not audit.intact
    accounts = _executions(found, recorded, kept, until_ms, is_cut=is_cut)
    phase = str(now.known_phase or UNKNOWN)
    phases = phases_of(events, phase, until_ms)
    registrations = incarnations.registrations(events, now.brokers)
    assigned = None if found.transitions is None else Assigned(found.transitions)
    brokers = tuple(incarnations.accounts(registrations, now, assigned, until_ms))
    window = window_of(accounts, phases, brokers, _first(one, found.entries), as_of_ms)
    hazards = sorted(
        spans.hazards(
            kept,
            (reg for each in registrations.values() for reg in each),
            _active_hazards(found, until_ms),
            until_ms,
        ),
        key=lambda each: (each.began_at or 0, each.hazard, each.broker or 0),
    )
    alerts, runs = tuple(spans.alerts(kept, until_ms)), tuple(spans.runs(kept, until_ms))
    losses, store_ms = tuple(spans.losses(events)), _store_began(events, kept)
    unseen = source_gaps.gaps(events, kept, phases, window, until_ms)
    if is_cut:  # the end may be among the other entries
        hazards = [e.with_unknown_end() if e.known_by == "looks" else e for e in hazards]
        unseen = [e.with_unknown_end() if e.node is None else e for e in unseen]
        alerts = tuple(each.with_unknown_end() for each in alerts)
        runs = tuple(each.with_unknown_end() for each in runs)
    unrecorded = summary.unrecorded(audit, kept, sources, found.unread)
    decisions = tuple(timeline.decisions(recorded))
    replicas = _series(found, window, until_ms)
    report = ClusterReport(
        cluster=now.cluster,
        cluster_id=one.status.cluster_id,
        as_of=as_of_ms,
        phase=phase,
        metadata_version=None if now.metadata_version is None else name_of(now.metadata_version),
        attention=(),
        summary=(),
        window=window,
        phases=phases,
        walks=tuple(accounts),
        decisions=decisions,
        brokers=brokers,
        replicas=replicas,
        hazards=tuple(hazards),
        alerts=alerts,
        losses=losses,
        unseen=tuple(unseen),
        absences=Absences(
            replicas=None if replicas else summary.no_replicas(is_read=assigned is not None),
            hazards=None if hazards else summary.no_hazard(unrecorded, gaps=bool(unseen)),
            decisions=None if decisions else summary.no_decision(audit),
            losses=None if losses else summary.no_loss(hazards, _unfollowed(found), store_ms),
            unseen=None if unseen else summary.no_gap(unrecorded),
        ),
        runs=runs,
        limits=one.limits,
        happened=tuple(timeline.happened(one, found.entries, recorded)),
        attempts=attempts_of(phases, accounts, until_ms),
    )
    never = summary.never_current(kept, sources)
    sentences = tuple(summary.sentences(report, audit, found.unread, never, store_ms))
    attention = (
        *summary.attention(report, audit, store_ms),
        *summary.set_back(found.entries),
        *found.unreadable,
    )
    return report.model_copy(update={"summary": sentences, "attention": attention})


def _date_kill(kept: Periods, found: ClusterFacts) -> None:
    """Record until when the last run followed, if the trail goes on without it.

    Commands append entries, too. The sources of a run report every second; if they hang, the run
    records that.
    """
    one, run = found.snapshot, kept.runs[-1] if kept.runs else None
    reported = [each.observed_ms for each in one.sources.values() if each.observed_ms]
    if run is None or run.ended_ms is not None or not reported:
        return
    if one.execution is not None:
        reported.append(one.execution.at_ms)
    recorded = (entry.at_ms for entry, _ in Body.read(found.entries))
    seen_ms = max(*reported, *recorded)
    if found.entries[-1].at_ms - seen_ms > STALE_AFTER_MS:
        run.last_seen_ms = seen_ms


def _executions(
    found: ClusterFacts,
    recorded: Sequence[RecordedExecution],
    kept: Periods,
    until_ms: int,
    *,
    is_cut: bool,
) -> list[ExecutionAccount]:
    """Return the executions; `is_cut`: the invalid end of the trail was left out.

    Then one that has not ended is as the last entry left it.
    """
    if is_cut and found.entries:
        until_ms = found.entries[-1].at_ms
    status = None if is_cut else found.snapshot.execution
    accounts = executions.accounts(recorded, found.runbooks, kept.runs, status, until_ms)
    return [
        each.model_copy(update={"outcome": "unknown"}) if is_cut and each.outcome is None else each
        for each in accounts
    ]


def _active_hazards(facts: ClusterFacts, as_of_ms: int) -> Sequence[Hazard]:
    """Return the active hazards at the end, evaluated at `as_of_ms`."""
    snapshot = snapshot_of(
        facts.entry, facts.snapshot, as_of_ms, stall_after_ms=facts.stall_after_ms
    )
    return assess(snapshot).hazards


def _store_began(events: Sequence[Event], kept: Periods) -> int | None:
    """Return when the store got its first event, if an earlier store had read the metadata log.

    Then that event was read in a gap: the metadata log was current before and after it.
    """
    first_ms = min((each.seen_ms for each in events if each.seen_ms is not None), default=0)
    is_again = any(
        each.source == DataSource.METADATA_LOG
        and each.began_ms < first_ms <= (each.ended_ms or first_ms)
        for each in kept.gaps
    )
    return first_ms if is_again else None


def _unfollowed(facts: ClusterFacts) -> str | None:
    """Return why no loss can be known; None: a broker has described its log directories."""
    disks = facts.snapshot.summary.disks
    if disks is not None and any(each.answered_ms for each in disks.brokers.values()):
        return facts.unread
    return facts.unread or "the log directories were not followed"


def _series(facts: ClusterFacts, window: Window, as_of_ms: int) -> Series | None:
    """Return the replicas over the window; a hold may end after it."""
    if facts.transitions is None or window.began_at is None:
        return None
    until_ms = as_of_ms if window.ended_at is None else window.ended_at
    return series(facts.transitions, window.began_at, until_ms)


def _as_of(one: ClusterRead, entries: Sequence[Entry]) -> int | None:
    """Return the last moment that the facts have; None: there is none."""
    statuses: tuple[SourceStatus, ...] = (one.status, one.zookeeper, one.log_dirs, one.jmx)
    known = [
        *(each.observed_ms for each in statuses if each.observed_ms),
        *(event.seen_ms or event.timestamp_ms for _, event in one.events),
        *(each.at_ms for each in entries),
        one.summary.observed_ms,
        None if one.execution is None else one.execution.at_ms,
    ]
    return max((within(each) for each in known if each is not None), default=None)


def _first(one: ClusterRead, entries: Sequence[Entry]) -> int | None:
    known = [*(event.moment_ms for _, event in one.events), *(each.at_ms for each in entries)]
    return min((within(each) for each in known if each is not None), default=None)

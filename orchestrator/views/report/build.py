"""Folds the gathered facts into the report. Pure: the same state gives the same report.

It reads no clock: `as_of` is the last moment that the state directory has, and a span without an
end lasts until then.
"""

from collections.abc import Sequence
from importlib.metadata import version

from migration.assessment.assess import assess
from migration.assessment.hazards import Hazard
from migration.metadata.versions import name_of
from migration.observed.log_dirs import DisksImage
from migration.observed.source_status import SourceStatus
from migration.values.timestamps import within
from orchestrator.api.report.brokers import Series
from orchestrator.api.report.report import (
    Absences,
    AuditAccount,
    ClusterReport,
    Report,
    Window,
)
from orchestrator.audit import Entry
from orchestrator.audit.run_spans import periods
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
from orchestrator.views.report.accounts.phases import attempts_of, phases_of, window_of
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
    recorded = executions.executions(found.entries)
    accounts = list(
        executions.accounts(recorded, found.runbooks, kept.runs, one.execution, until_ms)
    )
    phases = phases_of(events, now.phase, until_ms)
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
    losses = tuple(spans.losses(events))
    unseen = tuple(source_gaps.gaps(events, kept, phases, window, until_ms))
    replicas = _series(found, window, until_ms)
    report = ClusterReport(
        cluster=now.cluster,
        cluster_id=one.status.cluster_id,
        as_of=as_of_ms,
        phase=str(now.phase),
        metadata_version=None if now.metadata_version is None else name_of(now.metadata_version),
        attention=(),
        summary=(),
        window=window,
        phases=phases,
        walks=tuple(accounts),
        decisions=tuple(timeline.decisions(recorded)),
        brokers=brokers,
        replicas=replicas,
        hazards=tuple(hazards),
        alerts=tuple(spans.alerts(kept, until_ms)),
        losses=losses,
        unseen=unseen,
        absences=Absences(
            replicas=None if replicas else summary.no_replicas(is_read=assigned is not None),
            hazards=None if hazards else summary.no_hazard(audit, kept, sources, gaps=bool(unseen)),
            losses=None if losses else summary.no_loss(disks_followed=_has_described(now.disks)),
            unseen=None if unseen else summary.no_gap(audit, kept, sources),
        ),
        runs=tuple(spans.runs(kept, until_ms)),
        limits=one.limits,
        happened=tuple(timeline.happened(one, found.entries, recorded)),
        attempts=attempts_of(phases, accounts, until_ms),
    )
    sentences = tuple(summary.sentences(report))
    attention = (*summary.attention(report, audit), *found.unreadable)
    return report.model_copy(update={"summary": sentences, "attention": attention})


def _active_hazards(facts: ClusterFacts, as_of_ms: int) -> Sequence[Hazard]:
    """Return the active hazards at the end, evaluated at `as_of_ms`."""
    snapshot = snapshot_of(
        facts.entry, facts.snapshot, as_of_ms, stall_after_ms=facts.stall_after_ms
    )
    return assess(snapshot).hazards


def _has_described(disks: DisksImage | None) -> bool:
    """Return whether a broker has described its log directories at least once."""
    return disks is not None and any(each.answered_ms for each in disks.brokers.values())


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

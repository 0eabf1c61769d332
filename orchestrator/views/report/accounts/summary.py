"""The summary of the report in sentences, and the warnings that a reader needs first."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from migration.assessment.data_source import SOURCE_WORDS, DataSource
from migration.assessment.hazards import HazardKind
from migration.image.summary import Phase
from migration.values.evidence import count, named
from migration.values.timestamps import utc_text as at
from orchestrator.api.report.brokers import BrokerAccount, Exposure
from orchestrator.api.report.execution import Decision, ExecutionAccount
from orchestrator.api.report.report import (
    AlertAccount,
    Attempt,
    AuditAccount,
    ClusterReport,
    HazardAccount,
    LossAccount,
    UnseenAccount,
    Window,
)
from orchestrator.api.report.shape import Span
from orchestrator.audit import Entry
from orchestrator.audit.execution.entries import HOW_ENDED
from orchestrator.audit.run_spans import Periods
from orchestrator.views.report.accounts.phases import UNKNOWN
from orchestrator.views.report.times import lasting

_ENDINGS: Final[Mapping[str, str]] = {
    Phase.FINALIZED: "went from ZooKeeper to finalized KRaft",
    Phase.ROLLED_BACK: "is back under ZooKeeper's controller",
    Phase.KRAFT: "is in KRaft mode and did not migrate",
}

_NAMED_MAX: Final = 12
_SET_BACK_MS: Final = 30_000
"""Two processes may append entries in another order than that of their times, by less than this."""


def sentences(
    report: ClusterReport,
    audit: AuditAccount | None,
    unread: str | None,
    never: Sequence[str],
    store_ms: int | None,
) -> Iterator[str]:
    """Yield the summary of a report.

    `unread`: why the store lacks data about the cluster; `never`: the sources never current;
    `store_ms`: as for `attention`.
    """
    is_cut = audit is not None and not audit.intact
    yield _outcome(report, unread)
    yield from _of_attempts(report.attempts)
    yield from (_execution(each, len(report.walks)) for each in report.walks)
    yield from _of_brokers(report.brokers, is_skipped=any(map(_is_skipped, report.unseen)))
    yield report.absences.losses or _losses(report.losses)
    yield report.absences.hazards or _hazards(report.hazards, is_cut=is_cut)
    yield from _of_alerts(report.alerts, is_cut=is_cut)
    yield from _of_decisions(report.decisions, audit)
    yield from _of_sources(report.unseen, is_partial=store_ms is not None)
    if never and not is_cut:
        yield f"No current data of {' and '.join(never)} at all."


def _outcome(report: ClusterReport, unread: str | None) -> str:
    """Return the sentence about how the migration ended, or about its phase, and the window."""
    ending = f"The cluster {report.cluster} {_ending(report)}."
    if report.phase == UNKNOWN:
        why = unread or "neither the metadata log nor ZooKeeper was read"
        what, verb = ("phase", "is") if unread is None else ("phase, brokers and events", "are")
        ending = f"The {what} of the cluster {report.cluster} {verb} unknown: {why}."
    return ending + _when(report.window)


def _ending(report: ClusterReport) -> str:
    phases, attempts = report.phases, report.attempts
    ending = _ENDINGS.get(report.phase, f"is in phase {report.phase}")
    if report.phase == Phase.FINALIZED and Phase.HYBRID not in {each.phase for each in phases}:
        ending = "is in finalized KRaft"
    if len(attempts) > 1 and phases[-1].attempt is not None:
        ending += f", in attempt {phases[-1].attempt} of {len(attempts)}"
    return ending


def _when(window: Window) -> str:
    if window.began_at is None:
        return ""
    spent = "" if window.duration_ms is None else f", {lasting(window.duration_ms)}"
    if window.ended is None:
        return f" The window began at {at(window.began_at)}; whether it has ended is unknown."
    if window.ended_at is not None:
        return f" The window was from {at(window.began_at)} to {at(window.ended_at)}{spent}."
    return f" The window began at {at(window.began_at)} and has not ended{spent}."


def _of_attempts(attempts: Sequence[Attempt]) -> Iterator[str]:
    """Yield a sentence for each attempt; none if there was one and the outcome covers it."""
    if len(attempts) == 1 and attempts[0].outcome in ("finalized", "under way"):
        return
    for each in attempts:
        which = "The attempt" if len(attempts) == 1 else f"Attempt {each.number}"
        began = "before it was followed" if each.began_at is None else f"at {at(each.began_at)}"
        how = "is under way"
        if each.ended_at is not None:
            how = f"was {each.outcome} at {at(each.ended_at)}"
        spent = "" if each.duration_ms is None else f", {lasting(each.duration_ms)} after it began"
        if each.ended_at is None and each.duration_ms is not None:
            spent = f" for {lasting(each.duration_ms)}"
        reached = "" if each.outcome == "finalized" else f" It reached {each.reached}."
        log = f"metadata log {each.metadata_log}"
        yield f"{which} ({log}) began {began} and {how}{spent}.{reached}"


def _execution(execution: ExecutionAccount, of: int) -> str:
    which = "The execution" if of == 1 else f"Execution {execution.number} of {of}"
    through = f"{which} of {execution.runbook}"
    found = (step for each in execution.checkpoints for step in each.steps)
    steps = [step for step in found if step.outcome not in ("shown", "not started")]
    failed = sum(step.outcome in ("failed", "unknown") for step in steps)
    took = "one step was taken" if len(steps) == 1 else f"{len(steps) or 'no'} steps were taken"
    took += f", {failed} of which failed or ended with an unknown outcome" if failed else ""
    known_ms = execution.duration_ms
    spent = "an unknown time" if known_ms is None else lasting(known_ms)
    if execution.outcome == "unknown":
        where = f"at {execution.stands_at}" if execution.stands_at else "at no checkpoint"
        return (
            f"{through} was {where} at the last valid entry of the audit trail, after {spent};"
            f" {took}. What followed is unknown."
        )
    if execution.outcome is None:
        why = f": {execution.waiting_for[0]}" if execution.waiting_for else ""
        if not execution.checkpoints:
            return f"{through} has not ended; it has entered no checkpoint yet{why}."
        where = "between two checkpoints"
        if execution.stands_at:
            place = f" ({execution.place})" if execution.place else ""
            where = f"at {execution.stands_at}{place}"
        return f"{through} has not ended; it is {where}{why}. In {spent} {took}."
    back = ""
    if execution.way_back is not None:
        back = f" It was rolled back from {execution.turned_at} by {execution.way_back}."
    return f"{through} {HOW_ENDED[execution.outcome]} in {spent}; {took}.{back}"


def _is_skipped(each: UnseenAccount) -> bool:
    """Return whether the gap is of records of the metadata log that were never read."""
    return each.source == "metadata_log" and each.began_at is None


def _of_brokers(brokers: Sequence[BrokerAccount], *, is_skipped: bool) -> Iterator[str]:
    """Yield the sentences about held brokers and early unfencing, with durations.

    `is_skipped`: records that may have shown more of it were never read.
    """
    kraft = [(b, i) for b in brokers for i in b.incarnations if i.mode == "kraft"]
    holds = [(b.id, i.held) for b, i in kraft if i.held is not None]
    still = sorted({id_ for id_, held in holds if held.ended_at is None})
    cut_short = sorted({b.id for b, i in kraft if i.cut_short})
    unseen = sorted({b.id for b, i in kraft if i.registered_at is None})
    is_whole = bool(kraft) and not unseen and not is_skipped
    if holds:
        held_ids = sorted({id_ for id_, _ in holds})
        times = _held_for([held for _, held in holds])
        who = f"{count(len(held_ids), 'broker')} ({named(held_ids, _NAMED_MAX)})"
        until = "" if cut_short or still else ", until every replica had a known directory"
        yield f"{who} had to be held after a registration in KRaft mode, {times}{until}."
    elif is_whole:
        yield "No broker had to be held: every replica had a known directory at once."
    if cut_short:
        yield (
            "Replicas had no known directory yet when a hold ended, by another registration or the"
            f" rollback: of {count(len(cut_short), 'broker')} ({named(cut_short, _NAMED_MAX)})."
        )
    if still:
        yield f"Still held: {named(still, _NAMED_MAX)}."
    exposed = [(b.id, each) for b, i in kraft for each in i.exposed]
    if exposed:
        yield _exposed(exposed)
    elif is_whole:
        yield "Kafka unfenced none of them early."
    if is_skipped:
        yield "Holds and early unfencing in records that were never read are unknown; see Gaps."
    if unseen:
        yield (
            "Holds and early unfencing before a snapshot was read are unknown: it had the"
            f" registration of {count(len(unseen), 'broker')} ({named(unseen, _NAMED_MAX)})."
        )


def _held_for(holds: Sequence[Span]) -> str:
    """Return how long brokers were held, once or more."""
    spent = sorted(held.duration_ms for held in holds if held.duration_ms is not None)
    each = " each" if len(holds) > 1 else ""
    if not spent:
        return f"for an unknown time{each}"
    shortest, longest = lasting(spent[0]), lasting(spent[-1])
    if len(spent) < len(holds):
        return f"the longest for at least {longest}"
    return (
        f"for {longest}{each}" if shortest == longest else f"between {shortest} and {longest}{each}"
    )


def _exposed(exposed: Sequence[tuple[int, Exposure]]) -> str:
    ids = sorted({id_ for id_, _ in exposed})
    known = [pair for pair in exposed if pair[1].duration_ms is not None]
    id_, longest = max(known or exposed, key=lambda pair: pair[1].duration_ms or 0)
    least, which = ("", "longest") if len(known) == len(exposed) else ("at least ", "longest known")
    spent = f"{least}{lasting(longest.duration_ms)}" if known else "an unknown time"
    still = " so far" if longest.ended_at is None else ""
    who = f"broker {id_} early: it"
    if len(ids) > 1:
        brokers = named(ids, _NAMED_MAX)
        who = f"{len(ids)} brokers early ({brokers}), the {which} of them broker {id_}: it"
    return (
        f"Kafka unfenced {who} served for {spent}{still} while {longest.pending} of its replicas"
        " had no known directory."
    )


def _losses(losses: Sequence[LossAccount]) -> str:
    partitions = len({(each.topic, each.partition) for each in losses})
    records = sum(each.records for each in losses)
    of = count(partitions, "partition")
    return f"Acknowledged records were lost: at least {records} of {of}; see Losses."


def _hazards(hazards: Sequence[HazardAccount], *, is_cut: bool) -> str:
    critical = sum(each.severity == "critical" for each in hazards)
    what = f"{count(len(hazards), 'hazard')} occurred, {critical or 'none'} critical"
    return _occurred(what, hazards, [each.hazard for each in hazards], is_cut=is_cut)


def no_replicas(*, is_read: bool) -> str:
    """Return the text if the numbers of replicas over time are missing."""
    if is_read:
        return "No transition of a replica is stored."
    return "The transitions of the replicas cannot be read."


def no_loss(hazards: Iterable[HazardAccount], why_unknown: str | None, store_ms: int | None) -> str:
    """Return the text if the store has no loss; `store_ms`: since when it has data."""
    if _has_loss(hazards):
        return (
            "Acknowledged records were lost, or may be, as a hazard reports; see Hazards. The store"
            " does not have their offsets."
        )
    if why_unknown is None and store_ms is not None:
        why_unknown = f"the store has data only since {at(store_ms)}"
    if why_unknown is not None:
        return f"It is unknown whether records were lost: {why_unknown}."
    return (
        "No loss of acknowledged records was detected. A loss of records that were written"
        " after the last poll of the disks is not detected."
    )


def set_back(entries: Sequence[Entry]) -> Iterator[str]:
    """Yield the warning if the times of the trail's entries go back."""
    steps = [before.at_ms - after.at_ms for before, after in pairwise(entries)]
    back = [step_ms for step_ms in steps if step_ms > _SET_BACK_MS]
    if back:
        times, least = count(len(back), "time"), lasting(sum(back))
        yield (
            f"The clock of Kraftgate's host was set back {times}, by at least {least} in total:"
            " times and durations across it are wrong."
        )


def _has_loss(hazards: Iterable[HazardAccount]) -> bool:
    return any(each.hazard == HazardKind.RECORDS_LOST for each in hazards)


def no_hazard(why_unknown: str | None, *, gaps: bool) -> str:
    """Return the text if no hazard is known.

    `gaps`: whether a source was not current for a while.
    """
    if why_unknown is not None:
        return f"It is unknown whether a hazard was active: {why_unknown}."
    return "No hazard was observed; see Gaps." if gaps else "No hazard was active."


def no_decision(audit: AuditAccount | None) -> str:
    if audit is None:
        return "It is unknown which decisions were made: there is no audit trail."
    if not audit.intact:
        return f"It is unknown which decisions were made: the audit trail {audit.problem}."
    return "The audit trail has no decision."


def no_gap(why_unknown: str | None) -> str:
    if why_unknown is None:
        return "Every followed source was current all the time."
    return f"It is unknown whether every source was current: {why_unknown}."


def unrecorded(
    audit: AuditAccount | None,
    found: Periods,
    sources: Iterable[DataSource],
    unread: str | None,
) -> str | None:
    """Return why trail and store cannot show that nothing happened; None: they can.

    `sources`: the configured ones; `unread`: why the store lacks data about the cluster.
    """
    if audit is None:
        return "there is no audit trail"
    if not audit.intact:
        return f"the audit trail {audit.problem}"
    if unread is not None:
        return unread
    if not found.runs:
        return "an older kraftgate run followed, or none"
    never = never_current(found, sources)
    return f"never current: {', '.join(never)}" if never else None


def never_current(found: Periods, sources: Iterable[DataSource]) -> list[str]:
    """Return the configured sources that no recorded run found current."""
    if not found.runs:
        return []
    return [SOURCE_WORDS[each] for each in sorted(sources) if str(each) not in found.sources]


def _of_alerts(alerts: Sequence[AlertAccount], *, is_cut: bool) -> Iterator[str]:
    if alerts:
        what = f"{count(len(alerts), 'alert')} occurred"
        yield _occurred(what, alerts, [each.name for each in alerts], is_cut=is_cut)


def _occurred(what: str, found: Iterable[Span], kinds: Iterable[str], *, is_cut: bool) -> str:
    """Return the sentence that begins with `what`; `is_cut`: ends may be missing in the trail."""
    times = Counter(kinds)
    names = ", ".join(f"{kind} ({n} times)" if n > 1 else kind for kind, n in times.items())
    if is_cut:
        return f"At least {what}: {names}. It is unknown which were active at the end."
    active = sum(each.ended_at is None for each in found)
    return f"{what}, {active or 'none'} active at the end: {names}."


def _of_decisions(decisions: Sequence[Decision], audit: AuditAccount | None) -> Iterator[str]:
    asked = [each for each in decisions if each.who is not None]
    if not asked:
        return
    approved = sum(each.kind == "approved" for each in asked)
    names = sorted({str(each.who) for each in asked})
    among = f", {count(approved, 'approval')} among them" if approved else ""
    has, later = "The audit trail has", ""
    if audit is not None and not audit.intact:
        has = f"Up to entry {audit.entries}, the audit trail has"
        later = " Later decisions are unknown."
    yield f"{has} {count(len(asked), 'decision')} by {', '.join(names)}{among}.{later}"


def _of_sources(unseen: Sequence[UnseenAccount], *, is_partial: bool) -> Iterator[str]:
    """Yield how long ZooKeeper, or all disks, were not current, as far as `unseen` has it."""
    for source, words in (("zookeeper", "ZooKeeper"), ("log_dirs", "the brokers' log directories")):
        times = [each for each in unseen if each.source == source and each.node is None]
        if times:
            known_ms = sum(each.duration_ms or 0 for each in times)
            is_least = is_partial or any(each.is_end_unknown for each in times)
            least = "at least " if is_least else ""
            yield f"No current data of {words} for {least}{lasting(known_ms)} in total; see Gaps."


def attention(
    report: ClusterReport, audit: AuditAccount | None, store_ms: int | None
) -> Iterator[str]:
    """Yield the warnings that a reader needs first.

    `store_ms`: since when the store has data, if an earlier store had data before.
    """
    if store_ms is not None:
        yield (
            f"The store has data only since {at(store_ms)}. What happened before is known from the"
            " audit trail and the controllers' current metadata log only: earlier attempts,"
            " losses and gaps may be missing."
        )
    if audit is not None and not audit.intact:
        used = "None of its entries is used here: what they record is unknown."
        if audit.entries:
            used = f"It is used here up to entry {audit.entries}: what followed is unknown."
        yield f"The audit trail {audit.problem}: {audit.why}. {used}"
    elif audit is None:
        yield "There is no audit trail: decisions, and when hazards were active, are unknown."
    elif not report.runs:
        yield (
            "It is unknown when hazards began and ended: an older kraftgate run followed, or"
            " none. Those that are active at the end come from the store."
        )
    if report.window.ended is None:
        yield "It is unknown whether the window has ended: this report may be incomplete."
    elif not report.window.ended and report.window.of != "followed":
        yield "The window has not ended: this report is incomplete."
    if report.losses or _has_loss(report.hazards):
        unsure = "" if report.losses else ", or may be; see Hazards"
        yield f"Acknowledged records were lost{unsure}."
    if any(not each.exact for each in report.phases):
        yield "The time of some phase changes is not exact."

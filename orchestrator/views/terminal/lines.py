"""One line per change, for output that is not a terminal: stable, searchable `key=value` fields.

    2026-11-21T00:30:01.123Z cluster=prod change=phase phase=hybrid was=copying offset=413

`change` is one of cluster, phase, controller, broker, event, hazard, checkpoint, next, waiting. The
leading time is the tick that found the change; `at` in an event is the record's own time. A change
of only an age or an estimate makes no line.
"""

from collections import Counter
from collections.abc import Iterator

from migration.assessment.assess import Assessment
from migration.assessment.conditions.authority import is_hazard_over
from migration.assessment.eta import NoEstimate, rate_per_second
from migration.assessment.hazards import Hazard, HazardKind
from migration.assessment.waits import Wait
from migration.image.summary import BrokerSummary
from migration.metadata.events import in_time_order
from migration.metadata.replica_state import ReplicaState
from migration.values.timestamps import iso
from orchestrator.output.formatting import event_fields, pairs
from orchestrator.run.assessed import Assessed
from orchestrator.run.execution_status import ExecutionStatus


def changes(before: Assessed | None, after: Assessed) -> list[str]:
    """Return the changes between two ticks of one cluster; the whole state if `before` is None."""
    summary, waits = after.summary, after.assessment.waits
    head = f"{iso(after.now_ms)} cluster={summary.cluster}"
    lines: list[str] = [f"change=event {pairs(fields)}" for fields in _new_events(before, after)]
    lines += _cluster_changes(before, after)
    lines += _broker_changes(before, after)
    lines += _hazard_changes(before, after)
    lines += _execution_changes(before, after)
    if before is None or _next_key(before) != _next_key(after):
        now = after.assessment.next
        fields = {
            "need": str(now.need),
            "broker": now.broker,
            "text": now.headline,
            "why": now.why,
            "command": now.commands[0] if now.commands else None,
        }
        lines.append(f"change=next {pairs(fields)}")
    if before is None or _names(before.assessment.waits) != _names(waits):
        first = waits[0] if waits else None
        fields = {
            "reason": "nothing" if first is None else str(first.kind),
            "broker": None if first is None else first.broker,
            "more": max(0, len(waits) - 1),
            "text": after.assessment.next.text if first is None else first.text,
        }
        lines.append(f"change=waiting {pairs(fields)}")
    return [f"{head} {line}" for line in lines]


def _new_events(before: Assessed | None, after: Assessed) -> Iterator[dict[str, object]]:
    seen = before.read.events[-1][0] if before is not None and before.read.events else 0
    for event in in_time_order(event for sequence, event in after.read.events if sequence > seen):
        yield event_fields(event)


def _cluster_changes(before: Assessed | None, after: Assessed) -> Iterator[str]:
    was, now = None if before is None else before.summary, after.summary
    former = None if was is None else was.known_phase
    if now.known_phase is not None and now.known_phase is not former:
        earlier = {} if former is None else {"was": str(former)}
        fields = {"phase": str(now.known_phase), **earlier, "offset": now.metadata_offset}
        yield f"change=phase {pairs(fields)}"
    controller, epoch = _controller(after)
    if controller is not None and (before is None or _controller(before) != (controller, epoch)):
        yield f"change=controller {pairs({'controller': controller, 'epoch': epoch})}"
    counts = _counts(after)
    if counts and (before is None or counts != _counts(before)):
        yield f"change=cluster {pairs(counts)}"


def _counts(one: Assessed) -> dict[str, object]:
    """Return the numbers of topics and partitions; empty: unknown."""
    if not one.assessment.knows_partitions:
        return {}
    return {"topics": one.summary.topics, "partitions": one.summary.partitions}


def _controller(one: Assessed) -> tuple[int | None, int | None]:
    return one.assessment.view.active_controller, one.leader_epoch


def _broker_changes(before: Assessed | None, after: Assessed) -> Iterator[str]:
    offset = after.summary.metadata_offset
    known = {} if before is None else {broker.id: broker for broker in before.summary.brokers}
    for broker in after.summary.brokers:
        if known.pop(broker.id, None) != broker:
            fields = broker_fields(after.assessment, broker)
            fields["offset"] = offset
            yield f"change=broker {pairs(fields)}"
    for broker_id in sorted(known):
        fields = {"broker": broker_id, "gone": True, "offset": offset}
        yield f"change=broker {pairs(fields)}"


def _hazard_changes(before: Assessed | None, after: Assessed) -> Iterator[str]:
    was = Counter(map(_which, () if before is None else before.assessment.hazards))
    now = Counter(map(_which, after.assessment.hazards))
    for each in after.assessment.hazards:
        # Two directories of one broker are two hazards with the same identity.
        if now[_which(each)] <= was[_which(each)]:
            continue
        fields = {
            "hazard": each.kind,
            "broker": each.broker,
            "severity": each.severity,
            "blocks": each.blocks,
            "text": each.text,
        }
        yield f"change=hazard {pairs(fields)}"
    if before is None:
        return
    for kind, broker in sorted(was.keys() - now.keys(), key=str):
        is_over = is_hazard_over(after.assessment.view, kind, broker, before.now_ms)
        end = {"over": True} if is_over else {"known": False}
        yield f"change=hazard {pairs({'hazard': kind, 'broker': broker, **end})}"


def _execution_changes(before: Assessed | None, after: Assessed) -> Iterator[str]:
    was, now = None if before is None else before.read.execution, after.read.execution
    if now is None or (was is not None and _execution_key(was) == _execution_key(now)):
        return
    fields = {
        "checkpoint": now.checkpoint,
        "stage": now.stage,
        "path": now.path,
        "outcome": now.outcome,
        "paused": now.paused is not None,
        "holds": len(now.holds),
        "text": now.holds[0] if now.holds else (now.shown or ""),
    }
    yield f"change=checkpoint {pairs(fields)}"


def _execution_key(walk: ExecutionStatus) -> object:
    """Return the part whose change makes a new line; hold texts are left out: they have ages."""
    names = tuple(each.partition(":")[0] for each in walk.holds)
    return walk.checkpoint, walk.stage, walk.path, walk.outcome, walk.paused, names


def _which(hazard: Hazard) -> tuple[HazardKind, int | None]:
    """Return the identity of a hazard; its text has ages and counts."""
    return hazard.kind, hazard.broker


def broker_fields(assessment: Assessment, broker: BrokerSummary) -> dict[str, object]:
    """Return a broker's state as fields, always the same ones in the same order.

    A value that the metadata log does not count is None; `total` then counts the broker's disks.
    """
    counts = assessment.counts(broker)
    total = (
        sum(broker.replicas.values()) if counts else assessment.summary.replicas_on_disk(broker.id)
    )
    rate, eta = rate_per_second(broker), assessment.etas.get(broker.id)
    one = None if isinstance(eta, NoEstimate) else eta
    return {
        "broker": broker.id,
        "mode": str(broker.mode),
        "fenced": broker.fenced,
        "held": broker.held,
        "pending": broker.pending if counts else None,
        "total": total,
        **{str(state): broker.replicas[state] if counts else None for state in ReplicaState},
        "rate": None if rate is None else round(rate, 1),
        "eta_seconds": one and round(one.seconds, 1),
        "unfenced_early": broker.is_unfenced_early,
        "eta_low_seconds": one and round(one.low, 1),
        "eta_high_seconds": one and round(one.high, 1),
    }


def _next_key(one: Assessed) -> object:
    """Return the identity of the next action; its text has ages and counts."""
    now, walk = one.assessment.next, one.read.execution
    return now.need, now.topic, now.broker, now.commands, None if walk is None else walk.checkpoint


def _names(reasons: tuple[Wait, ...]) -> list[tuple[str, int | None]]:
    """Return the identity of each wait; its text has ages and would change each second."""
    return [(wait.kind, wait.broker) for wait in reasons]

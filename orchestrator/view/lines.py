"""Without a terminal: one line per change, stable `key=value` fields, made to be searched.

    2026-11-21T00:30:01.123Z cluster=prod change=phase phase=hybrid was=copying offset=413

`change` is one of cluster, phase, controller, broker, event, waiting; the time in front is when
the change was seen, `at` in an event is the record's own. Ages and estimates make no line.
"""

from collections.abc import Iterator

from migration.rates import eta_seconds, rate_per_second
from migration.summary import BrokerSummary, ClusterSummary, ReplicaState, iso
from migration.wait import Wait
from migration.waits import headline
from orchestrator.following import Snapshot
from orchestrator.view.words import event_fields, pairs


def changes(
    before: Snapshot | None,
    after: Snapshot,
    reasons_before: tuple[Wait, ...],
    reasons_after: tuple[Wait, ...],
    now_ms: int,
) -> list[str]:
    """Tell what changed between two snapshots of one cluster; all of it when there was none."""
    head = f"{iso(now_ms)} cluster={after.summary.cluster}"
    was = None if before is None else before.summary
    told: list[str] = [f"change=event {pairs(fields)}" for fields in _new_events(before, after)]
    told += _cluster_changes(was, after.summary)
    told += _broker_changes(was, after.summary, now_ms)
    if before is None or _names(reasons_before) != _names(reasons_after):
        first = reasons_after[0] if reasons_after else None
        fields = {
            "reason": "nothing" if first is None else str(first.kind),
            "broker": None if first is None else first.broker,
            "more": max(0, len(reasons_after) - 1),
            "text": headline(after.summary, reasons_after[:1]),
        }
        told.append(f"change=waiting {pairs(fields)}")
    return [f"{head} {line}" for line in told]


def _new_events(before: Snapshot | None, after: Snapshot) -> Iterator[dict[str, object]]:
    seen = before.events[-1][0] if before is not None and before.events else 0
    for sequence, event in after.events:
        if sequence > seen:
            yield event_fields(event)


def _cluster_changes(before: ClusterSummary | None, after: ClusterSummary) -> Iterator[str]:
    if before is None or before.phase is not after.phase:
        was = {} if before is None else {"was": str(before.phase)}
        fields = {"phase": str(after.phase), **was, "offset": after.metadata_offset}
        yield f"change=phase {pairs(fields)}"
    if before is None or _controller(before) != _controller(after):
        controller, epoch = _controller(after)
        yield f"change=controller {pairs({'controller': controller, 'epoch': epoch})}"
    counts = {"topics": after.topics, "partitions": after.partitions}
    if before is None or (before.topics, before.partitions) != (after.topics, after.partitions):
        yield f"change=cluster {pairs(counts)}"


def _controller(summary: ClusterSummary) -> tuple[int | None, int | None]:
    return summary.active_controller, summary.leader_epoch


def _broker_changes(
    before: ClusterSummary | None, after: ClusterSummary, now_ms: int
) -> Iterator[str]:
    known = {} if before is None else {broker.id: broker for broker in before.brokers}
    for broker in after.brokers:
        if known.pop(broker.id, None) != broker:
            fields = broker_fields(broker, now_ms) | {"offset": after.metadata_offset}
            yield f"change=broker {pairs(fields)}"
    for broker_id in sorted(known):
        fields = {"broker": broker_id, "gone": True, "offset": after.metadata_offset}
        yield f"change=broker {pairs(fields)}"


def broker_fields(broker: BrokerSummary, now_ms: int) -> dict[str, object]:
    """Give a broker's state as fields, always the same ones in the same order."""
    rate, eta = rate_per_second(broker), eta_seconds(broker, now_ms)
    return {
        "broker": broker.id,
        "mode": str(broker.mode),
        "fenced": broker.fenced,
        "held": broker.held,
        "pending": broker.pending,
        "total": sum(broker.replicas.values()),
        **{str(state): broker.replicas[state] for state in ReplicaState},
        "rate": None if rate is None else round(rate, 1),
        "eta_seconds": None if eta is None else round(eta, 1),
        "unfenced_early": broker.unfenced_early is not None,
    }


def _names(reasons: tuple[Wait, ...]) -> list[tuple[str, int | None]]:
    """What a wait is, without its words: they carry ages and would change each second."""
    return [(wait.kind, wait.broker) for wait in reasons]

"""Hazards that only the JMX numbers show, and doubts that they raise.

A number never resolves a hazard. A node's last numbers are used until it can be read again, while
the other nodes' numbers show that the source is current.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from migration.assessment.currency import Currency
from migration.assessment.data_source import DataSource
from migration.assessment.hazards.hazard import Action, Hazard, HazardKind
from migration.image.summary import BrokerSummary, ClusterSummary
from migration.observed.jmx import Contradiction, JmxImage, JmxNode, QueueFloor
from migration.observed.jmx_names import JmxName
from migration.values.durations import duration_text

FLAT_AFTER_MS: Final = 60_000
"""The broker waits this long for an answer of the controller (BrokerServer, retryTimeoutMs of the
channel directory-assignments). It does not even log the error of a single assignment for twice this
time (AssignmentsManager.MIN_NOISY_FAILURE_INTERVAL_NS)."""


def assignment_queue_flat(
    summary: ClusterSummary, now_ms: int, currency: Currency
) -> Iterator[Hazard]:
    """Yield the brokers with assignments that the controller does not confirm.

    Derived from silence, of the queue and of the metadata log.

    KAFKA-16886 and KAFKA-17190 cause this, and so does a controller that does not answer.
    """
    if not all(map(currency.is_current, (DataSource.JMX, DataSource.METADATA_LOG))):
        return
    brokers = {each.id: each for each in summary.brokers}
    for node in (summary.jmx or JmxImage()).nodes.values():
        queue, broker = node.queue, brokers.get(node.id)
        if queue is None or node.read_ms is None:
            continue
        if node.read_ms - queue.since_ms < FLAT_AFTER_MS:
            continue
        if broker is not None and _progresses(broker, node.read_ms):
            continue
        yield _flat(node, queue, node.read_ms, broker, now_ms)


def _progresses(broker: BrokerSummary, read_ms: int) -> bool:
    """Return whether the metadata log shows that the controller confirmed assignments meanwhile."""
    return broker.assigned_ms is not None and broker.assigned_ms > read_ms - FLAT_AFTER_MS


def _flat(
    node: JmxNode, queue: QueueFloor, read_ms: int, broker: BrokerSummary | None, now_ms: int
) -> Hazard:
    flat = duration_text(read_ms - queue.since_ms)
    name = JmxName.QUEUED_REPLICA_TO_DIR_ASSIGNMENTS
    reads = node.numbers.get(name, queue.value)
    filled = duration_text(read_ms - queue.filled_ms)
    evidence = [f"{name} is {reads}, not below {queue.value} for {flat}, above 0 for {filled}"]
    if broker is not None and broker.assigned_ms is not None:
        age = duration_text(now_ms - broker.assigned_ms)
        evidence.append(f"metadata log: a replica was last assigned {age} ago")
    else:
        evidence.append("metadata log: no assignment was observed")
    if broker is not None:
        evidence.append(f"metadata log: {broker.pending} replicas without a directory")
    if node.unreachable is not None:
        age = duration_text(now_ms - read_ms)
        evidence.append(
            f"last read {age} ago; the broker's JMX does not answer: {node.unreachable}"
        )
    return Hazard(
        kind=HazardKind.ASSIGNMENT_QUEUE_FLAT,
        broker=node.id,
        text=(
            f"broker {node.id} has {reads} assignments that the controller has not confirmed for"
            f" {flat}: if the directory of such a replica fails now, Kafka does not move its"
            " leader"
        ),
        evidence=tuple(evidence),
        way_out=(
            "Search the broker's log for AssignmentsManager, and check whether the active"
            " controller answers. If it does, restart the active controller with a controlled"
            " shutdown and its current configuration: the broker sends its assignments to the next"
            f" one. Restart broker {node.id}, which then sends all of them again, only if that does"
            f" not help and `kraftgate hazards --before restart --broker {node.id}` exits with 0."
        ),
        elects=True,
        since_ms=queue.since_ms,
    )


class _Doubt(NamedTuple):
    """A contradiction's blocked action, its meaning and its remedy."""

    blocks: Action
    means: str
    way_out: str


_DOUBTS: Final = {
    JmxName.ZK_MIGRATION_STATE: _Doubt(
        Action.FINALIZE,
        "the node reports another state of the migration than the metadata log",
        "Check that the node follows the metadata log of this cluster and is not behind, and"
        " that `jmx` in the configuration has its address.",
    ),
    JmxName.MIGRATING_ZK_BROKER_COUNT: _Doubt(
        Action.FINALIZE,
        "the controller counts other registrations in migration mode than the metadata log has",
        "Check that the controller follows the metadata log of this cluster, and that `jmx` in"
        " the configuration has its address.",
    ),
    JmxName.OFFLINE_LOG_DIRECTORY_COUNT: _Doubt(
        Action.RESTART,
        "the broker counts other offline directories than it describes",
        "Check each log directory on the broker's host before any step, and that `jmx` in the"
        " configuration has the broker's address.",
    ),
}


def contradicts(summary: ClusterSummary) -> Iterator[Hazard]:
    """Yield the numbers that differ from another source in two readings."""
    for each in (summary.jmx or JmxImage()).contradictions:
        if each.lasting:
            yield _doubt(each, {broker.id for broker in summary.brokers})


def _doubt(each: Contradiction, brokers: set[int]) -> Hazard:
    name = JmxName(each.name)
    doubt, reads, expected = _DOUBTS[name], name.words(each.reads), name.words(each.expected)
    return Hazard(
        kind=HazardKind.JMX_CONTRADICTS,
        actions=(doubt.blocks,),
        broker=each.node if each.node in brokers else None,
        text=f"{each.name} of node {each.node} contradicts the {each.against}: {doubt.means}",
        evidence=(f"it is {reads}; by the {each.against} it should be {expected}",),
        way_out=doubt.way_out,
        since_ms=each.since_ms,
    )

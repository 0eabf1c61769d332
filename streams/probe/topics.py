"""The state of all partitions according to the brokers, in ZooKeeper and in KRaft mode."""

from collections import Counter
from collections.abc import Callable
from typing import Final

from migration.assessment.conditions import TopicsSeen
from migration.observed.probed import Maybe, Unknown
from streams.kafka.broker_values import ClusterView, PartitionView
from streams.net.endpoint import Endpoint
from streams.probe.asking import query_node
from streams.probe.brokers import first_view
from streams.probe.gather import Target, cluster_view

_NAMED_MAX: Final = 20


def ask_topics(target: Target, clock_ms: Callable[[], int]) -> Maybe[TopicsSeen]:
    """Query the controller, whose view is ahead of all others', or any broker that answers.

    Under a KRaft controller Kafka names any broker as the controller, so then it is any broker.
    """
    at_ms = clock_ms()
    known = cluster_view(target)
    if isinstance(known, Unknown):
        return known
    address = known.brokers.get(-1 if known.controller is None else known.controller)
    controller = None if address is None else Endpoint(address.host, address.port)
    first = target.brokers if controller is None else [controller, *target.brokers]
    view = first_view(first, target.brokers_security)
    if isinstance(view, Unknown):
        return view
    if view.errors:
        named = sorted(view.errors.items())[:_NAMED_MAX]
        errors = ", ".join(f"{topic} (error code {code})" for topic, code in named)
        return Unknown(f"topics are listed with an error: {errors}")
    return _seen(view, _reassigning(controller, target), at_ms)


def _reassigning(controller: Endpoint | None, target: Target) -> int | None:
    """Return the number of reassignments; only the controller knows it.

    A broker in KRaft mode forwards the request to it.
    """
    if controller is None:
        return None
    moves = query_node(controller, target.brokers_security, lambda node: node.reassignments())
    return None if moves is None or isinstance(moves, Unknown) else len(moves)


def _seen(view: ClusterView, reassigning: int | None, at_ms: int) -> TopicsSeen:
    out = [(each, gone) for each in view.partitions.values() if (gone := _out_of_isr(each))]
    missing = Counter(broker for _, gone in out for broker in gone)
    leaderless = [each for each in view.partitions.values() if each.leader is None]
    unhealthy = sorted(
        {(each.topic, each.partition) for each in (*leaderless, *(one for one, _ in out))}
    )
    return TopicsSeen(
        at_ms=at_ms,
        partitions=len(view.partitions),
        under_replicated=len(out),
        missing=dict(missing),
        leaderless=len(leaderless),
        reassigning=reassigning,
        odd=len(unhealthy),
        named=tuple(_named(view.partitions[each]) for each in unhealthy[:_NAMED_MAX]),
    )


def _out_of_isr(partition: PartitionView) -> tuple[int, ...]:
    return tuple(each for each in partition.replicas if each not in partition.isr)


def _named(partition: PartitionView) -> str:
    leader = "no leader" if partition.leader is None else f"leader {partition.leader}"
    replicas, isr = list(partition.replicas), list(partition.isr)
    return f"{partition.topic}-{partition.partition}: {leader}, replicas {replicas}, ISR {isr}"

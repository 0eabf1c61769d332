"""Queries the brokers: first one for the cluster's metadata, then all of them in parallel."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

from migration.assessment.checks.brokers import SETTINGS
from migration.observed.probed import (
    Broker,
    LogDir,
    Maybe,
    Partition,
    TopicPartition,
    Topics,
    Unknown,
)
from streams.kafka.broker_values import BrokerAddress, ClusterView, LogDirAnswer
from streams.kafka.node import Node
from streams.net.endpoint import Endpoint
from streams.net.errors import LiveError
from streams.net.security import Security
from streams.probe.local import meta_properties

_AT_ONCE_MAX = 32

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The result of querying the brokers; brokers that only ZooKeeper knows are added later."""

    topics: Maybe[Topics]
    brokers: tuple[Broker, ...]


def ask_brokers(bootstrap: Sequence[Endpoint], security: Security) -> Told:
    """Query the cluster, then every broker that it names. Takes at most about 30 s."""
    view = first_view(bootstrap, security)
    if isinstance(view, Unknown):
        return Told(topics=view, brokers=())
    addresses = sorted(view.brokers.values())
    with ThreadPoolExecutor(max(1, min(_AT_ONCE_MAX, len(addresses) + 1))) as pool:
        min_isr = pool.submit(_min_isr, view, addresses, security)
        each = list(pool.map(lambda one: _ask(one, view.cluster_id, security), addresses))
        topics = _topics(view, min_isr.result(), _reassignments([moves for _, moves in each]))
    brokers = [replace(broker, rack=view.racks.get(broker.id)) for broker, _ in each]
    silent = {id_ for part in topics.partitions for id_ in part.replicas} - view.brokers.keys()
    return Told(topics=topics, brokers=tuple(with_absent(brokers, silent)))


def with_absent(brokers: Sequence[Broker], ids: set[int] | frozenset[int]) -> list[Broker]:
    """Add the brokers that could not be queried, in order of id."""
    why = Unknown("no broker names it alive: it is down, or has no listener of this name")
    known = {broker.id for broker in brokers}
    absent = [Broker(id=id_, release=why, settings=why, log_dirs=why) for id_ in ids - known]
    return sorted([*brokers, *absent], key=lambda broker: broker.id)


def first_view(
    bootstrap: Sequence[Endpoint], security: Security, *, topics: bool = True
) -> Maybe[ClusterView]:
    """Return the metadata of the first broker that knows the cluster."""
    tried = []
    for endpoint in bootstrap:
        try:
            with Node(endpoint, security) as node:
                view = node.metadata(topics=topics)
        except LiveError as error:
            tried.append(str(error))
            continue
        if view.brokers:
            return view
        tried.append(f"{endpoint} knows no brokers yet")
    return Unknown("; ".join(tried) or "the configuration names no brokers")


def _topics(
    view: ClusterView,
    min_isr: Maybe[Mapping[str, int]],
    reassignments: Maybe[tuple[str, ...]],
) -> Topics:
    return Topics(
        cluster_id=view.cluster_id,
        broker_ids=frozenset(view.brokers),
        partitions=tuple(
            Partition(
                at=TopicPartition(part.topic, part.partition),
                replicas=part.replicas,
                isr=part.isr,
                leader=part.leader,
            )
            for _, part in sorted(view.partitions.items())
        ),
        min_isr=min_isr,
        reassignments=reassignments,
    )


def _min_isr(
    view: ClusterView, addresses: Sequence[BrokerAddress], security: Security
) -> Maybe[Mapping[str, int]]:
    """Return the answer of the first broker that answers."""
    topics = {topic for topic, _ in view.partitions}
    found: Maybe[Mapping[str, int]] = Unknown("no broker answers")
    for one in addresses:
        found = asked(one, security, lambda node: node.min_isr(topics))
        if not isinstance(found, Unknown):
            return found
    return found


def asked(one: BrokerAddress, security: Security, call: Callable[[Node], T]) -> Maybe[T]:
    """Connect to a broker and return the result of one query."""
    try:
        with Node(Endpoint(one.host, one.port), security) as node:
            return call(node)
    except LiveError as error:
        return Unknown(str(error))


def _ask(
    one: BrokerAddress, cluster_id: str | None, security: Security
) -> tuple[Broker, Maybe[tuple[str, ...] | None]]:
    """Return the data of one broker, and its answer about ongoing reassignments."""
    endpoint = Endpoint(one.host, one.port)
    try:
        node = Node(endpoint, security)
    except LiveError as error:
        why = Unknown(str(error))
        silent = Broker(id=one.id, endpoint=str(endpoint), release=why, settings=why, log_dirs=why)
        return silent, why
    with node:
        release = node.release
        settings = _or_unknown(lambda: node.settings(one.id, SETTINGS))
    # A broker in migration mode closes the connection on the request for reassignments: that
    # leaves nothing else unknown.
    moves = asked(one, security, lambda node: node.reassignments())
    log_dirs = asked(one, security, lambda node: tuple(map(_log_dir, node.log_dirs())))
    broker = Broker(
        id=one.id,
        endpoint=str(endpoint),
        release=release,
        settings=settings,
        log_dirs=log_dirs,
        meta=None
        if isinstance(log_dirs, Unknown)
        else meta_properties(one, [each.path for each in log_dirs if not each.error], cluster_id),
    )
    return broker, moves


def _or_unknown(call: Callable[[], T]) -> Maybe[T]:
    try:
        return call()
    except LiveError as error:
        return Unknown(str(error))


def _log_dir(answer: LogDirAnswer) -> LogDir:
    def places(*, future: bool) -> frozenset[TopicPartition]:
        return frozenset(
            TopicPartition(each.topic, each.partition)
            for each in answer.replicas
            if each.future is future
        )

    return LogDir(
        path=answer.path,
        error=answer.error,
        total_bytes=answer.total_bytes,
        usable_bytes=answer.usable_bytes,
        replicas=places(future=False),
        futures=places(future=True),
    )


def _reassignments(told: Sequence[Maybe[tuple[str, ...] | None]]) -> Maybe[tuple[str, ...]]:
    """Return the controller's answer; the other brokers have none."""
    for one in told:
        if one is not None and not isinstance(one, Unknown):
            return one
    why = [one.why for one in told if isinstance(one, Unknown)]
    return Unknown("; ".join(why) or "no broker that answers is the controller")

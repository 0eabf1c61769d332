"""Queries the brokers: first one for the cluster's metadata, then all of them in parallel."""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeVar

from migration.assessment.checks.brokers import SETTINGS
from migration.observed.probed import (
    Broker,
    LogDir,
    Maybe,
    MetaProperties,
    Partition,
    TopicPartition,
    Topics,
    Unknown,
)
from streams.kafka.broker_values import ClusterView, LogDirAnswer, ReplicaPlace
from streams.kafka.node import Node, TopicSettings
from streams.log_dirs.local_host import is_own_host, read_meta
from streams.net.endpoint import Endpoint
from streams.net.errors import LiveError
from streams.net.security import Security
from streams.probe.asking import in_parallel, maybe, query_node
from streams.process.background import begin

ABSENT: Final = Unknown("no broker lists it as alive: it is down, or has no listener of this name")
_READ_S_MAX: Final = 3.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerAnswers:
    """The answers of all brokers; brokers that only ZooKeeper knows are added later.

    Attributes:
        bootstrap_ids: the cluster id by bootstrap address: one may lead to another cluster.
    """

    topics: Maybe[Topics]
    brokers: tuple[Broker, ...]
    bootstrap_ids: Mapping[str, str] = field(default_factory=dict)


def ask_brokers(bootstrap: Sequence[Endpoint], security: Security) -> BrokerAnswers:
    """Query the cluster, then every broker that it names. Takes at most about 30 s."""
    view = first_view(bootstrap, security)
    if isinstance(view, Unknown):
        return BrokerAnswers(topics=view, brokers=())
    addresses = sorted(view.brokers.items())
    with ThreadPoolExecutor(2) as pool:
        settings = pool.submit(_topic_settings, view, security)
        ids = pool.submit(_cluster_ids, bootstrap, security)
        each = in_parallel(lambda one: _ask(*one, view.cluster_id, security), addresses)
        topics = _topics(view, settings.result(), _reassignments([moves for _, moves in each]))
    brokers = [replace(broker, rack=view.racks.get(broker.id)) for broker, _ in each]
    silent = {id_ for part in topics.partitions for id_ in part.replicas} - view.brokers.keys()
    return BrokerAnswers(
        topics=topics,
        brokers=tuple(with_absent(brokers, silent)),
        bootstrap_ids=ids.result(),
    )


def broker_settings(
    broker: Broker | None, security: Security, names: Sequence[str]
) -> Maybe[Mapping[str, str]]:
    """Return server properties of a broker that was queried before; None: it is not alive."""
    if broker is None:
        return ABSENT
    if isinstance(broker.release, Unknown):
        return broker.release
    return query_node(_listener(broker), security, lambda node: node.settings(broker.id, names))


def broker_log_dirs(broker: Broker, security: Security) -> Maybe[tuple[LogDir, ...]]:
    if not broker.endpoint:
        return ABSENT
    return query_node(
        _listener(broker),
        security,
        lambda node: tuple(map(_log_dir, node.log_dirs())),
        broker=broker.id,
    )


def alter_log_dirs(
    broker: Broker, security: Security, targets: Mapping[TopicPartition, str]
) -> Maybe[Mapping[TopicPartition, str]]:
    """Move replicas of a broker; return why it refuses some, or why that is not known."""
    return query_node(
        _listener(broker), security, lambda node: node.alter_log_dirs(targets), broker=broker.id
    )


def _listener(broker: Broker) -> Endpoint:
    (endpoint,) = Endpoint.parse_list(broker.endpoint)
    return endpoint


def settings_of(
    view: ClusterView, security: Security, names: Sequence[str]
) -> Mapping[int, Maybe[Mapping[str, str]]]:
    """Return the server properties with these names of each broker of the view, in order of id."""
    brokers = sorted(view.brokers.items())
    found = in_parallel(
        lambda one: query_node(one[1], security, lambda node: node.settings(one[0], names)), brokers
    )
    return dict(zip(sorted(view.brokers), found, strict=True))


def with_absent(brokers: Sequence[Broker], ids: Collection[int]) -> list[Broker]:
    """Add the brokers that could not be queried, in order of id."""
    known = {broker.id for broker in brokers}
    absent = [
        Broker(id=id_, release=ABSENT, settings=ABSENT, log_dirs=ABSENT) for id_ in {*ids} - known
    ]
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


def _cluster_ids(bootstrap: Sequence[Endpoint], security: Security) -> Mapping[str, str]:
    """Return the cluster id that each address reports; none of one that does not answer."""
    found = in_parallel(
        lambda one: query_node(one, security, lambda node: node.metadata(topics=False)), bootstrap
    )
    return {
        str(endpoint): view.cluster_id
        for endpoint, view in zip(bootstrap, found, strict=True)
        if not isinstance(view, Unknown) and view.cluster_id is not None
    }


def _topics(
    view: ClusterView,
    settings: Maybe[TopicSettings],
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
        min_isr=settings if isinstance(settings, Unknown) else settings.min_isr,
        unclean=frozenset() if isinstance(settings, Unknown) else frozenset(settings.unclean),
        reassignments=reassignments,
    )


def _topic_settings(view: ClusterView, security: Security) -> Maybe[TopicSettings]:
    """Return the answer of the first broker that answers."""
    topics = {topic for topic, _ in view.partitions}
    found: Maybe[TopicSettings] = Unknown("no broker answers")
    for _, endpoint in sorted(view.brokers.items()):
        found = query_node(endpoint, security, lambda node: node.topic_settings(topics))
        if not isinstance(found, Unknown):
            return found
    return found


def _ask(
    id_: int, endpoint: Endpoint, cluster_id: str | None, security: Security
) -> tuple[Broker, Maybe[tuple[str, ...] | None]]:
    """Return the data of one broker, and its answer about ongoing reassignments."""
    try:
        node = Node(endpoint, security, broker=id_)
    except LiveError as error:
        why = Unknown(str(error))
        silent = Broker(id=id_, endpoint=str(endpoint), release=why, settings=why, log_dirs=why)
        return silent, why
    with node:
        release = node.release
        settings = maybe(lambda: node.settings(id_, SETTINGS))
    # A broker in migration mode may close the connection on the request for reassignments: that
    # leaves nothing else unknown.
    moves = query_node(endpoint, security, lambda node: node.reassignments())
    log_dirs = query_node(endpoint, security, lambda node: tuple(map(_log_dir, node.log_dirs())))
    described = () if isinstance(log_dirs, Unknown) else log_dirs
    paths = [each.path for each in described if not each.error]
    meta, unread = _meta_properties(id_, endpoint.host, paths, cluster_id)
    broker = Broker(
        id=id_,
        endpoint=str(endpoint),
        release=release,
        settings=settings,
        log_dirs=log_dirs,
        meta=meta,
        unread_meta=unread,
    )
    return broker, moves


def _meta_properties(
    broker: int, host: str, paths: Sequence[str], cluster_id: str | None
) -> tuple[tuple[MetaProperties, ...] | None, tuple[str, ...]]:
    """Return the files of a broker's log directories, and why others cannot be read.

    None: it runs on another host. An address of this host may be the local end of a tunnel: unless
    one of the files names both the broker and its cluster, no file is attributed to the broker.
    """
    if not paths or _in_time(lambda: is_own_host(host)) is not True:
        return None, ()
    found = in_parallel(lambda path: _in_time(lambda: _read_meta(path)), paths)
    files = tuple(one for one in found if not isinstance(one, Unknown))
    if not any(one.node_id == broker and one.cluster_id == cluster_id for one in files):
        return None, ()
    unread = (
        f"{path}: {one.why}"
        for path, one in zip(paths, found, strict=True)
        if isinstance(one, Unknown)
    )
    return files, tuple(unread)


def _read_meta(path: str) -> Maybe[MetaProperties]:
    try:
        return read_meta(Path(path))
    except OSError as error:
        return Unknown(str(error))


def _in_time(read: Callable[[], Maybe[T]]) -> Maybe[T]:
    """Return the result of a read of this host, or that it takes too long."""
    thread, found = begin("local", read)
    thread.join(_READ_S_MAX)
    return found[0] if found else Unknown(f"reading takes over {_READ_S_MAX:g} s")


def _log_dir(answer: LogDirAnswer) -> LogDir:
    current = {_at(each): each.bytes for each in answer.replicas if not each.future}
    lags = {_at(each): each.lag for each in answer.replicas if each.future}
    return LogDir(
        path=answer.path,
        error=answer.error,
        total_bytes=answer.total_bytes,
        usable_bytes=answer.usable_bytes,
        replicas=frozenset(current),
        futures=frozenset(lags),
        sizes=current,
        future_lags={at: None if lag < 0 else lag for at, lag in lags.items()},
        future_sizes={_at(each): each.bytes for each in answer.replicas if each.future},
    )


def _at(place: ReplicaPlace) -> TopicPartition:
    return TopicPartition(place.topic, place.partition)


def _reassignments(answers: Sequence[Maybe[tuple[str, ...] | None]]) -> Maybe[tuple[str, ...]]:
    """Return the first answer; in ZooKeeper mode only the controller has one.

    In KRaft any controller may have given it, also one that does not lead (observed on 3.9.1).
    """
    for one in answers:
        if one is not None and not isinstance(one, Unknown):
            return one
    unknown = [one for one in answers if isinstance(one, Unknown)]
    why = "; ".join(one.why for one in unknown) or "no broker that answers is the controller"
    return Unknown(why, denied=any(one.denied for one in unknown))

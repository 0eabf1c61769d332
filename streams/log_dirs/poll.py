"""One poll of one broker, including the state of its paths on this host. Runs in a worker's thread.

Input: a `PollTask`. Output: a `PollResult`; nothing is raised, a failure is part of the reply.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from migration.observed.log_dirs import FAILURE_TIMEOUT, STORAGE_ERROR
from migration.values.foreign import INT64_MAX, Unreadable, whole
from streams.kafka.broker_values import (
    ClusterView,
    LogDirAnswer,
    PartitionEnd,
    TopicPartition,
)
from streams.kafka.errors import ConnectionFailed, NotAuthorized, RequestRefused, WrongCluster
from streams.kafka.node import EARLIEST, LATEST, Node
from streams.log_dirs import log_ends as ends
from streams.log_dirs.local_host import LocalReader, is_own_host
from streams.log_dirs.remembered import KnownPartition, LocalDir
from streams.net.endpoint import Endpoint
from streams.net.errors import LiveError
from streams.net.listener import Listener
from streams.process.background import REPORT_S

_REPLY_TIMEOUT_MS: Final = 2000
"""For each reply; 3 s of grace are added."""

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirsConfig:
    """The configuration of the polls.

    Attributes:
        listener: The brokers to ask first; any of them returns all brokers. Without a cluster id,
            the memory's is accepted, or else the first one found.
        interval_s: Between two polls of a broker.
        eager_s: Between two polls of a broker that is down or has just started.
        eager_for_s: How long a broker that has just started, or was requested, is polled that
            often.
        cluster: The cluster's name, which determines its shards; None: no snapshots are made.
        report_s: At each multiple of it the content of all disks and each broker's directories are
            reported, even if nothing changed.
        parallel: The maximum number of brokers that are polled at the same time.
    """

    listener: Listener
    interval_s: float = 10.0
    eager_s: float = 1.0
    eager_for_s: float = 30.0
    cluster: str | None = None
    report_s: float = REPORT_S
    parallel: int = 16


class PollTask(NamedTuple):
    """The input of one poll.

    Attributes:
        broker: its id.
        address: its listener.
        view: the view of the cluster to use; None: request this broker's own.
        cluster_id: None if it is not known.
        paths: the stored log directories of this broker.
        cut_off: the topics of the replicas that are cut off on any broker, for its own view.
    """

    broker: int
    address: Endpoint
    view: ClusterView | None
    cluster_id: str | None
    paths: tuple[str, ...]
    cut_off: frozenset[str] = frozenset()


@dataclass(slots=True, kw_only=True)
class PollResult:
    """The result of one poll.

    Attributes:
        view: the broker's own view, when it was requested.
        log_dirs: its answer; None when there was none.
        ends: the ends of the partitions that it leads; suspects only when they were confirmed.
        local_dirs: the local state of its paths, when this is its host.
        unlisted: topics on its disks that the view does not list.
        failure_timeout_ms: its `log.dir.failure.timeout.ms`, if a directory is offline; None: not
            requested, or not described to this principal.
        failure: why some of the above is missing.
    """

    task: PollTask
    view: ClusterView | None = None
    log_dirs: tuple[LogDirAnswer, ...] | None = None
    ends: tuple[PartitionEnd, ...] = ()
    local_dirs: Mapping[str, LocalDir] = field(default_factory=dict)
    unlisted: tuple[str, ...] = ()
    failure_timeout_ms: int | None = None
    failure: LiveError | None = None

    @property
    def is_complete(self) -> bool:
        """Whether the broker answered all requests that this principal may send.

        Without the ends of its partitions, lost records would not be noticed.
        """
        is_described = self.log_dirs is not None
        return is_described and (self.failure is None or isinstance(self.failure, NotAuthorized))

    @property
    def has_offline(self) -> bool:
        return any(each.error == STORAGE_ERROR for each in self.log_dirs or ())

    def listed(self) -> frozenset[TopicPartition] | None:
        """Return the partitions that the broker hosts by its view, when a directory is offline."""
        view = self.view if self.view and self.view.brokers else self.task.view
        if view is None or not self.has_offline:
            return None
        hosted = view.hosted_by(self.task.broker)
        return frozenset((each.topic, each.partition) for each in hosted)


class BrokerPolls:
    """Polls brokers; each call of `ask` has a connection of its own. Thread-safe."""

    def __init__(
        self, listener: Listener, known: Callable[[TopicPartition], KnownPartition | None]
    ) -> None:
        """Prepare; `known` returns a partition's stored state."""
        self._listener = listener
        self._known = known
        self._local_reader = LocalReader()

    def ask(self, task: PollTask) -> PollResult:
        """Request everything from a broker, within the time-outs."""
        reply = PollResult(task=task)
        try:
            try:
                self._ask(task, reply)
            except LiveError as error:
                reply.failure = error
            reply.local_dirs = self._look(task, reply)
        except Exception as error:  # noqa: BLE001 without a reply it would never be asked again
            _log.exception("polling broker %d failed", task.broker)
            reply.failure = ConnectionFailed(f"an unexpected error: {error!r}")
        return reply

    def discover(self) -> ClusterView:
        """Ask the configured brokers, one after the other, for the cluster.

        Raises:
            LiveError: none of them answered with a cluster; the last one's reason.
        """
        failure: LiveError | None = None
        for endpoint in self._listener.endpoints:
            try:
                with self._connect(endpoint) as broker:
                    view = broker.metadata()
            except LiveError as error:
                failure = error
                continue
            except Exception as error:  # noqa: BLE001 the next broker may answer
                _log.exception("polling %s failed", endpoint)
                failure = ConnectionFailed(f"{endpoint}: an unexpected error: {error!r}")
                continue
            if view.brokers and view.cluster_id:
                return view
            failure = ConnectionFailed(f"{endpoint} does not know its cluster yet")
        raise failure or ConnectionFailed("no broker is named")

    def _ask(self, task: PollTask, reply: PollResult) -> None:
        with self._connect(task.address, task.broker) as broker:
            view = task.view
            if view is None:
                view = broker.metadata()
                _check(view, task)
                # A topic that is not listed was deleted, or is hidden from this principal.
                if unlisted := {each for each in task.cut_off if (each, 0) not in view.partitions}:
                    view = view._replace(deleted=broker.nonexistent(unlisted))
                reply.view = view
            _check_address(view, task.broker, task.address)
            reply.log_dirs = broker.log_dirs()
            if view.brokers:
                reply.unlisted = _unlisted(reply.log_dirs, view)
            reply.ends = self._ends(broker, task.broker, view)
            if reply.has_offline:
                reply.failure_timeout_ms = _failure_timeout_ms(broker, task.broker)

    def _ends(self, broker: Node, id_: int, view: ClusterView) -> tuple[PartitionEnd, ...]:
        found = ends.leader_ends(view, broker.offsets(view.led_by(id_), LATEST), id_)
        known = self._known
        suspects = [e for e in found if ends.is_suspect(known((e.topic, e.partition)), e)]
        if not suspects:
            return tuple(found)
        keys = {(each.topic, each.partition) for each in suspects}
        starts = broker.offsets(keys, EARLIEST)
        latest = broker.offsets(keys, LATEST)
        sure = ends.confirmed(suspects, broker.metadata(), starts, latest, id_)
        return (*(e for e in found if (e.topic, e.partition) not in keys), *sure)

    def _connect(self, endpoint: Endpoint, broker: int | None = None) -> Node:
        security = self._listener.security
        return Node(endpoint, security, broker=broker, reply_timeout_ms=_REPLY_TIMEOUT_MS)

    def _look(self, task: PollTask, reply: PollResult) -> dict[str, LocalDir]:
        """Read the paths, once the cluster id that they must have is known."""
        told = reply.view.cluster_id if reply.view else None
        cluster_id = told or task.cluster_id
        if cluster_id is None or not is_own_host(task.address.host):
            return {}
        paths = sorted({*task.paths, *(each.path for each in reply.log_dirs or ())})
        return {each: self._local_reader.read(each, task.broker, cluster_id) for each in paths}


def _unlisted(answer: Iterable[LogDirAnswer], view: ClusterView) -> tuple[str, ...]:
    present = {each.topic for log_dir in answer for each in log_dir.replicas}
    return tuple(sorted(present - {topic for topic, _ in view.partitions}))


def _failure_timeout_ms(broker: Node, id_: int) -> int | None:
    try:
        value = broker.settings(id_, (FAILURE_TIMEOUT,)).get(FAILURE_TIMEOUT)
        return whole(value, FAILURE_TIMEOUT, 1, INT64_MAX)
    except (NotAuthorized, RequestRefused, Unreadable) as error:
        _log.info("%s; Kafka's default is assumed", error)
        return None


def _check_address(view: ClusterView, broker: int, address: Endpoint) -> None:
    """Raise `ConnectionFailed` if another broker has the address now: the answer would be its own.

    The stored address outlives its broker, and a replaced broker's host often gets a new id.
    """
    others = sorted(id_ for id_, each in view.brokers.items() if each == address)
    if others and broker not in others:
        raise ConnectionFailed(f"METADATA lists its address {address} for broker {others[0]}")


def _check(view: ClusterView, task: PollTask) -> None:
    if task.cluster_id and view.cluster_id and view.cluster_id != task.cluster_id:
        raise WrongCluster(
            f"broker {task.broker} belongs to cluster {view.cluster_id}, not {task.cluster_id}"
        )

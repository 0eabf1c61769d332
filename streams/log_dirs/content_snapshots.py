"""Decides when to snapshot all disks' content, from which answers, and for which requests.

A snapshot is due at each multiple of `report_s`, and immediately when polls answered a request for
it (`CONTENT`): that request counts as answered once the snapshot is appended. No snapshot is made
while no broker has answered since the last one, or while no directory is readable, as it would
report healthy disks. Snapshots are stored neither here nor in the outbox: one that is lost in a
crash is made again. Used by the poller's thread, except for the result of `take`.

A snapshot is a `DiskContentSeen` for every shard, from each reachable broker's latest answer. Kafka
answers with its current and future logs only: folders named `-delete` or `-stray` are excluded as
soon as they are renamed (3.9 `LogManager.allLogs`). The metadata log is not a topic's replica.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from migration.observed.facts import DiskContentSeen, Observation, ReplicaOnDisk, TopicOnDisk
from migration.shard.placement import SHARDS, place_of_name, place_of_topic, shard_numbers
from streams.kafka.broker_values import ClusterView, ReplicaPlace, TopicPartition
from streams.kafka.messages import METADATA_TOPIC
from streams.log_dirs.compare import Compared
from streams.log_dirs.poll import LogDirsConfig
from streams.log_dirs.poll_requests import PollRequest
from streams.process.background import until_next
from streams.process.garbage import without_garbage_collection

CONTENT: Final = "content"
"""The `why` of a request, for all brokers, that also waits for a snapshot."""
_FRESH_INTERVALS: Final = 2.0
"""A broker whose last answer is older than this many poll intervals does not count."""

NO_ID: Final = bytes(16)
"""The id of a topic for which METADATA has no id, as without DESCRIBE on the topic."""

TopicIds: TypeAlias = Mapping[str, bytes]
"""By topic name; 16 bytes each."""

_log: Final = logging.getLogger(__name__)

Append: TypeAlias = Callable[[Sequence[Observation]], object]


class BrokerContent(NamedTuple):
    """The content of one reachable broker's disks.

    Attributes:
        log_dirs: path -> replicas, of the directories that answered without error.
        whole: whether those are all directories of the broker.
    """

    broker: int
    log_dirs: Mapping[str, tuple[ReplicaPlace, ...]]
    whole: bool


class SnapshotEnd(NamedTuple):
    """The end of a snapshot.

    Attributes:
        tickets: the requests that waited for it.
        failure: why it is not appended; None: it is.
    """

    tickets: tuple[int, ...]
    failure: str | None


class Snapshots:
    """Schedules the snapshots."""

    def __init__(self, config: LogDirsConfig, append: Append, clock: Callable[[], int]) -> None:
        """Start without answers; without `config.cluster` no snapshot is ever made.

        `append` stores a snapshot's facts, all or none, in the thread that makes it.
        """
        self._config = config
        self._append = append
        self._clock = clock
        self._answers: dict[int, tuple[float, BrokerContent]] = {}
        self._is_news = False
        self._due_s = float("-inf")
        self._asked: set[int] = set()
        self._ready: list[int] = []
        self._making: tuple[int, ...] | None = None

    @property
    def waiting(self) -> Collection[int]:
        """The requests that polls have answered, and that wait for their snapshot."""
        return {*self._ready, *(self._making or ())}

    def answered(self, broker: int, compared: Compared, now_s: float) -> None:
        log_dirs = {path: compared.known.log_dirs[path].replicas for path in compared.good}
        self._answers[broker] = now_s, BrokerContent(broker, log_dirs, compared.whole)
        self._is_news = True

    def unanswered(self, broker: int) -> None:
        """Record that the broker does not answer: the content of its disks is unknown now."""
        self._answers.pop(broker, None)

    def ask(self, request: PollRequest) -> None:
        """Record whether a request that was accepted waits for a snapshot."""
        wants = request.broker is None and request.why == CONTENT
        if wants and self._config.cluster is not None:
            self._asked.add(request.id)

    def hold(self, tickets: Sequence[int]) -> list[int]:
        """Hold the answered requests that wait for a snapshot, and return the others."""
        self._ready += [each for each in tickets if each in self._asked]
        return [each for each in tickets if each not in self._asked]

    def take(
        self, now_s: float, view: ClusterView | None, *, all_polled: bool
    ) -> Callable[[], SnapshotEnd] | None:
        """Return a function that makes a snapshot, for any thread; None: none is due.

        Args:
            now_s: now, by the monotonic clock.
            view: the latest; it has the topics' ids.
            all_polled: whether each broker was polled once: the first snapshot must not be of one
                broker.
        """
        due = self._is_news and all_polled and now_s >= self._due_s
        if self._config.cluster is None or self._making is not None or not (due or self._ready):
            return None
        oldest_s = now_s - _FRESH_INTERVALS * self._config.interval_s
        fresh = [content for at_s, content in self._answers.values() if at_s > oldest_s]
        readable = any(each.log_dirs for each in fresh)
        cluster, now_ms = self._config.cluster, self._clock()
        tickets = tuple(self._ready)
        if view is None or not readable:
            return self._begun(tickets, lambda: SnapshotEnd(tickets, None)) if tickets else None
        self._is_news, self._due_s = False, now_s + until_next(self._config.report_s)

        def make() -> SnapshotEnd:
            try:
                ids = ((key, each.topic_id) for key, each in view.partitions.items())
                with without_garbage_collection():
                    self._append(contents(cluster, fresh, topic_ids_of(ids), now_ms))
            except Exception as error:  # noqa: BLE001 any error; the next one is due anyway
                _log.warning("a snapshot of the disks cannot be stored: %s", error)
                return SnapshotEnd(tickets, f"a snapshot of the disks cannot be stored: {error}")
            return SnapshotEnd(tickets, None)

        return self._begun(tickets, make)

    def end(self, ended: SnapshotEnd) -> tuple[int, ...]:
        """Record the end of a snapshot; return the requests that it answers."""
        self._making = None
        self._asked -= set(ended.tickets)
        return () if ended.failure is not None else ended.tickets

    def _begun(
        self, tickets: tuple[int, ...], make: Callable[[], SnapshotEnd]
    ) -> Callable[[], SnapshotEnd]:
        self._making, self._ready = tickets, []
        return make


def contents(
    cluster: str, brokers: Iterable[BrokerContent], topic_ids: TopicIds, now_ms: int
) -> tuple[DiskContentSeen, ...]:
    """Return a snapshot of all disks, in the order of the shards' indexes.

    Equal disks result in equal facts: everything in them is sorted. `brokers` are those that are
    reachable; `now_ms`, when their answers were combined, identifies the comparison.
    """
    known = sorted(brokers, key=lambda each: each.broker)
    paths = tuple((each.broker, path) for each in known for path in sorted(each.log_dirs))
    topics = _by_topic(each.log_dirs[path] for each in known for path in sorted(each.log_dirs))
    places: list[list[TopicOnDisk]] = [[] for _ in range(SHARDS)]
    for name in sorted(topics):
        topic_id = topic_ids.get(name, NO_ID)
        replicas = tuple(sorted(topics[name]))
        places[place_of(topic_id, name)].append(TopicOnDisk(topic_id, name, replicas))
    whole = tuple(each.broker for each in known if each.whole)
    without_id = tuple(name for name in sorted(topics) if topic_ids.get(name, NO_ID) == NO_ID)
    return tuple(
        DiskContentSeen(
            seen_ms=now_ms,
            comparison=now_ms,
            shard=number,
            paths=paths,
            whole=whole,
            topics=tuple(places[place]),
            without_id=without_id,
        )
        for place, number in enumerate(shard_numbers(cluster))
    )


def place_of(topic_id: bytes, name: str) -> int:
    """Return the index of a topic's shard; for a topic without an id it depends on the name."""
    return place_of_name(name) if topic_id == NO_ID else place_of_topic(topic_id)


def topic_ids_of(ids: Iterable[tuple[TopicPartition, str | None]]) -> TopicIds:
    """Return the topics' ids; `ids` has 32 hexadecimal digits per partition, None: no id."""
    found = {topic: id_ for (topic, _), id_ in ids if id_ is not None}
    return {topic: bytes.fromhex(id_) for topic, id_ in found.items()}


def _by_topic(log_dirs: Iterable[tuple[ReplicaPlace, ...]]) -> dict[str, list[ReplicaOnDisk]]:
    """Return all replicas by topic name; directories are numbered in the order of `paths`."""
    found: defaultdict[str, list[ReplicaOnDisk]] = defaultdict(list)
    for path, replicas in enumerate(log_dirs):
        for topic, partition, _, lag, future in replicas:
            # The lag of a current replica is not content, and would make every snapshot differ.
            found[topic].append(ReplicaOnDisk(partition, path, future, lag if future else 0))
    found.pop(METADATA_TOPIC, None)
    return found

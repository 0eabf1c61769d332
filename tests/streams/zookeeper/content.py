"""Shared by the tests of the content reader: a reader that keeps its facts, and Kafka's payloads.

The payloads are written by hand in Kafka's format (ZkData.scala).
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from migration.metadata.directory_ids import to_text
from migration.observed.facts import ZkContentRead, ZkContentSeen, ZkTopic
from migration.observed.znodes import TOPICS
from streams.zookeeper.content.reader import ContentFact, ContentReader
from streams.zookeeper.dirty_topics import DirtyTopics
from streams.zookeeper.ensemble import Ensemble
from streams.zookeeper.known import Known
from tests.streams.zookeeper.watching import SESSION_TIMEOUT_MS, Writer, wall_ms

CLUSTER = "prod"
NEVER_S = 1e10
"""An interval that no test lives to see the end of: what is read again was touched."""
_WAIT_S = 180.0


def raw_id(number: int) -> bytes:
    """Return a topic id that is unique for the number."""
    return b"\x01" * 8 + number.to_bytes(8, "big")


def topic_data(topic_id: bytes, replicas: Mapping[int, Sequence[int]]) -> bytes:
    fields = {
        "version": 3,
        "topic_id": to_text(topic_id),
        "partitions": {str(each): list(ids) for each, ids in replicas.items()},
        "adding_replicas": {},
        "removing_replicas": {},
    }
    return json.dumps(fields).encode()


def state_data(leader: int, isr: Sequence[int]) -> bytes:
    fields = {"version": 1, "leader": leader, "leader_epoch": 4, "controller_epoch": 1}
    return json.dumps({**fields, "isr": list(isr)}).encode()


def config_data(entries: Mapping[str, object]) -> bytes:
    return json.dumps({"version": 1, "config": entries}).encode()


def write_topic(kafka: Writer, topic: ZkTopic) -> None:
    replicas = {each.partition: each.replicas for each in topic.partitions}
    path = f"{TOPICS}/{topic.name}"
    kafka.create(path, topic_data(topic.topic_id, replicas))
    for each in topic.partitions:
        if each.leader is not None:
            state = f"{path}/partitions/{each.partition}/state"
            kafka.create(state, state_data(each.leader, each.isr))


class Compared:
    """A content reader and every fact that it reported, in order."""

    def __init__(
        self,
        connect: str,
        *,
        should_read: Callable[[], bool] = lambda: True,
        interval_s: float = NEVER_S,
        clock: Callable[[], int] = wall_ms,
    ) -> None:
        self.calls: list[tuple[ContentFact, ...]] = []
        self.refuse: Exception | None = None
        self._lock = threading.Lock()
        config = Ensemble(connect=connect, session_timeout_ms=SESSION_TIMEOUT_MS)
        self.dirty, self.known = DirtyTopics(), Known()
        self.reader = ContentReader(
            config,
            CLUSTER,
            self._append,
            clock,
            self.known.require_cluster,
            should_read,
            self.dirty,
            interval_s,
        )

    def _append(self, facts: Sequence[ContentFact]) -> None:
        with self._lock:
            if self.refuse is not None:
                raise self.refuse
            self.calls.append(tuple(facts))

    def reported(self) -> list[tuple[ContentFact, ...]]:
        with self._lock:
            return list(self.calls)

    def until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _WAIT_S
        while not holds():
            assert time.monotonic() < deadline, self.reader.error
            time.sleep(0.01)

    def until_reported(self, comparisons: int = 1) -> tuple[ContentFact, ...]:
        self.until(lambda: len(self.reported()) >= comparisons)
        return self.reported()[comparisons - 1]

    def until_abandoned(self, *words: str) -> str:
        """Wait until a reading was abandoned with one of these reasons; return the reason."""
        self.until(lambda: any(each in (self.reader.error or "") for each in words))
        return self.reader.error or ""


class Sense:
    """Whether a comparison is possible, and how often the reader asked for that."""

    def __init__(self) -> None:
        self.holds = False
        self.asked = 0

    def __call__(self) -> bool:
        self.asked += 1
        return self.holds


@contextmanager
def comparing(
    connect: str,
    *,
    should_read: Callable[[], bool] = lambda: True,
    interval_s: float = NEVER_S,
    clock: Callable[[], int] = wall_ms,
) -> Iterator[Compared]:
    compared = Compared(connect, should_read=should_read, interval_s=interval_s, clock=clock)
    with compared.reader:
        yield compared


def touched(compared: Compared, *names: str) -> None:
    compared.dirty.touch(frozenset(names), time.monotonic())


def all_touched(compared: Compared) -> None:
    """Mark everything as changed, as after too many changes to name: all is read again."""
    compared.dirty.touch(None, time.monotonic())


def reread(facts: Sequence[ContentFact]) -> tuple[list[ZkContentSeen], set[str]]:
    """Return the shards' facts of a reading of some topics, and the topics' names."""
    seen = [each for each in facts if isinstance(each, ZkContentSeen)]
    assert len(seen) == len(facts)
    (names,) = {each.names for each in seen}
    assert names is not None
    return seen, set(names)


def parts(facts: Sequence[ContentFact]) -> tuple[list[ZkContentSeen], ZkContentRead]:
    """Return the shards' facts and the fact that follows them."""
    *seen, read = facts
    assert isinstance(read, ZkContentRead)
    return [each for each in seen if isinstance(each, ZkContentSeen)], read


def topics_of(facts: Sequence[ContentFact]) -> dict[str, ZkTopic]:
    found = [topic for seen in parts(facts)[0] for topic in seen.topics]
    assert len(found) == len({each.name for each in found})
    return {each.name: each for each in found}


def configs_of(facts: Sequence[ContentFact]) -> dict[tuple[str, str], dict[str, bytes]]:
    found = [config for seen in parts(facts)[0] for config in seen.configs]
    return {(each.entity, each.name): dict(each.entries) for each in found}

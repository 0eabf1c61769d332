"""All requests of one reading: what is asked next, and what the answers come to.

Only so many requests are in flight, and of those that wait only the rule is kept by which they are
made. What was found last is asked further first, so that topics become complete one after the
other and no more payloads are kept than requests are in flight.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from kazoo.interfaces import IAsyncResult
from kazoo.protocol.states import ZnodeStat

from migration.observations import ZkConfig, ZkPartition, ZkTopic
from migration.znodes import BROKER_IDS, TOPICS
from streams.zookeeper.content_facts import Content
from streams.zookeeper.content_payloads import (
    StatePayload,
    TopicPayload,
    Unreadable,
    broker_of,
    config_of,
    state_of,
    topic_of,
)
from streams.zookeeper.session import Session

UNREADABLE_MAX: Final = 20
_CONFIGS: Final = "/config"
_ENTITIES: Final = ("topics", "brokers")

T = TypeVar("T")


class Request(NamedTuple):
    """A request that is still to be sent; the arguments of `Session.ask`."""

    request: Callable[..., IAsyncResult]
    path: str
    answered: Callable[[Any], None]


class Pipeline:
    """Sends requests through a session, so many at once."""

    def __init__(self, session: Session, in_flight_max: int) -> None:
        self._session = session
        self._in_flight_max = in_flight_max
        self._waiting: list[Iterator[Request]] = []

    def add(self, requests: Iterable[Request]) -> None:
        """Send these, before those that wait already."""
        self._waiting.append(iter(requests))
        self._send()

    def _send(self) -> None:
        while self._waiting and self._session.open < self._in_flight_max:
            request = next(self._waiting[-1], None)
            if request is None:
                self._waiting.pop()
            else:
                answered = partial(self._answered, request.answered)
                self._session.ask(request.request, request.path, answered)

    def _answered(self, answered: Callable[[Any], None], value: object) -> None:
        answered(value)
        self._send()


class _Topic:
    """A topic while its partitions' states are read."""

    __slots__ = ("czxid", "name", "payload", "states")

    def __init__(self, name: str, payload: TopicPayload, czxid: int) -> None:
        self.name = name
        self.payload = payload
        self.czxid = czxid
        self.states: dict[int, StatePayload | None] = {}

    def whole(self) -> ZkTopic:
        return ZkTopic(
            topic_id=self.payload.topic_id,
            name=self.name,
            partitions=tuple(self._partitions()),
        )

    def _partitions(self) -> Iterator[ZkPartition]:
        for partition, replicas in self.payload.replicas.items():
            state = self.states[partition]
            leader, isr = (None, ()) if state is None else state
            yield ZkPartition(partition=partition, replicas=replicas, leader=leader, isr=isr)


class Gathering:
    """What one reading has found so far."""

    def __init__(self, session: Session, in_flight_max: int) -> None:
        self._client = session.client
        self._pipeline = Pipeline(session, in_flight_max)
        self._topics: list[ZkTopic] = []
        self._configs: list[ZkConfig] = []
        self._brokers: list[int] = []
        self._unreadable: list[tuple[str, str]] = []
        self._unreadable_count = 0

    def begin(self) -> None:
        """Ask for everything; to be called as a reading of the session's."""
        self._pipeline.add(
            [
                *(self._list(f"{_CONFIGS}/{each}", self._take_configs) for each in _ENTITIES),
                self._list(BROKER_IDS, self._take_brokers),
                self._list(TOPICS, self._take_topics),
            ]
        )

    def content(self, zxid: int) -> Content:
        """Return what was found, once everything was answered."""
        return Content(
            zxid=zxid,
            topics=tuple(self._topics),
            configs=tuple(self._configs),
            brokers=tuple(self._brokers),
            unreadable=tuple(self._unreadable),
            unreadable_count=self._unreadable_count,
        )

    def _list(self, path: str, take: Callable[[str, list[str]], None]) -> Request:
        def answered(names: list[str] | None) -> None:
            # Sorted, so that the same ones are named when there is too much to tell.
            take(path, sorted(names or ()))

        return Request(self._client.get_children_async, path, answered)

    def _get(self, path: str, take: Callable[[bytes | None, ZnodeStat], None]) -> Request:
        def answered(found: tuple[bytes | None, ZnodeStat] | None) -> None:
            if found is not None:  # else it is gone since its parent was read
                take(*found)

        return Request(self._client.get_async, path, answered)

    def _parsed(self, path: str, parse: Callable[[], T]) -> T | None:
        try:
            return parse()
        except Unreadable as error:
            self._unreadable_count += 1
            if len(self._unreadable) < UNREADABLE_MAX:
                self._unreadable.append((path, str(error)))
            return None

    # Brokers and configurations

    def _take_brokers(self, branch: str, names: list[str]) -> None:
        found = (self._parsed(f"{branch}/{name}", partial(broker_of, name)) for name in names)
        self._brokers.extend(each for each in found if each is not None)

    def _take_configs(self, branch: str, names: list[str]) -> None:
        entity = branch.rpartition("/")[2]
        self._pipeline.add(
            self._get(f"{branch}/{name}", partial(self._take_config, branch, entity, name))
            for name in names
        )

    def _take_config(
        self, branch: str, entity: str, name: str, data: bytes | None, _stat: ZnodeStat
    ) -> None:
        entries = self._parsed(f"{branch}/{name}", partial(config_of, data))
        if entries is not None:
            self._configs.append(ZkConfig(entity=entity, name=name, entries=entries))

    # Topics

    def _take_topics(self, branch: str, names: list[str]) -> None:
        self._pipeline.add(
            self._get(f"{branch}/{name}", partial(self._take_topic, name)) for name in names
        )

    def _take_topic(self, name: str, data: bytes | None, stat: ZnodeStat) -> None:
        payload = self._parsed(f"{TOPICS}/{name}", partial(topic_of, data))
        if payload is None:
            return
        topic = _Topic(name, payload, stat.czxid)
        if not payload.replicas:
            self._topics.append(topic.whole())
        self._pipeline.add(self._states(topic))

    def _states(self, topic: _Topic) -> Iterator[Request]:
        for partition in topic.payload.replicas:
            path = f"{TOPICS}/{topic.name}/partitions/{partition}/state"
            answered = partial(self._take_state, topic, partition, path)
            yield Request(self._client.get_async, path, answered)

    def _take_state(
        self,
        topic: _Topic,
        partition: int,
        path: str,
        found: tuple[bytes | None, ZnodeStat] | None,
    ) -> None:
        state = None if found is None else self._parsed(path, partial(state_of, found[0]))
        topic.states[partition] = state
        if len(topic.states) < len(topic.payload.replicas):
            return
        if None not in topic.states.values():
            self._topics.append(topic.whole())
            return
        # A topic without all its states is a new one, or one that was deleted while it was read.
        path = f"{TOPICS}/{topic.name}"
        answered = partial(self._take_if_still_there, topic)
        self._pipeline.add([Request(self._client.exists_async, path, answered)])

    def _take_if_still_there(self, topic: _Topic, stat: ZnodeStat | None) -> None:
        if stat is not None and stat.czxid == topic.czxid:
            self._topics.append(topic.whole())

"""All requests of one reading: the order of the requests, and the result of the answers.

The znodes found last are read first, so that topics become complete one after the other, and memory
holds no more payloads than requests are in flight.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

from kazoo.protocol.states import ZnodeStat

from migration.comparison.quotas import entity_of_path
from migration.observed.facts import ZkConfig, ZkPartition, ZkTopic
from migration.observed.znode_codec import (
    StatePayload,
    TopicPayload,
    broker_id_of,
    state_of,
    topic_of,
)
from migration.observed.znodes import (
    BROKER_CONFIGS,
    BROKER_IDS,
    CONFIGS,
    TOPIC_CONFIGS,
    TOPICS,
    config_name,
)
from migration.values.foreign import Unreadable
from streams.zookeeper.config_digests import config_of, quotas_of
from streams.zookeeper.content.facts import Content
from streams.zookeeper.errors import NoAuth, ZooKeeperError
from streams.zookeeper.session import Pipeline, Request, Session

_QUOTAS: Final = ("users", "clients", "ips")
_SENSITIVE: Final = {BROKER_CONFIGS: "brokers", f"{CONFIGS}/users": "quotas"}
"""The paths that Kafka closes to others with zookeeper.set.acl (ZkData.SensitiveRootPaths).

By path: the settings that are then left out. The quotas of clients and of IPs remain open, but are
left out together with those of users.
"""

T = TypeVar("T")


@dataclass(slots=True)
class _Topic:
    """A topic while its partitions' states are read."""

    name: str
    payload: TopicPayload
    czxid: int
    states: dict[int, StatePayload | None] = field(default_factory=dict)

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
    """The requests of one reading, and their results so far."""

    def __init__(
        self, session: Session, in_flight_max: int, names: tuple[str, ...] | None = None
    ) -> None:
        self._names = names
        self._client = session.client
        self._pipeline = Pipeline(session, in_flight_max)
        self._topics: list[ZkTopic] = []
        self._configs: list[ZkConfig] = []
        self._brokers: list[int] = []
        self._unreadable: list[tuple[str, str]] = []
        self._closed: set[str] = set()

    def begin(self) -> None:
        """Request everything; call it as a reading of the session (`Session.begin`)."""
        if self._names is not None:
            self._take_configs(TOPIC_CONFIGS, self._names)
            self._take_topics(TOPICS, self._names)
            return
        self._pipeline.add(
            [
                self._list(TOPIC_CONFIGS, self._take_configs),
                self._list(BROKER_CONFIGS, self._take_configs),
                *(self._list(f"{CONFIGS}/{each}", self._take_quotas) for each in _QUOTAS),
                self._list(BROKER_IDS, self._take_brokers),
                self._list(TOPICS, self._take_topics),
            ]
        )

    def content(self, zxid: int) -> Content:
        """Return the result, once everything was answered."""
        return Content(
            zxid=zxid,
            topics=tuple(self._topics),
            # With the settings of only some brokers, the others would seem to have none.
            configs=tuple(each for each in self._configs if each.entity not in self._closed),
            brokers=tuple(self._brokers),
            unreadable=tuple(self._unreadable),
            names=self._names,
            closed=tuple(sorted(self._closed)),
        )

    def _list(self, path: str, take: Callable[[str, Sequence[str]], None]) -> Request:
        def answered(names: list[str] | None) -> None:
            # Sorted, so that a truncated report always names the same ones.
            take(path, sorted(names or ()))

        refused = partial(self._refused, path)
        return Request(self._client.get_children_async, path, answered, refused)

    def _get(self, path: str, take: Callable[[bytes | None, ZnodeStat], None]) -> Request:
        def answered(found: tuple[bytes | None, ZnodeStat] | None) -> None:
            if found is not None:  # else it was deleted since its parent was read
                take(*found)

        return Request(self._client.get_async, path, answered, partial(self._refused, path))

    def _refused(self, path: str, why: ZooKeeperError) -> bool:
        """Return whether a refusal only leaves out some settings."""
        whose = next((of for branch, of in _SENSITIVE.items() if path.startswith(branch)), None)
        if whose is None or not isinstance(why, NoAuth):
            return False
        self._closed.add(whose)
        return True

    def _parsed(self, path: str, parse: Callable[[], T]) -> T | None:
        try:
            return parse()
        except Unreadable as error:
            self._unreadable.append((path, str(error)))
            return None

    # Brokers and configurations

    def _take_brokers(self, branch: str, names: Sequence[str]) -> None:
        found = (self._parsed(f"{branch}/{name}", partial(broker_id_of, name)) for name in names)
        self._brokers.extend(each for each in found if each is not None)

    def _take_configs(self, branch: str, names: Sequence[str]) -> None:
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
            name = config_name(entity, name)
            self._configs.append(ZkConfig(entity=entity, name=name, entries=entries))

    def _take_quotas(self, branch: str, names: Sequence[str]) -> None:
        for name in names:
            path = f"{branch}/{name}"
            below = [self._list(f"{path}/clients", self._take_quotas)]
            asked = self._get(path, partial(self._take_quota, path))
            self._pipeline.add([asked, *(below if branch == f"{CONFIGS}/users" else ())])

    def _take_quota(self, path: str, data: bytes | None, _stat: ZnodeStat) -> None:
        name = entity_of_path(path.removeprefix(f"{CONFIGS}/"))
        # Kafka leaves the znode empty for a user of whom only clients have quotas.
        entries = self._parsed(path, partial(quotas_of, data)) if data else ()
        if name is not None and entries:
            self._configs.append(ZkConfig(entity="quotas", name=name, entries=entries))

    # Topics

    def _take_topics(self, branch: str, names: Sequence[str]) -> None:
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
        # A topic without all its states is new, or was deleted while it was read.
        path = f"{TOPICS}/{topic.name}"
        answered = partial(self._take_if_still_there, topic)
        self._pipeline.add([Request(self._client.exists_async, path, answered)])

    def _take_if_still_there(self, topic: _Topic, stat: ZnodeStat | None) -> None:
        if stat is not None and stat.czxid == topic.czxid:
            self._topics.append(topic.whole())

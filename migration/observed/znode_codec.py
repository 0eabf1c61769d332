"""The znode codec: each znode's content as Kafka writes it (3.9, ZkData.scala). Pure.

An error message never quotes content: a value of a configuration may be a secret.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeGuard

from migration.metadata.directory_ids import InvalidDirectoryId, from_text
from migration.values.foreign import INT32_MAX, INT64_MAX, TEXT_MAX, Unreadable, load_object, whole
from migration.values.timestamps import LATEST_MS, within

MIGRATION_OFFSET: Final = "kraft_metadata_offset"
"""The field of `/migration` that becomes positive when the copy is complete."""
_NO_LEADER: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ZkController:
    """The znode /controller.

    Attributes:
        kraft_epoch: the KRaft controller's leader epoch; -1: a ZooKeeper broker is the controller.
        claimed_ms: by the clock of the node that claimed it.
    """

    id: int
    kraft_epoch: int
    claimed_ms: int

    @property
    def is_kraft(self) -> bool:
        """Whether a KRaft controller controls the cluster."""
        return self.kraft_epoch >= 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationZnode:
    """The znode /migration (ZkMigrationLeadershipState).

    Attributes:
        offset: metadata offset up to which ZooKeeper was written; positive after the copy.
        written_ms: time of the last observed write. By ZooKeeper's clock, but within the bounds
            that Kraftgate observed by its own: the two clocks may differ.
        observed_ms: the time of the last fact; 0: of an earlier version of Kraftgate.
    """

    offset: int
    controller_id: int
    controller_epoch: int
    metadata_epoch: int
    written_ms: int
    observed_ms: int = 0

    @property
    def is_copied(self) -> bool:
        """Whether it marks ZooKeeper's content as copied."""
        return self.offset > 0

    @property
    def text(self) -> str:
        """The znode's content as Kafka writes it (MigrationZNode.encode)."""
        content = {
            "version": 0,
            MIGRATION_OFFSET: self.offset,
            "kraft_controller_id": self.controller_id,
            "kraft_metadata_epoch": self.metadata_epoch,
            "kraft_controller_epoch": self.controller_epoch,
        }
        return json.dumps(content, separators=(",", ":"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ZkBroker:
    """A znode of /brokers/ids: the broker is up, and in ZooKeeper or migration mode.

    Attributes:
        since_ms: when it was created: the broker started, or its session had expired.
        read_ms: when it was first read, by Kraftgate's clock; `LATEST_MS`: an earlier version of
            Kraftgate read it.
    """

    id: int
    host: str | None
    rack: str | None
    since_ms: int
    read_ms: int = LATEST_MS

    @property
    def started_ms(self) -> int:
        """`since_ms`, at most the time of its read, to compare with times of Kraftgate."""
        return min(self.since_ms, self.read_ms)


class TopicPayload(NamedTuple):
    """Content of `/brokers/topics/T`.

    Attributes:
        topic_id: 16 bytes.
        replicas: partition -> ids of its brokers, ordered by partition.
    """

    topic_id: bytes
    replicas: dict[int, tuple[int, ...]]


class StatePayload(NamedTuple):
    """Content of `/brokers/topics/T/partitions/P/state`; `leader` -1: none."""

    leader: int
    isr: tuple[int, ...]


def topic_of(data: bytes | None) -> TopicPayload:
    """Return the content of a topic's znode (TopicZNode).

    Raises:
        Unreadable: the data has another format, or is of a Kafka without topic ids (before 2.8).
    """
    content = fields_of(data)
    return TopicPayload(topic_id_of(content), replicas_of(content))


def topic_id_of(content: Mapping[str, Any]) -> bytes:
    """Return the id, 16 bytes, in the fields of a topic's znode.

    The copy fails without one (ZkTopicMigrationClient.iterateTopics).

    Raises:
        Unreadable: there is none, or it is not Kafka's.
    """
    text = content.get("topic_id")
    if text is None:
        raise Unreadable("it has no topic_id")
    if not isinstance(text, str):
        raise Unreadable("its topic_id is no text")
    try:
        return from_text(text)
    except InvalidDirectoryId:
        raise Unreadable("its topic_id is not a Kafka id") from None


def replicas_of(content: Mapping[str, Any]) -> dict[int, tuple[int, ...]]:
    """Return partition -> ids of its brokers, from a topic's znode of any version.

    Raises:
        Unreadable: there are none, or their format is not Kafka's.
    """
    partitions = content.get("partitions")
    if not isinstance(partitions, dict):
        raise Unreadable("it has no partitions")
    replicas = {_partition(name): _ids(ids, "replicas") for name, ids in partitions.items()}
    return dict(sorted(replicas.items()))


def state_of(data: bytes | None) -> StatePayload:
    """Return the content of a partition's state znode (TopicPartitionStateZNode).

    Raises:
        Unreadable: the data has another format.
    """
    content = fields_of(data)
    leader = content.get("leader")
    if not _is_id(leader, lowest=_NO_LEADER):
        raise Unreadable("its leader is no broker id")
    return StatePayload(leader, _ids(content.get("isr"), "isr"))


def config_entries_of(data: bytes | None) -> Mapping[str, Any]:
    """Return the entries of a configuration, whose values may be secrets (ConfigEntityZNode).

    Raises:
        Unreadable: the data has another format.
    """
    entries = fields_of(data).get("config")
    if not isinstance(entries, dict):
        raise Unreadable("it has no config")
    return entries


def not_text(entries: Mapping[str, Any]) -> list[str]:
    """Return the keys of a configuration whose values Kafka cannot read (ConfigEntityZNode)."""
    return sorted(key for key, value in entries.items() if not isinstance(value, str))


def controller_of(data: bytes, written_ms: int) -> ZkController:
    """Return the content of `/controller` (ControllerZNode).

    `written_ms`: ZooKeeper's time of the write.

    Raises:
        Unreadable: the data has another format.
    """
    content = fields_of(data)
    return ZkController(
        id=_id(content, "brokerid"),
        kraft_epoch=_int32(content, "kraftControllerEpoch", -1),
        claimed_ms=within(_int64(content, "timestamp", written_ms)),
    )


def controller_epoch_of(data: bytes) -> int:
    """Return the content of `/controller_epoch` (ControllerEpochZNode).

    Raises:
        Unreadable: the data is not an epoch.
    """
    return whole(data.decode("utf-8", "replace"), "content", 0, INT32_MAX)


def migration_of(data: bytes, written_ms: int, observed_ms: int) -> MigrationZnode:
    """Return the content of `/migration` (MigrationZNode).

    Args:
        data: the content.
        written_ms: ZooKeeper's time of the write.
        observed_ms: Kraftgate's time of the read.

    Raises:
        Unreadable: the data has another format.
    """
    content = fields_of(data)
    return MigrationZnode(
        offset=_int64(content, MIGRATION_OFFSET),
        controller_id=_int32(content, "kraft_controller_id"),
        controller_epoch=_int32(content, "kraft_controller_epoch"),
        metadata_epoch=_int32(content, "kraft_metadata_epoch"),
        written_ms=min(written_ms, observed_ms),
        observed_ms=observed_ms,
    )


def reassigning_of(data: bytes) -> Sequence[Any]:
    """Return the entries of `/admin/reassign_partitions`, one for each partition.

    Raises:
        Unreadable: it has no list of partitions.
    """
    partitions = fields_of(data).get("partitions")
    if not isinstance(partitions, list):
        raise Unreadable("it has no list of partitions")
    return partitions


def broker_of(name: str, data: bytes, written_ms: int, read_ms: int) -> ZkBroker:
    """Return the content of a znode of `/brokers/ids` (BrokerIdZNode).

    Raises:
        Unreadable: its name or its content has another format.
    """
    id_ = whole(name, "name", 0, INT32_MAX)
    content = fields_of(data)
    host = _name(content, "host")
    if host is None and content.get("endpoints"):  # null without a PLAINTEXT listener (encode)
        host = next(host_of(address) for _, address in endpoints_of(data))
    return ZkBroker(
        id=id_,
        host=host,
        rack=_name(content, "rack"),
        since_ms=written_ms,
        read_ms=read_ms,
    )


def endpoints_of(data: bytes | None) -> tuple[tuple[str, str], ...]:
    """Return the security protocol and the host:port of each listener of a broker (BrokerIdZNode).

    Raises:
        Unreadable: the data has another format.
    """
    content = fields_of(data)
    protocols = content.get("listener_security_protocol_map", {})
    endpoints = content.get("endpoints", ())
    if not isinstance(protocols, dict) or not isinstance(endpoints, list):
        raise Unreadable("it has no listeners")
    found = []
    for each in endpoints:
        name, separator, address = str(each).partition("://")
        if not separator or not address:
            raise Unreadable(f"a listener is {each!r}")
        found.append((str(protocols.get(name, name)), address))
    return tuple(found)


def host_of(address: str) -> str:
    """Return the host of a listener's host:port, without the brackets of an IPv6 address."""
    return address.rpartition(":")[0].strip("[]")


def notifying_broker_of(data: bytes) -> int:
    """Return the broker of a directory-failure notification (LogDirEventNotificationZNode).

    The znode has one kind of event: 1, a directory failed.

    Raises:
        Unreadable: it has no broker id.
    """
    return _id(fields_of(data), "broker")


def cluster_id_of(data: bytes | None) -> str | None:
    """Return the id in `/cluster/id` (ClusterIdZNode); None: there is none, or it is unreadable."""
    try:
        id_ = fields_of(data).get("id")
    except Unreadable:
        return None
    return id_ if isinstance(id_, str) and id_ else None


def fields_of(data: bytes | None) -> Mapping[str, Any]:
    """Return the fields of a znode whose content is a JSON object.

    Raises:
        Unreadable: the data has another format.
    """
    return load_object(data or b"")


def broker_id_of(name: str) -> int:
    """Return the broker id in the name of a znode below `/brokers/ids`.

    Raises:
        Unreadable: the name is not a broker id.
    """
    return _number(name, "its name is no broker id")


def _partition(name: str) -> int:
    return _number(name, "a partition's name is no number")


def _number(name: str, why_not: str) -> int:
    try:
        return whole(name, "name", 0, INT32_MAX)
    except Unreadable:
        raise Unreadable(why_not) from None


def _ids(value: object, what: str) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(_is_id(each) for each in value):
        raise Unreadable(f"its {what} are no list of broker ids")
    return tuple(value)


def _is_id(value: object, lowest: int = 0) -> TypeGuard[int]:
    if isinstance(value, bool) or not isinstance(value, int):
        return False
    return lowest <= value <= INT32_MAX


def _id(content: Mapping[str, Any], name: str) -> int:
    return whole(_of(content, name), name, 0, INT32_MAX)


def _int32(content: Mapping[str, Any], name: str, default: int | None = None) -> int:
    return whole(_of(content, name, default), name, -INT32_MAX - 1, INT32_MAX)


def _int64(content: Mapping[str, Any], name: str, default: int | None = None) -> int:
    return whole(_of(content, name, default), name, -INT64_MAX - 1, INT64_MAX)


def _of(content: Mapping[str, Any], name: str, default: int | None = None) -> object:
    value = content.get(name, default)
    if value is None:
        raise Unreadable(f"it has no {name}")
    return value


def _name(content: Mapping[str, Any], name: str) -> str | None:
    value = content.get(name)
    if isinstance(value, str) and len(value) > TEXT_MAX:
        raise Unreadable(f"its {name} is longer than {TEXT_MAX} characters")
    return value if isinstance(value, str) else None

"""What Kafka writes into the znodes that are compared (3.9, ZkData.scala). Pure.

Nothing that is refused is quoted: a value of a configuration may be a secret.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeGuard

from migration.comparison import quotas
from migration.metadata.directory_ids import InvalidDirectoryId, from_text
from migration.values.foreign import INT32_MAX, Unreadable, load_object, whole
from migration.values.secret_settings import setting_digest

_NO_LEADER: Final = -1


class TopicPayload(NamedTuple):
    """Of `/brokers/topics/T`.

    Attributes:
        topic_id: 16 bytes.
        replicas: partition -> ids of its brokers, ordered by partition.
    """

    topic_id: bytes
    replicas: dict[int, tuple[int, ...]]


class StatePayload(NamedTuple):
    """Of `/brokers/topics/T/partitions/P/state`; `leader` -1: none."""

    leader: int
    isr: tuple[int, ...]


def topic_of(data: bytes | None) -> TopicPayload:
    """Read a topic's znode (TopicZNode).

    Raises:
        Unreadable: it is something else, or of a Kafka that gave topics no id (before 2.8).
    """
    content = _object(data)
    text = content.get("topic_id")
    if text is None:
        raise Unreadable("it has no topic_id")
    if not isinstance(text, str):
        raise Unreadable("its topic_id is no text")
    try:
        topic_id = from_text(text)
    except InvalidDirectoryId:
        raise Unreadable("its topic_id is not a Kafka id") from None
    return TopicPayload(topic_id, replicas_of(content))


def replicas_of(content: Mapping[str, Any]) -> dict[int, tuple[int, ...]]:
    """Return partition -> ids of its brokers, of a topic's znode of any version.

    Raises:
        Unreadable: there are none, or others than Kafka writes.
    """
    partitions = content.get("partitions")
    if not isinstance(partitions, dict):
        raise Unreadable("it has no partitions")
    replicas = {_partition(name): _ids(ids, "replicas") for name, ids in partitions.items()}
    return dict(sorted(replicas.items()))


def state_of(data: bytes | None) -> StatePayload:
    """Read a partition's state (TopicPartitionStateZNode).

    Raises:
        Unreadable: it is something else.
    """
    content = _object(data)
    leader = content.get("leader")
    if not _is_id(leader, lowest=_NO_LEADER):
        raise Unreadable("its leader is no broker id")
    return StatePayload(leader, _ids(content.get("isr"), "isr"))


def config_of(data: bytes | None) -> tuple[tuple[str, bytes], ...]:
    """Read a configuration as digests of its values, ordered by key (ConfigEntityZNode).

    Raises:
        Unreadable: it is something else.
    """
    entries = _object(data).get("config")
    if not isinstance(entries, dict):
        raise Unreadable("it has no config")
    return tuple((name, _digest_of(name, value)) for name, value in sorted(entries.items()))


def quotas_of(data: bytes | None) -> tuple[tuple[str, bytes], ...]:
    """Read quotas as digests of their values, ordered by key; nothing is taken of credentials.

    Raises:
        Unreadable: it is something else.
    """
    entries = _object(data).get("config")
    if not isinstance(entries, dict):
        raise Unreadable("it has no config")
    found = sorted((name, value) for name, value in entries.items() if name in quotas.KEYS)
    return tuple((name, quotas.digest_of(_rate(value))) for name, value in found)


def broker_of(name: str) -> int:
    """Read the name of a znode below `/brokers/ids`.

    Raises:
        Unreadable: it is no broker id.
    """
    return _number(name, "its name is no broker id")


def _object(data: bytes | None) -> Mapping[str, Any]:
    return load_object(data or b"")


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


def _rate(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        raise Unreadable("a quota of it is no number") from None


def _digest_of(name: str, value: object) -> bytes:
    if not isinstance(value, str):
        raise Unreadable("a value of its config is no text")
    return setting_digest(name, value)

"""Converts observations to the bytes of journals and rows, and back."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, cast, get_args

import msgpack
from pydantic import TypeAdapter

from migration.observed.facts import (
    DiskContentSeen,
    DisksSeen,
    DisksUnreachable,
    FactQuarantined,
    JmxNodes,
    JmxSeen,
    JmxUnreachable,
    NotificationsMissed,
    Observation,
    OffsetsFell,
    ReplicasBack,
    ReplicasCutOff,
    ZkContentRead,
    ZkContentSeen,
    ZnodeGone,
    ZnodeSeen,
    ZooKeeperBlind,
    ZooKeeperSeen,
)
from migration.observed.quarantine import flaw, quarantined
from migration.observed.topic_facts import (
    ZkConfigChanged,
    ZkConfigSeen,
    ZkStatesChanged,
    ZkTopicChanged,
    ZkTopicsFound,
)
from migration.observed.znodes import NOTIFICATIONS, parent
from streams.state.recovery import NEW_STORE

_READERS: Final[dict[str, TypeAdapter[Any]]] = {
    kind.__name__: TypeAdapter(kind) for kind in get_args(Observation)
}


class FactUnreadable(ValueError):
    """A stored fact is damaged, or a later version wrote it."""


def pack(fact: Observation) -> bytes:
    """Return a fact as MessagePack bytes.

    Raises:
        OverflowError: an integer does not fit 64 bits.
        UnicodeEncodeError: a string contains half of a surrogate pair.
    """
    return cast(bytes, msgpack.packb((type(fact).__name__, fact)))


def keepable(fact: Observation) -> tuple[Observation, bytes]:
    """Return a fact and its bytes; a FactQuarantined replaces a fact that cannot be packed."""
    try:
        return fact, pack(fact)
    except (OverflowError, UnicodeEncodeError) as error:
        instead = quarantined(fact, flaw(fact) or f"it cannot be kept: {error.args[0]}")
        return instead, pack(instead)


def unpack(packed: bytes) -> Observation:
    """Return the fact that `pack` packed.

    Raises:
        FactUnreadable: the bytes are not a fact, or a fact of a later version.
    """
    try:
        name, fields = msgpack.unpackb(packed, use_list=False)
        return cast(Observation, _READERS[name].validate_python(fields))
    except (KeyError, TypeError, ValueError, msgpack.UnpackException) as error:
        raise FactUnreadable(
            "a stored fact cannot be read: it is damaged, or of a later version. Continue with"
            f" that version, or {NEW_STORE}"
        ) from error


def key(fact: Observation) -> str | None:
    """Return the key of a fact, its subject: a later fact with the same key supersedes it.

    None: the fact is an incident, which has no meaning after it has taken effect.
    """
    match fact:
        case ZnodeSeen() | ZkConfigSeen() | ZnodeGone():
            # The last one has the highest sequence number; all earlier ones are below it.
            return "notifications" if parent(fact.path) == NOTIFICATIONS else fact.path
        case NotificationsMissed():
            return "notifications"
        case ZooKeeperBlind() | ZooKeeperSeen():
            return "session"
        case DisksSeen() | DisksUnreachable():
            return f"disks {fact.broker}"
        case ReplicasCutOff() | ReplicasBack():
            return f"cut off {fact.broker} {fact.path}"
        case ZkContentRead():
            return "content"
        case JmxNodes() | JmxSeen() | JmxUnreachable():
            return "jmx" if isinstance(fact, JmxNodes) else f"jmx {fact.node}"
        case ZkTopicsFound():
            return "topics"
        case (
            OffsetsFell()
            | ZkTopicChanged()
            | ZkConfigChanged()
            | ZkStatesChanged()
            | ZkContentSeen()
            | DiskContentSeen()
            | FactQuarantined()
        ):
            return None


class FactRange(NamedTuple):
    """Facts in the order of observation; `until`: the last sequence number that was read."""

    until: int
    facts: tuple[Observation, ...]


def pack_row(until: int, packed: Sequence[bytes]) -> bytes:
    """Return packed facts of a journal as the chunk of one row for Spark."""
    return cast(bytes, msgpack.packb((until, packed)))


def unpack_row(chunk: bytes) -> FactRange:
    until, packed = msgpack.unpackb(chunk, use_list=False)
    return FactRange(until, tuple(unpack(each) for each in packed))

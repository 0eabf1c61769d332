"""The numbers of a cluster's shards, chosen so that Spark distributes them evenly.

Spark assigns a key to a task by its hash (`HashPartitioning`); with arbitrary numbers, one of two
tasks often gets eleven of sixteen shards. So the number of a shard is the first one that the hash
sends to its place: up to `SHARDS`, a power of two of tasks gets equally many shards each. Only
speed depends on it.
"""

import struct
import zlib
from functools import cache
from itertools import count
from typing import Final

SHARDS: Final = 16
"""How many shards a cluster's topics hash to; part of the checkpoint's format."""
CLUSTER: Final = -1
"""The `shard` of rows with records about the cluster itself."""
ZOOKEEPER: Final = -2
"""The `shard` of rows with facts from ZooKeeper."""
LOG_DIRS: Final = -3
"""The `shard` of rows with facts from the brokers' log directories."""
JMX: Final = -4
"""The `shard` of rows with facts from JMX."""

_SEED: Final = 42
_MASK: Final = 0xFFFFFFFF


@cache
def shard_numbers(cluster: str) -> tuple[int, ...]:
    """Return the `SHARDS` numbers of a cluster's shards, by place; deterministic."""
    found: dict[int, int] = {}
    for number in count():
        found.setdefault(spark_hash(cluster, number) % SHARDS, number)
        if len(found) == SHARDS:
            return tuple(found[place] for place in range(SHARDS))
    raise AssertionError


def place_of_topic(topic_id: bytes) -> int:
    """Return the place of the shard that keeps a topic."""
    return topic_id[-1] % SHARDS


def place_of_name(name: str) -> int:
    """Return the place of the shard that keeps the settings of a resource."""
    return zlib.crc32(name.encode()) % SHARDS


def spark_hash(cluster: str, shard: int) -> int:
    """`hash(cluster, shard)` of Spark SQL (catalyst's `Murmur3Hash`), as an unsigned number."""
    return _hash_int(shard, _hash_string(cluster, _SEED))


def _hash_int(value: int, seed: int) -> int:
    """`Murmur3_x86_32.hashInt`."""
    return _finish(_mix(seed, value), 4)


def _hash_string(value: str, seed: int) -> int:
    """`Murmur3_x86_32.hashUnsafeBytes`: whole words, then each remaining byte, signed."""
    raw = value.encode()
    whole = len(raw) & ~3
    mixed = seed
    for (word,) in struct.iter_unpack("<I", raw[:whole]):
        mixed = _mix(mixed, word)
    for (byte,) in struct.iter_unpack("<b", raw[whole:]):
        mixed = _mix(mixed, byte)
    return _finish(mixed, len(raw))


def _mix(mixed: int, word: int) -> int:
    word = (word & _MASK) * 0xCC9E2D51 & _MASK
    mixed ^= _rotated(word, 15) * 0x1B873593 & _MASK
    return _rotated(mixed, 13) * 5 + 0xE6546B64 & _MASK


def _rotated(word: int, by: int) -> int:
    return (word << by | word >> 32 - by) & _MASK


def _finish(mixed: int, length: int) -> int:
    mixed ^= length
    mixed = (mixed ^ mixed >> 16) * 0x85EBCA6B & _MASK
    mixed = (mixed ^ mixed >> 13) * 0xC2B2AE35 & _MASK
    return mixed ^ mixed >> 16

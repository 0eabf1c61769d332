"""The state of a shard that an earlier version wrote: read if it means the same, else refused."""

from dataclasses import fields

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration.metadata.directory_ids import LOST, MIGRATING, DirectoryId
from migration.metadata.partitions import Numbers, Replicas
from migration.shard.apply import Shard
from migration.shard.lists import integers
from migration.shard.partition_table import PartitionTable, keys_of
from streams.spark.shard_batch import STATE_FORMAT, UnknownStateFormat, pack_shard, unpack_shard

REAL, RESERVED = DirectoryId(b"0123456789abcdef"), DirectoryId(bytes(15) + b"\x03")
TOPICS = bytes(16), bytes(15) + b"\x01"
_ids = st.integers(-(2**31), 2**31 - 1)
_replicas = st.builds(
    Replicas,
    st.lists(_ids, max_size=4).map(tuple),
    st.lists(st.integers(0, 70_000), max_size=4).map(tuple),
    _ids,
    st.lists(_ids, max_size=4).map(tuple),
    st.integers(0, 3),
)


def key(topic: int, partition: int) -> int:
    """The key of one partition."""
    return int(keys_of(integers([topic]), integers([partition]))[0])


def shard_of(partitions: dict[tuple[int, int], Replicas], numbers: Numbers) -> Shard:
    """A shard with two topics; `partitions`: by number of the topic and id."""
    shard = Shard(
        numbers=numbers,
        partitions=PartitionTable.of({key(*of): each for of, each in partitions.items()}),
    )
    for number, topic_id in enumerate(TOPICS):
        shard.add(topic_id, f"t{number}")
    return shard


def plain(shard: Shard) -> tuple[object, ...]:
    """A shard as values that can be compared."""
    topics = {of: (each.name, each.partitions) for of, each in shard.logged().items()}
    names = [each.name for each in fields(shard) if each.name not in ("partitions", "topics")]
    return topics, *(getattr(shard, each) for each in names)


def written(directory: DirectoryId, state_format: int) -> tuple[Shard, bytes]:
    """A shard with a replica in `directory`, as packed by another version."""
    numbers = Numbers((REAL, RESERVED))
    replicas = Replicas((1,), (numbers[directory],), 1, (1,))
    shard = shard_of({(1, 7): replicas}, numbers)
    if directory == MIGRATING:
        shard.pending[1] = 1
    _, ids, topics, next_topic, table, *rest = msgpack.unpackb(
        pack_shard(shard, []), strict_map_key=False
    )
    if state_format < 10:
        objects = [(TOPICS[0], "t0", [], []), (TOPICS[1], "t1", [7], [replicas])]
        return shard, msgpack.packb((state_format, ids, objects, *rest))
    return shard, msgpack.packb((state_format, ids, topics, next_topic, table, *rest))


@given(st.dictionaries(st.tuples(st.integers(0, 1), _ids), _replicas, max_size=6))
def test_any_partitions_are_read_as_they_were_written(
    partitions: dict[tuple[int, int], Replicas],
) -> None:
    shard = shard_of(partitions, Numbers())
    found, held = unpack_shard(pack_shard(shard, []))
    assert (plain(found), held) == (plain(shard), [])
    assert {
        (number, partition): each
        for number, topic_id in enumerate(TOPICS)
        for partition, each in found.logged()[topic_id].partitions.items()
    } == partitions


@pytest.mark.parametrize(
    ("directory", "state_format"), [(REAL, 8), (MIGRATING, 8), (REAL, 9), (LOST, 9), (RESERVED, 9)]
)
def test_an_earlier_state_is_read(directory: DirectoryId, state_format: int) -> None:
    shard, packed = written(directory, state_format)
    found, held = unpack_shard(packed)
    assert (plain(found), held) == (plain(shard), [])


@pytest.mark.parametrize("directory", [LOST, RESERVED])
def test_an_earlier_state_counts_lost_replicas_wrongly_and_is_refused(
    directory: DirectoryId,
) -> None:
    _, packed = written(directory, 8)
    with pytest.raises(
        UnknownStateFormat, match=r"format 8 with replicas .*or stop `kraftgate run`"
    ):
        unpack_shard(packed)


@pytest.mark.parametrize("state_format", [7, STATE_FORMAT + 1])
def test_another_format_is_refused(state_format: int) -> None:
    with pytest.raises(UnknownStateFormat, match=f"has state format {state_format}, but"):
        unpack_shard(written(REAL, state_format)[1])

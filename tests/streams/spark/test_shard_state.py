"""The state of a shard that an earlier version wrote: read if it means the same, else refused."""

import msgpack
import pytest

from migration.metadata.directory_ids import LOST, MIGRATING, DirectoryId
from migration.metadata.partitions import Numbers, Replicas
from migration.shard.apply import Shard, ShardTopic
from streams.spark.shard_batch import STATE_FORMAT, UnknownStateFormat, pack_shard, unpack_shard

REAL, RESERVED = DirectoryId(b"0123456789abcdef"), DirectoryId(bytes(15) + b"\x03")


def written(directory: DirectoryId, state_format: int) -> tuple[Shard, bytes]:
    """A shard with a replica in `directory`, as packed by another version."""
    numbers = Numbers((REAL, RESERVED))
    replicas = Replicas((1,), (numbers[directory],), 1, (1,))
    shard = Shard(numbers=numbers, topics={bytes(16): ShardTopic("t", {0: replicas})})
    if directory == MIGRATING:
        shard.pending[1] = 1
    _, *rest = msgpack.unpackb(pack_shard(shard, []), strict_map_key=False)
    return shard, msgpack.packb((state_format, *rest))


@pytest.mark.parametrize("directory", [REAL, MIGRATING])
def test_an_earlier_state_without_lost_replicas_is_read(directory: DirectoryId) -> None:
    shard, packed = written(directory, 8)
    assert unpack_shard(packed) == (shard, [])


@pytest.mark.parametrize("directory", [LOST, RESERVED])
def test_an_earlier_state_counts_lost_replicas_wrongly_and_is_refused(
    directory: DirectoryId,
) -> None:
    _, packed = written(directory, 8)
    with pytest.raises(UnknownStateFormat, match=r"state format 8 with replicas .*remove the"):
        unpack_shard(packed)
    shard, packed = written(directory, STATE_FORMAT)
    assert unpack_shard(packed) == (shard, [])


@pytest.mark.parametrize("state_format", [7, STATE_FORMAT + 1])
def test_another_format_is_refused(state_format: int) -> None:
    with pytest.raises(UnknownStateFormat, match=f"has state format {state_format}, this"):
        unpack_shard(written(REAL, state_format)[1])

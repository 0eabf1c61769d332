"""The follower as a whole: damaged replies, one after the other, into its cursor and its spool."""

import shutil
import struct
import tempfile
from collections.abc import Sequence
from datetime import timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final

from kio.index import load_response_from_request
from kio.schema.errors import ErrorCode
from kio.schema.fetch.v17 import response as fetch
from kio.schema.fetch_snapshot.v1 import response as fetch_snapshot
from kio.schema.types import BrokerId, TopicName
from kio.serial import entity_reader
from kio.serial.errors import SerialError
from kio.static.primitive import Records, i32, i32Timedelta, i64

from streams.kafka.errors import ConnectionFailed, ReplyDamaged
from streams.kafka.framing import body_of
from streams.kafka.messages import APIS, METADATA_TOPIC, METADATA_TOPIC_ID
from streams.metadata.follower import Follower
from streams.metadata.spool import Spool
from streams.net.endpoint import Endpoint
from streams.net.listener import Listener
from streams.wire.errors import DamagedValue
from tests.fuzz.examples import written
from tests.fuzz.mutations import mutate_bytes
from tests.fuzz.target import Target
from tests.fuzz.targets.logs import joined, parted, segments

_ENDPOINTS: Final = (Endpoint("c1", 9093), Endpoint("c2", 9093))
_HEADER: Final = struct.pack(">iB", 1, 0)
_STEPS_A_REPLY: Final = 3
_NOW: Final = i32Timedelta.parse(timedelta(0))


def _fetched(records: bytes, high_watermark: int, **tags: Any) -> bytes:
    part = fetch.PartitionData(
        partition_index=i32(0),
        error_code=tags.pop("error", ErrorCode.none),
        high_watermark=i64(high_watermark),
        log_start_offset=i64(0),
        aborted_transactions=None,
        records=Records(records),
        **tags,
    )
    topic = fetch.FetchableTopicResponse(topic_id=METADATA_TOPIC_ID, partitions=(part,))
    reply = fetch.FetchResponse(throttle_time=_NOW, error_code=ErrorCode.none, responses=(topic,))
    return _HEADER + written(reply)


def _snapshot(content: bytes, position: int, size: int) -> bytes:
    part = fetch_snapshot.PartitionSnapshot(
        index=i32(0),
        error_code=ErrorCode.none,
        snapshot_id=fetch_snapshot.SnapshotId(end_offset=i64(30), epoch=i32(1)),
        size=i64(size),
        position=i64(position),
        current_leader=fetch_snapshot.LeaderIdAndEpoch(leader_id=BrokerId(1), leader_epoch=i32(1)),
        unaligned_records=Records(content),
    )
    topic = fetch_snapshot.TopicSnapshot(name=TopicName(METADATA_TOPIC), partitions=(part,))
    reply = fetch_snapshot.FetchSnapshotResponse(
        throttle_time=_NOW, error_code=ErrorCode.none, topics=(topic,)
    )
    return _HEADER + written(reply)


@cache
def _seeds() -> Sequence[bytes]:
    log = segments()[0]
    leader = fetch.LeaderIdAndEpoch(leader_id=BrokerId(1), leader_epoch=i32(4))
    middle = len(log) // 2
    to_snapshot = _fetched(b"", 40, snapshot_id=fetch.SnapshotId(end_offset=i64(30), epoch=i32(1)))
    parts = (_snapshot(log[:middle], 0, len(log)), _snapshot(log[middle:], middle, len(log)))
    diverged = fetch.EpochEndOffset(epoch=i32(1), end_offset=i64(2))
    return (
        joined([_fetched(log, 2**40), _fetched(log, 2**40), _fetched(b"", 2**40)]),
        joined([_fetched(log[:500], 1), _fetched(log, 5, current_leader=leader)]),
        joined([to_snapshot, *parts, _fetched(log, 40)]),
        joined([_fetched(log, 9), _fetched(b"", 9, diverging_epoch=diverged), _fetched(log, 9)]),
        joined([_fetched(b"", -1, error=ErrorCode.fenced_leader_epoch, current_leader=leader)]),
    )


def _mutate(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    replies = parted(data)
    known = [reply for each in others for reply in parted(each)]
    at = rng.randrange(len(replies))
    kept = len(_HEADER)
    replies[at] = replies[at][:kept] + mutate_bytes(rng, replies[at][kept:], known)
    if rng.random() < 0.3:
        replies.insert(rng.randrange(len(replies) + 1), rng.choice(known))
    return joined(replies)


class _Connection:
    """Answers with the replies in their order, then hangs up."""

    endpoint = _ENDPOINTS[0]

    def __init__(self, replies: list[bytes]) -> None:
        self._replies = replies

    def version(self, key: int) -> int:
        return APIS[key].last

    def ask(self, request: Any, **_: int) -> Any:
        if not self._replies:
            raise ConnectionFailed("c1:9093 closed the connection")
        kind = load_response_from_request(request)
        try:
            return entity_reader(kind)(body_of(self._replies.pop(0), kind, 1), 0)[0]
        except (DamagedValue, SerialError, ValueError) as error:
            raise ReplyDamaged(repr(error)) from error

    def close(self) -> None:
        """There is nothing to close."""


class _Follower(Follower):
    """Connects to the replies, and does not wait."""

    replies: list[bytes]

    def _connect(self, endpoint: Endpoint) -> None:
        self._connection = _Connection(self.replies)  # type: ignore[assignment]
        self._cursor.connected(endpoint)

    def _sleep(self, _until: float | None) -> None:
        self._cursor._waiting = None


def _follow(data: bytes) -> object:
    folder = Path(tempfile.mkdtemp(prefix="kraftgate-fuzz-"))
    try:
        with Spool(folder / "spool") as spool:
            follower = _Follower(Listener(_ENDPOINTS, cluster_id="C"), spool)
            follower.replies = parted(data)
            for _ in range(_STEPS_A_REPLY * len(follower.replies) + _STEPS_A_REPLY):
                follower._step()
            position = spool.position
        with Spool(folder / "spool") as again:
            assert again.position.next_offset == position.next_offset
            assert again.position.epoch == position.epoch or position.epoch is None
        return position
    finally:
        shutil.rmtree(folder)


TARGETS = (
    Target(
        name="follower",
        seeds=_seeds,
        parse=_follow,
        errors=(),
        mutate=_mutate,
        cost=100,
    ),
)

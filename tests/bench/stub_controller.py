"""Controllers without processes: each has a metadata log that grows as the benchmark says.

A log begins as a copy of a real one; no-op records are appended as often as Kafka appends them. The
only requests that are answered are those of a follower: ApiVersions and FETCH (long polls).
"""

import asyncio
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from io import BytesIO
from struct import Struct
from typing import Final, Self

from kio.schema.errors import ErrorCode
from kio.schema.fetch.v17.request import FetchRequest
from kio.schema.fetch.v17.response import (
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from kio.schema.request_header.v2.header import RequestHeader
from kio.schema.types import BrokerId
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import Records, i32, i32Timedelta, i64

from orchestrator.lab.machine.ports import LOOPBACK
from streams.kafka.messages import FETCH, METADATA_TOPIC_ID
from streams.wire.batches import read_batches
from streams.wire.schema import NoOpRecordV0
from tests.support.wire_writing import write_batch, write_value

_NO_OP_S: Final = 0.5
"""Kafka's metadata.max.idle.interval.ms."""
_NO_OP: Final = write_value(NoOpRecordV0())
_LEADER: Final = BrokerId(3000)
_HEAD: Final = Struct(">hhi")
"""API key, version, correlation id."""
_SIZE: Final = 4
_API_VERSIONS: Final = 18
_UNSUPPORTED_VERSION: Final = 35
_VERSIONS: Final = Struct(">hi3h3h")
"""ApiVersions v0: error, two APIs with their lowest and highest versions."""
_read_header, _read_fetch = entity_reader(RequestHeader), entity_reader(FetchRequest)
_write_fetch = entity_writer(FetchResponse)


class _Controller:
    """The leader of one cluster. Its log: `begun`, then batches of one record each."""

    def __init__(self, begun: bytes) -> None:
        *_, last = read_batches(begun, file="begun", position=0, allow_partial_tail=True)
        self._begun = begun[: last.position + last.size]
        self._begun_end = last.last_offset + 1
        self._epoch = last.leader_epoch
        self._batches: list[bytes] = []
        self._appended = asyncio.Event()
        self.port = 0

    async def serve(self, first_no_op_s: float, is_listening: asyncio.Event) -> None:
        """Serve, and append no-op records, until the task is cancelled."""
        server = await asyncio.start_server(self._connected, LOOPBACK)
        self.port = server.sockets[0].getsockname()[1]
        is_listening.set()
        async with server:
            await asyncio.sleep(first_no_op_s)
            while True:
                self.append(_NO_OP)
                await asyncio.sleep(_NO_OP_S)

    def append(self, value: bytes) -> tuple[int, int]:
        """Append a record; return its offset and its time (ms)."""
        offset, now_ms = self._end, time.time_ns() // 1_000_000
        self._batches.append(write_batch(offset, self._epoch, now_ms, [value]))
        self._appended.set()
        self._appended = asyncio.Event()
        return offset, now_ms

    @property
    def _end(self) -> int:
        return self._begun_end + len(self._batches)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                body = await reader.readexactly(int.from_bytes(await reader.readexactly(_SIZE)))
                key, version, correlation = _HEAD.unpack_from(body)
                reply = await self._fetched(body) if key == FETCH else _versions(version)
                writer.write((len(reply) + _SIZE).to_bytes(_SIZE))
                writer.write(correlation.to_bytes(_SIZE) + reply)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the follower closed it
        finally:
            writer.close()

    async def _fetched(self, body: bytes) -> bytes:
        _, size = _read_header(body, 0)
        request, _ = _read_fetch(body, size)
        offset = request.topics[0].partitions[0].fetch_offset
        if offset >= self._end:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._appended.wait(), request.max_wait.total_seconds())
        with BytesIO() as out:
            out.write(b"\0")  # the header's tagged fields
            _write_fetch(out, self._reply(offset))
            return out.getvalue()

    def _reply(self, offset: int) -> FetchResponse:
        after = offset - self._begun_end
        records = b"".join([self._begun, *self._batches] if after < 0 else self._batches[after:])
        data = PartitionData(
            partition_index=i32(0),
            error_code=ErrorCode.none,
            high_watermark=i64(self._end),
            last_stable_offset=i64(self._end),
            log_start_offset=i64(0),
            current_leader=LeaderIdAndEpoch(leader_id=_LEADER, leader_epoch=i32(self._epoch)),
            aborted_transactions=None,
            records=Records(records),
        )
        return FetchResponse(
            throttle_time=i32Timedelta.parse(timedelta()),
            error_code=ErrorCode.none,
            responses=(FetchableTopicResponse(topic_id=METADATA_TOPIC_ID, partitions=(data,)),),
            node_endpoints=(
                NodeEndpoint(node_id=_LEADER, host=LOOPBACK, port=i32(self.port), rack=None),
            ),
        )


def _versions(version: int) -> bytes:
    error = 0 if version == 0 else _UNSUPPORTED_VERSION  # the client repeats it with version 0
    return _VERSIONS.pack(error, 2, _API_VERSIONS, 0, 0, FETCH, 17, 17)


class StubControllers:
    """Controllers of `count` clusters in one thread; a context manager.

    Args:
        begun: the bytes of the log with which each begins.
    """

    def __init__(self, begun: bytes, count: int) -> None:
        self._loop = asyncio.new_event_loop()
        self._controllers = [_Controller(begun) for _ in range(count)]
        self._thread = threading.Thread(target=self._loop.run_forever, name="controllers")

    def __enter__(self) -> Self:
        self._thread.start()
        for number, each in enumerate(self._controllers):
            # Their no-op records are spread over the interval, as those of real clusters are.
            phase_s = _NO_OP_S * number / len(self._controllers)
            listening = asyncio.Event()
            asyncio.run_coroutine_threadsafe(each.serve(phase_s, listening), self._loop)
            asyncio.run_coroutine_threadsafe(listening.wait(), self._loop).result()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(_cancel_all(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def addresses(self) -> Sequence[str]:
        """host:port of each."""
        return [f"{LOOPBACK}:{each.port}" for each in self._controllers]

    def append(self, cluster: int, value: bytes) -> tuple[int, int]:
        """Append a record to the log of a cluster; return its offset and its time (ms)."""

        async def append() -> tuple[int, int]:
            return self._controllers[cluster].append(value)

        return asyncio.run_coroutine_threadsafe(append(), self._loop).result()


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for each in tasks:
        each.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(0)  # closed connections are closed in the next turn of the loop

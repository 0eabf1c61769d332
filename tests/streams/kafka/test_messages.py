"""Endpoints are read as people write them; replies lose nothing that the cursor needs."""

import datetime
import io
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer

from streams.kafka import messages
from streams.kafka.errors import ReplyDamaged
from streams.kafka.messages import Leader, OffsetAndEpoch
from streams.net.endpoint import Endpoint
from tests.support.examples import examples

FETCH_VERSIONS = range(13, 18)


def test_a_bootstrap_list() -> None:
    found = Endpoint.parse_list(" c1:9093, [::1]:9094 ,")
    assert found == (Endpoint("c1", 9093), Endpoint("::1", 9094))
    assert [str(e) for e in found] == ["c1:9093", "[::1]:9094"]


@pytest.mark.parametrize("text", ["", " , ", "c1", "c1:", ":9093", "c1:x"])
def test_a_bad_bootstrap_list_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"host:port"):
        Endpoint.parse_list(text)


@pytest.mark.parametrize("version", FETCH_VERSIONS)
def test_every_version_asks_as_replica_minus_1_by_topic_id(version: int) -> None:
    request = messages.fetch_request(
        version,
        cluster_id="c",
        leader_epoch=3,
        offset=7,
        last_fetched_epoch=2,
        max_wait_ms=500,
        max_bytes=100,
    )
    with io.BytesIO() as buffer:
        entity_writer(type(request))(buffer, request)
        again, _ = entity_reader(type(request))(buffer.getvalue(), 0)
    assert again == request
    replica = request.replica_id if version < 15 else request.replica_state.replica_id
    assert replica == -1
    assert again.topics[0].topic_id.int == 1


@pytest.mark.parametrize("version", FETCH_VERSIONS)
@examples(30)
@given(leader=st.integers(-1, 5), epoch=st.integers(-1, 5), watermark=st.integers(-1, 99))
def test_absent_values_are_none(version: int, leader: int, epoch: int, watermark: int) -> None:
    def made(name: str, **fields: object) -> object:
        module = messages.entity(messages.FETCH, version, "Response").__module__
        return getattr(__import__(module, fromlist=[name]), name)(**fields)

    data = made(
        "PartitionData",
        partition_index=0,
        error_code=ErrorCode.none,
        high_watermark=watermark,
        current_leader=made("LeaderIdAndEpoch", leader_id=leader, leader_epoch=epoch),
        snapshot_id=made("SnapshotId", end_offset=9, epoch=1),
        aborted_transactions=None,
        records=None,
    )
    reply = messages.read_fetch(_response(made, data))
    assert reply.high_watermark == (None if watermark < 0 else watermark)
    expected = None if epoch < 0 else Leader(None if leader < 0 else leader, epoch)
    assert reply.leader == expected
    assert reply.snapshot == OffsetAndEpoch(9, 1)
    assert reply.diverging is None
    assert reply.records == b""
    with pytest.raises(ReplyDamaged, match="a reply for 2 partitions"):
        messages.read_fetch(_response(made, data, data))


def _response(made: object, *data: object) -> object:
    assert callable(made)
    topic = made("FetchableTopicResponse", topic_id=uuid.UUID(int=1), partitions=data)
    return made(
        "FetchResponse",
        throttle_time=datetime.timedelta(0),
        error_code=ErrorCode.none,
        responses=(topic,),
    )

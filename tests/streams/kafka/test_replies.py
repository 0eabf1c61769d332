"""Every reply that is asked for is checked whole: a good one passes, a cut one does not."""

import struct
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.index import load_response_schema
from kio.serial import entity_reader, entity_writer
from kio.serial.errors import SerialError

from streams.kafka.framing import body_of
from streams.wire.errors import DamagedValue
from tests.streams.wire.strategies import entities
from tests.support.examples import examples

ASKED = {
    1: range(13, 18),  # FETCH
    2: (7,),  # LIST_OFFSETS
    3: (12,),  # METADATA
    17: (0, 1),  # SASL_HANDSHAKE
    18: range(5),  # API_VERSIONS
    32: range(1, 5),  # DESCRIBE_CONFIGS
    34: (2,),  # ALTER_REPLICA_LOG_DIRS
    35: (3, 4),  # DESCRIBE_LOG_DIRS
    36: range(3),  # SASL_AUTHENTICATE
    45: (0,),  # ALTER_PARTITION_REASSIGNMENTS
    46: (0,),  # LIST_PARTITION_REASSIGNMENTS
    55: range(3),  # DESCRIBE_QUORUM
    59: (0, 1),  # FETCH_SNAPSHOT
    60: (0, 1),  # DESCRIBE_CLUSTER
}
"""The versions that all our clients speak, by API key."""
KINDS = [load_response_schema(key, version) for key, all_ in ASKED.items() for version in all_]
every_kind = pytest.mark.parametrize(
    "kind", KINDS, ids=lambda kind: f"{kind.__name__}V{kind.__version__}"
)


def written(entity: Any) -> bytes:
    with BytesIO() as buffer:
        entity_writer(type(entity))(buffer, entity)
        return buffer.getvalue()


def frame(kind: Any, body: bytes, correlation: int = 7) -> bytes:
    header = struct.pack(">i", correlation)
    return header + (b"\0" if kind.__header_schema__.__flexible__ else b"") + body


@every_kind
@examples(10)
@given(data=st.data())
def test_a_whole_reply_decodes_and_a_cut_or_longer_one_is_damage(
    kind: Any, data: st.DataObject
) -> None:
    entity = data.draw(entities(kind))
    whole = frame(kind, written(entity))
    body = body_of(whole, kind, 7)
    found, size = entity_reader(kind)(body, 0)
    assert (found, size) == (entity, len(body))
    for broken in (whole[: data.draw(st.integers(0, len(whole) - 1))], whole + b"\0"):
        with pytest.raises(DamagedValue):
            body_of(broken, kind, 7)


@every_kind
@examples(20)
@given(data=st.data())
def test_any_bytes_decode_or_are_damage(kind: Any, data: st.DataObject) -> None:
    """Nothing that passes the check may abort kio, or need more memory than its bytes justify."""
    body = bytearray(written(data.draw(entities(kind))))
    for at, byte in data.draw(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)))):
        body[at % len(body)] = byte
    try:
        checked = body_of(frame(kind, bytes(body)), kind, 7)
    except DamagedValue:
        return
    try:
        entity_reader(kind)(checked, 0)
    except (SerialError, ValueError):
        return


def test_a_reply_to_another_request_is_damage() -> None:
    kind = KINDS[0]
    with pytest.raises(DamagedValue, match="it answers request 8, but 7 was sent"):
        body_of(frame(kind, b"", 8), kind, 7)
    with pytest.raises(DamagedValue, match="a reply of 3 bytes has no header"):
        body_of(b"\0\0\0", kind, 7)

"""A rewrite of /migration can wait when it says no more than that a controller still writes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.streams.zookeeper.beats import is_heartbeat


def migration(offset: object = 283, **others: object) -> bytes:
    fields = {
        "version": 0,
        "kraft_metadata_offset": offset,
        "kraft_controller_id": 3000,
        "kraft_metadata_epoch": 1,
        "kraft_controller_epoch": 1,
    }
    return json.dumps(fields | others).encode()


@given(
    before=st.integers(1, 2**40),
    now=st.integers(1, 2**40),
    epochs=st.tuples(st.integers(0, 9), st.integers(0, 9)),
)
def test_offset_and_epochs_alone_are_a_beat(before: int, now: int, epochs: tuple[int, int]) -> None:
    later = migration(now, kraft_metadata_epoch=epochs[0], kraft_controller_epoch=epochs[1])
    assert is_heartbeat(migration(before), later)


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (migration(-1), migration(283)),
        (migration(-1), migration(-1, kraft_controller_epoch=2)),
        (migration(283), migration(-1)),
        (migration(), migration(kraft_controller_id=3001)),
        (migration(), migration(version=1)),
        (migration(), migration(more=1)),
        (migration(), migration(None)),
        (migration(), migration(kraft_metadata_epoch="x")),
        (migration(), migration(kraft_metadata_epoch=2**31)),
        (migration(kraft_controller_epoch=None), migration(9, kraft_controller_epoch=None)),
        (migration(), migration(True)),
        (migration("1"), migration("2")),
        (migration(), b""),
        (b"", migration()),
        (b"", b""),
        (migration(), b"\xff\xfe\x00"),
        (migration(), b"[" * 100_000),
        (b"[1]", b"[2]"),
        (b"null", b"null"),
    ],
)
def test_anything_else_is_news(before: bytes, now: bytes) -> None:
    assert not is_heartbeat(before, now)


@given(before=st.binary(), now=st.binary())
def test_no_bytes_break_it(before: bytes, now: bytes) -> None:
    assert not is_heartbeat(before, now)
    assert not is_heartbeat(migration(), now)

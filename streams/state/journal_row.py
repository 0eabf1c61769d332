"""The facts of a stretch of a journal as they travel: packed in one row."""

from collections.abc import Sequence
from typing import NamedTuple, cast

import msgpack

from migration.observed.facts import Observation
from streams.state.fact_codec import unpack


class Told(NamedTuple):
    """Facts in the order they were seen; `until`: the number up to which the journal was read."""

    until: int
    facts: tuple[Observation, ...]


def pack_row(until: int, packed: Sequence[bytes]) -> bytes:
    """Facts that are packed already, as one row's chunk."""
    return cast(bytes, msgpack.packb((until, packed)))


def unpack_row(chunk: bytes) -> Told:
    """What `pack_row` packed."""
    until, packed = msgpack.unpackb(chunk, use_list=False)
    return Told(until, tuple(unpack(each) for each in packed))

"""Packs a range of a journal's facts into one row for Spark, and unpacks it."""

from collections.abc import Sequence
from typing import NamedTuple, cast

import msgpack

from migration.observed.facts import Observation
from streams.state.fact_codec import unpack


class Told(NamedTuple):
    """Facts in the order of observation; `until`: the last sequence number that was read."""

    until: int
    facts: tuple[Observation, ...]


def pack_row(until: int, packed: Sequence[bytes]) -> bytes:
    """Return facts that are already packed as the chunk of one row."""
    return cast(bytes, msgpack.packb((until, packed)))


def unpack_row(chunk: bytes) -> Told:
    """Return the facts that `pack_row` packed."""
    until, packed = msgpack.unpackb(chunk, use_list=False)
    return Told(until, tuple(unpack(each) for each in packed))

"""Converts images and summaries to bytes and back; pydantic derives the format from their types.

A later version may read the bytes, so fields have names, and no pickle is used.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, cast

import msgpack
from pydantic import TypeAdapter

from migration.image.cluster import ClusterImage
from migration.image.summary import BrokerSummary, ClusterSummary
from migration.metadata import records
from migration.metadata.records import Record, Stamped

_IMAGE: Final = TypeAdapter(ClusterImage)
_CLUSTER: Final = TypeAdapter(ClusterSummary)
_BROKER: Final = TypeAdapter(BrokerSummary)


def pack_image(image: ClusterImage) -> bytes:
    """Return an image as the MessagePack bytes of the store."""
    held_back = [
        (each.offset, each.timestamp_ms, type(each.record).__name__, tuple(each.record))
        for each in image.held_back
    ]
    fields = _IMAGE.dump_python(replace(image, held_back=()))
    return cast(bytes, msgpack.packb(fields | {"held_back": held_back}, default=_plain))


def unpack_image(packed: bytes) -> ClusterImage:
    fields: dict[str, Any] = msgpack.unpackb(packed, strict_map_key=False, use_list=False)
    held_back = tuple(
        Stamped(offset, timestamp_ms, _record(name, values))
        for offset, timestamp_ms, name, values in fields.pop("held_back")
    )
    return replace(_IMAGE.validate_python(fields), held_back=held_back)


def summary_json(summary: ClusterSummary) -> str:
    """Return a cluster's summary as JSON, without its brokers, which have rows of their own."""
    return _CLUSTER.dump_json(replace(summary, brokers=())).decode()


def broker_json(summary: BrokerSummary) -> str:
    return _BROKER.dump_json(summary).decode()


def read_summary(cluster: str, brokers: list[str]) -> ClusterSummary:
    """Return a cluster's summary with its brokers, from the JSON of both."""
    read = tuple(_BROKER.validate_json(each) for each in brokers)
    return replace(_CLUSTER.validate_json(cluster), brokers=read)


def _record(name: str, values: tuple[object, ...]) -> Record:
    kind: Any = getattr(records, name)
    return cast(Record, kind(*values))


def _plain(value: object) -> object:
    if isinstance(value, frozenset | set):
        return sorted(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"an image holds no {type(value).__name__}")

"""The independent witness: what kafka-dump-log prints, and our records in Kafka's JSON."""

import base64
import dataclasses
import json
import re
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

from kio.static.constants import EntityType

from migration.metadata.directory_ids import to_text
from streams.wire.batches import read_batches
from streams.wire.control import (
    KnownControl,
    LeaderChangeMessageV0,
    LeaderChangeMessageV1,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
)
from streams.wire.schema import MetadataRecord
from streams.wire.values import read_value

_BATCH = re.compile(
    r"baseOffset: (\d+) lastOffset: (\d+) count: (\d+) .* partitionLeaderEpoch: (\d+) .* "
    r"isControl: (true|false) .* position: (\d+) CreateTime: (\d+) size: (\d+) magic: 2 "
    r"compresscodec: none crc: \d+ isvalid: true"
)
_DATA = re.compile(r"\| offset: (\d+) CreateTime: (\d+) .*? payload: (\{.*\})$")
_CONTROL = re.compile(r"\| offset: (\d+) CreateTime: (\d+) .*? headerKeys: \[\] ([A-Za-z].*)$")
_CONTROL_WORDS = {
    LeaderChangeMessageV0: "controlType: LEADER_CHANGE(2)",
    LeaderChangeMessageV1: "controlType: LEADER_CHANGE(2)",
    SnapshotHeaderRecord: "SnapshotHeader ",
    SnapshotFooterRecord: "SnapshotFooter ",
}


class Printed(NamedTuple):
    """One record as the tool prints it, or as we would."""

    offset: int
    timestamp_ms: int
    what: str
    version: int
    data: dict[str, Any]


class PrintedBatch(NamedTuple):
    """One batch as the tool prints it, or as we would."""

    base_offset: int
    last_offset: int
    records: int
    leader_epoch: int
    is_control: bool
    position: int
    max_timestamp: int
    size: int


def parse(text: str) -> tuple[list[PrintedBatch], list[Printed]]:
    """Read the tool's text; a line that is neither batch, record nor heading is an error."""
    batches, printed = [], []
    for line in text.rstrip("\n").split("\n"):
        if found := _BATCH.match(line):
            base, last, records, epoch, control, position, timestamp, size = found.groups()
            batches.append(
                PrintedBatch(
                    int(base),
                    int(last),
                    int(records),
                    int(epoch),
                    control == "true",
                    int(position),
                    int(timestamp),
                    int(size),
                )
            )
        elif found := _DATA.match(line):
            payload = json.loads(found[3])
            printed.append(
                Printed(
                    int(found[1]),
                    int(found[2]),
                    payload["type"],
                    payload["version"],
                    payload["data"],
                )
            )
        elif found := _CONTROL.match(line):
            printed.append(_control(int(found[1]), int(found[2]), found[3]))
        elif not line.startswith(("Dumping ", "Log starting offset: ", "Snapshot end offset: ")):
            raise AssertionError(f"kafka-dump-log says {line!r}")
    return batches, printed


def _control(offset: int, timestamp_ms: int, words: str) -> Printed:
    name, brace, data = words.partition("{")
    return Printed(offset, timestamp_ms, name, 0, json.loads(brace + data) if brace else {})


def ours(log: bytes, file: str) -> tuple[list[PrintedBatch], list[Printed]]:
    """Read the same bytes with our own reader."""
    batches, printed = [], []
    for batch in read_batches(log, file=file):
        batches.append(
            PrintedBatch(
                batch.base_offset,
                batch.last_offset,
                batch.count,
                batch.leader_epoch,
                batch.is_control,
                batch.position,
                batch.max_timestamp,
                batch.size,
            )
        )
        for offset, timestamp_ms, value in batch.records():
            record = read_value(value)
            assert not isinstance(record, tuple)
            words = _upper(type(record).__name__.rpartition("V")[0])
            data = kafka_json(record)
            printed.append(Printed(offset, timestamp_ms, words, record.__version__, data))
        for offset, timestamp_ms, control in batch.control_records():
            assert not isinstance(control, tuple)
            printed.append(_print_control(offset, timestamp_ms, control))
    return batches, printed


def _print_control(offset: int, timestamp_ms: int, control: KnownControl) -> Printed:
    words = _CONTROL_WORDS[type(control)]
    data = {} if "LEADER" in words else kafka_json(control)
    return Printed(offset, timestamp_ms, words, 0, data)


def kafka_json(entity: MetadataRecord | KnownControl) -> dict[str, Any]:
    """Render as Kafka's generated JSON converters do: tagged fields only if not the default."""
    return dict(_fields(entity))


def _fields(entity: Any) -> Iterator[tuple[str, Any]]:
    for field in dataclasses.fields(entity):
        value = getattr(entity, field.name)
        if "tag" not in field.metadata or value != field.default:
            yield _camel(field.name), _json(value, field.metadata.get("kafka_type"))


def _json(value: Any, kafka_type: str | None) -> Any:
    match value:
        case tuple():
            return [_json(one, kafka_type) for one in value]
        case uuid.UUID():
            return to_text(value.bytes)
        case None if kafka_type == "uuid":
            return to_text(bytes(16))
        case bytes():
            return base64.b64encode(value).decode()
        case _ if getattr(value, "__type__", None) is EntityType.nested:
            return dict(_fields(value))
        case _:
            return value


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _upper(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()

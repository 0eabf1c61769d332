"""Reads the text that ``kafka-dump-log --cluster-metadata-decoder`` prints for one file.

In: the text of one segment or checkpoint. Out: its batches, each with its records in order.
The decoding of bytes is Kafka's own; nothing here knows the wire.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_BATCH = re.compile(r"baseOffset: (\d+) lastOffset: (\d+) count: \d+ .* isControl: (true|false) ")
_RECORD = re.compile(r"\| offset: (\d+) CreateTime: (\d+) .*? payload: (\{.*\})$")


@dataclass(frozen=True)
class Record:
    """One metadata record: where it stands, when it was written, and what it says."""

    offset: int
    timestamp_ms: int
    kind: str
    data: dict[str, Any]


@dataclass
class Batch:
    """One batch; a control batch (a new leader, a snapshot's header) has no metadata records."""

    base_offset: int
    last_offset: int
    control: bool
    records: list[Record] = field(default_factory=list)


def read_dump(text: str) -> Iterator[Batch]:
    """Yield the batches of one file.

    Raises:
        ValueError: A line is not what Kafka 3.9 prints, or a batch lacks records: better no
            verdict than one on half a file.
    """
    batch: Batch | None = None
    for line in text.splitlines():
        if line.startswith("baseOffset: "):
            if batch is not None:
                yield _whole(batch)
            batch = _batch(line)
        elif line.startswith("| offset: ") and batch is not None and not batch.control:
            batch.records.append(_record(line))
        elif not line.startswith(
            ("| ", "Dumping ", "Log starting offset: ", "Snapshot end offset: ")
        ):
            raise ValueError(f"kafka-dump-log printed something else: {line[:200]!r}")
    if batch is not None:
        yield _whole(batch)


def _batch(line: str) -> Batch:
    match = _BATCH.match(line)
    if match is None or not line.endswith("isvalid: true"):
        raise ValueError(f"not a valid batch: {line!r}")
    return Batch(int(match[1]), int(match[2]), match[3] == "true")


def _record(line: str) -> Record:
    match = _RECORD.match(line)
    if match is None:
        raise ValueError(f"a record without a payload: {line!r}")
    payload = json.loads(match[3])
    return Record(int(match[1]), int(match[2]), payload["type"], payload["data"])


def _whole(batch: Batch) -> Batch:
    expected = [] if batch.control else list(range(batch.base_offset, batch.last_offset + 1))
    if [record.offset for record in batch.records] != expected:
        raise ValueError(f"the batch at {batch.base_offset} lacks records")
    return batch

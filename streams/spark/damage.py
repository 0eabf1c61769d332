"""Finds the first record of a log that cannot be decoded, by decoding all of them.

It runs only after a replay has failed.
"""

from dataclasses import dataclass
from pathlib import Path

from streams.metadata.log_files import list_log
from streams.wire.batches import read_file, read_snapshot
from streams.wire.errors import WireError
from streams.wire.records import read_records


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDamage:
    """The position at which a log becomes unreadable.

    Attributes:
        offset: metadata offset of the first batch that must not be read; for a snapshot, of the
            last record that it contains.
        text: file, byte position and reason in one line.
    """

    offset: int
    text: str


def first_damage(path: Path) -> FoundDamage | None:
    """Return the log's first batch with a record that cannot be decoded; None: there is none."""
    files = list_log(path)
    for checkpoint in files.checkpoints:
        try:
            for batch in read_snapshot(checkpoint.path):
                read_records(batch)
        except WireError as error:
            return FoundDamage(offset=checkpoint.end_offset - 1, text=str(error))
    for segment in files.segments:
        offset = segment.base_offset
        try:
            for batch in read_file(segment.path):
                offset = batch.base_offset
                read_records(batch)
        except WireError as error:
            return FoundDamage(offset=offset, text=str(error))
    return None

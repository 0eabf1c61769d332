"""What a metadata log on disk consists of: segments and checkpoints, by their names (Kafka's layout).

`%020d.log` starts at that offset; `%020d-%010d.checkpoint` is the state before that end offset, at
that epoch (org.apache.kafka.snapshot.Snapshots).
"""

import re
from pathlib import Path
from typing import Final, NamedTuple

_SEGMENT: Final = re.compile(r"^(\d{20})\.log$")
_CHECKPOINT: Final = re.compile(r"^(\d{20})-(\d{10})\.checkpoint$")


class NotAMetadataLog(Exception):
    """The path holds no segment and no checkpoint."""


class Segment(NamedTuple):
    """A log segment and the offset of its first record."""

    base_offset: int
    path: Path


class Checkpoint(NamedTuple):
    """A snapshot: the state of the log before `end_offset`."""

    end_offset: int
    epoch: int
    path: Path


class LogFiles(NamedTuple):
    """The files of one log, each kind in the order of offsets."""

    segments: tuple[Segment, ...]
    checkpoints: tuple[Checkpoint, ...]


def list_log(path: Path) -> LogFiles:
    """Name the files of a `__cluster_metadata-0` directory, of one segment, or of one checkpoint.

    Raises:
        NotAMetadataLog: there is none of them at `path`.
    """
    found = [path] if path.is_file() else sorted(path.iterdir()) if path.is_dir() else []
    segments = [
        Segment(int(match[1]), each) for each in found if (match := _SEGMENT.match(each.name))
    ]
    checkpoints = [
        Checkpoint(int(match[1]), int(match[2]), each)
        for each in found
        if (match := _CHECKPOINT.match(each.name))
    ]
    if not segments and not checkpoints and not path.is_dir():
        raise NotAMetadataLog(
            f"{path} is no metadata log: give a __cluster_metadata-0 directory, "
            "one NNN.log segment or one NNN-EEE.checkpoint, with the name Kafka gave it"
        )
    return LogFiles(tuple(segments), tuple(checkpoints))


def read_bytes(path: Path, position: int, size: int | None = None) -> bytes:
    """The bytes of a file from `position` on, `size` of them or all that are there."""
    with path.open("rb") as file:
        file.seek(position)
        return file.read(-1 if size is None else size)

"""The files of a metadata log on disk: a directory of Kafka, a spool directory, or one file.

A spool uses the file names of Kafka, so that readers of a metadata directory can read it:
`%020d.log` segments start at the named offset; `%020d-%010d.checkpoint` snapshots are named
endOffset-epoch (org.apache.kafka.snapshot.Snapshots). One kind is specific to the spool: an empty
`%020d-%020d.idle` file certifies that [from, to) held only NoOpRecords, so that a reader can
distinguish a range that was deleted on purpose from one that was lost.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

LOCK_NAME: Final = ".lock"
INFO_NAME: Final = "spool.json"
PART_SUFFIX: Final = ".part"
_NAME: Final = re.compile(r"(\d{20})(?:-(\d{10,20}))?\.(log|checkpoint|idle)")
_WANTED: Final = (
    "give a __cluster_metadata-0 directory, one NNN.log segment or one NNN-EEE.checkpoint, with the"
    " name Kafka gave it"
)


class NotAMetadataLog(Exception):
    """The path holds no segment and no checkpoint."""


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    """A log segment: the offset of its first record, from its name, and its file."""

    base_offset: int
    path: Path


@dataclass(frozen=True, slots=True, order=True)
class Checkpoint:
    """A snapshot of the log below `end_offset`, whose last record has the leader epoch `epoch`."""

    end_offset: int
    epoch: int
    path: Path


@dataclass(frozen=True, slots=True, order=True)
class Idle:
    """A range [from_offset, to_offset) of NoOpRecords that is no longer on disk."""

    from_offset: int
    to_offset: int
    path: Path


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of one spool, each kind in the order of its offsets."""

    segments: tuple[Segment, ...]
    checkpoints: tuple[Checkpoint, ...]
    idle: tuple[Idle, ...]


def log_directory(directory: Path, log: int) -> Path:
    """Return the directory of the files of one of the logs of a spool (`spool_info.py`)."""
    return directory if log == 1 else directory / f"log-{log}"


def segment_path(directory: Path, base_offset: int) -> Path:
    return directory / f"{base_offset:020d}.log"


def checkpoint_path(directory: Path, end_offset: int, epoch: int) -> Path:
    return directory / f"{end_offset:020d}-{epoch:010d}.checkpoint"


def idle_path(directory: Path, from_offset: int, to_offset: int) -> Path:
    """Return the path of the certificate for a deleted range of NoOpRecords."""
    return directory / f"{from_offset:020d}-{to_offset:020d}.idle"


def listing(directory: Path) -> Listing:
    """Return the files of a spool; files with other names are ignored."""
    return _listing(directory.iterdir())


def _listing(paths: Iterable[Path]) -> Listing:
    found = list(_files(paths))
    return Listing(
        segments=tuple(sorted(f for f in found if isinstance(f, Segment))),
        checkpoints=tuple(sorted(f for f in found if isinstance(f, Checkpoint))),
        idle=tuple(sorted(f for f in found if isinstance(f, Idle))),
    )


def _files(paths: Iterable[Path]) -> Iterator[Segment | Checkpoint | Idle]:
    for path in paths:
        match = _NAME.fullmatch(path.name)
        if match is None:
            continue
        first, second, kind = int(match[1]), match[2], match[3]
        if kind == "log" and second is None:
            yield Segment(first, path)
        elif kind == "checkpoint" and second is not None:
            yield Checkpoint(first, int(second), path)
        elif kind == "idle" and second is not None:
            yield Idle(first, int(second), path)


def list_log(path: Path) -> Listing:
    """Return the files of a `__cluster_metadata-0` directory, or one segment, or one checkpoint.

    A directory may be empty, as that of a live log is at first.

    Raises:
        NotAMetadataLog: `path` is none of these.
    """
    if path.is_dir():
        return listing(path)
    if path.is_file():
        found = _listing([path])
        if found.segments or found.checkpoints:
            return found
    raise NotAMetadataLog(f"{path} is not a metadata log: {_WANTED}")


def require_log(path: Path) -> None:
    """Check that a path has at least one segment or checkpoint, and no directory named as one.

    Raises:
        NotAMetadataLog: `path` is not a log, or a directory with neither segment nor checkpoint.
        OSError: the directory cannot be listed.
    """
    found = list_log(path)
    files = [*(each.path for each in found.segments), *(each.path for each in found.checkpoints)]
    for each in files:
        if each.is_dir():
            raise NotAMetadataLog(f"{each} is a directory, not a file: {_WANTED}")
    if files:
        return
    below = path / "__cluster_metadata-0"
    wanted = f"did you mean {below}?" if below.is_dir() else _WANTED
    raise NotAMetadataLog(f"{path} contains no metadata log: {wanted}")

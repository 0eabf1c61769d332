"""The files of a metadata log on disk: a directory of Kafka, a spool directory, or one file."""

from pathlib import Path
from typing import Final

from streams.metadata.spool_files import Checkpoint, Idle, Listing, Segment, listing

__all__ = [
    "Checkpoint",
    "Idle",
    "Listing",
    "NotAMetadataLog",
    "Segment",
    "list_log",
    "read_bytes",
    "require_log",
]

_WANTED: Final = (
    "give a __cluster_metadata-0 directory, one NNN.log segment or one NNN-EEE.checkpoint, with the"
    " name Kafka gave it"
)


class NotAMetadataLog(Exception):
    """The path holds no segment and no checkpoint."""


def list_log(path: Path) -> Listing:
    """Return the files of a `__cluster_metadata-0` directory, or one segment, or one checkpoint.

    A directory may be empty, as that of a live log is at first.

    Raises:
        NotAMetadataLog: `path` is none of these.
    """
    if path.is_dir():
        return listing(path)
    if path.is_file():
        siblings = listing(path.parent)
        found = Listing(
            segments=tuple(each for each in siblings.segments if each.path.name == path.name),
            checkpoints=tuple(each for each in siblings.checkpoints if each.path.name == path.name),
            idle=(),
        )
        if found.segments or found.checkpoints:
            return found
    raise NotAMetadataLog(f"{path} is no metadata log: {_WANTED}")


def require_log(path: Path) -> None:
    """Check that a path has at least one segment or checkpoint.

    Raises:
        NotAMetadataLog: `path` is not a log, or a directory with neither segment nor checkpoint.
        OSError: the directory cannot be listed.
    """
    found = list_log(path)
    if found.segments or found.checkpoints:
        return
    below = path / "__cluster_metadata-0"
    wanted = f"did you mean {below}?" if below.is_dir() else _WANTED
    raise NotAMetadataLog(f"{path} holds no metadata log: {wanted}")


def read_bytes(path: Path, position: int, size: int | None = None) -> bytes:
    """Return at most `size` bytes of a file from `position`; None: all to its end."""
    with path.open("rb") as file:
        file.seek(position)
        return file.read(-1 if size is None else size)

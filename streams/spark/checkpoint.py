"""Spark's checkpoint directory: which query it is of, and the form of earlier releases."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

_NONE: Final = "-"
"""Spark's mark for a source without an offset."""


class ForeignCheckpoint(Exception):
    """The checkpoint is of an earlier release, and of other sources than the configured ones."""


def query_id(checkpoint: Path) -> str | None:
    """Return the id of the checkpoint's query; None: there is no checkpoint."""
    file = checkpoint / "metadata"
    return str(json.loads(file.read_text("utf-8"))["id"]) if file.is_file() else None


def join_sources(checkpoint: Path, sources: Sequence[str]) -> None:
    """Convert the offsets of an earlier release, which had a data source for each source.

    `sources`: their names in `streams.spark.data_source`, in that release's order.

    Raises:
        ForeignCheckpoint: it had another number of sources.
    """
    for file in sorted((checkpoint / "offsets").glob("[0-9]*")):
        version, settings, *lines = file.read_text("utf-8").splitlines()
        offsets = [None if line == _NONE else json.loads(line) for line in lines]
        if _is_joined(offsets):
            continue
        if len(offsets) != len(sources):
            raise ForeignCheckpoint(
                f"{checkpoint} was written for {len(offsets)} sources, and the configured clusters "
                f"have {len(sources)}: configure the clusters with which it was written, or remove "
                "the state directory to start afresh"
            )
        named = zip(sources, offsets, strict=True)
        joined = json.dumps({name: offset for name, offset in named if offset is not None})
        _replace(file, "\n".join((version, settings, joined)))


def _is_joined(offsets: Sequence[Any]) -> bool:
    """Return whether this is the one offset of `streams.spark.data_source`."""
    return len(offsets) == 1 and all(isinstance(each, dict) for each in (offsets[0] or {}).values())


def _replace(file: Path, text: str) -> None:
    fresh = file.with_name(f".{file.name}.joined")
    with fresh.open("w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    # Hadoop's checksum of the old content; a file without one is not checked.
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    fresh.replace(file)

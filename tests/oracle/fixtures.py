"""The committed logs, as directories that ``kraftgate replay`` can be given.

`record` made them from real clusters. A case is a folder of gzipped segments and checkpoints, each
with its dump.
"""

import gzip
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

DATA = Path(__file__).parent / "data"

_PLACE = re.compile(r"baseOffset: \d+ lastOffset: (\d+) .* position: (\d+) ")


def dump_of(case: str, data: Path = DATA) -> Callable[[Path], str]:
    """Return how to learn what Kafka prints for a file of this case, known by its name."""

    def dump(file: Path) -> str:
        return gzip.decompress((data / case / f"{file.name}.txt.gz").read_bytes()).decode()

    return dump


def unpack(case: str, target: Path, data: Path = DATA) -> Path:
    """Lay a case out as the ``__cluster_metadata-0`` directory it was."""
    target.mkdir(parents=True)
    for packed in (data / case).glob("*.gz"):
        name = packed.name.removesuffix(".gz")
        if not name.endswith(".txt"):
            (target / name).write_bytes(gzip.decompress(packed.read_bytes()))
        if name.endswith(".log"):  # what else Kafka keeps there is nothing to a replay
            (target / name).with_suffix(".index").touch()
            (target / name).with_suffix(".timeindex").touch()
    return target


def forget_before(directory: Path, offset: int) -> None:
    """Drop what Kafka drops once a snapshot at `offset` is the earliest it keeps."""
    for checkpoint in directory.glob("*.checkpoint"):
        if int(checkpoint.name[:20]) < offset:
            checkpoint.unlink()
    segments = sorted(directory.glob("*.log"))
    for segment, following in pairwise(segments):
        if int(following.stem) <= offset:
            segment.unlink()


def cut(directory: Path, dump: Callable[[Path], str], offset: int) -> Callable[[Path], str]:
    """End the log before the batch that holds `offset`; return what Kafka would print then."""
    for segment in directory.glob("*.log"):
        if int(segment.stem) > offset:
            segment.unlink()
    for checkpoint in directory.glob("*.checkpoint"):
        if int(checkpoint.name[:20]) > offset:
            checkpoint.unlink()
    last = max(directory.glob("*.log"))
    kept, size = _until(dump(last), offset)
    if size is not None:
        last.write_bytes(last.read_bytes()[:size])
    return lambda file: kept if file.name == last.name else dump(file)


def cut_text(text: str, offset: int) -> str:
    """Drop the batches of a dump from the one that holds `offset` on."""
    return _until(text, offset)[0]


def _until(text: str, offset: int) -> tuple[str, int | None]:
    kept: list[str] = []
    for line in text.splitlines(keepends=True):
        place = _PLACE.match(line)
        if place and int(place[1]) >= offset:
            return "".join(kept), int(place[2])
        kept.append(line)
    return "".join(kept), None

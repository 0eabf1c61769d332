"""Whole logs as files, processed as in the job (source, shards, image, store); and the spool.

An input is a list of files, each with its name and content (`logs.joined`).
"""

import gzip
import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random
from typing import Final

from migration.image.cluster import summarize
from migration.metadata.transactions import IllegalTransaction
from streams.metadata.index import LogIndex
from streams.metadata.log_files import NotAMetadataLog, list_log, require_log
from streams.metadata.offsets import START
from streams.metadata.plan import LogGap, Planner
from streams.metadata.spool import Spool
from streams.net.errors import LiveError
from streams.spark.damage import first_damage
from streams.state.store import BatchResult, Store, unpack_image
from streams.wire.batches import read_batches
from streams.wire.errors import WireError
from tests.fuzz.mutations import mutate_bytes, mutate_text
from tests.fuzz.target import Target
from tests.fuzz.targets.logs import joined, parted, sealed, values
from tests.oracle.fixtures import DATA
from tests.support.pipeline import Run
from tests.support.wire_writing import write_batch

_CASES: Final = ("migration", "native", "bad-directory")
_SEGMENT_BYTES: Final = 12_000
_BATCH_BYTES: Final = 4096


@cache
def _logs() -> Sequence[bytes]:
    """The first segment of each case, cut behind some batch, and its first snapshots."""
    return tuple(joined(_files(case)) for case in _CASES)


def _files(case: str) -> list[bytes]:
    packed = [each for each in sorted((DATA / case).glob("*.gz")) if ".txt" not in each.name]
    segments = [each for each in packed if ".log" in each.name][:1]
    snapshots = [each for each in packed if ".checkpoint" in each.name][:1]
    found = []
    for file in (*segments, *snapshots):
        content = _cut(gzip.decompress(file.read_bytes()))
        found += [file.name.removesuffix(".gz").encode(), content]
    return found


def _cut(content: bytes) -> bytes:
    ends = [each.position + each.size for each in read_batches(content, file="seed")]
    return content[: max((each for each in ends if each <= _SEGMENT_BYTES), default=ends[0])]


def _mutate(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Damage a file's bytes, a record in one of its batches, or its name."""
    files = parted(data)
    at = rng.randrange(len(files) // 2) * 2 + 1
    roll = rng.random()
    if roll < 0.1:
        files[at - 1] = mutate_text(rng, files[at - 1], [b"00000000000000000009.log"])
    elif roll < 0.6:
        files[at] = _with_other_records(rng, files[at])
    else:
        content = mutate_bytes(rng, files[at], [parted(each)[1] for each in others])
        files[at] = sealed(content) if rng.random() < 0.8 else content
    return joined(files)


def _with_other_records(rng: Random, content: bytes) -> bytes:
    """Change, add or remove records of some batches; all lengths and checksums fit."""
    written, offset = [], 0
    for batch in read_batches(content, file="seed"):
        found = [] if batch.is_control else [value for _, _, value in batch.records()]
        if not found or rng.random() < 0.7:
            written.append(batch.raw())
            continue
        place = rng.randrange(len(found))
        other = rng.choice(values())
        changed = rng.choice((mutate_bytes(rng, found[place], values()), other))
        found[place : place + rng.choice((0, 1, 1))] = [changed] * rng.choice((1, 1, 2))
        stamp = rng.choice((batch.max_timestamp, 0, -1, 2**62, -(2**63), 2**63 - 1))
        written.append(write_batch(batch.base_offset, batch.leader_epoch, stamp, found))
    for index, raw in enumerate(written):
        # Offsets go on without gaps, whatever was added or removed.
        written[index] = offset.to_bytes(8) + raw[8:]
        offset += int.from_bytes(raw[23:27]) + 1
    return b"".join(written)


@contextmanager
def laid_out(data: bytes) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="kraftgate-fuzz-"))
    try:
        for name, content in zip(*[iter(parted(data))] * 2, strict=False):
            file = name.decode("utf-8", "replace").replace("/", "_").replace("\0", "_")[:80]
            if file not in {"", ".", ".."}:
                (folder / file).write_bytes(content)
        yield folder
    finally:
        shutil.rmtree(folder)


def _log(data: bytes) -> object:
    """Process files up to the output of `replay`; then raise the damage, as the job does."""
    with laid_out(data) as folder:
        require_log(folder)
        run = Run()
        try:
            damage = follow(run, folder)
        except WireError:
            assert first_damage(folder) is not None, "replay does not report where the damage is"
            raise
        image = unpack_image(run.image)
        summary = summarize("fuzz", image)
        with Store.open(folder / "audit.db") as store:
            outcome = BatchResult(
                cluster="fuzz",
                image=image,
                summary=summary,
                brokers=summary.brokers,
                gone=[],
                place={"kraft_metadata": run.at.offset},
                events=run.events,
                files=[],
            )
            store.commit(0, [outcome], 1_726_000_000_000)
            assert store.image("fuzz") == image
            assert store.summary("fuzz") == summary
            assert len(store.events("fuzz")) == len(run.events)
            told = json.dumps([dict(each.fields) for _, each in store.events("fuzz")])
        if damage is not None:
            raise damage
        return told


def follow(run: Run, folder: Path) -> WireError | IllegalTransaction | None:
    """Process all readable data; return the damage."""
    index = LogIndex(folder, START)
    index.refresh()
    planner = Planner(index, finite=True)
    while (end := planner.latest(run.at, _BATCH_BYTES)) != run.at:
        run._batch(planner.slices(run.at, end), end)
        index.forget(run.at.offset)
    return index.damage


def _spool(data: bytes) -> object:
    with laid_out(data) as folder:
        with Spool(folder) as spool:
            position = spool.position
            spool.retain(position.next_offset)
        with Spool(folder) as again:
            assert again.position.next_offset == position.next_offset
        return position, list_log(folder)


TARGETS = (
    Target(
        name="whole-log",
        seeds=_logs,
        parse=_log,
        errors=(WireError, IllegalTransaction, LogGap, NotAMetadataLog),
        mutate=_mutate,
        cost=2000,
    ),
    Target(
        name="spool",
        seeds=_logs,
        parse=_spool,
        errors=(LiveError,),
        mutate=_mutate,
        cost=50,
    ),
)

"""Spark's checkpoint after a power cut: its files may be empty, cut off, or zeros."""

import json
import re
import struct
import zlib
from pathlib import Path

import pytest

from migration.image.cluster import ClusterImage, summarize
from orchestrator.output import manual
from streams.spark.checkpoint import (
    DamagedCheckpoint,
    check_files,
    follow_move,
    join_sources,
    query_id,
    remove_unfinished,
)
from streams.spark.query import check_store
from streams.state.recovery import NEW_STORE
from streams.state.store import BatchResult, Store, StoreError


@pytest.mark.parametrize("content", [b"", b'{"id":"4f', b"\0" * 64, b"\xff", b"[]", b"{}"])
def test_a_damaged_id_is_one_line_with_the_file_and_the_fix(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "metadata").write_bytes(content)
    with pytest.raises(DamagedCheckpoint, match="power cut") as raised:
        query_id(tmp_path)
    said = str(raised.value)
    assert said.startswith(f"{tmp_path}/metadata of Spark's checkpoint is damaged")
    assert said.endswith(NEW_STORE)
    assert "\n" not in said


@pytest.mark.parametrize(
    "content", [b"", b"v1\n", b'v1\n{}\n{"prod', b"\0" * 64, b"\xff", b"v1\n{}\n[1]"]
)
def test_damaged_offsets_are_too(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "7").write_bytes(content)
    with pytest.raises(DamagedCheckpoint, match=r"offsets/7 of Spark's checkpoint is damaged"):
        join_sources(tmp_path, ["kraft_metadata:prod"])


def _written(file: Path, content: bytes) -> Path:
    """Write a file and its checksums as Hadoop does: of each 512 bytes."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    parts = (content[at : at + 512] for at in range(0, len(content), 512))
    sums = b"".join(struct.pack(">I", zlib.crc32(each)) for each in parts)
    (file.parent / f".{file.name}.crc").write_bytes(b"crc\0" + struct.pack(">I", 512) + sums)
    return file


def test_a_file_that_is_not_as_it_was_written_is_damage(tmp_path: Path) -> None:
    changelog = _written(tmp_path / "state" / "0" / "0" / "4.changelog", b"a" * 1300)
    commit = _written(tmp_path / "commits" / "3", b'v1\n{"nextBatchWatermarkMs":0}')
    left = _written(tmp_path / "commits" / ".4.2f.tmp", b"whole")
    left.write_bytes(b"cut")  # a kill leaves these, and Spark ignores them
    (tmp_path / "commits" / ".5.crc").write_bytes(b"")
    (tmp_path / "commits" / "5").write_bytes(b"Hadoop does not check this one")
    sst = _written(tmp_path / "state" / "0" / "0" / "SSTs" / "8.sst", b"a" * 1300)
    sst.write_bytes(b"a" * 600)  # a kill while Spark copied it: no snapshot has it
    odd = tmp_path / "commits" / "6"
    odd.write_bytes(b"v1")
    (tmp_path / "commits" / ".6.crc").write_bytes(b"crc\0" + bytes(4))
    check_files(tmp_path)
    for file, content in ((changelog, b"a" * 1299 + b"b"), (commit, b""), (commit, b"\0" * 30)):
        whole = file.read_bytes()
        file.write_bytes(content)
        with pytest.raises(DamagedCheckpoint, match=f"{file.name} of Spark's checkpoint"):
            check_files(tmp_path)
        file.write_bytes(whole)
    (tmp_path / "commits" / "5").write_bytes(b"")
    with pytest.raises(DamagedCheckpoint, match="commits/5"):
        check_files(tmp_path)


def test_a_moved_checkpoint_finds_its_schemas(tmp_path: Path) -> None:
    told = {"stateStoreInfo": [{"stateSchemaFilePaths": ["file:/old/_stateSchema/default/0_a"]}]}
    file = _written(
        tmp_path / "state" / "0" / "_metadata" / "v2" / "0",
        b"v2\n" + json.dumps(told).encode(),
    )
    follow_move(tmp_path)
    check_files(tmp_path)
    schema = tmp_path / "state" / "0" / "_stateSchema" / "default" / "0_a"
    version, line = file.read_text().splitlines()
    assert version == "v2"
    assert json.loads(line)["stateStoreInfo"][0]["stateSchemaFilePaths"] == [f"file:{schema}"]
    before = file.stat().st_mtime_ns
    follow_move(tmp_path)
    assert file.stat().st_mtime_ns == before
    file.write_text('v2\n{"stateSchemaFilePaths":')
    with pytest.raises(DamagedCheckpoint, match="_metadata/v2/0"):
        follow_move(tmp_path)


def test_without_a_checkpoint_there_is_no_id(tmp_path: Path) -> None:
    assert query_id(tmp_path) is None
    join_sources(tmp_path, [])


_ID = "4f0a"


def _checkpoint(folder: Path, batches: int) -> Path:
    """Make the checkpoint of a query that committed so many batches."""
    (folder / "commits").mkdir(parents=True)
    (folder / "metadata").write_text(f'{{"id":"{_ID}"}}')
    for batch_id in range(batches):
        (folder / "commits" / str(batch_id)).write_text("v1")
        (folder / "commits" / f".{batch_id}.crc").write_bytes(b"crc")
    return folder


def _commit(store: Store) -> None:
    image = ClusterImage()
    result = BatchResult(
        cluster="c", image=image, summary=summarize("c", image), brokers=(), gone=(),
        place={"kraft_metadata": 9}, events=(), files=(),
    )  # fmt: skip
    store.commit(0, [result], 1)


def test_a_checkpoint_without_its_store_is_refused_and_a_store_without_its_checkpoint(
    tmp_path: Path,
) -> None:
    with Store.open(tmp_path / "store.db") as store:
        with pytest.raises(StoreError, match="has a Spark checkpoint but no store: stop"):
            check_store(store, _checkpoint(tmp_path / "checkpoint", 12))
        assert store.query() is None
        _commit(store)
        with pytest.raises(StoreError, match="has a store but no Spark checkpoint: stop"):
            check_store(store, tmp_path / "other")


@pytest.mark.parametrize("batches", [0, 1])
def test_a_kill_before_the_first_rows_leaves_a_checkpoint_with_an_empty_store(
    tmp_path: Path, batches: int
) -> None:
    with Store.open(tmp_path / "store.db") as store:
        check_store(store, _checkpoint(tmp_path / "checkpoint", batches))
        assert store.query() == _ID


def test_batches_without_rows_leave_the_store_empty(tmp_path: Path) -> None:
    """Each start with another source has an empty batch, while no source answers."""
    with Store.open(tmp_path / "store.db") as store:
        store.claim(_ID)
        check_store(store, _checkpoint(tmp_path / "checkpoint", 3))


def test_a_kill_before_the_store_is_bound_loses_nothing(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db") as store:
        _commit(store)
        check_store(store, _checkpoint(tmp_path / "checkpoint", 3))
        assert store.query() == _ID


def test_the_fix_removes_nothing_of_the_execution_and_is_on_a_page_of_the_handbook() -> None:
    assert set(re.findall(r"[\w.]+(?:/|\*)", NEW_STORE)) == {
        "checkpoint/",
        "store.db*",
        "transitions/",
        "clusters/",
    }
    (topic,) = re.findall(r"`kraftgate help ([\w-]+)`", NEW_STORE)
    section = manual.text(topic).partition("## Starting with a new store")[2].partition("\n## ")[0]
    for each in ("checkpoint/", "store.db", "transitions/", "clusters/", "alerts.json"):
        assert each in section


def test_the_execution_is_paused_from_before_the_start_until_the_check() -> None:
    """With `--execute`, a hook begins as soon as the data is current."""
    (topic,) = re.findall(r"`kraftgate help ([\w-]+)`", NEW_STORE)
    section = manual.text(topic).partition("## Starting with a new store")[2].partition("\n## ")[0]
    page = manual.text("KraftgateOrchestratorDown").partition("## Mitigation")[2]
    for text, check in ((section, "`kraftgate report`"), (page, "kraftgate hazards")):
        order = [text.find("`kraftgate pause --reason"), text.rfind(check)]
        order.append(text.rfind("`kraftgate resume`"))
        assert -1 < order[0] < order[1] < order[2]
    assert section.find("`kraftgate pause --reason") < section.find("Start `kraftgate run`")


def test_a_start_after_the_fix_begins_a_new_store(tmp_path: Path) -> None:
    _checkpoint(tmp_path / "checkpoint", 3)
    with Store.open(tmp_path / "store.db") as store:
        store.claim(_ID)
        _commit(store)
    for pattern in re.findall(r"[\w.]+(?:/|\*)", NEW_STORE):
        for each in tmp_path.glob(pattern.rstrip("/")):
            each.rename(tmp_path.with_name(f"away-{each.name}"))
    join_sources(tmp_path / "checkpoint", ["c/kraft_metadata"])
    with Store.open(tmp_path / "store.db") as store:
        check_store(store, tmp_path / "checkpoint")
        assert store.query() is None


def test_what_a_full_disk_left_of_the_first_batch_is_removed(tmp_path: Path) -> None:
    offsets = tmp_path / "offsets"
    offsets.mkdir()
    left = [offsets / ".0.4f2a.tmp", offsets / "..0.4f2a.tmp.crc"]
    kept = [offsets / "1", offsets / ".1.crc"]
    for each in (*left, *kept):
        each.touch()
    remove_unfinished(tmp_path)
    assert sorted(offsets.iterdir()) == sorted(kept)

"""What the store keeps of its batches."""

import shutil
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import msgpack
import pytest

from migration.image.cluster import ClusterImage, summarize
from streams.state import sqlite
from streams.state.sqlite import errors_as
from streams.state.store import (
    KEPT_BATCHES,
    BatchResult,
    Store,
    StoreError,
    pack_image,
    unpack_image,
)
from tests.support.small_volume import mounted


def result(cluster: str, place: dict[str, int]) -> BatchResult:
    image = ClusterImage()
    return BatchResult(
        cluster=cluster,
        image=image,
        summary=summarize(cluster, image),
        brokers=(),
        gone=(),
        place=place,
        events=(),
        files=(),
    )


def test_the_place_of_a_quiet_source_stays_however_many_batches_others_have(
    tmp_path: Path,
) -> None:
    with Store.open(tmp_path / "store.db") as store:
        store.commit(0, [result("a", {"zookeeper": 7}), result("b", {"jmx": 3})], 1)
        store.commit(1, [result("a", {"zookeeper": 9})], 1)
        for batch_id in (2 * KEPT_BATCHES, 4 * KEPT_BATCHES):
            store.commit(batch_id, [result("a", {"kraft_metadata": batch_id})], 1)
        assert store.place("a", "zookeeper") == 9
        assert store.place("a", "kraft_metadata") == 4 * KEPT_BATCHES
        assert store.place("b", "jmx") == 3
        assert store.applied(2 * KEPT_BATCHES) == {}


def test_a_closed_store_is_complete_in_its_file_though_a_reader_is_open(tmp_path: Path) -> None:
    """A copy of the file alone is then a backup."""
    store = Store.open(tmp_path / "store.db")
    store.commit(0, [result("a", {"zookeeper": 7})], 1)
    with Store.open_readonly(tmp_path / "store.db") as reader:
        assert reader.place("a", "zookeeper") == 7
        store.close()
    copy = tmp_path / "copy.db"
    shutil.copy(tmp_path / "store.db", copy)
    with Store.open_readonly(copy) as copied:
        assert copied.place("a", "zookeeper") == 7


def test_a_log_that_a_hanging_reader_let_grow_shrinks_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_LOG_BYTES", 100_000)
    log = tmp_path / "store.db-wal"
    with Store.open(tmp_path / "store.db") as store:
        with closing(sqlite.connect_readonly(tmp_path / "store.db")) as hangs:
            hangs.execute("BEGIN")
            hangs.execute("SELECT * FROM sqlite_master").fetchall()
            for batch_id in range(300):
                store.commit(batch_id, [result("a", {"zookeeper": batch_id})], 1)
            grown = log.stat().st_size
        for batch_id in range(300, 303):
            store.commit(batch_id, [result("a", {"zookeeper": batch_id})], 1)
        assert log.stat().st_size < 200_000 < grown


def test_a_reader_that_closes_takes_no_lock_of_the_writer(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db") as store:
        store.commit(0, [result("a", {"zookeeper": 7})], 1)
        with closing(sqlite.connect_readonly(tmp_path / "store.db")) as hangs:
            hangs.execute("BEGIN")
            hangs.execute("SELECT * FROM sqlite_master").fetchall()
            before = (tmp_path / "store.db-wal").stat().st_size
            Store.open_readonly(tmp_path / "store.db").close()
            assert (tmp_path / "store.db-wal").stat().st_size == before > 0
        asked: list[str] = []
        reader = Store.open_readonly(tmp_path / "store.db")
        reader._db.set_trace_callback(asked.append)
        reader.close()
        assert not any("checkpoint" in each for each in asked)


def test_old_batches_without_the_last_of_any_source_go(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db") as store:
        for batch_id in (0, 1, 2 * KEPT_BATCHES):
            store.commit(batch_id, [result("a", {"jmx": batch_id})], 1)
        assert [bool(store.applied(each)) for each in (0, 1, 2 * KEPT_BATCHES)] == [
            False,
            False,
            True,
        ]


def test_an_image_of_an_earlier_version_has_no_broker_that_left() -> None:
    packed = pack_image(ClusterImage(left=frozenset({1, 3})))
    assert unpack_image(packed).left == {1, 3}
    fields = msgpack.unpackb(packed, strict_map_key=False)
    del fields["left"]
    assert unpack_image(msgpack.packb(fields)) == ClusterImage()


def test_values_of_another_version_are_refused(tmp_path: Path) -> None:
    of_another = "written by another version of Kraftgate: finish with the version that began"
    with Store.open(tmp_path / "store.db") as store:
        store.commit(0, [result("a", {})], 1)
        with closing(sqlite.connect(tmp_path / "store.db")) as db:
            db.execute("UPDATE clusters SET summary = json_set(summary, '$.phase', 'later')")
        with pytest.raises(StoreError, match=of_another):
            store.summary("a")
    fields = msgpack.unpackb(pack_image(ClusterImage()), strict_map_key=False)
    with pytest.raises(StoreError, match=of_another):
        unpack_image(msgpack.packb(fields | {"left": "later"}))


def test_a_full_disk_is_an_error_with_the_fix(tmp_path: Path) -> None:
    with closing(sqlite.connect(tmp_path / "some.db")) as db:
        db.execute("CREATE TABLE some (text TEXT)")
        db.execute("PRAGMA max_page_count=2")
        with (
            pytest.raises(StoreError, match="is full: free space"),
            errors_as(StoreError, "some.db"),
        ):
            db.execute("INSERT INTO some VALUES (?)", ("x" * 100_000,))


@pytest.mark.parametrize("connect", [sqlite.connect, sqlite.connect_readonly])
def test_a_disk_that_is_full_to_the_last_byte_is_no_broken_one(
    connect: Callable[[Path], sqlite.Connection], tmp_path: Path
) -> None:
    with mounted(tmp_path / "small", 1):
        file = tmp_path / "small" / "some.db"
        with closing(sqlite.connect(file)) as db:
            db.execute("CREATE TABLE some (text TEXT)")
        with (tmp_path / "small" / "filler").open("wb", buffering=0) as filler:
            for size in (4096, 1):
                with suppress(OSError):
                    while True:
                        filler.write(bytes(size))
            with (
                pytest.raises(StoreError, match="free space on its disk and repeat"),
                errors_as(StoreError, str(file)),
                closing(connect(file)) as db,
            ):
                db.execute("SELECT * FROM some")

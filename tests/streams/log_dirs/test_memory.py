"""The memory after a crash at any point: reported facts are neither lost nor contradicted."""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration.observed.facts import Observation, OffsetsFell, ReplicasBack, ReplicasCutOff
from streams.kafka.broker_values import LogDirAnswer, PartitionEnd
from streams.kafka.errors import WrongCluster
from streams.log_dirs import memory as memory_module
from streams.log_dirs.compare import answered
from streams.log_dirs.errors import MemoryUnusable
from streams.log_dirs.log_ends import compare_ends
from streams.log_dirs.memory import Memory
from streams.log_dirs.remembered import KnownPartition
from streams.net.endpoint import Endpoint
from streams.state.fact_codec import pack, unpack
from tests.streams.log_dirs.world import A, B, inputs, log_dir
from tests.support.examples import examples

WELL = (log_dir(A, 0, 1, futures=[2]), log_dir(B, 2, 3))
FAILED = (log_dir(A, 0, 1), log_dir(B, error=56))
VANISHED = (log_dir(A, 0, 1),)


class Killed(BaseException):
    """Simulates a crash of the process."""


def kill(*_: object) -> NoReturn:
    raise Killed


def keep(memory: Memory, answer: Sequence[LogDirAnswer], end: int, now_ms: int) -> None:
    """Commit a poll, as the poller does."""
    found = answered(memory.broker(2), answer, inputs(now_ms, partitions=memory.partitions))
    fell = compare_ends(memory.partition, [PartitionEnd("t", 0, "id", 0, end, 1, 2)], now_ms)
    memory.commit((*found.facts, *fell.facts), {2: found.known}, fell.changed)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "disks.db"


def test_everything_is_as_it_was_after_opening_again(path: Path) -> None:
    memory = Memory(path)
    memory.claim("c")
    memory.keep_addresses({2: Endpoint("b2", 9092)})
    keep(memory, WELL, 10, 1)
    keep(memory, FAILED, 10, 2)
    again = Memory(path)
    assert again.cluster_id == "c"
    assert again.addresses == memory.addresses
    assert again.partitions == memory.partitions
    assert again.partition(("t", 0)) == KnownPartition(0, "id", 10, 1, 2, 1)
    kept, known = again.broker(2), memory.broker(2)
    assert kept.cut_off == known.cut_off
    assert kept.log_dirs.keys() == known.log_dirs.keys()
    for where, each in kept.log_dirs.items():
        was = known.log_dirs[where]
        assert set(each.replicas) == set(was.replicas)
        assert each._replace(replicas=()) == was._replace(replicas=())
    memory.close()
    again.close()


def test_a_broker_that_exaggerates_or_repeats_itself_is_remembered(path: Path) -> None:
    (lay, *_) = log_dir(A, 0).replicas
    replicas = tuple(lay._replace(partition=n, bytes=2**63 - 1 - d) for n in (0, 1) for d in (0, 1))
    answer = log_dir(A)._replace(replicas=replicas, total_bytes=2**63 - 1)
    memory = Memory(path)
    keep(memory, (answer,), 2**63 - 1, 1)
    disks = answered(memory.broker(2), (answer,), inputs(1)).disks
    assert unpack(pack(disks)) == disks
    keep(memory, (log_dir(A, 0),), 2**63 - 1, 2)
    again = Memory(path)
    assert [each.partition for each in again.broker(2).log_dirs[A].replicas] == [0]
    memory.close()
    again.close()


def test_another_cluster_is_refused(path: Path) -> None:
    memory = Memory(path)
    memory.claim("c")
    with pytest.raises(WrongCluster, match="cluster d"):
        memory.claim("d")
    memory.close()


def test_a_file_that_is_no_memory_is_refused(path: Path) -> None:
    path.write_bytes(b"no database" * 100)
    with pytest.raises(MemoryUnusable, match=r"disks\.db"):
        Memory(path)


def test_a_failed_write_changes_nothing(path: Path) -> None:
    memory = Memory(path)
    keep(memory, WELL, 10, 1)
    before = memory.broker(2)

    memory._db.execute(
        "CREATE TEMP TRIGGER last BEFORE INSERT ON outbox BEGIN SELECT RAISE(ABORT, 'full'); END"
    )
    with pytest.raises(MemoryUnusable, match="full"):
        keep(memory, FAILED, 0, 2)
    memory._db.execute("DROP TRIGGER last")
    assert memory.broker(2) == before
    appended: list[Observation] = []
    memory.deliver(appended.extend)
    assert appended == []
    keep(memory, FAILED, 0, 3)
    memory.deliver(appended.extend)
    assert [type(each) for each in appended] == [ReplicasCutOff, OffsetsFell]
    memory.close()


def test_a_failed_append_is_tried_again(path: Path) -> None:
    memory = Memory(path)
    keep(memory, WELL, 10, 1)
    keep(memory, FAILED, 10, 2)

    def full(_: object) -> None:
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        memory.deliver(full)
    appended: list[Observation] = []
    memory.deliver(appended.extend)
    memory.deliver(appended.extend)
    assert [type(each) for each in appended] == [ReplicasCutOff]
    memory.close()


def test_facts_that_were_appended_are_not_appended_again_if_the_disk_is_full(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = Memory(path)
    keep(memory, WELL, 10, 1)
    keep(memory, FAILED, 0, 2)
    appended: list[Observation] = []

    def full(_: object) -> NoReturn:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(memory_module, "transaction", full)
        with pytest.raises(MemoryUnusable, match="full"):
            memory.deliver(appended.extend)
    memory.deliver(appended.extend)
    keep(memory, WELL, 0, 3)
    memory.deliver(appended.extend)
    assert [type(each) for each in appended] == [ReplicasCutOff, OffsetsFell, ReplicasBack]
    memory.close()
    again = Memory(path)
    again.deliver(appended.extend)
    assert len(appended) == 3
    again.close()


def test_what_left_long_ago_is_pruned(path: Path) -> None:
    memory = Memory(path)
    keep(memory, WELL, 10, 1)
    late_ms = 31 * 24 * 3_600_000
    memory.prune({("t", 0)}, late_ms)
    memory.prune(set(), 2)
    assert memory.partition(("t", 0)) is not None
    memory.prune(set(), late_ms)
    assert memory.partition(("t", 0)) is None
    memory.close()
    again = Memory(path)
    assert again.partitions == {}
    again.close()


def and_then_killed(appended: list[Observation]) -> Callable[[Sequence[Observation]], object]:
    def append(facts: Sequence[Observation]) -> NoReturn:
        appended.extend(facts)
        raise Killed

    return append


def run(path: Path, polls: Sequence[tuple[int, int, str | None]]) -> list[Observation]:
    """Poll repeatedly, killing the process at the given points; return the appended facts."""
    appended: list[Observation] = []
    memory = Memory(path)
    answers = (WELL, FAILED, VANISHED)
    for now_ms, (which, end, killed) in enumerate(polls):
        try:
            with pytest.MonkeyPatch.context() as patched:
                if killed == "before the commit":
                    patched.setattr(memory, "commit", kill)
                keep(memory, answers[which], end, now_ms)
                if killed == "before the append":
                    kill()
                if killed == "after the append":
                    memory.deliver(and_then_killed(appended))
                memory.deliver(appended.extend)
        except Killed:
            memory.close()
            memory = Memory(path)
            memory.deliver(appended.extend)
    cut_off = {where: cut.fact for where, cut in memory.broker(2).cut_off.items()}
    memory.close()
    assert cut_off == last_said(appended)
    return appended


def last_said(appended: Sequence[Observation]) -> dict[str, ReplicasCutOff]:
    """Return the replicas that the facts, read in order, show as cut off."""
    said: dict[str, ReplicasCutOff] = {}
    for each in appended:
        if isinstance(each, ReplicasCutOff):
            said[each.path] = each
        elif isinstance(each, ReplicasBack):
            said.pop(each.path, None)
    return said


KILLS = st.sampled_from([None, None, "before the append", "after the append"])
POLLS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), KILLS), max_size=6)


@examples(40)
@given(POLLS)
def test_a_crash_anywhere_loses_no_fact_and_repeats_only_the_same(
    polls: list[tuple[int, int, str | None]],
) -> None:
    with TemporaryDirectory() as calm, TemporaryDirectory() as rough:
        wanted = run(Path(calm) / "d.db", [(which, end, None) for which, end, _ in polls])
        appended = run(Path(rough) / "d.db", polls)
    assert list(dict.fromkeys(appended)) == wanted


@examples(40)
@given(POLLS, st.sets(st.integers(0, 5)))
def test_a_poll_that_was_never_kept_never_was(
    polls: list[tuple[int, int, str | None]], lost: set[int]
) -> None:
    rough = [
        (which, end, "before the commit" if number in lost else None)
        for number, (which, end, _) in enumerate(polls)
    ]
    with TemporaryDirectory() as state:
        run(Path(state) / "d.db", rough)

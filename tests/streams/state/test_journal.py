"""The journal keeps what it was given, in order, and forgets only what says nothing any more."""

import contextlib
import sqlite3
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from migration.observed.facts import (
    CutOffEnd,
    DisksSeen,
    DisksUnreachable,
    FactQuarantined,
    FutureSeen,
    JmxNodes,
    JmxSeen,
    JmxUnreachable,
    LogDirSeen,
    NotificationsMissed,
    Observation,
    OffsetsFell,
    ReplicasBack,
    ReplicasCutOff,
    ReplicaSeen,
    ZkContentSeen,
    ZnodeGone,
    ZnodeSeen,
    ZooKeeperBlind,
    ZooKeeperSeen,
)
from migration.observed.topic_facts import (
    ZkConfigChanged,
    ZkConfigSeen,
    ZkStatesChanged,
    ZkTopicChanged,
    ZkTopicsFound,
)
from streams.state.fact_codec import FactUnreadable, key, pack, unpack
from streams.state.journal import (
    Journal,
    JournalError,
    first_behind,
    last_sequence,
    read,
    require_readable,
)
from tests.support.examples import examples
from tests.support.journals import allow_deletions, refuse_deletions


def _damaged(packed: bytes) -> st.SearchStrategy[bytes]:
    """One byte of it is another one, or it is cut."""
    places = st.integers(0, len(packed) - 1)
    return st.builds(
        lambda at, byte: packed[:at] + bytes([byte]) + packed[at + 1 :], places, st.integers(0, 255)
    ) | places.map(lambda at: packed[:at])


_MS = st.integers(0, 2**40)
_TEXT = st.text(max_size=5)
_PATHS = st.sampled_from(
    ["/controller", "/migration", "/log_dir_event_notification/log_dir_event_1"]
)
_LOG_DIR = st.builds(
    LogDirSeen,
    _TEXT,
    st.sampled_from([0, 56]),
    st.none() | _MS,
    st.none() | _MS,
    *[st.integers(0, 9)] * 4,
    st.none() | _TEXT,
    st.none() | st.booleans(),
    st.lists(st.builds(FutureSeen, _TEXT, *[st.integers(-1, 9)] * 3), max_size=2).map(tuple),
    st.none() | _TEXT,
    st.sampled_from([None, 0, 1]),
)
_LOG_DIRS = st.lists(_LOG_DIR, max_size=2).map(tuple)
_REPLICAS = st.lists(
    st.builds(ReplicaSeen, _TEXT, _MS, _MS, st.none() | _MS, st.integers(1, 3)), max_size=2
).map(tuple)
_REPLICA_IDS = st.lists(st.integers(0, 9), max_size=3).map(tuple)
_ENTRIES = st.lists(st.tuples(_TEXT, st.binary(max_size=8)), max_size=2).map(tuple)
_NUMBERS = st.lists(st.tuples(_TEXT, st.integers(-(2**31), 2**31))).map(tuple)
FACTS: st.SearchStrategy[Observation] = st.one_of(
    st.builds(ZnodeSeen, _MS, _PATHS, st.binary(max_size=9), *[_MS] * 4),
    st.builds(ZnodeGone, _MS, _PATHS),
    st.builds(NotificationsMissed, _MS, _MS, _MS),
    st.builds(ZooKeeperBlind, _MS, _TEXT),
    st.builds(ZooKeeperSeen, _MS, _TEXT, _MS, st.none() | _MS, _MS),
    st.builds(DisksSeen, _MS, st.integers(0, 2), _LOG_DIRS, st.none() | _MS),
    st.builds(DisksUnreachable, _MS, st.integers(0, 2), _TEXT, _LOG_DIRS),
    st.builds(ReplicasCutOff, _MS, st.integers(0, 2), _TEXT, _REPLICAS),
    st.builds(
        ReplicasBack,
        _MS,
        st.integers(0, 2),
        _TEXT,
        st.none() | st.sampled_from(CutOffEnd),
        _REPLICAS,
    ),
    st.builds(OffsetsFell, _MS, _TEXT, *[st.integers(0, 9)] * 6),
    st.builds(JmxNodes, _MS, st.lists(st.integers(0, 3)).map(tuple)),
    st.builds(JmxSeen, _MS, st.integers(0, 2), _TEXT, _MS, _NUMBERS),
    st.builds(JmxUnreachable, _MS, st.integers(0, 2), _TEXT),
    st.builds(ZkConfigSeen, _MS, _PATHS, _ENTRIES, _MS, _MS),
    st.builds(ZkTopicsFound, _MS, _MS, _MS),
    st.builds(
        ZkTopicChanged,
        _MS,
        st.sampled_from(["appeared", "vanished", "reassigned", "unreadable"]),
        st.none() | _MS,
        _TEXT,
        _TEXT,
        st.none() | _MS,
        st.none() | _MS,
        _MS,
        st.lists(st.tuples(_MS, _REPLICA_IDS, _REPLICA_IDS), max_size=2).map(tuple),
        st.none() | _TEXT,
    ),
    st.builds(
        ZkConfigChanged,
        _MS,
        st.none() | _MS,
        _TEXT,
        st.lists(_TEXT, max_size=2).map(tuple),
        st.booleans(),
        st.none() | _TEXT,
    ),
    st.builds(ZkStatesChanged, *[_MS] * 4, st.lists(_TEXT, max_size=2).map(tuple)),
)
OF_A_SHARD = st.builds(
    ZkContentSeen,
    _MS,
    _MS,
    st.integers(0, 15),
    st.just(()),
    st.just(()),
    st.none() | st.lists(_TEXT, max_size=2).map(tuple),
)


@given(FACTS | OF_A_SHARD)
def test_a_fact_comes_back_as_it_was(fact: Observation) -> None:
    assert unpack(pack(fact)) == fact


def test_a_fact_of_an_earlier_release_has_no_reason() -> None:
    stored = msgpack.packb(("ReplicasBack", (7, 2, "/d1")))
    assert unpack(stored) == ReplicasBack(7, 2, "/d1", None)


@settings(deadline=None)  # it writes files, as the next
@given(st.lists(FACTS, min_size=1, max_size=20), st.integers(0, 20))
def test_compaction_leaves_the_last_fact_of_each_key(
    tmp_path_factory: pytest.TempPathFactory, facts: list[Observation], until: int
) -> None:
    journal = Journal(tmp_path_factory.mktemp("journal") / "facts.db")
    assert journal.append(facts) == len(facts)
    journal.compact(until)
    kept = list(journal.kept())
    journal.close()
    assert kept[len(kept) - len(facts[until:]) :] == facts[until:]
    committed = kept[: len(kept) - len(facts[until:])]
    latest = {key(fact): fact for fact in facts}
    for fact in committed:
        assert key(fact) is not None
        assert latest[key(fact)] == fact
    over = {key(f) for f in facts if isinstance(f, ReplicasBack) or _ends_a_znode(f)}
    told = {key(fact) for fact in kept}
    assert {k for k in latest if k is not None} - told <= over


@examples(50)
@given(st.lists(st.lists(FACTS, min_size=1, max_size=5), max_size=6), st.integers(0, 9))
def test_compaction_now_and_then_leaves_what_it_leaves_at_once(
    tmp_path_factory: pytest.TempPathFactory, appended: list[list[Observation]], behind: int
) -> None:
    path = tmp_path_factory.mktemp("journal")
    stepwise, at_once = (Journal(path / name) for name in ("stepwise.db", "at-once.db"))
    for facts in appended:
        at_once.append(facts)
        stepwise.compact(max(0, stepwise.append(facts) - behind))
    at_once.compact(max(0, at_once.last - behind))
    assert list(stepwise.kept()) == list(at_once.kept())
    stepwise.close()
    at_once.close()


def _ends_a_znode(fact: Observation) -> bool:
    return isinstance(fact, ZnodeGone) and "notification" not in fact.path


def _facts(count: int) -> list[Observation]:
    return [ZooKeeperBlind(number, "why") for number in range(count)]


def test_what_was_offered_is_read_again_the_same(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "facts.db")
    journal.append(_facts(5))
    first = read(journal.path, 1, 4)
    assert [(sequence, unpack(packed)) for sequence, _, packed in first] == list(
        zip((2, 3, 4), _facts(5)[1:4], strict=True)
    )
    journal.append(_facts(5))
    assert read(journal.path, 1, 4) == first


def test_a_compaction_that_failed_is_retried_after_the_interval(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path / "facts.db")
    journal.append(_facts(3))
    refuse_deletions(journal.path)
    journal.compact(2)
    assert journal.append(_facts(1)) == 4
    allow_deletions(journal.path)
    journal.compact(3)
    assert len(journal.kept()) == 4
    monkeypatch.setattr("streams.state.journal.COMPACT_AGAIN_S", 0.0)
    journal.compact(4)
    assert len(journal.kept()) == 1


def test_numbers_go_on_although_everything_was_compacted(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "facts.db")
    journal.append([ZnodeSeen(0, "/controller", b"", 0, 0, 0, 0), ZnodeGone(1, "/controller")])
    journal.compact(2)
    journal.close()
    assert last_sequence(tmp_path / "facts.db") == 2
    again = Journal(tmp_path / "facts.db")
    assert (list(again.kept()), again.last) == ([], 2)
    assert again.append(_facts(1)) == 3


def test_another_journal_than_the_one_that_offered_is_told(tmp_path: Path) -> None:
    Journal(tmp_path / "facts.db").append(_facts(2))
    with pytest.raises(JournalError, match=r"2 of the facts 1 to 7 .* stop `kraftgate run`"):
        read(tmp_path / "facts.db", 0, 7)
    with pytest.raises(JournalError, match="is missing: stop `kraftgate run`"):
        read(tmp_path / "other.db", 0, 1)
    (tmp_path / "other.db").write_bytes(b"no database, whatever it is" * 100)
    with pytest.raises(JournalError, match="cannot be opened"):
        Journal(tmp_path / "other.db")


def test_a_fact_that_cannot_be_decoded_damages_the_journal(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "facts.db")
    journal.append(_facts(2))
    other = sqlite3.connect(journal.path, isolation_level=None)
    other.execute("UPDATE facts SET fact = x'c1' WHERE sequence = 2")
    require_readable(journal.path, 0, 1)
    for reading in (
        lambda: require_readable(journal.path, 1, 2),
        lambda: first_behind(journal.path, 1),
        journal.kept,
    ):
        with pytest.raises(JournalError, match=r"facts\.db cannot be read: a stored fact"):
            reading()


def test_nothing_is_kept_of_an_append_that_failed(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "facts.db")
    journal.append(_facts(1))
    other = sqlite3.connect(tmp_path / "facts.db", isolation_level=None)
    other.execute(
        "CREATE TRIGGER full BEFORE INSERT ON facts WHEN NEW.sequence > 2 OR"
        " (SELECT count(*) FROM facts) > 1 BEGIN SELECT RAISE(ABORT, 'no room'); END"
    )
    with pytest.raises(JournalError, match="no room"):
        journal.append(_facts(3))
    other.execute("DROP TRIGGER full")
    assert journal.append(_facts(1)) == 2
    assert len(list(journal.kept())) == 2


@pytest.mark.slow
def test_what_was_appended_outlives_the_process(tmp_path: Path) -> None:
    script = (
        "import os, sys\nfrom pathlib import Path\n"
        "from migration.observed.facts import ZooKeeperBlind\n"
        "from streams.state.journal import Journal\n"
        "Journal(Path(sys.argv[1])).append([ZooKeeperBlind(7, 'x')])\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", script, tmp_path / "facts.db"], check=False)
    assert list(Journal(tmp_path / "facts.db").kept()) == [ZooKeeperBlind(7, "x")]


def test_a_journal_that_is_just_being_made_has_no_facts(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    sqlite3.connect(path).execute("PRAGMA journal_mode=WAL").connection.close()
    assert last_sequence(path) == 0


def test_the_first_fact_that_was_not_read_says_since_when_the_reader_is_behind(
    tmp_path: Path,
) -> None:
    path = tmp_path / "facts.db"
    journal = Journal(path)
    journal.append([ZooKeeperBlind(at_ms, "x") for at_ms in (7, 8, 9)])
    assert [first_behind(path, read) for read in (0, 1, 2, 3)] == [7, 8, 9, None]
    journal.compact(2)
    assert first_behind(path, 2) == 9


def _hostile(fact: Observation, name: str) -> Observation:
    value = getattr(fact, name)
    return fact._replace(**{name: "\ud800" if isinstance(value, str) else 2**64})  # type: ignore[arg-type]


@given(FACTS, st.data())
def test_a_fact_that_cannot_be_kept_is_named_in_its_place(
    fact: Observation, data: st.DataObject
) -> None:
    names = [
        name
        for name in fact._fields
        if isinstance(getattr(fact, name), str | int) and not isinstance(getattr(fact, name), bool)
    ]
    hostile = _hostile(fact, data.draw(st.sampled_from(names)))
    with TemporaryDirectory() as folder:
        journal = Journal(Path(folder, "j.db"))
        journal.append([hostile, ZnodeGone(1, "/controller")])
        kept, next_ = (unpack(packed) for _, _, packed in read(journal.path, 0, 2))
        assert list(journal.kept()) == [kept, next_]
        journal.close()
    assert isinstance(kept, FactQuarantined)
    assert kept.fact == type(fact).__name__
    assert next_ == ZnodeGone(1, "/controller")


@given(st.binary() | FACTS.map(pack).flatmap(_damaged))
def test_any_bytes_are_a_fact_or_refused(packed: bytes) -> None:
    with contextlib.suppress(FactUnreadable):
        assert pack(unpack(packed))

"""Whatever is changed in the file of the log is found, and what cannot be found is said."""

import json
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.audit import GENESIS, AuditLog, Entry, VerifyResult
from orchestrator.errors import AuditError
from tests.orchestrator.audit.tampering import (
    ENTRIES,
    copied,
    rewritten,
    row,
    sealed,
    tamper,
    written,
)

_COLUMNS = ("sequence", "at_ms", "cluster", "kind", "body", "previous", "hash")
_TEXT = st.text('ab1{}[]",:\\ \nß\0\U0001f642', max_size=20)
_HASH = st.sampled_from(["sha256:", "md5:", ""]).flatmap(
    lambda name: st.text("0123456789abcdef", min_size=32, max_size=64).map(lambda hex_: name + hex_)
)


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("origin")
    written(directory)
    return directory


@pytest.fixture
def path(origin: Path, tmp_path: Path) -> Path:
    return copied(origin, tmp_path)


def entries(path: Path) -> list[Entry]:
    with AuditLog.open_readonly(path) as log:
        return log.entries()


def verify(path: Path, head: str | None = None) -> VerifyResult:
    with AuditLog.open_readonly(path) as log:
        return log.verify(head)


def test_an_untouched_log_is_intact(path: Path) -> None:
    last = entries(path)[-1]
    assert verify(path) == VerifyResult(ok=True, count=ENTRIES, head=last.hash)


def _row(path: Path, sequence: int) -> tuple[object, ...]:
    with closing(sqlite3.connect(path)) as db:
        found = db.execute("SELECT * FROM entries WHERE sequence = ?", (sequence,)).fetchone()
        return tuple(found)


@st.composite
def _changes(draw: st.DrawFn) -> tuple[int, int, object]:
    """Which row, which column, and another value for it."""
    column = draw(st.integers(0, len(_COLUMNS) - 1))
    value: object
    match _COLUMNS[column]:
        case "sequence":
            value = draw(st.integers(-3, ENTRIES + 3).filter(lambda to: not 1 <= to <= ENTRIES))
        case "at_ms":
            value = draw(st.integers(0, 5_000))
        case "body":
            value = draw(
                st.dictionaries(_TEXT, st.integers() | _TEXT | st.none(), max_size=3).map(
                    lambda body: json.dumps(body, sort_keys=True)
                )
                | _TEXT
            )
        case "previous" | "hash":
            value = draw(_HASH | _TEXT)
        case _:
            value = draw(_TEXT)
    return draw(st.integers(1, ENTRIES)), column, value


@settings(deadline=None)
@given(change=_changes())
def test_any_change_of_any_value_is_found(origin: Path, change: tuple[int, int, object]) -> None:
    sequence, column, value = change
    with tempfile.TemporaryDirectory() as directory:
        path = copied(origin, Path(directory))
        before = _row(path, sequence)
        if before[column] == value:
            return
        statement = f"UPDATE entries SET {_COLUMNS[column]} = ? WHERE sequence = ?"  # noqa: S608
        tamper(path, (statement, (value, sequence)))
        found = verify(path)
    assert not found.ok
    first = 1 if _COLUMNS[column] == "sequence" and isinstance(value, int) and value < 1 else None
    assert found.first_bad == (first or sequence)
    assert found.count == found.first_bad - 1


@settings(deadline=None)
@given(
    sequence=st.integers(1, ENTRIES),
    spaces=st.sampled_from([" {}", "{} ", "{}\n", "\t{}"]),
)
def test_a_body_that_only_looks_different_is_found(
    origin: Path, sequence: int, spaces: str
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = copied(origin, Path(directory))
        text = spaces.format(_row(path, sequence)[4])
        tamper(path, ("UPDATE entries SET body = ? WHERE sequence = ?", (text, sequence)))
        assert verify(path).first_bad == sequence


@settings(deadline=None)
@given(sequence=st.integers(1, ENTRIES))
def test_a_removed_entry_is_found(origin: Path, sequence: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = copied(origin, Path(directory))
        tamper(path, ("DELETE FROM entries WHERE sequence = ?", (sequence,)))
        found = verify(path)
    assert not found.ok
    assert found.count == sequence - 1
    assert found.first_bad == (None if sequence == ENTRIES else sequence)


@settings(deadline=None)
@given(sequence=st.integers(1, ENTRIES - 1))
def test_entries_in_another_order_are_found(origin: Path, sequence: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = copied(origin, Path(directory))
        move = "UPDATE entries SET sequence = ? WHERE sequence = ?"
        tamper(path, (move, (99, sequence)), (move, (sequence, sequence + 1)))
        tamper(path, (move, (sequence + 1, 99)))
        assert verify(path).first_bad == sequence


@settings(deadline=None)
@given(sequence=st.integers(1, ENTRIES))
def test_an_entry_put_in_between_is_found(origin: Path, sequence: int) -> None:
    """Those behind it move on by one, and it names the right hash before it."""
    with tempfile.TemporaryDirectory() as directory:
        path = copied(origin, Path(directory))
        row = list(_row(path, sequence))
        row[4], row[6] = '{"put":"in"}', "sha256:" + "1" * 64
        up = [
            ("UPDATE entries SET sequence = ? WHERE sequence = ?", (number + 1, number))
            for number in range(ENTRIES, sequence - 1, -1)
        ]
        tamper(path, *up, ("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", row))
        assert verify(path).first_bad == sequence


@settings(deadline=None)
@given(data=st.data())
def test_a_chain_that_was_written_anew_is_found(origin: Path, data: st.DataObject) -> None:
    """The chain is consistent, with every hash recomputed: only the stored head differs."""
    with tempfile.TemporaryDirectory() as directory:
        path = copied(origin, Path(directory))
        new = data.draw(st.lists(st.sampled_from(entries(path)), max_size=ENTRIES))
        if new == entries(path):
            return
        rewritten(path, new)
        found = verify(path)
        with pytest.raises(AuditError, match=r"Restore audit\.db and audit\.head"):
            AuditLog.open(path).append("prod", "tick", {}, 1)
    assert not found.ok


@settings(deadline=None)
@given(sequence=st.integers(1, ENTRIES - 1))
def test_an_entry_with_a_right_hash_of_its_own_is_found(origin: Path, sequence: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = copied(origin, Path(directory))
        other = sealed(replace(entries(path)[sequence - 1], body={"put": "in"}))
        new = "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)"
        tamper(path, ("DELETE FROM entries WHERE sequence = ?", (sequence,)), (new, row(other)))
        found = verify(path)
    assert found.first_bad == sequence + 1
    assert f"does not follow {sequence}" in found.why


def test_a_chain_with_a_gap_in_its_numbers_is_found(path: Path) -> None:
    rewritten(path, entries(path)[:3], (1, 2, 4))
    path.with_suffix(".head").write_text(json.dumps({"sequence": 0, "hash": GENESIS}))
    assert verify(path).why == "entry 3 is missing: 4 follows 2"


def test_another_hash_algorithm_is_named(path: Path) -> None:
    tamper(path, ("UPDATE entries SET hash = 'md5:d41d8cd98f' WHERE sequence = 5", ()))
    assert verify(path).why == "entry 5 is not hashed with sha256: md5:d41d8cd98f"


def test_an_end_that_is_cut_off_while_the_log_is_open_is_noticed(path: Path) -> None:
    with AuditLog.open(path) as log:
        tamper(path, ("DELETE FROM entries WHERE sequence = ?", (ENTRIES,)))
        with pytest.raises(AuditError, match="its end is missing"):
            log.append("prod", "tick", {}, 1)


def _rewritten_with_its_head(path: Path, kept: Sequence[Entry]) -> None:
    rewritten(path, kept)
    last = entries(path)[-1]
    head = {"sequence": last.sequence, "hash": last.hash}
    path.with_suffix(".head").write_text(json.dumps(head))


def test_with_both_rewritten_only_a_head_noted_elsewhere_tells(path: Path) -> None:
    before = entries(path)
    _rewritten_with_its_head(path, before[:-2])
    assert verify(path).ok
    found = verify(path, before[-1].hash)
    assert not found.ok
    assert before[-1].hash in found.why


def test_an_appended_entry_with_the_right_hashes_is_not_found(path: Path) -> None:
    """The handbook says so: the chain has no key."""
    last = entries(path)[-1]
    added = sealed(replace(last, sequence=ENTRIES + 1, previous=last.hash, kind="approved"))
    tamper(path, ("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", row(added)))
    assert verify(path, last.hash) == VerifyResult(ok=True, count=ENTRIES + 1, head=added.hash)
    handbook = Path(__file__).parents[3] / "runbooks" / "handbook"
    assert "which nothing shows" in (handbook / "security.md").read_text("utf-8")


def test_a_head_that_was_noted_earlier_is_still_in_the_log(path: Path) -> None:
    noted = entries(path)[-1].hash
    with AuditLog.open(path) as log:
        log.append("prod", "tick", {}, 1)
    assert verify(path, noted).ok


@pytest.mark.parametrize("name", ["audit.head", "audit.db"])
def test_a_lost_half_is_noticed_and_nothing_is_added(path: Path, name: str) -> None:
    (path.parent / name).unlink()
    with pytest.raises(AuditError, match=r"Restore audit\.db and audit\.head"):
        AuditLog.open(path)
    assert not verify(path).ok


def test_an_older_copy_that_was_restored_is_noticed(path: Path) -> None:
    older = path.read_bytes()
    with AuditLog.open(path) as log:
        log.append("prod", "step_ended", {}, 1)
    path.write_bytes(older)
    with pytest.raises(AuditError, match=f"ends with entry {ENTRIES}, but .* {ENTRIES + 1}"):
        AuditLog.open(path)


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TRIGGER entries_are_never_changed",
        "DROP TRIGGER entries_are_never_removed",
        "DROP INDEX entries_of_kind",
        "CREATE TRIGGER more AFTER INSERT ON entries BEGIN SELECT 1; END",
    ],
)
def test_another_schema_is_found(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(statement)
    found = verify(path)
    assert "append-only" in found.why
    assert found.count == ENTRIES


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET body = '{}' WHERE sequence = 2",
        "DELETE FROM entries WHERE sequence = 7",
        "INSERT OR REPLACE INTO entries SELECT 7, 1, 'a', 'b', '{}', 'c', 'd'",
        "INSERT INTO entries SELECT 9, 1, 'a', 'b', '{}', 'c', 'd'",
    ],
)
def test_a_plain_statement_changes_nothing(path: Path, statement: str) -> None:
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as db,
        pytest.raises(sqlite3.IntegrityError),
    ):
        db.execute(statement)
    assert verify(path).ok


def test_a_damaged_file_is_found(path: Path) -> None:
    content = bytearray(path.read_bytes())
    at = content.index(b'"number":3')
    content[at : at + 10] = b'"number":4'
    path.write_bytes(content)
    assert verify(path).first_bad == 4
    path.write_bytes(content[:4096] + bytes(4096) + content[8192:])
    assert not verify(path).ok


def test_a_damaged_index_is_found(path: Path) -> None:
    """Who asks for one cluster's fence would not see it."""
    with closing(sqlite3.connect(path)) as db:
        (size,) = db.execute("PRAGMA page_size").fetchone()
        found = "SELECT rootpage FROM sqlite_master WHERE name = 'entries_of_kind'"
        (page,) = db.execute(found).fetchone()
    content = bytearray(path.read_bytes())
    at = content.index(b"gate_judged", (page - 1) * size)
    assert at < page * size
    content[at : at + 4] = b"door"
    path.write_bytes(content)
    assert "the file is damaged" in verify(path).why


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "it is empty"),
        (b"garbage", "its content is not JSON"),
        (b"{}", "it has no `sequence`"),
        (b'{"sequence":"x","hash":1}', "it does not contain a sequence number and a hash"),
        (None, "Is a directory"),
    ],
)
def test_with_an_unreadable_head_only_the_end_is_unknown(
    path: Path, content: bytes | None, why: str
) -> None:
    last, head = entries(path)[-1], path.with_suffix(".head")
    head.unlink()
    head.mkdir() if content is None else head.write_bytes(content)
    unknown = "it is unknown whether the end of the trail is complete"
    assert verify(path) == VerifyResult(
        ok=False, count=ENTRIES, head=last.hash, why=f"{head} cannot be read: {why}, so {unknown}"
    )
    assert verify(path, last.hash).why.endswith(unknown)
    tamper(path, ("UPDATE entries SET at_ms = 1 WHERE sequence = 4", ()))
    assert verify(path).first_bad == 4
    with pytest.raises(AuditError, match=r"Restore audit\.db and audit\.head"):
        AuditLog.open(path)


def test_the_entries_before_a_damaged_page_are_verified(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    with AuditLog.open(path) as log:
        for number in range(40):
            log.append("prod", "tick", {"words": "x" * 500}, number)
    content = bytearray(path.read_bytes())
    page = content.rindex(b"x" * 500) // 4096
    content[page * 4096 : (page + 1) * 4096] = b"\xff" * 4096
    path.write_bytes(content)
    found = verify(path)
    assert not found.ok
    assert 0 < found.count < 40
    assert "the file is damaged" in found.why
    assert "\n" not in found.why


def test_an_entry_with_a_deep_body_is_found_out(path: Path) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    tamper(path, ("UPDATE entries SET body = ? WHERE sequence = 3", (deep,)))
    assert verify(path).first_bad == 3

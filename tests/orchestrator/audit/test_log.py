"""The audit log: what is appended is there, in one chain, and a fence keeps the slower one out."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.audit import GENESIS, AuditLog
from orchestrator.audit.entry import BODY_BYTES_MAX, canonical
from orchestrator.errors import AuditError, NoDataError
from orchestrator.output.json_value import JsonValue
from orchestrator.redaction.redactor import MARK, Redactor


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "audit.db"


@pytest.fixture
def log(path: Path) -> Iterator[AuditLog]:
    with AuditLog.open(path) as opened:
        yield opened


def test_an_entry_is_there_after_the_log_was_opened_again(log: AuditLog, path: Path) -> None:
    first = log.append("prod", "gate_judged", {"verdict": "waiting", "offset": 12}, 1000)
    second = log.append("prod", "step_started", {"argv": ["a", "b"]}, 1001)
    log.close()
    with AuditLog.open(path) as again:
        assert again.entries("prod") == [first, second]
    assert (first.sequence, first.previous) == (1, GENESIS)
    assert (second.sequence, second.previous) == (2, first.hash)


def test_entries_are_asked_for_by_cluster_and_place(log: AuditLog) -> None:
    for number in range(6):
        log.append("even" if number % 2 == 0 else "odd", "tick", {"number": number}, number)
    assert [each.sequence for each in log.entries("odd")] == [2, 4, 6]
    assert [each.sequence for each in log.entries("odd", after=2, limit=1)] == [4]
    assert [each.sequence for each in log.last("even", 2)] == [3, 5]
    assert [each.sequence for each in log.last()] == [6]
    assert [each.sequence for each in log.entries()] == [1, 2, 3, 4, 5, 6]


def test_the_export_is_every_entry_as_a_line(log: AuditLog) -> None:
    made = [log.append("prod", "tick", {"word": "größe\n"}, at) for at in range(3)]
    lines = list(log.export("prod", after=1))
    assert [json.loads(line)["hash"] for line in lines] == [each.hash for each in made[1:]]
    assert all("\n" not in line for line in lines)


def test_a_stale_fence_adds_nothing(log: AuditLog) -> None:
    first = log.take_fence("prod", "anna@host-a pid 1", 1)
    log.append("prod", "step_started", {}, 2, fence=first)
    second = log.take_fence("prod", "bert@host-b pid 2", 3)
    assert second > first
    with pytest.raises(AuditError, match="bert@host-b pid 2"):
        log.append("prod", "step_started", {}, 4, fence=first)
    log.append("prod", "step_started", {}, 5, fence=second)
    log.append("prod", "approved", {}, 6)
    assert log.fence("prod") == (second, "bert@host-b pid 2")
    assert [each.at_ms for each in log.entries("prod")] == [1, 2, 3, 5, 6]


def test_fences_are_of_one_cluster(log: AuditLog) -> None:
    log.take_fence("prod", "anna", 1)
    mine = log.take_fence("test", "anna", 2)
    log.take_fence("prod", "bert", 3)
    log.append("test", "tick", {}, 4, fence=mine)
    with pytest.raises(AuditError, match="nobody"):
        log.append("other", "tick", {}, 5, fence=1)


@pytest.mark.parametrize(
    "body",
    [
        {"load": float("nan")},
        {"load": [float("inf")]},
        {"deep": {3: "three"}},
        {"raw": b"bytes"},
        {"long": "x" * BODY_BYTES_MAX},
    ],
)
def test_what_has_no_canonical_json_is_refused(log: AuditLog, body: dict[str, object]) -> None:
    with pytest.raises(AuditError, match="audit entry"):
        log.append("prod", "tick", body, 1)  # type: ignore[arg-type] # that is the point
    assert log.entries() == []
    assert log.append("prod", "tick", {}, 2).sequence == 1


def test_no_secret_is_appended(path: Path) -> None:
    with AuditLog.open(path, Redactor(["hunter2"])) as log:
        body = {"argv": ["x", "hunter2"], "reason": "token=abc", "path": "half \udce9"}
        entry = log.append("prod", "step_started", body, 1)
        assert log.entries() == [entry]
        assert log.verify().ok
    assert entry.body == {
        "argv": ["x", "[redacted]"],
        "reason": "token=[redacted]",
        "path": "half \\udce9",
    }
    for file in path.parent.iterdir():
        assert b"hunter2" not in file.read_bytes()


def test_half_a_character_has_no_canonical_json() -> None:
    with pytest.raises(AuditError, match="backslashreplace"):
        canonical({"path": "half \udce9"})


def test_without_a_log_there_is_no_data(path: Path) -> None:
    with pytest.raises(NoDataError, match="does not exist"):
        AuditLog.open_readonly(path)


def test_a_reader_cannot_append(log: AuditLog, path: Path) -> None:
    log.append("prod", "tick", {}, 1)
    with (
        AuditLog.open_readonly(path) as reader,
        pytest.raises(AuditError, match="readonly"),
    ):
        reader.append("prod", "tick", {}, 2)


def test_another_file_is_no_audit_log(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"not a database, and longer than SQLite's header is" * 10)
    with pytest.raises(AuditError, match=str(path)):
        AuditLog.open(path)


def test_a_log_that_is_just_being_made_has_nothing_in_it_yet(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "audit.db").execute("PRAGMA journal_mode=WAL").connection.close()
    with pytest.raises(NoDataError, match="is being created"):
        AuditLog.open_readonly(tmp_path / "audit.db")


def test_a_log_that_was_emptied_is_not_taken_for_a_new_one(tmp_path: Path) -> None:
    with AuditLog.open(tmp_path / "audit.db") as log:
        log.append("prod", "noted", {}, 1)
    for each in tmp_path.glob("audit.db*"):
        each.unlink()
    sqlite3.connect(tmp_path / "audit.db").execute("PRAGMA journal_mode=WAL").connection.close()
    with pytest.raises(AuditError):
        AuditLog.open_readonly(tmp_path / "audit.db")


def test_a_secret_that_is_a_common_word_is_in_no_identifier(path: Path) -> None:
    """The execution is found again by them."""
    body: dict[str, JsonValue] = {
        "checkpoint": "zookeeper-off",
        "reason": "zookeeper is off",
        "findings": [{"condition": "no_zookeeper", "reason": "zookeeper"}],
    }
    with AuditLog.open(path, Redactor(["zookeeper"])) as log:
        kept = log.append("prod", "gate_judged", body, 1).body
        assert kept == {
            "checkpoint": "zookeeper-off",
            "reason": f"{MARK} is off",
            "findings": [{"condition": "no_zookeeper", "reason": MARK}],
        }
        basis = {"bad log directories of broker 3": "/zookeeper/d1"}
        assert log.append("prod", "approved", {"basis": basis}, 2).body == {"basis": basis}


@pytest.mark.parametrize("replaced", [False, True])
def test_what_was_deleted_meanwhile_takes_no_entry(
    log: AuditLog, path: Path, *, replaced: bool
) -> None:
    log.append("prod", "tick", {}, 1)
    content = path.read_bytes()
    path.unlink()
    if replaced:
        path.write_bytes(content)
    with pytest.raises(AuditError, match=r"deleted or replaced.*end `kraftgate run`"):
        log.append("prod", "tick", {}, 2)
    with pytest.raises(AuditError, match="deleted or replaced"):
        log.entries()


def test_a_directory_that_was_moved_is_named(log: AuditLog, path: Path) -> None:
    path.parent.rename(path.parent.with_name("moved"))
    with pytest.raises(
        AuditError, match=f"{path.parent} was deleted or replaced.*put the directory back"
    ):
        log.append("prod", "tick", {}, 1)

"""A store that is read while the job makes it: there is none yet, or there is a whole one."""

import sqlite3
from pathlib import Path

import pytest

from orchestrator.errors import FollowingError
from orchestrator.run.reader import STORE_FILE, open_store
from streams.state.store import Store


def test_whoever_looks_while_it_is_made_sees_none_or_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs a check before every statement of a connection."""
    seen: list[bool] = []
    connect = sqlite3.connect

    def watched(*arguments: object, **options: object) -> sqlite3.Connection:
        made: sqlite3.Connection = connect(*arguments, **options)  # type: ignore[call-overload]
        monkeypatch.setattr("streams.state.sqlite.sqlite3.connect", connect)
        made.set_trace_callback(lambda _: seen.append(open_store(tmp_path) is not None))
        return made

    monkeypatch.setattr("streams.state.sqlite.sqlite3.connect", watched)
    with Store.open(tmp_path / STORE_FILE):
        assert len(seen) > 8
        assert not any(seen)
    assert open_store(tmp_path) is not None


def test_another_database_is_not_taken_for_one(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / STORE_FILE) as other:
        other.execute("CREATE TABLE clusters (name TEXT)")
    other.close()
    with pytest.raises(FollowingError, match="has format 0"):
        open_store(tmp_path)


def test_a_directory_is_not_taken_for_an_absent_store(tmp_path: Path) -> None:
    (tmp_path / STORE_FILE).mkdir()
    with pytest.raises(FollowingError, match=r"store\.db cannot be read as the store: it is not a"):
        open_store(tmp_path)

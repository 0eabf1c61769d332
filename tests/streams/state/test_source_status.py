"""A status that is no status is an error that names the value."""

import json
from pathlib import Path

import pytest

from migration.observed.source_status import NO_STATUS, SourceStatus
from streams.state.source_status import read_status, write_status


def test_keys_of_a_later_version_are_ignored(tmp_path: Path) -> None:
    (file := tmp_path / "source.json").write_text('{"observed_ms": 1, "limits": ["a"], "new": {}}')
    assert read_status(file) == SourceStatus(observed_ms=1, limits=("a",))


def test_a_state_directory_that_was_moved_is_not_created_again(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_status(tmp_path / "state" / "clusters" / "prod" / "source.json", NO_STATUS)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "an object"),
        ({}, "observed_ms: Field required"),
        ({"observed_ms": "1"}, "observed_ms: Input should be a valid integer"),
        ({"observed_ms": True}, "observed_ms: Input should be a valid integer"),
        ({"observed_ms": 1.0}, "observed_ms: Input should be a valid integer"),
        ({"observed_ms": 1, "error": 4}, "error: Input should be a valid string"),
        ({"observed_ms": 1, "error": "\ud800"}, "Invalid JSON"),
        ({"observed_ms": 1, "finished": 0}, "finished: Input should be a valid boolean"),
        ({"observed_ms": 1, "limits": "x"}, "limits: Input should be a valid array"),
        ({"observed_ms": 1, "limits": [1]}, "limits: 0: Input should be a valid string"),
    ],
)
def test_what_is_no_status_is_refused(tmp_path: Path, value: object, words: str) -> None:
    (file := tmp_path / "source.json").write_text(json.dumps(value))
    with pytest.raises(ValueError, match=words) as caught:
        read_status(file)
    assert "\n" not in str(caught.value)

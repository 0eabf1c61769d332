"""The records of a store, cut into transactions anywhere, are all of them and each once."""

import json
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from migration.image.cluster import ClusterImage, summarize
from migration.metadata.directory_ids import MIGRATING, DirectoryId
from migration.metadata.events import Event
from migration.shard.transitions import ABSENT, ASSIGNED_STATE, MIGRATING_STATE, place
from orchestrator.run import publishing
from orchestrator.run.publishing import ClusterRecords, Position
from streams.spark.transition_files import write_transitions
from streams.state.store import BatchResult, Store, TransitionFile

QUERY = "3f8a2d6e"
DIRECTORY = DirectoryId(bytes(range(16)))


def _transitions(folder: Path, until: int, rows: int) -> TransitionFile:
    migrating, assigned = place(0, MIGRATING_STATE), place(1, ASSIGNED_STATE)
    moves = [
        (until - rows + row, 1000 + row, 0, row, 1, *change)
        for row, change in zip(
            range(rows), cycle([(migrating, assigned), (ABSENT, migrating)]), strict=False
        )
    ]
    directory = folder / "transitions"
    path = write_transitions(
        directory,
        "prod",
        0,
        (1, until),
        np.array(moves, dtype=np.int64),
        [(bytes(range(16)), "orders")],
        [MIGRATING, DIRECTORY],
    )
    return TransitionFile(path=str(path.relative_to(directory)), rows=rows)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    with Store.open(tmp_path / "store.db") as store:
        store.claim(QUERY)
        for batch in range(3):
            events = [
                Event(offset=None, timestamp_ms=None, kind=f"kind-{batch}-{number}", seen_ms=5)
                for number in range(4)
            ]
            result = BatchResult(
                cluster="prod",
                image=ClusterImage(),
                summary=summarize("prod", ClusterImage()),
                brokers=(),
                gone=(),
                place={"kraft_metadata": batch},
                events=events,
                files=[_transitions(tmp_path, 10 * (batch + 1), 5 + batch)],
            )
            store.commit(batch, [result], now_ms=7)
    return tmp_path


def _all(state: Path, position: Position) -> list[Any]:
    """Take each chunk with a reader of its own, as if the process had died in between."""
    found: list[Any] = []
    while True:
        records, position = ClusterRecords("prod", state).after(position)
        if not records:
            return found
        position = Position.of(position.to_text(), QUERY)
        found += [json.loads(value) for _, value in records]


@pytest.mark.parametrize("records_max", [1, 2, 3, 7, 1000])
def test_each_record_comes_once_wherever_the_transactions_end(
    state: Path, records_max: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "RECORDS_MAX", records_max)
    found = _all(state, Position(store=QUERY))
    events = [each for each in found if each["type"] == "event"]
    transitions = [each for each in found if each["type"] == "transition"]
    assert [each["kind"] for each in events] == [
        f"kind-{b}-{n}" for b in range(3) for n in range(4)
    ]
    assert [each["row"] for each in transitions] == [row for b in range(3) for row in range(5 + b)]
    assert len({each["file"] for each in transitions}) == 3
    assert {each["store"] for each in found} == {QUERY}


def test_a_transition_has_the_columns_of_its_file(state: Path) -> None:
    (found, *_) = [each for each in _all(state, Position(store=QUERY)) if each["type"] != "event"]
    assert (found["topic"], found["partition"], found["broker"]) == ("orders", 0, 1)
    assert (found["was"], found["now"], found["timestamp_ms"]) == ("migrating", "assigned", 1000)


def test_a_new_state_directory_is_published_from_its_beginning() -> None:
    text = Position(store="another", sequence=9, files=2, rows=1).to_text()
    assert Position.of(text, QUERY) == Position(store=QUERY)
    assert Position.of(text, "another").sequence == 9
    assert Position.of(None, QUERY) == Position(store=QUERY)

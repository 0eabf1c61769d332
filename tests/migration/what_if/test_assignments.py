"""The metadata log's word, from the replica transitions that the job wrote."""

from pathlib import Path

import numpy as np
import pytest

from migration.image.cluster import ClusterImage, summarize
from migration.metadata.directory_ids import LOST, MIGRATING, UNASSIGNED, DirectoryId
from migration.metadata.replica_state import ReplicaState
from migration.observed.probed import TopicPartition, Unknown
from migration.shard.transitions import ABSENT, ASSIGNED_STATE, MIGRATING_STATE, place
from streams.probe.assignments import Row, assignments, latest
from streams.spark.transition_files import write_transitions
from streams.state.store import BatchResult, Store, TransitionFile
from tests.migration.what_if.situations import ID0, ID1, T, assigned, pending

A, B = (b"topic-id-of-a---", "t"), (b"topic-id-of-b---", "u")
IDS = [MIGRATING, UNASSIGNED, LOST, DirectoryId(b"0123456789abcdef")]
"""As a shard numbers them; the last is ID0."""
AT_ID0, PENDING = place(3, ASSIGNED_STATE), place(0, MIGRATING_STATE)


def test_the_last_transition_of_each_replica_counts() -> None:
    rows: list[Row] = [
        (1, 9, "t", "a", 0, "assigned", ID1),
        (1, 5, "t", "a", 0, "migrating", pending().directory),
        (1, 7, "t", "a", 1, "unassigned", pending(ReplicaState.UNASSIGNED).directory),
        (1, 8, "t", "a", 2, "assigned", ID0),
        (1, 9, "t", "a", 2, None, None),
    ]
    assert latest(rows) == {
        T: assigned(ID1),
        TopicPartition("t", 1): pending(ReplicaState.UNASSIGNED),
    }


def test_a_topic_made_again_is_the_new_one_and_two_at_once_are_not_told_apart() -> None:
    old: Row = (1, 5, "t", "old", 0, "assigned", ID0)
    new: Row = (1, 9, "t", "new", 0, "assigned", ID1)
    assert latest([old, (1, 9, "t", "old", 0, None, None), new]) == {T: assigned(ID1)}
    assert latest([old, new]) == {}


def test_what_another_log_says_comes_after_all_of_the_one_before() -> None:
    rows: list[Row] = [
        (1, 9, "t", "a", 0, "assigned", ID1),
        (2, -1, "t", "a", 0, None, None),
        (2, 5, "t", "a", 0, "assigned", ID0),
    ]
    assert latest(rows) == {T: assigned(ID0)}
    assert latest(rows[:2]) == {}


def test_only_files_that_the_store_names_and_only_this_brokers_rows_count(tmp_path: Path) -> None:
    folder, store = tmp_path / "transitions", tmp_path / "store.db"
    first = np.array([[5, 0, 0, 0, 1, ABSENT, PENDING], [5, 0, 0, 0, 2, ABSENT, PENDING]])
    second = np.array([[9, 0, 0, 0, 1, PENDING, AT_ID0], [9, 0, 1, 7, 1, ABSENT, PENDING]])
    never = np.array([[11, 0, 0, 0, 1, AT_ID0, ABSENT]])
    files = [
        write_transitions(folder, "prod", 3, (1, until), table, [A, B], IDS)
        for until, table in ((6, first), (10, second), (12, never))
    ]
    image = ClusterImage()
    with Store.open(store) as opened:
        named = [TransitionFile(path=str(each.relative_to(folder)), rows=2) for each in files[:2]]
        summary = summarize("prod", image)
        outcome = BatchResult(
            cluster="prod", image=image, summary=summary, brokers=(), gone=(), place={},
            events=(), files=named,
        )  # fmt: skip
        opened.commit(0, [outcome], 0)
    assert assignments(store, "prod", 1) == {T: assigned(ID0), TopicPartition("u", 7): pending()}
    assert assignments(store, "prod", 2) == {T: pending()}
    assert assignments(store, "other", 1) == {}
    files[0].write_bytes(b"not parquet")
    damaged = assignments(store, "prod", 1)
    assert isinstance(damaged, Unknown)
    assert damaged.why.startswith("the replica transitions cannot be read: ")
    files[1].unlink()
    assert isinstance(assignments(store, "prod", 1), Unknown)


@pytest.mark.parametrize("content", [None, b"no database"])
def test_without_a_store_nothing_is_known(tmp_path: Path, content: bytes | None) -> None:
    store = tmp_path / "store.db"
    if content is not None:
        store.write_bytes(content)
    assert isinstance(assignments(store, "prod", 1), Unknown)

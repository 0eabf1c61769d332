"""When a broker is held, when its assignments are complete, and when it was unfenced early."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from migration.image.summary import BrokerSummary, Phase, Progress, UnfencedEarly
from migration.metadata.replica_state import ReplicaState
from migration.shard.report import Step
from tests.support.logs import Action, values, write_segment
from tests.support.pipeline import Run

TOPIC: Action = (0, 0, 0, 0)
PARTITION_0: Action = (2, 0, 0, 0)
PARTITION_1: Action = (2, 0, 1, 0)
"""Without directories, on broker 1."""
KRAFT: Action = (9, 0, 1, 5)
"""Broker 1 registers in KRaft mode, fenced, with three directories."""
MIGRATING: Action = (9, 0, 0, 5)
UNFENCE: Action = (11, 0, 0, 0)
FENCE: Action = (11, 0, 2, 0)
ASSIGN_0: Action = (5, 0, 0, 0)
ASSIGN_1: Action = (5, 0, 1, 0)
BEGIN: Action = (14, 0, 0, 1)
END: Action = (14, 0, 0, 1)
ABORT: Action = (14, 0, 0, 0)
REMOVE: Action = (13, 0, 0, 0)


def _run(tmp_path: Path, drawn: Sequence[Action]) -> Run:
    (tmp_path / f"{0:020d}.log").write_bytes(write_segment(values(drawn), [1]))
    return Run().follow(tmp_path, 1)


def _broker(run: Run) -> BrokerSummary:
    (broker,) = run.summary.brokers
    return broker


def test_a_broker_is_held_from_its_kraft_registration_to_its_last_assignment(
    tmp_path: Path,
) -> None:
    """KIP-858, "Broker registration": until no replica of it is UNASSIGNED_DIR."""
    drawn = [TOPIC, PARTITION_0, PARTITION_1, KRAFT, ASSIGN_0]
    held = _broker(_run(tmp_path, drawn))
    assert (held.held, held.pending, held.assignments_complete_offset) == (True, 1, None)
    done = _broker(_run(tmp_path, [*drawn, ASSIGN_1, UNFENCE]))
    assert (done.held, done.pending, done.assignments_complete_offset) == (False, 0, 6)
    assert (done.unfenced_offset, done.unfenced_early) == (7, None)


@pytest.mark.parametrize(
    ("made", "state", "assign"),
    [
        ((3, 0, 0, 5), ReplicaState.LOST, (5, 0, 0, 1)),
        ((3, 0, 0, 6), ReplicaState.RESERVED, ASSIGN_0),
    ],
)
def test_an_id_that_names_no_directory_holds_the_broker(
    tmp_path: Path, made: Action, state: ReplicaState, assign: Action
) -> None:
    """KIP-858, "Reserved UUIDs": LOST is an unknown failed directory, 3 to 99 have no meaning."""
    held = _broker(_run(tmp_path, [TOPIC, made, KRAFT]))
    assert (held.held, held.pending, held.replicas[state]) == (True, 1, 1)
    assert held.assigned_ms is None
    assert held.directories == {}
    early = _broker(_run(tmp_path, [TOPIC, made, KRAFT, UNFENCE]))
    assert early.unfenced_early == UnfencedEarly(pending=1, duration_ms=None)
    done = _broker(_run(tmp_path, [TOPIC, made, KRAFT, assign]))
    assert (done.held, done.pending, done.assignments_complete_offset) == (False, 0, 4)


def test_progress_is_kept_in_steps_by_the_records_times(tmp_path: Path) -> None:
    """KIP-858, "Handling replica assignments": the controller persists them in records."""
    drawn = [TOPIC, PARTITION_0, PARTITION_1, (2, 0, 2, 0), KRAFT, ASSIGN_0, UNFENCE, ASSIGN_1]
    found = _broker(_run(tmp_path, drawn)).progress
    assert found == Progress(
        assigned=2, first_ms=1_060, last_ms=1_080, recent=(Step(1_060, 1), Step(1_080, 1))
    )


def test_a_broker_in_migration_mode_is_not_held(tmp_path: Path) -> None:
    """KIP-858, "Migrating a cluster in ZK mode ...": it stays fenced from its KRaft restart on."""
    broker = _broker(_run(tmp_path, [TOPIC, PARTITION_0, MIGRATING, UNFENCE]))
    assert (broker.held, broker.pending, broker.unfenced_early) == (False, 1, None)
    assert broker.assignments_complete_offset is None


def test_unfenced_early_counts_the_pending_then_and_lasts_until_the_last(tmp_path: Path) -> None:
    """KIP-858, "Broker registration": it remains fenced; Kafka 3.9 does not wait."""
    drawn = [TOPIC, PARTITION_0, PARTITION_1, KRAFT, ASSIGN_0, UNFENCE]
    early = _broker(_run(tmp_path, drawn))
    assert early.unfenced_early == UnfencedEarly(pending=1, duration_ms=None)
    over = _broker(_run(tmp_path, [*drawn, UNFENCE, ASSIGN_1]))
    # Ten ms a record in these logs: from the unfencing, at 6, to 8; a second one changes nothing.
    assert over.unfenced_early == UnfencedEarly(pending=1, duration_ms=20)
    assert over.unfenced_offset == 6


def test_while_it_is_fenced_it_is_not_unfenced_early(tmp_path: Path) -> None:
    drawn = [TOPIC, PARTITION_0, PARTITION_1, KRAFT, ASSIGN_0, UNFENCE, FENCE]
    fenced = _broker(_run(tmp_path, drawn))
    assert fenced.unfenced_early == UnfencedEarly(pending=1, duration_ms=None)
    over = _broker(_run(tmp_path, [*drawn, FENCE, FENCE, UNFENCE, ASSIGN_1]))
    assert over.unfenced_early == UnfencedEarly(pending=1, duration_ms=20)
    meanwhile = _broker(_run(tmp_path, [*drawn, FENCE, ASSIGN_1, UNFENCE]))
    assert meanwhile.unfenced_early == UnfencedEarly(pending=1, duration_ms=10)


def test_a_hold_also_ends_when_the_pending_topic_goes(tmp_path: Path) -> None:
    broker = _broker(_run(tmp_path, [TOPIC, PARTITION_0, KRAFT, REMOVE]))
    assert (broker.held, broker.assignments_complete_offset) == (False, 4)


def test_new_replicas_do_not_hold_a_complete_broker_again(tmp_path: Path) -> None:
    """KIP-858, "Replica placement": new replicas begin as UNASSIGNED_DIR."""
    drawn = [TOPIC, PARTITION_0, KRAFT, ASSIGN_0, PARTITION_1]
    broker = _broker(_run(tmp_path, drawn))
    assert (broker.held, broker.pending, broker.assignments_complete_offset) == (False, 1, 4)


def test_a_broker_without_pending_replicas_is_complete_at_once(tmp_path: Path) -> None:
    broker = _broker(_run(tmp_path, [KRAFT]))
    assert (broker.held, broker.assignments_complete_offset) == (False, 1)


@pytest.mark.parametrize(
    ("over", "partitions", "phase"),
    [(END, 1, Phase.ZOOKEEPER), (ABORT, 0, Phase.ZOOKEEPER), (None, 0, Phase.COPYING)],
)
def test_a_transaction_counts_whole_or_not_at_all(
    tmp_path: Path, over: Action | None, partitions: int, phase: Phase
) -> None:
    drawn = [TOPIC, BEGIN, PARTITION_0, *([over] if over else [])]
    summary = _run(tmp_path, drawn).summary
    assert (summary.partitions, summary.phase) == (partitions, phase)
    assert summary.metadata_offset == len(drawn)


def test_the_last_assignment_is_that_of_a_replica_that_was_there(tmp_path: Path) -> None:
    """New replicas are not assignments, nor is the end of one; ten ms a record in these logs.

    KIP-858, "Handling replica assignments".
    """
    drawn = [TOPIC, PARTITION_0, PARTITION_1, KRAFT]
    assert _broker(_run(tmp_path, drawn)).assigned_ms is None
    assert _broker(_run(tmp_path, [*drawn, ASSIGN_0])).assigned_ms == 1_050
    drawn += [ASSIGN_0, UNFENCE, ASSIGN_1, REMOVE]
    assert _broker(_run(tmp_path, drawn)).assigned_ms == 1_070

"""The offset up to which the store must include the metadata log."""

from dataclasses import replace
from pathlib import Path

from migration.observed.source_status import SourceStatus
from streams.metadata.batches import Mark
from streams.metadata.live_feed import DualWriteDue, DueOffset, LiveFeed
from streams.metadata.spool import Position
from streams.spark.settings import ClusterSources
from streams.wire.batches import CONTROL_BIT, HEADER


def at(end: int | None, log: int = 1) -> SourceStatus:
    return SourceStatus(observed_ms=0, log=log, next_offset=end, high_watermark=end)


def test_the_first_known_end_is_due_at_once() -> None:
    due = DueOffset()
    assert due.of(at(None), 0.0) is None
    assert due.of(at(100), 1.0) == 100
    assert due.of(at(140), 2.0) == 100


def test_a_later_end_is_due_when_data_would_be_stale() -> None:
    due = DueOffset()
    for now_s, end in ((0.0, 100), (1.0, 140), (2.0, 150)):
        due.of(at(end), now_s)
    assert due.of(at(150), 15.9) == 100
    assert due.of(at(150), 16.0) == 140
    assert due.of(at(150), 60.0) == 150


def test_no_op_records_at_the_end_are_not_due() -> None:
    assert DueOffset().of(replace(at(100), busy_until=80), 0.0) == 80


def test_another_log_begins_with_its_own_end() -> None:
    due = DueOffset()
    due.of(at(100), 0.0)
    assert due.of(at(None, log=2), 1.0) is None
    assert due.of(at(7, log=2), 2.0) == 7


def test_an_end_that_falls_is_not_exceeded() -> None:
    due = DueOffset()
    due.of(at(100), 0.0)
    assert due.of(at(90), 1.0) == 90


def test_the_first_end_after_an_outage_is_due_at_once() -> None:
    """The store may hold the state from before the outage: what it lacks must not be missed."""
    due = DueOffset()
    answered = replace(at(100), last_reply_ms=1_000)
    for now_s in range(60):
        assert due.of(answered, float(now_s)) == 100
    assert due.of(replace(at(1300), last_reply_ms=60_000), 60.0) == 1300
    assert due.of(replace(at(1400), last_reply_ms=61_000), 61.0) == 1300


def test_an_end_between_prompt_replies_is_not_due_at_once() -> None:
    due = DueOffset()
    due.of(replace(at(100), last_reply_ms=1_000), 0.0)
    assert due.of(replace(at(140), last_reply_ms=15_000), 14.0) == 100


def ends(end: int, *, control: bool = False, epoch: int = 3, log: int = 1) -> Position:
    """The last batch before `end` is a leader's first record, or (`control` False) any other."""
    header = HEADER.pack(end - 1, 60, epoch, 2, 0, CONTROL_BIT * control, 0, 0, 0, -1, -1, -1, 1)
    return Position(end, epoch, log, tail=Mark(end - 1, header))


def test_a_record_is_due_in_zookeeper_30_s_after_it_was_first_there() -> None:
    due = DualWriteDue()
    for now_s, end in ((0.0, 100), (1.0, 102), (29.9, 160)):
        assert due.of(ends(end), now_s) is None
    assert due.of(ends(160), 30.0) == 99
    assert due.of(ends(160), 31.0) == 101
    assert due.of(ends(160), 600.0) == 159


def test_the_first_record_of_a_leader_and_all_before_it_are_not_due() -> None:
    """The leader writes everything when it takes over, and /migration keeps its offset."""
    due = DualWriteDue()
    due.of(ends(100), 0.0)
    assert due.of(ends(100), 60.0) == 99
    for now_s in (61.0, 600.0):
        assert due.of(ends(101, control=True, epoch=4), now_s) is None
    assert due.of(ends(102, epoch=4), 601.0) is None
    assert due.of(ends(102, epoch=4), 631.0) == 101
    assert due.of(ends(104, epoch=5), 632.0) is None


def test_what_is_due_in_another_log_or_before_any_record_is_unknown() -> None:
    due = DualWriteDue()
    due.of(ends(100), 0.0)
    assert due.of(ends(7, log=2), 60.0) is None
    assert due.of(Position(7, 3, 2), 120.0) is None


def test_only_records_that_are_worth_a_batch_ring(tmp_path: Path) -> None:
    rung: list[int] = []
    controllers = {"bootstrap": "127.0.0.1:1", "security": {}}
    options = dict(ClusterSources(cluster="a", controllers=controllers).options(tmp_path))
    nowhere = options["kraft_metadata"]["controllers"]
    feed = LiveFeed(nowhere, tmp_path / "spool", tmp_path, lambda: rung.append(end))
    feed.stop()
    for log, end, busy_until in (
        (1, 4, None),  # unknown
        (1, 5, 5),
        (1, 6, 5),
        (1, 7, 5),
        (1, 8, 8),
        (1, 9, 8),
        (2, 9, 8),
    ):
        feed._progressed(Position(end, 1, log, busy_until=busy_until))
    assert rung == [4, 5, 8, 9]

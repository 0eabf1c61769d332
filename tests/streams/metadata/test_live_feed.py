"""The offset up to which the store must include the metadata log."""

from dataclasses import replace
from pathlib import Path

from migration.observed.source_status import SourceStatus
from streams.metadata.live_feed import DueOffset, LiveFeed
from streams.metadata.spool import Position
from streams.spark.settings import ClusterSources


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

"""Everything that was there when watching began, and nothing unread for long."""

from dataclasses import replace

from migration.assessment.conditions import DataSource
from migration.image.summary import Phase
from orchestrator.conditions.horizon import Horizon, Horizons
from orchestrator.following import Journalled, Snapshot
from tests.orchestrator.night import FRESH, HYBRID, NOW_MS, cluster


def test_what_was_committed_at_the_beginning_must_be_read() -> None:
    horizon = Horizon()
    early = cluster(Phase.HYBRID, offset=100)
    assert not horizon.is_caught_up(early, FRESH, NOW_MS)
    assert not horizon.is_caught_up(cluster(Phase.HYBRID, offset=1438), FRESH, NOW_MS)
    assert horizon.is_caught_up(cluster(Phase.HYBRID, offset=1439), FRESH, NOW_MS)


def test_trailing_by_a_moment_is_the_present() -> None:
    horizon = Horizon()
    read = cluster(Phase.HYBRID, offset=1439)
    assert horizon.is_caught_up(read, FRESH, NOW_MS)
    ahead = replace(FRESH, high_watermark=1500)
    assert horizon.is_caught_up(read, ahead, NOW_MS + 1_000)
    assert horizon.is_caught_up(read, ahead, NOW_MS + 16_000)
    assert not horizon.is_caught_up(read, ahead, NOW_MS + 16_001)
    assert horizon.is_caught_up(cluster(Phase.HYBRID, offset=1499), ahead, NOW_MS + 20_000)


def test_no_op_records_at_the_end_are_not_waited_for() -> None:
    """An idle controller writes two a second; the job commits them in batches of 20."""
    idle = replace(FRESH, busy_until=1425)
    assert Horizon().is_caught_up(cluster(Phase.HYBRID, offset=1424), idle, NOW_MS)
    assert not Horizon().is_caught_up(cluster(Phase.HYBRID, offset=1423), idle, NOW_MS)
    fetching = replace(idle, next_offset=1439)
    assert not Horizon().is_caught_up(cluster(Phase.HYBRID, offset=1424), fetching, NOW_MS)


def test_another_metadata_log_is_read_from_its_beginning() -> None:
    """What was read of the log before says nothing of it, however far that went."""
    horizon = Horizon()
    read = cluster(Phase.HYBRID, offset=1439)
    assert horizon.is_caught_up(read, FRESH, NOW_MS)
    begun = replace(FRESH, log=2, high_watermark=10)
    assert not horizon.is_caught_up(read, begun, NOW_MS)
    stepped = replace(read, metadata_log=2, metadata_offset=None)
    assert not horizon.is_caught_up(stepped, begun, NOW_MS)
    assert not horizon.is_caught_up(replace(stepped, metadata_offset=8), begun, NOW_MS)
    assert horizon.is_caught_up(replace(stepped, metadata_offset=9), begun, NOW_MS)


def test_no_high_watermark_is_not_caught_up() -> None:
    unknown = replace(FRESH, high_watermark=None)
    assert not Horizon().is_caught_up(cluster(Phase.HYBRID), unknown, NOW_MS)
    finished = replace(unknown, finished=True)
    assert Horizon().is_caught_up(cluster(Phase.HYBRID), finished, NOW_MS)


def journalled(last: int, read: int) -> Snapshot:
    return replace(HYBRID, journals={"zookeeper": Journalled(last=last, read=read)})


def test_what_a_source_saw_and_the_job_does_not_take_in_is_not_known() -> None:
    """A query that hangs: its sources report, and nothing reaches the store."""
    horizons = Horizons()
    assert not horizons.unread(journalled(7, 7), NOW_MS)
    assert not horizons.unread(journalled(9, 7), NOW_MS + 1_000)
    assert not horizons.unread(journalled(12, 7), NOW_MS + 16_000)
    later = replace(journalled(12, 7), status=replace(FRESH, observed_ms=NOW_MS + 16_000))
    assert horizons.unread(later, NOW_MS + 16_001) == {
        DataSource.ZOOKEEPER: "journaled facts have not been processed yet"
    }
    assert not horizons.unread(journalled(13, 12), NOW_MS + 17_000)


def test_what_was_journalled_before_watching_began_must_be_taken_in() -> None:
    assert DataSource.ZOOKEEPER in Horizons().unread(journalled(7, 6), NOW_MS)


def test_a_log_that_is_not_followed_is_not_read() -> None:
    absent = replace(HYBRID, status=replace(FRESH, high_watermark=None))
    assert DataSource.METADATA_LOG in Horizons().unread(absent, NOW_MS)


def test_a_journal_that_could_not_be_read_once_is_not_waited_for_ever() -> None:
    horizons = Horizons()
    assert DataSource.ZOOKEEPER in horizons.unread(journalled(2**63, 0), NOW_MS)
    assert not horizons.unread(journalled(4, 4), NOW_MS + 1_000)

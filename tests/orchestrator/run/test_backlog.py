"""Everything that was there when watching began, and nothing unread for long."""

from dataclasses import replace

from migration.assessment.conditions import DataSource
from migration.assessment.snapshot import Journal
from migration.image.summary import ClusterSummary, Phase
from migration.observed.source_status import SourceStatus
from orchestrator.run.backlog import Backlogs
from orchestrator.run.cluster_read import ClusterRead
from tests.scenes.night import FRESH, HYBRID, NOW_MS, cluster


class Log:
    """The metadata log's backlog alone."""

    def __init__(self) -> None:
        self._backlogs = Backlogs()

    def is_caught_up(self, summary: ClusterSummary, status: SourceStatus, now_ms: int) -> bool:
        one = replace(HYBRID, summary=summary, status=status)
        return DataSource.METADATA_LOG not in self._backlogs.unread(one, now_ms)


def test_what_was_committed_at_the_beginning_must_be_read() -> None:
    log = Log()
    early = cluster(Phase.HYBRID, offset=100)
    assert not log.is_caught_up(early, FRESH, NOW_MS)
    assert not log.is_caught_up(cluster(Phase.HYBRID, offset=1438), FRESH, NOW_MS)
    assert log.is_caught_up(cluster(Phase.HYBRID, offset=1439), FRESH, NOW_MS)


def test_trailing_by_a_moment_is_the_present() -> None:
    log = Log()
    read = cluster(Phase.HYBRID, offset=1439)
    assert log.is_caught_up(read, FRESH, NOW_MS)
    ahead = replace(FRESH, high_watermark=1500)
    assert log.is_caught_up(read, ahead, NOW_MS + 1_000)
    assert log.is_caught_up(read, ahead, NOW_MS + 16_000)
    assert not log.is_caught_up(read, ahead, NOW_MS + 16_001)
    assert log.is_caught_up(cluster(Phase.HYBRID, offset=1499), ahead, NOW_MS + 20_000)


def test_no_op_records_at_the_end_are_not_waited_for() -> None:
    """An idle controller writes two a second; the job commits them in batches of 20."""
    idle = replace(FRESH, busy_until=1425)
    assert Log().is_caught_up(cluster(Phase.HYBRID, offset=1424), idle, NOW_MS)
    assert not Log().is_caught_up(cluster(Phase.HYBRID, offset=1423), idle, NOW_MS)
    fetching = replace(idle, next_offset=1439)
    assert not Log().is_caught_up(cluster(Phase.HYBRID, offset=1424), fetching, NOW_MS)


def test_another_metadata_log_is_read_from_its_beginning() -> None:
    """What was read of the log before says nothing of it, however far that went."""
    log = Log()
    read = cluster(Phase.HYBRID, offset=1439)
    assert log.is_caught_up(read, FRESH, NOW_MS)
    begun = replace(FRESH, log=2, high_watermark=10)
    assert not log.is_caught_up(read, begun, NOW_MS)
    stepped = replace(read, metadata_log=2, metadata_offset=None)
    assert not log.is_caught_up(stepped, begun, NOW_MS)
    assert not log.is_caught_up(replace(stepped, metadata_offset=8), begun, NOW_MS)
    assert log.is_caught_up(replace(stepped, metadata_offset=9), begun, NOW_MS)


def test_no_high_watermark_is_not_caught_up() -> None:
    unknown = replace(FRESH, high_watermark=None)
    assert not Log().is_caught_up(cluster(Phase.HYBRID), unknown, NOW_MS)
    finished = replace(unknown, finished=True)
    assert Log().is_caught_up(cluster(Phase.HYBRID), finished, NOW_MS)


def journalled(last: int, read: int) -> ClusterRead:
    return replace(HYBRID, journals={"zookeeper": Journal(last=last, read=read)})


def test_what_a_source_saw_and_the_job_does_not_take_in_is_not_known() -> None:
    """A query that hangs: its sources report, and nothing reaches the store."""
    backlogs = Backlogs()
    assert not backlogs.unread(journalled(7, 7), NOW_MS)
    assert not backlogs.unread(journalled(9, 7), NOW_MS + 1_000)
    assert not backlogs.unread(journalled(12, 7), NOW_MS + 16_000)
    later = replace(journalled(12, 7), status=replace(FRESH, observed_ms=NOW_MS + 16_000))
    assert backlogs.unread(later, NOW_MS + 16_001) == {
        DataSource.ZOOKEEPER: "journaled facts have not been processed yet"
    }
    assert not backlogs.unread(journalled(13, 12), NOW_MS + 17_000)


def test_what_was_journalled_before_watching_began_must_be_taken_in() -> None:
    assert DataSource.ZOOKEEPER in Backlogs().unread(journalled(7, 6), NOW_MS)


def test_a_log_that_is_not_followed_is_not_read() -> None:
    absent = replace(HYBRID, status=replace(FRESH, high_watermark=None))
    assert DataSource.METADATA_LOG in Backlogs().unread(absent, NOW_MS)


def test_a_journal_that_could_not_be_read_once_is_not_waited_for_ever() -> None:
    backlogs = Backlogs()
    unreadable = replace(HYBRID, journals={"zookeeper": Journal(last=None, read=0)})
    assert DataSource.ZOOKEEPER not in backlogs.unread(unreadable, NOW_MS), "`assess` judges that"
    assert not backlogs.unread(journalled(4, 4), NOW_MS + 1_000)

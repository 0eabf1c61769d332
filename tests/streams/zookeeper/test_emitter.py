"""The emitter reports a change once, delays heartbeats, and distinguishes recreated znodes."""

import pytest
from kazoo.protocol.states import ZnodeStat

from migration.observed.facts import ZnodeGone, ZnodeSeen, ZooKeeperFact
from migration.observed.znodes import CLUSTER_ID, CONTROLLER, MIGRATION, TOPIC_CONFIGS
from streams.process.background import REPORT_S
from streams.zookeeper.emitter import Emitter, Heartbeat
from streams.zookeeper.errors import AnotherCluster
from streams.zookeeper.known import Known
from tests.streams.zookeeper.test_heartbeat import migration
from tests.streams.zookeeper.watching import CLUSTER


def stat(mzxid: int, version: int = 0, czxid: int = 1) -> ZnodeStat:
    return ZnodeStat(czxid, mzxid, 0, 0, version, 0, 0, 0, 0, 0, czxid)


class Recorder:
    def __init__(self) -> None:
        self.now_ms = 1000
        self.facts: list[ZooKeeperFact] = []
        self.emitter = Emitter(Known(), self.facts.extend, lambda: self.now_ms)

    def found(self, path: str, data: bytes | None, at: ZnodeStat) -> list[ZooKeeperFact]:
        return self.new(lambda: self.emitter.update(path, data, at))

    def reported(self) -> Heartbeat | None:
        return self.emitter.heartbeat

    def tick(self, ms: int) -> list[ZooKeeperFact]:
        self.now_ms += ms
        return self.new(self.emitter.tick)

    def new(self, act: object) -> list[ZooKeeperFact]:
        before = len(self.facts)
        assert callable(act)
        act()
        return self.facts[before:]


def test_the_same_again_is_no_news() -> None:
    recorder = Recorder()
    assert recorder.found(CONTROLLER, None, stat(1)) == [
        ZnodeSeen(1000, CONTROLLER, b"", 0, 1, 0, 0)
    ]
    assert recorder.found(CONTROLLER, None, stat(1)) == []
    assert len(recorder.found(CONTROLLER, b"x", stat(2, 1))) == 1


def test_gone_is_told_once_and_only_of_what_was_there() -> None:
    recorder = Recorder()
    assert recorder.new(lambda: recorder.emitter.remove(CONTROLLER)) == []
    recorder.found(CONTROLLER, b"", stat(1))
    assert recorder.new(lambda: recorder.emitter.remove(CONTROLLER)) == [
        ZnodeGone(1000, CONTROLLER)
    ]
    assert recorder.new(lambda: recorder.emitter.remove(CONTROLLER)) == []


def test_the_same_transaction_with_other_content_is_news() -> None:
    """A ZooKeeper that was restored, or another ensemble, repeats transactions and versions."""
    recorder = Recorder()
    recorder.found(CONTROLLER, b"a", stat(1))
    assert len(recorder.found(CONTROLLER, b"b", stat(1))) == 1
    config = f"{TOPIC_CONFIGS}/orders"
    recorder.found(config, b'{"config":{"retention.ms":"1"}}', stat(1))
    assert recorder.found(config, b'{"config":{"retention.ms":"2"}}', stat(1))


def test_another_cluster_id_is_an_error_and_no_fact() -> None:
    recorder = Recorder()
    recorder.found(CLUSTER_ID, b"?", stat(1))
    recorder.found(CLUSTER_ID, CLUSTER, stat(2, 1))
    with pytest.raises(AnotherCluster) as caught:
        recorder.found(CLUSTER_ID, CLUSTER.replace(b"A", b"B"), stat(2, 1))
    assert caught.value.cluster_id == "B" * 22
    assert recorder.found(CLUSTER_ID, CLUSTER, stat(2, 1)) == []


def test_a_znode_created_anew_unseen_was_gone_in_between() -> None:
    recorder = Recorder()
    recorder.found(CONTROLLER, b"a", stat(7, version=2))
    facts = recorder.found(CONTROLLER, b"b", stat(9, czxid=8, version=1))
    assert [type(fact) for fact in facts] == [ZnodeGone, ZnodeSeen]


def test_a_zookeeper_that_lost_its_data_has_other_znodes() -> None:
    recorder = Recorder()
    recorder.found(CONTROLLER, b"a", stat(70, czxid=60))
    facts = recorder.found(CONTROLLER, b"a", stat(3, czxid=3))
    assert [type(fact) for fact in facts] == [ZnodeGone, ZnodeSeen]


def test_heartbeats_are_emitted_twice_a_minute_and_reported_at_once() -> None:
    recorder = Recorder()
    recorder.found(MIGRATION, migration(1), stat(1))
    emitted = 0
    for beat in range(1, 481):
        recorder.now_ms += 500
        emitted += len(recorder.found(MIGRATION, migration(1 + beat), stat(1 + beat, beat)))
        reported = recorder.reported()
        assert reported is not None
        assert (reported.znode.offset, reported[1:3]) == (1 + beat, (beat, 1 + beat))
        # ZooKeeper's clock is far behind: the write was after the last reading.
        assert reported.znode.written_ms == recorder.now_ms - 500
    assert emitted == 8


def test_only_a_complete_copy_has_heartbeats() -> None:
    recorder = Recorder()
    recorder.found(MIGRATION, migration(-1), stat(1))
    assert recorder.reported() is None
    recorder.found(MIGRATION, migration(9), stat(2, 1))
    reported = recorder.reported()
    assert reported
    assert (reported.znode.offset, reported.mzxid) == (9, 2)
    recorder.found(MIGRATION, b"?", stat(3, 2))
    assert recorder.reported() is None
    recorder.found(MIGRATION, migration(11), stat(4, 3))
    recorder.new(lambda: recorder.emitter.remove(MIGRATION))
    assert recorder.reported() is None


def test_a_beat_that_cannot_be_parsed_is_emitted_at_once() -> None:
    """Until its fact, a gate would read the content before it."""
    recorder = Recorder()
    recorder.found(MIGRATION, migration(1), stat(1))
    assert recorder.found(MIGRATION, migration(2), stat(2, 1)) == []
    facts = recorder.found(MIGRATION, migration(3, kraft_metadata_epoch="x"), stat(3, 2))
    assert [fact.mzxid for fact in facts if isinstance(fact, ZnodeSeen)] == [2, 3]
    assert recorder.reported() is None


def test_another_content_in_the_same_transaction_is_reported() -> None:
    """Of a ZooKeeper that was restored: its transactions and versions repeat."""
    recorder = Recorder()
    recorder.found(MIGRATION, migration(1), stat(1))
    assert len(recorder.found(MIGRATION, migration(1, kraft_controller_id=7), stat(1))) == 1
    reported = recorder.reported()
    assert reported is not None
    assert reported.znode.controller_id == 7


def test_another_znode_begins_anew() -> None:
    """It was restored from a backup: when it was written is what ZooKeeper says."""
    recorder = Recorder()
    recorder.now_ms = 7_200_000
    recorder.found(MIGRATION, migration(9), stat(50))
    recorder.found(MIGRATION, migration(3), stat(20))
    reported = recorder.reported()
    assert reported
    assert (reported.mzxid, reported.znode.written_ms) == (20, 0)


def test_a_delayed_heartbeat_is_no_later_write() -> None:
    """ZooKeeper's clock is ahead, and dual write stopped before the fact."""
    recorder = Recorder()
    recorder.found(MIGRATION, migration(1), stat(1))
    ahead = stat(2, 1)._replace(mtime=900_000)
    recorder.found(MIGRATION, migration(2), ahead)
    recorder.now_ms += 500
    recorder.found(MIGRATION, migration(2), ahead)  # the same write, read again
    (late,) = recorder.tick(59_500)
    assert isinstance(late, ZnodeSeen)
    assert (late.mtime_ms, late.seen_ms) == (1000, 61_000)
    again = Emitter(Known(recorder.facts), recorder.facts.extend, lambda: 70_000)
    assert again.heartbeat is not None
    assert again.heartbeat.znode.written_ms == 1000


def test_a_heartbeat_is_known_after_a_restart() -> None:
    recorder = Recorder()
    recorder.found(MIGRATION, migration(7), stat(4))
    again = Emitter(Known(recorder.facts), recorder.facts.extend, lambda: recorder.now_ms)
    assert again.heartbeat == recorder.reported()


def test_the_last_beat_is_told_although_no_other_follows() -> None:
    recorder = Recorder()
    recorder.found(MIGRATION, migration(1), stat(1))
    assert recorder.found(MIGRATION, migration(2), stat(2, 1)) == []
    assert recorder.tick(REPORT_S * 1000 - 1001) == []
    (late,) = recorder.tick(1)
    assert isinstance(late, ZnodeSeen)
    assert (late.version, late.data, late.seen_ms) == (1, migration(2), recorder.now_ms)
    assert recorder.tick(REPORT_S * 1000) == []


def test_a_change_comes_after_the_heartbeat_before_it() -> None:
    """The content before the change may have to be restored."""
    recorder = Recorder()
    recorder.found(MIGRATION, migration(1), stat(1))
    recorder.found(MIGRATION, migration(2), stat(2, 1))
    before, changed = recorder.found(MIGRATION, b"", stat(3, 2))
    assert isinstance(before, ZnodeSeen)
    assert isinstance(changed, ZnodeSeen)
    assert (before.data, changed.data) == (migration(2), b"")
    assert recorder.tick(REPORT_S * 1000) == []


def test_deletion_comes_after_the_heartbeat_before_it() -> None:
    recorder = Recorder()
    recorder.found(MIGRATION, migration(1), stat(1))
    recorder.found(MIGRATION, migration(2), stat(2, 1))
    before, gone = recorder.new(lambda: recorder.emitter.remove(MIGRATION))
    assert isinstance(before, ZnodeSeen)
    assert (before.data, type(gone)) == (migration(2), ZnodeGone)
    assert recorder.tick(REPORT_S * 1000) == []


def test_a_beat_that_is_held_comes_before_a_new_controller() -> None:
    """The offset that a controller found when it took over is the current one, not minutes old."""
    recorder = Recorder()
    recorder.found(MIGRATION, migration(1), stat(1))
    recorder.found(MIGRATION, migration(2), stat(2, 1))
    beat, claim = recorder.found(CONTROLLER, b"{}", stat(3, czxid=3))
    assert isinstance(beat, ZnodeSeen)
    assert isinstance(claim, ZnodeSeen)
    assert (beat.data, claim.path) == (migration(2), CONTROLLER)
    assert recorder.tick(REPORT_S * 1000) == []


def test_a_clock_that_was_set_back_holds_nothing() -> None:
    recorder = Recorder()
    recorder.now_ms = 60_000
    recorder.found(MIGRATION, migration(1), stat(1))
    recorder.now_ms = 10
    assert len(recorder.found(MIGRATION, migration(2), stat(2, 1))) == 1

"""The rollback, and the effect of an attempt's leftovers on the next attempt."""

from dataclasses import replace

import pytest

from migration.assessment.assess import Snapshot, assess
from migration.assessment.conditions import Execution, SettingsSeen
from migration.assessment.currency import CURRENT, Currency, is_log_over
from migration.assessment.data_source import DataSource
from migration.assessment.hazards import Action, HazardKind, hazards
from migration.assessment.polled import NOT_POLLED
from migration.assessment.waits import WaitKind
from migration.image.advance import Batch, advance
from migration.image.cluster import Broker, ClusterImage, Gone, Provenance, summarize
from migration.image.phases import MIGRATION, NONE, PRE_MIGRATION, MigrationState
from migration.image.summary import Mode, Phase
from migration.metadata.directory_ids import DirectoryId
from migration.metadata.events import Moment, Source
from migration.metadata.records import RegisterBroker, Stamped, ZkMigrationState
from migration.metadata.transactions import Admission
from migration.observed.facts import ZnodeGone, ZooKeeperBlind, ZooKeeperSeen
from migration.observed.source_status import SourceStatus
from migration.observed.topic_facts import ZkTopicChanged
from tests.migration.observed.test_zookeeper import controller, kinds_of, migration, observed, znode
from tests.support.assessing import waits

NOW = 1_790_000_000_000
SEEN = ZooKeeperSeen(1000, "z:2181", 5, None, 1)
STALE = SourceStatus(observed_ms=NOW - 100, last_reply_ms=NOW - 60_000, endpoint="c1:9093")
_END = Provenance(offset=4, epoch=1, timestamp_ms=9600)
_LATER = Provenance(offset=5, epoch=1, timestamp_ms=9700)
IN_PRE_MIGRATION = ClusterImage(
    migration_state=MigrationState().now(PRE_MIGRATION, 5000),
    provenance=Provenance(offset=41, epoch=1, timestamp_ms=6000),
)


def appeared(topic: str, at_ms: int) -> ZkTopicChanged:
    return ZkTopicChanged(at_ms, "appeared", at_ms, topic, "", None, 3, 0, (), None)


def vanished(topic: str, at_ms: int) -> ZkTopicChanged:
    return ZkTopicChanged(at_ms, "vanished", None, topic, "", 3, None, 0, (), None)


def registered(broker: int, mode: Mode) -> Broker:
    return Broker(
        id=broker,
        epoch=7,
        incarnation=b"0123456789abcdef",
        mode=mode,
        fenced=False,
        in_controlled_shutdown=False,
        log_dirs=(),
        registered=Moment(offset=7, timestamp_ms=100),
        held=False,
    )


def rolled_back() -> ClusterImage:
    copied = ClusterImage(
        migration_state=MigrationState().now(MIGRATION, 5000),
        provenance=Provenance(offset=287, epoch=1, timestamp_ms=6000),
        brokers={
            1: registered(1, Mode.MIGRATING),
            2: registered(2, Mode.MIGRATING),
            3: registered(3, Mode.KRAFT),
        },
    )
    image, events = observed(
        SEEN,
        znode("/brokers/ids/1", {"host": "h1"}),
        controller(3000, 1, at_ms=4900),
        migration(287),
        ZnodeGone(8000, "/controller"),
        controller(1, at_ms=9000),
        image=copied,
    )
    assert [fields for kind, fields in events if kind == "phase_changed"] == [
        {"was": "hybrid", "now": "rolled-back"}
    ]
    return image


def test_while_brokers_pass_the_controller_on_nothing_changes() -> None:
    image, events = observed(
        ZnodeGone(9500, "/controller"), controller(2, at_ms=9510), image=rolled_back()
    )
    assert image.phase is Phase.ROLLED_BACK
    assert kinds_of(events) == ["zk_controller_gone", "zk_controller_changed"]


def test_a_kraft_controllers_znode_that_goes_is_no_roll_back_yet() -> None:
    image, _ = observed(
        controller(3000, 1, at_ms=4900),
        ZnodeGone(8000, "/controller"),
        image=replace(rolled_back(), zookeeper=None),
    )
    assert image.phase is Phase.HYBRID


def test_registrations_for_migration_say_only_the_mode_until_the_broker_restarts() -> None:
    brokers = {each.id: each for each in summarize("c", rolled_back()).brokers}
    assert (brokers[1].mode, brokers[1].epoch, brokers[1].host) == (Mode.MIGRATING, None, "h1")
    # Broker 2 is being restarted; broker 3 is in KRaft mode still, and not in ZooKeeper.
    assert 2 not in brokers
    assert (brokers[3].mode, brokers[3].epoch) == (Mode.KRAFT, 7)
    back, _ = observed(znode("/brokers/ids/3", {"host": "h3"}), image=rolled_back())
    assert summarize("c", back).brokers[-1].mode is Mode.ZOOKEEPER


def test_a_broker_in_migration_mode_is_shown_so_until_it_writes_its_znode_again() -> None:
    gone, _ = observed(ZnodeGone(9500, "/brokers/ids/1"), image=rolled_back())
    back, _ = observed(znode("/brokers/ids/1", {"host": "h1"}, at_ms=9600), image=gone)
    assert summarize("c", back).brokers[0].mode is Mode.ZOOKEEPER


def after_rollback(
    image: ClusterImage, polled: SettingsSeen | None = None, execution: Execution | None = None
) -> str:
    """Return the headline of a cluster with broker 1 alone, without /migration."""
    left = replace(image, brokers={1: image.brokers[1]})
    gone, _ = observed(ZnodeGone(9800, "/migration"), image=left)
    answers = SourceStatus(observed_ms=NOW, last_reply_ms=NOW, whole_since_ms=1000)
    sources = {DataSource.METADATA_LOG: STALE, DataSource.ZOOKEEPER: answers}
    snapshot = Snapshot(
        summary=summarize("c", gone),
        now_ms=NOW,
        stall_after_ms=60_000,
        configured=frozenset(sources),
        sources=sources,
        polled=NOT_POLLED if polled is None else replace(NOT_POLLED, settings=polled),
        execution=execution,
    )
    return assess(snapshot).next.text


def test_an_expired_session_does_not_complete_the_rollback() -> None:
    """The broker, still in migration mode, creates its znode again, as after a restart."""
    assert after_rollback(rolled_back()) == "Restart broker 1 in ZooKeeper mode"
    second = znode("/brokers/ids/1", {"host": "h1"}, at_ms=9950)
    image, _ = observed(ZnodeGone(9900, "/brokers/ids/1"), second, image=rolled_back())
    check = "Check that broker 1 runs in ZooKeeper mode"
    assert after_rollback(image) == check
    for at_ms, mode, headline in (
        (9940, Mode.ZOOKEEPER, check),
        (9960, Mode.MIGRATING, check),
        (9960, Mode.ZOOKEEPER, "Nothing to do: the rollback is complete"),
    ):
        assert after_rollback(image, SettingsSeen(at_ms=at_ms, modes={1: mode})) == headline
    ended = Execution(at_ms=NOW, checkpoint=None, outcome="rolled-back")
    for at_ms, headline in ((9940, check), (9960, "Nothing to do: the rollback is complete")):
        by_run = replace(ended, in_zookeeper_mode={1: at_ms})
        assert after_rollback(image, execution=by_run) == headline
        later = SettingsSeen(at_ms=9970, modes={1: Mode.MIGRATING})
        assert after_rollback(image, later, by_run) == check


def test_changed_listeners_do_not_complete_the_rollback() -> None:
    wrote = znode("/brokers/ids/1", {"host": "moved"}, at_ms=9950)._replace(version=1)
    image, _ = observed(wrote, image=rolled_back())
    assert after_rollback(image) == "Restart broker 1 in ZooKeeper mode"


def registration(offset: int, mode: Mode) -> tuple[Stamped, Admission]:
    record = RegisterBroker(
        broker_id=1,
        broker_epoch=offset,
        incarnation_id=offset.to_bytes(16, "big"),
        is_migrating_zk_broker=mode is Mode.MIGRATING,
        rack=None,
        fenced=False,
        in_controlled_shutdown=False,
        log_dirs=(),
    )
    return Stamped(offset, 1000 * offset, record), Admission.NOW


@pytest.mark.parametrize(
    ("modes", "urged"),
    [
        ((Mode.MIGRATING,), WaitKind.BROKER_IN_ZOOKEEPER_MODE),
        ((Mode.MIGRATING, Mode.MIGRATING), WaitKind.BROKER_IN_ZOOKEEPER_MODE),
        ((Mode.KRAFT, Mode.MIGRATING), WaitKind.ROLLING_BACK),
        ((Mode.KRAFT, Mode.MIGRATING, Mode.MIGRATING), WaitKind.ROLLING_BACK),
    ],
)
def test_once_a_broker_left_kraft_mode_no_broker_is_urged_there(
    modes: tuple[Mode, ...], urged: WaitKind
) -> None:
    image = ClusterImage(
        migration_state=MigrationState().now(MIGRATION, 1),
        brokers={2: registered(2, Mode.MIGRATING)},
    )
    records = [registration(at, mode) for at, mode in enumerate(modes, start=10)]
    end = Provenance(offset=20, epoch=1, timestamp_ms=20_000)
    batch = Batch(log=1, start=10, end=end, records=records, reports={})
    image, _ = advance(image, batch)
    current = SourceStatus(observed_ms=NOW, last_reply_ms=NOW, high_watermark=21)
    found = waits(summarize("c", image), current, NOW, 300_000)
    kinds = {each.kind for each in found}
    both = {WaitKind.ROLLING_BACK, WaitKind.BROKER_IN_ZOOKEEPER_MODE}
    assert kinds & both == {urged}
    if urged is WaitKind.ROLLING_BACK:
        assert not any("restart it in KRaft mode" in each.text for each in found)
    ahead = registration(21, Mode.KRAFT)
    end = Provenance(offset=21, epoch=1, timestamp_ms=21_000)
    image, _ = advance(image, Batch(log=1, start=21, end=end, records=[ahead], reports={}))
    found = waits(summarize("c", image), current, NOW, 300_000)
    assert {each.kind for each in found} & both == {WaitKind.BROKER_IN_ZOOKEEPER_MODE}


def test_controllers_that_are_gone_are_not_waited_for() -> None:
    summary = summarize("c", rolled_back())
    found = waits(summary, STALE, NOW, 300_000)
    assert [each.kind for each in found] == [WaitKind.ROLLED_BACK]
    assert found[0].text.endswith("delete /migration first")
    cleared, _ = observed(ZnodeGone(9900, "/migration"), image=rolled_back())
    (wait,) = waits(summarize("c", cleared), STALE, NOW, 300_000)
    assert wait.text == (
        "the next attempt: a broker in ZooKeeper mode is the controller again;"
        " restart brokers 1, 3 in ZooKeeper mode first"
    )


def test_what_only_zookeeper_can_tell_is_not_taken_from_a_lost_view_of_it() -> None:
    blind, _ = observed(ZooKeeperBlind(9900, "lost"), image=rolled_back())
    summary = summarize("c", blind)
    assert not is_log_over(summary)
    assert [each.kind for each in waits(summary, STALE, NOW, 300_000)] == [WaitKind.STALE_DATA]


def test_a_copy_of_a_log_that_was_not_read_is_no_earlier_attempts() -> None:
    """A log without records is in the phase before the migration only once its end is known."""
    why = {DataSource.METADATA_LOG: "it was not read yet"}
    unread = Currency(not_current=why, log_was_read=False)
    image, _ = observed(SEEN, controller(3000, 1), migration(287), image=ClusterImage())
    assert hazards(summarize("c", image), NOW, unread) == ()
    read = Currency(last_ms={DataSource.METADATA_LOG: NOW})
    assert hazards(summarize("c", image), NOW, read)
    image, _ = observed(controller(1, at_ms=9000), image=image)
    (hazard,) = hazards(summarize("c", image), NOW, unread)
    assert hazard.kind is HazardKind.STALE_MIGRATION_ZNODE


def takeover(found: int) -> ClusterImage:
    """A fresh quorum, in its phase before the copy, claims /controller."""
    image, _ = observed(SEEN, controller(1), migration(found), image=IN_PRE_MIGRATION)
    return image


def test_a_quorum_that_finds_a_copy_skips_it_and_that_is_told_at_once() -> None:
    image, events = observed(
        ZnodeGone(6990, "/controller"), controller(3000, 1, at_ms=7000), image=takeover(287)
    )
    assert ("copy_skipped", {"controller": 3000, "metadata_offset": 287}) in events
    (hazard,) = hazards(summarize("c", image), NOW, CURRENT)
    assert (hazard.kind, hazard.blocks) == (HazardKind.STALE_MIGRATION_ZNODE, Action.MIGRATE)
    assert "passes offset 287, it deletes every topic" in hazard.text
    assert any("its metadata log is at 41" in line for line in hazard.evidence)
    _, again = observed(migration(288, at_ms=7500), controller(3001, 2, at_ms=8000), image=image)
    assert "copy_skipped" not in kinds_of(again)


def test_a_takeover_that_is_seen_before_its_log_skipped_the_copy_too() -> None:
    """The log's reader may reconnect after ZooKeeper's has reported the new controller."""
    ahead, events = observed(controller(3000, 1, at_ms=9500), image=rolled_back())
    assert "copy_skipped" not in kinds_of(events)
    fresh, _ = advance(ahead, Batch(log=2, start=288, end=_END, records=[], reports={}))
    began = (Stamped(4, 9600, ZkMigrationState(PRE_MIGRATION)), Admission.NOW)
    image, reported = advance(fresh, Batch(log=2, start=0, end=_END, records=[began], reports={}))
    (skipped,) = (each for each in reported if each.kind == "copy_skipped")
    assert skipped.fields == {"controller": 3000, "metadata_offset": 287}
    assert (skipped.source, skipped.offset) == (Source.ZOOKEEPER, None)
    _, again = advance(image, Batch(log=2, start=5, end=_LATER, records=[], reports={}))
    assert again == ()


def blind_takeover() -> ClusterImage:
    """A quorum claimed /controller while ZooKeeper was not read."""
    return observed(
        ZooKeeperBlind(6000, "lost"),
        controller(3000, 1, at_ms=7000),
        SEEN._replace(seen_ms=7500),
        image=takeover(287),
    )[0]


def test_a_takeover_that_nobody_saw_is_proven_by_the_log() -> None:
    """Its log passes the offset and is still in PRE_MIGRATION; then it deletes the topics."""
    end = Provenance(offset=290, epoch=1, timestamp_ms=8000)
    image, _ = advance(blind_takeover(), Batch(log=1, start=42, end=end, records=[], reports={}))
    image, events = observed(vanished("t1", 8100), vanished("t2", 8110), image=image)
    assert {"copy_skipped", "zookeeper_wiped"} <= set(kinds_of(events))
    (hazard,) = hazards(summarize("c", image), NOW, CURRENT)
    assert (hazard.kind, hazard.blocks) == (HazardKind.ZOOKEEPER_WIPED, Action.RESTART)


def test_the_log_of_an_earlier_quorum_proves_nothing() -> None:
    """It may be longer than that of the quorum that made the copy, which is not read yet."""
    end = Provenance(offset=290, epoch=1, timestamp_ms=8000)
    image, _ = advance(blind_takeover(), Batch(log=1, start=42, end=end, records=[], reports={}))
    image, events = observed(migration(283, at_ms=8000 + 60_001), image=image)
    image, more = observed(vanished("t1", 68_100), image=image)
    assert not {"copy_skipped", "zookeeper_wiped"} & set(kinds_of(events + more))


def test_before_the_wipe_a_takeover_that_nobody_saw_blocks_restarts() -> None:
    summary = summarize("c", blind_takeover())
    assert hazards(summary, NOW, Currency(last_ms={DataSource.METADATA_LOG: 6000})) == ()
    now = Currency(last_ms={DataSource.METADATA_LOG: NOW})
    (hazard,) = hazards(summary, NOW, now)
    assert hazard.kind is HazardKind.STALE_MIGRATION_ZNODE
    assert (hazard.blocks, hazard.also_blocks) == (Action.MIGRATE, Action.RESTART)


def test_topics_that_go_then_were_wiped() -> None:
    image, _ = observed(controller(3000, 1, at_ms=7000), image=takeover(287))
    image, events = observed(*(vanished(f"t{n}", 8000 + n) for n in range(30)), image=image)
    assert kinds_of(events).count("zookeeper_wiped") == 1
    assert image.wiped is not None
    assert (image.wiped.controller, image.wiped.gone.since_ms) == (3000, 8000)
    assert image.wiped.gone.topics == 30
    assert image.wiped.gone.named == tuple(f"t{n}" for n in range(20))
    (hazard,) = hazards(summarize("c", image), NOW, CURRENT)
    assert (hazard.kind, hazard.blocks) == (HazardKind.ZOOKEEPER_WIPED, Action.RESTART)
    assert "deleted 30 topics from ZooKeeper" in hazard.text
    # It stays said when a broker has the controller again, until a copy is made.
    image, _ = observed(controller(2, at_ms=9000), ZnodeGone(9001, "/migration"), image=image)
    assert [each.kind for each in hazards(summarize("c", image), NOW, CURRENT)] == [
        HazardKind.ZOOKEEPER_WIPED
    ]
    end = Provenance(offset=43, epoch=1, timestamp_ms=10_000)
    copy = (Stamped(43, 10_000, ZkMigrationState(MIGRATION)), Admission.NOW)
    image, _ = advance(image, Batch(log=1, start=42, end=end, records=[copy], reports={}))
    assert image.wiped is None


def lost_in_hybrid(found: int, claimed_ms: int) -> ClusterImage:
    """A quorum that found `found` in /migration made a copy; then its log is lost for a new one."""
    copied = replace(
        IN_PRE_MIGRATION,
        migration_state=MigrationState().now(MIGRATION, 7200),
        zookeeper=observed(controller(3000, 1, at_ms=claimed_ms), image=takeover(found))[
            0
        ].zookeeper,
    )
    image, _ = observed(migration(300, at_ms=7500), image=copied)
    image, _ = advance(image, Batch(log=2, start=42, end=_END, records=[], reports={}))
    began = (Stamped(4, 9600, ZkMigrationState(PRE_MIGRATION)), Admission.NOW)
    return advance(image, Batch(log=2, start=0, end=_END, records=[began], reports={}))[0]


@pytest.mark.parametrize("found", [-1, 287])
def test_a_quorum_whose_log_was_lost_skips_the_copy_of_its_own_earlier_log(found: int) -> None:
    """Nobody else claims /controller: the new log's controllers do, with the next epoch."""
    image = lost_in_hybrid(found, claimed_ms=7000)
    (hazard,) = hazards(summarize("c", image), NOW, CURRENT)
    assert hazard.kind is HazardKind.STALE_MIGRATION_ZNODE
    assert "passes offset 300, it deletes every topic" in hazard.text
    later, _ = observed(migration(340, at_ms=9650), image=image)
    (hazard,) = hazards(summarize("c", later), NOW, CURRENT)
    assert "passes offset 340, it deletes every topic" in hazard.text
    image, events = observed(
        controller(3000, 2, at_ms=9700),
        vanished("t1", 9800),
        migration(310, at_ms=9900),
        image=image,
    )
    assert "zookeeper_wiped" in kinds_of(events)
    (hazard,) = hazards(summarize("c", image), NOW, CURRENT)
    assert (hazard.kind, hazard.blocks) == (HazardKind.ZOOKEEPER_WIPED, Action.RESTART)


def test_a_claim_that_is_known_before_its_log_may_be_that_of_an_honest_quorum() -> None:
    """A controller of the new log claimed /controller, perhaps with a copy: its log shows it."""
    image = lost_in_hybrid(-1, claimed_ms=9700)
    assert hazards(summarize("c", image), NOW, Currency(log_was_read=False)) == ()
    end = Provenance(offset=302, epoch=1, timestamp_ms=9900)
    image, _ = advance(image, Batch(log=2, start=5, end=end, records=[], reports={}))
    image, events = observed(vanished("t1", 9950), image=image)
    assert {"copy_skipped", "zookeeper_wiped"} <= set(kinds_of(events))


def test_a_quorum_that_creates_the_migration_znode_makes_a_copy() -> None:
    """The operator deleted it before the new log's controllers claimed /controller."""
    image = lost_in_hybrid(-1, claimed_ms=7000)
    image, events = observed(
        ZnodeGone(9610, "/migration"),
        controller(3000, 2, at_ms=9700),
        migration(-1, at_ms=9710),
        vanished("deleted by hand", 9720),
        image=image,
    )
    assert hazards(summarize("c", image), NOW, CURRENT) == ()
    assert "zookeeper_wiped" not in kinds_of(events)


def wiped_and_restored(*back: str) -> ClusterImage:
    """Three topics were wiped; a broker has the controller again, and those in `back` are back."""
    image, _ = observed(controller(3000, 1, at_ms=7000), image=takeover(287))
    image, _ = observed(*(vanished(f"t{n}", 8000 + n) for n in range(3)), image=image)
    return observed(
        ZnodeGone(20_000, "/controller"),
        ZnodeGone(20_000, "/migration"),
        *(appeared(each, 21_000) for each in back),
        znode("/brokers/ids/1", {"host": "h1"}, at_ms=22_000),
        controller(1, at_ms=22_500),
        image=image,
    )[0]


def test_a_wipe_ends_with_its_way_out() -> None:
    """Its hazard blocks restarts; the copy, which also ends it, needs them."""
    image = wiped_and_restored("t0", "t1", "t2")
    assert image.wiped is None
    end = replace(_END, timestamp_ms=NOW)
    image, _ = advance(image, Batch(log=2, start=42, end=end, records=[], reports={}))
    began = (Stamped(4, NOW, ZkMigrationState(PRE_MIGRATION)), Admission.NOW)
    image, _ = advance(image, Batch(log=2, start=0, end=end, records=[began], reports={}))
    assert hazards(summarize("c", image), NOW, CURRENT) == ()


def test_a_cluster_that_never_had_zookeeper_was_in_no_phase_before() -> None:
    first = (Stamped(4, 9600, ZkMigrationState(NONE)), Admission.NOW)
    batch = Batch(log=1, start=0, end=_END, records=[first], reports={})
    _, events = advance(ClusterImage(), batch)
    (changed,) = (each.fields for each in events if each.kind == "phase_changed")
    assert changed == {"now": "kraft"}


def test_what_was_recreated_before_a_rollback_remains_reported() -> None:
    image = rolled_back()
    gone = Gone(
        directories=(DirectoryId(bytes(16)),), pending=5, at=Moment(offset=8, timestamp_ms=4000)
    )
    brokers = {1: replace(registered(1, Mode.MIGRATING), gone=gone)}
    for at_ms in (50, 10_000):  # of the znode: the same process, and another one
        wrote = znode("/brokers/ids/1", {"host": "h1"}, at_ms=at_ms)
        now, _ = observed(wrote, image=replace(image, brokers=brokers))
        assert now.phase is Phase.ROLLED_BACK
        found = {each.kind for each in hazards(summarize("c", now), NOW, CURRENT)}
        assert HazardKind.REPLICAS_RECREATED in found


def test_a_kraft_cluster_below_metadata_version_3_4_writes_no_migration_state() -> None:
    """FeaturesImage.write"""
    record = RegisterBroker(1, False, bytes(16), 1, None, False, False, ())
    batch = Batch(
        log=1, start=0, end=_END, records=[(Stamped(4, 9600, record), Admission.NOW)], reports={}
    )
    image, events = advance(ClusterImage(), batch)
    assert image.phase is Phase.KRAFT
    (changed,) = (each.fields for each in events if each.kind == "phase_changed")
    assert changed == {"now": "kraft"}


@pytest.mark.parametrize("back", [("t0", "t1"), ("t0", "t1", "new"), ("t0", "t1", "t1")])
def test_a_wipe_lasts_while_one_of_its_topics_is_missing(back: tuple[str, ...]) -> None:
    image = wiped_and_restored(*back)
    (hazard,) = hazards(summarize("c", image), NOW, CURRENT)
    assert hazard.kind is HazardKind.ZOOKEEPER_WIPED
    assert hazard.evidence == ("topic t2 is missing from /brokers/topics",)


def test_a_wipe_lasts_until_a_broker_is_the_controller_without_a_migration_znode() -> None:
    image, _ = observed(controller(3000, 1, at_ms=7000), image=takeover(287))
    image, _ = observed(vanished("t", 8000), appeared("t", 21_000), image=image)
    for way in (ZnodeGone(22_000, "/controller"), controller(1, at_ms=22_500)):
        (hazard, *_) = hazards(summarize("c", image), NOW, CURRENT)
        assert "are back, but no ZooKeeper broker is the controller, or" in hazard.text
        image, _ = observed(way, image=image)
    blind, _ = observed(
        ZooKeeperBlind(23_000, "lost"), ZnodeGone(24_000, "/migration"), image=image
    )
    assert blind.wiped is not None
    assert observed(SEEN._replace(seen_ms=25_000), image=blind)[0].wiped is None


def test_topics_that_went_before_the_takeover_was_seen_were_wiped_too() -> None:
    """The watch reports the deletions at once; the owner of /controller is known after a read."""
    image, _ = observed(vanished("deleted by hand", 1000), image=takeover(33))
    image, events = observed(
        vanished("t1", 6900),
        vanished("t2", 6950),
        controller(3000, 1, at_ms=7000),
        vanished("t3", 7100),
        image=image,
    )
    assert kinds_of(events).count("zookeeper_wiped") == 1
    assert image.wiped is not None
    assert image.wiped.gone.named == ("t1", "t2", "t3")


@pytest.mark.parametrize(
    ("image", "why"),
    [
        (takeover(-1), "there was no copy to be found: it will make one"),
        (replace(takeover(287), migration_state=MigrationState().now(MIGRATION, 1)), "it made it"),
        (
            observed(ZooKeeperBlind(6000, "lost"), image=takeover(287))[0],
            "it may have been deleted",
        ),
        (observed(ZnodeGone(6000, "/migration"), image=takeover(287))[0], "it was deleted"),
        (replace(IN_PRE_MIGRATION, zookeeper=None), "nobody saw the takeover"),
    ],
)
def test_else_no_copy_was_skipped(image: ClusterImage, why: str) -> None:
    image, events = observed(
        controller(3000, 1, at_ms=7000), migration(300, at_ms=7100), image=image
    )
    image, more = observed(vanished("t", 8000), image=image)
    assert not {"copy_skipped", "zookeeper_wiped"} & set(kinds_of(events + more)), why
    assert image.wiped is None

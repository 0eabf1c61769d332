"""What znodes mean: controllers, the copy, brokers, notifications, content that says nothing."""

import json
from collections.abc import Iterable

import pytest

from migration.image.cluster import ClusterImage, summarize
from migration.image.observe import observe
from migration.image.phases import MIGRATION, PRE_MIGRATION, MigrationState
from migration.image.summary import Mode, Phase
from migration.metadata.events import Event, Source
from migration.observed.facts import (
    NotificationsMissed,
    Observation,
    ZnodeGone,
    ZnodeSeen,
    ZooKeeperBlind,
    ZooKeeperSeen,
)
from migration.observed.source_status import SourceStatus
from migration.observed.zookeeper import with_heartbeat

_KAFKA = {"version": 2, "kraftControllerEpoch": -1}


def znode(path: str, content: object, at_ms: int = 1000) -> ZnodeSeen:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return ZnodeSeen(at_ms + 5, path, data, 0, at_ms, at_ms, 0)


def controller(broker: int, epoch: int = -1, at_ms: int = 1000) -> ZnodeSeen:
    content = {"version": 2, "brokerid": broker, "timestamp": str(at_ms)}
    return znode("/controller", content | {"kraftControllerEpoch": epoch}, at_ms)


def migration(offset: int, at_ms: int = 1000) -> ZnodeSeen:
    content = {
        "version": 0,
        "kraft_metadata_offset": offset,
        "kraft_controller_id": 3000,
        "kraft_metadata_epoch": 1,
        "kraft_controller_epoch": 1,
    }
    return znode("/migration", content, at_ms)


def observed(
    *facts: Observation, image: ClusterImage | None = None
) -> tuple[ClusterImage, list[tuple[str, dict[str, object]]]]:
    after, events = observe(image or ClusterImage(), facts)
    return after, [(event.kind, dict(event.fields)) for event in events]


def kinds(events: Iterable[Event]) -> list[str]:
    return [event.kind for event in events]


def test_events_have_both_clocks() -> None:
    _, (event,) = observe(ClusterImage(), [controller(1, at_ms=7000)])
    assert (event.source, event.offset, event.timestamp_ms, event.seen_ms) == (
        Source.ZOOKEEPER,
        None,
        7000,
        7005,
    )


def test_what_zookeeper_does_not_date_has_one_clock() -> None:
    image, _ = observed(controller(1))
    _, (event,) = observe(image, [ZnodeGone(9000, "/controller")])
    assert (event.kind, event.timestamp_ms, event.seen_ms) == ("zk_controller_gone", None, 9000)
    assert event.moment_ms == 9000


def test_a_kraft_controller_takes_over() -> None:
    image, events = observed(controller(1), controller(1, at_ms=1001), controller(3000, 4))
    assert [fields["kraft"] for _, fields in events] == [False, True]
    assert image.zookeeper is not None
    assert image.zookeeper.controller is not None
    assert image.zookeeper.controller.is_kraft


def test_the_copy_is_told_once() -> None:
    _, events = observed(migration(-1), migration(283), migration(300))
    assert events == [
        ("migration_znode_found", {"metadata_offset": -1}),
        ("zookeeper_copied", {"metadata_offset": 283}),
    ]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it is empty"),
        (b"null", "its content is not a JSON object"),
        (b"{", "its content is not JSON"),
        (b"\xff\xfe", "its content is not JSON"),
        (b"[" * 100_000, "its content is nested deeper than 64"),
        (b"[1]", "its content is not a JSON object"),
        (b"{}", "it has no kraft_metadata_offset"),
        (b'{"kraft_metadata_offset": "x"}', "its kraft_metadata_offset is not a whole number"),
        (b'{"kraft_metadata_offset": true}', "its kraft_metadata_offset is not a whole number"),
        (b'{"kraft_metadata_offset": 1.5}', "its kraft_metadata_offset is not a whole number"),
    ],
)
def test_content_that_says_nothing_is_told_and_changes_nothing(data: bytes, why: str) -> None:
    before, _ = observed(migration(283))
    after, events = observed(znode("/migration", data), znode("/migration", data), image=before)
    assert events == [("znode_unreadable", {"path": "/migration", "reason": why})]
    assert after.zookeeper is not None
    assert after.zookeeper.unreadable == {"/migration": why}
    assert before.zookeeper is not None
    assert after.zookeeper.migration == before.zookeeper.migration
    mended, _ = observed(migration(284), image=after)
    assert mended.zookeeper is not None
    assert mended.zookeeper.unreadable == {}


def test_a_notification_names_its_broker_and_those_missed_are_counted() -> None:
    """KIP-589, "Motivation": its content names the broker and no directory."""
    path = "/log_dir_event_notification/log_dir_event_0000000007"
    image, events = observed(
        NotificationsMissed(1, 0, 0),
        znode(path, {"version": 1, "broker": 2, "event": 1}),
        NotificationsMissed(2, 8, 3),
    )
    assert events == [
        ("log_dir_failure_notified", {"notification": "log_dir_event_0000000007"}),
        ("notifications_missed", {"first": 8, "count": 3}),
    ]
    assert image.zookeeper is not None
    assert (image.zookeeper.notifications, image.zookeeper.missed) == (1, 3)
    assert image.zookeeper.missed_ms == 2


def test_a_broker_that_writes_its_znode_again_has_not_restarted() -> None:
    """A dynamic change of advertised.listeners does; a restart creates another znode."""
    failed = "/log_dir_event_notification/log_dir_event_0000000000"
    image, _ = observed(
        znode("/brokers/ids/3", {"host": "h3"}, at_ms=1000),
        znode(failed, {"version": 1, "broker": 3, "event": 1}, at_ms=5000),
    )
    wrote = znode("/brokers/ids/3", {"host": "moved"}, at_ms=9100)._replace(version=1)
    again, _ = observed(wrote, image=image)
    assert again.zookeeper is not None
    assert again.zookeeper.brokers[3].host == "moved"
    assert again.zookeeper.notified == {3: 5000}


@pytest.mark.parametrize(("written_ms", "read_ms"), [(3_601_000, 1000), (1000, 1005)])
def test_a_broker_started_before_its_znode_was_read(written_ms: int, read_ms: int) -> None:
    """ZooKeeper's clock may be ahead of Kraftgate's; a later write is no start."""
    up = znode("/brokers/ids/3", {"host": "h3"}, at_ms=written_ms)._replace(seen_ms=read_ms)
    wrote = up._replace(version=1, mtime_ms=written_ms + 9000, seen_ms=read_ms + 9000)
    image, _ = observed(up, wrote)
    assert image.zookeeper is not None
    assert image.zookeeper.brokers[3].started_ms == 1000


def test_a_notification_counts_until_its_broker_restarts() -> None:
    """KIP-589, "Proposed Changes": it may have restarted before its znode is read.

    A directory comes back only with a restart (KIP-112). ZooKeeper's clock has both times.
    """
    path = "/log_dir_event_notification/log_dir_event_0000000007"
    content = {"version": 1, "broker": 2, "event": 1}
    up = znode("/brokers/ids/2", {"host": "h2"}, at_ms=500)
    image, _ = observed(up, znode(path, content, at_ms=1000), up)
    assert image.zookeeper is not None
    assert image.zookeeper.notified == {2: 1000}
    down, _ = observed(ZnodeGone(3000, "/brokers/ids/2"), image=image)
    assert down.zookeeper is not None
    assert down.zookeeper.notified == {2: 1000}
    again = znode("/brokers/ids/2", {"host": "h2"}, at_ms=4000)
    restarted, _ = observed(again, image=down)
    assert restarted.zookeeper is not None
    assert restarted.zookeeper.notified == {}
    left_over, _ = observed(again, znode(path, content, at_ms=1000))
    assert left_over.zookeeper is not None
    assert left_over.zookeeper.notified == {}


def test_a_blind_time_is_told_with_how_long_it_was() -> None:
    image, events = observed(
        ZooKeeperSeen(1000, "z:2181", 5, None, 1),
        ZooKeeperBlind(2000, "the connection is lost"),
        ZooKeeperBlind(2500, "again"),
        ZooKeeperSeen(5000, "z:2181", 6, 2000, 9),
    )
    assert events[1:] == [
        ("zookeeper_blind", {"reason": "the connection is lost"}),
        (
            "zookeeper_seen_again",
            {"server": "z:2181", "blind_ms": 3000, "blind_since_ms": 2000, "session_expired": True},
        ),
    ]
    assert image.zookeeper is not None
    assert image.zookeeper.blind_since_ms is None


def test_brokers_that_only_zookeeper_knows_are_there() -> None:
    image, events = observed(znode("/brokers/ids/4", {"host": "h", "rack": "r1"}))
    (broker,) = summarize("c", image).brokers
    assert (broker.id, broker.mode, broker.epoch) == (4, Mode.ZOOKEEPER, None)
    gone, _ = observed(ZnodeGone(1, "/brokers/ids/4"), image=image)
    assert summarize("c", gone).brokers == ()
    assert events == [("zk_broker_appeared", {})]


@pytest.mark.parametrize(
    ("listener", "host"), [("SSL://b1.prod:9093", "b1.prod"), ("SSL://[fd00::1]:9093", "fd00::1")]
)
def test_without_a_plaintext_listener_a_broker_names_its_host_only_there(
    listener: str, host: str
) -> None:
    """BrokerIdZNode.encode"""
    content = {"host": None, "port": -1, "endpoints": [listener], "version": 5}
    image, _ = observed(znode("/brokers/ids/4", content))
    (broker,) = summarize("c", image).brokers
    assert broker.host == host


def test_requests_of_operators_are_kept() -> None:
    image, _ = observed(
        znode("/admin/reassign_partitions", {"version": 1, "partitions": [{}, {}]}),
        znode("/admin/delete_topics/t", b"null"),
    )
    assert image.zookeeper is not None
    assert (image.zookeeper.reassigning, image.zookeeper.deleting) == (2, ("t",))
    image, _ = observed(
        ZnodeGone(1, "/admin/reassign_partitions"),
        ZnodeGone(1, "/admin/delete_topics/t"),
        image=image,
    )
    assert image.zookeeper is not None
    assert (image.zookeeper.reassigning, image.zookeeper.deleting) == (0, ())


def copied(at_ms: int) -> ClusterImage:
    return ClusterImage(migration_state=MigrationState().now(MIGRATION, at_ms))


def test_zookeeper_that_takes_the_controller_back_has_rolled_back() -> None:
    image, events = observed(controller(3000, 4, at_ms=4900), image=copied(5000))
    assert (image.phase, kinds_of(events)) == (Phase.DUAL_WRITE, ["zk_controller_changed"])
    image, events = observed(controller(1, at_ms=9000), image=image)
    assert image.phase is Phase.ROLLED_BACK
    assert events[-1] == ("phase_changed", {"was": "dual-write", "now": "rolled-back"})


def test_a_view_of_zookeeper_that_lags_behind_the_copy_is_no_rollback() -> None:
    image, _ = observed(controller(1, at_ms=1000), image=copied(5000))
    assert image.phase is Phase.DUAL_WRITE


def test_before_the_copy_zookeeper_controls_and_nothing_was_rolled_back() -> None:
    before = ClusterImage(migration_state=MigrationState().now(PRE_MIGRATION, 5000))
    image, _ = observed(controller(1, at_ms=9000), image=before)
    assert image.phase is Phase.PRE_MIGRATION


def kinds_of(events: list[tuple[str, dict[str, object]]]) -> list[str]:
    return [kind for kind, _ in events]


def test_the_last_content_that_said_copied_is_kept() -> None:
    """What /migration must be set to again after another client deleted it."""
    image, _ = observed(
        controller(3000, 1), migration(-1), migration(283), ZnodeGone(9, "/migration")
    )
    assert image.zookeeper is not None
    assert image.zookeeper.migration is None
    assert image.zookeeper.migration_copied is not None
    assert json.loads(image.zookeeper.migration_copied.text) == json.loads(migration(283).data)
    emptied, _ = observed(migration(-1), image=image)
    assert emptied.zookeeper is not None
    assert emptied.zookeeper.migration_copied == image.zookeeper.migration_copied
    back, _ = observed(controller(1), image=emptied)
    assert back.zookeeper is not None
    assert back.zookeeper.migration_copied is None


def test_the_time_of_the_controllers_epoch_is_zookeepers() -> None:
    image, _ = observed(znode("/controller_epoch", b"4", 7000))
    assert image.zookeeper is not None
    assert (image.zookeeper.controller_epoch, image.zookeeper.controller_epoch_ms) == (4, 7000)


@pytest.mark.parametrize("ahead_ms", [300_000, -300_000])
def test_a_write_is_dated_by_what_was_observed_if_the_clocks_differ(ahead_ms: int) -> None:
    def read(offset: int, seen_ms: int) -> ZnodeSeen:
        return migration(offset, seen_ms + ahead_ms)._replace(seen_ms=seen_ms)

    image, _ = observed(read(283, 1_000_000), read(290, 1_005_000))
    assert image.zookeeper is not None
    assert image.zookeeper.migration is not None
    assert 1_000_000 <= image.zookeeper.migration.written_ms <= 1_005_000


def report(mzxid: int | None, offset: int = 400, written_ms: int = 61_000) -> SourceStatus:
    return SourceStatus(
        observed_ms=62_000,
        migration_mzxid=mzxid,
        migration_version=7,
        migration_offset=offset,
        migration_written_ms=written_ms,
    )


def reported(image: ClusterImage, status: SourceStatus) -> tuple[int, int] | None:
    assert image.zookeeper is not None
    found = with_heartbeat(image.zookeeper, status)
    if found.migration is None:
        return None
    assert found.migration_copied == found.migration
    assert found.versions["/migration"] in {(0, 1000), (7, status.migration_mzxid)}
    return found.migration.offset, found.migration.written_ms


def test_a_reported_heartbeat_is_the_last_write() -> None:
    image, _ = observed(migration(283))
    assert reported(image, report(1001)) == (400, 61_000)
    assert reported(image, report(1001, written_ms=500)) == (400, 500), "the clock was set back"
    # The same write: its fact was delayed, and ZooKeeper's clock may be ahead.
    assert reported(image, report(1000, 283, written_ms=700)) == (283, 700)
    assert reported(image, report(999)) == (283, 1000), "a report of before the fact"
    assert reported(image, report(None)) == (283, 1000)


def test_a_reported_heartbeat_makes_no_copy() -> None:
    uncopied, _ = observed(migration(-1))
    assert uncopied.zookeeper is not None
    assert with_heartbeat(uncopied.zookeeper, report(1001)) == uncopied.zookeeper
    gone, _ = observed(migration(283), ZnodeGone(9, "/migration"))
    assert reported(gone, report(1001)) is None

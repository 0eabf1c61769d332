"""Each hazard: when it is active, what it blocks, what it names, and when it is not active."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from migration.assessment.currency import CURRENT, UNREAD_RECORDS, Currency
from migration.assessment.data_source import SOURCE_WORDS, DataSource
from migration.assessment.hazards import Action, Hazard, HazardKind, due, hazards
from migration.assessment.waits import nothing_seen
from migration.comparison.differences import Difference
from migration.comparison.result import Compared
from migration.image.summary import (
    BrokerSummary,
    ClusterSummary,
    ControllerSummary,
    DirectoriesGone,
    Mode,
    Phase,
    UncleanElection,
    UnfencedEarly,
)
from migration.metadata.replica_state import ReplicaState
from migration.observed.facts import FutureSeen, LogDirSeen, ReplicaSeen
from migration.observed.log_dirs import BrokerDisks, CutOff, DirectoryMove, DisksImage, Loss
from migration.observed.source_status import SourceStatus
from migration.observed.znode_codec import MigrationZnode, ZkBroker, ZkController
from migration.observed.zookeeper import BEACON_STALE_MS, ZooKeeperImage
from migration.values.evidence import EVIDENCE_MAX
from migration.values.severity import Severity

NOW = 1_000_000


def counts(**given: int) -> Mapping[ReplicaState, int]:
    return {state: given.get(str(state), 0) for state in ReplicaState}


def broker(mode: Mode = Mode.KRAFT, **changes: object) -> BrokerSummary:
    well = BrokerSummary(
        id=1,
        epoch=5,
        mode=mode,
        fenced=False,
        in_controlled_shutdown=False,
        held=False,
        log_dirs=("a", "b"),
        replicas=counts(assigned=4),
        registered_offset=5,
        registered_ms=100,
        unfenced_offset=6,
        unfenced_ms=110,
        assignments_complete_offset=7,
        assignments_complete_ms=120,
        unfenced_early=None,
        progress=None,
    )
    return replace(well, **changes)  # type: ignore[arg-type]


def log_dir(path: str, error: int = 0, **changes: object) -> LogDirSeen:
    seen = LogDirSeen(path, error, None, None, 2, 20, 0, 0, f"id of {path}", None)
    return seen._replace(**changes)  # type: ignore[arg-type]


def disks(*log_dirs: LogDirSeen, **changes: object) -> DisksImage:
    one = BrokerDisks(id=1, answered_ms=500, log_dirs=log_dirs)
    return DisksImage(brokers={1: replace(one, **changes)})  # type: ignore[arg-type]


def cluster(
    phase: Phase,
    *brokers: BrokerSummary,
    disks: DisksImage | None = None,
    zookeeper: ZooKeeperImage | None = None,
    metadata_version: int | None = 21,
) -> ClusterSummary:
    return replace(
        nothing_seen("c"),
        phase=phase,
        brokers=brokers,
        disks=disks,
        zookeeper=zookeeper,
        metadata_version=metadata_version,
    )


def log_due(offset: int | None) -> Currency:
    """Everything is current, and dual write must have written this metadata offset."""
    return Currency(log=SourceStatus(observed_ms=NOW, dual_write_due=offset))


def only(summary: ClusterSummary, kind: HazardKind, currency: Currency = CURRENT) -> Hazard | None:
    found = [each for each in hazards(summary, NOW, currency) if each.kind is kind]
    assert len(found) <= 1
    return found[0] if found else None


WELL = disks(log_dir("/d0"), log_dir("/d1"))
CUT_OFF = {
    "/d1": CutOff(
        since_ms=400,
        replicas=2,
        sole=1,
        bytes=20,
        named=(ReplicaSeen("one", 3, 10, 50, 1), ReplicaSeen("two", 0, 10, None, 2)),
    )
}
BAD = disks(log_dir("/d0"), log_dir("/d1", 56), cut_off=CUT_OFF)


@pytest.mark.parametrize("phase", list(Phase))
@pytest.mark.parametrize("mode", list(Mode))
def test_a_cluster_that_is_well_has_no_critical_hazard(phase: Phase, mode: Mode) -> None:
    if phase is Phase.FINALIZED and mode is not Mode.KRAFT:
        return
    found = hazards(cluster(phase, broker(mode), disks=WELL), NOW, CURRENT)
    assert not [each for each in found if each.severity is Severity.CRITICAL]
    assert not [each for each in found if each.blocks is Action.RESTART]


@pytest.mark.parametrize(
    ("phase", "one", "danger"),
    [
        (Phase.ZOOKEEPER, broker(Mode.ZOOKEEPER), "(H1)"),
        (Phase.HYBRID, broker(Mode.MIGRATING), "(H1; in KRaft mode H2, H3)"),
        (Phase.HYBRID, broker(replicas=counts(unassigned=1)), "if unassigned (H2)"),
        (Phase.HYBRID, broker(replicas=counts(migrating=1)), "if migrating (H3)"),
        (Phase.FINALIZED, broker(replicas=counts(migrating=1)), "if migrating (H3)"),
    ],
)
def test_a_directory_that_cannot_be_read_blocks_the_restart(
    phase: Phase, one: BrokerSummary, danger: str
) -> None:
    found = only(cluster(phase, one, disks=BAD), HazardKind.RESTART_LOSES_REPLICAS)
    assert found is not None
    assert (found.blocks, found.severity, found.broker) == (
        Action.RESTART,
        Severity.CRITICAL,
        1,
    )
    assert "/d1" in found.text
    assert danger in found.text
    assert "one-3: the only replica, 10 bytes, log end offset 50" in found.evidence
    assert "two-0: one of 2 replicas, 10 bytes" in found.evidence
    assert "/d1" in found.way_out


def test_a_broker_nobody_knows_the_mode_of_is_taken_for_dangerous() -> None:
    found = only(cluster(Phase.ZOOKEEPER, disks=BAD), HazardKind.RESTART_LOSES_REPLICAS)
    assert found is not None


def test_replicas_whose_directories_are_known_are_not_made_anew() -> None:
    """KIP-858, "Replica management": no action while an assigned directory may be offline."""
    assert only(cluster(Phase.DUAL_WRITE, broker(), disks=BAD), _RESTART) is None


_RESTART = HazardKind.RESTART_LOSES_REPLICAS


@pytest.mark.parametrize(
    ("log_dirs", "active"),
    [
        ((log_dir("/d1", readable=False),), True),
        ((log_dir("/d1", readable=True),), False),
        ((log_dir("/d1", 56, readable=True),), True),
    ],
)
def test_a_reading_on_the_host_decides(log_dirs: tuple[LogDirSeen, ...], active: bool) -> None:
    one = broker(Mode.MIGRATING)
    found = only(cluster(Phase.HYBRID, one, disks=disks(*log_dirs)), _RESTART)
    assert (found is not None) is active


def test_a_directory_that_is_not_reported_any_more_is_cut_off() -> None:
    gone = disks(log_dir("/d0"), cut_off=CUT_OFF)
    found = only(cluster(Phase.HYBRID, broker(Mode.MIGRATING), disks=gone), _RESTART)
    assert found is not None
    assert "is not among the directories that it reports" in found.text


def test_a_migrating_broker_that_is_gone_is_not_restarted_unseen() -> None:
    """KIP-858, "Migrating a cluster in ZK mode ...": it shuts down if any directory fails."""
    kind = HazardKind.HALTED_IN_MIGRATION
    one = broker(Mode.MIGRATING)
    down = {"unreachable": "refused", "unreachable_since_ms": 300}
    unseen = disks(log_dir("/d0"), log_dir("/d1"), **down)
    found = only(cluster(Phase.HYBRID, one, disks=unseen), kind)
    assert found is not None
    assert found.blocks is Action.RESTART
    assert found.evidence == ("not checked: /d0", "not checked: /d1")
    looked_at = disks(log_dir("/d0", readable=True), log_dir("/d1", readable=True), **down)
    assert only(cluster(Phase.HYBRID, one, disks=looked_at), kind) is None
    assert only(cluster(Phase.HYBRID, broker(), disks=unseen), kind) is None


@pytest.mark.parametrize("fenced", [True, False])
@pytest.mark.parametrize(
    "currency", [CURRENT, Currency(not_current={DataSource.METADATA_LOG: "x"})]
)
def test_only_the_controllers_show_that_a_silent_broker_is_down(
    currency: Currency, fenced: bool
) -> None:
    one = broker(Mode.MIGRATING, fenced=fenced)
    unseen = disks(log_dir("/d0"), unreachable="timed out", unreachable_since_ms=300)
    kind = HazardKind.HALTED_IN_MIGRATION
    found = only(cluster(Phase.HYBRID, one, disks=unseen), kind, currency)
    assert found is not None
    is_down = fenced and currency is CURRENT
    assert ("broker 1 is down in migration mode" in found.text) is is_down
    assert ("broker 1 does not answer Kraftgate, and may be down" in found.text) is not is_down
    assert found.way_out.startswith("Check on its host whether the broker runs") is not is_down


def test_a_broker_that_came_back_with_fewer_directories() -> None:
    """KIP-858, "Broker registration": the new registration lacks a directory."""
    gone = DirectoriesGone(directories=("x",), pending=11, at_ms=5)
    found = only(cluster(Phase.HYBRID, broker(gone=gone)), HazardKind.REPLICAS_RECREATED)
    assert found is not None
    assert (found.severity, found.evidence) == (Severity.CRITICAL, ("directory id x is missing",))


@pytest.mark.parametrize(
    ("changes", "migrating", "offline", "may_be_recreated"),
    [
        ({}, 11, ("/d1",), False),
        ({}, 10, ("/d1",), True),  # one was unassigned (H2)
        ({}, 11, (), True),  # removed from log.dirs, or replaced by an empty disk
        ({"registered_ms": NOW}, 11, ("/d1",), True),  # described before this start
        ({"registered_ms": None}, 11, ("/d1",), True),
        ({"log_dirs": ("a", "b")}, 11, ("/d1",), True),  # /d1 failed later, and is registered
        ({"unregistered": {"x": 5, "y": 6}}, 11, ("/d1",), True),
    ],
)
def test_h3_recreates_nothing_while_the_directory_is_offline(
    changes: dict[str, Any], migrating: int, offline: tuple[str, ...], may_be_recreated: bool
) -> None:
    """KIP-858, "Replica management": no action while a directory is offline."""
    gone = DirectoriesGone(directories=("x",), pending=11, migrating=migrating, at_ms=5)
    given: dict[str, Any] = {"log_dirs": ("a",), "registered_ms": 5, "unregistered": {"x": 5}}
    seen = disks(
        log_dir("/d0"), log_dir("/d1"), answered_ms=NOW, offline_since_ms=dict.fromkeys(offline, 6)
    )
    one = broker(gone=gone, replicas=counts(migrating=3), **given | changes)
    found = only(cluster(Phase.HYBRID, one, disks=seen), HazardKind.REPLICAS_RECREATED)
    assert (found is not None) == may_be_recreated


RECREATED: dict[str, Any] = {"recreated": CUT_OFF}


@pytest.mark.parametrize("mode", list(Mode))
def test_the_only_replicas_that_are_recreated_without_their_directory(mode: Mode) -> None:
    """KIP-858, "Replica management": any log without a directory that may be offline is created."""
    summary = cluster(Phase.KRAFT, broker(mode), disks=disks(log_dir("/d0"), **RECREATED))
    found = only(summary, HazardKind.REPLICAS_RECREATED)
    assert found is not None
    assert found.text == (
        "broker 1 runs without its log directory /d1, and recreated 1 replica from there that no"
        " other broker has, with fewer bytes"
    )
    assert found.evidence == ("one-3: the only replica, 10 bytes, log end offset 50, in /d1",)
    assert found.since_ms == 400
    gone = DirectoriesGone(directories=("x",), pending=11, at_ms=5)
    both = replace(summary, brokers=(broker(mode, gone=gone),))
    found = only(both, HazardKind.REPLICAS_RECREATED)
    assert found is not None
    assert (found.since_ms, found.evidence[0]) == (5, "directory id x is missing")
    assert found.evidence_total == 2


def test_replicas_that_are_copied_from_their_leaders_are_not_lost() -> None:
    copied = {"/d1": replace(CUT_OFF["/d1"], sole=0, named=CUT_OFF["/d1"].named[1:])}
    seen = disks(log_dir("/d0"), recreated=copied)
    assert only(cluster(Phase.KRAFT, broker(), disks=seen), HazardKind.REPLICAS_RECREATED) is None


def test_a_directory_that_failed_while_replicas_had_none() -> None:
    """KIP-858, "Handling log directory failures": leaders move by directory id only."""
    failed = DirectoriesGone(directories=("x",), pending=11, at_ms=5)
    one = broker(failed=failed, replicas=counts(migrating=3))
    found = only(cluster(Phase.HYBRID, one), HazardKind.DIRECTORY_FAILED_UNDER_PENDING)
    assert found is not None
    assert "does not move the leaders of the replicas that were in it" in found.text
    assert found.evidence == (
        "directory id x failed",
        "3 replicas still have no known directory",
    )
    assert found.blocks is Action.RESTART


def unreported(seconds: int, **changes: object) -> DisksImage:
    """A directory that is offline for some seconds."""
    since = {"offline_since_ms": {"/d2": NOW - seconds * 1000}}
    return disks(log_dir("/d1"), log_dir("/d2", error=56), **since | changes)


def shuts_down(seconds: int, one: BrokerSummary | None = None, **changes: object) -> Hazard | None:
    one = one or broker(log_dirs=("a", "b"))
    summary = cluster(Phase.FINALIZED, one, disks=unreported(seconds, **changes))
    return only(summary, HazardKind.BROKER_SHUTS_DOWN)


@pytest.mark.parametrize("timeout_ms", [None, 45_000])
def test_a_failed_directory_that_no_controller_hears_of(timeout_ms: int | None) -> None:
    """KIP-858, "Handling log directory failures": the broker shuts down."""
    found = shuts_down(10, failure_timeout_ms=timeout_ms)
    assert found is not None
    # Critical without an action to block would be harm done (KraftgateHarmDone).
    assert (found.broker, found.blocks, found.severity) == (1, None, Severity.WARNING)
    assert found.deadline_ms == NOW - 10_000 + (timeout_ms or 30_000)
    assert "/d2" in found.text
    assert ("default" in found.evidence[-1]) is (timeout_ms is None)


def test_a_later_failure_starts_the_time_again() -> None:
    """BrokerLifecycleManager has one timer."""
    both = {"offline_since_ms": {"/d2": NOW - 20_000, "/d3": NOW - 5_000}}
    log_dirs = (log_dir("/d1"), log_dir("/d2", error=56), log_dir("/d3", error=56))
    one = broker(log_dirs=("a", "b", "c"))
    summary = cluster(Phase.FINALIZED, one, disks=disks(*log_dirs, **both))
    found = only(summary, HazardKind.BROKER_SHUTS_DOWN)
    assert found is not None
    assert (found.since_ms, found.deadline_ms) == (NOW - 20_000, NOW + 25_000)


@pytest.mark.parametrize(
    ("seconds", "one", "changes"),
    [
        pytest.param(3, broker(log_dirs=("a", "b")), {}, id="the heartbeats may be under way"),
        pytest.param(10, broker(log_dirs=("a",)), {}, id="it was bad when the broker registered"),
        pytest.param(
            10,
            broker(log_dirs=("a",), unregistered={"b": NOW - 9_000}),
            {},
            id="the registration lost it",
        ),
        pytest.param(
            10, broker(Mode.MIGRATING, log_dirs=("a", "b")), {}, id="it would have halted"
        ),
        pytest.param(10, broker(Mode.ZOOKEEPER, log_dirs=()), {}, id="ZooKeeper hears of it"),
        pytest.param(
            10,
            broker(log_dirs=("a", "b")),
            {"unreachable": "refused", "unreachable_since_ms": NOW},
            id="it may have shut down",
        ),
    ],
)
def test_a_broker_that_does_not_shut_itself_down(
    seconds: int, one: BrokerSummary, changes: Mapping[str, object]
) -> None:
    assert shuts_down(seconds, one, **changes) is None


def test_records_that_were_lost_are_named() -> None:
    losses = tuple(Loss(topic="t", partition=n, was_end=50, now_end=0, seen_ms=9) for n in (1, 2))
    found = only(cluster(Phase.HYBRID, disks=DisksImage(losses=losses)), HazardKind.RECORDS_LOST)
    assert found is not None
    assert found.text == "acknowledged records of 2 partitions are lost"
    assert found.evidence == ("t-2: at least offsets 0 to 49", "t-1: at least offsets 0 to 49")
    assert "offsets before these" in found.way_out


def test_unclean_elections_of_a_leader_are_named_with_its_losses() -> None:
    unclean = tuple(
        UncleanElection(topic="u", partition=n, broker=leader, isr="2, 3", at_ms=at_ms)
        for n, leader, at_ms in ((1, 1, None), (2, 1, 7), (1, 4, 8))
    )
    loss = Loss(topic="t", partition=1, was_end=50, now_end=0, seen_ms=9, broker=1)
    summary = replace(cluster(Phase.KRAFT, disks=DisksImage(losses=(loss,))), unclean=unclean)
    first, second = hazards(summary, NOW, CURRENT)
    assert (first.kind, first.broker, first.since_ms) == (HazardKind.RECORDS_LOST, 1, 7)
    assert first.text == (
        "acknowledged records of one partition are lost; an unclean election may have lost"
        " acknowledged records of 2 partitions"
    )
    assert first.evidence == (
        "t-1: at least offsets 0 to 49",
        "u-2: leader 1 was not in the ISR (2, 3)",
        "u-1: leader 1 was not in the ISR (2, 3), at an unknown time before the metadata snapshot",
    )
    assert "before its logs of these partitions are copied" in first.way_out
    assert (second.kind, second.broker, second.since_ms) == (HazardKind.RECORDS_LOST, 4, 8)
    assert "offsets before these" not in second.way_out


def test_evidence_is_bounded_and_counted() -> None:
    losses = tuple(Loss(topic="t", partition=n, was_end=5, now_end=0, seen_ms=9) for n in range(50))
    found = only(cluster(Phase.HYBRID, disks=DisksImage(losses=losses)), HazardKind.RECORDS_LOST)
    assert found is not None
    assert len(found.shown) == EVIDENCE_MAX
    assert found.evidence_total == 50
    assert found.shown[-1] == f"and {50 - EVIDENCE_MAX + 1} more"


def test_one_directory_left() -> None:
    kind = HazardKind.ONE_DIRECTORY_LEFT
    assert only(cluster(Phase.DUAL_WRITE, broker(), disks=BAD), kind) is not None
    assert only(cluster(Phase.DUAL_WRITE, broker(), disks=WELL), kind) is None
    assert only(cluster(Phase.DUAL_WRITE, broker(), disks=disks(log_dir("/d0"))), kind) is None
    none = disks(log_dir("/d0", readable=False), log_dir("/d1", 56), unreachable="refused")
    found = only(cluster(Phase.ZOOKEEPER, disks=none), kind)
    assert found is not None
    assert found.text == "broker 1 has no log directory left"
    assert found.evidence == ("/d0: offline", "/d1: offline")


IDS = HazardKind.DIRECTORY_IDS


def test_a_directory_id_that_is_there_twice() -> None:
    """KIP-858, "Broker lifecycle management": the broker fails at startup."""
    twice = disks(*(log_dir(p, directory_id="a", readable=True) for p in ("/d0", "/d1")))
    found = only(cluster(Phase.HYBRID, broker(), disks=twice), IDS)
    assert found is not None
    assert (found.blocks, found.broker) == (Action.RESTART, 1)
    assert found.evidence == (
        "/d0: directory.id a, as in /d1",
        "/d1: directory.id a, as in /d0",
        "registered, but in no directory now: b",
    )
    unseen = disks(*(log_dir(p, directory_id="a", readable=None) for p in ("/d0", "/d1")))
    assert only(cluster(Phase.HYBRID, broker(), disks=unseen), IDS) is None


def test_a_directory_id_that_is_reserved() -> None:
    """KIP-858, "Reserved UUIDs": a broker with one in its file does not start."""
    reserved = "AAAAAAAAAAAAAAAAAAAAYw"
    one = disks(
        log_dir("/d0", directory_id="a", readable=True),
        log_dir("/d1", directory_id=reserved, readable=True),
    )
    found = only(cluster(Phase.HYBRID, broker(), disks=one), IDS)
    assert found is not None
    assert found.evidence == (
        f"/d1: directory.id {reserved} is reserved",
        "registered, but in no directory now: b",
    )


def test_a_directory_id_of_another_broker() -> None:
    both = DisksImage(
        brokers={
            id_: BrokerDisks(
                id=id_, answered_ms=500, log_dirs=(log_dir("/d0", directory_id="a", readable=True),)
            )
            for id_ in (1, 2)
        }
    )
    found = [
        each
        for each in hazards(cluster(Phase.HYBRID, disks=both), NOW, CURRENT)
        if each.kind is IDS
    ]
    assert [(each.broker, each.evidence) for each in found] == [
        (1, ("/d0: directory.id a, as in /d0 of broker 2",)),
        (2, ("/d0: directory.id a, as in /d0 of broker 1",)),
    ]


def test_a_directory_id_that_is_missing() -> None:
    """KIP-858, "Broker lifecycle management": the broker generates another one."""
    missing = disks(
        log_dir("/d0", directory_id=None, readable=True),
        log_dir("/d1", directory_id="b", readable=True),
    )
    for mode, active in ((Mode.ZOOKEEPER, False), (Mode.MIGRATING, True), (Mode.KRAFT, True)):
        found = only(cluster(Phase.HYBRID, broker(mode), disks=missing), IDS)
        assert (found is not None) is active
        if found is not None:
            assert found.evidence == (
                "/d0: no directory.id in meta.properties",
                "registered, but in no directory now: a",
            )
    just_registered = broker(registered_ms=600)
    assert only(cluster(Phase.HYBRID, just_registered, disks=missing), IDS) is None


@pytest.mark.parametrize("mode", [Mode.ZOOKEEPER, Mode.MIGRATING, Mode.KRAFT])
@pytest.mark.parametrize("unreachable", [None, "refused"])
def test_a_meta_properties_that_is_missing_or_anothers(mode: Mode, unreachable: str | None) -> None:
    """Kafka does not start, or generates an id: the file must be written back before."""
    bad = disks(
        log_dir("/d0", directory_id="a", readable=True),
        log_dir("/d1", directory_id=None, readable=True, trouble="/d1: has no meta.properties"),
        unreachable=unreachable,
    )
    found = only(cluster(Phase.HYBRID, broker(mode), disks=bad), IDS)
    assert found is not None
    assert (found.blocks, found.broker) == (Action.RESTART, 1)
    assert found.evidence == (
        "/d1: has no meta.properties",
        "registered, but in no directory now: b",
    )
    assert "missing, malformed or not its own" in found.text
    assert found.way_out.startswith("Do not stop, start or restart broker 1 before its")
    assert "If the file belongs to another broker, mount the right disk instead" in found.way_out


@pytest.mark.parametrize(
    ("phase", "mode", "version", "active"),
    [
        (Phase.HYBRID, Mode.ZOOKEEPER, 1, True),
        (Phase.HYBRID, Mode.ZOOKEEPER, 0, False),
        (Phase.HYBRID, Mode.ZOOKEEPER, None, False),
        (Phase.HYBRID, Mode.MIGRATING, 1, False),
        (Phase.HYBRID, Mode.KRAFT, 1, False),
        (Phase.ZOOKEEPER, None, 1, True),
        (Phase.KRAFT, None, 1, False),
    ],
)
def test_a_file_of_version_1_in_zookeeper_mode(
    phase: Phase, mode: Mode | None, version: int | None, *, active: bool
) -> None:
    """VerificationFlag.REQUIRE_V0; None: an earlier release stored the directory."""
    newer = disks(
        log_dir("/d0", directory_id="a", readable=True, version=0),
        log_dir("/d1", directory_id="b", readable=True, version=version),
    )
    registered = () if mode is None else (broker(mode),)
    found = only(cluster(phase, *registered, disks=newer), IDS)
    assert (found is not None) is active
    if found is not None:
        assert found.blocks is Action.RESTART
        (line,) = found.evidence
        assert line.startswith("Found unexpected version in /d1/meta.properties. ZK-based")
        assert found.text.startswith("a meta.properties of broker 1 has version=1: the broker")
        assert "version=0, with broker.id" in found.way_out


def test_a_directory_without_an_id_is_no_hazard_if_no_registered_id_is_missing() -> None:
    """Restored as it was before the migration (H1), or new: no replica is assigned to it."""
    restored = disks(
        log_dir("/d0", directory_id="a", readable=True),
        log_dir("/d1", directory_id=None, readable=True),
    )
    for registered, active in (("a",), False), (("a", "b"), True):
        summary = cluster(Phase.HYBRID, broker(Mode.MIGRATING, log_dirs=registered), disks=restored)
        assert (only(summary, IDS) is not None) is active


def test_an_id_that_may_be_in_a_directory_nobody_can_read_is_not_named() -> None:
    missing = disks(
        log_dir("/d0", directory_id=None, readable=True), log_dir("/d1", 56, readable=False)
    )
    found = only(cluster(Phase.HYBRID, broker(), disks=missing), IDS)
    assert found is not None
    assert found.evidence == ("/d0: no directory.id in meta.properties",)


@pytest.mark.parametrize("phase", [Phase.HYBRID, Phase.DUAL_WRITE])
@pytest.mark.parametrize(
    "one",
    [
        broker(Mode.MIGRATING),
        broker(Mode.ZOOKEEPER),
        broker(replicas=counts(migrating=1)),
        broker(replicas=counts(unassigned=1)),
        broker(replicas=counts(offline=1)),
        broker(replicas=counts(lost=1)),
        broker(replicas=counts(reserved=1)),
    ],
)
def test_finalizing_waits_for_every_broker_and_replica(phase: Phase, one: BrokerSummary) -> None:
    """KIP-858, "Migrating a cluster in ZK mode ...": until the directory is learned."""
    found = only(cluster(phase, one), HazardKind.FINALIZE_TOO_EARLY)
    assert found is not None
    assert found.blocks is Action.FINALIZE
    assert found.is_due is (phase is Phase.DUAL_WRITE)


@pytest.mark.parametrize(("since_ms", "too_early"), [(101, True), (99, False)])
def test_finalizing_waits_for_a_broker_that_returned_to_zookeeper(
    since_ms: int, too_early: bool
) -> None:
    """It stays registered in KRaft mode. A znode of its process before that is no such return."""
    znode = ZkBroker(id=1, host=None, rack=None, since_ms=since_ms)
    seen = ZooKeeperImage(brokers={1: znode})
    summary = cluster(Phase.DUAL_WRITE, broker(registered_ms=100), zookeeper=seen)
    assert (only(summary, HazardKind.FINALIZE_TOO_EARLY) is not None) is too_early


@pytest.mark.parametrize(
    "one",
    [
        broker(Mode.MIGRATING),
        broker(Mode.ZOOKEEPER),
        broker(replicas=counts(migrating=1)),
        broker(replicas=counts(unassigned=1), held=True),
        broker(replicas=counts(reserved=1)),
    ],
)
def test_finalized_too_early_is_damage(one: BrokerSummary) -> None:
    late = only(cluster(Phase.FINALIZED, one), HazardKind.FINALIZED_TOO_EARLY)
    assert late is not None
    assert (late.blocks, late.severity) == (None, Severity.CRITICAL)


@pytest.mark.parametrize(
    "replicas", [counts(assigned=3, offline=1), counts(assigned=3, unassigned=1)]
)
def test_a_failed_disk_or_a_new_topic_does_not_mean_finalized_too_early(
    replicas: Mapping[ReplicaState, int],
) -> None:
    summary = cluster(Phase.FINALIZED, broker(replicas=replicas))
    assert only(summary, HazardKind.FINALIZED_TOO_EARLY) is None


@pytest.mark.parametrize("phase", [Phase.HYBRID, Phase.DUAL_WRITE])
@pytest.mark.parametrize("near", [True, False])
def test_finalizing_too_early_is_due_when_the_runbook_comes_near_it(
    phase: Phase, near: bool
) -> None:
    summary = cluster(phase, broker(Mode.MIGRATING))
    (found,) = hazards(summary, NOW, CURRENT, finalize_is_near=near)
    assert (found.kind, found.is_due) == (HazardKind.FINALIZE_TOO_EARLY, near)
    assert due([found]) == ((found,) if near else ())


COPIED_MS = 1_000


def left(*, phase: Phase, mode: Mode, registered_ms: int | None = COPIED_MS + 1) -> ClusterSummary:
    """A cluster whose controller 3001 runs without the migration."""
    controllers = tuple(
        ControllerSummary(
            id=each, zk_migration_ready=ready, registered_offset=5, registered_ms=registered_ms
        )
        for each, ready in ((3000, True), (3001, False))
    )
    one = cluster(phase, broker(mode))
    return replace(one, controllers=controllers, migration_state_ms=COPIED_MS)


@pytest.mark.parametrize(
    ("phase", "mode", "begun", "ends"),
    [
        (Phase.HYBRID, Mode.MIGRATING, None, True),
        (Phase.HYBRID, Mode.MIGRATING, False, True),
        (Phase.HYBRID, Mode.MIGRATING, True, True),
        (Phase.DUAL_WRITE, Mode.KRAFT, False, True),
        (Phase.DUAL_WRITE, Mode.KRAFT, None, False),
        (Phase.DUAL_WRITE, Mode.KRAFT, True, False),
        (Phase.PRE_MIGRATION, Mode.MIGRATING, False, False),
        (Phase.FINALIZED, Mode.KRAFT, False, False),
    ],
)
def test_a_controller_without_the_migration_ends_it_ahead_of_its_step(
    phase: Phase, mode: Mode, begun: bool | None, ends: bool
) -> None:
    summary = left(phase=phase, mode=mode)
    found = hazards(summary, NOW, CURRENT, finalize_is_in_progress=begun)
    kind = HazardKind.CONTROLLER_ENDS_MIGRATION
    named = [each for each in found if each.kind is kind]
    assert bool(named) is ends
    for each in named:
        assert "controller 3001" in each.text
        assert each.forbids(Action.RESTART)
        assert each.forbids(Action.FINALIZE)


@pytest.mark.parametrize(("registered_ms", "ends"), [(None, True), (COPIED_MS, False)])
def test_a_controller_that_left_before_the_copy_ends_nothing(
    registered_ms: int | None, ends: bool
) -> None:
    summary = left(phase=Phase.HYBRID, mode=Mode.MIGRATING, registered_ms=registered_ms)
    assert summary.ends_migration == ((3001,) if ends else ())


@pytest.mark.parametrize("kind", list(HazardKind))
def test_each_hazard_names_the_sources_that_show_it(kind: HazardKind) -> None:
    happened = {
        HazardKind.RECORDS_LOST,
        HazardKind.METADATA_LOST,
        HazardKind.ZOOKEEPER_WIPED,
        HazardKind.REPLICAS_RECREATED,
        HazardKind.FINALIZED_TOO_EARLY,
    }
    assert bool(kind.sources) is (kind not in happened)


def test_a_recorded_fact_outlives_its_source_with_its_age() -> None:
    why = "b1:9092 does not answer"
    stale = Currency(not_current={DataSource.LOG_DIRS: why}, last_ms={DataSource.LOG_DIRS: 7000})
    summary = cluster(Phase.HYBRID, broker(Mode.MIGRATING), disks=BAD)
    found = {each.kind: each for each in hazards(summary, NOW, stale)}
    assert found[_RESTART].evidence[0] == (
        "not current, as last known: the brokers' log directories, last answer"
        f" 1970-01-01 00:00:07 UTC ({why})"
    )


@pytest.mark.parametrize(
    ("kind", "other_side"),
    [
        ("missing", DataSource.LOG_DIRS),
        ("misplaced", DataSource.LOG_DIRS),
        ("stray", DataSource.LOG_DIRS),
        ("topic", DataSource.ZOOKEEPER),
    ],
)
@pytest.mark.parametrize("is_the_log", [True, False])
def test_a_comparison_is_as_old_as_either_of_its_sides(
    kind: str, other_side: DataSource, is_the_log: bool
) -> None:
    """The disks may have topics from a time for which the metadata log was not read."""
    source = DataSource.METADATA_LOG if is_the_log else other_side
    compared = Compared(at_ms=5, lasting={kind: 1}, named=(difference(kind),))
    summary = (
        replace(cluster(Phase.DUAL_WRITE, broker()), content=compared)
        if other_side is DataSource.ZOOKEEPER
        else replace(cluster(Phase.KRAFT, broker()), places=compared)
    )
    stale = Currency(not_current={source: UNREAD_RECORDS})
    (found,) = (
        each
        for each in hazards(summary, NOW, stale)
        if each.kind.startswith(("replica_", "content_"))
    )
    assert found.evidence[0] == (
        f"not current, as last known: {SOURCE_WORDS[source]} ({UNREAD_RECORDS})"
    )
    assert found.evidence_total == 2


def test_a_migration_that_may_be_finalized() -> None:
    for phase in (Phase.DUAL_WRITE, Phase.FINALIZED):
        assert hazards(cluster(phase, broker(), disks=WELL), NOW, CURRENT) == ()


def znode(offset: int, written_ms: int = NOW) -> ZooKeeperImage:
    found = MigrationZnode(
        offset=offset,
        controller_id=3000,
        controller_epoch=1,
        metadata_epoch=1,
        written_ms=written_ms,
    )
    holder = ZkController(id=1, kraft_epoch=-1, claimed_ms=1)
    return ZooKeeperImage(seen_ms=1, migration=found, controller=holder)


@pytest.mark.parametrize(
    ("phase", "offset", "active"),
    [
        (Phase.ZOOKEEPER, 283, True),
        (Phase.PRE_MIGRATION, 283, True),
        (Phase.ROLLED_BACK, 283, True),
        (Phase.ZOOKEEPER, -1, False),
        (Phase.ZOOKEEPER, 0, False),
        (Phase.HYBRID, 283, False),
        (Phase.FINALIZED, 283, False),
    ],
)
def test_a_migration_znode_of_an_earlier_attempt(phase: Phase, offset: int, active: bool) -> None:
    summary = cluster(phase, zookeeper=znode(offset))
    found = only(summary, HazardKind.STALE_MIGRATION_ZNODE)
    assert (found is not None) is active
    if found is not None:
        assert found.blocks is Action.MIGRATE
        assert "delete /migration" in found.way_out


@pytest.mark.parametrize(
    ("phase", "age_ms", "blind", "due", "active"),
    [
        (Phase.DUAL_WRITE, BEACON_STALE_MS + 1, None, 284, True),
        (Phase.HYBRID, BEACON_STALE_MS + 1, None, 284, True),
        (Phase.DUAL_WRITE, BEACON_STALE_MS, None, 284, False),
        (Phase.DUAL_WRITE, BEACON_STALE_MS + 1, 5, 284, False),
        (Phase.FINALIZED, BEACON_STALE_MS + 1, None, 284, False),
        (Phase.PRE_MIGRATION, BEACON_STALE_MS + 1, None, 284, False),
        # Without no-op records (metadata.max.idle.interval.ms=0) there may be nothing to write.
        (Phase.DUAL_WRITE, 3_600_000, None, 283, False),
        (Phase.DUAL_WRITE, 3_600_000, None, None, False),
    ],
)
def test_dual_write_that_is_stuck(
    phase: Phase, age_ms: int, blind: int | None, due: int | None, active: bool
) -> None:
    seen = replace(znode(283, NOW - age_ms), blind_since_ms=blind)
    summary = cluster(phase, zookeeper=seen)
    found = only(summary, HazardKind.DUAL_WRITE_STUCK, log_due(due))
    assert (found is not None) is active


def test_an_offset_that_the_log_does_not_have_is_no_proof_of_a_write() -> None:
    """Another client wrote it: no controller writes before its log has that offset."""
    log = SourceStatus(observed_ms=NOW, dual_write_due=280, high_watermark=284)
    for offset, is_foreign in ((283, False), (284, True), (99_999, True)):
        seen = znode(offset, NOW - BEACON_STALE_MS - 1)
        summary = cluster(Phase.DUAL_WRITE, zookeeper=seen)
        found = only(summary, HazardKind.DUAL_WRITE_STUCK, Currency(log=log))
        assert (found is not None) is is_foreign
        if found is not None:
            assert f"offset {offset}, and the metadata log ends before offset 284" in str(found)
            assert "write nothing: what to restore is unknown" in found.way_out


def test_controllers_that_were_stopped_do_not_make_dual_write_stuck() -> None:
    """In a rollback nobody writes the metadata log either: its end is no hazard of ZooKeeper's."""
    old = cluster(Phase.HYBRID, zookeeper=znode(283, NOW - BEACON_STALE_MS - 1))
    led = log_due(284)
    stopped = replace(led, not_current={DataSource.METADATA_LOG: "it no longer answers"})
    assert only(old, HazardKind.DUAL_WRITE_STUCK, stopped) is None
    assert only(old, HazardKind.DUAL_WRITE_STUCK, led) is not None


@pytest.mark.parametrize(
    ("level", "log_dirs", "active"),
    [
        (16, ("a", "b"), True),
        (17, ("a", "b"), False),
        (16, ("a",), False),
        (None, ("a", "b"), False),
    ],
)
def test_a_metadata_version_without_directories(
    level: int | None, log_dirs: tuple[str, ...], active: bool
) -> None:
    """KIP-858, "Compatibility, Deprecation, and Migration Plan": metadata.version gates it."""
    summary = cluster(Phase.KRAFT, broker(log_dirs=log_dirs), metadata_version=level)
    found = only(summary, HazardKind.METADATA_VERSION)
    assert (found is not None) is active
    if found is not None:
        assert "kafka-features.sh" in found.way_out


@pytest.mark.parametrize("phase", [Phase.ZOOKEEPER, Phase.PRE_MIGRATION])
def test_controllers_whose_log_has_topics_are_not_formatted(phase: Phase) -> None:
    summary = replace(cluster(phase, disks=WELL, metadata_version=7), topics=1)
    found = only(summary, HazardKind.METADATA_VERSION)
    assert found is not None
    assert found.way_out.startswith("Raise the metadata.version")


def test_what_lies_on_the_disks_counts_where_no_broker_can_register() -> None:
    kind = HazardKind.METADATA_VERSION
    found = only(cluster(Phase.PRE_MIGRATION, disks=WELL, metadata_version=14), kind)
    assert found is not None
    assert "3.6-IV2" in found.text
    assert found.evidence[1] == "brokers with several log directories: 1"
    assert "a directory that is formatted already keeps its version" in found.way_out
    one = disks(log_dir("/d0"))
    assert only(cluster(Phase.PRE_MIGRATION, disks=one, metadata_version=14), kind) is None
    assert only(cluster(Phase.PRE_MIGRATION, disks=WELL, metadata_version=17), kind) is None


@pytest.mark.parametrize("mode", [Mode.KRAFT, Mode.MIGRATING])
@pytest.mark.parametrize(
    ("level", "log_dirs", "active"),
    [
        (17, (), True),
        (21, (), True),
        (16, (), False),
        (None, (), False),
        (17, ("a",), False),
    ],
)
def test_a_registration_without_log_directories(
    mode: Mode, level: int | None, log_dirs: tuple[str, ...], active: bool
) -> None:
    """KIP-858, "Metadata records": RegisterBrokerRecord has LogDirs (KAFKA-16162)."""
    summary = cluster(Phase.DUAL_WRITE, broker(mode, log_dirs=log_dirs), metadata_version=level)
    found = only(summary, HazardKind.LOG_DIRS_NOT_REGISTERED)
    assert (found is not None) is active
    if found is not None:
        assert (found.blocks, found.broker) == (Action.FINALIZE, 1)
        assert "names none" in found.evidence[1]


def test_a_broker_that_is_only_in_zookeeper_registers_nowhere() -> None:
    one = broker(Mode.ZOOKEEPER, log_dirs=(), registered_offset=None)
    kind = HazardKind.LOG_DIRS_NOT_REGISTERED
    assert only(cluster(Phase.HYBRID, one), kind) is None


def test_a_broker_that_serves_while_held() -> None:
    """KIP-858, "Broker registration": it remains fenced; Kafka 3.9 does not wait."""
    early = UnfencedEarly(pending=9, duration_ms=None)
    one = broker(held=True, unfenced_early=early, replicas=counts(migrating=4))
    found = only(cluster(Phase.DUAL_WRITE, one), HazardKind.UNFENCED_EARLY)
    assert found is not None
    assert found.evidence == ("9 replicas pending when unfenced, 4 now",)
    done = replace(one, held=False)
    assert only(cluster(Phase.DUAL_WRITE, done), HazardKind.UNFENCED_EARLY) is None


def difference(kind: str, **changes: object) -> Difference:
    found = Difference(kind, "t-1", "seen", "logged", 2, "/d1")
    return found._replace(**changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "hazard", "blocks", "line"),
    [
        ("missing", HazardKind.REPLICA_NOT_ON_DISK, Action.FINALIZE, "broker 2: t-1 in /d1"),
        (
            "misplaced",
            HazardKind.REPLICA_MISPLACED,
            Action.FINALIZE,
            "broker 2: t-1 is in /d1 (seen), assigned to logged",
        ),
        ("stray", HazardKind.REPLICA_NOT_IN_METADATA, None, "broker 2: t-1 in /d1"),
    ],
)
def test_what_lies_elsewhere_than_the_metadata_says(
    kind: str, hazard: HazardKind, blocks: Action | None, line: str
) -> None:
    """KIP-858, "Replica management": the broker corrects the assignment."""
    noun = "log" if kind == "stray" else "replica"
    places = Compared(at_ms=5, lasting={kind: 3}, named=(difference(kind),))
    summary = replace(cluster(Phase.DUAL_WRITE, broker()), places=places)
    unnamed, found = (each for each in hazards(summary, NOW, CURRENT) if each.kind is hazard)
    assert found.blocks is unnamed.blocks is blocks
    assert (found.broker, found.shown, found.evidence_total) == (2, (line,), 1)
    assert (unnamed.broker, unnamed.evidence_total) == (None, 2)
    assert found.text.startswith(f"at least 1 {noun} of broker 2 is ")
    assert unnamed.text.startswith(f"2 further {noun}s, whose brokers are not known, are ")
    passing = replace(summary, places=Compared(at_ms=5, differing=3))
    assert only(passing, hazard) is None


@pytest.mark.parametrize("kind", ["missing", "misplaced", "stray"])
def test_what_lies_elsewhere_is_a_hazard_of_its_broker(kind: str) -> None:
    """One of broker 2 forbids no move on broker 3."""
    named = tuple(
        difference(kind, subject=f"t-{number}", broker=id_) for number, id_ in enumerate((2, 3, 2))
    )
    places = Compared(at_ms=5, lasting={kind: 3}, named=named)
    first, second = (
        each
        for each in hazards(replace(cluster(Phase.KRAFT, broker()), places=places), NOW, CURRENT)
        if each.kind.value.startswith("replica_")
    )
    assert (first.broker, len(first.evidence)) == (2, 2)
    assert re.match(r"2 (replicas|logs) of broker 2 are ", first.text)
    assert (second.broker, len(second.evidence)) == (3, 1)
    assert re.match(r"1 (replica|log) of broker 3 is ", second.text)


COPY = DirectoryMove(path="/d0", replica=FutureSeen("t", 1, 10, 7), since_ms=1)
CAUGHT_UP = replace(COPY, replica=FutureSeen("t", 1, 10, 0))


@pytest.mark.parametrize(
    ("moves", "futures", "named", "forbidden"),
    [
        ((COPY,), 1, True, [2]),
        ((CAUGHT_UP,), 1, True, [2]),
        ((replace(COPY, polls=3),), 1, True, [2]),
        ((replace(CAUGHT_UP, polls=3),), 1, True, []),  # future_replica_stuck: it says to restart
        ((replace(COPY, replica=FutureSeen("t", 2, 10, 7)),), 1, True, []),
        ((), 1, True, [2]),  # a broker names its first 200 moves
        ((), 0, True, []),
        ((COPY,), 1, False, [None]),
        ((), 0, False, []),
    ],
)
def test_no_broker_restarts_while_a_misplaced_replica_still_moves(
    moves: tuple[DirectoryMove, ...], futures: int, *, named: bool, forbidden: list[int | None]
) -> None:
    """A start promotes the copy, also one that is behind (LogManager.recoverAbandonedFutureLogs).

    The controller records the target before the copy is promoted: the replica is misplaced.
    """
    one = BrokerDisks(
        id=2,
        answered_ms=21_000,
        log_dirs=(log_dir("/d0")._replace(futures=futures), log_dir("/d1")),
        moves=moves,
    )
    found = (difference("misplaced"),) if named else ()
    places = Compared(at_ms=5, lasting={"misplaced": 1}, named=found)
    summary = cluster(Phase.KRAFT, broker(id=2), disks=DisksImage(brokers={2: one}))
    misplaced = only(replace(summary, places=places), HazardKind.REPLICA_MISPLACED)
    assert misplaced is not None
    assert misplaced.blocks is Action.FINALIZE
    assert [misplaced.broker] * misplaced.forbids(Action.RESTART) == forbidden
    assert misplaced.way_out.startswith("Do not restart the broker") is bool(forbidden)


@pytest.mark.parametrize(
    ("lag", "line"),
    [
        (120, "t-1 moves to /d1: 120 messages behind"),
        (0, "t-1 moves to /d1: caught up, not promoted"),
        (-1, "t-1 moves to /d1: its current replica is not online"),
    ],
)
def test_a_move_that_does_not_end(lag: int, line: str) -> None:
    """KIP-113, "Complete replica data movement"; KIP-858, "Intra-broker replica movement"."""
    move = DirectoryMove(path="/d1", replica=FutureSeen("t", 1, 10, lag), since_ms=1_000, polls=3)
    one = BrokerDisks(id=1, answered_ms=21_000, log_dirs=(log_dir("/d0"),), moves=(move,))
    for phase in Phase:
        found = only(
            cluster(phase, disks=DisksImage(brokers={1: one})), HazardKind.FUTURE_REPLICA_STUCK
        )
        assert found is not None
        assert (found.broker, found.blocks, found.since_ms) == (1, None, 1_000)
        assert found.evidence == (line,)
    moving = replace(one, moves=(replace(move, polls=2),))
    disks = DisksImage(brokers={1: moving})
    assert only(cluster(Phase.HYBRID, disks=disks), HazardKind.FUTURE_REPLICA_STUCK) is None


@pytest.mark.parametrize("phase", list(Phase))
def test_content_that_differs_counts_while_both_are_written(phase: Phase) -> None:
    content = Compared(at_ms=5, lasting={"leader": 1}, named=(difference("leader"),))
    found = only(replace(cluster(phase, broker()), content=content), HazardKind.CONTENT_DIFFERS)
    assert (found is not None) is (phase in (Phase.HYBRID, Phase.DUAL_WRITE))
    if found is not None:
        assert found.blocks is Action.FINALIZE
        assert found.evidence == ("leader of t-1: ZooKeeper seen, metadata log logged",)

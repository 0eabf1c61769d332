"""Hazards of the queue of assignments, and of dual write that stops while its lag is 0."""

from dataclasses import replace

import pytest

from migration.assessment.currency import Currency
from migration.assessment.data_source import DataSource
from migration.assessment.hazards import Action, Hazard, HazardKind, hazards
from migration.assessment.hazards.jmx import FLAT_AFTER_MS
from migration.assessment.waits import WaitKind
from migration.image.summary import BrokerSummary, ClusterSummary, Phase
from migration.observed.jmx import JmxImage, JmxNode, QueueFloor
from migration.observed.jmx_names import JmxName
from migration.observed.source_status import SourceStatus
from migration.observed.znode_codec import MigrationZnode, ZkController
from migration.observed.znodes import CONTROLLER, CONTROLLER_EPOCH
from migration.observed.zookeeper import BEACON_STALE_MS, ZooKeeperImage
from migration.values.severity import Severity
from tests.migration.assessment.hazards.test_hazards import NOW, broker, cluster, counts
from tests.support.assessing import waits

QUEUE = str(JmxName.QUEUED_REPLICA_TO_DIR_ASSIGNMENTS)
LAG = str(JmxName.ZK_WRITE_BEHIND_LAG)
ACTIVE = str(JmxName.ACTIVE_CONTROLLER_COUNT)


FOLLOWED = Currency(log=SourceStatus(observed_ms=NOW, dual_write_due=284))


def found(summary: ClusterSummary, kind: HazardKind) -> Hazard | None:
    some = [each for each in hazards(summary, NOW, FOLLOWED) if each.kind is kind]
    assert len(some) <= 1
    return some[0] if some else None


def queued(flat_ms: int, one: BrokerSummary | None = None, **changes: object) -> ClusterSummary:
    floor = QueueFloor(value=2, since_ms=NOW - flat_ms, filled_ms=NOW - flat_ms - 5000)
    node = JmxNode(id=1, endpoint="e", read_ms=NOW, numbers={QUEUE: 3}, queue=floor)
    jmx = JmxImage(nodes={1: replace(node, **changes)})  # type: ignore[arg-type]
    return replace(cluster(Phase.KRAFT, *([one] if one else [])), jmx=jmx)


FLAT = HazardKind.ASSIGNMENT_QUEUE_FLAT


def test_a_queue_that_does_not_fall_is_named_with_what_the_metadata_log_shows() -> None:
    """KIP-858, "Metrics": QueuedReplicaToDirAssignments."""
    one = broker(assigned_ms=NOW - FLAT_AFTER_MS, replicas=counts(assigned=4, unassigned=3))
    hazard = found(queued(FLAT_AFTER_MS, one), FLAT)
    assert hazard is not None
    assert (hazard.severity, hazard.blocks, hazard.broker) == (
        Severity.WARNING,
        Action.FINALIZE,
        1,
    )
    assert hazard.since_ms == NOW - FLAT_AFTER_MS
    assert hazard.evidence == (
        f"{QUEUE} is 3, not below 2 for 1 min, above 0 for 1 min 5 s",
        "metadata log: a replica was last assigned 1 min ago",
        "metadata log: 3 replicas without a directory",
    )


@pytest.mark.parametrize(
    ("summary", "stands"),
    [
        (queued(FLAT_AFTER_MS - 1, broker()), False),
        (queued(FLAT_AFTER_MS, broker()), True),
        # The metadata log shows that the controller confirms assignments of this broker.
        (queued(FLAT_AFTER_MS, broker(assigned_ms=NOW - FLAT_AFTER_MS + 1)), False),
        (queued(FLAT_AFTER_MS, broker(id=2, assigned_ms=NOW)), True),
        (queued(FLAT_AFTER_MS), True),
        (queued(FLAT_AFTER_MS, broker(), queue=None), False),
        # That time passes shows nothing: the queue must have been read again.
        (queued(10 * FLAT_AFTER_MS, broker(), read_ms=NOW - 10 * FLAT_AFTER_MS), False),
        # What was seen stands until it can be looked at again.
        (queued(FLAT_AFTER_MS, broker(), unreachable="refused"), True),
    ],
)
def test_when_a_queue_is_flat(summary: ClusterSummary, stands: bool) -> None:
    """KIP-858, "Metrics": QueuedReplicaToDirAssignments."""
    assert (found(summary, FLAT) is not None) is stands


def test_a_queue_that_cannot_be_read_any_more_says_how_old_it_is() -> None:
    hazard = found(queued(FLAT_AFTER_MS, broker(), unreachable="refused"), FLAT)
    assert hazard is not None
    assert hazard.evidence[-1] == "last read 0 ms ago; the broker's JMX does not answer: refused"


STUCK = HazardKind.DUAL_WRITE_STUCK
ZNODE = MigrationZnode(
    offset=283, controller_id=3000, controller_epoch=1, metadata_epoch=1, written_ms=NOW - 1000
)
WELL = ZooKeeperImage(
    seen_ms=NOW - 10**6,
    controller=ZkController(id=3000, kraft_epoch=1, claimed_ms=1),
    controller_epoch=4,
    controller_epoch_ms=NOW - 10**6,
    migration=ZNODE,
    migration_copied=ZNODE,
    versions={CONTROLLER: (0, 88), CONTROLLER_EPOCH: (3, 88)},
)


def dual(zookeeper: ZooKeeperImage, jmx: JmxImage | None = None) -> ClusterSummary:
    return replace(cluster(Phase.DUAL_WRITE, broker(), zookeeper=zookeeper), jmx=jmx)


def test_dual_write_that_is_well_is_no_hazard() -> None:
    assert found(dual(WELL), STUCK) is None


OLD = replace(WELL, migration=replace(ZNODE, written_ms=NOW - BEACON_STALE_MS - 1))


def test_what_the_lag_reads_is_evidence_and_lifts_nothing() -> None:
    nodes = {
        3000: JmxNode(id=3000, read_ms=NOW, numbers={LAG: 0, ACTIVE: 1}),
        3001: JmxNode(id=3001, read_ms=NOW, numbers={LAG: 0, ACTIVE: 0}),
        3002: JmxNode(id=3002, read_ms=NOW, numbers={LAG: 5000}),
        1: JmxNode(id=1, read_ms=NOW, numbers={ACTIVE: 0}),
    }
    hazard = found(dual(OLD, JmxImage(nodes=nodes)), STUCK)
    assert hazard is not None
    assert hazard.evidence == (
        "/migration: last written up to metadata offset 283",
        "ZkWriteBehindLag of controller 3000 (active) is 0, which looks healthy",
        "ZkWriteBehindLag of controller 3001 (not active) is 0, which looks healthy",
        "ZkWriteBehindLag of controller 3002 is 5000",
    )


def test_a_lag_that_nobody_tells_is_said_to_be_unknown() -> None:
    hazard = found(dual(OLD, JmxImage()), STUCK)
    assert hazard is not None
    assert hazard.evidence[1:] == ("ZkWriteBehindLag is unknown for every controller",)
    hazard = found(dual(OLD), STUCK)
    assert hazard is not None
    assert len(hazard.evidence) == 1


def test_a_znode_that_is_gone_is_to_be_put_back_before_any_restart() -> None:
    hazard = found(dual(replace(WELL, migration=None)), STUCK)
    assert hazard is not None
    assert "/migration is gone" in hazard.text
    assert hazard.way_out.startswith("Do not restart the active controller first")
    assert (
        'create it again with {"version":0,"kraft_metadata_offset":283,"kraft_controller_id":3000,'
        '"kraft_metadata_epoch":1,"kraft_controller_epoch":1}'
    ) in hazard.way_out
    unknown = found(dual(replace(WELL, migration=None, migration_copied=None)), STUCK)
    assert unknown is not None
    assert "is unknown" in unknown.evidence[0]
    assert "and write nothing: what to restore is unknown" in unknown.way_out


@pytest.mark.parametrize(
    ("age_ms", "known", "stands"),
    [
        (1000, True, True),
        (1000, False, False),  # the copy has just ended
        (BEACON_STALE_MS + 1, False, True),
    ],
)
def test_a_znode_that_says_that_nothing_was_copied(age_ms: int, known: bool, stands: bool) -> None:
    now = replace(ZNODE, offset=-1, written_ms=NOW - age_ms)
    image = replace(WELL, migration=now, migration_copied=ZNODE if known else None)
    hazard = found(dual(image), STUCK)
    assert (hazard is not None) is stands
    assert hazard is None or "records no copy" in hazard.text


def test_a_controller_epoch_that_somebody_else_wrote() -> None:
    """/migration goes on, ZkWriteBehindLag is 0, and no change reaches ZooKeeper."""
    raised = replace(
        WELL,
        controller_epoch=5,
        controller_epoch_ms=NOW - BEACON_STALE_MS - 1,
        versions={CONTROLLER: (0, 88), CONTROLLER_EPOCH: (4, 99)},
    )
    hazard = found(dual(raised), STUCK)
    assert hazard is not None
    assert "another client wrote /controller_epoch" in hazard.text
    assert hazard.evidence == (
        "/controller_epoch is 5, written in transaction 0x63; controller 3000 took over in 0x58",
    )
    # A controller that takes over writes both, and they are seen one after the other.
    fresh = replace(raised, controller_epoch_ms=NOW - 1000)
    assert found(dual(fresh), STUCK) is None
    # The second fact has not been processed for long; what the source reports does not change that.
    behind = Currency(not_current={DataSource.ZOOKEEPER: "behind"})
    beating = replace(raised, migration=replace(ZNODE, written_ms=NOW, observed_ms=NOW - 40_000))
    applied = replace(beating, controller_epoch_ms=NOW - 45_000, seen_ms=NOW - 50_000)
    assert STUCK not in {each.kind for each in hazards(dual(applied), NOW, behind)}


def test_a_cluster_that_zookeeper_controls_again_is_not_stuck() -> None:
    back = replace(
        WELL, migration=None, controller=ZkController(id=1, kraft_epoch=-1, claimed_ms=1)
    )
    assert found(dual(back), STUCK) is None


FRESH = SourceStatus(observed_ms=NOW, last_reply_ms=NOW, high_watermark=1)


def test_a_node_whose_numbers_cannot_be_read_is_a_wait_with_its_reason() -> None:
    gone = JmxNode(id=1, unreachable="refused", unreachable_since_ms=NOW - 5)
    jmx = JmxImage(nodes={1: gone, 3000: replace(gone, id=3000), 2: JmxNode(id=2)})
    summary = replace(cluster(Phase.FINALIZED, broker()), jmx=jmx, metadata_offset=0)
    found = waits(summary, FRESH, NOW, 10**6)
    assert [(each.kind, each.broker) for each in found] == [
        (WaitKind.JMX_UNKNOWN, 1),
        (WaitKind.JMX_UNKNOWN, None),
    ]
    assert found[0].text == "the JMX numbers of node 1 to be read: refused"
    assert found[0].since_ms == NOW - 5

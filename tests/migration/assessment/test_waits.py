"""Every wait has a named reason, the most important first, and stale data advises nothing."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration.assessment.assess import Assessment, Snapshot, assess
from migration.assessment.currency import SourceCurrency, SourceState
from migration.assessment.data_source import DataSource
from migration.assessment.next_action import Need
from migration.assessment.waits import NEXT_STEPS, Wait, WaitKind, nothing_seen
from migration.assessment.waits import waits as waits_by_currency
from migration.image.summary import (
    WITHOUT_ZOOKEEPER,
    BrokerSummary,
    ClusterSummary,
    Mode,
    Phase,
    Progress,
)
from migration.metadata.replica_state import ReplicaState
from migration.observed.log_dirs import BrokerDisks, DisksImage
from migration.observed.source_status import NO_STATUS, SourceStatus
from migration.observed.znode_codec import MigrationZnode, ZkBroker, ZkController
from migration.observed.znodes import MIGRATION
from migration.observed.zookeeper import ZooKeeperImage
from tests.support.assessing import waits

NOW = 1_790_000_000_000
STALL = 300_000
FRESH = SourceStatus(observed_ms=NOW - 100, last_reply_ms=NOW - 400, high_watermark=1440)


def broker(broker_id: int, mode: Mode = Mode.KRAFT, **changes: object) -> BrokerSummary:
    counts = {"assigned": 32} if mode is Mode.KRAFT else {"migrating": 32}
    counts = changes.pop("replicas", counts)  # type: ignore[assignment]
    settled = BrokerSummary(
        id=broker_id,
        epoch=1,
        mode=mode,
        fenced=False,
        in_controlled_shutdown=False,
        held=False,
        log_dirs=(),
        replicas={state: counts.get(str(state), 0) for state in ReplicaState},
        registered_offset=645,
        registered_ms=NOW - 60_000,
        unfenced_offset=None,
        unfenced_ms=None,
        assignments_complete_offset=None,
        assignments_complete_ms=None,
        unfenced_early=None,
        progress=None,
    )
    return replace(settled, **changes)  # type: ignore[arg-type]


def held(broker_id: int, **changes: object) -> BrokerSummary:
    counts = {"assigned": 52, "migrating": 8, "unassigned": 4}
    progress = Progress(assigned=52, first_ms=NOW - 30_000, last_ms=NOW - 4_000)
    return broker(broker_id, **({"held": True, "replicas": counts, "progress": progress} | changes))  # type: ignore[arg-type]


def cluster(phase: Phase, *brokers: BrokerSummary) -> ClusterSummary:
    return replace(nothing_seen("prod"), phase=phase, metadata_offset=1439, brokers=brokers)


def said(summary: ClusterSummary, source: SourceStatus = FRESH) -> list[str]:
    return [wait.text for wait in waits(summary, source, NOW, STALL)]


def test_a_held_broker_names_its_replicas_and_its_last_progress() -> None:
    assert said(cluster(Phase.HYBRID, held(3))) == [
        (
            "broker 3 is held: 12 of 64 replicas without a directory (8 migrating, 4 unassigned),"
            " last progress 4 s ago"
        ),
    ]


def test_a_broker_that_returned_to_zookeeper_is_not_waited_for_as_if_it_were_down() -> None:
    down = broker(2, fenced=True, in_controlled_shutdown=True)
    znode = ZkBroker(id=2, host=None, rack=None, since_ms=NOW - 1_000)
    seen = ZooKeeperImage(brokers={2: znode})
    assert said(replace(cluster(Phase.DUAL_WRITE, down), zookeeper=seen))[0] == (
        "broker 2 to be unfenced: it is in /brokers/ids, and runs in ZooKeeper or migration mode"
    )


def test_a_held_broker_without_progress_counts_from_its_registration() -> None:
    assert said(cluster(Phase.HYBRID, held(3, progress=None)))[0].endswith(
        "(8 migrating, 4 unassigned), registered 1 min ago, no progress yet"
    )


def test_a_broker_from_a_snapshot_has_no_time_to_count_from() -> None:
    one = held(3, progress=None, registered_ms=None)
    assert said(cluster(Phase.HYBRID, one))[0].endswith("4 unassigned), no progress yet")
    assert not one.is_stalled(NOW, STALL)


def test_a_stalled_broker_comes_before_a_held_one() -> None:
    late = held(7, progress=Progress(assigned=52, first_ms=NOW - 900_000, last_ms=NOW - 360_000))
    found = waits(cluster(Phase.HYBRID, held(3), late), FRESH, NOW, STALL)
    assert [(wait.kind, wait.broker) for wait in found] == [
        (WaitKind.BROKER_STALLED, 7),
        (WaitKind.BROKER_HELD, 3),
    ]
    assert found[0].text.startswith("broker 7 is held and stalled: 12 of 64")
    assert found[0].text.endswith("no progress for 6 min")
    assert found[0].since_ms == NOW - 360_000


def test_stall_begins_right_behind_its_time() -> None:
    one = held(3, progress=None, registered_ms=NOW - STALL)
    assert one.is_stalled(NOW + 1, STALL)
    assert not one.is_stalled(NOW, STALL)


def test_the_next_restart_is_not_advised_before_the_held_broker_is_in_order() -> None:
    assert said(cluster(Phase.HYBRID, broker(2, Mode.MIGRATING), held(3)))[1] == (
        "broker 2 is still in ZooKeeper mode: restart it in KRaft mode,"
        " once nothing is pending for broker 3"
    )


def test_a_broker_in_zookeeper_mode_is_to_be_restarted() -> None:
    assert said(cluster(Phase.HYBRID, broker(1), broker(2, Mode.MIGRATING))) == [
        "broker 2 is still in ZooKeeper mode: restart it in KRaft mode"
    ]


def test_a_fenced_broker_in_zookeeper_mode_is_not_to_be_restarted_unseen() -> None:
    assert said(cluster(Phase.HYBRID, broker(2, Mode.MIGRATING, fenced=True))) == [
        "broker 2 to be unfenced: check its log directories before any restart",
        (
            "broker 2 is still in ZooKeeper mode: restart it in KRaft mode, once all of its log"
            " directories are known to be online"
        ),
    ]


@pytest.mark.parametrize(
    ("changes", "asks"),
    [
        ({"registered_ms": NOW - 60_001}, True),
        ({"registered_ms": NOW - 60_000}, False),
        ({"registered_ms": NOW - 60_001, "unfenced_ms": NOW - 60_000}, False),
        ({"registered_ms": NOW - 60_001, "in_controlled_shutdown": True}, False),
    ],
)
def test_a_broker_that_the_controllers_forgot_to_unfence_is_restarted(
    changes: dict[str, Any], asks: bool
) -> None:
    """Seen on 3.9.1: a controller that died in the copy took the record with its transaction."""

    def found(phase: Phase, copied_ms: int) -> Wait:
        one = broker(2, Mode.MIGRATING, fenced=True, **changes)
        summary = replace(cluster(phase, one), migration_state_ms=copied_ms)
        return next(e for e in waits(summary, FRESH, NOW, STALL) if e.broker == 2)

    found_now = found(Phase.HYBRID, NOW - 60_001)
    assert (found_now.kind, found_now.needs_person) == (WaitKind.BROKER_FENCED, asks)
    assert found_now.action.startswith("Restart broker 2 if it runs" if asks else "")
    # The copy's end has the record, however long the copy lasts.
    assert not found(Phase.COPYING, NOW - 60_001).needs_person
    assert not found(Phase.HYBRID, NOW - 60_000).needs_person


def test_offline_replicas_and_fenced_brokers_are_named() -> None:
    """KIP-858, "Metadata caching": a replica is offline if its directory is not registered."""
    one = broker(1, replicas={"assigned": 30, "offline": 2})
    two = broker(2, fenced=True)
    three = broker(3, fenced=True, in_controlled_shutdown=True)
    four = broker(4, replicas={"assigned": 31, "unassigned": 1})
    assert said(cluster(Phase.FINALIZED, one, two, three, four)) == [
        "broker 1 has 2 replicas in an offline log directory: restore it",
        "broker 2 to be unfenced: it is down, or has not caught up with the metadata log",
        "broker 3 to restart: it shut down and is fenced",
        "broker 4 has 1 replica without a directory (1 unassigned)",
    ]


def test_dual_write_waits_for_finalize_and_first_for_what_is_not_in_order() -> None:
    finalize = (
        "the migration to be finalized: restart the controllers without"
        " zookeeper.metadata.migration.enable"
    )
    assert said(cluster(Phase.DUAL_WRITE, broker(1))) == [finalize]
    blocked = said(cluster(Phase.DUAL_WRITE, broker(1), held(3), broker(4, fenced=True)))
    assert blocked[0].startswith("broker 3 is held")
    assert blocked[-1] == finalize + ", once nothing is pending for brokers 3, 4"


@pytest.mark.parametrize(
    ("phase", "text"),
    [
        (
            Phase.ZOOKEEPER,
            "the KRaft controllers to be provisioned: their log has no migration state yet",
        ),
        (
            Phase.PRE_MIGRATION,
            (
                "broker registrations: none registered for migration;"
                " waiting for all and then the copy"
            ),
        ),
        (Phase.COPYING, "the copy from ZooKeeper: the ZK Migration transaction is open"),
        (Phase.HYBRID, "the brokers to register in KRaft mode"),
        (
            Phase.ROLLED_BACK,
            (
                "the next attempt: a broker in ZooKeeper mode is the controller again;"
                " delete /migration first"
            ),
        ),
    ],
)
def test_every_phase_on_the_way_has_its_reason(phase: Phase, text: str) -> None:
    assert said(cluster(phase)) == [text]


def test_pre_migration_names_who_is_registered_and_who_is_missing() -> None:
    one, two = broker(1, Mode.MIGRATING), broker(2, Mode.MIGRATING, fenced=True)
    assert said(cluster(Phase.PRE_MIGRATION, one, two))[-1] == (
        "broker registrations: 1, 2 registered for migration;"
        " waiting for the others and then the copy"
    )
    three = broker(3, Mode.ZOOKEEPER, registered_ms=None)
    assert said(cluster(Phase.PRE_MIGRATION, one, three)) == [
        "broker registrations: 1 registered for migration; waiting for 3 and then the copy"
    ]


def test_finalized_with_nothing_pending_waits_for_nothing() -> None:
    summary = cluster(Phase.FINALIZED, broker(1))
    assert waits(summary, FRESH, NOW, STALL) == ()


@pytest.mark.parametrize("state", [SourceState.SILENT, SourceState.CURRENT])
def test_no_restart_is_advised_without_a_word_about_unknown_log_directories(
    state: SourceState,
) -> None:
    sources = {
        DataSource.METADATA_LOG: SourceCurrency(state=SourceState.CURRENT, status=FRESH),
        DataSource.LOG_DIRS: SourceCurrency(
            state=state, why=None if state is SourceState.CURRENT else "no longer reports"
        ),
    }
    described = DisksImage(brokers={2: BrokerDisks(id=2, answered_ms=NOW)})
    summary = cluster(Phase.HYBRID, broker(2, Mode.MIGRATING), broker(3, Mode.MIGRATING))
    found = waits_by_currency(replace(summary, disks=described), sources, NOW, ())
    advised = {each.broker: each.action for each in found}
    known = ", once all of its log directories are known to be online"
    assert advised[3] == f"Restart broker 3 in KRaft mode{known}"
    unknown = state is not SourceState.CURRENT
    assert advised[2] == f"Restart broker 2 in KRaft mode{known if unknown else ''}"


def test_finalized_too_early_is_said() -> None:
    assert said(cluster(Phase.FINALIZED, broker(2, Mode.MIGRATING))) == [
        (
            "broker 2 is still in ZooKeeper mode although the migration is finalized:"
            " restart it in KRaft mode"
        )
    ]


@pytest.mark.parametrize(
    ("source", "kind", "text"),
    [
        (NO_STATUS, WaitKind.NOT_RUNNING, "kraftgate run: nothing has been observed yet"),
        (
            replace(FRESH, error="the cluster id is A, the configuration says B"),
            WaitKind.SOURCE_ERROR,
            "the source to be repaired: the cluster id is A, the configuration says B",
        ),
        (
            replace(FRESH, observed_ms=NOW - 42_000),
            WaitKind.NOT_RUNNING,
            "kraftgate run: it last reported 42 s ago",
        ),
        (
            replace(FRESH, observed_ms=NOW + 3_600_000),
            WaitKind.NOT_RUNNING,
            "kraftgate run: its last report is from before the clock was set back",
        ),
        (
            replace(FRESH, last_reply_ms=NOW - 42_000, endpoint="c1:9093", waiting="refused"),
            WaitKind.STALE_DATA,
            "a controller to answer: the last reply from c1:9093 is 42 s old (refused)",
        ),
        (
            replace(FRESH, last_reply_ms=None, waiting="c1:9093: connection refused"),
            WaitKind.NO_CONTROLLER,
            (
                "a controller to answer: none has since kraftgate started"
                " (c1:9093: connection refused)"
            ),
        ),
        (
            replace(FRESH, high_watermark=40_000),
            WaitKind.CATCHING_UP,
            "the metadata log to be read: 1440 of 40000 records, 38560 to go",
        ),
        (
            replace(FRESH, log=2, high_watermark=4),
            WaitKind.CATCHING_UP,
            "the metadata log to be read: another one has begun, number 2",
        ),
    ],
)
def test_what_is_not_current_is_the_only_wait(
    source: SourceStatus, kind: WaitKind, text: str
) -> None:
    found = waits(cluster(Phase.HYBRID, broker(2, Mode.MIGRATING)), source, NOW, STALL)
    assert [(wait.kind, wait.text) for wait in found] == [(kind, text)]


def test_controllers_that_never_answered_are_a_phase_and_not_an_error() -> None:
    source = SourceStatus(observed_ms=NOW, waiting="c1:9093: connection refused")
    assert said(nothing_seen("prod"), source) == [
        (
            "the KRaft controllers to be provisioned: none has answered yet"
            " (c1:9093: connection refused)"
        )
    ]


def test_without_zookeeper_controllers_that_never_answered_are_an_error() -> None:
    source = SourceStatus(observed_ms=NOW, waiting="c1:9093: connection refused")
    found = assess(
        Snapshot(
            summary=nothing_seen("prod"),
            now_ms=NOW,
            stall_after_ms=60_000,
            configured=frozenset({DataSource.METADATA_LOG}),
            sources={DataSource.METADATA_LOG: source},
        )
    ).next
    assert found.need is Need.WRONG
    assert found.text == "Start the controllers, or correct `controllers.bootstrap`"
    assert found.why == "none has since kraftgate started (c1:9093: connection refused)"


@pytest.mark.parametrize(
    ("seen", "status", "text"),
    [
        (
            ZooKeeperImage(seen_ms=NOW - 100_000, blind_since_ms=NOW - 50_000),
            SourceStatus(observed_ms=NOW, last_reply_ms=NOW - 50_000, waiting="refused"),
            "ZooKeeper to be read again: its changes of the last 50 s are unknown",
        ),
        (
            None,
            SourceStatus(observed_ms=NOW, waiting="reading everything from z:2181"),
            "ZooKeeper to be read: reading everything from z:2181",
        ),
        (None, NO_STATUS, "ZooKeeper to be read: kraftgate run starts"),
    ],
)
def test_no_controllers_are_provisioned_while_zookeeper_is_not_current(
    seen: ZooKeeperImage | None, status: SourceStatus, text: str
) -> None:
    """A stale /migration that nobody sees would make them skip the copy, and wipe ZooKeeper."""
    found = before_the_controllers(seen, status)
    assert [each.text for each in found.waits] == [text]
    assert found.next.need is Need.WAITING
    assert text in found.next.text


@pytest.mark.parametrize("blind_since_ms", [None, NOW - 50_000])
def test_an_operator_repairs_a_zookeeper_that_cannot_be_followed(
    blind_since_ms: int | None,
) -> None:
    seen = ZooKeeperImage(seen_ms=NOW - 100_000, blind_since_ms=blind_since_ms)
    why = "no Kafka cluster is there"
    status = SourceStatus(observed_ms=NOW, last_reply_ms=NOW, error=why)
    found = before_the_controllers(seen, status)
    assert [each.text for each in found.waits] == [f"the source to be repaired: {why}"]
    assert (found.next.need, found.next.text) == (Need.WRONG, f"Repair the source: {why}")


def before_the_controllers(seen: ZooKeeperImage | None, status: SourceStatus) -> Assessment:
    """A cluster in ZooKeeper mode; `status`: of ZooKeeper."""
    silent = SourceStatus(observed_ms=NOW, waiting="c1:9093: connection refused")
    sources = {DataSource.METADATA_LOG: silent, DataSource.ZOOKEEPER: status}
    snapshot = Snapshot(
        summary=replace(nothing_seen("prod"), zookeeper=seen),
        now_ms=NOW,
        stall_after_ms=60_000,
        configured=frozenset(sources),
        sources=sources,
        resuming=frozenset({DataSource.ZOOKEEPER} if status == NO_STATUS else ()),
    )
    return assess(snapshot)


def test_a_file_that_was_read_to_its_end_never_ages() -> None:
    source = SourceStatus(observed_ms=1, finished=True)
    assert said(cluster(Phase.FINALIZED, broker(1)), source) == []


counts = st.integers(0, 50)
brokers = st.builds(
    lambda i, mode, fenced, is_held, down, a, b, c: broker(
        i,
        mode,
        fenced=fenced,
        in_controlled_shutdown=down,
        held=is_held and mode is Mode.KRAFT and a + b > 0,
        replicas={"migrating": a, "unassigned": b, "offline": c},
    ),
    st.integers(0, 9),
    st.sampled_from(Mode),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    counts,
    counts,
    counts,
)
clusters = st.builds(
    lambda phase, found: cluster(phase, *found),
    st.sampled_from(Phase),
    st.lists(brokers, unique_by=lambda b: b.id, max_size=5),
)
sources = st.builds(
    lambda age, reply, error, finished: SourceStatus(
        observed_ms=NOW - age,
        last_reply_ms=None if reply is None else NOW - reply,
        error=error,
        finished=finished,
    ),
    st.integers(0, 60_000),
    st.none() | st.integers(0, 60_000),
    st.none() | st.just("refused"),
    st.booleans(),
)


@given(clusters, sources)
def test_there_is_always_a_reason_until_it_is_finalized(
    summary: ClusterSummary, source: SourceStatus
) -> None:
    found = waits(summary, source, NOW, STALL)
    in_order = all(
        b.mode is Mode.KRAFT
        and not b.fenced
        and not b.pending
        and not b.replicas[ReplicaState.OFFLINE]
        for b in summary.brokers
    )
    if not found:
        assert summary.phase in {Phase.FINALIZED, Phase.KRAFT}
        assert in_order
    assert all(wait.text and "\n" not in wait.text for wait in found)


@given(clusters, sources)
def test_no_step_is_advised_on_data_that_is_not_current(
    summary: ClusterSummary, source: SourceStatus
) -> None:
    found = waits(summary, replace(source, observed_ms=0, finished=False), NOW, STALL)
    assert len(found) == 1
    assert "restart" not in found[0].text


@given(clusters)
def test_every_held_broker_is_named(summary: ClusterSummary) -> None:
    found = waits(summary, FRESH, NOW, STALL)
    named = {w.broker for w in found if w.kind in {WaitKind.BROKER_HELD, WaitKind.BROKER_STALLED}}
    assert named == {b.id for b in summary.brokers if b.held}


def test_zookeeper_that_is_not_seen_is_named_as_long_as_it_is_needed() -> None:
    blind = ZooKeeperImage(seen_ms=1, blind_since_ms=NOW - 12_000)
    for phase, needed in ((Phase.HYBRID, True), (Phase.FINALIZED, False), (Phase.KRAFT, False)):
        summary = replace(cluster(phase, broker(3)), zookeeper=blind)
        text = "ZooKeeper to be read again: its changes of the last 12 s are unknown"
        assert (text in said(summary)) is needed
    assert said(replace(cluster(Phase.HYBRID, broker(3)), zookeeper=ZooKeeperImage(seen_ms=1)))


@pytest.mark.parametrize(
    ("state", "kind", "text"),
    [
        (SourceState.BEHIND, WaitKind.CATCHING_UP, "ZooKeeper's changes to be processed: why"),
        (SourceState.SILENT, WaitKind.ZOOKEEPER_BLIND, "ZooKeeper to be read: why"),
        (SourceState.UNANSWERED, WaitKind.ZOOKEEPER_BLIND, "ZooKeeper to be read: why"),
        (SourceState.ERROR, WaitKind.SOURCE_ERROR, "the source to be repaired: why"),
    ],
)
@pytest.mark.parametrize("phase", Phase)
def test_no_next_step_is_named_while_zookeeper_is_not_current(
    phase: Phase, state: SourceState, kind: WaitKind, text: str
) -> None:
    def found(state: SourceState) -> list[tuple[WaitKind, str]]:
        summary = replace(cluster(phase, held(3)), zookeeper=ZooKeeperImage(seen_ms=1))
        sources = {
            DataSource.METADATA_LOG: SourceCurrency(state=SourceState.CURRENT),
            DataSource.ZOOKEEPER: SourceCurrency(state=state, why="why"),
        }
        return [(e.kind, e.text) for e in waits_by_currency(summary, sources, NOW, {3})]

    current = found(SourceState.CURRENT)
    if phase in WITHOUT_ZOOKEEPER:
        assert found(state) == current
    else:
        rest = [each for each in current if each[0] not in NEXT_STEPS]
        assert found(state) == [(kind, text), *rest]
        assert found(SourceState.NOT_CONFIGURED) == current


def test_a_broker_whose_disks_are_not_known_is_named_once() -> None:
    down = BrokerDisks(id=3, unreachable="refused", unreachable_since_ms=NOW - 5_000)
    disks = DisksImage(brokers={3: down})
    summary = replace(cluster(Phase.HYBRID, broker(3)), disks=disks)
    assert "broker 3 to describe its log directories: refused" in said(summary)
    fenced = replace(summary, brokers=(broker(3, fenced=True),))
    assert not any("to describe" in text for text in said(fenced))


@pytest.mark.parametrize(
    ("one", "silent_ms", "starts"),
    [
        (broker(3, Mode.MIGRATING, fenced=True), 60_001, True),
        (broker(3, fenced=True), 60_001, True),
        (broker(3, Mode.ZOOKEEPER), 60_001, True),
        (broker(3, fenced=True), 60_000, False),
        (broker(3), 60_001, False),
    ],
)
def test_a_broker_that_two_sources_show_to_be_down_is_started(
    one: BrokerSummary, silent_ms: int, *, starts: bool
) -> None:
    disks = BrokerDisks(id=3, unreachable="refused", unreachable_since_ms=NOW - silent_ms)
    summary = replace(
        cluster(Phase.PRE_MIGRATION, one),
        disks=DisksImage(brokers={3: disks}),
        zookeeper=ZooKeeperImage(seen_ms=NOW, ever=frozenset({3})),
    )
    current = SourceCurrency(state=SourceState.CURRENT, status=FRESH)
    sources = {DataSource.METADATA_LOG: current, DataSource.LOG_DIRS: current}
    down = waits_by_currency(summary, sources, NOW, ())[0]
    assert (down.action == "Start broker 3") is starts
    assert ("does not answer: refused" in down.cause) is starts


BEFORE = ZooKeeperImage(seen_ms=NOW)
CLAIMED = ZkController(id=3000, kraft_epoch=1, claimed_ms=NOW)
BEGUN = MigrationZnode(
    offset=-1, controller_id=3000, controller_epoch=1, metadata_epoch=1, written_ms=NOW
)


@pytest.mark.parametrize(
    ("seen", "phase"),
    [
        (None, None),
        (ZooKeeperImage(blind_since_ms=NOW), None),
        (BEFORE, Phase.ZOOKEEPER),
        (replace(BEFORE, controller=CLAIMED), None),
        (replace(BEFORE, migration=BEGUN), None),
        (replace(BEFORE, unreadable={MIGRATION: "it is cut"}), None),
    ],
)
def test_the_phase_is_unknown_while_only_the_unread_log_could_show_it(
    seen: ZooKeeperImage | None, phase: Phase | None
) -> None:
    summary = replace(nothing_seen("prod"), zookeeper=seen)
    assert summary.known_phase is phase
    assert replace(summary, metadata_offset=0).known_phase is Phase.ZOOKEEPER

"""A healthy cluster in dual write and views of it; random views for property tests."""

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import strategies as st

from migration.assessment.conditions import (
    CheckSeen,
    DataSource,
    PreflightSeen,
    QuorumSeen,
    SettingsSeen,
    TopicsSeen,
    View,
)
from migration.assessment.currency import CURRENT, Currency
from migration.assessment.hazards import hazards
from migration.comparison.differences import Difference
from migration.comparison.result import Compared
from migration.image.summary import (
    BrokerSummary,
    ClusterSummary,
    ControllerSummary,
    DirectoriesGone,
    Mode,
    Phase,
    UnfencedEarly,
)
from migration.metadata.replica_state import ReplicaState
from migration.observed.facts import FutureSeen, LogDirSeen
from migration.observed.log_dirs import BrokerDisks, CutOff, DirectoryMove, DisksImage
from migration.observed.probed import Voter
from migration.observed.znode_codec import MigrationZnode, ZkBroker, ZkController
from migration.observed.zookeeper import ZooKeeperImage
from migration.values.timestamps import LATEST_MS

NOW = 1_790_000_000_000
STALL_MS = 300_000
ALL_STALE: Mapping[DataSource, str] = dict.fromkeys(DataSource, "no answer was received")


def counts(**given: int) -> Mapping[ReplicaState, int]:
    return {state: given.get(str(state), 0) for state in ReplicaState}


def broker(id_: int, mode: Mode = Mode.KRAFT, **changes: object) -> BrokerSummary:
    well = BrokerSummary(
        id=id_,
        epoch=645,
        mode=mode,
        fenced=False,
        in_controlled_shutdown=False,
        held=False,
        log_dirs=("AQEBAQEBAQEBAQEBAQEBAQ", "AgICAgICAgICAgICAgICAg"),
        replicas=counts(assigned=32),
        registered_offset=645,
        registered_ms=NOW - 600_000,
        unfenced_offset=648,
        unfenced_ms=NOW - 599_000,
        assignments_complete_offset=680,
        assignments_complete_ms=NOW - 598_000,
        unfenced_early=None,
        progress=None,
        under_replicated=0,
    )
    return replace(well, **changes)  # type: ignore[arg-type]


def directory(path: str, **changes: object) -> LogDirSeen:
    well = LogDirSeen(path, 0, 1000, 900, 16, 100, 0, 0, None, None)
    return well._replace(**changes)  # type: ignore[arg-type]


def disks(id_: int, *log_dirs: LogDirSeen, **changes: object) -> BrokerDisks:
    told = log_dirs or (directory("/d1"), directory("/d2"))
    well = BrokerDisks(id=id_, answered_ms=NOW - 1000, log_dirs=told)
    return replace(well, **changes)  # type: ignore[arg-type]


def moves(id_: int, *, lag: int = 120, polls: int = 1, error: int = 0) -> BrokerDisks:
    """Broker with one move, from /d1 to /d2; `polls` without progress."""
    replica = FutureSeen("orders", 3, 10, lag)
    move = DirectoryMove(path="/d2", replica=replica, since_ms=NOW - 60_000, polls=polls)
    target = directory("/d2", futures=1, moving=(replica,))
    return disks(id_, directory("/d1", error=error), target, moves=(move,))


def all_disks(*brokers: BrokerDisks) -> DisksImage:
    return DisksImage(brokers={each.id: each for each in brokers})


def zookeeper(*, kraft: bool = True, **changes: object) -> ZooKeeperImage:
    controller = ZkController(
        id=3000 if kraft else 1, kraft_epoch=7 if kraft else -1, claimed_ms=NOW - 900_000
    )
    well = ZooKeeperImage(
        seen_ms=NOW - 900_000, server="zk1:2181", session=1, controller=controller, partitions=32
    )
    return replace(well, **changes)  # type: ignore[arg-type]


def migration(offset: int = 1439, written_ms: int = NOW - 500) -> MigrationZnode:
    return MigrationZnode(
        offset=offset,
        controller_id=3000,
        controller_epoch=7,
        metadata_epoch=7,
        written_ms=written_ms,
    )


def zk_brokers(*ids: int, since_ms: int = NOW, read_ms: int = LATEST_MS) -> dict[int, ZkBroker]:
    there = (ZkBroker(id=e, host="h", rack=None, since_ms=since_ms, read_ms=read_ms) for e in ids)
    return {each.id: each for each in there}


def controller(id_: int, *, ready: bool = True) -> ControllerSummary:
    return ControllerSummary(
        id=id_, zk_migration_ready=ready, registered_offset=5, registered_ms=NOW - 900_000
    )


def quorum(*lags_ms: int | None, **changes: object) -> QuorumSeen:
    """Controllers 3000, 3001, ...; the first leads. `lags_ms`: of the others."""
    lags = (0, *(lags_ms or (100, 200)))
    voters = tuple(
        Voter(
            id=3000 + number,
            log_end_offset=1440 - number,
            last_caught_up_ms=None if lag is None else NOW - lag,
        )
        for number, lag in enumerate(lags)
    )
    well = QuorumSeen(
        at_ms=NOW, leader=3000, epoch=7, high_watermark=1440, voters=voters, answering=len(lags)
    )
    return replace(well, **changes)  # type: ignore[arg-type]


COMPARED = Compared(at_ms=NOW - 20_000, compared=96, brokers=(1, 2, 3))
DIFFERENT = replace(
    COMPARED,
    differing=1,
    lasting={"isr": 1},
    named=(Difference("isr", "orders-3", "1", "1, 2"),),
)
UNREAD = replace(
    COMPARED, unreadable=2, unread=(("/brokers/topics/orders", "its content is not JSON"),)
)

BROKERS = (broker(1), broker(2), broker(3))
SUMMARY = ClusterSummary(
    cluster="prod",
    metadata_offset=1439,
    observed_ms=NOW - 300,
    leader_epoch=7,
    active_controller=3000,
    phase=Phase.DUAL_WRITE,
    metadata_version=21,
    topics=4,
    partitions=32,
    unknown_records=0,
    brokers=BROKERS,
    zookeeper=zookeeper(migration=migration()),
    disks=all_disks(disks(1), disks(2), disks(3)),
    content=COMPARED,
    places=COMPARED,
    under_replicated=0,
    leaderless=0,
    reassigning=0,
    controllers=(controller(3000), controller(3001), controller(3002)),
)


def view(summary: ClusterSummary = SUMMARY, **changes: object) -> View:
    """A view of a cluster; every source is polled and current."""
    well = View(
        summary=summary,
        now_ms=NOW,
        stall_after_ms=STALL_MS,
        not_current={},
        hazards=hazards(summary, NOW, CURRENT),
        topics=TopicsSeen(
            at_ms=NOW, partitions=summary.partitions or 32, reassigning=0, controller=1
        ),
        settings=SettingsSeen(at_ms=NOW, modes={each.id: each.mode for each in summary.brokers}),
        quorum=quorum(),
        preflight=PreflightSeen(at_ms=NOW, checks=40),
        store_since_ms=0,
        satisfied_since_ms=NOW - 3_600_000,
    )
    return replace(well, **changes)  # type: ignore[arg-type]


def seen(*brokers: BrokerSummary, **changes: object) -> View:
    """A view of the cluster with other brokers or other facts in the summary."""
    summary = replace(SUMMARY, **changes)  # type: ignore[arg-type]
    return view(replace(summary, brokers=brokers) if brokers else summary)


def stale(*sources: DataSource, of: View | None = None) -> View:
    return replace(of or view(), not_current=dict.fromkeys(sources, "no answer was received"))


ZOOKEEPER_TIME = replace(
    SUMMARY,
    metadata_offset=None,
    observed_ms=None,
    leader_epoch=None,
    active_controller=None,
    phase=Phase.ZOOKEEPER,
    metadata_version=None,
    topics=0,
    partitions=0,
    brokers=tuple(
        broker(each, Mode.ZOOKEEPER, epoch=None, replicas=counts(), log_dirs=())
        for each in (1, 2, 3)
    ),
    zookeeper=zookeeper(kraft=False, brokers=zk_brokers(1, 2, 3)),
    content=Compared(),
    places=Compared(),
    under_replicated=None,
    leaderless=None,
    reassigning=None,
    controllers=None,
)
"""Before there are controllers: only ZooKeeper and the brokers can be asked."""


def in_zookeeper_time(**changes: object) -> View:
    summary = replace(ZOOKEEPER_TIME, **changes)  # type: ignore[arg-type]
    no_log = {DataSource.METADATA_LOG: "no controller answers"}
    return view(summary, not_current=no_log, quorum=None)


_maybe_count = st.none() | st.integers(0, 2)


@st.composite
def broker_summaries(draw: st.DrawFn, id_: int) -> BrokerSummary:
    mode = draw(st.sampled_from(Mode))
    pending = draw(st.integers(0, 2))
    held = mode is Mode.KRAFT and pending > 0
    early = UnfencedEarly(pending=pending, duration_ms=None)
    gone = DirectoriesGone(directories=("x",), pending=1, at_ms=NOW)
    return broker(
        id_,
        mode,
        epoch=None if mode is Mode.ZOOKEEPER else 645,
        fenced=draw(st.booleans()),
        in_controlled_shutdown=draw(st.booleans()),
        held=held,
        replicas=counts(
            assigned=3,
            unassigned=pending,
            offline=draw(st.integers(0, 1)),
            lost=draw(st.integers(0, 1)),
        ),
        registered_ms=draw(st.sampled_from([NOW - 1000, NOW - STALL_MS - 1])),
        unfenced_early=draw(st.sampled_from([None, early if held else None])),
        gone=draw(st.sampled_from([None, None, gone])),
        failed=draw(st.sampled_from([None, None, gone])),
        unregistered=draw(st.sampled_from([{}, {}, {"x": NOW}])),
        under_replicated=draw(_maybe_count),
    )


@st.composite
def broker_disks(draw: st.DrawFn, id_: int) -> BrokerDisks:
    log_dirs = draw(
        st.lists(
            st.sampled_from(
                [directory("/d1"), directory("/d2", error=56), directory("/d3", readable=False)]
            ),
            max_size=2,
            unique=True,
        )
    )
    moving = moves(id_, polls=draw(st.integers(1, 3)))
    if draw(st.booleans()):
        return replace(moving, unreachable=draw(st.sampled_from([None, "it does not answer"])))
    cut_off = CutOff(since_ms=NOW, replicas=2, sole=1, bytes=10, named=())
    return BrokerDisks(
        id=id_,
        answered_ms=draw(st.sampled_from([None, NOW])),
        unreachable=draw(st.sampled_from([None, "it does not answer"])),
        log_dirs=tuple(log_dirs),
        cut_off=draw(st.sampled_from([{}, {"/d9": cut_off}])),
    )


@st.composite
def zookeepers(draw: st.DrawFn) -> ZooKeeperImage | None:
    if draw(st.booleans()):
        return None
    return zookeeper(
        kraft=draw(st.booleans()),
        seen_ms=draw(st.sampled_from([None, NOW])),
        blind_since_ms=draw(st.sampled_from([None, NOW - 5])),
        migration=draw(
            st.sampled_from([None, migration(), migration(-1), migration(written_ms=0)])
        ),
        brokers=zk_brokers(*draw(st.sets(st.integers(1, 3)))),
        reassigning=draw(st.integers(0, 1)),
        notified=draw(st.sampled_from([{}, {}, {2: NOW}])),
        missed_ms=draw(st.sampled_from([None, None, NOW])),
    )


_COMPARISONS = st.sampled_from(
    [Compared(), COMPARED, DIFFERENT, replace(COMPARED, differing=1), replace(COMPARED, at_ms=0)]
)


@st.composite
def summaries(draw: st.DrawFn) -> ClusterSummary:
    ids = sorted(draw(st.sets(st.integers(1, 3))))
    read = draw(st.booleans())
    return replace(
        SUMMARY,
        metadata_offset=1439 if read else None,
        phase=draw(st.sampled_from(Phase)) if read else Phase.ZOOKEEPER,
        metadata_version=draw(st.sampled_from([None, 16, 21])),
        partitions=draw(st.sampled_from([0, 32])),
        brokers=tuple(draw(broker_summaries(each)) for each in ids),
        zookeeper=draw(zookeepers()),
        disks=draw(
            st.none()
            | st.sets(st.integers(1, 3)).flatmap(
                lambda told: st.tuples(*map(broker_disks, sorted(told))).map(
                    lambda each: all_disks(*each)
                )
            )
        ),
        content=draw(_COMPARISONS),
        places=draw(_COMPARISONS),
        under_replicated=draw(_maybe_count),
        leaderless=draw(_maybe_count),
        reassigning=draw(_maybe_count),
        controllers=draw(st.sampled_from([None, (), (controller(3000, ready=False),)])),
    )


@st.composite
def views(draw: st.DrawFn) -> View:
    """Any view, including states that no cluster can reach."""
    summary = draw(summaries())
    missing = draw(st.sampled_from([{}, {2: 1}]))
    not_current = dict.fromkeys(draw(st.sets(st.sampled_from(DataSource))), "it is stale")
    return View(
        summary=summary,
        now_ms=NOW,
        stall_after_ms=STALL_MS,
        not_current=not_current,
        hazards=hazards(summary, NOW, Currency(not_current=not_current)),
        topics=draw(
            st.none()
            | st.builds(
                TopicsSeen,
                at_ms=st.just(NOW),
                partitions=st.sampled_from([0, 31, 32]),
                under_replicated=st.just(len(missing)),
                missing=st.just(missing),
                leaderless=st.integers(0, 1),
                reassigning=_maybe_count,
            )
        ),
        settings=draw(
            st.none()
            | st.builds(
                SettingsSeen,
                at_ms=st.just(NOW),
                modes=st.dictionaries(st.integers(1, 3), st.sampled_from(Mode)),
            )
        ),
        quorum=draw(
            st.sampled_from(
                [
                    None,
                    quorum(),
                    quorum(60_000),
                    quorum(None),
                    quorum(leader=None, voters=()),
                    quorum(leader=None, voters=(), answering=0, refused=("c1:9093",)),
                    quorum(leader=None, voters=(), answering=0, silent={"c1:9093": "timeout"}),
                ]
            )
        ),
        preflight=draw(
            st.sampled_from(
                [
                    None,
                    PreflightSeen(at_ms=NOW, checks=0),
                    PreflightSeen(at_ms=NOW, checks=40),
                    PreflightSeen(
                        at_ms=NOW,
                        checks=40,
                        blocking=(CheckSeen(id="isr", text="not full"),),
                    ),
                ]
            )
        ),
        satisfied_since_ms=draw(st.sampled_from([None, NOW - 1000, NOW - 3_600_000])),
    )

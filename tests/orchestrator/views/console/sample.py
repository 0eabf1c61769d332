"""Made-up clusters in the middle of their night: a small one, and one of a million partitions.

Brokers below `moving` are complete in KRaft mode, that one is held and gets its directories in
steps, those above are in migration mode. Everything follows from the shape, the progress and the
time.
"""

from dataclasses import dataclass, field, replace

from migration.comparison.result import Compared, Identity
from migration.image.summary import (
    BrokerSummary,
    ClusterSummary,
    ControllerSummary,
    Mode,
    Phase,
    Progress,
    UnfencedEarly,
)
from migration.metadata.directory_ids import DirectoryId, to_text
from migration.metadata.replica_state import ReplicaState
from migration.observed.facts import LogDirSeen
from migration.observed.jmx import JmxImage, JmxNode
from migration.observed.log_dirs import BrokerDisks, CutOff, DisksImage
from migration.observed.znode_codec import MigrationZnode, ZkController
from migration.observed.zookeeper import ZooKeeperImage
from migration.shard.report import Step

STORAGE_ERROR = 56


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How large, and what is wrong with it.

    Attributes:
        each: replicas of a broker; a multiple of `directories`.
        offline: brokers whose first directory failed.
        silent: brokers that do not describe their directories any more.
        undescribed: brokers that have not described them yet.
    """

    brokers: int
    directories: int
    each: int
    partitions: int
    topics: int
    racks: int
    offline: frozenset[int] = frozenset()
    silent: frozenset[int] = frozenset()
    undescribed: frozenset[int] = frozenset()
    early: frozenset[int] = frozenset()


SMALL = Shape(
    brokers=4, directories=2, each=64, partitions=86, topics=6, racks=2, early=frozenset({1})
)
BIG = Shape(
    brokers=300,
    directories=12,
    each=9_996,
    partitions=1_000_000,
    topics=4_000,
    racks=6,
    offline=frozenset({17, 233}),
    silent=frozenset({250}),
    early=frozenset(range(1, 150, 3)),
)


@dataclass(frozen=True, kw_only=True)
class Moment:
    """How far it is.

    Attributes:
        moving: the broker that is held; above all of them: none is.
        restarted: whether it runs in KRaft mode; False: nothing is held.
        steps: how many replicas of it got a directory, and when.
    """

    now_ms: int
    began_ms: int
    moving: int
    registered_ms: int
    steps: tuple[Step, ...] = ()
    phase: Phase = Phase.HYBRID
    offset: int = 1_439
    restarted: bool = True
    held_back: frozenset[int] = field(default=frozenset())

    @property
    def assigned(self) -> int:
        return sum(each.assigned for each in self.steps)


def directory_id(broker: int, number: int) -> str:
    return to_text(DirectoryId(bytes([7, broker >> 8, broker & 255, number]) + bytes(12)))


def path(number: int) -> str:
    return f"/data/d{number:02d}"


def host(broker: int) -> str:
    return f"kafka-{broker:03d}.example.com"


def broker(shape: Shape, at: Moment, id_: int) -> BrokerSummary:
    ids = tuple(directory_id(id_, number) for number in range(1, shape.directories + 1))
    online = ids[1:] if id_ in shape.offline and id_ < at.moving else ids
    held = id_ == at.moving and at.restarted
    kraft = id_ < at.moving or held
    assigned = shape.each if id_ < at.moving else at.assigned if held else 0
    lost = shape.each // shape.directories if len(online) < len(ids) else 0
    registered_ms = at.registered_ms if held else at.began_ms + id_ * 20_000
    early = None
    if kraft and (held or id_ in shape.early):
        early = UnfencedEarly(pending=shape.each, duration_ms=None if held else 1_400)
    made = BrokerSummary(
        id=id_,
        epoch=600 + id_,
        mode=Mode.KRAFT if kraft else Mode.MIGRATING,
        fenced=False,
        in_controlled_shutdown=False,
        held=held,
        log_dirs=online,
        replicas=dict.fromkeys(ReplicaState, 0)
        | {
            ReplicaState.ASSIGNED: assigned - lost,
            ReplicaState.OFFLINE: lost,
            ReplicaState.MIGRATING: shape.each - assigned,
        },
        registered_offset=600 + id_,
        registered_ms=registered_ms,
        unfenced_offset=603 + id_,
        unfenced_ms=registered_ms + 70,
        assignments_complete_offset=680 + id_ if id_ < at.moving else None,
        assignments_complete_ms=registered_ms + 1_470 if id_ < at.moving else None,
        unfenced_early=early,
        progress=_progress(at) if held else None,
        host=host(id_),
        rack=f"rack-{id_ % shape.racks + 1}",
        supports=21,
        under_replicated=lost,
        assigned_ms=at.steps[-1].at_ms if held and at.steps else None,
        directories=_directories(shape, ids, assigned),
    )
    return _rolled_back(made) if at.phase is Phase.ROLLED_BACK else made


def _rolled_back(one: BrokerSummary) -> BrokerSummary:
    """No controller knows it any more."""
    return replace(
        one,
        mode=Mode.ZOOKEEPER,
        epoch=None,
        registered_offset=None,
        registered_ms=None,
        unfenced_offset=None,
        unfenced_ms=None,
        assignments_complete_offset=None,
        assignments_complete_ms=None,
        unfenced_early=None,
        log_dirs=(),
        replicas=dict.fromkeys(ReplicaState, 0),
        directories={},
        reverted=True,
    )


def _progress(at: Moment) -> Progress | None:
    if not at.steps:
        return None
    return Progress(
        assigned=at.assigned,
        first_ms=at.steps[0].at_ms,
        last_ms=at.steps[-1].at_ms,
        recent=at.steps[-32:],
    )


def _directories(shape: Shape, ids: tuple[str, ...], assigned: int) -> dict[str, int]:
    """The first directories first: so it can be seen in the heat map how it goes on."""
    room = shape.each // shape.directories
    shares = (min(room, max(0, assigned - number * room)) for number in range(len(ids)))
    return {id_: share for id_, share in zip(ids, shares, strict=True) if share}


def _disks(shape: Shape, at: Moment, id_: int) -> BrokerDisks:
    room = shape.each // shape.directories
    bad = id_ in shape.offline and id_ < at.moving
    log_dirs = tuple(
        LogDirSeen(
            path=path(number),
            error=STORAGE_ERROR if bad and number == 1 else 0,
            total_bytes=2**40,
            usable_bytes=2**39,
            replicas=0 if bad and number == 1 else room,
            bytes=room * 2**20,
            futures=0,
            future_lag_max=0,
            directory_id=None,
            readable=None,
        )
        for number in range(1, shape.directories + 1)
    )
    cut_off = {}
    if bad:
        lost = CutOff(since_ms=at.began_ms + 900_000, replicas=room, sole=2, bytes=0, named=())
        cut_off[path(1)] = lost
    silent = id_ in shape.silent
    return BrokerDisks(
        id=id_,
        answered_ms=at.now_ms - at.now_ms % 60_000,
        unreachable="no answer within 30 s" if silent else None,
        unreachable_since_ms=at.began_ms + 600_000 if silent else None,
        log_dirs=log_dirs,
        cut_off=cut_off,
    )


def _identities(shape: Shape, at: Moment) -> tuple[Identity, ...]:
    room = shape.each // shape.directories
    known = min(at.moving, shape.brokers)
    return tuple(
        Identity(
            broker=id_,
            path=path(number),
            directory=directory_id(id_, number),
            by="replicas",
            agreeing=room,
            others=0,
        )
        for id_ in range(1, known + 1)
        for number in range(1, shape.directories + 1)
        if id_ not in shape.undescribed and (id_ < known or (number - 1) * room < at.assigned)
    )


def cluster(shape: Shape, at: Moment) -> ClusterSummary:
    back, over = at.phase is Phase.ROLLED_BACK, at.phase is Phase.FINALIZED
    controller = ZkController(
        id=1 if back else 3000, kraft_epoch=-1 if back else 7, claimed_ms=at.began_ms + 60_000
    )
    ids = range(1, shape.brokers + 1)
    return ClusterSummary(
        cluster="prod",
        metadata_offset=at.offset,
        observed_ms=at.now_ms - 200,
        leader_epoch=7,
        active_controller=3000,
        phase=at.phase,
        metadata_version=21,
        topics=shape.topics,
        partitions=shape.partitions,
        unknown_records=0,
        brokers=tuple(broker(shape, at, each) for each in ids),
        zookeeper=ZooKeeperImage(
            seen_ms=at.began_ms,
            server="zk1:2181",
            session=1,
            controller=controller,
            migration=None
            if back
            else MigrationZnode(
                offset=-1 if over else at.offset,
                controller_id=3000,
                controller_epoch=7,
                metadata_epoch=7,
                written_ms=at.now_ms - 400,
            ),
        ),
        disks=DisksImage(
            brokers={each: _disks(shape, at, each) for each in ids if each not in shape.undescribed}
        ),
        content=Compared(at_ms=at.now_ms - 20_000, compared=shape.partitions),
        places=Compared(
            at_ms=at.now_ms - 8_000,
            compared=shape.partitions * 3,
            identities=_identities(shape, at),
        ),
        under_replicated=len(shape.offline) * shape.each // shape.directories,
        leaderless=0,
        reassigning=0,
        controllers=tuple(
            ControllerSummary(
                id=each,
                zk_migration_ready=True,
                registered_offset=5,
                registered_ms=at.began_ms,
                host=f"controller-{each}.example.com",
            )
            for each in (3000, 3001, 3002)
        ),
        jmx=JmxImage(
            nodes={3000: JmxNode(id=3000, endpoint="controller-3000:7071", read_ms=at.now_ms)}
        ),
    )

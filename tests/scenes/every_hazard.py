"""A cluster for each hazard, and for each of its ways out: of broker 3, as the alert pages name it.

`HAZARDS` has the name of the hazard, with a word for the variant, and the cluster's summary. The
other hazards that are active with it are those that Kraftgate shows with it.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from migration.assessment.currency import Currency
from migration.comparison.result import Compared
from migration.image.summary import (
    BrokerSummary,
    ClusterSummary,
    ControllerSummary,
    DirectoriesGone,
    MetadataLost,
    Mode,
    Phase,
    UncleanElection,
    UnfencedEarly,
    Vanished,
    Wiped,
)
from migration.observed.facts import FutureSeen, LogDirSeen
from migration.observed.jmx import Contradiction, JmxImage, JmxNode, QueueFloor
from migration.observed.jmx_names import JmxName
from migration.observed.log_dirs import BrokerDisks, DirectoryMove, DisksImage, Loss
from migration.observed.source_status import SourceStatus
from migration.observed.znode_codec import MigrationZnode, ZkController
from migration.observed.zookeeper import BEACON_STALE_MS, ZooKeeperImage
from tests.migration.assessment.hazards.test_hazards import (
    CUT_OFF,
    NOW,
    broker,
    cluster,
    counts,
    difference,
    log_dir,
)

BROKER: Final = 3
LOG_DIR: Final = "/data/d1"
_GONE: Final = DirectoriesGone(directories=("x",), pending=11, at_ms=5)
_PENDING: Final = counts(assigned=4, migrating=3, unassigned=1)


def _one(mode: Mode = Mode.KRAFT, **changes: object) -> BrokerSummary:
    return broker(mode, id=BROKER, **changes)


def _disks(*log_dirs: LogDirSeen, **changes: object) -> DisksImage:
    one = BrokerDisks(id=BROKER, answered_ms=500, log_dirs=log_dirs)
    return DisksImage(brokers={BROKER: replace(one, **changes)})  # type: ignore[arg-type]


_D1, _D2, _D3 = log_dir(LOG_DIR), log_dir("/data/d2"), log_dir("/data/d3")
_OFFLINE = _D1._replace(error=56)
BAD: Final = _disks(_OFFLINE, _D2, _D3)
"""The first of three directories is offline."""


CURRENT: Final = Currency(log=SourceStatus(observed_ms=NOW, dual_write_due=10_000))
"""Every source is current, and the metadata log has records that ZooKeeper lacks."""


def _znode(offset: int, *, kraft: bool, written_ms: int = NOW, **changes: object) -> ZooKeeperImage:
    found = MigrationZnode(
        offset=offset,
        controller_id=3000,
        controller_epoch=1,
        metadata_epoch=1,
        written_ms=written_ms,
    )
    holder = ZkController(id=3000 if kraft else 1, kraft_epoch=7 if kraft else -1, claimed_ms=1)
    image = ZooKeeperImage(
        seen_ms=1, migration=found, migration_copied=found if kraft else None, controller=holder
    )
    return replace(image, **changes)  # type: ignore[arg-type]


def _jmx(name: JmxName, node: int) -> JmxImage:
    doubt = Contradiction(
        node=node,
        name=str(name),
        reads=1,
        expected=0,
        against="metadata log",
        since_ms=1,
        lasting=True,
    )
    return JmxImage(contradictions=(doubt,))


def _queue() -> JmxImage:
    floor = QueueFloor(value=2, since_ms=NOW - 90_000, filled_ms=NOW - 95_000)
    numbers = {str(JmxName.QUEUED_REPLICA_TO_DIR_ASSIGNMENTS): 3}
    node = JmxNode(id=BROKER, endpoint="e", read_ms=NOW, numbers=numbers, queue=floor)
    return JmxImage(nodes={BROKER: node})


def _places(kind: str, disks: DisksImage | None = None) -> ClusterSummary:
    found = Compared(at_ms=5, lasting={kind: 1}, named=(difference(kind, broker=BROKER),))
    return replace(cluster(Phase.DUAL_WRITE, _one(), disks=disks), places=found)


def _content(kind: str, zookeeper: ZooKeeperImage | None = None) -> ClusterSummary:
    found = Compared(at_ms=5, lasting={kind: 1}, named=(difference(kind),))
    return replace(cluster(Phase.DUAL_WRITE, _one(), zookeeper=zookeeper), content=found)


_DOWN: Final = {"unreachable": "refused", "unreachable_since_ms": 300}
_UNREPORTED: Final = _disks(
    _OFFLINE, _D2, _D3, offline_since_ms={LOG_DIR: NOW - 10_000}, failure_timeout_ms=30_000
)
_EARLY: Final[Mapping[str, Any]] = {
    "held": True,
    "unfenced_early": UnfencedEarly(pending=9, duration_ms=None),
}
_MOVE: Final = DirectoryMove(
    path="/data/d2", replica=FutureSeen("t", 1, 10, 0), since_ms=1, polls=3
)
_COPY: Final = replace(_MOVE, polls=1, replica=FutureSeen("t", 1, 10, 7))
_SAME_ID: Final = _disks(*(each._replace(readable=True, directory_id="a") for each in (_D1, _D2)))
_BAD_FILE: Final = _D2._replace(
    readable=True, directory_id=None, trouble="/data/d2: has no meta.properties"
)
_NEWER: Final = _D2._replace(readable=True, version=1)
_LOSS: Final = Loss(topic="t", partition=1, was_end=9, now_end=3, seen_ms=5)
_UNCLEAN: Final = UncleanElection(topic="t", partition=1, broker=1, isr="2", at_ms=5)
_WIPED: Final = Wiped(controller=3000, gone=Vanished(since_ms=5, last_ms=6, topics=1, named=("t",)))
_METADATA_LOST: Final = MetadataLost(phase=Phase.FINALIZED, topics=3, partitions=15, at_ms=5)
_LEFT: Final = ControllerSummary(
    id=3000, zk_migration_ready=False, registered_offset=9, registered_ms=NOW
)
_TAKEN: Final = _znode(283, kraft=True, found_at_takeover=283)
_SILENT: Final = _znode(283, kraft=True, written_ms=NOW - BEACON_STALE_MS - 1)

HAZARDS: Final[Mapping[str, ClusterSummary]] = {
    "records_lost": cluster(Phase.HYBRID, _one(), disks=replace(_disks(_D1, _D2), losses=(_LOSS,))),
    "records_lost election": replace(cluster(Phase.HYBRID, _one()), unclean=(_UNCLEAN,)),
    "metadata_lost": replace(cluster(Phase.KRAFT), metadata_lost=_METADATA_LOST),
    "zookeeper_wiped": replace(
        cluster(Phase.PRE_MIGRATION, _one(Mode.MIGRATING), zookeeper=_TAKEN), wiped=_WIPED
    ),
    "replicas_recreated": cluster(Phase.HYBRID, _one(gone=_GONE)),
    "replicas_recreated failed": cluster(Phase.HYBRID, _one(gone=_GONE), disks=BAD),
    "replicas_recreated removed": cluster(
        Phase.KRAFT, _one(), disks=_disks(_D2, _D3, recreated={LOG_DIR: CUT_OFF["/d1"]})
    ),
    "finalized_too_early": cluster(Phase.FINALIZED, _one(Mode.MIGRATING)),
    "restart_loses_replicas zookeeper": cluster(Phase.ZOOKEEPER, disks=BAD),
    "restart_loses_replicas migrating": cluster(Phase.HYBRID, _one(Mode.MIGRATING), disks=BAD),
    "restart_loses_replicas held": cluster(Phase.HYBRID, _one(replicas=_PENDING), disks=BAD),
    "halted_in_migration": cluster(
        Phase.HYBRID, _one(Mode.MIGRATING), disks=_disks(_D1, _D2, **_DOWN)
    ),
    "broker_shuts_down": cluster(Phase.KRAFT, _one(log_dirs=("a", "b", "c")), disks=_UNREPORTED),
    "stale_migration_znode left": cluster(Phase.ZOOKEEPER, zookeeper=_znode(283, kraft=False)),
    "stale_migration_znode taken": cluster(Phase.PRE_MIGRATION, zookeeper=_TAKEN),
    "controller_ends_migration": replace(
        cluster(Phase.HYBRID, _one(Mode.MIGRATING)), controllers=(_LEFT,)
    ),
    "directory_failed_under_pending": cluster(Phase.HYBRID, _one(failed=_GONE, replicas=_PENDING)),
    "replica_not_on_disk": _places("missing"),
    "content_differs": _content("leader"),
    "content_differs registration": _content("registration"),
    "content_differs stuck": _content("leader", _znode(283, kraft=True, migration=None)),
    "dual_write_stuck silent": cluster(
        Phase.DUAL_WRITE,
        _one(),
        zookeeper=_SILENT,
    ),
    "dual_write_stuck emptied": cluster(
        Phase.DUAL_WRITE, _one(), zookeeper=_znode(283, kraft=True, migration=None)
    ),
    **{
        f"{case} controller": replace(of, controllers=(_LEFT,))
        for case, of in {
            "dual_write_stuck": cluster(Phase.DUAL_WRITE, _one(Mode.MIGRATING), zookeeper=_SILENT),
            "content_differs": replace(_content("leader"), brokers=(_one(Mode.MIGRATING),)),
            "assignment_queue_flat": replace(
                cluster(Phase.HYBRID, _one(Mode.MIGRATING)), jmx=_queue()
            ),
        }.items()
    },
    "assignment_queue_flat": replace(cluster(Phase.KRAFT, _one(replicas=_PENDING)), jmx=_queue()),
    "directory_ids": cluster(Phase.HYBRID, _one(), disks=_SAME_ID),
    "directory_ids bad file": cluster(Phase.HYBRID, _one(), disks=_disks(_D1, _BAD_FILE)),
    "directory_ids version": cluster(
        Phase.ZOOKEEPER, _one(Mode.ZOOKEEPER), disks=_disks(_D1, _NEWER)
    ),
    "metadata_version": cluster(Phase.PRE_MIGRATION, disks=_disks(_D1, _D2), metadata_version=14),
    "metadata_version kraft": cluster(Phase.KRAFT, _one(), metadata_version=14),
    "log_dirs_not_registered": cluster(Phase.DUAL_WRITE, _one(log_dirs=())),
    "unfenced_early": cluster(Phase.HYBRID, _one(replicas=_PENDING, **_EARLY)),
    "replica_misplaced": _places("misplaced"),
    "replica_misplaced moves": _places("misplaced", _disks(_D1, _D2, moves=(_COPY,))),
    "replica_not_in_metadata": _places("stray"),
    "future_replica_stuck": cluster(
        Phase.KRAFT, disks=_disks(_D1, _D2, moves=(_MOVE,), answered_ms=21_000)
    ),
    "one_directory_left kraft": cluster(Phase.KRAFT, _one(), disks=_disks(_OFFLINE, _D2)),
    "one_directory_left held": cluster(
        Phase.HYBRID, _one(replicas=_PENDING, **_EARLY), disks=_disks(_OFFLINE, _D2)
    ),
    "jmx_contradicts state": replace(
        cluster(Phase.DUAL_WRITE, _one()), jmx=_jmx(JmxName.ZK_MIGRATION_STATE, 3000)
    ),
    "jmx_contradicts count": replace(
        cluster(Phase.DUAL_WRITE, _one()), jmx=_jmx(JmxName.MIGRATING_ZK_BROKER_COUNT, 3000)
    ),
    "jmx_contradicts directories": replace(
        cluster(Phase.KRAFT, _one()), jmx=_jmx(JmxName.OFFLINE_LOG_DIRECTORY_COUNT, BROKER)
    ),
    "finalize_too_early": cluster(Phase.DUAL_WRITE, _one(Mode.MIGRATING)),
}

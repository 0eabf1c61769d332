"""The evidence of a decision in the audit trail: offsets, znode versions, times."""

from migration.observed.log_dirs import DisksImage
from migration.observed.zookeeper import ZooKeeperImage
from orchestrator.run.cluster_read import ClusterRead


def evidence(one: ClusterRead) -> dict[str, object]:
    """Return, for each source, the values that identify its state."""
    summary, status = one.summary, one.status
    return {
        "phase": str(summary.phase),
        "metadata_log": {
            "offset": summary.metadata_offset,
            "leader_epoch": summary.leader_epoch,
            "high_watermark": status.high_watermark,
            "active_controller": status.active_controller,
            "answered_ms": status.last_reply_ms,
        },
        "zookeeper": _zookeeper(summary.zookeeper),
        "log_dirs": _disks(summary.disks),
    }


def _zookeeper(seen: ZooKeeperImage | None) -> dict[str, object] | None:
    if seen is None:
        return None
    return {
        "server": seen.server,
        "seen_ms": seen.seen_ms,
        "blind_since_ms": seen.blind_since_ms,
        "znodes": {
            path: {"version": version, "mzxid": mzxid}
            for path, (version, mzxid) in sorted(seen.versions.items())
        },
    }


def _disks(seen: DisksImage | None) -> dict[str, object] | None:
    if seen is None:
        return None
    return {
        str(one.id): {"answered_ms": one.answered_ms, "unreachable": one.unreachable}
        for one in seen.brokers.values()
    }

"""Detects that dual write has stopped while the active controller runs and does not report it.

Each write to ZooKeeper is conditional: /controller_epoch must be the one that the controller
claimed, and /migration the one that it wrote last. If another client changes one of them, dual
write stops until a controller takes over again; the controller logs it and continues.
ZkWriteBehindLag is 0 in the meantime: KRaftMigrationDriver updates it before it writes. All of this
was observed on 3.9.1.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from migration.assessment.currency import Currency
from migration.assessment.data_source import DataSource
from migration.assessment.hazards.hazard import Hazard, HazardKind
from migration.image.summary import ClusterSummary, Phase
from migration.observed.jmx import JmxImage
from migration.observed.jmx_names import JmxName
from migration.observed.source_status import SourceStatus
from migration.observed.znodes import CONTROLLER, CONTROLLER_EPOCH
from migration.observed.zookeeper import BEACON_STALE_MS, ZooKeeperImage
from migration.values.durations import duration_text

_HEALTHY_LAG: Final = 100
"""A lag up to this number of records is normal: a controller writes two no-ops a second."""
_UNSEEN: Final = "brokers in ZooKeeper mode, and a rollback, lack all later changes"
_RESTART: Final = (
    "Search the active controller's log for KRaftMigrationDriver, and restart that controller: the"
    " next one takes over and writes everything again."
)
_STOP_THE_CLIENT: Final = (
    "Do not restart the active controller first: it would find no copy in ZooKeeper, leave"
    " /migration empty and never write again. Stop the client that writes there"
)
_PUT_BACK: Final = (
    f"{_STOP_THE_CLIENT}, {{put}} with {{content}}, and then restart the active controller: the"
    " next one writes everything again."
)
_NOT_KNOWN: Final = (
    f"{_STOP_THE_CLIENT}, and write nothing: what to restore is unknown. Call the owner of Kafka."
)


def stuck(
    summary: ClusterSummary, zookeeper: ZooKeeperImage, now_ms: int, currency: Currency
) -> Iterator[Hazard]:
    """Yield a hazard if ZooKeeper is not or cannot be written while the metadata log continues."""
    if summary.phase not in (Phase.HYBRID, Phase.DUAL_WRITE) or zookeeper.seen_ms is None:
        return
    seen = zookeeper.blind_since_ms is None and currency.is_current(DataSource.ZOOKEEPER)
    at_ms = now_ms if seen else _known_until_ms(zookeeper)
    stop = unwritable(zookeeper, at_ms)
    if stop is None and seen and currency.is_current(DataSource.METADATA_LOG):
        stop = silence(zookeeper, now_ms, currency.log)
    if stop is not None:
        yield replace(stop, evidence=(*stop.evidence, *_lag(summary)))


def _known_until_ms(zookeeper: ZooKeeperImage) -> int:
    """Return the time up to which a stale image shows ZooKeeper; later silence proves nothing."""
    if zookeeper.blind_since_ms is not None:
        return zookeeper.blind_since_ms
    # Not `written_ms`: the source reports it even while its facts have not been processed.
    beat_ms = 0 if zookeeper.migration is None else zookeeper.migration.observed_ms
    return max(beat_ms, zookeeper.seen_ms or 0)


def unwritable(zookeeper: ZooKeeperImage, at_ms: int) -> Hazard | None:
    """Return why no controller can write to ZooKeeper; None: nothing shows that it cannot.

    This counts only while a KRaft controller holds /controller: in a rollback an operator deletes
    both znodes.

    Args:
        zookeeper: Its last known state.
        at_ms: The time up to which that state is known.
    """
    if zookeeper.controller is None or not zookeeper.controller.is_kraft:
        return None
    return _emptied(zookeeper, at_ms) or _overtaken(zookeeper, at_ms)


def silence(zookeeper: ZooKeeperImage, now_ms: int, log: SourceStatus) -> Hazard | None:
    """Return a hazard if `/migration` lacks a record that is older than `BEACON_STALE_MS`.

    Call it only while ZooKeeper and the metadata log are current. None: there was a write, or there
    is nothing to write, or `writing_not_known` returns what is missing.
    """
    found, due = zookeeper.migration, log.dual_write_due
    if found is None or now_ms - found.written_ms <= BEACON_STALE_MS:
        return None
    if writing_not_known(zookeeper, now_ms, log) is not None or due is None:
        return None
    # No controller wrote an offset that the log does not have, and none writes before the log has.
    end = log.high_watermark
    is_foreign = end is not None and found.offset >= end
    if found.offset >= due and not is_foreign:
        return None
    age = duration_text(now_ms - found.written_ms)
    evidence = f"/migration: last written up to metadata offset {found.offset}"
    if is_foreign:
        evidence += f", and the metadata log ends before offset {end}"
    return Hazard(
        kind=HazardKind.DUAL_WRITE_STUCK,
        text=f"ZooKeeper has not been written for {age}: {_UNSEEN}",
        evidence=(evidence,),
        way_out=_NOT_KNOWN if is_foreign else _RESTART,
        elects=not is_foreign,
        since_ms=found.written_ms,
    )


def writing_not_known(zookeeper: ZooKeeperImage, now_ms: int, log: SourceStatus) -> str | None:
    """Return why it is unknown whether ZooKeeper is written; None: it is known.

    A write with a time in the future was observed before this host's clock was set back. Data that
    was read after a gap (a restart, a lost session) was written before it: a controller that writes
    does so within `BEACON_STALE_MS`. Nobody writes while no controller leads (`led_since_ms`), or
    while there is no record to write (`dual_write_due`), as without no-op records.
    """
    found, seen_ms = zookeeper.migration, zookeeper.seen_ms
    if found is not None and found.written_ms - now_ms > BEACON_STALE_MS:
        return "whether ZooKeeper is written: its last write is in the future, see the clocks"
    if found is None or now_ms - found.written_ms <= BEACON_STALE_MS:
        return None
    what, limit = "whether ZooKeeper is written", duration_text(BEACON_STALE_MS)
    if seen_ms is None or now_ms - seen_ms <= BEACON_STALE_MS:
        return f"{what}: it was observed for less than {limit} without a gap"
    if log.led_since_ms is not None and now_ms - log.led_since_ms <= BEACON_STALE_MS:
        return f"{what}: the controller that leads was elected less than {limit} ago"
    if log.dual_write_due is None:
        return (
            f"{what}: the metadata log was observed for less than {limit}, or the controller that"
            " leads has written no record yet (without no-op records, it writes one when a setting"
            " of a topic is changed)"
        )
    return None


def _emptied(zookeeper: ZooKeeperImage, at_ms: int) -> Hazard | None:
    """Return a hazard if `/migration` is deleted or marks no copy; no controller does either."""
    now, was = zookeeper.migration, zookeeper.migration_copied
    if now is not None and now.is_copied:
        return None
    if now is not None and was is None and at_ms - now.written_ms <= BEACON_STALE_MS:
        return None  # the copy has just ended, and its offset is about to be written
    state = "is gone" if now is None else "records no copy"
    last = "its last content is unknown" if was is None else f"its last content was {was.text}"
    put = "create it" if now is None else "set it"
    way_out = _NOT_KNOWN if was is None else _PUT_BACK.format(put=f"{put} again", content=was.text)
    return Hazard(
        kind=HazardKind.DUAL_WRITE_STUCK,
        text=f"/migration {state}, so no controller writes to ZooKeeper: {_UNSEEN}",
        evidence=(f"/migration {state}; {last}",),
        way_out=way_out,
        elects=was is not None,
        since_ms=None if was is None else was.written_ms,
    )


def _overtaken(zookeeper: ZooKeeperImage, at_ms: int) -> Hazard | None:
    """Return a hazard if another client wrote `/controller_epoch` after the controller's claim.

    The controller writes `/controller` and `/controller_epoch` in one transaction (KafkaZkClient,
    claimControllerLeadership). Later it checks the version of `/controller_epoch` in each write of
    metadata, but not in the writes of `/migration`.
    """
    controller, versions = zookeeper.controller, zookeeper.versions
    written_ms = zookeeper.controller_epoch_ms
    if controller is None or written_ms is None or at_ms - written_ms <= BEACON_STALE_MS:
        return None
    if not {CONTROLLER, CONTROLLER_EPOCH} <= versions.keys():
        return None
    (_, claimed), (_, epoch) = versions[CONTROLLER], versions[CONTROLLER_EPOCH]
    if epoch <= claimed:
        return None
    evidence = (
        f"/controller_epoch is {zookeeper.controller_epoch}, written in transaction"
        f" 0x{epoch:x}; controller {controller.id} took over in 0x{claimed:x}"
    )
    return Hazard(
        kind=HazardKind.DUAL_WRITE_STUCK,
        text=(
            "no change reaches ZooKeeper, although /migration is still written: another client"
            " wrote /controller_epoch, and since then every metadata write of controller"
            f" {controller.id} fails: {_UNSEEN}"
        ),
        evidence=(evidence,),
        way_out=_RESTART,
        elects=True,
        since_ms=written_ms,
    )


def _lag(summary: ClusterSummary) -> list[str]:
    """Return the known values of ZkWriteBehindLag, with the role of each controller."""
    jmx = summary.jmx or JmxImage()
    lines = []
    for node in jmx.nodes.values():
        lag = node.numbers.get(JmxName.ZK_WRITE_BEHIND_LAG)
        if lag is None:
            continue
        active = node.numbers.get(JmxName.ACTIVE_CONTROLLER_COUNT)
        role = "" if active is None else " (active)" if active else " (not active)"
        healthy = ", which looks healthy" if lag <= _HEALTHY_LAG else ""
        lines.append(
            f"{JmxName.ZK_WRITE_BEHIND_LAG} of controller {node.id}{role} is {lag}{healthy}"
        )
    if summary.jmx is not None and not lines:
        lines.append(f"{JmxName.ZK_WRITE_BEHIND_LAG} is unknown for every controller")
    return lines

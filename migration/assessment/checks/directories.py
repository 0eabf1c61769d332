"""The gathered state of the brokers' directories, for the rules that hazards use, too."""

from migration.observed.facts import LogDirSeen
from migration.observed.log_dirs import STORAGE_ERROR, BrokerDisks, DisksImage
from migration.observed.probed import Broker, Facts, LogDir, Unknown


def disks_of(facts: Facts) -> DisksImage:
    """Return the disks of the brokers that described them.

    Before the window each error that a broker reports for a directory counts as offline.
    """
    return DisksImage(
        brokers={
            broker.id: BrokerDisks(
                id=broker.id, log_dirs=tuple(_seen(broker, each) for each in broker.log_dirs)
            )
            for broker in facts.brokers
            if not isinstance(broker.log_dirs, Unknown)
        }
    )


def _seen(broker: Broker, one: LogDir) -> LogDirSeen:
    read = {each.path: each.directory_id for each in broker.meta or ()}
    return LogDirSeen(
        path=one.path,
        error=STORAGE_ERROR if one.error else 0,
        total_bytes=one.total_bytes,
        usable_bytes=one.usable_bytes,
        replicas=len(one.replicas),
        bytes=0,
        futures=len(one.futures),
        future_lag_max=0,
        directory_id=read.get(one.path),
        readable=True if one.path in read else None,
    )

"""Which parts of a view are current, and which source is authoritative for partitions.

Before the copy, and after a rollback, ZooKeeper's controller is authoritative: the metadata log has
no topics then, or outdated ones. This is only assumed while ZooKeeper itself shows it.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from migration.assessment.conditions.view import View
from migration.assessment.data_source import FOLLOWED, SOURCE_WORDS, DataSource
from migration.assessment.finding import Finding, unknown
from migration.assessment.hazards.dual_write import writing_not_known
from migration.assessment.hazards.hazard import Action, HazardKind
from migration.comparison.result import Compared
from migration.image.known_ids import ids, known_brokers, member_brokers
from migration.image.summary import (
    WITHOUT_ZOOKEEPER,
    BrokerSummary,
    ClusterSummary,
    Mode,
    Phase,
)
from migration.observed.log_dirs import STORAGE_ERROR, BrokerDisks, is_undescribed
from migration.observed.znodes import (
    BROKER_IDS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    MIGRATION,
    parent,
)
from migration.observed.zookeeper import ZooKeeperImage
from migration.values.durations import duration_text
from migration.values.evidence import bounded, count

COMPARED_MS_MAX: Final = 180_000
"""A comparison runs every 30 s, and may take longer in a large cluster."""

_BEFORE_THE_COPY: Final = (Phase.ZOOKEEPER, Phase.PRE_MIGRATION, Phase.COPYING)


def not_known(view: View, *sources: DataSource) -> Finding | None:
    """Return which of these sources are not current; None: all are, and each has data."""
    reasons = reasons_not_known(view, sources)
    return unknown("; ".join(reasons)) if reasons else None


def reasons_not_known(view: View, sources: Iterable[DataSource]) -> tuple[str, ...]:
    """Return one reason for each of these sources that is not current or has no data."""
    found = ((each, _why_not(view, each)) for each in sources)
    return tuple(f"{SOURCE_WORDS[each]}: {why}" for each, why in found if why)


def _why_not(view: View, source: DataSource) -> str | None:
    if source in view.not_current:
        return view.not_current[source]
    seen = {
        DataSource.METADATA_LOG: view.summary.metadata_offset is not None,
        DataSource.ZOOKEEPER: zookeeper_of(view) is not None,
        DataSource.LOG_DIRS: view.summary.disks is not None,
        DataSource.JMX: view.summary.jmx is not None,
        DataSource.TOPICS: view.topics is not None,
        DataSource.SETTINGS: view.settings is not None,
        DataSource.QUORUM: view.quorum is not None,
        DataSource.PREFLIGHT: view.preflight is not None,
    }
    return None if seen.get(source, True) else "no data yet"


def zookeeper_of(view: View) -> ZooKeeperImage | None:
    """Return ZooKeeper's image if it is current; else None."""
    seen = view.summary.zookeeper
    if DataSource.ZOOKEEPER in view.not_current or seen is None:
        return None
    return None if seen.seen_ms is None or seen.blind_since_ms is not None else seen


def why_not_read(seen: ZooKeeperImage, path: str) -> str | None:
    """Return why the znode's last known content is outdated; None: its present one was read."""
    why = seen.unreadable.get(path)
    return None if why is None else f"{path} cannot be read: {why}"


BROKER_NOT_READ: Final = (
    "get it with zookeeper-shell, and delete it if no running broker owns it; else restart its"
    " broker once `kraftgate hazards --before restart` permits it"
)
"""What to do about a znode in /brokers/ids that cannot be read."""


def brokers_not_read(seen: ZooKeeperImage, broker: int | None = None) -> list[str]:
    """Return why the broker's znode, or each in /brokers/ids, is outdated; empty: all were read."""
    there = [path for path in seen.unreadable if parent(path) == BROKER_IDS]
    paths = sorted(there) if broker is None else [f"{BROKER_IDS}/{broker}"]
    return [why for path in paths if (why := why_not_read(seen, path)) is not None]


def is_zookeeper_authoritative(view: View) -> bool:
    """Return whether ZooKeeper currently shows a broker in ZooKeeper mode as the controller."""
    seen = zookeeper_of(view)
    return seen is not None and seen.controller is not None and not seen.controller.is_kraft


def is_log_past(view: View) -> bool:
    """Return whether the metadata log cannot be followed, because there is no KRaft controller.

    ZooKeeper's controller is active, and `/migration`, which each migrating KRaft controller
    creates, does not exist: the KRaft controllers do not exist yet, or were removed.
    """
    seen = zookeeper_of(view)
    return is_zookeeper_authoritative(view) and seen is not None and not seen.has_migration


def is_nothing_copied(view: View) -> bool:
    """Return whether ZooKeeper shows that no copy was made: /migration has none.

    A KRaft controller holds /controller from the beginning of the copy on.
    """
    seen = zookeeper_of(view)
    if seen is None or MIGRATION in seen.unreadable:
        return False
    if is_zookeeper_authoritative(view):
        return seen.migration is None or not seen.migration.is_copied
    is_open = seen.migration is not None and not seen.migration.is_copied
    return view.summary.phase is Phase.COPYING and is_open and seen.migration_copied is None


def controllers_stop(view: View) -> bool:
    """Return whether a rollback stops the controllers, or has stopped them: the log then ends.

    An execution knows its step. A rollback by hand stops them once no broker is in KRaft mode.
    """
    execution, summary = view.execution, view.summary
    if execution is not None and not execution.outcome:
        return execution.controllers_stop
    return summary.rolls_back and all(each.mode is not Mode.KRAFT for each in summary.brokers)


def authority_not_known(view: View) -> Finding | None:
    """Return a finding if the controller is unknown; None: known, or ZooKeeper was never read.

    A broker in ZooKeeper mode was the controller when ZooKeeper was last read: later data of the
    metadata log may be irrelevant, or the only valid data.
    """
    seen = view.summary.zookeeper
    if zookeeper_of(view) is not None or seen is None or not in_use(view, DataSource.ZOOKEEPER):
        return None
    if seen.controller is None or seen.controller.is_kraft:
        return None
    return not_known(view, DataSource.ZOOKEEPER)


def brokers_alone_not_known(view: View) -> Finding | None:
    """Return why the brokers' answers alone do not show the partitions' state; None: they do.

    They do while ZooKeeper shows that one of the brokers is the controller.
    """
    if is_zookeeper_authoritative(view):
        return None
    if (stale := not_known(view, DataSource.ZOOKEEPER)) is not None:
        return stale
    return unknown(
        "the metadata log has no topics yet, and no broker in ZooKeeper mode is the controller"
    )


def log_has_topics(view: View) -> bool:
    """Return whether the metadata log is authoritative for partitions; True if that is unknown."""
    if is_zookeeper_authoritative(view):
        return False
    return not (
        not_known(view, DataSource.METADATA_LOG) is None
        and view.summary.phase in _BEFORE_THE_COPY
        and view.summary.partitions == 0
    )


def in_use(view: View, source: DataSource) -> bool:
    """Return whether the cluster still uses this source at this point of the migration."""
    if source is DataSource.METADATA_LOG:
        return not is_log_past(view)
    if source is DataSource.ZOOKEEPER:
        # A stale log may have an outdated phase; an unconfigured ZooKeeper has no newer one.
        may_be = DataSource.METADATA_LOG in view.not_current and source in view.configured
        return may_be or view.summary.phase not in WITHOUT_ZOOKEEPER
    if source is DataSource.JMX:  # an unconfigured source has no missing data
        return source in view.not_current or view.summary.jmx is not None
    return True


def is_source_current(view: View, source: DataSource) -> bool | None:
    """Return whether a source is current; None: not configured, or the cluster does not use it."""
    used = source in view.configured and in_use(view, source)
    return source not in view.not_current if used else None


def is_log_current(view: View) -> bool:
    """Return whether the metadata log is configured, in use and current."""
    return is_source_current(view, DataSource.METADATA_LOG) is True


def log_decides(view: View) -> bool:
    """Return whether a condition that the metadata log does not show is known not to hold."""
    return is_log_current(view) or is_zookeeper_authoritative(view)


def was_read(view: View, source: DataSource) -> bool:
    """Return whether the image has data of this followed source, current or not."""
    summary = view.summary
    match source:
        case DataSource.METADATA_LOG:
            return summary.metadata_offset is not None
        case DataSource.ZOOKEEPER:
            return summary.zookeeper is not None and summary.zookeeper.seen_ms is not None
        case DataSource.LOG_DIRS:
            return any(e.answered_ms is not None for e in summary.broker_disks.values())
        case DataSource.JMX:
            nodes = () if summary.jmx is None else summary.jmx.nodes.values()
            return any(each.read_ms is not None for each in nodes)
    raise ValueError(f"{source} is not followed")


def knows_partitions(view: View) -> bool:
    """Return whether the metadata log is authoritative for topics and replicas.

    Only then may its counts be shown.
    """
    return log_counts(view.summary) and not is_zookeeper_authoritative(view)


def log_counts(summary: ClusterSummary) -> bool:
    """Return whether the metadata log by itself has the topics and replicas, as in a replay.

    It has no topics before the copy, and outdated ones after a rollback.
    """
    is_copied = summary.partitions > 0 or summary.phase not in _BEFORE_THE_COPY
    return (
        summary.metadata_offset is not None and is_copied and summary.phase is not Phase.ROLLED_BACK
    )


def hazards_not_known(
    view: View,
    subject: str | None = None,
    broker: int | None = None,
    sources: Iterable[DataSource] = FOLLOWED,
) -> tuple[str, ...]:
    """Return the data that would show a hazard, is still in use, and is currently unknown.

    Args:
        view: Of the cluster.
        subject: Only hazards that block this action, or of this kind; None: all.
        broker: Only hazards of this broker; None: all.
        sources: The followed sources that count.
    """
    needed = [each for each in sources if in_use(view, each)]
    if subject in _OF_A_COPY and is_nothing_copied(view):
        needed = [each for each in needed if each is not DataSource.METADATA_LOG]
    found = reasons_not_known(view, needed)
    content = view.summary.content
    of_it = subject in (None, Action.FINALIZE, HazardKind.CONTENT_DIFFERS)
    if of_it and content.unreadable and in_use(view, DataSource.ZOOKEEPER):
        reason = count(content.unreadable, "znode")
        why = f"whether ZooKeeper and the metadata log differ: {reason} cannot be read"
        found += (f"{why} ({'; '.join(bounded(unread(content), content.unreadable))})",)
    elif of_it and subject is not None and zookeeper_of(view) is not None:
        found += _not_compared(view, content, "ZooKeeper's content")
    by_places = subject in _SHOWN_BY_PLACES or (
        subject == Action.RESTART and _moves_replicas(view, broker)
    )
    if by_places and in_use(view, DataSource.LOG_DIRS):
        found += _not_compared(view, view.summary.places, "the content of the disks")
    if subject in _SHOWN_BY_ZNODES:
        found += tuple(_znodes_not_known(view))
    if subject in _SHOWN_BY_BROKER_IDS:
        found += _brokers_not_known(view)
    if subject in _SHOWN_BY_DIRECTORIES:
        found += tuple(_directories_not_known(view, broker))
    if subject in (None, Action.FINALIZE, HazardKind.DUAL_WRITE_STUCK):
        found += _dual_write_not_known(view)
    return found


def is_hazard_over(view: View, kind: str, broker: int | None, active_ms: int) -> bool:
    """Return whether an absent hazard has ended: all data that would show it is known.

    No source shows past damage again: only the store that existed when the hazard was active, at
    `active_ms`, has the fact. An unconfigured source never showed the hazard, and JMX shows only a
    few kinds. `kind` may be one that an earlier version recorded and this version does not know.
    """
    jmx = DataSource.JMX
    shown_by = HazardKind(kind).sources if kind in set(HazardKind) else ()
    if not shown_by and (view.store_since_ms is None or view.store_since_ms > active_ms):
        return False
    of_jmx = kind not in set(HazardKind) or jmx in shown_by
    sources = [each for each in sorted(view.configured) if each is not jmx or of_jmx]
    return not hazards_not_known(view, kind, broker, sources=sources)


def _moves_replicas(view: View, broker: int | None) -> bool:
    """Return whether a broker that answers moves replicas, which may be misplaced already.

    The disks of a broker that is down cannot be compared before it starts.
    """
    return any(
        one.futures and one.unreachable is None
        for id_, one in view.summary.broker_disks.items()
        if broker in (None, id_)
    )


def _not_compared(view: View, compared: Compared, what: str) -> tuple[str, ...]:
    """Return why it is unknown whether `what` and the metadata log differ now."""
    if view.summary.phase not in (Phase.HYBRID, Phase.DUAL_WRITE):
        return ()
    why = comparison_not_known(compared, view.now_ms, what)
    return () if why is None else (why,)


def comparison_not_known(compared: Compared, now_ms: int, what: str) -> str | None:
    """Return why a comparison with the metadata log is not current; None: it is."""
    if compared.at_ms is None:
        return f"{what} was not compared with the metadata log yet"
    if now_ms - compared.at_ms > COMPARED_MS_MAX:
        limit = duration_text(COMPARED_MS_MAX)
        return f"{what} was last compared with the metadata log more than {limit} ago"
    if compared.at_ms - now_ms > COMPARED_MS_MAX:
        return f"the clock was set back after {what} was compared with the metadata log"
    return None


_SHOWN_BY_DIRECTORIES: Final = (
    None,
    Action.RESTART,
    HazardKind.RESTART_LOSES_REPLICAS,
    HazardKind.BROKER_SHUTS_DOWN,
    HazardKind.ONE_DIRECTORY_LEFT,
)
_SHOWN_BY_PLACES: Final = (
    Action.FINALIZE,
    HazardKind.REPLICA_NOT_ON_DISK,
    HazardKind.REPLICA_MISPLACED,
    HazardKind.REPLICA_NOT_IN_METADATA,
)
_OF_A_COPY: Final = (
    HazardKind.STALE_MIGRATION_ZNODE,
    HazardKind.CONTENT_DIFFERS,
    HazardKind.DUAL_WRITE_STUCK,
)
"""None of these exists before a copy, and then none needs the metadata log."""
_SHOWN_BY_ZNODES: Final = (
    None,
    *Action,
    HazardKind.STALE_MIGRATION_ZNODE,
    HazardKind.DUAL_WRITE_STUCK,
    HazardKind.ZOOKEEPER_WIPED,
)


def znodes_not_known(view: View) -> tuple[str, ...]:
    """Return the znodes that cannot be read, of the migration and of brokers that may need it."""
    return (*_znodes_not_known(view), *_brokers_not_known(view))


def _znodes_not_known(view: View) -> Iterator[str]:
    """Yield the znodes of the migration that cannot be read: their last content is outdated."""
    seen = zookeeper_of(view)
    if seen is None or not in_use(view, DataSource.ZOOKEEPER):
        return
    for path in (CONTROLLER, CONTROLLER_EPOCH, MIGRATION):
        if (why := why_not_read(seen, path)) is not None:
            yield why


_SHOWN_BY_BROKER_IDS: Final = (None, Action.FINALIZE, HazardKind.FINALIZE_TOO_EARLY)


def _brokers_not_known(view: View) -> tuple[str, ...]:
    """Return the znodes of brokers that cannot be read, while a broker may still need ZooKeeper."""
    seen = zookeeper_of(view)
    if seen is None or view.summary.phase not in (Phase.HYBRID, Phase.DUAL_WRITE):
        return ()
    return tuple(f"{why}; {BROKER_NOT_READ}" for why in brokers_not_read(seen))


def _directories_not_known(view: View, broker: int | None) -> Iterator[str]:
    """Yield the brokers that may have a failed directory, while the disks are current.

    Such a broker never described its directories or cannot describe one, is down with replicas of
    unknown directories, or may have written a missed notification.
    """
    if not_known(view, DataSource.LOG_DIRS) is not None or view.summary.disks is None:
        return
    summary = view.summary
    asked = member_brokers(summary) if broker is None else known_brokers(summary) & {broker}
    for id_ in sorted(asked):
        disks = summary.broker_disks.get(id_)
        if disks is None or not (disks.answered_ms or disks.log_dirs):
            yield f"broker {id_} has not described its log directories yet"
        elif _may_start_without(view, summary.broker(id_), disks):
            yield (
                f"whether the log directories of broker {id_} are readable: it is down"
                f" ({disks.unreachable}), and may lose replicas at its next start"
            )
        for log_dir in disks.log_dirs if disks is not None else ():
            if is_undescribed(log_dir):
                yield (
                    f"whether {log_dir.path} of broker {id_} is readable: it has error code"
                    f" {log_dir.error}"
                )
    for each in view.failed:
        if each.broker is None and asked & {*each.among}:
            yield f"which broker a log directory failed on: not described since: {ids(each.among)}"


def undescribed(broker: int, disks: BrokerDisks | None) -> Iterator[str]:
    """Yield the reasons why a broker's log directories are not known now; none: they are."""
    if disks is None or disks.answered_ms is None:
        yield f"broker {broker} has not described its log directories yet"
    elif disks.unreachable is not None:
        yield f"broker {broker} does not describe its log directories: {disks.unreachable}"
    else:
        if not disks.log_dirs:
            yield f"broker {broker} reports no log directory"
        for each in disks.log_dirs:
            if each.error not in (0, STORAGE_ERROR):
                yield f"broker {broker}: {each.path} has error code {each.error}"


def _may_start_without(view: View, broker: BrokerSummary | None, disks: BrokerDisks) -> bool:
    """Return whether a broker is down and may lose replicas at its next start (H1, H2, H3).

    In KRaft mode it loses those that have no known directory; in a rollback it starts in migration
    mode. A broker that was in migration mode has a hazard of its own: a failed directory halts it.
    """
    mode = Mode.ZOOKEEPER if broker is None else broker.mode
    pending = 0 if broker is None else broker.pending
    if mode is Mode.MIGRATING or (mode is Mode.KRAFT and not (pending or view.rolls_back)):
        return False
    return disks.unreachable is not None and any(each.readable is None for each in disks.log_dirs)


def _dual_write_not_known(view: View) -> tuple[str, ...]:
    seen = zookeeper_of(view)
    if seen is None or view.summary.phase not in (Phase.HYBRID, Phase.DUAL_WRITE):
        return ()
    why = writing_not_known(seen, view.now_ms, view.status(DataSource.METADATA_LOG))
    return () if why is None else (why,)


def unread(compared: Compared) -> tuple[str, ...]:
    """Return the data that could not be compared, as far as it is named."""
    return tuple(f"{path}: {why}" for path, why in compared.unread)


def brokers_not_known(view: View) -> Finding | None:
    """Return why the set of brokers is unknown; None: it is known."""
    kept = (DataSource.METADATA_LOG, DataSource.ZOOKEEPER)
    return not_known(view, *(each for each in kept if in_use(view, each)))

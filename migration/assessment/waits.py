"""The waits of the migration; each has a named reason and a text.

`waits` returns the reasons, most important first: the metadata log (if it is not current, the rest
is stale, so this is the only wait; ZooKeeper's wait comes first if the log's would name a step, or
if only ZooKeeper needs an operator), ZooKeeper (if it is not current, no next step is named), the
brokers with problems, the next step. Screens, `status` and alerts all print these texts. The result
is empty only if the migration is finalized, or the cluster does not migrate, and nothing is
pending.
"""

import enum
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from migration.assessment.currency import (
    RUN_IS_SILENT,
    UNREAD_RECORDS,
    SourceCurrency,
    SourceState,
)
from migration.assessment.data_source import DataSource
from migration.image.known_ids import ids, in_zookeeper
from migration.image.summary import WITHOUT_ZOOKEEPER, BrokerSummary, ClusterSummary, Mode, Phase
from migration.metadata.replica_state import PENDING_STATES, ReplicaState
from migration.observed.log_dirs import BrokerDisks
from migration.observed.source_status import (
    STALE_AFTER_MS,
    SourceStatus,
    behind,
    controllers_now_ms,
    is_silent,
    stale_ms,
)
from migration.observed.znodes import MIGRATION
from migration.observed.zookeeper import ZooKeeperImage
from migration.values.durations import duration_text
from migration.values.evidence import count


class WaitKind(enum.StrEnum):
    """The kind of a wait; the name stays when the text changes. In order of importance."""

    SOURCE_ERROR = "source_error"
    NOT_RUNNING = "not_running"
    NO_CONTROLLER = "no_controller"
    STALE_DATA = "stale_data"
    CATCHING_UP = "catching_up"
    ZOOKEEPER_BLIND = "zookeeper_blind"
    BROKER_STALLED = "broker_stalled"
    BROKER_HELD = "broker_held"
    REPLICAS_OFFLINE = "replicas_offline"
    DISKS_UNKNOWN = "disks_unknown"
    BROKER_FENCED = "broker_fenced"
    REPLICAS_PENDING = "replicas_pending"
    JMX_UNKNOWN = "jmx_unknown"
    ROLLING_BACK = "rolling_back"
    BROKER_IN_ZOOKEEPER_MODE = "broker_in_zookeeper_mode"
    CONTROLLERS = "controllers"
    REGISTRATIONS = "registrations"
    COPY = "copy"
    FINALIZE = "finalize"
    ROLLED_BACK = "rolled_back"


BLIND: Final = frozenset(
    {
        WaitKind.SOURCE_ERROR,
        WaitKind.NOT_RUNNING,
        WaitKind.NO_CONTROLLER,
        WaitKind.STALE_DATA,
        WaitKind.ZOOKEEPER_BLIND,
    }
)
"""Once an operator must act on one of these, nothing else can be advised: nothing is known."""
_WRONG: Final = BLIND | {WaitKind.BROKER_STALLED, WaitKind.REPLICAS_OFFLINE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """One reason to wait.

    Attributes:
        text: the reason as shown to users; follows "waiting for ".
        action: what an operator must do, as a sentence; "": nothing.
        cause: why, if neither `action` nor the headline says it.
        broker: the broker that it concerns, if any.
        since_ms: since when, by the records' timestamps or the source's clock.
    """

    kind: WaitKind
    text: str
    action: str = ""
    cause: str = ""
    broker: int | None = None
    since_ms: int | None = None

    @property
    def needs_person(self) -> bool:
        """Whether it lasts until an operator acts."""
        return bool(self.action)

    @property
    def is_wrong(self) -> bool:
        """Whether something failed: it is not a step of the migration."""
        return self.kind in _WRONG


def broker_waits(
    broker: BrokerSummary,
    zookeeper: Collection[int],
    copied_ms: int | None,
    now_ms: int,
    stalled: Collection[int],
) -> Iterator[Wait]:
    """Yield what a broker waits for.

    `zookeeper`: the brokers that use ZooKeeper. `copied_ms`: `ClusterSummary.copied_ms`.
    """
    who = f"broker {broker.id}"
    if broker.held:
        yield _held(broker, now_ms, stalled)
    if gone := broker.replicas[ReplicaState.OFFLINE]:
        text = f"{who} has {count(gone, 'replica')} in an offline log directory: restore it"
        action = f"Restore the offline log directory of {who}"
        cause = f"{count(gone, 'replica')} of {who} cannot be reached"
        yield Wait(
            kind=WaitKind.REPLICAS_OFFLINE,
            text=text,
            action=action,
            cause=cause,
            broker=broker.id,
        )
    if broker.fenced and not broker.held and broker.mode is not Mode.ZOOKEEPER:
        yield Wait(
            kind=WaitKind.BROKER_FENCED,
            text=_fenced_text(broker, returned=broker.id in zookeeper),
            action=(
                f"Restart {who} if it runs with all of its log directories: it has been fenced"
                " since it registered"
                if _is_forgotten(broker, copied_ms, now_ms)
                else ""
            ),
            broker=broker.id,
        )
    if broker.mode is Mode.KRAFT and broker.pending and not broker.held:
        pending = count(broker.pending, "replica")
        text = f"{who} has {pending} without a directory ({_by_state(broker)})"
        yield Wait(kind=WaitKind.REPLICAS_PENDING, text=text, broker=broker.id)


def _held(broker: BrokerSummary, now_ms: int, stalled: Collection[int]) -> Wait:
    total = sum(broker.replicas.values())
    count = f"{broker.pending} of {total} replicas without a directory ({_by_state(broker)})"
    since = broker.last_progress_ms
    age = None if since is None else duration_text(now_ms - since)
    if broker.id in stalled:
        text = f"broker {broker.id} is held and stalled: {count}, no progress for {age}"
        return Wait(
            kind=WaitKind.BROKER_STALLED,
            text=text,
            action=(
                f"Find out why broker {broker.id} assigns no directories: {broker.pending} of"
                f" {total} replicas have none, without progress for {age}"
            ),
            broker=broker.id,
            since_ms=since,
        )
    if broker.progress is not None:
        last = f"last progress {age} ago"
    elif age is None:
        last = "no progress yet"
    elif broker.held_before_ms is not None:
        last = f"no progress for {age}, and it registered again"
    else:
        last = f"registered {age} ago, no progress yet"
    text = f"broker {broker.id} is held: {count}, {last}"
    since = broker.held_since_ms
    return Wait(kind=WaitKind.BROKER_HELD, text=text, broker=broker.id, since_ms=since)


def _by_state(broker: BrokerSummary) -> str:
    return ", ".join(f"{broker.replicas[s]} {s}" for s in PENDING_STATES if broker.replicas[s])


def _is_forgotten(broker: BrokerSummary, copied_ms: int | None, now_ms: int) -> bool:
    """Return whether the record that unfences it was probably lost.

    A controller writes it once, and, during the copy, into the transaction of the copy. If it fails
    in the middle, the transaction is aborted, and no later controller writes the record again.
    """
    return (
        broker.mode is Mode.MIGRATING
        and broker.unfenced_ms is None
        and not broker.in_controlled_shutdown
        and broker.registered_ms is not None
        and copied_ms is not None
        and now_ms - max(broker.registered_ms, copied_ms) > DOWN_AFTER_MS
    )


def _fenced_text(broker: BrokerSummary, *, returned: bool) -> str:
    who = f"broker {broker.id}"
    if broker.mode is Mode.KRAFT and returned:
        where = "it is in /brokers/ids, and runs in ZooKeeper or migration mode"
        return f"{who} to be unfenced: {where}"
    if broker.in_controlled_shutdown:
        return f"{who} to restart: it shut down and is fenced"
    if (
        broker.mode is Mode.MIGRATING
    ):  # a directory that fails in this mode halts the broker (KAFKA-16431)
        return f"{who} to be unfenced: check its log directories before any restart"
    return f"{who} to be unfenced: it is down, or has not caught up with the metadata log"


NEXT_STEPS: Final = frozenset(
    {
        WaitKind.BROKER_IN_ZOOKEEPER_MODE,
        WaitKind.ROLLING_BACK,
        WaitKind.CONTROLLERS,
        WaitKind.REGISTRATIONS,
        WaitKind.COPY,
        WaitKind.FINALIZE,
        WaitKind.ROLLED_BACK,
    }
)
"""Waits for the next step: absent while a source that decides the phase is not current, and while
a runbook, which decides the next step, is executed."""
DOWN: Final = frozenset({WaitKind.BROKER_FENCED, WaitKind.DISKS_UNKNOWN})
"""Waits for a broker that may be down: only an operator starts it."""
DOWN_AFTER_MS: Final = 60_000
"""Most restarts take less time: from then on only an operator starts the node."""
_NOT_FOLLOWED: Final = frozenset({WaitKind.SOURCE_ERROR, WaitKind.NOT_RUNNING})
_RANK: Final = {kind: rank for rank, kind in enumerate(WaitKind)}
_COPIES: Final = (Phase.COPYING, Phase.HYBRID, Phase.DUAL_WRITE)
"""The phases in which ZooKeeper and the controllers have the metadata, or get it."""
_RESTARTS: Final = (Phase.HYBRID, Phase.DUAL_WRITE, Phase.FINALIZED, Phase.KRAFT)
"""The phases in which the migration waits for a broker in ZooKeeper mode."""


def source_error(error: str) -> Wait:
    """Return the wait for a source that cannot be followed until an operator repairs it."""
    return Wait(
        kind=WaitKind.SOURCE_ERROR,
        text=f"the source to be repaired: {error}",
        action=f"Repair the source: {error}",
    )


def nothing_seen(cluster: str) -> ClusterSummary:
    """Return the summary of a cluster without any record: in ZooKeeper mode, as far as known."""
    return ClusterSummary(
        cluster=cluster,
        metadata_offset=None,
        observed_ms=None,
        leader_epoch=None,
        active_controller=None,
        phase=Phase.ZOOKEEPER,
        metadata_version=None,
        topics=0,
        partitions=0,
        unknown_records=0,
        brokers=(),
    )


def waits(
    summary: ClusterSummary,
    sources: Mapping[DataSource, SourceCurrency],
    now_ms: int,
    stalled: Collection[int],
    *,
    starting: Collection[DataSource] = (),
    in_zookeeper_mode: Collection[int] = (),
    controllers_stop: bool = False,
    hangs_since_ms: int | None = None,
) -> tuple[Wait, ...]:
    """Return all waits, most important first; `sources`: without ZooKeeper, it is not followed.

    `starting`: the sources that this process follows and that have not reported to it yet.
    `in_zookeeper_mode`: brokers whose own settings say so.
    `controllers_stop`: whether a rollback stops the controllers, or has stopped them.
    `hangs_since_ms`: since when `kraftgate run` evaluates nothing; None: it does.
    """
    log, zookeeper = sources[DataSource.METADATA_LOG], sources.get(DataSource.ZOOKEEPER)
    starts = DataSource.METADATA_LOG in starting
    blocked = _log_wait(
        summary,
        log,
        now_ms,
        starting=starts,
        controllers_stop=controllers_stop,
        has_zookeeper=zookeeper is None or zookeeper.state is not SourceState.NOT_CONFIGURED,
    )
    if hangs_since_ms is not None and (blocked is None or blocked.kind not in _NOT_FOLLOWED):
        return (_hangs(hangs_since_ms, now_ms),)
    stale = _zookeeper_wait(summary, zookeeper, now_ms, starting=DataSource.ZOOKEEPER in starting)
    if blocked is not None:
        is_step = blocked.kind in NEXT_STEPS
        if stale is not None and (is_step or (stale.action and not blocked.action)):
            return (stale,)
        return (blocked,)
    undescribed = _undescribed(summary, sources.get(DataSource.LOG_DIRS))
    log_now_ms = controllers_now_ms(log.status, now_ms)
    down = _down(summary, sources.get(DataSource.LOG_DIRS), now_ms)
    found = tuple(
        _to_start(each, down)
        for each in _migration_waits(summary, log_now_ms, stalled, undescribed, in_zookeeper_mode)
    )
    if stale is None:
        return found
    return (stale, *(each for each in found if each.kind not in NEXT_STEPS))


def _hangs(since_ms: int, now_ms: int) -> Wait:
    since = f"it last evaluated the runbook {duration_text(now_ms - since_ms)} ago"
    return Wait(
        kind=WaitKind.NOT_RUNNING,
        text=f"kraftgate run to process its data: {since}",
        action="Stop `kraftgate run` and start it again: it does not process its data",
        cause=since,
        since_ms=since_ms,
    )


def _undescribed(summary: ClusterSummary, disks: SourceCurrency | None) -> frozenset[int]:
    """Return the brokers whose log directories are followed and currently unknown."""
    if disks is None or disks.state is SourceState.NOT_CONFIGURED:
        return frozenset()
    known = summary.broker_disks if disks.why is None else {}
    return frozenset(
        each.id
        for each in summary.brokers
        if each.id not in known or known[each.id].answered_ms is None
    )


def _down(
    summary: ClusterSummary, disks: SourceCurrency | None, now_ms: int
) -> Mapping[int | None, BrokerDisks]:
    """Return the brokers that are down by two sources, for longer than most restarts take."""
    if disks is None or disks.why is not None or summary.disks is None:
        return {}
    zookeeper = summary.zookeeper or ZooKeeperImage()
    fenced = {e.id: e.fenced for e in summary.brokers if e.mode is not Mode.ZOOKEEPER}
    left = zookeeper.ever - zookeeper.brokers.keys()
    return {
        one.id: one
        for one in summary.disks.brokers.values()
        if fenced.get(one.id, one.id in left)
        and one.unreachable_since_ms is not None
        and now_ms - one.unreachable_since_ms > DOWN_AFTER_MS
    }


def _to_start(wait: Wait, down: Mapping[int | None, BrokerDisks]) -> Wait:
    """Ask an operator to start the broker of a wait if it is down."""
    one = down.get(wait.broker)
    if wait.kind not in DOWN or one is None:
        return wait
    return replace(
        wait,
        action=f"Start broker {one.id}",
        cause=f"it is down and does not answer: {one.unreachable}",
        since_ms=one.unreachable_since_ms,
    )


def _migration_waits(
    summary: ClusterSummary,
    now_ms: int,
    stalled: Collection[int],
    undescribed: Collection[int],
    in_zookeeper_mode: Collection[int],
) -> Iterator[Wait]:
    """Yield what the migration waits for, given current data of the log and of ZooKeeper."""
    zookeeper = in_zookeeper(summary)
    troubles = sorted(
        (
            each
            for broker in summary.brokers
            for each in broker_waits(broker, zookeeper, summary.copied_ms, now_ms, stalled)
        ),
        key=lambda wait: (_RANK[wait.kind], wait.broker),
    )
    troubles.extend(_disk_waits(summary, {wait.broker for wait in troubles}))
    unsettled = sorted({wait.broker for wait in troubles if wait.broker is not None})
    restarts = tuple(_zookeeper_mode_waits(summary, unsettled, undescribed))
    yield from troubles
    yield from restarts
    yield from _phase_wait(summary, unsettled, in_zookeeper_mode)
    if summary.phase is Phase.HYBRID and not troubles and not restarts:
        yield Wait(kind=WaitKind.REGISTRATIONS, text="the brokers to register in KRaft mode")
    yield from _jmx_waits(summary)


def _log_wait(
    summary: ClusterSummary,
    log: SourceCurrency,
    now_ms: int,
    *,
    starting: bool,
    controllers_stop: bool,
    has_zookeeper: bool,
) -> Wait | None:
    """Return why the metadata log is not current; None: it is, or the log has ended."""
    status = log.status
    if log.is_complete:
        return None
    match log.state:
        case SourceState.ERROR:
            return source_error(log.why or "")
        case SourceState.NOT_STARTED | SourceState.SILENT if starting:
            text = "the metadata log to be read: kraftgate run starts"
            return Wait(kind=WaitKind.CATCHING_UP, text=text)
        case SourceState.NOT_STARTED:
            text = "kraftgate run: nothing has been observed yet"
            action = "Start kraftgate run: nothing has been observed yet"
            return Wait(kind=WaitKind.NOT_RUNNING, text=text, action=action)
        case SourceState.SILENT:
            return _silent(log, now_ms)
        case SourceState.BEHIND:
            return _catching_up(summary, log)
    needed = not controllers_stop and summary.phase in (*_COPIES, *WITHOUT_ZOOKEEPER)
    action = _RESTORE_CONTROLLERS if needed else ""
    before = summary.phase is Phase.ZOOKEEPER
    missing = before and not (summary.zookeeper is not None and summary.zookeeper.has_migration)
    if log.state is SourceState.NOT_CONFIGURED and summary.phase is not Phase.ROLLED_BACK:
        action = ADD_KEY.format("controllers.bootstrap")
    elif before and not has_zookeeper:  # nothing is to be migrated
        action, missing = _CORRECT_ADDRESS, False
    return _unanswered(status, now_ms, action=action, missing=missing)


def _silent(log: SourceCurrency, now_ms: int) -> Wait:
    status = log.status
    last = f"it last reported {duration_text(now_ms - status.observed_ms)} ago"
    if not is_silent(status, now_ms):
        last = "it has ended"
    elif status.observed_ms > now_ms:
        last = "its last report is from before the clock was set back"
    return Wait(
        kind=WaitKind.NOT_RUNNING,
        text=f"kraftgate run: {last}",
        action=f"Start kraftgate run{_IF_IT_RUNS * (log.why == RUN_IS_SILENT)}: {last}",
        since_ms=status.observed_ms,
    )


_IF_IT_RUNS: Final = ", or restart it if it hangs"


def _catching_up(summary: ClusterSummary, log: SourceCurrency) -> Wait:
    status = log.status
    if status.log != summary.metadata_log:
        text = f"the metadata log to be read: another one has begun, number {status.log}"
        return Wait(kind=WaitKind.CATCHING_UP, text=text)
    if log.why != UNREAD_RECORDS:
        return Wait(kind=WaitKind.CATCHING_UP, text=f"the metadata log to be read: {log.why}")
    if status.high_watermark is None:
        text = "the metadata log to be read: its end is unknown"
        return Wait(kind=WaitKind.CATCHING_UP, text=text)
    unread = behind(status, summary.metadata_offset)
    read = "none" if summary.metadata_offset is None else str(summary.metadata_offset + 1)
    count = f"{read} of {status.high_watermark} records, {unread} to go"
    return Wait(kind=WaitKind.CATCHING_UP, text=f"the metadata log to be read: {count}")


def _unanswered(source: SourceStatus, now_ms: int, *, action: str, missing: bool) -> Wait:
    """Return a wait for a controller to answer.

    `action`: what an operator must do; "": nothing. `missing`: whether the controllers may still
    have to be provisioned.
    """
    because = f" ({source.waiting})" if source.waiting else ""
    age = stale_ms(source, now_ms)
    if age is not None:
        endpoint = f" from {source.endpoint}" if source.endpoint else ""
        kind = WaitKind.STALE_DATA
        cause = f"the last reply{endpoint} is {duration_text(age)} old{because}"
    elif missing:
        text = f"the KRaft controllers to be provisioned: none has answered yet{because}"
        cause = f"none has answered yet{because}"
        return Wait(kind=WaitKind.CONTROLLERS, text=text, action=_PROVISION, cause=cause)
    else:
        kind, cause = WaitKind.NO_CONTROLLER, f"none has since kraftgate started{because}"
        action = action if source.waiting else ""  # else it has not tried each of them yet
    return Wait(
        kind=kind,
        text=f"a controller to answer: {cause}",
        action=action,
        cause=f"{cause}{_HAS_LEADER * (action == _RESTORE_CONTROLLERS)}" if action else "",
        since_ms=source.last_reply_ms,
    )


def _zookeeper_wait(
    summary: ClusterSummary, source: SourceCurrency | None, now_ms: int, *, starting: bool
) -> Wait | None:
    """Return why ZooKeeper is not current, while the migration needs it; None: it is current."""
    if summary.phase in WITHOUT_ZOOKEEPER:
        return None
    if source is not None and source.state is SourceState.ERROR:
        return source_error(source.why or "")
    seen = summary.zookeeper
    if seen is not None and seen.blind_since_ms is not None:
        age = duration_text(now_ms - seen.blind_since_ms)
        return _blind(
            summary,
            source,
            now_ms,
            text=f"ZooKeeper to be read again: its changes of the last {age} are unknown",
            since_ms=seen.blind_since_ms,
        )
    if source is None or source.state in (SourceState.CURRENT, SourceState.NOT_CONFIGURED):
        return None
    if source.state is SourceState.BEHIND:
        return Wait(
            kind=WaitKind.CATCHING_UP, text=f"ZooKeeper's changes to be processed: {source.why}"
        )
    if starting and source.state in (SourceState.NOT_STARTED, SourceState.SILENT):
        text = "ZooKeeper to be read: kraftgate run starts"
        return Wait(kind=WaitKind.CATCHING_UP, text=text)
    return _blind(
        summary,
        source,
        now_ms,
        text=f"ZooKeeper to be read: {source.why}",
        since_ms=source.status.last_reply_ms,
    )


def _blind(
    summary: ClusterSummary,
    source: SourceCurrency | None,
    now_ms: int,
    *,
    text: str,
    since_ms: int | None,
) -> Wait:
    """Return a wait for ZooKeeper to be read; once this is no short break, an operator must act."""
    stale = since_ms is not None and now_ms - since_ms > STALE_AFTER_MS
    lost = (
        stale
        and source is not None
        and source.state in (SourceState.UNANSWERED, SourceState.SILENT)
    )
    wait = Wait(kind=WaitKind.ZOOKEEPER_BLIND, text=text, since_ms=since_ms)
    if source is None or not lost or summary.phase not in _COPIES:
        return wait
    action = "Restore ZooKeeper: Kraftgate cannot read it"
    return replace(wait, action=action, cause=source.why or "")


def _disk_waits(summary: ClusterSummary, named: set[int | None]) -> Iterator[Wait]:
    """Yield the brokers whose directories are unknown, unless another wait names them."""
    for one in summary.broker_disks.values():
        if one.unreachable is not None and one.id not in named:
            yield Wait(
                kind=WaitKind.DISKS_UNKNOWN,
                text=f"broker {one.id} to describe its log directories: {one.unreachable}",
                broker=one.id,
                since_ms=one.unreachable_since_ms,
            )


def _jmx_waits(summary: ClusterSummary) -> Iterator[Wait]:
    """Yield the nodes whose JMX numbers cannot be read; no step waits for them."""
    for node in summary.jmx.nodes.values() if summary.jmx else ():
        if node.unreachable is not None:
            yield Wait(
                kind=WaitKind.JMX_UNKNOWN,
                text=f"the JMX numbers of node {node.id} to be read: {node.unreachable}",
                broker=node.id if any(each.id == node.id for each in summary.brokers) else None,
                since_ms=node.unreachable_since_ms,
            )


def _zookeeper_mode_waits(
    summary: ClusterSummary, unsettled: list[int], undescribed: Collection[int]
) -> Iterator[Wait]:
    """Yield the brokers to restart in KRaft mode, if the phase requires it.

    After a broker has changed from KRaft mode to migration mode, no broker should enter KRaft mode:
    a rollback has begun, and only an operator can complete or undo it.
    """
    if summary.phase not in _RESTARTS:
        return
    if summary.rolls_back:
        yield _rolling_back([each.id for each in summary.brokers if each.reverted])
        return
    although = " although the migration is finalized" if summary.phase in WITHOUT_ZOOKEEPER else ""
    for broker in summary.brokers:
        if broker.mode is Mode.KRAFT:
            continue
        first = _not_before([other for other in unsettled if other != broker.id], summary)
        if broker.id in unsettled or broker.id in undescribed:
            first = ", once all of its log directories are known to be online"
        where = f"broker {broker.id} is still in ZooKeeper mode{although}"
        text = f"{where}: restart it in KRaft mode{first}"
        action = f"Restart broker {broker.id} in KRaft mode{first}"
        yield Wait(
            kind=WaitKind.BROKER_IN_ZOOKEEPER_MODE,
            text=text,
            action=action,
            cause=where,
            broker=broker.id,
        )


def _rolling_back(reverted: list[int]) -> Wait:
    cause = f"{ids(reverted)} went from KRaft mode back to migration mode"
    text = (
        f"the rollback to end: {cause}. To migrate nevertheless, restart every broker in KRaft mode"
    )
    action = "Complete the rollback, or restart every broker in KRaft mode"
    return Wait(kind=WaitKind.ROLLING_BACK, text=text, action=action, cause=cause)


def _phase_wait(
    summary: ClusterSummary, unsettled: list[int], in_zookeeper_mode: Collection[int]
) -> Iterator[Wait]:
    """Yield the phase's own wait; in `hybrid` there is a wait for each broker instead."""
    if summary.phase is Phase.ZOOKEEPER:
        text = "the KRaft controllers to be provisioned: their log has no migration state yet"
        cause = "their log has no migration state yet"
        yield Wait(kind=WaitKind.CONTROLLERS, text=text, action=_PROVISION, cause=cause)
    elif summary.phase is Phase.PRE_MIGRATION:
        yield Wait(kind=WaitKind.REGISTRATIONS, text=_registrations_text(summary))
    elif summary.phase is Phase.COPYING:
        text = "the copy from ZooKeeper: the ZK Migration transaction is open"
        yield Wait(kind=WaitKind.COPY, text=text)
    elif summary.phase is Phase.DUAL_WRITE:
        how = (
            "restart the controllers without zookeeper.metadata.migration.enable"
            f"{_not_before(unsettled, summary)}"
        )
        text = f"the migration to be finalized: {how}"
        action = f"Finalize the migration: {how}"
        yield Wait(kind=WaitKind.FINALIZE, text=text, action=action)
    elif summary.phase is Phase.ROLLED_BACK:
        action = _left_of_rollback(summary, in_zookeeper_mode)
        cause = "a broker in ZooKeeper mode is the controller again"
        first = f"; {action[:1].lower()}{action[1:]} first" if action else ""
        text = f"the next attempt: {cause}{first}"
        yield Wait(kind=WaitKind.ROLLED_BACK, text=text, action=action, cause=cause)


def _left_of_rollback(summary: ClusterSummary, in_zookeeper_mode: Collection[int]) -> str:
    """Return what an operator still has to do; "": nothing.

    A broker in migration mode still halts when a log directory fails, and joins the next quorum.
    """
    seen = summary.zookeeper
    if seen is None or MIGRATION in seen.unreadable:
        return _DELETE_ZNODE
    if seen.migration is not None and seen.migration.is_copied:
        return _DELETE_ZNODE
    left = [each.id for each in summary.brokers if each.mode is not Mode.ZOOKEEPER]
    if left:
        return f"Restart {ids(left)} in ZooKeeper mode"
    unproven = [
        each.id
        for each in summary.brokers
        if each.left_migration and each.id not in in_zookeeper_mode
    ]
    if not unproven:
        return ""
    verb = "runs" if len(unproven) == 1 else "run"
    return f"Check that {ids(unproven)} {verb} in ZooKeeper mode"


ADD_KEY: Final = "Add `{}` to the configuration and restart `kraftgate run`"
_RESTORE_CONTROLLERS: Final = (
    "Restore a majority of the controllers, or Kraftgate's connection to them, unless a rollback"
    " has stopped them"
)
"""Kraftgate does not know of a rollback by hand if no broker was in KRaft mode."""
_HAS_LEADER: Final = (
    "; if `kafka-metadata-quorum.sh describe --status` on a controller's host shows a leader, only"
    " Kraftgate's connection fails"
)
_CORRECT_ADDRESS: Final = "Start the controllers, or correct `controllers.bootstrap`"
_DELETE_ZNODE: Final = "Delete /migration"
_PROVISION: Final = "Provision the KRaft controllers, in migration mode"


def _registrations_text(summary: ClusterSummary) -> str:
    known = _ids(b.id for b in summary.brokers if b.mode is not Mode.ZOOKEEPER)
    missing = _ids(b.id for b in summary.brokers if b.mode is Mode.ZOOKEEPER)
    others = missing or ("the others" if known else "all")
    return (
        f"broker registrations: {known or 'none'} registered for migration;"
        f" waiting for {others} and then the copy"
    )


def _not_before(unsettled: list[int], summary: ClusterSummary) -> str:
    if unsettled:
        return f", once nothing is pending for {ids(unsettled)}"
    return ", once every replica is in its ISR" if summary.under_replicated else ""


def _ids(found: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(found)))

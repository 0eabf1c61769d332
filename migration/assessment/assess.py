"""assess(snapshot) -> Assessment: what Kraftgate concludes from one snapshot of a cluster."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from migration.assessment.alerts import NO_ALERTS, AlertStates, advance
from migration.assessment.conditions import View
from migration.assessment.conditions.authority import (
    controllers_stop,
    is_source_current,
    knows_partitions,
)
from migration.assessment.conditions.view import Execution
from migration.assessment.currency import (
    UNREAD_FACTS,
    Currency,
    LogData,
    SourceCurrency,
    SourceState,
    log_currency,
    reported,
    unread_records,
)
from migration.assessment.data_source import FOLLOWED, DataSource
from migration.assessment.eta import Eta, cluster_eta, etas
from migration.assessment.failed_directories import DirectoryFailed
from migration.assessment.hazards import Hazard, hazards
from migration.assessment.next_action import NextAction, next_action
from migration.assessment.polled import NOT_POLLED, Polled
from migration.assessment.waits import NEXT_STEPS, Wait, WaitKind, waits
from migration.image.summary import WITHOUT_ZOOKEEPER, BrokerSummary, ClusterSummary, Mode
from migration.observed.probed import Maybe, Unknown
from migration.observed.source_status import NO_STATUS, STALE_AFTER_MS, SourceStatus
from migration.values.durations import duration_text

T = TypeVar("T")

_AHEAD: Final = frozenset({WaitKind.BROKER_IN_ZOOKEEPER_MODE, WaitKind.FINALIZE})
"""Waits for steps of the migration itself; an aborted rollback does not resume the migration."""
POLLED_MS_MAX: Final = 30_000
"""An older answer is stale."""
CHECKED_MS_MAX: Final = 1_800_000
"""There are many preflight checks, and their data changes slowly."""
_LOG_DATA: Final[Mapping[SourceState, LogData]] = {
    SourceState.ERROR: "source_error",
    SourceState.CURRENT: "current",
    SourceState.BEHIND: "reading",
    SourceState.OVER: "over",
}
"""In any other state it is `stale`, or `no_data`."""
_RESUMING: Final = "it is not followed yet: `kraftgate run` starts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """A source's journal, and how much of it the store includes.

    Attributes:
        last: sequence number of its last fact; None: the journal cannot be read.
        read: sequence number of the last fact that the store includes.
        unread_ms: when the first fact that the store lacks was observed; None: there is none, or
            its time is unknown.
    """

    last: int | None
    read: int
    unread_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One cluster at one moment; attributes that `View` has, too, are described there.

    Attributes:
        now_ms: the time of the snapshot, by the wall clock.
        journals: of the sources that have one.
        not_followed: why no process updates the store, whatever the sources' reports say; None: one
            does, or that is unknown.
        resuming: sources that this process follows and that have not reported to it yet.
        alerts: as of the last snapshot.
        options: that a command of an operator needs to find the configuration; "": none.
    """

    summary: ClusterSummary
    now_ms: int
    stall_after_ms: int
    configured: frozenset[DataSource]
    sources: Mapping[DataSource, SourceStatus] = field(default_factory=dict)
    journals: Mapping[DataSource, Journal] = field(default_factory=dict)
    not_followed: str | None = None
    resuming: frozenset[DataSource] = frozenset()
    polled: Polled = NOT_POLLED
    phase_began_ms: int | None = None
    phase_seen_ms: int | None = None
    store_since_ms: int | None = None
    execution: Execution | None = None
    alerts: AlertStates = NO_ALERTS
    options: str = ""

    def status(self, source: DataSource) -> SourceStatus:
        return self.sources.get(source, NO_STATUS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """The assessment of one cluster at one moment.

    Attributes:
        sources: each followed source, including those that are not configured.
        currency: of the followed and the polled sources.
        current: whether a followed source is current; None: the cluster does not have it now.
        view: the input of the conditions.
        waits: what the migration waits for, except the runbook's checkpoint; most important first.
        etas: of each held broker.
        eta: until no broker is held; None: no broker is.
        alerts: those that are pending or active.
        next: what an operator must do now, or what is waited for.
        knows_partitions: whether the metadata log is authoritative for topics and replicas.
    """

    snapshot: Snapshot
    sources: Mapping[DataSource, SourceCurrency]
    currency: Currency
    current: Mapping[DataSource, bool | None]
    view: View
    waits: tuple[Wait, ...]
    etas: Mapping[int, Eta]
    eta: Eta | None
    alerts: AlertStates
    next: NextAction
    knows_partitions: bool

    @property
    def summary(self) -> ClusterSummary:
        return self.snapshot.summary

    @property
    def now_ms(self) -> int:
        """The time of the snapshot, by the wall clock."""
        return self.snapshot.now_ms

    @property
    def hazards(self) -> tuple[Hazard, ...]:
        """The due hazards, most important first."""
        return self.view.due_hazards

    @property
    def failed_by_broker(self) -> Mapping[int, tuple[DirectoryFailed, ...]]:
        """The failed log directories of each broker, without those that are only inferred."""
        found: dict[int, tuple[DirectoryFailed, ...]] = {}
        for each in self.view.failed:
            if each.broker is not None and not each.is_inferred:
                found[each.broker] = (*found.get(each.broker, ()), each)
        return found

    @property
    def log(self) -> SourceCurrency:
        return self.sources[DataSource.METADATA_LOG]

    @property
    def log_data(self) -> LogData:
        if self.log.status.finished and self.log.state is not SourceState.ERROR:
            return "finished"
        old: LogData = "no_data" if self.summary.metadata_offset is None else "stale"
        return _LOG_DATA.get(self.log.state, old)

    def counts(self, broker: BrokerSummary) -> bool:
        """Return whether the metadata log counts this broker's replicas."""
        return self.knows_partitions and broker.epoch is not None

    @property
    def stalled(self) -> frozenset[int]:
        """The brokers that are held and make no progress."""
        return self.view.stalled


def assess(snapshot: Snapshot) -> Assessment:
    """Assess one cluster. Pure: the same snapshot gives the same assessment."""
    if DataSource.JMX not in snapshot.configured and snapshot.summary.jmx is not None:
        # What JMX reported before it left the configuration is never read again.
        snapshot = replace(snapshot, summary=replace(snapshot.summary, jmx=None))
    summary, now_ms = snapshot.summary, snapshot.now_ms
    sources = {source: _currency_of(snapshot, source) for source in FOLLOWED}
    currency = _together(snapshot, sources)
    view = _view(snapshot, currency, sources)
    log = sources[DataSource.METADATA_LOG]
    found = etas(summary, log, view.log_now_ms, view.stalled)
    eta = cluster_eta(summary, found)
    execution = snapshot.execution
    active = _active(execution)
    every = waits(
        summary,
        sources,
        now_ms,
        view.stalled,
        starting=snapshot.resuming,
        in_zookeeper_mode=in_zookeeper_mode(view),
        controllers_stop=controllers_stop(view),
        hangs_since_ms=_hangs_since_ms(snapshot, active),
    )
    # An aborted execution waits for the end of the hook that it left.
    followed = execution if execution is not None and execution.holds else active
    waiting = tuple(_beside(execution, every))
    return Assessment(
        snapshot=snapshot,
        sources=sources,
        currency=currency,
        current={each: is_source_current(view, each) for each in FOLLOWED},
        view=view,
        waits=waiting,
        etas=found,
        eta=eta,
        alerts=advance(snapshot.alerts, view),
        next=next_action(view, followed, waiting, eta, snapshot.options),
        knows_partitions=knows_partitions(view),
    )


def _view(
    snapshot: Snapshot, currency: Currency, sources: Mapping[DataSource, SourceCurrency]
) -> View:
    execution, polled = snapshot.execution, snapshot.polled
    active = _active(execution)
    rolls_back = snapshot.summary.rolls_back or (
        active is not None
        and active.path is not None
        and snapshot.summary.phase not in WITHOUT_ZOOKEEPER
    )
    return View(
        summary=snapshot.summary,
        now_ms=snapshot.now_ms,
        stall_after_ms=snapshot.stall_after_ms,
        not_current=currency.not_current,
        configured=snapshot.configured,
        sources={source: each.status for source, each in sources.items()},
        hazards=hazards(
            snapshot.summary,
            snapshot.now_ms,
            currency,
            finalize_is_near=None if active is None else active.finalize_is_near,
            finalize_is_in_progress=None if active is None else active.finalize_is_in_progress,
            rolls_back=rolls_back,
        ),
        topics=_known(polled.topics),
        settings=_known(polled.settings),
        quorum=_known(polled.quorum),
        preflight=_known(polled.preflight),
        external=polled.external,
        phase_began_ms=snapshot.phase_began_ms,
        phase_seen_ms=snapshot.phase_seen_ms,
        store_since_ms=snapshot.store_since_ms,
        execution=execution,
        rolls_back=rolls_back,
    )


def _hangs_since_ms(snapshot: Snapshot, active: Execution | None) -> int | None:
    """Return since when `kraftgate run` evaluates nothing although its sources report.

    None: it evaluates. A process that starts has the previous process's execution until its own
    sources have reported.
    """
    if active is None or snapshot.resuming or active.is_recent(snapshot.now_ms):
        return None
    return active.at_ms


def _active(execution: Execution | None) -> Execution | None:
    """Return the execution unless it is over."""
    return None if execution is None or execution.outcome else execution


def in_zookeeper_mode(view: View) -> Mapping[int, int]:
    """Return the brokers in ZooKeeper mode by settings polled since the broker wrote its znode.

    Each has the time of that poll. A process that polls nothing has it from the execution.
    """
    zookeeper, settings, execution = view.summary.zookeeper, view.settings, view.execution
    if zookeeper is None:
        return {}
    found = {} if execution is None else dict(execution.in_zookeeper_mode)
    if settings is not None:
        found = {id_: at_ms for id_, at_ms in found.items() if id_ not in settings.modes}
        modes = settings.modes.items()
        found |= {id_: settings.at_ms for id_, mode in modes if mode is Mode.ZOOKEEPER}
    return {
        id_: found[id_]
        for id_, each in zookeeper.brokers.items()
        if id_ in found and each.started_ms <= found[id_]
    }


def _beside(execution: Execution | None, found: Iterable[Wait]) -> Iterable[Wait]:
    """Leave out the waits that the execution of a runbook decides."""
    hidden: frozenset[WaitKind] = frozenset()
    if execution is not None and execution.outcome is None:
        hidden = NEXT_STEPS
    elif execution is not None and execution.outcome == "aborted" and execution.path is not None:
        hidden = _AHEAD
    return (each for each in found if each.kind not in hidden)


def _known(answer: Maybe[T]) -> T | None:
    return None if isinstance(answer, Unknown) else answer


def _together(snapshot: Snapshot, sources: Mapping[DataSource, SourceCurrency]) -> Currency:
    """Return the currency of the followed and the polled sources together.

    JMX that is not configured is left out: nothing depends on it.
    """
    log = sources[DataSource.METADATA_LOG]
    not_current = {
        source: each.why
        for source, each in sources.items()
        if each.why is not None
        and (source is not DataSource.JMX or each.state is not SourceState.NOT_CONFIGURED)
    }
    return Currency(
        not_current={**not_current, **_polled_not_current(snapshot)},
        last_ms={
            source: each.status.last_reply_ms
            for source, each in sources.items()
            if each.status.last_reply_ms is not None
        },
        log=log.status,
        log_was_read=log.state is SourceState.CURRENT
        or (
            log.state is SourceState.UNANSWERED
            and unread_records(snapshot.summary, log.status) is None
        ),
    )


def _currency_of(snapshot: Snapshot, source: DataSource) -> SourceCurrency:
    found = _reported(snapshot, source)
    if source in snapshot.resuming and found.state in (SourceState.NOT_STARTED, SourceState.SILENT):
        return replace(found, why=_RESUMING)
    return found


def _reported(snapshot: Snapshot, source: DataSource) -> SourceCurrency:
    status, now_ms = snapshot.status(source), snapshot.now_ms
    configured = source in snapshot.configured
    ended = snapshot.not_followed
    is_resuming = source in snapshot.resuming and not status.finished
    unread = _RESUMING if is_resuming else None
    if source is DataSource.METADATA_LOG:
        return log_currency(
            snapshot.summary, status, now_ms, unread, configured=configured, ended=ended
        )
    state, why = reported(status, now_ms, _KEYS[source], configured=configured, ended=ended)
    unread = unread or unread_facts(snapshot.journals.get(source), now_ms)
    if state is SourceState.CURRENT and unread:
        state, why = SourceState.BEHIND, unread
    if state is SourceState.CURRENT and source is DataSource.ZOOKEEPER:
        why = _not_seen(snapshot.summary, status)
        state = SourceState.CURRENT if why is None else SourceState.BLIND
    return SourceCurrency(state=state, status=status, why=why)


_KEYS: Final = {
    DataSource.ZOOKEEPER: "zookeeper",
    DataSource.LOG_DIRS: "brokers",
    DataSource.JMX: "jmx",
}


def unread_facts(journal: Journal | None, now_ms: int) -> str | None:
    """Return why the store is behind the journal; None: it is not, or only for a moment."""
    if journal is None:
        return None
    unread_ms = journal.unread_ms
    late = unread_ms is not None and abs(now_ms - unread_ms) > STALE_AFTER_MS
    return UNREAD_FACTS if late or journal.last is None else None


def _not_seen(summary: ClusterSummary, status: SourceStatus) -> str | None:
    """Return why the store's image of ZooKeeper is not current; None: it is."""
    seen, since_ms = summary.zookeeper, status.whole_since_ms
    if seen is None or seen.seen_ms is None:
        return "not read yet"
    if seen.blind_since_ms is not None:
        return "its connection was lost: changes may have been missed"
    if since_ms is not None and seen.seen_ms < since_ms:
        return "its connection was interrupted, and the facts read since are not processed yet"
    return None


def _polled_not_current(snapshot: Snapshot) -> Mapping[DataSource, str]:
    polled, found = snapshot.polled, {}
    if isinstance(polled.log_dirs, Unknown):
        found[DataSource.LOG_DIRS] = polled.log_dirs.why
    for source, answer, oldest_ms in (
        (DataSource.TOPICS, polled.topics, POLLED_MS_MAX),
        (DataSource.SETTINGS, polled.settings, POLLED_MS_MAX),
        (DataSource.QUORUM, polled.quorum, POLLED_MS_MAX),
        (DataSource.PREFLIGHT, polled.preflight, CHECKED_MS_MAX),
    ):
        if isinstance(answer, Unknown):
            found[source] = answer.why
        elif snapshot.now_ms - answer.at_ms > oldest_ms:
            found[source] = f"the last answer is older than {duration_text(oldest_ms)}"
        elif answer.at_ms - snapshot.now_ms > oldest_ms:
            found[source] = "the clock was set back after the last answer"
    return found

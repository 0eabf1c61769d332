"""assess(snapshot) -> Assessment: what Kraftgate concludes from one snapshot of a cluster."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from migration.assessment.alerts import AlertStates, advance
from migration.assessment.conditions import View
from migration.assessment.conditions.authority import is_source_current, knows_partitions
from migration.assessment.conditions.view import Execution
from migration.assessment.currency import Currency, SourceCurrency
from migration.assessment.data_source import FOLLOWED, DataSource
from migration.assessment.eta import Eta, cluster_eta, etas
from migration.assessment.hazards import Hazard, hazards
from migration.assessment.snapshot import Snapshot
from migration.assessment.source_currency import currency_of, source_currencies
from migration.assessment.waits import NEXT_STEPS, Wait, WaitKind, headline, waits
from migration.image.summary import BrokerSummary, ClusterSummary
from migration.observed.probed import Maybe, Unknown

T = TypeVar("T")

_AHEAD: Final = frozenset({WaitKind.BROKER_IN_ZOOKEEPER_MODE, WaitKind.FINALIZE})
"""Waits for steps of the migration itself; an aborted rollback does not resume the migration."""


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
    knows_partitions: bool

    @property
    def summary(self) -> ClusterSummary:
        """The image that was assessed."""
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
    def log(self) -> SourceCurrency:
        """The metadata log's source."""
        return self.sources[DataSource.METADATA_LOG]

    @property
    def headline(self) -> str:
        """One line that states what the migration waits for, or that it waits for nothing."""
        execution = self.snapshot.execution
        if not self.waits and execution is not None and execution.outcome is None:
            return "nothing except the runbook's checkpoint"
        return headline(self.summary, self.waits)

    def counts(self, broker: BrokerSummary) -> bool:
        """Return whether the metadata log counts this broker's replicas."""
        return self.knows_partitions and broker.epoch is not None

    @property
    def stalled(self) -> frozenset[int]:
        """The brokers that are held and make no progress."""
        return self.view.stalled


def assess(snapshot: Snapshot) -> Assessment:
    """Assess one cluster. Pure: the same snapshot gives the same assessment."""
    summary, now_ms = snapshot.summary, snapshot.now_ms
    sources = source_currencies(snapshot)
    currency = currency_of(snapshot, sources)
    view = _view(snapshot, currency)
    log = sources[DataSource.METADATA_LOG]
    found = etas(summary, log, now_ms, view.stalled)
    return Assessment(
        snapshot=snapshot,
        sources=sources,
        currency=currency,
        current={each: is_source_current(view, each) for each in FOLLOWED},
        view=view,
        waits=tuple(_beside(snapshot.execution, waits(summary, sources, now_ms, view.stalled))),
        etas=found,
        eta=cluster_eta(summary, found),
        alerts=advance(snapshot.alerts, view),
        knows_partitions=knows_partitions(view),
    )


def _view(snapshot: Snapshot, currency: Currency) -> View:
    execution, polled = snapshot.execution, snapshot.polled
    near = None if execution is None or execution.outcome else execution.finalize_is_near
    return View(
        summary=snapshot.summary,
        now_ms=snapshot.now_ms,
        stall_after_ms=snapshot.stall_after_ms,
        not_current=currency.not_current,
        configured=snapshot.configured,
        sources=snapshot.sources,
        hazards=hazards(snapshot.summary, snapshot.now_ms, currency, finalize_is_near=near),
        topics=_known(polled.topics),
        settings=_known(polled.settings),
        quorum=_known(polled.quorum),
        preflight=_known(polled.preflight),
        external=polled.external,
        phase_began_ms=snapshot.phase_began_ms,
        execution=execution,
    )


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

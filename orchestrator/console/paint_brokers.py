"""A row per broker, from its summary."""

from typing import Final

from migration import rates
from migration.broker_waits import last_progress_ms
from migration.replica_state import ReplicaState
from migration.summary import BrokerSummary
from orchestrator.console.model_rows import BrokerRow, Early, Eta
from orchestrator.view.rows import urgency

ETA_EVERY_MS: Final = 5_000
"""An estimate also changes by time alone; not more often than this."""


def at_eta_pace(now_ms: int) -> int:
    """The moment that estimates are made for: it stands still in between."""
    return now_ms - now_ms % ETA_EVERY_MS


def broker_row(
    broker: BrokerSummary, eta: Eta | None, *, stalled: bool, knows_partitions: bool
) -> BrokerRow:
    """Tell one broker; `knows_partitions`: whether the metadata log has a say about replicas."""
    registered = broker.epoch is not None
    told = registered and knows_partitions
    return BrokerRow(
        id=broker.id,
        host=broker.host,
        rack=broker.rack,
        mode=broker.mode,
        registered=registered,
        epoch=broker.epoch,
        fenced=broker.fenced if registered else None,
        shutting_down=broker.in_controlled_shutdown if registered else None,
        held=broker.held,
        stalled=stalled,
        unfenced_early=_early(broker),
        replicas={state: broker.replicas[state] for state in ReplicaState} if told else None,
        pending=broker.pending if told else None,
        total=sum(broker.replicas.values()) if told else None,
        under_replicated=broker.under_replicated if told else None,
        rate_per_second=_rate(broker),
        eta=eta,
        last_progress_ms=last_progress_ms(broker) if broker.held else None,
        registered_ms=broker.registered_ms,
        registered_offset=broker.registered_offset,
        unfenced_ms=broker.unfenced_ms,
        unfenced_offset=broker.unfenced_offset,
        complete_ms=broker.assignments_complete_ms,
        complete_offset=broker.assignments_complete_offset,
        urgency=urgency(broker),
    )


def eta_told(found: rates.Eta | None, made_at_ms: int) -> Eta | None:
    """Tell an estimate of `migration.rates`, of a broker or of all; None: nothing held, or none."""
    if found is None or isinstance(found, rates.NoEstimate):
        return None
    return Eta(
        at_ms=made_at_ms + round(found.seconds * 1000),
        earliest_ms=made_at_ms + round(found.low * 1000),
        latest_ms=made_at_ms + round(found.high * 1000),
        made_at_ms=made_at_ms,
        how=found.how,
    )


def _rate(broker: BrokerSummary) -> float | None:
    rate = rates.rate_per_second(broker)
    return None if rate is None else round(rate, 3)


def _early(broker: BrokerSummary) -> Early | None:
    early = broker.unfenced_early
    if early is None:
        return None
    standing = broker.held and not broker.fenced
    return Early(pending=early.pending, duration_ms=early.duration_ms, standing=standing)

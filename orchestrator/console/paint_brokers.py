"""A row per broker, from its summary."""

from typing import Final

from migration.broker_waits import last_progress_ms
from migration.rates import eta_seconds, rate_per_second
from migration.replica_state import ReplicaState
from migration.summary import BrokerSummary, ClusterSummary
from orchestrator.console.model_rows import BrokerRow, Early, Eta
from orchestrator.view.rows import urgency
from orchestrator.view.words import short_rate

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


def broker_eta(broker: BrokerSummary, now_ms: int) -> Eta | None:
    """When its last replica should have a directory; None: not held, or there is no rate."""
    seconds = eta_seconds(broker, now_ms)
    if seconds is None or broker.progress is None:
        return None
    so_far = f"{broker.progress.assigned} replicas at {short_rate(rate_per_second(broker))}"
    return Eta(
        at_ms=now_ms + round(seconds * 1000),
        made_at_ms=now_ms,
        how=f"{so_far}, {broker.pending} to go",
    )


def cluster_eta(summary: ClusterSummary, now_ms: int) -> Eta | None:
    """When no broker should be held any more; None: none is, or one has no estimate."""
    found = [broker_eta(each, now_ms) for each in summary.brokers if each.held]
    known = [each for each in found if each is not None]
    if not known or len(known) < len(found):
        return None
    return max(known, key=lambda each: each.at_ms)


def _rate(broker: BrokerSummary) -> float | None:
    rate = rate_per_second(broker)
    return None if rate is None else round(rate, 3)


def _early(broker: BrokerSummary) -> Early | None:
    early = broker.unfenced_early
    if early is None:
        return None
    standing = broker.held and not broker.fenced
    return Early(pending=early.pending, duration_ms=early.duration_ms, standing=standing)

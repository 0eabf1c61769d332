"""The page's row of a broker, from its summary."""

from migration.assessment.eta import NoEstimate, rate_per_second
from migration.image.holds import is_unfenced_early, last_progress_ms
from migration.image.summary import BrokerSummary
from migration.metadata.replica_state import ReplicaState
from orchestrator.api.console.rows import BrokerRow, Early, Eta
from orchestrator.run.urgency import urgency
from orchestrator.views.console.state.estimates import Estimated


def broker_row(
    broker: BrokerSummary,
    eta: Estimated | None,
    *,
    stalled: bool,
    knows_partitions: bool,
    on_disk: int | None,
) -> BrokerRow:
    """Return the row of one broker.

    `eta`: for a held broker. `knows_partitions`: whether the metadata log is authoritative for
    replicas. `on_disk`: the number of replicas on its disks, if the log does not count them.
    """
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
        total=sum(broker.replicas.values()) if told else on_disk,
        under_replicated=broker.under_replicated if told else None,
        rate_per_second=_rate(broker),
        eta=None if eta is None else eta_told(eta),
        no_eta=None if eta is None else no_eta(eta),
        last_progress_ms=last_progress_ms(broker) if broker.held else None,
        registered_ms=broker.registered_ms,
        registered_offset=broker.registered_offset,
        unfenced_ms=broker.unfenced_ms,
        unfenced_offset=broker.unfenced_offset,
        complete_ms=broker.assignments_complete_ms,
        complete_offset=broker.assignments_complete_offset,
        urgency=urgency(broker),
    )


def eta_told(made: Estimated) -> Eta | None:
    """Return an estimate, for a broker or for all; None: there is none."""
    found, made_at_ms = made.eta, made.at_ms
    if isinstance(found, NoEstimate):
        return None
    return Eta(
        at_ms=made_at_ms + round(found.seconds * 1000),
        earliest_ms=made_at_ms + round(found.low * 1000),
        latest_ms=made_at_ms + round(found.high * 1000),
        made_at_ms=made_at_ms,
        how=found.how,
    )


def no_eta(made: Estimated) -> str | None:
    """Return why there is no estimate; None: there is one."""
    return str(made.eta) if isinstance(made.eta, NoEstimate) else None


def _rate(broker: BrokerSummary) -> float | None:
    rate = rate_per_second(broker)
    return None if rate is None else round(rate, 3)


def _early(broker: BrokerSummary) -> Early | None:
    early = broker.unfenced_early
    if early is None:
        return None
    return Early(
        pending=early.pending, duration_ms=early.duration_ms, standing=is_unfenced_early(broker)
    )

"""Whether a held broker is stalled, and whether Kafka unfenced it early."""

from migration.image.summary import BrokerSummary


def is_stalled(broker: BrokerSummary, now_ms: int, stall_after_ms: int) -> bool:
    """Whether a held broker made no progress for longer; before the first, since it registered."""
    since = last_progress_ms(broker)
    return broker.held and since is not None and now_ms - since > stall_after_ms


def serves_early(broker: BrokerSummary) -> bool:
    """Whether Kafka lets a broker serve although it is held."""
    return broker.held and broker.unfenced_early is not None and not broker.fenced


def last_progress_ms(broker: BrokerSummary) -> int | None:
    """When a held broker last made progress; before the first, when it registered."""
    return broker.registered_ms if broker.progress is None else broker.progress.last_ms

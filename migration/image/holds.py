"""Decides whether a held broker is stalled, or was unfenced early; no other module does."""

from migration.image.summary import BrokerSummary, ClusterSummary


def stalled(summary: ClusterSummary, now_ms: int, stall_after_ms: int) -> frozenset[int]:
    """Return the ids of the stalled brokers."""
    return frozenset(e.id for e in summary.brokers if is_stalled(e, now_ms, stall_after_ms))


def is_stalled(broker: BrokerSummary, now_ms: int, stall_after_ms: int) -> bool:
    """Return whether a held broker made no progress for longer than `stall_after_ms`.

    Before the first progress the time counts from its registration.
    """
    since = last_progress_ms(broker)
    return broker.held and since is not None and now_ms - since > stall_after_ms


def is_unfenced_early(broker: BrokerSummary) -> bool:
    """Return whether a broker is held and unfenced."""
    return broker.held and broker.unfenced_early is not None and not broker.fenced


def last_progress_ms(broker: BrokerSummary) -> int | None:
    """Return when a held broker last made progress; before the first, when it registered."""
    return broker.registered_ms if broker.progress is None else broker.progress.last_ms

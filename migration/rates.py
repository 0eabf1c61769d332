"""How fast a held broker's replicas get their directories, and how long the rest will take."""

from migration.summary import BrokerSummary, ClusterSummary


def rate_per_second(broker: BrokerSummary) -> float | None:
    """Replicas that got a directory per second, from the first such record to the latest one.

    Made of `Progress` alone: (assigned - 1) / (last_ms - first_ms), because n records span n - 1
    gaps and nothing is known of the time before the first. None until the records carry two
    distinct timestamps.
    """
    progress = broker.progress
    if progress is None or progress.assigned < 2 or progress.last_ms <= progress.first_ms:
        return None
    return (progress.assigned - 1) * 1000 / (progress.last_ms - progress.first_ms)


def eta_seconds(broker: BrokerSummary, now_ms: int) -> float | None:
    """Seconds until a held broker's last replica has a directory; None when not held or no rate.

    Pending replicas over the rate, where the rate's span reaches to `now_ms`, not to the last
    record: a broker that stopped does not keep the promise it made when it was fast, its estimate
    grows. A clock that runs behind the records' counts as their time.
    """
    progress = broker.progress
    if not broker.held or progress is None or rate_per_second(broker) is None:
        return None
    span_ms = max(now_ms, progress.last_ms) - progress.first_ms
    return broker.pending * span_ms / (progress.assigned - 1) / 1000


def cluster_eta_seconds(summary: ClusterSummary, now_ms: int) -> float | None:
    """Seconds until no broker is held; None when none is, or when one has no estimate."""
    latest: float | None = None
    for broker in summary.brokers:
        if not broker.held:
            continue
        eta = eta_seconds(broker, now_ms)
        if eta is None:
            return None
        latest = eta if latest is None else max(latest, eta)
    return latest

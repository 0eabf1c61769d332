"""The collector that makes the samples of one scrape from the last tick."""

from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from typing import Final

from prometheus_client import Metric as Family
from prometheus_client.registry import Collector

from migration.observed.log_dirs import BrokerDisks
from orchestrator.notify.sender import SenderStats
from orchestrator.run.assessed import Assessed, Tick
from orchestrator.views.metrics import brokers, cluster
from orchestrator.views.metrics.exposition import Exposition, Metric, Subject

PROCESS: Final = Subject("kraftgate")

_BUILD: Final = PROCESS.info("build", "The version of Kraftgate.", "version")
_LOOK: Final = PROCESS.gauge(
    "last_look_timestamp_seconds",
    "When the state behind these metrics was last read; a few times a second.",
)
_SUBJECTS: Final = (
    PROCESS,
    cluster.CLUSTER,
    cluster.SOURCE,
    cluster.NOTICES,
    brokers.ALL,
    brokers.BROKER,
    brokers.REPLICAS,
    brokers.LOG_DIR,
    brokers.NODE,
)


def metrics() -> tuple[Metric, ...]:
    """Return all metrics that a scrape may have, except the process's (`kraftgate_process_`)."""
    return tuple(metric for subject in _SUBJECTS for metric in subject.metrics)


class LastTick(Collector):
    """Collects the samples of the last tick."""

    def __init__(
        self,
        last: Callable[[], Tick | None],
        receivers: Callable[[], Mapping[str, SenderStats]] = dict,
    ) -> None:
        """Keep the sources of the samples; nothing is read yet.

        Args:
            last: Returns the last tick; None before the first.
            receivers: Returns the counters of each receiver of alerts.
        """
        self._last = last
        self._receivers = receivers

    def collect(self) -> Iterator[Family]:
        """Yield all samples; before the first tick only those of the process and the receivers."""
        into = Exposition()
        into.value(_BUILD, 1, version("kraftgate"))
        cluster.add_notifications(into, self._receivers())
        tick = self._last()
        if tick is not None:
            into.time(_LOOK, tick.at_ms)
            for one in tick.clusters:
                _add_one(into, one)
        return into.families()


def _add_one(into: Exposition, one: Assessed) -> None:
    name, summary, assessment = one.name, one.summary, one.assessment
    cluster.add_cluster(into, one)
    cluster.add_identity(into, one)
    cluster.add_sources(into, one)
    cluster.add_hazards(into, one)
    cluster.add_waits(into, one)
    for broker in summary.brokers:
        brokers.add_broker(into, name, broker, knows_partitions=assessment.knows_partitions)
    if assessment.knows_partitions:
        brokers.add_etas(into, one)
    disks, failed = one.disks, assessment.failed_by_broker
    for id_ in sorted({*disks, *failed}):
        one_disks = disks.get(id_, BrokerDisks(id=id_))
        brokers.add_log_dirs(into, name, one_disks, failed.get(id_, ()))
    if summary.jmx is not None:
        brokers.add_jmx(into, name, summary.jmx)
    if one.read.execution is not None:
        cluster.add_execution(into, name, one.read.execution)
    cluster.add_alerts(into, name, assessment.alerts)

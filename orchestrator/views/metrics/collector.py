"""The collector that makes the samples of one scrape from the last tick."""

from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from typing import Final

from prometheus_client import Metric as Family
from prometheus_client.registry import Collector

from orchestrator.notify.sender import SenderStats
from orchestrator.run.assessed import Assessed
from orchestrator.run.board import Board
from orchestrator.views.metrics.alerts import ALERTS, NOTICES, add_alerts, add_notifications
from orchestrator.views.metrics.assessment import JUDGED, tell_hazards, tell_waits
from orchestrator.views.metrics.brokers import BROKER, REPLICAS, tell_broker
from orchestrator.views.metrics.cluster import CLUSTER, tell_cluster, tell_high_watermark
from orchestrator.views.metrics.etas import HOLDS, PACE, tell_etas
from orchestrator.views.metrics.execution import WALK, tell_walk
from orchestrator.views.metrics.exposition import Exposition, Metric, Subject
from orchestrator.views.metrics.identity import IDENTITY, tell_identity
from orchestrator.views.metrics.jmx import NODE, tell_jmx
from orchestrator.views.metrics.log_dirs import DISKS, LOG_DIR, tell_log_dirs
from orchestrator.views.metrics.sources import SOURCE, tell_sources

PROCESS: Final = Subject("kraftgate")

_BUILD: Final = PROCESS.info("build", "The version of Kraftgate.", "version")
_LOOK: Final = PROCESS.gauge(
    "last_look_timestamp_seconds",
    "When the state behind these metrics was last read; a few times a second.",
)
_SUBJECTS: Final = (
    PROCESS,
    IDENTITY,
    CLUSTER,
    SOURCE,
    JUDGED,
    ALERTS,
    NOTICES,
    WALK,
    HOLDS,
    BROKER,
    PACE,
    REPLICAS,
    DISKS,
    LOG_DIR,
    NODE,
)


def metrics() -> tuple[Metric, ...]:
    """Return all metrics that a scrape may have, except the process's (`kraftgate_process_`)."""
    return tuple(metric for subject in _SUBJECTS for metric in subject.metrics)


class LastTick(Collector):
    """Collects the samples of the last tick on a board."""

    def __init__(
        self, board: Board, receivers: Callable[[], Mapping[str, SenderStats]] = dict
    ) -> None:
        """Keep the sources of the samples; nothing is read yet.

        Args:
            board: Has the last tick.
            receivers: Returns the counters of each receiver of alerts.
        """
        self._board = board
        self._receivers = receivers

    def collect(self) -> Iterator[Family]:
        """Yield all samples; before the first tick only those of the process and the receivers."""
        into = Exposition()
        into.value(_BUILD, 1, version("kraftgate"))
        add_notifications(into, self._receivers())
        tick = self._board.last
        if tick is not None:
            into.time(_LOOK, tick.at_ms)
            for one in tick.clusters:
                _tell_one(into, one)
        return into.families()


def _tell_one(into: Exposition, one: Assessed) -> None:
    name, assessment = one.name, one.assessment
    tell_cluster(into, assessment.view, one.tally)
    tell_high_watermark(into, name, one.status.high_watermark)
    tell_identity(into, one.read)
    tell_sources(into, one)
    tell_hazards(into, one)
    tell_waits(into, one)
    known = assessment.knows_partitions
    for broker in one.summary.brokers:
        tell_broker(into, name, broker, knows_partitions=known)
    if known:
        tell_etas(into, one.summary, assessment.etas, one.now_ms)
    for disks in one.summary.disks.brokers.values() if one.summary.disks else ():
        tell_log_dirs(into, name, disks)
    if one.summary.jmx is not None:
        tell_jmx(into, name, one.summary.jmx)
    if one.walk is not None:
        tell_walk(into, name, one.walk)
    add_alerts(into, name, assessment.alerts)

"""Makes the samples of one scrape from the last look."""

from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from typing import Final

from prometheus_client import Metric as Family
from prometheus_client.registry import Collector

from migration.assessment.alerts import NOTHING_STANDS, Standings
from migration.assessment.conditions.authority import knows_partitions
from migration.assessment.eta.rates import etas
from orchestrator.alerts.sender import SenderStats
from orchestrator.conditions.view import view_of
from orchestrator.metrics.alerts import ALERTS, NOTICES, tell_alerts, tell_notices
from orchestrator.metrics.board import Board, Look, Seen
from orchestrator.metrics.brokers import BROKER, REPLICAS, tell_broker
from orchestrator.metrics.cluster import CLUSTER, tell_cluster, tell_high_watermark
from orchestrator.metrics.etas import HOLDS, PACE, tell_etas
from orchestrator.metrics.exposition import Exposition, Metric, Subject
from orchestrator.metrics.identity import IDENTITY, tell_identity
from orchestrator.metrics.jmx import NODE, tell_jmx
from orchestrator.metrics.judged import JUDGED, tell_hazards, tell_waits
from orchestrator.metrics.log_dirs import DISKS, LOG_DIR, tell_log_dirs
from orchestrator.metrics.sources import SOURCE, tell_sources
from orchestrator.metrics.walk import WALK, tell_walk

PROCESS: Final = Subject("kraftgate")

_BUILD: Final = PROCESS.info("build", "The version that runs.", "version")
_LOOK: Final = PROCESS.gauge(
    "last_look_timestamp_seconds", "When all that is told here was last read; a few times a second."
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
    """All metrics that a scrape may find, but those of the process (`kraftgate_process_`)."""
    return tuple(metric for subject in _SUBJECTS for metric in subject.metrics)


class LastLook(Collector):
    """Tells the last look on a board; what changes by time alone is judged at each scrape."""

    def __init__(
        self,
        board: Board,
        stall_after_ms: int,
        clock: Callable[[], int],
        alerts: Callable[[], Mapping[str, Standings]] = dict,
        receivers: Callable[[], Mapping[str, SenderStats]] = dict,
    ) -> None:
        """Prepare.

        Args:
            board: Where the last look is.
            stall_after_ms: As configured.
            clock: The wall clock, ms since the epoch.
            alerts: Gives those of each cluster, as last judged.
            receivers: Gives how it goes with each receiver of alerts.
        """
        self._board = board
        self._alerts = alerts
        self._receivers = receivers
        self._stall_after_ms = stall_after_ms
        self._clock = clock

    def collect(self) -> Iterator[Family]:
        """All samples; before the first look those of the process alone."""
        into = Exposition()
        into.value(_BUILD, 1, version("kraftgate"))
        tell_notices(into, self._receivers())
        look = self._board.last
        if look is not None:
            self._tell(into, look)
        return into.families()

    def _tell(self, into: Exposition, look: Look) -> None:
        into.time(_LOOK, look.at_ms)
        now_ms = self._clock()
        alerts = self._alerts()
        for seen in look.clusters:
            _tell_one(into, seen, now_ms, self._stall_after_ms)
            tell_alerts(into, seen.entry.name, alerts.get(seen.entry.name, NOTHING_STANDS))


def _tell_one(into: Exposition, seen: Seen, now_ms: int, stall_after_ms: int) -> None:
    one = seen.snapshot
    view = view_of(one, seen.entry, now_ms, stall_after_ms=stall_after_ms, unread=seen.unread)
    name = one.summary.cluster
    tell_cluster(into, view, seen.tally)
    tell_high_watermark(into, name, one.status.high_watermark)
    tell_identity(into, one)
    tell_sources(into, seen, view)
    tell_hazards(into, view)
    tell_waits(into, view, one.status)
    known = knows_partitions(view)
    for broker in one.summary.brokers:
        tell_broker(into, name, broker, knows_partitions=known)
    if known:
        found = etas(one.summary, one.status, now_ms, stall_after_ms)
        tell_etas(into, one.summary, found, now_ms)
    for disks in one.summary.disks.brokers.values() if one.summary.disks else ():
        tell_log_dirs(into, name, disks)
    if one.summary.jmx is not None:
        tell_jmx(into, name, one.summary.jmx)
    if one.walk is not None and seen.entry.runbook is not None:
        tell_walk(into, name, one.walk)

"""Records in the audit trail when hazards and alerts begin and end, and when sources are lost.

Each tick is compared with the active hazards and alerts of the trail; only a difference makes an
entry. A restart reads the trail, so a hazard that is still active is not recorded again, and one
that ended in the meantime is recorded as ended.
"""

from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Final

from migration.assessment.alerts import AlertStates
from migration.assessment.currency import Currency
from migration.assessment.data_source import FOLLOWED, DataSource
from migration.assessment.hazards import Hazard, is_end_known
from orchestrator.audit import AuditLog, run_entries
from orchestrator.audit.run_entries import Body, HazardBegan, HazardChanged
from orchestrator.audit.run_spans import HazardKey, periods
from orchestrator.config.load import Config
from orchestrator.config.models import ClusterEntry
from orchestrator.process.owner import Owner
from orchestrator.run.assessed import Assessed, Tick
from streams.state.source_status import now_ms as wall_clock_ms

SETTLE_MS: Final = 60_000
"""The store's first data is that of the previous process. It is evaluated once every source that
was current then is current again, or after this time."""


class AuditRecorder:
    """Records the changes of every configured cluster.

    Create it before the clusters are followed, so that it can read when the sources last reported
    to the previous process. It writes nothing before the first tick.
    """

    def __init__(
        self, config: Config, log: AuditLog, reported_before_ms: Callable[[str], int | None]
    ) -> None:
        """Read what the trail has as active.

        Args:
            config: The configuration with the clusters.
            log: The audit trail.
            reported_before_ms: Returns when a source of a cluster last reported to an earlier
                process.
        """
        owner = Owner.myself(wall_clock_ms()).words()
        self._kept = {
            each.name: _Kept(each, log, owner, reported_before_ms(each.name))
            for each in config.clusters
        }
        self._looked_ms: int | None = None

    def tick(self, tick: Tick) -> None:
        """Record what changed.

        Raises:
            AuditError: the audit trail cannot be written.
        """
        self._looked_ms = tick.at_ms
        for one in tick.clusters:
            self._kept[one.name].tick(one)

    def close(self) -> None:
        """Record that no process follows the clusters; active hazards and alerts stay active."""
        if self._looked_ms is not None:
            at_ms = max(self._looked_ms, wall_clock_ms())
            for each in self._kept.values():
                each.close(at_ms)


class _Kept:
    """The recorder of one cluster.

    Args:
        reported_before_ms: when a source last reported to an earlier process.
    """

    def __init__(
        self, entry: ClusterEntry, log: AuditLog, owner: str, reported_before_ms: int | None
    ) -> None:
        self._entry = entry
        self._log = log
        self._owner = owner
        before = periods(log.entries(entry.name))
        active = before.active_hazards()
        self._away = set(before.sources)
        self._seen: dict[str, int] = {}
        self._lost: set[str] = set()
        self._stands: dict[HazardKey, Hazard | None] = dict.fromkeys(active)
        self._judged = {
            key: (each.latest.severity, each.latest.blocks) for key, each in active.items()
        }
        self._alerts = {each.alert.fingerprint: each.alert.alert for each in before.active_alerts()}
        self._reported_before_ms = reported_before_ms
        self._began_ms: int | None = None
        self._looked_ms: int | None = None

    def tick(self, one: Assessed) -> None:
        """Record the differences from the trail."""
        now_ms = one.now_ms
        if self._began_ms is None:
            self._began_ms = now_ms
            began = run_entries.FollowBegan(
                owner=self._owner,
                version=version("kraftgate"),
                last_seen_ms=self._reported_before_ms,
            )
            self._tell(began, now_ms)
        self._look_at_sources(one.currency, now_ms)
        self._look_at_alerts(one.assessment.alerts, now_ms)
        if self._away and now_ms - self._began_ms < SETTLE_MS:
            return
        self._look_at_hazards(one.hazards, one.currency, now_ms)
        self._looked_ms = now_ms

    def close(self, now_ms: int) -> None:
        """Record that the cluster is no longer followed."""
        if self._began_ms is not None:
            self._tell(run_entries.FollowEnded(owner=self._owner), now_ms)

    def _look_at_sources(self, currency: Currency, now_ms: int) -> None:
        for source in FOLLOWED:
            if source is DataSource.JMX and self._entry.jmx is None:
                continue
            name, why = str(source), currency.not_current.get(source)
            if why is None:
                self._away.discard(name)
                if name not in self._seen or name in self._lost:
                    self._tell(run_entries.SourceSeen(source=name), now_ms)
                self._lost.discard(name)
                self._seen[name] = now_ms
            elif name in self._seen and name not in self._lost:
                lost = run_entries.SourceLost(source=name, why=why, last_seen_ms=self._seen[name])
                self._tell(lost, now_ms)
                self._lost.add(name)

    def _look_at_alerts(self, alerts: AlertStates, now_ms: int) -> None:
        """Record alerts that began or ended.

        `migration.assessment.alerts` keeps an alert active until it is known to be resolved.
        """
        now = {each.alert.fingerprint: each.alert for each in alerts.active()}
        for fingerprint, alert in now.items():
            if fingerprint not in self._alerts:
                self._tell(run_entries.AlertBegan.of(alert), now_ms)
        for fingerprint, name in self._alerts.items():
            if fingerprint not in now:
                self._tell(run_entries.AlertEnded(alert=name, fingerprint=fingerprint), now_ms)
        self._alerts = {fingerprint: alert.name for fingerprint, alert in now.items()}

    def _look_at_hazards(self, found: Sequence[Hazard], currency: Currency, now_ms: int) -> None:
        """Record hazards that began, changed or ended.

        A hazard that is not known to have ended keeps its state.
        """
        now: dict[HazardKey, Hazard] = {}
        for each in found:  # the most severe first: several of one kind and broker are one
            now.setdefault((str(each.kind), each.broker), each)
        for which, hazard in now.items():
            judged = (str(hazard.severity), None if hazard.blocks is None else str(hazard.blocks))
            if which not in self._stands:
                self._tell(HazardBegan.of(hazard), now_ms)
            elif self._judged[which] != judged:
                self._tell(HazardChanged.of(hazard), now_ms)
            self._judged[which] = judged
        for which in [each for each in self._stands if each not in now]:
            if not is_end_known(which[0], currency):
                continue
            last = self._stands[which]
            ended = run_entries.HazardEnded(
                hazard=which[0],
                broker=which[1],
                text=None if last is None else last.text,
                evidence=() if last is None else last.shown,
                last_seen_ms=None if last is None else self._looked_ms,
            )
            self._tell(ended, now_ms)
            del self._stands[which]
        self._stands |= now

    def _tell(self, body: Body, now_ms: int) -> None:
        self._log.append(self._entry.name, body.kind, body.as_json(), now_ms)

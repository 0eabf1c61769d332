"""Records in the audit trail when hazards and alerts begin and end, and when sources are lost.

Each tick is compared with the active hazards and alerts of the trail; only a difference makes an
entry. A restart reads the trail, so a hazard that is still active is not recorded again, and one
that ended in the meantime is recorded as ended.
"""

from collections.abc import Sequence
from importlib.metadata import version
from typing import Final

from migration.assessment.alerts import AlertStates
from migration.assessment.conditions import View
from migration.assessment.conditions.authority import is_hazard_over
from migration.assessment.currency import Currency
from migration.assessment.data_source import FOLLOWED, DataSource
from migration.assessment.hazards import Hazard
from orchestrator.audit import AuditLog, run_entries
from orchestrator.audit.run_entries import Body, HazardBegan, HazardChanged
from orchestrator.audit.run_spans import HazardKey, periods
from orchestrator.config.load import Config
from orchestrator.config.models import ClusterEntry
from orchestrator.errors import ClaimLost
from orchestrator.process.crash import why_ended
from orchestrator.process.owner import Owner
from orchestrator.run.assessed import Assessed, Tick
from streams.process.clocks import wall_clock_ms

SETTLE_MS: Final = 60_000
"""The store's first data is that of the previous process. It is evaluated once every source that
was current then is current again, or after this time."""


class AuditRecorder:
    """Records the changes of every configured cluster.

    It writes nothing before the first tick.
    """

    def __init__(self, config: Config, log: AuditLog) -> None:
        """Read what the trail has as active."""
        owner = Owner.myself(wall_clock_ms()).words()
        self._clusters = {each.name: _ClusterRecorder(each, log, owner) for each in config.clusters}
        self._ticked_ms: int | None = None

    def tick(self, tick: Tick) -> None:
        """Record what changed.

        Raises:
            AuditError: the audit trail cannot be written.
        """
        self._ticked_ms = tick.at_ms
        for one in tick.clusters:
            self._clusters[one.name].tick(one)

    def __enter__(self) -> "AuditRecorder":
        return self

    def __exit__(self, _type: object, error: BaseException | None, _trace: object) -> None:
        if not isinstance(error, ClaimLost):
            self.close(why_ended(error))

    def close(self, why: str = "") -> None:
        """Record that no process follows the clusters; active hazards and alerts stay active.

        `why` is the error that ended this process; "": it was stopped.
        """
        if self._ticked_ms is not None:
            at_ms = max(self._ticked_ms, wall_clock_ms())
            for each in self._clusters.values():
                each.close(at_ms, why)


class _ClusterRecorder:
    """The recorder of one cluster."""

    def __init__(self, entry: ClusterEntry, log: AuditLog, owner: str) -> None:
        self._entry = entry
        self._log = log
        self._owner = owner
        before = periods(log.entries(entry.name))
        active = before.active_hazards()
        self._away = set(before.sources)
        self._seen: dict[str, int] = {}
        self._lost: set[str] = set()
        self._active: dict[HazardKey, tuple[Hazard | None, int]] = {
            key: (None, each.began_ms) for key, each in active.items()
        }
        self._recorded = {
            key: (each.latest.severity, each.latest.blocks) for key, each in active.items()
        }
        self._alerts = {each.alert.fingerprint: each.alert.alert for each in before.active_alerts()}
        self._began_ms: int | None = None

    def tick(self, one: Assessed) -> None:
        """Record the differences from the trail."""
        now_ms = one.now_ms
        if self._began_ms is None:
            self._began_ms = now_ms
            began = run_entries.FollowBegan(
                owner=self._owner,
                version=version("kraftgate"),
                last_seen_ms=max(one.read.reported_before.values(), default=None),
            )
            self._append(began, now_ms)
        self._record_sources(one.assessment.currency, now_ms)
        self._record_alerts(one.assessment.alerts, now_ms)
        if self._away and now_ms - self._began_ms < SETTLE_MS:
            return
        self._record_hazards(one.assessment.hazards, one.assessment.view, now_ms)

    def close(self, now_ms: int, why: str) -> None:
        """Record that the cluster is no longer followed."""
        if self._began_ms is not None:
            self._append(run_entries.FollowEnded(owner=self._owner, why=why), now_ms)

    def _record_sources(self, currency: Currency, now_ms: int) -> None:
        for source in FOLLOWED:
            if source is DataSource.JMX and self._entry.jmx is None:
                continue
            name, why = str(source), currency.not_current.get(source)
            if why is None:
                self._away.discard(name)
                if name not in self._seen or name in self._lost:
                    self._append(run_entries.SourceSeen(source=name), now_ms)
                self._lost.discard(name)
                self._seen[name] = now_ms
            elif name in self._seen and name not in self._lost:
                lost = run_entries.SourceLost(source=name, why=why, last_seen_ms=self._seen[name])
                self._append(lost, now_ms)
                self._lost.add(name)

    def _record_alerts(self, alerts: AlertStates, now_ms: int) -> None:
        """Record alerts that began or ended.

        `migration.assessment.alerts` keeps an alert active until it is known to be resolved.
        """
        now = {each.alert.fingerprint: each.alert for each in alerts.active()}
        for fingerprint, alert in now.items():
            if fingerprint not in self._alerts:
                self._append(run_entries.AlertBegan.of(alert), now_ms)
        for fingerprint, name in self._alerts.items():
            if fingerprint not in now:
                self._append(run_entries.AlertEnded(alert=name, fingerprint=fingerprint), now_ms)
        self._alerts = {fingerprint: alert.name for fingerprint, alert in now.items()}

    def _record_hazards(self, found: Sequence[Hazard], view: View, now_ms: int) -> None:
        """Record hazards that began, changed or ended.

        A hazard that is not known to have ended keeps its state.
        """
        now: dict[HazardKey, Hazard] = {}
        for each in found:  # the most severe first: several of one kind and broker are one
            now.setdefault((str(each.kind), each.broker), each)
        for which, hazard in now.items():
            severity_and_block = (
                str(hazard.severity),
                None if hazard.blocks is None else str(hazard.blocks),
            )
            if which not in self._active:
                self._append(HazardBegan.of(hazard), now_ms)
            elif self._recorded[which] != severity_and_block:
                self._append(HazardChanged.of(hazard), now_ms)
            self._recorded[which] = severity_and_block
        for which in [each for each in self._active if each not in now]:
            last, active_ms = self._active[which]
            if not is_hazard_over(view, *which, active_ms):
                continue
            ended = run_entries.HazardEnded(
                hazard=which[0],
                broker=which[1],
                text=None if last is None else last.text,
                evidence=() if last is None else last.shown,
                last_seen_ms=None if last is None else active_ms,
            )
            self._append(ended, now_ms)
            del self._active[which]
        self._active |= {which: (hazard, now_ms) for which, hazard in now.items()}

    def _append(self, body: Body, now_ms: int) -> None:
        self._log.append(self._entry.name, body.kind, body.as_json(), now_ms)

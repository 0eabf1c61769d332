"""Keeps in the audit trail when hazards and alerts began and ended, and when a source was not seen.

Each look is compared with what the trail says stands; only what differs makes an entry. A restart
reads the trail, so that a hazard that stands on is not told twice, and one that ended meanwhile is
told to be over.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Final

from migration.assessment.alerts import NOTHING_STANDS, Standings
from migration.assessment.conditions import DataSource
from migration.assessment.currency import Currency
from migration.assessment.hazards import Hazard, is_end_known
from migration.observed.source_status import SourceStatus
from orchestrator.audit import AuditLog
from orchestrator.chronicle import entries
from orchestrator.chronicle.entries import Body, HazardBegan, HazardChanged, as_json
from orchestrator.chronicle.spans import Which, stood
from orchestrator.conditions.horizon import Horizons
from orchestrator.conditions.view import currency_of, followed_not_current
from orchestrator.config import Config
from orchestrator.config_models import ClusterEntry
from orchestrator.following import Snapshot, snapshot
from orchestrator.walk.owner import Owner
from streams.state.source_status import now_ms as wall_clock_ms

SETTLE_MS: Final = 60_000
"""What the store has at first is of the process before: it is judged once every source that was
seen then is current again, or has been away for so long."""
_FOLLOWED: Final = (DataSource.METADATA_LOG, DataSource.ZOOKEEPER, DataSource.LOG_DIRS)


class Chronicle:
    """Keeps it for every configured cluster.

    To be made before the clusters are followed, so that the last sign of life of the process before
    can be read; nothing is written before the first look.
    """

    def __init__(self, config: Config, log: AuditLog) -> None:
        owner = Owner.myself(wall_clock_ms()).words()
        self._kept = {
            each.name: _Kept(each, log, owner, _last_said(config, each.name))
            for each in config.clusters
        }
        self._looked_ms: int | None = None

    def look(
        self, snapshots: Sequence[Snapshot], alerts: Mapping[str, Standings], now_ms: int
    ) -> None:
        """Take note of a look; `alerts`: as judged at it, by the cluster's name.

        Raises:
            AuditError: the audit trail cannot be written.
        """
        self._looked_ms = now_ms
        for one in snapshots:
            name = one.summary.cluster
            self._kept[name].look(one, alerts.get(name, NOTHING_STANDS), now_ms)

    def close(self) -> None:
        """Say that nobody follows any more; what stands goes on standing."""
        if self._looked_ms is not None:
            at_ms = max(self._looked_ms, wall_clock_ms())
            for each in self._kept.values():
                each.close(at_ms)


class _Kept:
    """One cluster.

    Args:
        last_said: when each source last said something of itself in the process before.
    """

    def __init__(
        self, entry: ClusterEntry, log: AuditLog, owner: str, last_said: Mapping[DataSource, int]
    ) -> None:
        self._entry = entry
        self._log = log
        self._owner = owner
        self._horizons = Horizons()
        before = stood(log.entries(entry.name))
        self._away = set(before.seen)
        self._seen: dict[str, int] = {}
        self._lost: set[str] = set()
        self._stands: dict[Which, Hazard | None] = {
            each.which: None for each in before.hazards if each.ended_ms is None
        }
        self._judged = {
            each.which: (each.judged.severity, each.judged.blocks)
            for each in before.hazards
            if each.ended_ms is None
        }
        self._alerts = {
            each.alert.fingerprint: each.alert.alert
            for each in before.alerts
            if each.ended_ms is None
        }
        self._last_said = last_said
        self._began_ms: int | None = None
        self._looked_ms: int | None = None

    def look(self, one: Snapshot, alerts: Standings, now_ms: int) -> None:
        """Tell what differs from what the trail says."""
        if self._began_ms is None:
            self._began_ms = now_ms
            began = entries.FollowBegan(
                owner=self._owner,
                version=version("kraftgate"),
                last_seen_ms=max(self._last_said.values(), default=None),
            )
            self._tell(began, now_ms)
        not_current = self._not_current(one, now_ms)
        self._look_at_sources(not_current, now_ms)
        self._look_at_alerts(alerts, now_ms)
        if self._away and now_ms - self._began_ms < SETTLE_MS:
            return
        currency = currency_of(one, self._entry, now_ms, not_current)
        found = replace(one, currency=currency).dangers(now_ms)
        self._look_at_hazards(found, currency, now_ms)
        self._looked_ms = now_ms

    def close(self, now_ms: int) -> None:
        """Say that it is not followed any more."""
        if self._began_ms is not None:
            self._tell(entries.FollowEnded(owner=self._owner), now_ms)

    def _not_current(self, one: Snapshot, now_ms: int) -> Mapping[DataSource, str]:
        """What is not current, and why; what the process before said of it counts for nothing."""
        found = dict(followed_not_current(one, self._entry, now_ms))
        for source, why in self._horizons.unread(one, now_ms).items():
            found.setdefault(source, why)
        for source, status in _said(one).items():
            if status.observed_ms == self._last_said.get(source) and not status.finished:
                found.setdefault(source, "it is about to be followed again")
        return found

    def _look_at_sources(self, not_current: Mapping[DataSource, str], now_ms: int) -> None:
        for source in _FOLLOWED if self._entry.jmx is None else (*_FOLLOWED, DataSource.JMX):
            name, why = str(source), not_current.get(source)
            if why is None:
                self._away.discard(name)
                if name not in self._seen or name in self._lost:
                    self._tell(entries.SourceSeen(source=name), now_ms)
                self._lost.discard(name)
                self._seen[name] = now_ms
            elif name in self._seen and name not in self._lost:
                lost = entries.SourceLost(source=name, why=why, last_seen_ms=self._seen[name])
                self._tell(lost, now_ms)
                self._lost.add(name)

    def _look_at_alerts(self, alerts: Standings, now_ms: int) -> None:
        """What is not known to be over stands on: `migration.assessment.alerts` sees to that."""
        now = {each.alert.fingerprint: each.alert for each in alerts.standing()}
        for fingerprint, alert in now.items():
            if fingerprint not in self._alerts:
                self._tell(entries.AlertBegan.of(alert), now_ms)
        for fingerprint, name in self._alerts.items():
            if fingerprint not in now:
                self._tell(entries.AlertEnded(alert=name, fingerprint=fingerprint), now_ms)
        self._alerts = {fingerprint: alert.name for fingerprint, alert in now.items()}

    def _look_at_hazards(self, found: Sequence[Hazard], currency: Currency, now_ms: int) -> None:
        """Record what began, changed and ended; what is not known to have ended stays as it was."""
        now: dict[Which, Hazard] = {}
        for each in found:  # the gravest first: several of one kind and broker are one
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
            ended = entries.HazardEnded(
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
        self._log.append(self._entry.name, body.kind, as_json(body), now_ms)


def _last_said(config: Config, cluster: str) -> Mapping[DataSource, int]:
    said = _said(snapshot(None, config.state_dir, cluster))
    return {source: status.observed_ms for source, status in said.items() if status.observed_ms}


def _said(one: Snapshot) -> Mapping[DataSource, SourceStatus]:
    return {
        DataSource.METADATA_LOG: one.status,
        DataSource.ZOOKEEPER: one.zookeeper,
        DataSource.LOG_DIRS: one.log_dirs,
        DataSource.JMX: one.jmx,
    }

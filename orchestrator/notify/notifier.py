"""The notifier of one `kraftgate run`, with each configured receiver and heartbeat."""

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from migration.assessment.alerts import AlertState
from orchestrator.config.alerts import RUNBOOK_URL
from orchestrator.config.load import Config
from orchestrator.notify.configured import channels
from orchestrator.notify.delivery import ActiveAlerts
from orchestrator.notify.heartbeat import HeartbeatChannel, HeartbeatSender
from orchestrator.notify.notification import subject
from orchestrator.notify.sender import Sender, SenderStats
from orchestrator.output.printing import echo
from orchestrator.redaction.configured_secrets import redactor_of
from orchestrator.run.assessed import Tick

_END_S: Final = 10.0
"""The longest wait for receivers at the end; the next run sends the rest."""
_UNDELIVERED_S_MAX: Final = 600.0
"""A receiver fails if a critical alert is due for longer: heartbeats are then the last channel."""
_log: Final = logging.getLogger(__name__)


class Notifier:
    """Notifies each configured receiver and sends each heartbeat."""

    def __init__(self, config: Config) -> None:
        alerts = config.alerts
        repeat_ms = int(alerts.repeat_after.total_seconds() * 1000)
        self._clusters = frozenset(each.name for each in config.clusters)
        self._senders = [
            Sender(channel, config.state_dir, repeat_ms) for channel in channels(alerts)
        ]
        self._heartbeats = [
            HeartbeatSender(HeartbeatChannel(name, one)).start()
            for name, one in alerts.heartbeats().items()
        ]
        self._dead: set[str] = set()
        self._redactor = redactor_of(config)

    def submit(self, tick: Tick) -> None:
        """Pass the active alerts of a tick to each receiver's thread; returns at once."""
        self._redactor = self._redactor.refreshed()
        active = {
            each.alert.fingerprint: self._redacted(each)
            for one in tick.clusters
            for each in one.assessment.alerts.active()
        }
        alerts = ActiveAlerts(at_ms=tick.at_ms, clusters=self._clusters, active=active)
        for sender in self._senders:
            sender.submit(alerts)
            if not sender.is_alive() and sender.name not in self._dead:
                self._dead.add(sender.name)
                _log.error("%s gets no more notifications: its thread has ended", sender.name)

    def _redacted(self, one: AlertState) -> AlertState:
        """Return an alert without secrets: a detail may be the output of a command."""
        text, alert = self._redactor.text, one.alert
        description, details = text(alert.description), tuple(map(text, alert.details))
        return replace(one, alert=replace(alert, description=description, details=details))

    def polled(self) -> None:
        """Let the heartbeats continue, unless critical alerts do not reach a receiver."""
        if all(map(_delivers, self._senders)):
            for heartbeat in self._heartbeats:
                heartbeat.polled()

    def stats(self) -> Mapping[str, SenderStats]:
        stats = {each.name: each.stats for each in self._senders}
        return stats | {each.name: each.stats for each in self._heartbeats}

    def close(self) -> None:
        """Send the notifications that are due and stop; print those that could not be sent."""
        deadline_s = time.monotonic() + _END_S
        for heartbeat in self._heartbeats:
            heartbeat.stop()
        for sender in self._senders:
            sender.end()
        for sender in self._senders:
            for each in sender.unsent(max(0.0, deadline_s - time.monotonic())):
                what = f"{each.alert.name} ({each.status})"
                echo(f"kraftgate: {sender.name} was not notified of {what}", err=True)


def _delivers(sender: Sender) -> bool:
    since_s = sender.stats.critical_since_s
    in_time = since_s is None or time.monotonic() - since_s < _UNDELIVERED_S_MAX
    return sender.is_alive() and in_time


@contextmanager
def notifying(config: Config) -> Iterator[Notifier]:
    """Yield a notifier that notifies the receivers until the block ends."""
    alerts = config.alerts
    names = [name for name, _ in alerts.destinations()]
    if names:
        echo(f"kraftgate: alerts go to {', '.join(names)}", err=True)
    if alerts.receivers() and alerts.runbook_url == RUNBOOK_URL:
        echo(
            "kraftgate: alerts point to an example address: set `alerts.runbook_url` to where your"
            " people read the pages of runbooks/alerts",
            err=True,
        )
    notifier = Notifier(config)
    try:
        yield notifier
    finally:
        notifier.close()


def print_active_alerts(tick: Tick) -> None:
    """Print the alerts that are active when the run ends: nothing shows that they are resolved."""
    for one in tick.clusters:
        for each in one.assessment.alerts.active():
            echo(f"kraftgate: {each.alert.name} ({subject(each.alert)}) is still active", err=True)

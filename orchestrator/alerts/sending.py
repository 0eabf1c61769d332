"""All receivers of one `kraftgate run`, and what becomes of the alerts at its end."""

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from orchestrator.alerts.book import ActiveAlerts, Policy
from orchestrator.alerts.channels import channels
from orchestrator.alerts.ledger import DeliveryFile
from orchestrator.alerts.sender import Sender, SenderStats
from orchestrator.alerts.to_heartbeat import HeartbeatChannel, HeartbeatSender
from orchestrator.config import Config
from orchestrator.config_alerts import RUNBOOK_URL
from orchestrator.run.assessed import Tick
from orchestrator.terminal import echo

_END_S: Final = 10.0
"""So long at most the end waits for receivers; what they were not told the next run tells."""
_log: Final = logging.getLogger(__name__)


class Sending:
    """A sender for each receiver that is configured, and a heart for each heartbeat."""

    def __init__(self, config: Config) -> None:
        alerts = config.alerts
        repeat_ms = int(alerts.repeat_after.total_seconds() * 1000)
        self._clusters = frozenset(each.name for each in config.clusters)
        self._senders = [
            Sender(
                name,
                channel,
                Policy(
                    min_severity=receiver.min_severity,
                    repeat_ms=channel.repeat_ms or repeat_ms,
                    inhibits=channel.inhibits,
                ),
                DeliveryFile(config.state_dir, name, receiver),
            )
            for name, (receiver, channel) in channels(alerts).items()
        ]
        self._hearts = [
            HeartbeatSender(name, HeartbeatChannel(one), one.every.total_seconds())
            for name, one in alerts.heartbeats().items()
        ]
        self._dead: set[str] = set()

    def hand_over(self, tick: Tick) -> None:
        """Say which alerts are active now; returns at once, whatever the receivers do."""
        standing = {
            each.alert.fingerprint: each
            for one in tick.clusters
            for each in one.assessment.alerts.active()
        }
        wanted = ActiveAlerts(at_ms=tick.at_ms, clusters=self._clusters, active=standing)
        for sender in self._senders:
            sender.submit(wanted)
            if not sender.is_alive() and sender.name not in self._dead:
                self._dead.add(sender.name)
                _log.error("%s is told nothing any more: its thread has ended", sender.name)

    def looked(self) -> None:
        """The clusters were looked at just now."""
        for heart in self._hearts:
            heart.polled()

    def figures(self) -> Mapping[str, SenderStats]:
        """How it goes with each, by name."""
        told = {each.name: each.stats for each in self._senders}
        return told | {each.name: each.stats for each in self._hearts}

    def close(self) -> None:
        """Tell what is due still, and end."""
        deadline_s = time.monotonic() + _END_S
        for heart in self._hearts:
            heart.end()
        for sender in self._senders:
            sender.end()
        for sender in self._senders:
            for each in sender.unsent(max(0.0, deadline_s - time.monotonic())):
                what = f"{each.alert.name} ({each.status})"
                echo(f"kraftgate: {sender.name} was not told of {what}", err=True)


@contextmanager
def sending(config: Config) -> Iterator[Sending]:
    """Tell the receivers until the block ends."""
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
    sent = Sending(config)
    try:
        yield sent
    finally:
        sent.close()


def say_what_stands(tick: Tick) -> None:
    """Say at the end which alerts are left as they are: nobody has seen that they are over."""
    for one in tick.clusters:
        for each in one.assessment.alerts.active():
            labels = {k: v for k, v in each.alert.labels.items() if k != "severity"}
            of = ", ".join(f"{name} {value}" for name, value in labels.items())
            echo(f"kraftgate: {each.alert.name} ({of}) stands, and is left so", err=True)

"""Heartbeats: a request at a fixed interval while Kraftgate polls the clusters.

They stop, too, while critical alerts do not reach a receiver (`Notifier.polled`). A process that
has ended cannot report that. A service that expects the heartbeat reports it instead
(healthchecks.io, Dead Man's Snitch, Opsgenie heartbeats, or the user's own service).
"""

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from migration.values.timestamps import iso
from orchestrator.config.alerts import Heartbeat
from orchestrator.notify.channel import Channel, as_json, header_values, secret_address
from orchestrator.notify.http_post import Request, Undelivered
from orchestrator.notify.notification import Notification
from orchestrator.notify.sender import SenderStats
from streams.process.background import BackgroundThread
from streams.process.clocks import wall_clock_ms

_POLLED_S_MAX: Final = 60.0
"""Polling is stuck after this time without a poll; usually there are several a second."""
_log: Final = logging.getLogger(__name__)


class HeartbeatChannel(Channel[Heartbeat]):
    """The channel to one address that expects heartbeats."""

    def request(self, notifications: Sequence[Notification], now_ms: int) -> Request:  # noqa: ARG002
        """Return a heartbeat; its body only helps to debug."""
        url, secrets = secret_address(self.config.url, self.config.url_file)
        headers = header_values(self.config.header_files)
        body = as_json({"status": "watching", "at": iso(now_ms)})
        return Request(url=url, body=body, headers=headers, secrets=(*secrets, *headers.values()))


class HeartbeatSender(BackgroundThread):
    """Sends heartbeats to one address, from its own thread, while the clusters are polled."""

    def __init__(self, channel: HeartbeatChannel) -> None:
        super().__init__(f"heartbeat-{channel.name}", stop_s=0)
        self.name = channel.name
        self.stats = SenderStats()
        self._channel = channel
        self._polled_s: float | None = None
        self._first = threading.Event()

    def polled(self) -> None:
        self._polled_s = time.monotonic()
        self._first.set()

    def _wake(self) -> None:
        self._first.set()

    def _run(self) -> None:
        self._first.wait()
        try:
            while not self._stopping.is_set():
                if self._is_polling():
                    self._send()
                self._stopping.wait(self._channel.config.every.total_seconds())
        finally:
            self._channel.close()

    def _is_polling(self) -> bool:
        return self._polled_s is not None and time.monotonic() - self._polled_s < _POLLED_S_MAX

    def _send(self) -> None:
        before = self.stats
        now_ms = wall_clock_ms()
        try:
            self._channel.notify((), now_ms)
        except Undelivered as error:
            why = str(error)
            if before.error != why:
                _log.warning("%s: a heartbeat was not delivered: %s", self.name, why)
            self.stats = replace(before, failed=before.failed + 1, error=why)
        else:
            self.stats = replace(before, sent=before.sent + 1, success_ms=now_ms, error=None)

"""A sign of life for whoever notices when there is none any more.

That nobody watches the migration cannot be told by whoever should watch it. So Kraftgate says, as
long as its looks go on, that it does, to a service that wakes somebody when it hears nothing
(healthchecks.io, Dead Man's Snitch, Opsgenie's heartbeats, or a page of one's own).
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from migration.values.timestamps import iso
from orchestrator.alerts.channel import Channel, address, as_json, header_values
from orchestrator.alerts.notice import Notice
from orchestrator.alerts.post import Answer, Message, Undelivered
from orchestrator.alerts.sender import Figures
from orchestrator.config_alerts import Heartbeat

_LOOKED_S_MAX: Final = 60.0
"""Looks come several times a second; whoever did not look for so long does not watch."""
_log: Final = logging.getLogger(__name__)


class ToHeartbeat(Channel):
    """One address that is told that Kraftgate watches."""

    def __init__(self, given: Heartbeat) -> None:
        super().__init__(given)
        self._given = given

    def message(self, notices: Sequence[Notice], now_ms: int) -> Message:  # noqa: ARG002
        """It needs no content; this is for whoever reads it."""
        url, secrets = address(self._given.url, self._given.url_file)
        headers = header_values(self._given.header_files)
        body = as_json({"status": "watching", "at": iso(now_ms)})
        return Message(url=url, body=body, headers=headers, secrets=(*secrets, *headers.values()))

    def meant(self, answer: Answer) -> str:
        """Any of 2xx will do."""
        return f"{answer.status}"


class Heart:
    """Beats for one of them, from a thread of its own, as long as looks go on."""

    def __init__(
        self,
        name: str,
        channel: Channel,
        every_s: float,
        clock_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self.name = name
        self.figures = Figures()
        self._channel = channel
        self._every_s = every_s
        self._clock_ms = clock_ms
        self._looked_s: float | None = None
        self._first = threading.Event()
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._work, name=f"heartbeat-{name}", daemon=True)
        self._thread.start()

    def looked(self) -> None:
        """The clusters were looked at just now."""
        self._looked_s = time.monotonic()
        self._first.set()

    def end(self) -> None:
        """Beat no more; returns at once."""
        self._ends.set()
        self._first.set()

    def _work(self) -> None:
        self._first.wait()
        try:
            while not self._ends.is_set():
                if self._watches():
                    self._beat()
                self._ends.wait(self._every_s)
        finally:
            self._channel.close()

    def _watches(self) -> bool:
        return self._looked_s is not None and time.monotonic() - self._looked_s < _LOOKED_S_MAX

    def _beat(self) -> None:
        was = self.figures
        now_ms = self._clock_ms()
        try:
            self._channel.tell((), now_ms)
        except Undelivered as error:
            why = str(error)
            if was.why != why:
                _log.warning("%s had no sign of life: %s", self.name, why)
            self.figures = replace(was, failed=was.failed + 1, why=why)
        else:
            self.figures = replace(was, sent=was.sent + 1, success_ms=now_ms, why=None)

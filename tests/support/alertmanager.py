"""Takes what Prometheus tells an Alertmanager (API v2), and keeps it as it was told.

In Alertmanager's place, for what is looked at is what Prometheus sends: each alert with the time it
began at, again and again while it fires, and once more with a time in the past when it is over.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Told:
    """What was told.

    Attributes:
        address: host:port, for Prometheus.
    """

    address: str
    _alerts: list[dict[str, Any]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, alerts: list[dict[str, Any]]) -> None:
        now = datetime.now(tz=UTC)
        with self._lock:
            self._alerts += [each | {"over": _moment(each["endsAt"]) <= now} for each in alerts]

    def times(self, name: str, *, over: bool) -> list[tuple[dict[str, str], str]]:
        """How often an alert began, or ended: its labels and when it began, each once."""
        with self._lock:
            found = {
                (json.dumps(each["labels"], sort_keys=True), each["startsAt"])
                for each in self._alerts
                if each["labels"]["alertname"] == name and each["over"] is over
            }
        return [(json.loads(labels), began) for labels, began in sorted(found)]

    def severities(self) -> dict[str, set[str]]:
        """Every alert that was told, with the severities that it had."""
        found: dict[str, set[str]] = {}
        with self._lock:
            for each in self._alerts:
                labels = each["labels"]
                found.setdefault(labels["alertname"], set()).add(labels["severity"])
        return found


@contextmanager
def listening() -> Iterator[Told]:
    """Listen on loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            told.take(json.loads(body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Nothing is logged."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        told = Told(f"127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield told
        finally:
            server.shutdown()
            thread.join()


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text[:19] + "+00:00")

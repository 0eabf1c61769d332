"""Debian's Alertmanager with a webhook receiver, and a recorder of what Prometheus sends.

`listening` replaces Alertmanager and records what Prometheus sends: each alert with its start time,
repeated while it fires, and once more with an end time in the past when it is resolved. `running`
is Alertmanager itself: its output is what people receive.
"""

import json
import subprocess
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import yaml

from orchestrator.lab.machine.ports import LOOPBACK, Ports
from tests.support.prometheus import program, wait_ready

_STOP_S_MAX: Final = 60.0


@dataclass
class Told:
    """The alerts that Prometheus sent.

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
        """Return each firing (or resolution, if `over`) of an alert once: labels and start time."""
        with self._lock:
            found = {
                (json.dumps(each["labels"], sort_keys=True), each["startsAt"])
                for each in self._alerts
                if each["labels"]["alertname"] == name and each["over"] is over
            }
        return [(json.loads(labels), began) for labels, began in sorted(found)]

    def severities(self) -> dict[str, set[str]]:
        """Return every received alert with its severities."""
        found: dict[str, set[str]] = {}
        with self._lock:
            for each in self._alerts:
                labels = each["labels"]
                found.setdefault(labels["alertname"], set()).add(labels["severity"])
        return found


@contextmanager
def running(folder: Path, webhook: str, port: int | None = None) -> Iterator[str]:
    """Run a server with its data below `folder`; yield its host:port.

    It notifies `webhook` of each alert separately and at once, and of its end in the next second.
    """
    folder.mkdir(exist_ok=True)
    route = {
        "receiver": "webhook",
        "group_by": ["..."],
        "group_wait": "0s",
        "group_interval": "1s",
        "repeat_interval": "4h",
    }
    receiver = {"name": "webhook", "webhook_configs": [{"url": webhook, "send_resolved": True}]}
    config = folder / "alertmanager.yml"
    config.write_text(yaml.safe_dump({"route": route, "receivers": [receiver]}), "utf-8")
    ports = Ports()
    address = f"{LOOPBACK}:{ports.take() if port is None else port}"
    with (folder / "alertmanager.log").open("ab") as log:
        process = subprocess.Popen(
            [
                program("prometheus-alertmanager"),
                f"--config.file={config}",
                f"--storage.path={folder / 'data'}",
                f"--web.listen-address={address}",
                "--cluster.listen-address=",
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_ready(f"http://{address}", process)
        yield address
    finally:
        process.terminate()
        try:
            process.wait(_STOP_S_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        ports.close()


def active(address: str) -> list[dict[str, Any]]:
    """Return the alerts that it reports as active."""
    asked = f"http://{address}/api/v2/alerts"
    with urllib.request.urlopen(asked, timeout=120) as reply:  # ours
        found: list[dict[str, Any]] = json.load(reply)
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
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield told
        finally:
            server.shutdown()
            thread.join()


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text[:19] + "+00:00")

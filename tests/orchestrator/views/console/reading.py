"""Reads a console as a page does: JSON answers, and the event stream event by event."""

import gc
import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import httpx
from jsonschema import Draft202012Validator

from orchestrator.api.console.answers import schema
from orchestrator.views.console.feed import hub
from tests.orchestrator.views.console.serve import Served

TIMEOUT_S = 120.0
_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""None is spoken; to load the authorities takes its time for each client."""


@dataclass(frozen=True, kw_only=True)
class Sent:
    """One server-sent event."""

    event: str
    id: str | None
    data: Any


class Page:
    """One tab: an open event stream, and what is known by it."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self.state: dict[str, Any] = {}

    def next(self, wanted: str | None = None) -> Sent:
        """The next event, or the next of that name; states and changes are taken in.

        Raises:
            StopIteration: the stream has ended.
        """
        while True:
            sent = self._one()
            if sent.event == "state":
                self.state = valid("State", sent.data)
            elif sent.event == "change":
                apply(self.state, valid("Change", sent.data))
            else:
                valid("Beat", sent.data)
            if wanted in (None, sent.event):
                return sent

    def begin(self) -> None:
        """Wait for the first line of the stream."""
        assert next(self._lines) == "event: state"

    def _one(self) -> Sent:
        fields: dict[str, str] = {}
        for line in self._lines:
            if not line and fields:
                return Sent(
                    event=fields["event"], id=fields.get("id"), data=json.loads(fields["data"])
                )
            name, _, value = line.partition(": ")
            fields[name] = value
        raise StopIteration


def apply(state: dict[str, Any], change: dict[str, Any]) -> None:
    """Take a change in, as the contract says that a page must."""
    state["at_ms"] = change["at_ms"]
    known = {each["name"]: each for each in state["clusters"]}
    for new in change["clusters"]:
        cluster = known[new["name"]]
        for key, value in new.items():
            if key in ("brokers", "disks"):
                cluster[key] = _merged(cluster[key], value, "id" if key == "brokers" else "broker")
            elif key in ("brokers_gone", "disks_gone"):
                rows = key.removesuffix("_gone")
                by = "id" if rows == "brokers" else "broker"
                cluster[rows] = [each for each in cluster[rows] if each[by] not in value]
            elif key == "events":
                before = [] if new.get("events_missed") else cluster["events"]
                events = sorted(before + value, key=lambda each: each["at_ms"])
                cluster["events"] = events[-hub.EVENTS_KEPT :]
            elif key != "events_missed":
                cluster[key] = value


def _merged(rows: list[Any], new: list[Any], by: str) -> list[Any]:
    found = {each[by]: each for each in rows} | {each[by]: each for each in new}
    return [found[id_] for id_ in sorted(found)]


def valid(shape: str, value: Any) -> Any:
    """Check a value against the published schema."""
    found = _validator(shape).iter_errors(value)
    assert [f"{each.json_path}: {each.message[:200]}" for each in found] == []
    return value


@cache
def _validator(shape: str) -> Draft202012Validator:
    return Draft202012Validator({**schema(), "$ref": f"#/$defs/{shape}"})


def client(served: Served, *, token: str | None = None) -> httpx.Client:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return httpx.Client(base_url=served.url, headers=headers, timeout=TIMEOUT_S, verify=_NO_TLS)


def get(served: Served, path: str, shape: str, **query: Any) -> Any:
    """A good answer of that shape."""
    with client(served) as http:
        answer = http.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return valid(shape, answer.json())


def refused(answer: httpx.Response) -> tuple[int, str]:
    """The status and the code of a failure."""
    return answer.status_code, valid("Failure", answer.json())["error"]["code"]


@contextmanager
def watching(served: Served, **headers: str) -> Iterator[Page]:
    with (
        client(served) as http,
        http.stream("GET", "/api/stream", headers=headers) as answer,
    ):
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield Page(answer.iter_lines())


def open_sockets(served: Served) -> list[socket.socket]:
    """Return the open sockets of the console: the garbage of a stopped server has none."""
    sockets = [each for each in gc.get_objects() if type(each) is socket.socket]
    opened = [each for each in sockets if each.fileno() != -1 and each.family == socket.AF_INET]
    return [each for each in opened if each.getsockname()[1] == served.console.at.port]

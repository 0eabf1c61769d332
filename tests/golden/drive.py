"""Drives every consumer over one state directory: the one file that knows how they are called.

The polls go as in `kraftgate run`: read, assess, show. A change inside that leaves what users see
as it was changes this file at most.
"""

import io
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from importlib.metadata import version
from typing import Final

import pytest
from click.testing import CliRunner
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from orchestrator.cli.program import main
from orchestrator.config import CONFIG_FILE
from orchestrator.config.load import Config, load_config
from orchestrator.notify.notification import Notification
from orchestrator.output.rich_console import console
from orchestrator.redaction.known_secrets import Secrets
from orchestrator.run.alert_file import AlertFiles
from orchestrator.run.assessed import Assessor, Tick
from orchestrator.run.reader import Reader
from orchestrator.runbook.load import load
from orchestrator.views.console.access.redaction import RedactedJson
from orchestrator.views.console.feed.hub import ClusterUpdate, Hub
from orchestrator.views.console.feed.publisher import Tail
from orchestrator.views.console.state.cluster import StateBuilder
from orchestrator.views.metrics.collector import LastTick
from orchestrator.views.terminal.live import LineView, picture
from tests.scenes.state_directory import Written

WIDTH: Final = 100
ZONE: Final = "CET-1CEST,M3.5.0,M10.5.0/3"
"""Not UTC: a text for people has local time with its zone, and UTC."""
_EVENTS_SHOWN: Final = 50
_OF_THE_TERMINAL: Final = ("TERM", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "LINES")
OUTPUTS: Final = (
    "terminal.txt",
    "lines.txt",
    "status.txt",
    "status.json",
    "hazards.txt",
    "hazards.json",
    "alerts.txt",
    "audit.txt",
    "metrics.txt",
    "console.json",
    "alerts.json",
    "report.md",
    "report.json",
)
"""What is compared of each scene."""


def outputs(written: Written, patch: pytest.MonkeyPatch) -> Mapping[str, str]:
    """Poll the state directory as often as the scene says; return what each consumer shows."""
    with in_zone(patch):
        return _outputs(written, patch)


@contextmanager
def in_zone(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Be in the zone of the golden outputs."""
    try:
        with patch.context() as zoned:
            zoned.setenv("TZ", ZONE)
            time.tzset()
            yield
    finally:
        time.tzset()


def _outputs(written: Written, patch: pytest.MonkeyPatch) -> Mapping[str, str]:
    # As in the directory of the configuration: commands need no --config, of whatever length.
    patch.chdir(written.config.parent)
    config = load_config(CONFIG_FILE)
    now_ms = written.polls_ms[-1]
    for name in _OF_THE_TERMINAL:
        patch.delenv(name, raising=False)
    patch.setenv("COLUMNS", str(WIDTH))
    patch.setattr("time.time_ns", lambda: now_ms * 1_000_000)
    found = dict(_of_run(config, written))
    found["status.txt"] = _command("status")
    found["status.json"] = _command("status", "--json")
    patch.setattr(
        "streams.log_dirs.poll_requests.poll_disks", lambda *_: True
    )  # `run` has polled them
    found["hazards.txt"] = _command("hazards")
    found["hazards.json"] = _command("hazards", "--json")
    found["alerts.txt"] = _command("alerts list")
    found["audit.txt"] = _command("audit show")
    found["report.md"] = _command("report", "--format", "markdown")
    found["report.json"] = _command("report", "--format", "json")
    masked = {key: _masked(text, written) for key, text in found.items()}
    assert set(masked) == set(OUTPUTS)
    return masked


def _of_run(config: Config, written: Written) -> Mapping[str, str]:
    assessor = Assessor(config, Reader(config, newest=_EVENTS_SHOWN))
    alert_files = AlertFiles(config)
    cleaner = RedactedJson(Secrets().redactor({}))
    loaded = {each.name: load(each.runbook.file) for each in config.clusters if each.runbook}
    hub = Hub(
        {each.name: each.runbook is not None for each in config.clusters},
        {"version": "VERSION", "stall_after_ms": config.stall_after_ms, "insecure": False},
        1,
        0,
    )
    builders = {each.name: StateBuilder(cleaner, loaded.get(each.name)) for each in config.clusters}
    lines = io.StringIO()
    line_view = LineView(lines)
    with ExitStack() as stack:
        tail = stack.enter_context(closing(Tail(config.state_dir)))
        for at_ms in written.polls_ms:
            written.move(at_ms)
            tick = assessor.tick(at_ms)
            alert_files.keep(tick.alerts)
            hub.take(tick.at_ms, _updates(tick, builders, tail, cleaner))
            line_view.show(tick)
    registry = CollectorRegistry()
    registry.register(LastTick(lambda: tick))
    return {
        "terminal.txt": _terminal(tick),
        "lines.txt": lines.getvalue(),
        "metrics.txt": generate_latest(registry).decode(),
        "console.json": _pretty(json.loads(hub.since(0))),
        "alerts.json": _alerts(tick, config),
    }


def _updates(
    tick: Tick, builders: Mapping[str, StateBuilder], tail: Tail, cleaner: RedactedJson
) -> Iterator[ClusterUpdate]:
    for one in tick.clusters:
        events, missed = tail.new(one.name)
        yield ClusterUpdate(
            cluster=one.name,
            state=builders[one.name].state(one),
            events=[(each.at_ms, cleaner.json(each)) for each in events],
            missed=missed,
        )


def _terminal(tick: Tick) -> str:
    file = io.StringIO()
    out = console(file=file, width=WIDTH, color_system=None)
    for one in tick.clusters:
        out.print(picture(one, WIDTH), crop=False)
    return file.getvalue()


def _alerts(tick: Tick, config: Config) -> str:
    told = {}
    for cluster in tick.clusters:
        now = cluster.assessment.alerts
        active = []
        for each in now.active():
            assert each.active_since_ms is not None
            one = Notification(
                alert=each.alert, active_since_ms=each.active_since_ms, is_known=each.is_known
            )
            active.append(
                {
                    "starts_ms": one.active_since_ms,
                    "labels": dict(one.labels()),
                    "annotations": dict(one.annotations(config.alerts.runbook_url)),
                }
            )
        pending = [
            {"found_ms": each.found_ms, "name": each.alert.name, "labels": dict(each.alert.labels)}
            for each in now.pending()
        ]
        told[cluster.entry.name] = {"active": active, "pending": pending}
    return _pretty(told)


def _command(name: str, *arguments: str) -> str:
    """What a command prints; stderr and the exit code follow where it is not 0."""
    said = CliRunner().invoke(main, [*name.split(), *arguments])
    failed = f"--- exit code {said.exit_code}\n{said.stderr}" if said.exit_code else ""
    return said.stdout + failed


def _masked(text: str, written: Written) -> str:
    number = version("kraftgate")
    text = text.replace(f"kraftgate {number} ", "kraftgate VERSION ")
    for before in ('version="', '"version": "', '"kraftgate": "'):
        text = text.replace(f'{before}{number}"', f'{before}VERSION"')
    return text.replace(str(written.config.parent), "FOLDER")


def _pretty(value: object) -> str:
    return json.dumps(value, indent=1) + "\n"

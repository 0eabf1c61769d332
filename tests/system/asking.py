"""What the tests on real clusters ask `kraftgate hazards`, the timeline and the disks."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from migration.assessment.conditions import SettingsSeen
from migration.image.summary import Mode
from migration.metadata.events import Event
from orchestrator.config.load import load_config
from orchestrator.config.targets import target_of
from orchestrator.lab import Lab
from streams.probe.conditions import ask_settings
from tests.support.cli import kraftgate
from tests.system.killing import Killed


def asked(run: Killed, broker: int) -> tuple[int, dict[str, Any]]:
    """`kraftgate hazards`: may this broker be restarted?"""
    return asked_about(run, "--before", "restart", "--broker", str(broker))


def asked_about(run: Killed, *about: str) -> tuple[int, dict[str, Any]]:
    """`kraftgate hazards` with these options: the exit code, and what it printed."""
    done = kraftgate(run.config, "hazards", "--json", *about)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def waited(run: Killed, *conditions: str, timeout: str = "2m") -> None:
    """`kraftgate wait` until all of these hold at one look; fails with what does not."""
    options = [part for each in conditions for part in ("--condition", each)]
    done = kraftgate(run.config, "wait", *options, "--timeout", timeout, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["satisfied"], len(told["findings"])) == (True, len(conditions))


def modes(run: Killed) -> dict[int, Mode]:
    """How the brokers say that they are configured."""
    found = ask_settings(target_of(load_config(run.config).clusters[0]), lambda: 0)
    assert isinstance(found, SettingsSeen), found
    return dict(found.modes)


def all_hazards(run: Killed) -> list[dict[str, Any]]:
    """All that stand, whatever they forbid."""
    found: list[dict[str, Any]] = asked_about(run)[1]["hazards"]
    return found


def of(kind: str, broker: int | None = None, **fields: object) -> Callable[[Event], bool]:
    """Whether an event is of that kind, of the broker if one is named, with these fields."""
    return lambda event: (
        event.kind == kind
        and broker in (None, event.broker)
        and fields.items() <= event.fields.items()
    )


def on_disk(lab: Lab, broker: int, index: int, topic: str) -> set[int]:
    """The topic's partitions that lie in this directory."""
    folders = lab.directory(broker, index).glob(f"{topic}-*")
    return {int(each.name.rpartition("-")[2]) for each in folders}


def directory_id(path: Path) -> str:
    """As meta.properties has it."""
    lines = (path / "meta.properties").read_text("utf-8").splitlines()
    return next(line.partition("=")[2] for line in lines if line.startswith("directory.id="))

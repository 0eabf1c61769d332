"""What the tests on real clusters ask `kraftgate hazards`, the timeline and the disks."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from migration.assessment.alerts import Alert
from migration.assessment.conditions import SettingsSeen
from migration.image.summary import Mode
from migration.metadata.events import Event
from orchestrator.config.load import load_config
from orchestrator.config.targets import target_of
from orchestrator.lab import Lab
from orchestrator.run import alert_file
from streams.probe.conditions import ask_settings
from tests.support.cli import kraftgate
from tests.support.polling import polls
from tests.system.killing import Killed

Hazard = dict[str, Any]
"""One of the hazards in what `kraftgate hazards --json` prints."""


def answered(
    run: Killed, holds: Callable[[int, dict[str, Any]], bool], *about: str
) -> dict[str, Any]:
    """What `kraftgate hazards` prints with these options, once its exit code and that are right.

    One source shows a change before the others do, and on a busy machine one may be stale for
    a moment.
    """
    for _ in polls(180.0):
        done = kraftgate(run.config, "hazards", "--json", *about)
        assert done.stdout, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        if holds(done.returncode, answer):
            return answer
    raise AssertionError(f"not within 180 s: exit code {done.returncode}, {answer}")


def asked(run: Killed, broker: int, code: int) -> dict[str, Any]:
    """What it says, with that exit code, of whether the broker may be restarted."""
    about = ("--before", "restart", "--broker", str(broker))
    return answered(run, lambda ended, _: ended == code, *about)


def blocked(run: Killed, step: str, id_: str, broker: int | None = None) -> Hazard:
    """The hazard of that kind that blocks the step (of that broker), once it is named."""
    about = ("--before", step, *(() if broker is None else ("--broker", str(broker))))
    answer = answered(
        run, lambda code, answer: code == 5 and len(_of(answer, id_, broker)) == 1, *about
    )
    return _of(answer, id_, broker)[0]


def free(run: Killed, *about: str) -> None:
    """Wait until it names no hazard, and nothing that it does not know."""
    answered(
        run,
        lambda code, answer: (code, answer["hazards"], answer["unknown"]) == (0, [], []),
        *about,
    )


def active(run: Killed, id_: str, broker: int | None = None) -> Hazard:
    """The hazard of that kind, of the broker if one is named, whatever it forbids."""
    (found,) = _of(answered(run, lambda _, answer: len(_of(answer, id_, broker)) == 1), id_, broker)
    return found


def all_active(run: Killed, broker: int, *kinds: str) -> dict[str, Hazard]:
    """The hazards of one broker by kind, once they are of exactly these."""

    def are_these(_: int, answer: dict[str, Any]) -> bool:
        found = [each["id"] for each in answer["hazards"] if each["broker"] == broker]
        return sorted(found) == sorted(kinds)

    answer = answered(run, are_these)
    return {each["id"]: each for each in answer["hazards"] if each["broker"] == broker}


def _of(answer: dict[str, Any], id_: str, broker: int | None = None) -> list[Hazard]:
    return [
        each for each in answer["hazards"] if each["id"] == id_ and broker in (None, each["broker"])
    ]


def waited(run: Killed, *conditions: str, timeout: str = "5m") -> None:
    """`kraftgate wait` until all of these hold in one poll; fails with what does not."""
    options = [part for each in conditions for part in ("--condition", each)]
    done = kraftgate(run.config, "wait", *options, "--timeout", timeout, "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["satisfied"], len(answer["findings"])) == (True, len(conditions))


def modes(run: Killed) -> dict[int, Mode]:
    """How the brokers say that they are configured."""
    found = ask_settings(target_of(load_config(run.config).clusters[0]), lambda: 0)
    assert isinstance(found, SettingsSeen), found
    return dict(found.modes)


def offline_alerts(run: Killed, cluster: str) -> list[Alert]:
    """The cluster's active alerts that a log directory cannot be used."""
    file = alert_file.file_of(load_config(run.config), cluster)
    alerts = (each.alert for each in alert_file.read(file).active())
    return [each for each in alerts if each.name == "KraftgateLogDirOffline"]


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

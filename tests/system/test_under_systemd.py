"""The bundled unit under a real systemd, with its whole sandbox, against a real cluster."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from migration.image.summary import Phase
from orchestrator.audit.kinds import EntryKind
from orchestrator.errors import ExitCode
from orchestrator.lab import Lab, LabSpec
from tests.manual.pages import ROOT
from tests.support.polling import until
from tests.system.booted import Booted, booted, can_boot

pytestmark = [
    pytest.mark.lab,
    pytest.mark.spark,
    pytest.mark.long(minutes=1),
]

CLUSTER: Final = "lab"
SERVICE: Final = "kraftgate.service"
UNIT: Final = (ROOT / "runbooks" / "systemd" / SERVICE).read_text("utf-8")
CONFIG: Final = "etc/kraftgate/kraftgate.yaml"
CACHE: Final = "var/cache/kraftgate"
PROGRAM: Final = """\
#!/bin/sh
export LD_LIBRARY_PATH=/opt/python/lib PYTHONPATH=/opt/kraftgate/source:/opt/kraftgate/packages
exec /opt/python/bin/python3.11 -m orchestrator "$@"
"""
EXECUTES: Final = f"""\
[Service]
ExecStart=
{next(line for line in UNIT.splitlines() if line.startswith("ExecStart="))} --execute
StandardOutput=file:/run/kraftgate.log
StandardError=file:/run/kraftgate.log
"""
RUNBOOK: Final = """\
runbook: 1
name: night
title: A night
explain: One step.
checkpoints:
  - id: only
    title: The only one
    explain: Its hook outlives the service.
    step: {name: wait, do: Wait, manual: Wait.}
    opens_when: [quorum_healthy]
    rollback: none
    rollback_reason: nothing is changed
"""
HOOKS: Final = f"""\
hooks: 1
explain: It waits for a file.
steps:
  wait:
    argv: [sh, -c, "touch /{CACHE}/began; until [ -e /{CACHE}/go ]; do sleep 0.1; done"]
    timeout: 10m
"""


@pytest.fixture(autouse=True)
def _systemd_is_there() -> None:
    if not can_boot():
        pytest.skip("no systemd can be booted here")


@contextmanager
def running(folder: Path, config: str) -> Iterator[Booted]:
    """Boot a systemd that has the service, which is not started yet."""
    files = {
        f"run/units/{SERVICE}": UNIT,
        f"run/units/{SERVICE}.d/test.conf": EXECUTES,
        "opt/kraftgate/bin/kraftgate": PROGRAM,
        CONFIG: config,
        "etc/kraftgate/night.yaml": RUNBOOK,
        "etc/kraftgate/hooks.yaml": HOOKS,
    }
    with booted(folder, files) as systemd:
        yield systemd


def test_what_the_alert_pages_say_prevents_every_start(tmp_path: Path) -> None:
    """`systemctl mask` would reject a unit whose file is in /etc/systemd/system."""
    page = (ROOT / "runbooks" / "alerts" / "README.md").read_text("utf-8")
    section = page.partition("\n## To prevent a start\n")[2].partition("\n## ")[0]
    section = section.replace("/etc/systemd/system/", "/run/units/")
    prevent, permit = (
        "".join(line for line in part.splitlines(keepends=True) if line.startswith("    "))
        for part in section.split("To permit it again:")
    )
    broker = "[Service]\nExecStart=/bin/sleep infinity\nRestart=always\nRestartSec=0\n"
    with booted(tmp_path, {"run/units/kafka.service": broker, CONFIG: ""}) as systemd:
        systemd.systemctl("start", "kafka")
        systemd.wait_for("kafka", "active")
        systemd.shell(prevent)
        assert "refused" in systemd.systemctl("restart", "kafka")
        assert systemd.shows("kafka", "ActiveState") == "active"
        systemd.systemctl("kill", "--signal=KILL", "kafka")
        systemd.wait_for("kafka", "inactive")
        assert "refused" in systemd.systemctl("start", "kafka")
        systemd.shell(permit)
        systemd.systemctl("start", "kafka")
        systemd.wait_for("kafka", "active")


def test_it_follows_and_its_hook_outlives_it(tmp_path: Path) -> None:
    with Lab(LabSpec(brokers=1, directories=2, controllers=1)) as lab:
        lab.start_kraft()
        config = (
            f"cluster: {{name: {CLUSTER}}}\n"
            f'controllers: {{bootstrap: "{lab.controller_bootstrap}"}}\n'
            f'brokers: {{bootstrap: "{lab.broker_bootstrap}"}}\n'
            "state_dir: /var/lib/kraftgate\n"
            "runbook: {file: night.yaml, hooks: hooks.yaml}\n"
        )
        with running(tmp_path, config) as systemd:
            _it_follows_and_its_hook_outlives_it(systemd)


def _it_follows_and_its_hook_outlives_it(systemd: Booted) -> None:
    _start(systemd)
    began = systemd.root / CACHE / "began"
    until(began.exists, "the hook to run", lambda: _printed(systemd))
    _stop(systemd)
    assert EntryKind.STEP_ENDED not in _kinds(systemd)
    (systemd.root / CACHE / "go").touch()
    _start(systemd)
    until(lambda: EntryKind.WALK_ENDED in _kinds(systemd), "the end", lambda: _printed(systemd))
    assert _kinds(systemd).count(EntryKind.STEP_STARTED) == 1
    until(lambda: _follows(systemd), "the cluster to be seen", lambda: _printed(systemd))
    _stop(systemd)


def test_a_wrong_configuration_is_not_started_again(tmp_path: Path) -> None:
    with running(tmp_path, "clusters: 7\n") as systemd:
        systemd.systemctl("start", SERVICE)
        systemd.wait_for(SERVICE, "failed")
        assert systemd.shows(SERVICE, "ExecMainStatus") == str(int(ExitCode.USAGE))
        assert systemd.shows(SERVICE, "NRestarts") == "0"
        assert CONFIG in _printed(systemd)


def _start(systemd: Booted) -> None:
    assert systemd.systemctl("start", SERVICE) == ""
    systemd.wait_for(SERVICE, "active")


def _stop(systemd: Booted) -> None:
    assert systemd.systemctl("stop", SERVICE) == ""
    assert systemd.shows(SERVICE, "ActiveState") == "inactive"
    assert systemd.shows(SERVICE, "Result") == "success", _printed(systemd)


def _follows(systemd: Booted) -> bool:
    status = json.loads(_asked(systemd, "status", "--json"))
    return (status["phase"], len(status["brokers"])) == (Phase.KRAFT, 1)


def _kinds(systemd: Booted) -> list[str]:
    """Return the kinds of all entries of the audit trail."""
    shown = json.loads(_asked(systemd, "audit", "show", "--json"))
    return [each["kind"] for each in shown["entries"]]


def _asked(systemd: Booted, *words: str) -> str:
    return systemd.as_user("/opt/kraftgate/bin/kraftgate", *words, "--config", f"/{CONFIG}")


def _printed(systemd: Booted) -> str:
    return (systemd.root / "run" / "kraftgate.log").read_text("utf-8")[-3000:]

"""A real Prometheus scrapes a real `kraftgate run` and evaluates the rules, one threshold small.

The threshold of a stall is five seconds here instead of five minutes, written into a copy of the
rules: everything else of them is as it is shipped.
"""

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from orchestrator.lab import Lab
from tests.alerts.rules import RULES
from tests.job.asking import of
from tests.job.killing import Killed
from tests.metrics.scraping import Samples, samples
from tests.support.alertmanager import Told
from tests.support.alertmanager import listening as alertmanager
from tests.support.held_requests import HeldRequests
from tests.support.prometheus import ask, promtool, running

OPENMETRICS: Final = "application/openmetrics-text; version=1.0.0"
STALLED: Final = "KraftgateAssignmentStalled"
_SHIPPED: Final = "kraftgate:broker_without_progress:seconds > 300"
_SMALL: Final = "kraftgate:broker_without_progress:seconds > 5"
_PATIENCE_S: Final = 120.0


def rules_with_a_small_threshold() -> str:
    text = RULES.read_text("utf-8")
    assert text.count(_SHIPPED) == 1
    return text.replace(_SHIPPED, _SMALL)


def a_frozen_broker_is_told_once(
    lab: Lab, run: Killed, assignments: HeldRequests, metrics: str, folder: Path
) -> None:
    """Broker 2, with replicas pending: one alert when it stalls, one when that is over.

    Its assignments are held back on their way, so that some are pending when it is frozen.
    """
    assignments.hold()
    lab.create_topic("late", assignments=[[2]] * 3)
    lab.restart(2)
    run.wait_for(lambda now: any(each.id == 2 and each.held for each in now.brokers))
    lab.freeze("broker-2")
    rules = rules_with_a_small_threshold()
    with (
        alertmanager() as told,
        running(folder, kraftgate=metrics, rules=rules, alertmanager=told.address) as prometheus,
    ):
        _until(lambda: told.times(STALLED, over=False), "it fires")
        run.wait_for(lambda now: any(each.id == 2 and each.fenced for each in now.brokers))
        _the_scrape_is_what_status_says(run, metrics)
        assert _firing(prometheus) == {("2", "warning")}
        assert told.times(STALLED, over=True) == []
        lab.thaw("broker-2")
        assignments.let_go()
        run.wait_for_event(of("assignments_complete", 2))
        _until(lambda: told.times(STALLED, over=True), "it is resolved")
        lab.wait_in_sync()
        _exactly_one(told)
        assert _firing(prometheus) == set()
        up = ask(prometheus, "min_over_time(up[10m])")
        assert set(up.values()) == {1.0}, "every scrape could be read"


def _exactly_one(told: Told) -> None:
    began, over = told.times(STALLED, over=False), told.times(STALLED, over=True)
    assert began == over
    ((labels, _),) = began
    assert (labels["cluster"], labels["broker"], labels["severity"]) == ("lab", "2", "warning")


def _firing(prometheus: str) -> set[tuple[str, str]]:
    expr = f'ALERTS{{alertname="{STALLED}", alertstate="firing"}}'
    found = [dict(labels) for labels in ask(prometheus, expr)]
    return {(each["broker"], each["severity"]) for each in found}


def _the_scrape_is_what_status_says(run: Killed, metrics: str) -> None:
    """Both formats are valid, and the numbers those of `kraftgate status`: a look later at most."""
    code, said = promtool("check", "metrics", stdin=_get(metrics, "text/plain"))
    assert (code, said) == (0, "")
    status = _status(run)
    left: list[str] = []

    def same() -> bool:
        left[:] = _differences(samples(_get(metrics, OPENMETRICS)), status)
        return not left

    _until(same, "the scrape says the same as the status", lambda: left)


def _differences(found: Samples, status: dict[str, Any]) -> list[str]:
    wrong = []
    if not found["kraftgate_phase"][(status["phase"],)]:
        wrong.append(f"the phase is not {status['phase']}")
    standing = {each["id"] for each in status["hazards"]}
    active = {kind for (kind,), value in found["kraftgate_hazard_active"].items() if value}
    if active != standing:
        wrong.append(f"hazards {active}, not {standing}")
    for broker in status["brokers"]:
        id_ = str(broker["id"])
        told: dict[str, object] = {
            "mode": found["kraftgate_broker_mode"][id_, broker["mode"]] and broker["mode"],
            "held": bool(found["kraftgate_broker_held"][(id_,)]),
            "fenced": bool(found["kraftgate_broker_fenced"][(id_,)]),
            "replicas": {
                state: found["kraftgate_replicas"][id_, state] for state in broker["replicas"]
            },
        }
        wrong += [f"{id_}: {key} {was}" for key, was in told.items() if was != broker[key]]
        progress = found.get("kraftgate_broker_last_progress_timestamp_seconds", {})
        if ((id_,) in progress) != broker["held"]:
            wrong.append(f"{id_}: last progress {progress}")
    return wrong


def _status(run: Killed) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "orchestrator", "status", "--config", str(run.config), "--json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    status: dict[str, Any] = json.loads(done.stdout)
    return status


def _get(metrics: str, accept: str) -> str:
    asked = urllib.request.Request(f"http://{metrics}/metrics", headers={"Accept": accept})
    with urllib.request.urlopen(asked, timeout=30) as reply:  # noqa: S310  # ours
        text: str = reply.read().decode()
        return text


def _until(holds: Callable[[], object], what: str, seen: Callable[[], object] = lambda: "") -> None:
    deadline_s = time.monotonic() + _PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline_s, f"not within {_PATIENCE_S} s: {what}; {seen()}"
        time.sleep(0.2)

"""Whether a scrape of `kraftgate run` says what `kraftgate status` says."""

import json
import urllib.request
from typing import Any, Final

from tests.orchestrator.views.metrics.scraping import Samples, samples
from tests.support.cli import kraftgate
from tests.support.polling import until
from tests.support.prometheus import promtool
from tests.system.killing import Killed

OPENMETRICS: Final = "application/openmetrics-text; version=1.0.0"


def the_scrape_is_what_status_says(run: Killed, metrics: str) -> None:
    """Both formats are valid, the numbers those of `kraftgate status`, at most a tick later."""
    code, said = promtool("check", "metrics", stdin=_get(metrics, "text/plain"))
    assert (code, said) == (0, "")
    left: list[str] = []

    def same() -> bool:
        left[:] = _differences(samples(_get(metrics, OPENMETRICS)), status_of(run))
        return not left

    until(same, "the scrape says the same as the status", lambda: left)


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


def status_of(run: Killed) -> dict[str, Any]:
    """What `kraftgate status --json` prints."""
    done = kraftgate(run.config, "status", "--json")
    assert done.stdout, done.stderr
    status: dict[str, Any] = json.loads(done.stdout)
    return status


def _get(metrics: str, accept: str) -> str:
    asked = urllib.request.Request(f"http://{metrics}/metrics", headers={"Accept": accept})
    with urllib.request.urlopen(asked, timeout=120) as reply:  # noqa: S310  # ours
        text: str = reply.read().decode()
        return text

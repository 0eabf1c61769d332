"""The Prometheus rules fire for exactly the alerts that Kraftgate reports as active, at each tick.

The alerts of simulated hours, in which every condition comes and goes and sources become stale, are
exported tick by tick and given to promtool, with the rules but without their annotations: those are
tested in runbooks/prometheus/tests.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from migration.assessment.alerts import NO_ALERTS, RULES, AlertState, AlertStates
from migration.assessment.assess import assess
from migration.values.durations import parse_duration
from orchestrator.run.assessed import Assessed, Tick, snapshot_of
from orchestrator.run.reader import ClusterRead
from orchestrator.views.metrics.collector import LastTick
from tests.orchestrator.notify import rules as written
from tests.orchestrator.notify.hours import ENTRY, STEP_S, STEPS, Hours, from_the_table
from tests.scenes.night import FIVE_MINUTES_MS
from tests.support.prometheus import promtool

SEEDS: Final = (11, 19)
"""Together they have every alert come and go."""
NOT_ITS_OWN: Final = "KraftgateOrchestratorDown"
"""Alerts that a process cannot send after its end."""
FROM_PROMETHEUS: Final = {"job": "kraftgate", "instance": "k:9464"}
READ: Final = ("kraftgate_alert", "kraftgate_source_current", "kraftgate_last_look")

Series = dict[str, list[float | None]]
At = tuple[str, str]
"""An alert's name and severity."""


def look(before: AlertStates, read: ClusterRead, now_ms: int) -> Assessed:
    snapshot = snapshot_of(ENTRY, read, now_ms, stall_after_ms=FIVE_MINUTES_MS)
    assessment = assess(replace(snapshot, alerts=before))
    return Assessed(entry=ENTRY, read=read, assessment=assessment)


def scrape(into: Series, one: Assessed, step: int) -> None:
    last = Tick(at_ms=step * STEP_S * 1000, clusters=(one,))
    for family in LastTick(lambda: last).collect():
        for sample in family.samples:
            if sample.name.startswith(READ):
                labels = {**sample.labels, **FROM_PROMETHEUS}
                named = ",".join(f"{k}={json.dumps(v)}" for k, v in sorted(labels.items()))
                values = into.setdefault(f"{sample.name}{{{named}}}", [None] * STEPS)
                values[step] = sample.value


def notation(values: Sequence[float | None]) -> str:
    """As promtool reads it: what is missing is stale at once, as after a scrape without it."""
    parts: list[str] = []
    before: float | None = None
    for value in values:
        if value is not None:
            parts.append(f"{value:.3f}")
        else:
            parts.append("_" if before is None else "stale")
        before = value
    return " ".join(parts)


def expectation(at_s: int, name: str, standing: Sequence[AlertState]) -> dict[str, Any]:
    found = [{"exp_labels": {**each.alert.labels, **FROM_PROMETHEUS}} for each in standing]
    return {"eval_time": f"{at_s}s", "alertname": name, "exp_alerts": found}


def own_names() -> set[str]:
    return {rule.name for rule in RULES}


def checks(told: Mapping[int, AlertStates]) -> Iterator[dict[str, Any]]:
    """What promtool is asked: at every change, right before it, and now and then."""
    for name in sorted(own_names()):
        by_look = {
            at: [e for e in now.active() if e.alert.name == name] for at, now in told.items()
        }
        which = {at: {e.alert.fingerprint for e in found} for at, found in by_look.items()}
        wanted = {at for at in told if at % 600 == 0}
        for at in range(STEP_S, STEPS * STEP_S, STEP_S):
            if which[at] != which[at - STEP_S]:
                wanted |= {at - STEP_S, at}
        yield from (expectation(at, name, by_look[at]) for at in sorted(wanted))


def without_annotations(folder: Path) -> Path:
    content = yaml.safe_load(written.RULES.read_text("utf-8"))
    for group in content["groups"]:
        for rule in group["rules"]:
            rule.pop("annotations", None)
    file = folder / "rules.yaml"
    file.write_text(yaml.safe_dump(content), "utf-8")
    return file


@pytest.mark.prometheus
def test_the_rules_fire_for_what_is_active_at_every_tick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began: Counter[At] = Counter()
    ended: Counter[At] = Counter()
    unknown = 0
    tests = []
    for seed in SEEDS:
        hours, series, told = Hours(seed), Series(), {}
        from_the_table(hours.hazards, monkeypatch)
        now = NO_ALERTS
        for at_s, read in hours.looks():
            before = set(which(now))
            one = look(now, read, at_s * 1000)
            scrape(series, one, at_s // STEP_S)
            now = one.assessment.alerts
            told[at_s] = now
            unknown += sum(not each.is_known for each in now.active())
            began.update(at for key, at in which(now).items() if key not in before)
            ended.update(which(told[at_s - STEP_S])[key] for key in before - set(which(now)))
        tests.append(
            {
                "name": f"seed {seed}",
                "interval": f"{STEP_S}s",
                "input_series": [{"series": k, "values": notation(v)} for k, v in series.items()],
                "alert_rule_test": list(checks(told)),
            }
        )
    every = {(rule.name, str(rule.severity)) for rule in RULES}
    assert set(began) == every, "each begins somewhere"
    assert set(ended) == every, "each ends somewhere"
    assert unknown > 100, "some are active on stale data"
    whole = {
        "rule_files": [str(without_annotations(tmp_path))],
        "evaluation_interval": f"{STEP_S}s",
        "tests": tests,
    }
    file = tmp_path / "hours.test.yaml"
    file.write_text(json.dumps(whole), "utf-8")
    code, said = promtool("test", "rules", file)
    assert code == 0, said[:5000]


def which(now: AlertStates) -> Mapping[str, At]:
    return {
        each.alert.fingerprint: (each.alert.name, str(each.alert.severity)) for each in now.active()
    }


def test_there_is_a_rule_for_each_of_the_rules() -> None:
    """By name and severity: how long it must be found, and what it says without names."""
    of_prometheus = {
        (rule["alert"], rule["labels"]["severity"]): (
            parse_duration(rule["for"]).total_seconds() * 1000 if "for" in rule else 0,
            rule["annotations"]["summary"],
        )
        for rule in written.rules()
        if rule.get("alert", NOT_ITS_OWN) != NOT_ITS_OWN
    }
    assert of_prometheus == {
        (rule.name, str(rule.severity)): (rule.for_ms, rule.summary) for rule in RULES
    }
    assert len(of_prometheus) == len(RULES)


def test_they_stand_in_the_same_order() -> None:
    text = written.RULES.read_text("utf-8")
    named = [name for name in re.findall(r"alert: (\w+)", text) if name != NOT_ITS_OWN]
    assert named == [rule.name for rule in RULES]

"""The consumers of one assessment report the same facts, scene by scene.

The outputs are the expected files, which `test_golden` holds against what the consumers show now.
`status`, `hazards` and the report read once; the others followed the scene through all ticks.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from typing import Any, Final

import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from migration.assessment.waits import NEXT_STEPS
from orchestrator.output.formatting import local_times
from tests.golden.drive import in_zone
from tests.golden.test_golden import EXPECTED

SCENES: Final = sorted(each.name for each in EXPECTED.iterdir())

Labels = Mapping[str, str]


class Cluster:
    """What each consumer shows of one cluster of a scene."""

    def __init__(self, scene: str, name: str) -> None:
        self.scene = scene
        self.name = name

    def _text(self, output: str) -> str:
        return (EXPECTED / self.scene / output).read_text("utf-8").partition("--- exit code")[0]

    def _json(self, output: str) -> Any:
        found = json.loads(self._text(output))
        clusters = found.get("clusters", [found]) if isinstance(found, dict) else found
        name = "name" if output == "console.json" else "cluster"
        return next(each for each in clusters if each[name] == self.name)

    @cached_property
    def status(self) -> Any:
        return self._json("status.json")

    @cached_property
    def console(self) -> Any:
        return self._json("console.json")

    @cached_property
    def hazards(self) -> Any:
        return self._json("hazards.json")

    @cached_property
    def alerts(self) -> Any:
        return json.loads(self._text("alerts.json"))[self.name]

    @cached_property
    def terminal(self) -> str:
        """The block of this cluster, as one line of words."""
        text = self._text("terminal.txt")
        begin = text.index(f"{self.name}  phase ")
        following = re.search(r"\n\S+  phase ", text[begin:])
        block = text[begin:] if following is None else text[begin : begin + following.start()]
        return " ".join(block.split())

    def metric(self, name: str) -> Iterator[tuple[Labels, float]]:
        for sample in _samples(self._text("metrics.txt")):
            if sample.name == name and sample.labels.get("cluster") == self.name:
                yield sample.labels, sample.value


@cache
def _samples(text: str) -> list[Sample]:
    return [s for family in text_string_to_metric_families(text) for s in family.samples]


def clusters() -> list[Cluster]:
    found = []
    for scene in SCENES:
        names = json.loads((EXPECTED / scene / "alerts.json").read_text("utf-8"))
        found += [Cluster(scene, name) for name in names]
    return found


Check = Callable[[Cluster], None]
_CHECKS: Final[list[Check]] = []


def check(function: Check) -> Check:
    _CHECKS.append(function)
    return function


@pytest.mark.parametrize("of", clusters(), ids=lambda each: f"{each.scene}-{each.name}")
def test_the_consumers_agree(of: Cluster, subtests: pytest.Subtests) -> None:
    """One test for each cluster, so that its files are read once."""
    for each in _CHECKS:
        with subtests.test(each.__name__):
            each(of)


def _broker(labels: Labels) -> int | None:
    return int(labels["broker"]) if labels["broker"] else None


@check
def the_phase(of: Cluster) -> None:
    phase = of.status["phase"]
    assert of.console["head"]["phase"] == phase
    assert of.terminal.startswith(f"{of.name} phase {phase or 'unknown'} ")
    known = [] if phase is None else [phase]
    assert [at["phase"] for at, value in of.metric("kraftgate_phase") if value] == known


@check
def the_active_controller(of: Cluster) -> None:
    controller = of.status["active_controller"]
    assert of.console["head"]["active_controller"] == controller
    by_metric = [at["controller"] for at, _ in of.metric("kraftgate_active_controller")]
    assert by_metric in ([str(controller)], [])


@check
def the_brokers_that_are_held_and_those_unfenced_early(of: Cluster) -> None:
    held = {each["id"] for each in of.status["brokers"] if each["held"]}
    assert {each["id"] for each in of.console["brokers"] if each["held"]} == held
    by_metric = {int(at["broker"]) for at, value in of.metric("kraftgate_broker_held") if value}
    assert by_metric == held
    read = of.console["head"]["metadata_offset"] is not None
    assert of.console["head"]["held"] == (len(held) if read else None)
    early = {
        int(at["broker"]) for at, value in of.metric("kraftgate_broker_unfenced_early") if value
    }
    assert of.console["head"]["unfenced_early"] == (len(early) if read else None)
    assert early <= held


@check
def the_waits(of: Cluster) -> None:
    shown = [each["name"] for each in of.console["waits"]]
    counted = {at["wait"]: int(value) for at, value in of.metric("kraftgate_waits") if value}
    assert counted == {name: shown.count(name) for name in shown}
    assert [each["name"] for each in of.status["waits"]] == shown


@check
def no_next_step_is_named_while_zookeeper_is_not_current(of: Cluster) -> None:
    current = {at["source"]: bool(value) for at, value in of.metric("kraftgate_source_current")}
    if current.get("zookeeper", True):
        return
    named = {at["wait"] for at, value in of.metric("kraftgate_waits") if value}
    assert not named & NEXT_STEPS


@check
def the_next_action(of: Cluster) -> None:
    now = of.console["head"]["next"]
    with pytest.MonkeyPatch.context() as patch, in_zone(patch):
        headline = local_times(now["headline"])
    assert " ".join(headline.split()) in of.terminal
    keys = ("need", "headline", "why", "commands", "topic", "broker")
    assert {key: of.status["next"][key] for key in keys} == {key: now[key] for key in keys}


@check
def the_hazards(of: Cluster) -> None:
    shown = sorted(f"{each['id']} {each['broker']}" for each in of.console["hazards"])
    assert sorted(f"{each['id']} {each['broker']}" for each in of.status["hazards"]) == shown
    assert sorted(f"{each['id']} {each['broker']}" for each in of.hazards["hazards"]) == shown
    by_metric = [
        f"{at['hazard']} {_broker(at)}" for at, value in of.metric("kraftgate_hazard") if value
    ]
    assert sorted(by_metric) == shown


@check
def the_alerts_that_are_active(of: Cluster) -> None:
    active = sorted(json.dumps(each["labels"], sort_keys=True) for each in of.alerts["active"])
    counted = sum(
        value for at, value in of.metric("kraftgate_alerts") if at.get("state") == "active"
    )
    assert counted in (len(active), 0)
    by_status = [
        json.dumps({"alertname": each["name"], **each["labels"]}, sort_keys=True)
        for each in of.status["alerts"]
    ]
    assert sorted(by_status) == active


@check
def whether_each_source_is_current(of: Cluster) -> None:
    by_metric = {at["source"]: bool(value) for at, value in of.metric("kraftgate_source_current")}
    shown = {each["name"]: each["current"] for each in of.console["sources"] if each["in_use"]}
    assert by_metric == shown
    known = [bool(value) for _, value in of.metric("kraftgate_hazards_known")]
    assert known == [not of.hazards["unknown"]]


@check
def the_estimate(of: Cluster) -> None:
    seconds, shown = of.status["eta_seconds"], of.console["head"]["eta"]
    assert (shown and shown["seconds"]) == seconds
    by_metric = {at["bound"]: value for at, value in of.metric("kraftgate_eta_timestamp_seconds")}
    assert ("expected" in by_metric) is (seconds is not None)

"""A broker freezes with replicas pending, for real: told once, and once that it is over.

In a migration of a real cluster, by both ways at once: a real Prometheus scrapes `kraftgate run`
and evaluates the shipped rules, and Kraftgate judges and sends itself; both tell one Alertmanager,
and Kraftgate also a webhook. `stall.after` is half a minute here; the rules are as shipped.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import pytest

from migration.image.summary import ClusterSummary, Phase
from orchestrator.lab import Lab, LabSpec
from orchestrator.lab.machine.ports import LOOPBACK, Ports
from tests.orchestrator.notify.rules import RULES
from tests.orchestrator.notify.scraped_status import (
    status_of,
    the_scrape_is_what_status_says,
    until,
)
from tests.support import alertmanager, prometheus
from tests.support.held_requests import ASSIGN_REPLICAS_TO_DIRS, HeldRequests
from tests.support.receiver import Receiver, receiving
from tests.system.asking import of
from tests.system.killing import Killed

pytestmark = [
    pytest.mark.lab,
    pytest.mark.spark,
    pytest.mark.prometheus,
    pytest.mark.long(minutes=3),
]

STALLED: Final = "KraftgateAssignmentStalled"
AFTER_S: Final = 30
BROKER: Final = 2


@dataclass(frozen=True)
class Told:
    """One alert, as a webhook heard of it: which way it went, and whether it stands."""

    by_rules: bool
    severity: str
    status: str
    labels: tuple[tuple[str, str], ...]
    starts_at: str
    since: str | None


def heard_of(receiver: Receiver) -> list[Told]:
    """Every notice of a stall that came to the webhook, in order."""
    return [
        Told(
            by_rules="job" in each["labels"],
            severity=each["labels"]["severity"],
            status=each["status"],
            labels=tuple(sorted(each["labels"].items())),
            starts_at=each["startsAt"],
            since=each["annotations"].get("since"),
        )
        for sent in receiver.sent
        for each in sent.json["alerts"]
        if each["labels"]["alertname"] == STALLED
    ]


@pytest.fixture
def assignments() -> Iterator[HeldRequests]:
    with HeldRequests(ASSIGN_REPLICAS_TO_DIRS) as held:
        yield held


@pytest.fixture
def lab(assignments: HeldRequests) -> Iterator[Lab]:
    between = {"controller.quorum.voters": f"3000@{assignments.address}"}
    spec = LabSpec(brokers=2, directories=2, controllers=1, broker_properties=between)
    with Lab(spec) as lab:
        lab.start_zookeeper()
        lab.start_brokers()
        lab.create_topic("orders", 6, 2)
        yield lab


@dataclass(frozen=True)
class Watchers:
    """Who is told.

    Attributes:
        behind: the webhook behind Alertmanager.
        direct: the one that Kraftgate tells without it.
        alertmanager: host:port.
        metrics: host:port of Kraftgate's, which Prometheus scrapes.
    """

    behind: Receiver
    direct: Receiver
    alertmanager: str
    metrics: str


@pytest.fixture
def watchers(tmp_path: Path) -> Iterator[Watchers]:
    with ExitStack() as stack:
        behind = stack.enter_context(receiving())
        direct = stack.enter_context(receiving())
        ports = Ports()
        stack.callback(ports.close)
        address = stack.enter_context(
            alertmanager.running(tmp_path / "alertmanager", f"{behind.url}/heard")
        )
        yield Watchers(behind, direct, address, f"{LOOPBACK}:{ports.take()}")


@pytest.fixture
def run(lab: Lab, watchers: Watchers, tmp_path: Path) -> Iterator[Killed]:
    more = (
        f'zookeeper: {{connect: "{lab.zookeeper_connect}"}}\n'
        f'brokers: {{bootstrap: "{lab.broker_bootstrap}"}}\n'
        f'metrics: {{listen: "{watchers.metrics}"}}\n'
        f"stall: {{after: {AFTER_S}s, trial: true}}\n"
        "alerts:\n"
        "  runbook_url: https://wiki.example.com/kraftgate\n"
        f"  alertmanager: [{{url: 'http://{watchers.alertmanager}'}}]\n"
        f"  webhook: [{{url: '{watchers.direct.url}/hook'}}]\n"
    )
    with Killed(tmp_path, lab.controller_bootstrap, lab.cluster_id, more) as run:
        run.start()
        yield run


def test_a_frozen_broker_is_told_once_and_once_that_it_is_over(
    lab: Lab, run: Killed, watchers: Watchers, assignments: HeldRequests, tmp_path: Path
) -> None:
    lab.start_controllers()
    assignments.target = lab.controller_bootstrap
    for broker in lab.spec.broker_ids:
        lab.enter_migration(broker)
    lab.wait_copied()
    lab.wait_in_sync()
    run.wait_for(lambda now: now.phase is Phase.HYBRID)
    with prometheus.running(
        tmp_path / "prometheus",
        kraftgate=watchers.metrics,
        rules=RULES.read_text("utf-8"),
        alertmanager=watchers.alertmanager,
    ) as server:
        assignments.hold()
        lab.move_to_kraft(BROKER)
        run.wait_for(_is_held)
        lab.freeze(f"broker-{BROKER}")
        until(lambda: len(heard_of(watchers.behind)) >= 2, "Alertmanager tells it by both ways")
        until(lambda: heard_of(watchers.direct), "Kraftgate tells it itself")
        lab.thaw(f"broker-{BROKER}")
        assignments.let_go()
        run.wait_for_event(of("assignments_complete", BROKER))
        until(lambda: len(heard_of(watchers.behind)) >= 4, "its end is told by both ways")
        until(lambda: len(heard_of(watchers.direct)) >= 2, "its end is told by Kraftgate")
        lab.wait_in_sync()
        the_scrape_is_what_status_says(run, watchers.metrics)
        assert _firing(server) == set()
        up = prometheus.ask(server, "min_over_time(up[10m])")
        assert set(up.values()) == {1.0}, "every scrape could be read"
    _each_way_told_it_once(watchers)
    _it_was_told_behind_its_threshold(watchers.direct)
    assert [e["name"] for e in status_of(run)["alerts"] if e["name"] == STALLED] == []
    assert run.interrupt() == 0
    assert not run.leftovers()


def _is_held(now: ClusterSummary) -> bool:
    return any(each.id == BROKER and each.held for each in now.brokers)


def _firing(server: str) -> set[str]:
    expr = f'ALERTS{{alertname="{STALLED}", alertstate="firing"}}'
    return {dict(labels)["severity"] for labels in prometheus.ask(server, expr)}


def _each_way_told_it_once(watchers: Watchers) -> None:
    ways: dict[tuple[str, bool], list[Told]] = defaultdict(list)
    for where, receiver in (("alertmanager", watchers.behind), ("webhook", watchers.direct)):
        for each in heard_of(receiver):
            ways[where, each.by_rules].append(each)
    assert ways.keys() == {("alertmanager", True), ("alertmanager", False), ("webhook", False)}
    for told in ways.values():
        assert [(each.severity, each.status) for each in told] == [
            ("warning", "firing"),
            ("warning", "resolved"),
        ]
        began, over = told
        assert (began.labels, began.starts_at) == (over.labels, over.starts_at)
    own = dict(ways["alertmanager", False][0].labels)
    assert own == {
        "alertname": STALLED,
        "broker": str(BROKER),
        "cluster": "lab",
        "severity": "warning",
    }
    of_rules = dict(ways["alertmanager", True][0].labels)
    assert {k: v for k, v in of_rules.items() if k not in ("job", "instance")} == own


def _it_was_told_behind_its_threshold(direct: Receiver) -> None:
    """It counts from the last progress, which here is the broker's registration."""
    began = heard_of(direct)[0]
    assert began.since is not None
    stood = datetime.fromisoformat(began.starts_at) - datetime.fromisoformat(began.since)
    assert stood.total_seconds() > AFTER_S

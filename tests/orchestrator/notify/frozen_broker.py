"""A real broker freezes with replicas pending: one notification, and one resolution.

In a migration of a real cluster (tests/orchestrator/views/browser/test_migration.py), by both ways
at once: a real Prometheus scrapes `kraftgate run` and evaluates the shipped rules, and Kraftgate
judges and sends itself; both notify one Alertmanager, and Kraftgate also a webhook. `stall.after`
is half a minute here; the rules are as shipped.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from orchestrator.lab import Lab
from orchestrator.lab.machine.ports import LOOPBACK, Ports
from tests.orchestrator.notify.rules import RULES
from tests.orchestrator.notify.scraped_status import status_of, the_scrape_is_what_status_says
from tests.support import alertmanager, prometheus
from tests.support.held_requests import HeldRequests
from tests.support.polling import until
from tests.support.receiver import Receiver, receiving
from tests.system.asking import of
from tests.system.killing import Killed

STALLED: Final = "KraftgateAssignmentStalled"
AFTER_S: Final = 45
"""The alert is critical after three times that, when all is over also on a busy machine."""


@dataclass(frozen=True)
class Told:
    """One alert, as a webhook received it: its route, and whether it is active."""

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


@dataclass(frozen=True)
class Watchers:
    """The receivers.

    Attributes:
        behind: the webhook behind Alertmanager.
        direct: the one that Kraftgate notifies without it.
        alertmanager: host:port.
        metrics: host:port of Kraftgate's, which Prometheus scrapes.
    """

    behind: Receiver
    direct: Receiver
    alertmanager: str
    metrics: str

    @property
    def configuration(self) -> str:
        """The configuration keys of these receivers."""
        return (
            f'metrics: {{listen: "{self.metrics}"}}\n'
            f"stall: {{after: {AFTER_S}s, trial: true}}\n"
            "alerts:\n"
            "  runbook_url: https://wiki.example.com/kraftgate\n"
            f"  alertmanager: [{{url: 'http://{self.alertmanager}'}}]\n"
            f"  webhook: [{{url: '{self.direct.url}/hook'}}]\n"
        )


@contextmanager
def watching(folder: Path) -> Iterator[Watchers]:
    """Run both webhooks and an Alertmanager."""
    with ExitStack() as stack:
        behind = stack.enter_context(receiving())
        direct = stack.enter_context(receiving())
        ports = Ports()
        stack.callback(ports.close)
        address = stack.enter_context(
            alertmanager.running(folder / "alertmanager", f"{behind.url}/heard")
        )
        yield Watchers(behind, direct, address, f"{LOOPBACK}:{ports.take()}")


def freezes_and_is_told_once(
    lab: Lab, run: Killed, assignments: HeldRequests, watchers: Watchers, folder: Path, broker: int
) -> None:
    """Freeze a held broker, and thaw it once all receivers were notified."""
    with prometheus.running(
        folder / "prometheus",
        kraftgate=watchers.metrics,
        rules=RULES.read_text("utf-8"),
        alertmanager=watchers.alertmanager,
    ) as server:
        lab.freeze(f"broker-{broker}")
        until(lambda: len(heard_of(watchers.behind)) >= 2, "Alertmanager tells it by both ways")
        until(lambda: heard_of(watchers.direct), "Kraftgate tells it itself")
        lab.thaw(f"broker-{broker}")
        assignments.let_go()
        run.wait_for_event(of("assignments_complete", broker))
        until(lambda: len(heard_of(watchers.behind)) >= 4, "its end is told by both ways")
        until(lambda: len(heard_of(watchers.direct)) >= 2, "its end is told by Kraftgate")
        lab.wait_in_sync()
        the_scrape_is_what_status_says(run, watchers.metrics)
        assert _firing(server) == set()
        # On a busy machine a scrape may take longer than Prometheus waits.
        until(lambda: _scraped(server), "Prometheus reads the scrape")
    _each_way_told_it_once(watchers, broker)
    _it_was_told_behind_its_threshold(watchers.direct)
    assert [e["name"] for e in status_of(run)["alerts"] if e["name"] == STALLED] == []


def _scraped(server: str) -> bool:
    return set(prometheus.ask(server, "up").values()) == {1.0}


def _firing(server: str) -> set[str]:
    expr = f'ALERTS{{alertname="{STALLED}", alertstate="firing"}}'
    return {dict(labels)["severity"] for labels in prometheus.ask(server, expr)}


def _each_way_told_it_once(watchers: Watchers, broker: int) -> None:
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
        "broker": str(broker),
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

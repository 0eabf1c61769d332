"""One migration without faults, and its monitoring.

A lab of Kafka 3.8.1 (all other tests run 3.9.1) migrates from ZooKeeper to finalized KRaft by the
bundled runbook. A newcomer at a terminal takes it there: `kraftgate init` asks what it needs,
`kraftgate run --execute` performs the steps with the lab's hooks, and the headline of its live view
names each approval. A real Prometheus with the bundled rules scrapes Kraftgate and every node each
second and sends firing alerts to a receiver.
"""

import json
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

from migration.assessment.next_action import Need
from migration.image.summary import Phase
from orchestrator.lab import Lab, LabSpec
from orchestrator.lab.machine.ports import LOOPBACK, Ports
from tests.orchestrator.notify.rules import RULES
from tests.orchestrator.views.terminal.terminal import Terminal
from tests.support.alertmanager import Told
from tests.support.alertmanager import listening as alertmanager
from tests.support.approving import ANNA
from tests.support.older import OlderLab
from tests.support.polling import until
from tests.support.prometheus import ask, running
from tests.system.execution.window import PROGRAM, SMALL, WIDE, Window
from tests.system.killing import CLUSTER
from tests.system.newcomer import Headline, Newcomer, headline

BROKERS: Final = 2
PARTITIONS: Final = 120


@dataclass(frozen=True, kw_only=True)
class Night:
    """The result: Kraftgate has ended, Prometheus and the receiver still answer.

    Attributes:
        state_dir: Kraftgate's state directory, complete and no longer written.
        config: Kraftgate's configuration, for commands that only read.
        prometheus: the server's base address.
        `told`: the alerts that the receiver got.
        dumps: the output of kafka-dump-log for each segment of the controller's log.
        status: the last output of `kraftgate status --json`.
        preflight: the last reason of the condition with which the migration begins.
        versions: of Kafka, which the nodes logged.
        began_s: the start of Kraftgate, in seconds since the epoch.
        ended_s: the time by which Prometheus had scraped the end.
    """

    state_dir: Path
    config: Path
    prometheus: str
    told: Told
    dumps: tuple[str, ...]
    status: dict[str, Any]
    preflight: str
    versions: frozenset[str]
    began_s: float
    ended_s: float


@contextmanager
def clean_night(folder: Path) -> Iterator[Night]:
    """Run the migration, and keep its monitoring running until the block ends."""
    with ExitStack() as stack:
        ports = Ports()
        stack.callback(ports.close)
        metrics = f"{LOOPBACK}:{ports.take()}"
        lab = stack.enter_context(_lab())
        told = stack.enter_context(alertmanager())
        prometheus = stack.enter_context(
            running(
                folder / "prometheus",
                lab.jmx_exporters,
                kraftgate=metrics,
                rules=RULES.read_text("utf-8"),
                alertmanager=told.address,
            )
        )
        exporters = json.dumps({str(id_): url for id_, url in lab.jmx_exporters.items()})
        more = f'metrics: {{listen: "{metrics}"}}\njmx: {{exporters: {exporters}}}\n'
        with Window(folder, lab) as window:
            window.initialize(more)
            began_s = time.time()
            command = (*PROGRAM, "run", "--execute", "--config", str(window.config))
            with Terminal(*WIDE, *command) as terminal:
                window.started(terminal.process)
                terminal.answer(f"Type {CLUSTER} to begin", CLUSTER)
                _walked(window, terminal, prometheus)
                ended_s = time.time()
                status, preflight = window.status(), _preflight(window)
                terminal.interrupt()
            assert not window.leftovers()
        (controller,) = lab.spec.controller_ids
        segments = sorted(lab.metadata_log_dir(f"controller-{controller}").glob("*.log"))
        yield Night(
            dumps=tuple(lab.dump_log(each) for each in segments),
            status=status,
            preflight=preflight,
            versions=frozenset(chain.from_iterable(map(_versions, _logs(lab)))),
            state_dir=window.state,
            config=window.config,
            prometheus=prometheus,
            told=told,
            began_s=began_s,
            ended_s=ended_s,
        )


@contextmanager
def _lab() -> Iterator[Lab]:
    with OlderLab(LabSpec(brokers=BROKERS, directories=2, controllers=1, jmx=True)) as lab:
        lab.start_zookeeper()
        lab.start_brokers()
        lab.create_topic("orders", PARTITIONS, BROKERS)
        for partition in range(3):
            lab.produce("orders", partition, 100)
        yield lab


def _preflight(window: Window) -> str:
    judged = [each for each in window.kinds("judged") if each["checkpoint"] == "preflight"]
    (reason,) = (
        str(each["reason"])
        for each in judged[-1]["findings"]
        if each["condition"] == "preflight_passed"
    )
    return reason


def _logs(lab: Lab) -> list[Path]:
    return [lab.log_file(name) for name in lab.names if name not in lab.zookeeper_names]


def _versions(log: Path) -> list[str]:
    return re.findall(r"Kafka version: (\S+)", log.read_text("utf-8"))


_END_BY_THEMSELVES: Final = (
    "Restore a majority of the controllers",
    "Restore ZooKeeper",
    "Start broker ",
    "Start or check controller ",
)
"""Headlines on a busy machine, where a hook's restart, or an answer, takes longer."""


def _walked(window: Window, terminal: Terminal, prometheus: str) -> None:
    """Run the whole execution as a newcomer does: by the live view alone."""

    def approve(now: Headline) -> None:
        if now.text.startswith(_END_BY_THEMSELVES):
            return
        second = ANNA in now.why
        window.approve_as_asked(now)
        if second:
            terminal.resize(*SMALL)

    def read() -> Headline | None:
        return headline(terminal.look())

    newcomer = Newcomer(window, read, approve)
    newcomer.follow(lambda _: (now := read()) is not None and now.need is Need.NOTHING)
    assert window.walk_now().outcome == "completed"
    summary = window.summary()
    assert summary is not None
    assert summary.phase is Phase.FINALIZED
    scraped = 'kraftgate_phase{phase="finalized"} == 1'
    until(lambda: terminal.look() and ask(prometheus, scraped), "the end is scraped")

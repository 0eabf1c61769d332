"""A real migration, scene by scene, with `kraftgate run --console` beside it.

The steps are the lab's. What the brokers say of their directories can be held back on its way, so
that a broker is held for as long as somebody looks.
"""

import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal

from migration.summary import ClusterSummary, Mode, Phase
from orchestrator.lab import Lab, LabSpec
from orchestrator.lab.ports import LOOPBACK, Ports
from orchestrator.runbook.load import load
from tests.job.killing import Killed
from tests.support.held_requests import ASSIGN_REPLICAS_TO_DIRS, HeldRequests

Scene = Literal[
    "zookeeper", "pre-migration", "hybrid", "held", "assigned", "offline", "dual-write", "finalized"
]
TOPICS: Final = (("orders", 24, 2), ("payments", 12, 2), ("audit", 8, 1))
_STARTED_S_MAX: Final = 120.0


@dataclass(frozen=True)
class Night:
    """What goes on.

    Attributes:
        url: of the console.
    """

    lab: Lab
    run: Killed
    assignments: HeldRequests
    url: str

    def scenes(self) -> Iterator[Scene]:
        """Each when the store shows it; it stands until the next one is asked for."""
        lab, run, ids = self.lab, self.run, self.lab.spec.broker_ids
        run.wait_for(lambda now: all(each.mode is Mode.ZOOKEEPER for each in now.brokers))
        yield "zookeeper"
        lab.start_controllers()
        self.assignments.target = lab.controller_bootstrap
        run.wait_for(_phase(Phase.PRE_MIGRATION))
        yield "pre-migration"
        for each in ids:
            lab.enter_migration(each)
            lab.wait_in_sync()
        lab.wait_copied()
        run.wait_for(_phase(Phase.HYBRID))
        yield "hybrid"
        yield from self._first_broker(ids[0])
        for each in ids[1:]:
            lab.move_to_kraft(each)
            run.wait_for(partial(_complete, id_=each))
            lab.wait_in_sync()
        run.wait_for(_phase(Phase.DUAL_WRITE))
        yield "dual-write"
        lab.finalize()
        run.wait_for(_phase(Phase.FINALIZED))
        yield "finalized"

    def _first_broker(self, id_: int) -> Iterator[Scene]:
        lab, run = self.lab, self.run
        self.assignments.hold()
        lab.move_to_kraft(id_)
        run.wait_for(lambda now: any(each.id == id_ and each.held for each in now.brokers))
        yield "held"
        self.assignments.let_go()
        run.wait_for(partial(_complete, id_=id_))
        lab.wait_in_sync()
        yield "assigned"
        lab.fail_directory(id_, 1)
        lab.wait_directory_noticed(id_, 1)
        run.wait_for_event(lambda event: event.kind == "log_dir_offline" and event.broker == id_)
        yield "offline"
        lab.heal_directory(id_, 1)
        lab.restart(id_)
        lab.wait_in_sync()
        run.wait_for_event(lambda event: event.kind == "log_dir_online" and event.broker == id_)


@contextmanager
def night(folder: Path, *, brokers: int = 2, directories: int = 2) -> Iterator[Night]:
    """Brokers in ZooKeeper mode, and Kraftgate that waits for the controllers."""
    with closing(Ports()) as ports, HeldRequests(ASSIGN_REPLICAS_TO_DIRS) as held:
        between = {"controller.quorum.voters": f"3000@{held.address}"}
        spec = LabSpec(
            brokers=brokers, directories=directories, controllers=1, broker_properties=between
        )
        with Lab(spec) as lab:
            lab.start_zookeeper()
            lab.start_brokers()
            for name, partitions, factor in TOPICS:
                lab.create_topic(name, partitions, factor)
            at = f"{LOOPBACK}:{ports.take()}"
            more = _configured(lab, folder, at)
            with Killed(folder, lab.controller_bootstrap, lab.cluster_id, more) as run:
                run.start("--console")
                _wait_served(f"http://{at}")
                yield Night(lab, run, held, f"http://{at}")
                assert run.interrupt() == 0


def _configured(lab: Lab, folder: Path, at: str) -> str:
    """The shipped runbook, by hand, with its soaks cut to seconds."""
    runbook = folder / "runbook.yaml"
    text = load("zk-to-kraft-jbod").path.read_text("utf-8")
    runbook.write_text(text.replace("soak(1h)", "soak(5s)").replace("soak(10m)", "soak(5s)"))
    return (
        f'zookeeper: {{connect: "{lab.zookeeper_connect}"}}\n'
        f'brokers: {{bootstrap: "{lab.broker_bootstrap}"}}\n'
        f"runbook: {{file: {runbook}}}\n"
        f'console: {{listen: "{at}"}}\n'
    )


def _wait_served(url: str) -> None:
    deadline_s = time.monotonic() + _STARTED_S_MAX
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5):  # noqa: S310  # our own address
                return
        except urllib.error.URLError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.2)


def _phase(phase: Phase) -> Callable[[ClusterSummary], bool]:
    return lambda now: now.phase is phase


def _complete(now: ClusterSummary, id_: int) -> bool:
    return any(
        one.mode is Mode.KRAFT and not one.held and not one.fenced and one.pending == 0
        for one in now.brokers
        if one.id == id_
    )

"""A real migration, scene by scene, while `kraftgate run --console` follows it.

The steps are the lab's, each when the execution shows it. What the brokers say of
their directories can be held back on its way, so that a broker is held for as long as somebody
looks.
"""

import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Literal

from migration.image.summary import ClusterSummary, Mode, Phase
from orchestrator.audit.execution.state import Stage
from orchestrator.lab import Lab, LabSpec
from orchestrator.lab.machine.ports import LOOPBACK, Ports
from orchestrator.run.execution_status import EXECUTION_FILE, read
from orchestrator.runbook.load import load
from tests.support.approving import by_login, by_token
from tests.support.held_requests import ASSIGN_REPLICAS_TO_DIRS, HeldRequests
from tests.support.soaks import short
from tests.system.killing import CLUSTER, Killed

Scene = Literal[
    "zookeeper",
    "pre-migration",
    "hybrid",
    "held",
    "assigned",
    "offline",
    "dual-write",
    "approve",
    "finalized",
]
TOPICS: Final = (("orders", 24, 2), ("payments", 12, 2), ("audit", 8, 1))
_STARTED_S_MAX: Final = 120.0


@dataclass(frozen=True)
class Night:
    """What goes on.

    Attributes:
        url: of the console.
        done: the steps that were made here; the execution shows each until it has observed that.
    """

    lab: Lab
    run: Killed
    assignments: HeldRequests
    url: str
    done: set[str] = field(default_factory=set)

    def scenes(self) -> Iterator[Scene]:
        """Each when the store shows it; it stands until the next one is asked for.

        In `approve` two people must approve `finalize[3000]`, in whatever way.
        """
        lab, run = self.lab, self.run
        run.wait_for(lambda now: all(each.mode is Mode.ZOOKEEPER for each in now.brokers))
        yield "zookeeper"
        self._turn("controllers")
        lab.start_controllers()
        self.assignments.target = lab.controller_bootstrap
        run.wait_for(_phase(Phase.PRE_MIGRATION))
        yield "pre-migration"
        for _ in lab.spec.broker_ids:
            lab.enter_migration(self._turn("brokers-migration"))
        run.wait_for(_phase(Phase.HYBRID))
        yield "hybrid"
        yield from self._first_broker()
        for _ in lab.spec.broker_ids[1:]:
            lab.move_to_kraft(self._turn("brokers-kraft"))
        run.wait_for(_phase(Phase.DUAL_WRITE))
        yield "dual-write"
        self._stands("finalize", Stage.ENTERED)
        yield "approve"
        self._turn("finalize")
        lab.finalize()
        run.wait_for(_phase(Phase.FINALIZED))
        yield "finalized"

    def approve(self, *, in_the_page: bool = False) -> None:
        """Two people do, one in a terminal; the other one in the page, or here by its request."""
        if not in_the_page:
            by_token(self.url, self.run.state, CLUSTER, "finalize[3000]")
        by_login(self.run.config, CLUSTER, "finalize[3000]")

    def _first_broker(self) -> Iterator[Scene]:
        """It is held for as long as somebody looks; then a directory of it fails."""
        lab, run = self.lab, self.run
        id_ = self._turn("brokers-kraft")
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

    def _turn(self, checkpoint: str) -> int:
        """Wait until the execution shows that step again; return its broker or controller."""
        at = self._stands(checkpoint, Stage.SHOWN)
        self.done.add(at)
        number = at.partition("[")[2].rstrip("]")
        return int(number) if number else 0

    def _stands(self, checkpoint: str, stage: Stage) -> str:
        found: list[str] = []

        def there(_: ClusterSummary) -> bool:
            told = read(self.run.state / "clusters" / CLUSTER / EXECUTION_FILE)
            if told is None or told.checkpoint is None or told.stage is not stage:
                return False
            if told.checkpoint in self.done:
                return False
            found.append(told.checkpoint)
            return told.checkpoint.partition("[")[0] == checkpoint

        self.run.wait_for(there)
        return found[-1]


@contextmanager
def night(
    folder: Path, more: str = "", *, brokers: int = 2, directories: int = 2
) -> Iterator[Night]:
    """Brokers in ZooKeeper mode, and Kraftgate that waits for the controllers.

    `more`: of its configuration.
    """
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
            more = _configured(lab, folder, at) + more
            with Killed(folder, lab.controller_bootstrap, lab.cluster_id, more) as run:
                run.start("--console")
                _wait_served(f"http://{at}")
                yield Night(lab, run, held, f"http://{at}")
                assert run.interrupt() == 0
                assert not run.leftovers()


def _configured(lab: Lab, folder: Path, at: str) -> str:
    """The shipped runbook, by hand, with its soaks cut to seconds."""
    runbook = folder / "runbook.yaml"
    text = load("zk-to-kraft-jbod").path.read_text("utf-8")
    runbook.write_text(short(text))
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

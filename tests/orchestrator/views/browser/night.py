"""A real migration, scene by scene, while `kraftgate run --console` follows it.

It begins with `kraftgate init`. A newcomer takes every step from the page's headline: by hand, but
for the restarts into KRaft mode, whose hook fails once for each broker. What the brokers say of
their directories can be held back on its way, so that a broker is held for as long as somebody
looks; one of its directories fails.
"""

import json
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal

from migration.assessment.next_action import Need
from migration.image.summary import ClusterSummary, Mode, Phase
from orchestrator.errors import ExitCode
from orchestrator.lab import Lab, LabSpec
from orchestrator.lab.control.channel import ControlServer
from orchestrator.lab.control.operations import Operations
from orchestrator.lab.machine.ports import LOOPBACK, Ports
from orchestrator.runbook.load import load
from tests.orchestrator.views.browser.newcomer import AtThePage
from tests.support.cli import kraftgate
from tests.support.held_requests import ASSIGN_REPLICAS_TO_DIRS, HeldRequests
from tests.support.lab_steps import wait_directory_noticed
from tests.support.soaks import short
from tests.system.execution.window import HOOK
from tests.system.killing import CLUSTER, Killed
from tests.system.newcomer import edited

Scene = Literal[
    "zookeeper",
    "pre-migration",
    "hybrid",
    "held",
    "assigned",
    "offline",
    "dual-write",
    "finalized",
    "nothing",
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

    def scenes(self, at: AtThePage) -> Iterator[Scene]:
        """Each when the store shows it; it lasts until the next one is requested."""
        run, follow = self.run, at.newcomer.follow
        run.wait_for(lambda now: all(each.mode is Mode.ZOOKEEPER for each in now.brokers))
        yield "zookeeper"
        follow(_phase(Phase.PRE_MIGRATION))
        yield "pre-migration"
        follow(_phase(Phase.HYBRID))
        yield "hybrid"
        self.assignments.hold()
        yield from self._first_broker(at)
        follow(_phase(Phase.DUAL_WRITE))
        yield "dual-write"
        follow(_phase(Phase.FINALIZED))
        yield "finalized"
        follow(lambda _: (read := at.read()) is not None and read.need is Need.NOTHING)
        yield "nothing"

    def _first_broker(self, at: AtThePage) -> Iterator[Scene]:
        """It is held for as long as somebody looks; then a directory of it fails."""
        lab, run = self.lab, self.run
        at.newcomer.follow(lambda now: any(each.held for each in now.brokers))
        (id_,) = (each.id for each in self._now().brokers if each.held)
        yield "held"
        self.assignments.let_go()
        run.wait_for(partial(_complete, id_=id_))
        lab.wait_in_sync()
        yield "assigned"
        lab.fail_directory(id_, 1)
        wait_directory_noticed(lab, id_, 1)
        run.wait_for_event(lambda event: event.kind == "log_dir_offline" and event.broker == id_)
        at.newcomer.follow(
            lambda _: (read := at.read()) is not None and "the disk of broker" in read.text
        )
        yield "offline"
        at.newcomer.follow(lambda _: self._is_online_again(id_))

    def _is_online_again(self, broker: int) -> bool:
        return any(e.kind == "log_dir_online" and e.broker == broker for e in self.run.events())

    def _now(self) -> ClusterSummary:
        summary = self.run.summary()
        assert summary is not None
        return summary


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
            held.target = lab.controller_bootstrap
            at = f"{LOOPBACK}:{ports.take()}"
            with ExitStack() as stack:
                stack.enter_context(closing(ControlServer(lab.home, Operations(lab).handle)))
                stack.callback(lab.end_waits)
                run = stack.enter_context(Killed(folder, lab.controller_bootstrap, lab.cluster_id))
                run.config.write_text(_configured(lab, folder, run.state, at) + more, "utf-8")
                run.start("--console", "--execute")
                _wait_served(f"http://{at}")
                yield Night(lab, run, held, f"http://{at}")
                assert run.interrupt() == 0
                assert not run.leftovers()


def _configured(lab: Lab, folder: Path, state: Path, at: str) -> str:
    """What `kraftgate init` wrote, with one hook and with soaks of a second in its runbook."""
    runbook = folder / "runbook.yaml"
    runbook.write_text(short(load("zk-to-kraft-jbod").path.read_text("utf-8")))
    edits = {
        "state_dir: ./kraftgate-state": f"state_dir: {state}",
        "runbook: {file: zk-to-kraft-jbod}": (
            f"runbook: {{file: {runbook}, hooks: {_one_hook(lab, folder)}}}"
        ),
        '# console: {listen: "127.0.0.1:8464"}': f'console: {{listen: "{at}"}}',
    }
    config = folder / "init" / "kraftgate.yaml"
    config.parent.mkdir()
    addresses = ("--zookeeper", lab.zookeeper_connect, "--controllers", lab.controller_bootstrap)
    done = kraftgate(config, "init", "--name", CLUSTER, *addresses)
    # Its preflight may find topics that are not on every disk yet.
    assert done.returncode in {ExitCode.DONE, ExitCode.HAZARD}, done.stdout + done.stderr
    assert "Next: kraftgate run" in done.stdout
    return edited(config, edits)


def _one_hook(lab: Lab, folder: Path) -> Path:
    """Write the hook of the restarts into KRaft mode, which fails once for each broker."""
    faults, hooks = folder / "faults", folder / "hooks.yaml"
    faults.mkdir()
    for each in lab.spec.broker_ids:
        (faults / f"kraft-broker-{each}").write_text("fail")
    argv = [sys.executable, HOOK, faults, lab.home, *HOOKED]
    hooks.write_text(
        "hooks: 1\nexplain: Only this step has a hook.\nsteps:\n"
        f"  enter-kraft: {{argv: {json.dumps(list(map(str, argv)))}, timeout: 5m}}\n",
        "utf-8",
    )
    return hooks


HOOKED: Final = ("kraftgate", "lab", "kraft-broker", "{broker}")


def _wait_served(url: str) -> None:
    deadline_s = time.monotonic() + _STARTED_S_MAX
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5):  # noqa: S310  # our own address
                return
        except OSError:  # of a server that starts; a URLError is one, too
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

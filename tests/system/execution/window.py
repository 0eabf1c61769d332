"""`kraftgate run --execute` over a lab, as a child process that tests kill, command and query."""

import json
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import psutil

from orchestrator.audit import AUDIT_FILE, AuditLog
from orchestrator.audit.execution.state import ExecutionState, Stage
from orchestrator.audit.execution.trail import ExecutionTrail
from orchestrator.errors import ExitCode, NoDataError
from orchestrator.lab import Lab
from orchestrator.lab.control.channel import ControlServer
from orchestrator.lab.control.operations import Operations
from orchestrator.lab.machine.ports import LOOPBACK, Ports
from orchestrator.run.execution_status import read_for
from orchestrator.runbook.load import load
from tests.orchestrator.views.terminal.terminal import Terminal, WatchedTerminal
from tests.support.approving import ANNA, REASON, by_login, by_token
from tests.support.cli import Done, kraftgate
from tests.support.polling import polls
from tests.support.processes import kill_tree
from tests.support.soaks import short
from tests.system.killing import CLUSTER, Killed
from tests.system.newcomer import Headline, edited, headline, run_command

HOOK = Path(__file__).with_name("lab_hook.py")
PROGRAM: Final = ("-m", "orchestrator")
WIDE: Final = (120, 40)
SMALL: Final = (80, 24)
"""The columns and rows of a terminal."""


class Window(Killed):
    """One window: the lab's hooks, faults on request, and an operator who decides.

    The hooks command the lab through its control server, which ends with the window.
    It executes a bundled runbook with its soaks cut to a second and otherwise unchanged.
    `more`: configuration keys in addition to those that an execution needs. `steps`: further
    hooks. A hook may take five minutes: on a busy machine, three controllers take more than one.
    """

    def __init__(
        self,
        folder: Path,
        lab: Lab,
        more: str = "",
        *,
        book: str = "zk-to-kraft-jbod",
        steps: str = "",
    ) -> None:
        self._ports = Ports()
        console = f"{LOOPBACK}:{self._ports.take()}"
        self._url = f"http://{console}"
        self.faults = folder / "faults"
        self.faults.mkdir()
        self.runbook, self._hooks = folder / "runbook.yaml", folder / "hooks.yaml"
        self.take(book)
        self._hooks.write_text(_hooks(lab, self.faults, steps), "utf-8")
        self.runbook_key = f"runbook: {{file: {self.runbook}, hooks: {self._hooks}}}"
        self.console_key = f'console: {{listen: "{console}"}}'
        has_zookeeper = any(map(lab.was_started, lab.zookeeper_names))
        sources = (
            (f'zookeeper: {{connect: "{lab.zookeeper_connect}"}}\n' if has_zookeeper else "")
            + f'brokers: {{bootstrap: "{lab.broker_bootstrap}"}}\n'
            f"{self.runbook_key}\n{self.console_key}\n"
        )
        super().__init__(folder, lab.controller_bootstrap, lab.cluster_id, sources + more)
        self._log: AuditLog | None = None
        self._trail: ExecutionTrail | None = None
        self._screen: WatchedTerminal | None = None
        self._lab = lab
        self._server = ControlServer(lab.home, Operations(lab).handle)

    def __exit__(self, *arguments: object) -> None:
        """Clean up, and release the console's port."""
        try:
            super().__exit__(*arguments)
            self._leave_terminal()
        finally:
            self._lab.end_waits()
            self._server.close()
            self._ports.close()

    def initialize(self, more: str = "") -> None:
        """Take what `kraftgate init` writes when it asks in a terminal, with the lab's hooks."""
        folder = self.config.parent / "init"
        folder.mkdir()
        written = folder / self.config.name
        with Terminal(*WIDE, *PROGRAM, "init", "--config", str(written)) as terminal:
            terminal.answer("ZooKeeper's address", self._lab.zookeeper_connect)
            terminal.answer("A name for the cluster", CLUSTER)
            terminal.answer("Addresses of the KRaft controllers", self._lab.controller_bootstrap)
            # Its preflight may find a topic that is not on every disk yet, or a busy broker.
            assert terminal.end() in {ExitCode.DONE, ExitCode.HAZARD, ExitCode.NO_DATA}
            assert "Next: kraftgate run" in terminal.written
        edits = {
            "state_dir: ./kraftgate-state": f"state_dir: {self.state}",
            "\nrunbook: {file: zk-to-kraft-jbod}": "",
            "# runbook: {file: zk-to-kraft-jbod, hooks: hooks.yaml}": self.runbook_key,
            '# console: {listen: "127.0.0.1:8464"}': self.console_key,
        }
        self.config.write_text(edited(written, edits) + more, "utf-8")

    def take(self, book: str) -> None:
        """Take a bundled runbook for the next start."""
        self.runbook.write_text(short(load(book).path.read_text("utf-8")))

    def limit(self, step: str, timeout: str) -> None:
        """Set the timeout of a step's hook for the next start."""
        text = self._hooks.read_text("utf-8")
        limited, count = re.subn(rf"({step}:\n.*\n +timeout: )\w+", rf"\g<1>{timeout}", text)
        assert count == 1, text
        self._hooks.write_text(limited, "utf-8")

    def approve_alone(self, checkpoint: str) -> None:
        """Approve in a terminal, once the execution reaches the checkpoint."""
        self.wait_at(checkpoint, Stage.ENTERED)
        by_login(self.config, CLUSTER, checkpoint)

    def approve(self, checkpoint: str) -> None:
        """Two people approve: one in a terminal, one in the console."""
        by_login(self.config, CLUSTER, checkpoint)
        self.approve_in_console(checkpoint)

    def approve_in_console(self, checkpoint: str) -> None:
        """Approve as the console's page does."""
        by_token(self._url, self.state, CLUSTER, checkpoint)

    def approve_as_asked(self, now: Headline) -> None:
        """Approve by the headline's command; in the console, if one did it in a terminal before."""
        assert now.text.startswith("Approve: "), now
        if ANNA in now.why:
            self.approve_in_console(shlex.split(now.commands[0])[2])
        else:
            done = run_command(now.commands[0], REASON, "--who", ANNA)
            assert done.returncode == ExitCode.DONE, done.stderr

    @property
    def screen(self) -> WatchedTerminal:
        """The terminal in which Kraftgate runs."""
        assert self._screen is not None
        return self._screen

    def headline(self) -> Headline | None:
        """Return the headline of the terminal; None: it shows none yet."""
        return headline(self.screen.look())

    def start_in_terminal(self, columns: int, rows: int) -> None:
        """Start or resume the execution in a terminal, as an operator who watches it."""
        self._leave_terminal()
        command = (*PROGRAM, "run", "--execute", "--config", str(self.config))
        self._screen = WatchedTerminal(columns, rows, *command)
        self.started(self._screen.process)
        self._screen.answer(f"Type {CLUSTER} to begin", CLUSTER)

    def _leave_terminal(self) -> None:
        if self._screen is not None:
            self._screen.__exit__(None, None, None)
            self._screen = None

    def start(self, *arguments: str) -> None:
        """Start or resume the execution."""
        super().start("--execute", *arguments)

    def start_by_hand(self) -> None:
        """Start or resume the execution without hooks: every step is shown."""
        super().start()

    def kill_only_kraftgate(self) -> None:
        """Send kill -9 to Kraftgate and to Spark's JVM; a running hook continues."""
        assert self._process is not None
        kill_tree(self._process.pid, spared=_is_of_a_hook)
        self._process.wait(120)

    @property
    def pid(self) -> int:
        """Of the orchestrator that runs."""
        assert self._process is not None
        return self._process.pid

    def fault(self, command: str, what: str) -> None:
        """Make the next hook with this command of the lab meet a fault of lab_hook.py."""
        (self.faults / command.replace(" ", "-")).write_text(what)

    def wait_hook(self, command: str) -> None:
        """Wait until the hook reports that it runs."""
        shown = self.faults / f"{command.replace(' ', '-')}.runs"
        self.wait_true(shown.exists, "the hook to run")

    def say(self, *words: str) -> str:
        """Run a command of kraftgate that must succeed; return its output."""
        done = self.ask(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def ask(self, *words: str) -> Done:
        """Run a command of kraftgate."""
        return kraftgate(self.config, *words)

    def status(self) -> dict[str, Any]:
        """Return the output of `kraftgate status --json`."""
        found: dict[str, Any] = json.loads(self.ask("status", "--json").stdout)
        return found

    def holds(self) -> tuple[str, ...]:
        """Return why the execution does not continue, as its last tick stored it."""
        status = read_for(self.state, CLUSTER)
        return () if status is None else status.holds

    def walk(self) -> ExecutionState | None:
        """Return the execution's state from the audit trail."""
        if self._trail is None:
            try:
                self._log = AuditLog.open_readonly(self.state / AUDIT_FILE)
            except NoDataError:
                return None
            self._trail = ExecutionTrail(self._log, CLUSTER)
        return self._trail.state()

    def walk_now(self) -> ExecutionState:
        """Return the state of an execution that has begun."""
        walk = self.walk()
        assert walk is not None
        return walk

    def kinds(self, kind: str) -> list[dict[str, Any]]:
        """Return the bodies of all entries of a kind."""
        assert self._log is not None
        return [dict(e.body) for e in self._log.entries(CLUSTER) if e.kind == kind]

    def wait_walk(
        self, holds: Callable[[ExecutionState], bool], what: str, timeout_s: float = 900.0
    ) -> ExecutionState:
        """Wait until the execution's state satisfies `holds`."""

        def there() -> bool:
            walk = self.walk()
            return walk is not None and holds(walk)

        self.wait_true(there, what, timeout_s)
        walk = self.walk()
        assert walk is not None
        return walk

    def wait_at(self, checkpoint: str, stage: Stage) -> None:
        """Wait until the execution's checkpoint is in a stage."""
        self.wait_walk(
            lambda walk: walk.checkpoint(checkpoint).stage is stage, f"{checkpoint} to be {stage}"
        )

    def wait_true(self, holds: Callable[[], bool], what: str, timeout_s: float = 900.0) -> None:
        """Wait for something, while kraftgate runs."""
        for _ in polls(timeout_s):
            if holds():
                return
            assert self._process is not None
            assert self._process.poll() is None, self._printed()
        raise AssertionError(
            f"not within {timeout_s} s: {what}; {self._where()}\n{self._printed()}"
        )

    def _printed(self) -> str:
        shown = "" if self._screen is None else "\n".join(self._screen.frame())
        return super()._printed() + shown

    def _where(self) -> str:
        file = self.state / "clusters" / CLUSTER / "walk.json"
        if not file.exists():
            return "no walk"
        shown = json.loads(file.read_text())
        ended = self.kinds("step_ended")[-1:] if self._log else []
        return f"{shown['checkpoint']} {shown['stage']}: {shown['holds']}; last step: {ended}"


def _is_of_a_hook(process: psutil.Process) -> bool:
    try:
        words = " ".join(process.cmdline())
    except psutil.Error:
        return False
    return "hook_runner" in words or HOOK.name in words or "orchestrator lab" in words


def _hooks(lab: Lab, faults: Path, steps: str) -> str:
    """Return the lab's own hooks and `steps`, each wrapped by a script that can inject a fault."""
    text = (load("zk-to-kraft-jbod").path.parent / "hooks" / "lab.yaml").read_text("utf-8")
    return (text + steps).replace(
        "argv: [", f"argv: [{sys.executable}, {HOOK}, {faults}, {lab.home}, "
    )

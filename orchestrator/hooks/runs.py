"""Runs of the operator's commands that outlive Kraftgate: started here, checked later.

Each run has a directory `hooks/RUN_ID` and a supervisor (`orchestrator.hooks.supervisor`), which
holds a lock there as long as it lives. So after any crash it is known that a command was never
started, still runs, or how it ended; it is unknown only if the supervisor died too.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from orchestrator.errors import HookError
from orchestrator.hooks import files
from orchestrator.hooks.files import Outcome, ProcessId
from orchestrator.hooks.supervisor import STARTED_WORD, Order
from orchestrator.process.environment import child_environment
from orchestrator.redaction.known_secrets import Secrets
from streams.process.child import module_environment
from streams.state.directory import GIVEN_UMASK
from streams.state.files import sync_directory, try_lock

HOOKS: Final = "hooks"
_RUN_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._\[\]-]{0,127}")
_START_S_MAX: Final = 30.0
_LOCK_S_MAX: Final = 5.0
_LOG_CHARACTERS: Final = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """An operator's command, ready to run; no shell is involved.

    Attributes:
        environment: set for the command; must not contain secrets.
        pass_env: variables of Kraftgate's own environment that the command gets, in addition to
            those that every command gets; see `orchestrator.process.environment`.
        secrets: what must be redacted in its output.
        timeout_s: time until SIGTERM is sent.
        patience_s: time from SIGTERM to SIGKILL.
        begin_before_s: the command is refused from this time on, by `boot_clock_s`, because another
            orchestrator may then hold the lock of the cluster. None: no limit.
    """

    argv: tuple[str, ...]
    timeout_s: float
    environment: Mapping[str, str] = field(default_factory=dict)
    pass_env: tuple[str, ...] = ()
    secrets: Secrets = field(default_factory=Secrets)
    patience_s: float = 10.0
    begin_before_s: float | None = None


@dataclass(frozen=True, slots=True)
class NotStarted:
    """Nothing was done: the run may be started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """The supervisor is alive.

    Attributes:
        ends_ms: when the command should have ended; None: an earlier release began it.
    """

    ends_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The command has ended; `output` is the file of its output."""

    outcome: Outcome
    output: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """The run may have begun, and there is no outcome.

    Attributes:
        why: its supervisor is gone, as after a machine crash, or its files are.
        still_running: processes of the command that were still running when checked.
    """

    why: str
    still_running: tuple[int, ...] = ()


RunState: TypeAlias = NotStarted | Running | Ended | Unknown


class HookRuns:
    """All runs of a state directory."""

    def __init__(self, state_dir: Path) -> None:
        self._directory = state_dir / HOOKS

    def prepare(self, run_id: str, step: Mapping[str, Any]) -> None:
        """Store durably (a power cut does not undo it) for which step a run will be started.

        Raises:
            HookError: it cannot be stored; nothing was done.
        """
        directory = self._of(run_id)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            files.write_json(directory / files.STEP, step)
            sync_directory(self._directory)
        except OSError as error:
            raise HookError(f"the run {run_id} cannot be prepared: {error}") from error

    def is_prepared(self, run_id: str, step: Mapping[str, Any]) -> bool:
        """Return whether this directory has the run, for this very step; an earlier copy does not.

        Raises:
            HookError: its files cannot be read.
        """
        directory = self._of(run_id)
        found = files.read_json(directory / files.STEP)
        # A run that an earlier release began has no such file.
        return directory.exists() if found is None else found == step

    def start(self, run_id: str, hook: Hook) -> None:
        """Start a command under a supervisor; when this returns, it runs or has already ended.

        Raises:
            HookError: this run was started before, or the supervisor cannot be started.
            SecretUnknown: a secret of the hook cannot be read; nothing was done.
            VariableNotSet: a variable to pass is not set; nothing was done.
        """
        directory = self._of(run_id)
        environment = {**child_environment(hook.pass_env), **hook.environment}
        redactor = hook.secrets.redactor({**os.environ, **hook.environment})
        try:
            directory.mkdir(parents=True, exist_ok=True)
            with _locked(directory) as lock:
                if (directory / files.STARTED).exists():
                    raise HookError(f"the run {run_id} was started before: check its files")
                spec = {
                    "argv": redactor.argv(hook.argv),
                    "environment": redactor.body(dict(hook.environment)),
                    "pass_env": list(hook.pass_env),
                    "secrets": [*hook.secrets.variables, *map(str, hook.secrets.files)],
                    "timeout_s": hook.timeout_s,
                }
                files.write_json(directory / files.SPEC, spec)
                sync_directory(self._directory)
                _supervise(directory, hook, environment, lock)
        except OSError as error:
            raise HookError(f"the run {run_id} cannot be started: {error}") from error

    def state(self, run_id: str) -> RunState:
        """Return the state of a run that was prepared.

        Raises:
            HookError: its files cannot be read.
        """
        directory = self._of(run_id)
        ended = self._ended(directory)
        if ended is not None:
            return ended
        if _is_held(directory):
            step = None
            with suppress(HookError):  # it shows only when an alert is due
                step = files.read_json(directory / files.STEP)
            return Running(ends_ms=(step or {}).get("ends_ms"))
        started = _was_started(directory)
        ended = self._ended(directory)  # it may have ended since the first read
        if ended is not None:
            return ended
        if not started:
            if (directory / files.STEP).exists():
                return NotStarted()
            return Unknown(
                why=f"its files in {directory} are gone: check on this host whether it runs"
            )
        process = files.read_json(directory / files.PROCESS)
        left = () if process is None else _process(process).session()
        return Unknown(why="its supervisor is gone", still_running=left)

    def runs(self, run_id: str) -> bool:
        """Return whether the command runs, or processes of it that its supervisor left behind.

        Raises:
            HookError: its files cannot be read.
        """
        found = self.state(run_id)
        return isinstance(found, Running) or (
            isinstance(found, Unknown) and bool(found.still_running)
        )

    def _of(self, run_id: str) -> Path:
        if not _RUN_ID.fullmatch(run_id):
            raise HookError(f"{run_id!r} cannot name a run of a hook")
        return self._directory / run_id

    def _ended(self, directory: Path) -> Ended | None:
        outcome = files.read_outcome(directory)
        return None if outcome is None else Ended(outcome=outcome, output=directory / files.OUTPUT)


def _supervise(directory: Path, hook: Hook, environment: Mapping[str, str], lock: int) -> None:
    """Start the supervisor, which inherits the lock, and wait until it reports the start."""
    order = Order(
        argv=hook.argv,
        environment=environment,
        variables=hook.secrets.variables,
        files=tuple(map(str, hook.secrets.files)),
        timeout_s=hook.timeout_s,
        patience_s=hook.patience_s,
        begin_before_s=hook.begin_before_s,
        umask=GIVEN_UMASK,
    )
    with (directory / files.LOG).open("wb") as log:
        process = subprocess.Popen(
            # Not from the working directory, which may have modules of the same names.
            [sys.executable, "-P", "-m", "orchestrator.hooks.supervisor", str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=module_environment(),
            pass_fds=(lock,),
            start_new_session=True,
        )
    try:
        reported, _ = process.communicate(order.to_json().encode(), timeout=_START_S_MAX)
    except subprocess.TimeoutExpired as error:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise HookError(
            f"the supervisor in {directory} did not begin within {_START_S_MAX:.0f} s and was"
            " killed: check the run before it is started again"
        ) from error
    if reported != STARTED_WORD:
        log_text = (directory / files.LOG).read_text(encoding="utf-8", errors="replace")
        raise HookError(f"the supervisor in {directory} failed:\n{log_text[-_LOG_CHARACTERS:]}")


@contextmanager
def _locked(directory: Path) -> Iterator[int]:
    """Hold the run's lock; a process that inherits the descriptor holds it too.

    Raises:
        HookError: a supervisor holds it.
    """
    with (directory / files.LOCK).open("ab") as file:
        # `_is_held` takes it for a moment too.
        if not try_lock(file.fileno(), wait_s_max=_LOCK_S_MAX):
            raise HookError(f"the run in {directory} has a supervisor: check its files")
        yield file.fileno()


def _is_held(directory: Path) -> bool:
    try:
        with (directory / files.LOCK).open("rb") as file:
            return not try_lock(file.fileno(), shared=True)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise HookError(f"{directory / files.LOCK} cannot be read: {error}") from error


def _was_started(directory: Path) -> bool:
    """Return whether the command may have been started; a damaged file proves that, too."""
    try:
        return files.read_json(directory / files.STARTED) is not None
    except HookError:
        return True


def _process(found: Mapping[str, Any]) -> ProcessId:
    try:
        pid, started = int(found["pid"]), int(found["started"])
        return ProcessId(pid=pid, started=started, boot=str(found["boot"]))
    except (KeyError, TypeError, ValueError) as error:
        raise HookError(f"{files.PROCESS} of a hook names no process: {error!r}") from error

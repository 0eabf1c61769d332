"""A user's own condition that is a command; its exit code is the verdict."""

import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from migration.assessment.conditions import Finding, Verdict
from migration.values.durations import format_duration
from orchestrator.process.environment import VariableNotSet, child_environment
from orchestrator.runbook.model import ShellCondition
from streams.state.directory import GIVEN_UMASK

CLUSTER: Final = "KRAFTGATE_CLUSTER"
"""The environment variable that names the cluster of the condition."""
_VERDICTS: Final = {0: Verdict.SATISFIED, 1: Verdict.WAITING, 2: Verdict.VIOLATED}
_KEPT_BYTES: Final = 8192
_LINE_MAX: Final = 300
_POLL_S: Final = 0.05
_GRACE_S: Final = 2.0


class _Ended(NamedTuple):
    """How a command ended; `code` None: it was killed because it exceeded its timeout."""

    code: int | None
    output: bytes


def ask_shell(name: str, shell: ShellCondition, cluster: str) -> Finding:
    """Run the command without a shell; it and the processes it leaves end within its timeout."""

    def unknown(reason: str) -> Finding:
        return Finding(condition=name, verdict=Verdict.UNKNOWN, reason=reason)

    try:
        environment = child_environment(shell.pass_env)
        ended = _run(shell, {**environment, CLUSTER: cluster})
    except VariableNotSet as error:
        return unknown(str(error))
    except OSError as error:
        return unknown(f"{shell.argv[0]} cannot be started: {error.strerror}")
    if ended.code is None:
        return unknown(f"{shell.argv[0]} did not end within {format_duration(shell.timeout)}")
    how = f"exit code {ended.code}" if ended.code >= 0 else f"ended by signal {-ended.code}"
    return Finding(
        condition=name,
        verdict=_VERDICTS.get(ended.code, Verdict.UNKNOWN),
        reason=_last_line(ended.output) or f"{shell.argv[0]}: {how}",
        evidence=(how,),
    )


def _run(shell: ShellCondition, environment: Mapping[str, str]) -> _Ended:
    deadline_s = time.monotonic() + shell.timeout.total_seconds()
    reader, writer = os.pipe()
    try:
        try:
            process = subprocess.Popen(
                shell.argv,
                stdin=subprocess.DEVNULL,
                stdout=writer,
                stderr=writer,
                env=environment,
                start_new_session=True,
                umask=GIVEN_UMASK,
            )
        finally:
            os.close(writer)
        try:
            in_time, output = _read(process, reader, deadline_s)
            if not in_time:
                _signal(process, signal.SIGTERM)
                _await_exit(process, time.monotonic() + _GRACE_S)
        finally:
            # Not reaped yet, so the process group id is still the command's own, and every process
            # that it left in the group ends too.
            _signal(process, signal.SIGKILL)
            _await_exit(process, time.monotonic() + _GRACE_S)
            code = process.poll()
    finally:
        os.close(reader)
    return _Ended(code if in_time else None, output)


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signal the command and its processes; processes of another user cannot be signalled."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _read(process: subprocess.Popen[bytes], reader: int, deadline_s: float) -> tuple[bool, bytes]:
    """Read until the command has exited; return whether that was in time, and its last output."""
    kept, poll = b"", select.poll()
    poll.register(reader, select.POLLIN)
    while (left_s := deadline_s - time.monotonic()) > 0:
        ready = poll.poll(min(_POLL_S, left_s) * 1000)
        if ready and ready[0][1] & select.POLLIN:
            kept = (kept + os.read(reader, _KEPT_BYTES))[-_KEPT_BYTES:]
        elif _has_exited(process):
            return True, kept
        elif ready:  # the output is closed, and the command still runs
            time.sleep(min(_POLL_S, left_s))
    return _has_exited(process), kept


def _has_exited(process: subprocess.Popen[bytes]) -> bool:
    """Check without reaping: a zombie keeps the id of its process group reserved."""
    flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
    return os.waitid(os.P_PID, process.pid, flags) is not None


def _await_exit(process: subprocess.Popen[bytes], deadline_s: float) -> None:
    while not _has_exited(process) and time.monotonic() < deadline_s:
        time.sleep(_POLL_S)


def _last_line(output: bytes) -> str:
    lines = [each.strip() for each in output.decode("utf-8", "replace").splitlines()]
    last = next((each for each in reversed(lines) if each), "")
    return "".join(each for each in last if each.isprintable())[:_LINE_MAX]

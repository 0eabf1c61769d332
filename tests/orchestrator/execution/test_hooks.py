"""How a hook ends is known, however it ends, and its whole tree of processes with it."""

import json
import os
import signal
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from orchestrator.errors import HookError, SecretUnknown
from orchestrator.hooks import runs as hooks
from orchestrator.hooks.files import End, Outcome
from orchestrator.hooks.output import PART_BYTES
from orchestrator.hooks.runs import Hook, HookRuns, NotStarted, Running
from orchestrator.process.environment import PASSED, VariableNotSet
from orchestrator.redaction.known_secrets import Secrets
from streams.process.clocks import boot_clock_s
from tests.orchestrator.execution.running import (
    MARK,
    ended,
    hook,
    is_gone,
    number_in,
    python,
    ran,
    stop,
    until,
)


@pytest.mark.parametrize("code", [0, pytest.param(1, marks=pytest.mark.slow), 255])
def test_an_exit_code_is_kept(runs: HookRuns, code: int) -> None:
    found, output = ran(runs, hook("sh", "-c", f"echo out; echo err >&2; exit {code}"))
    assert (found.outcome.end, found.outcome.exit_code) == (End.EXITED, code)
    assert found.outcome.succeeded is (code == 0)
    assert output == b"out\nerr\n"
    assert found.outcome.output_bytes == 8
    assert found.outcome.started_ms <= found.outcome.ended_ms


def test_a_signal_is_kept(runs: HookRuns) -> None:
    found, _ = ran(runs, hook("sh", "-c", "kill -SEGV $$"))
    assert (found.outcome.end, found.outcome.signal) == (End.SIGNALLED, signal.SIGSEGV)
    assert not found.outcome.succeeded


def test_a_command_whose_process_cannot_be_recorded_is_supervised_to_its_end(
    runs: HookRuns, state: Path
) -> None:
    """As on a disk that fills up between its start and the record."""
    (state / "hooks" / "run-1" / "process.json" / "taken").mkdir(parents=True)
    found, output = ran(runs, hook("sh", "-c", "sleep 0.2; echo out"))
    assert found.outcome.succeeded
    assert output == b"out\n"


def test_an_outcome_is_written_once_the_disk_has_space(runs: HookRuns, state: Path) -> None:
    """A directory with the name of the file fails the write, as a full disk does."""
    directory = state / "hooks" / "run-1"
    blocked = directory / "outcome.json" / "taken"
    blocked.mkdir(parents=True)
    runs.start("run-1", hook("sh", "-c", "exit 7"))
    log = directory / "supervisor.log"
    until(lambda: "the outcome cannot be written yet" in log.read_text() or None)
    blocked.rmdir()
    blocked.parent.rmdir()
    assert ended(runs, "run-1").outcome.exit_code == 7


def test_the_supervisor_ends_without_the_directory_of_its_run(runs: HookRuns, state: Path) -> None:
    runs.start("run-1", hook("sh", "-c", "sleep 0.2"))
    directory = state / "hooks" / "run-1"
    supervisor = json.loads((directory / "started.json").read_text())["pid"]
    directory.rename(state / "elsewhere")  # at once: the supervisor may be about to write
    assert until(lambda: is_gone(supervisor))


@pytest.mark.parametrize("content", [None, "not a program"])
def test_a_command_that_cannot_be_started(
    runs: HookRuns, tmp_path: Path, content: str | None
) -> None:
    """There is no such file; it is not executable."""
    command = tmp_path / "restart"
    if content is not None:
        command.write_text(content)
    found, output = ran(runs, hook(str(command)))
    assert found.outcome.end is End.REFUSED
    assert str(command) in found.outcome.why
    assert output == b""


def test_a_command_without_permission_is_refused(runs: HookRuns, tmp_path: Path) -> None:
    """Not executable even by root: no bit is set."""
    command = tmp_path / "restart"
    command.write_text("#!/bin/sh\n")
    command.chmod(0o600)
    found, _ = ran(runs, hook(str(command)))
    assert found.outcome.words().startswith("could not be started: [Errno 13]")


def test_the_command_runs_with_what_it_is_told(runs: HookRuns) -> None:
    code = "import os, sys; print(os.environ['BROKER'], sys.stdin.read() == '')"
    what = Hook(argv=python(code), timeout_s=60.0, environment={"BROKER": "3"})
    _, output = ran(runs, what)
    assert output.decode().split() == ["3", "True"]


def test_a_command_that_does_not_end_in_time_is_ended(runs: HookRuns) -> None:
    found, output = ran(runs, hook("sh", "-c", "exec sleep 600", timeout_s=0.2))
    assert (found.outcome.end, found.outcome.signal) == (End.TIMED_OUT, signal.SIGTERM)
    assert output == b""


_ORDERLY = """
import os, signal, sys
def told(number, frame):
    print("told", flush=True)
    sys.exit(7)
signal.signal(signal.SIGTERM, told)
with open(sys.argv[1], "w") as file:
    print(os.getpid(), file=file)
while True:
    signal.pause()
"""


def test_a_hook_that_runs_says_when_it_must_have_ended(
    runs: HookRuns, state: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "pid"
    runs.prepare("run-1", {"ends_ms": 1_000})
    runs.start("run-1", hook(*python(_ORDERLY, str(mark))))
    until(lambda: number_in(mark))
    assert runs.state("run-1") == Running(ends_ms=1_000)
    stop(state, "run-1")
    ended(runs, "run-1")


def test_a_command_that_is_told_to_end_may_do_so_in_order(
    runs: HookRuns, state: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "pid"
    runs.start("run-1", hook(*python(_ORDERLY, str(mark))))
    until(lambda: number_in(mark))
    assert isinstance(runs.state("run-1"), Running)
    stop(state, "run-1")
    found = ended(runs, "run-1")
    assert (found.outcome.end, found.outcome.exit_code) == (End.STOPPED, 7)
    assert found.output.read_bytes() == b"told\n"


_STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if len(sys.argv) > 2:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execv(sys.executable, [sys.executable, "-c", sys.argv[2], sys.argv[1] + ".child"])
        os._exit(0)
with open(sys.argv[1], "w") as file:
    print(os.getpid(), file=file)
while True:
    time.sleep(60)
"""


def test_a_tree_that_ignores_sigterm_is_killed(runs: HookRuns, state: Path, tmp_path: Path) -> None:
    """Also a child in a session of its own, whose parent has ended."""
    mark = tmp_path / "pid"
    runs.start("run-1", hook(*python(_STUBBORN, str(mark), _STUBBORN), patience_s=0.2))
    pids = [until(lambda: number_in(mark)), until(lambda: number_in(tmp_path / "pid.child"))]
    assert os.getsid(pids[0]) != os.getsid(pids[1])
    stop(state, "run-1")
    found = ended(runs, "run-1")
    assert (found.outcome.end, found.outcome.signal) == (End.STOPPED, signal.SIGKILL)
    assert found.outcome.still_running == ()
    for pid in pids:
        assert until(partial(is_gone, pid))


def test_children_of_a_command_that_ends_when_told_are_killed_too(
    runs: HookRuns, state: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "pid"
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', *sys.argv[1:]])"
    runs.start("run-1", hook(*python(code, _STUBBORN, str(mark)), patience_s=0.2))
    pid = until(lambda: number_in(mark))
    stop(state, "run-1")
    assert ended(runs, "run-1").outcome.signal == signal.SIGTERM
    assert until(partial(is_gone, pid))


def test_what_a_command_leaves_behind_goes_on(runs: HookRuns, tmp_path: Path) -> None:
    """It may be the broker; and it may write on, more than a pipe holds, to nobody."""
    mark, go = tmp_path / "pid", tmp_path / "go"
    os.mkfifo(go)
    flood = f"head -c 1000000 /dev/zero && echo alive >> {mark}"
    left = f"echo $$ > {mark}; read line < {go}; {flood}"
    found, output = ran(runs, hook("sh", "-c", f"sh -c '{left}' & echo started"))
    assert found.outcome.succeeded
    assert output == b"started\n"
    pid = until(lambda: number_in(mark))
    assert pid in found.outcome.still_running
    go.write_text("go\n")
    assert until(lambda: is_gone(pid))
    assert mark.read_text().endswith("alive\n")


@pytest.mark.parametrize("megabytes", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_a_flood_is_kept_in_part(runs: HookRuns, megabytes: int) -> None:
    code = """
import os, sys
print("the first line", flush=True)
line = b"x" * 99 + b"\\n"
for _ in range(10 * int(sys.argv[1])):
    sys.stdout.buffer.write(line * 1000)
print("password=hunter2 the last line")
"""
    found, output = ran(runs, hook(*python(code, str(megabytes))))
    assert found.outcome.succeeded
    assert found.outcome.output_bytes > megabytes * 1_000_000
    assert output.startswith(b"the first line\n")
    assert output.endswith(b"password=[redacted] the last line\n")
    assert b"hunter2" not in output
    assert len(output) < 3 * PART_BYTES + 1000
    assert f"left out {found.outcome.left_out_bytes} bytes".encode() in output
    assert found.outcome.left_out_bytes > megabytes * 1_000_000 - 3 * PART_BYTES


def test_binary_output_is_kept(runs: HookRuns) -> None:
    code = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 100)"
    found, output = ran(runs, hook(*python(code)))
    assert output == bytes(range(256)) * 100
    assert found.outcome.left_out_bytes == 0


def test_output_is_there_while_the_command_runs(runs: HookRuns, tmp_path: Path) -> None:
    go = tmp_path / "go"
    os.mkfifo(go)
    runs.start("run-1", hook("sh", "-c", f"echo first; read line < {go}; echo second"))
    file = tmp_path / "state" / "hooks" / "run-1" / "output"
    assert until(lambda: file.read_bytes() or None) == b"first\n"
    go.write_text("go\n")
    assert ended(runs, "run-1").output.read_bytes() == b"first\nsecond\n"


def test_secrets_come_by_environment_and_are_nowhere_on_the_disk(
    runs: HookRuns, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Printed in two writes, in base64, in an argument, and as the command's own name."""
    monkeypatch.setenv("MINE", "s3cr3t-value")
    (state.parent / "password").write_text("s3cr3t-file\n")
    secrets = Secrets(variables=("MINE",), files=(state.parent / "password",))
    code = """
import base64, os, sys, time
mine = os.environ["MINE"]
os.write(1, b"begin " + mine[:5].encode()); os.write(2, mine[5:].encode() + b" end\\n")
print(base64.b64encode(mine.encode()).decode(), "s3cr3t" + "-file", sys.argv[1] == mine)
"""
    what = hook(*python(code, "s3cr3t-value"), secrets=secrets)
    what = replace(what, pass_env=(*what.pass_env, "MINE"))
    _, output = ran(runs, what)
    assert output == b"begin [redacted] end\n[redacted] [redacted] True\n"
    ran(runs, hook("/bin/s3cr3t-value", secrets=secrets), "run-2")
    for file in state.rglob("*"):
        if file.is_file():
            assert b"s3cr3t-" not in file.read_bytes(), file
    spec = json.loads((state / "hooks" / "run-1" / "spec.json").read_text())
    assert spec["argv"][-1] == "[redacted]"
    assert spec["secrets"] == ["MINE", str(state.parent / "password")]


def test_a_command_gets_no_more_of_the_environment_than_is_listed(
    runs: HookRuns, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a password nor what Python's own supervisor needs."""
    for name in ("KAFKA_PASSWORD", "AWS_SECRET_ACCESS_KEY", "PYTHONPATH", "LC_TIME", "TZ"):
        monkeypatch.setenv(name, f"the value of {name}")
    monkeypatch.setenv("PYTHONPATH", str(Path.cwd()))
    monkeypatch.setenv("SSH_AUTH_SOCK", "/run/agent")
    what = Hook(
        argv=python("import json, os; print(json.dumps(dict(os.environ)))"),
        timeout_s=60.0,
        environment={"KRAFTGATE_CLUSTER": "prod"},
        pass_env=(*MARK, "SSH_AUTH_SOCK"),
    )
    _, output = ran(runs, what)
    got = json.loads(output)
    assert got["SSH_AUTH_SOCK"] == "/run/agent"
    assert got["KRAFTGATE_CLUSTER"] == "prod"
    assert {"PATH", "LC_TIME", "TZ"} <= got.keys()
    listed = {*PASSED, "KRAFTGATE_CLUSTER", "SSH_AUTH_SOCK", *MARK}
    assert {name for name in got if not name.startswith("LC_")} <= listed
    spec = json.loads((state / "hooks" / "run-1" / "spec.json").read_text())
    assert spec["pass_env"] == [*MARK, "SSH_AUTH_SOCK"]


def test_without_a_variable_that_it_needs_nothing_is_started(runs: HookRuns) -> None:
    runs.prepare("run-1", {})
    with pytest.raises(VariableNotSet, match="`pass_env` names ABSENT"):
        runs.start("run-1", replace(hook("true"), pass_env=("ABSENT",)))
    assert runs.state("run-1") == NotStarted()


def test_without_its_secret_nothing_is_started(runs: HookRuns) -> None:
    runs.prepare("run-1", {})
    with pytest.raises(SecretUnknown, match="ABSENT"):
        runs.start("run-1", hook("true", secrets=Secrets(variables=("ABSENT",))))
    assert runs.state("run-1") == NotStarted()


def test_a_run_is_started_once(runs: HookRuns, tmp_path: Path) -> None:
    count = tmp_path / "count"
    what = hook("sh", "-c", f"echo once >> {count}")
    ran(runs, what)
    with pytest.raises(HookError, match="was started before"):
        runs.start("run-1", what)
    assert count.read_text() == "once\n"


@pytest.mark.parametrize("run_id", ["", "..", "a/b", ".hidden", "x" * 200])
def test_a_run_has_a_plain_name(runs: HookRuns, run_id: str) -> None:
    with pytest.raises(HookError, match="cannot name"):
        runs.state(run_id)


def test_a_supervisor_that_fails_did_nothing(
    runs: HookRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs.prepare("run-1", {})
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", "/bin/false")
        with pytest.raises(HookError, match=r"the supervisor in .* failed"):
            runs.start("run-1", hook("true"))
    assert runs.state("run-1") == NotStarted()
    found, _ = ran(runs, hook("true"))
    assert found.outcome.succeeded


def test_the_supervisor_imports_nothing_from_the_working_directory(
    runs: HookRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "psutil.py").write_text("raise SystemExit('code of another user')")
    monkeypatch.chdir(tmp_path)
    found, _ = ran(runs, hook("true"))
    assert found.outcome.succeeded


def test_every_end_has_words() -> None:
    for end in End:
        outcome = Outcome(
            end=end, started_ms=0, ended_ms=1, output_bytes=0, left_out_bytes=0, why="x"
        )
        assert outcome.words()


def test_a_command_is_not_begun_when_the_lock_may_be_lost(runs: HookRuns) -> None:
    late = replace(hook("echo", "done"), begin_before_s=boot_clock_s())
    found, output = ran(runs, late)
    assert found.outcome.end is End.REFUSED
    assert "too late to begin" in found.outcome.words()
    assert output == b""
    in_time = replace(hook("echo", "done"), begin_before_s=boot_clock_s() + 60.0)
    assert ran(runs, in_time, "run-2")[1] == b"done\n"


def test_a_command_gets_the_umask_of_the_operator(
    runs: HookRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kraftgate's own is private; what a hook writes, such as server.properties, need not be."""
    monkeypatch.setattr(hooks, "GIVEN_UMASK", 0o027)
    _, output = ran(runs, hook("sh", "-c", "umask"))
    assert int(output, 8) == 0o027

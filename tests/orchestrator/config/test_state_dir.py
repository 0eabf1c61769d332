"""Problems of a state directory, or of a log to replay, are reported before anything starts."""

import errno
import json
import os
import re
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner, Result

from orchestrator.cli.program import main
from orchestrator.config.state_dir import claiming, not_followed, unusable
from orchestrator.errors import ExitCode, KraftgateError, LockHeld
from streams.state.claim import LOCK_FILE, Holder, StateDirInUse, claimed


@pytest.fixture(autouse=True)
def _no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever gets as far as the job fails the test."""
    monkeypatch.setitem(sys.modules, "streams.spark.query", None)


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield taken.getsockname()[1]


def config(tmp_path: Path, state_dir: object, more: str = "") -> Path:
    file = tmp_path / "kraftgate.yaml"
    file.write_text(
        "cluster: {name: prod}\ncontrollers: {bootstrap: 'c1:9093'}\n"
        f"state_dir: {state_dir}\n{more}"
    )
    return file


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def the_line(result: Result, code: ExitCode) -> str:
    assert result.exit_code == code, result.output
    assert not result.stdout
    (line,) = result.stderr.splitlines()
    return line


@pytest.mark.parametrize("command", ["run", "status", "hazards", "report", "wait"])
def test_a_file_is_refused_with_its_line(tmp_path: Path, command: str) -> None:
    (tmp_path / "file").touch()
    file = config(tmp_path, "file")
    more = ["--condition", "isr_full"] if command == "wait" else []
    line = the_line(invoke(command, "--config", file, *more), ExitCode.USAGE)
    assert line.startswith(f"{file}:3: `state_dir`: ")
    assert "is a file: set a directory" in line


@pytest.mark.parametrize("state_dir", ["/proc/kraftgate-state", "/proc/self", "kraftgate.yaml/x"])
def test_a_directory_that_cannot_be_written_is_named_by_its_key(
    tmp_path: Path, state_dir: str
) -> None:
    file = config(tmp_path, state_dir)
    line = the_line(invoke("run", "--config", file), ExitCode.USAGE)
    assert line.startswith(f"{file}: `state_dir`: ")
    assert str(tmp_path / state_dir) in line
    assert "audit" not in line
    assert "set another directory" in line


def test_a_missing_directory_is_made(tmp_path: Path) -> None:
    with claimed(tmp_path / "a" / "b"):
        assert (tmp_path / "a" / "b" / LOCK_FILE).is_file()


@pytest.mark.parametrize("has_state", [False, True])
def test_a_second_run_names_the_first_and_not_its_port(
    tmp_path: Path, port: int, *, has_state: bool
) -> None:
    file = config(tmp_path, "state", f"metrics: {{listen: '127.0.0.1:{port}'}}\n")
    with claimed(tmp_path / "state"):
        if has_state:
            (tmp_path / "state" / "audit.db").touch()
        line = the_line(invoke("run", "--config", file), ExitCode.FAILED)
    assert f"{tmp_path / 'state'} is in use by process {os.getpid()} on " in line
    assert str(port) not in line
    assert ("set another state directory" in line) is not has_state


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_lock_file_that_was_deleted_is_named(tmp_path: Path, *, is_replaced: bool) -> None:
    state_dir = tmp_path / "state"
    with claiming(state_dir, "`state_dir`") as check, ExitStack() as stack:
        check()
        (state_dir / LOCK_FILE).unlink()
        if is_replaced:
            stack.enter_context(claimed(state_dir))
        with pytest.raises(LockHeld, match=f"`state_dir`: {state_dir}/lock was deleted or repl"):
            check()


def test_a_lock_that_a_file_server_gave_to_another_host_is_lost(tmp_path: Path) -> None:
    other = Holder(host="kraftgate2", pid=7, after_boot_s=9.0, command="kraftgate run", since="")
    with claiming(tmp_path, "`state_dir`") as check:
        check()
        (tmp_path / LOCK_FILE).write_text(json.dumps(asdict(other)))
        with pytest.raises(LockHeld, match="was claimed by process 7 on kraftgate2"):
            check()


def test_a_claim_ends_with_its_process(tmp_path: Path) -> None:
    code = (
        "import pathlib, sys; from streams.state.claim import claimed\n"
        "with claimed(pathlib.Path(sys.argv[1])): print('claimed', flush=True); sys.stdin.read()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"claimed\n"
        with pytest.raises(StateDirInUse, match=f"in use by process {child.pid} on"):
            claimed(tmp_path).__enter__()
        assert not_followed(tmp_path) is None
        child.kill()
    assert not_followed(tmp_path) == f"no `kraftgate run` is running with {tmp_path}: start it"
    with claimed(tmp_path):
        assert not_followed(tmp_path) is None


@pytest.mark.parametrize("left", ["", "process 7 on kafka-1 (kraftgate run), since 2026"])
def test_an_earlier_versions_lock_names_nobody(tmp_path: Path, left: str) -> None:
    with claimed(tmp_path):
        (tmp_path / LOCK_FILE).write_text(left)
        assert not_followed(tmp_path) is None
        with pytest.raises(StateDirInUse, match="in use by another kraftgate: end that process"):
            claimed(tmp_path).__enter__()


def test_a_process_of_another_host_may_run_still(tmp_path: Path) -> None:
    """A state directory on shared storage: that its id is free here says nothing."""
    there = Holder(host="elsewhere", pid=1, after_boot_s=-1.0, command="kraftgate run", since="")
    (tmp_path / LOCK_FILE).write_text(json.dumps(asdict(there)))
    assert not_followed(tmp_path) is None
    (tmp_path / LOCK_FILE).write_text(json.dumps(asdict(replace(there, host=socket.gethostname()))))
    assert not_followed(tmp_path) is not None


def test_a_clock_that_is_set_ends_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linux reports the boot, and psutil each process's start, by the clock as it is set now."""
    with claimed(tmp_path):
        booted = psutil.boot_time()
        monkeypatch.setattr("psutil._psplatform.boot_time", lambda: booted + 3600)
        assert not_followed(tmp_path) is None


def test_nobody_ever_followed(tmp_path: Path) -> None:
    assert not_followed(tmp_path) is None


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    """It is no wrong configuration, after which systemd would not start Kraftgate again."""
    (tmp_path / LOCK_FILE).symlink_to("/dev/full")
    text = "No space left on device: free space on its disk"
    with pytest.raises(KraftgateError, match=text) as raised, claiming(tmp_path, "`state_dir`"):
        pass
    assert raised.value.code is ExitCode.FAILED


def test_a_missing_file_handle_ends_no_unit_and_suggests_no_other_directory(tmp_path: Path) -> None:
    """With another directory a migration would go on without its trail and its holds."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with claiming(tmp_path, "`state_dir`") as check:
        (tmp_path / "audit.db").touch()
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
        try:
            with pytest.raises(KraftgateError, match="LimitNOFILE") as raised:
                check()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert raised.value.code is ExitCode.FAILED
    assert "another directory" not in str(raised.value)


@pytest.mark.parametrize(
    ("number", "fix", "code"),
    [
        (errno.EIO, "check its disk, and keep it", ExitCode.FAILED),
        (errno.EROFS, "check its disk and mount it writable, and keep it", ExitCode.FAILED),
        (errno.ESTALE, "mount its file system again, and keep it", ExitCode.FAILED),
        (errno.ENOMEM, "free memory on this host", ExitCode.FAILED),
        (errno.ENFILE, "let this host open more files", ExitCode.FAILED),
        (errno.EACCES, "let user .* read and write it, and keep it", ExitCode.USAGE),
        (errno.ENOLCK, "check its file system, and keep it", ExitCode.FAILED),
        (errno.ETIMEDOUT, "check its file system, and keep it", ExitCode.FAILED),
    ],
)
@pytest.mark.parametrize("name", ["store.db", "audit.db", "checkpoint", "clusters"])
def test_a_directory_with_an_execution_is_repaired_and_not_replaced(
    tmp_path: Path, number: int, fix: str, code: ExitCode, name: str
) -> None:
    (tmp_path / name).touch()
    error = unusable(tmp_path, "`state_dir`", OSError(number, os.strerror(number)))
    assert re.search(f"{os.strerror(number)}: {fix}", str(error))
    assert "set another" not in str(error)
    assert error.code is code


@pytest.mark.parametrize(
    ("number", "code"), [(errno.EROFS, ExitCode.USAGE), (errno.EIO, ExitCode.FAILED)]
)
def test_a_new_directory_may_be_another(tmp_path: Path, number: int, code: ExitCode) -> None:
    (tmp_path / LOCK_FILE).touch()  # the first file; it alone is no execution
    error = unusable(tmp_path, "`state_dir`", OSError(number, os.strerror(number)))
    assert "check its disk" in str(error)
    assert "or set another directory" in str(error)
    assert error.code is code


def test_a_directory_that_cannot_be_read_may_have_an_execution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Simulated: no file system here loses its server."""

    def lost(_: Path) -> os.stat_result:
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))

    monkeypatch.setattr(Path, "lstat", lost)
    error = unusable(tmp_path, "`state_dir`", OSError(errno.ESTALE, os.strerror(errno.ESTALE)))
    assert "it may have the state of an execution" in str(error)
    assert "set another" not in str(error)


def test_a_directory_without_a_log_ends_a_replay_at_once(tmp_path: Path) -> None:
    line = the_line(invoke("replay", tmp_path), ExitCode.USAGE)
    assert line.startswith(
        f"kraftgate: {tmp_path} contains no metadata log: give a __cluster_metadata"
    )


def test_a_log_directory_is_told_from_the_metadata_log_in_it(tmp_path: Path) -> None:
    (tmp_path / "__cluster_metadata-0").mkdir()
    line = the_line(invoke("replay", tmp_path, "--json"), ExitCode.USAGE)
    assert line.endswith(f"did you mean {tmp_path / '__cluster_metadata-0'}?")


def test_a_file_that_is_no_log_ends_a_replay_at_once(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.touch()
    assert f"{file} is not a metadata log" in the_line(invoke("replay", file), ExitCode.USAGE)


@pytest.mark.parametrize("command", ["run", "replay"])
def test_a_directory_with_other_files_is_refused(tmp_path: Path, command: str) -> None:
    log = tmp_path / f"{0:020d}.log"
    log.touch()
    file = config(tmp_path, ".")
    given = {"run": ["--config", file], "replay": [log, "--state-dir", tmp_path]}
    before = {each: each.stat().st_mode for each in (tmp_path, *tmp_path.iterdir())}
    line = the_line(invoke(command, *given[command]), ExitCode.USAGE)
    assert "is not a state directory" in line
    assert {each: each.stat().st_mode for each in (tmp_path, *tmp_path.iterdir())} == before


def test_a_replay_says_that_its_state_directory_is_of_no_use(tmp_path: Path) -> None:
    (tmp_path / f"{0:020d}.log").touch()
    line = the_line(invoke("replay", tmp_path, "--state-dir", "/proc/none"), ExitCode.USAGE)
    assert line.startswith("--state-dir: /proc/none: ")


def test_a_replay_names_the_process_that_uses_its_state_directory(tmp_path: Path) -> None:
    (tmp_path / f"{0:020d}.log").touch()
    with claimed(tmp_path / "state"):
        result = invoke("replay", tmp_path, "--state-dir", tmp_path / "state")
    line = the_line(result, ExitCode.FAILED)
    assert line.startswith(f"kraftgate: --state-dir: {tmp_path / 'state'} is in use by process ")


def test_a_directory_in_a_log_ends_a_replay_at_once(tmp_path: Path) -> None:
    (tmp_path / f"{0:020d}.log").touch()
    directory = tmp_path / f"{7:020d}.log"
    directory.mkdir()
    line = the_line(invoke("replay", tmp_path), ExitCode.USAGE)
    assert line.startswith(f"kraftgate: {directory} is a directory, not a file: give a __cluster_")

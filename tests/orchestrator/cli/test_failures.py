"""No command prints a traceback: each failure is one line on stderr and an exit code."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from orchestrator.audit.log import AUDIT_FILE, AuditLog
from orchestrator.cli.framework import LazyCommand
from orchestrator.cli.program import main
from orchestrator.config.load import load_config
from orchestrator.errors import ExitCode
from orchestrator.process import crash
from orchestrator.process.crash import PREFIX, guarded
from tests.support.cli import kraftgate as in_process
from tests.support.polling import PATIENCE_S

CONFIG = "cluster: {name: prod}\ncontrollers: {bootstrap: '127.0.0.1:1'}\nstate_dir: state\n"
COMMANDS = {
    "run": (),
    "status": (),
    "wait": ("--condition", "isr_full", "--timeout", "1s"),
    "preflight": (),
    "hazards": (),
    "what-if": ("--broker", "1"),
    "report": (),
    "approve": ("one", "--who", "anna", "--reason", "x"),
    "alerts list": (),
    "audit show": (),
}


class Failure(NamedTuple):
    """Something that is wrong before a command starts, and what it then says."""

    name: str
    prepare: Callable[[Path], None]
    said: str
    only: tuple[str, ...] = tuple(COMMANDS)
    code: ExitCode = ExitCode.USAGE


def write(text: str | bytes) -> Callable[[Path], None]:
    raw = text.encode() if isinstance(text, str) else text

    def prepare(folder: Path) -> None:
        (folder / "kraftgate.yaml").write_bytes(raw)

    return prepare


def junk(name: str) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        (folder / "state").mkdir(mode=0o700)
        (folder / "state" / name).write_bytes(b"no database" * 100)
        write(CONFIG)(folder)

    return prepare


def config_pipe(folder: Path) -> None:
    os.mkfifo(folder / "kraftgate.yaml")


def config_directory(folder: Path) -> None:
    (folder / "kraftgate.yaml").mkdir()


def state_is_a_file(folder: Path) -> None:
    (folder / "state").touch()
    write(CONFIG)(folder)


FAILURES = (
    Failure("no configuration", lambda _: None, "No such file or directory"),
    Failure("a directory", config_directory, "Is a directory"),
    Failure("a pipe", config_pipe, "kraftgate.yaml: no process writes to this pipe: give the file"),
    Failure("too large", write(b"# " * 2**22), "has more than 4194304 bytes: name another file"),
    Failure("not UTF-8", write(b"cluster: \xff\n"), "byte 9 is not UTF-8"),
    Failure("no YAML", write("cluster: [\n"), "kraftgate.yaml:"),
    Failure("NUL", write("cluster: \0\n"), "kraftgate.yaml:"),
    Failure("empty", write(""), "kraftgate.yaml:"),
    Failure("a list", write("- 1\n"), "kraftgate.yaml:"),
    Failure("nested", write("[" * 1000), "kraftgate.yaml"),
    Failure("an alias of itself", write("cluster: &a [*a]\n"), "kraftgate.yaml:"),
    Failure("an unknown key", write(f"{CONFIG}zookeper: x\n"), "unknown key"),
    Failure("state_dir is a file", state_is_a_file, "is a file: set a directory"),
    Failure(
        "a damaged store",
        junk("store.db"),
        "file is not a database",
        only=("status", "hazards", "report"),
        code=ExitCode.FAILED,
    ),
    Failure(
        "a damaged audit trail",
        junk("audit.db"),
        "file is not a database",
        only=("run", "approve", "report"),
        code=ExitCode.FAILED,
    ),
)
CASES = [(command, failure) for failure in FAILURES for command in failure.only]


@pytest.mark.parametrize(
    ("command", "failure"), CASES, ids=lambda each: getattr(each, "name", each)
)
def test_a_failure_is_one_line(tmp_path: Path, command: str, failure: Failure) -> None:
    failure.prepare(tmp_path)
    arguments = [*command.split(), "--config", str(tmp_path / "kraftgate.yaml"), *COMMANDS[command]]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == failure.code, result.output
    said = [
        line for line in result.stderr.splitlines() if not line.startswith("kraftgate: starting")
    ]
    assert len(said) == 1, said
    assert failure.said in said[0]
    assert "Traceback" not in result.output
    assert "unexpected" not in result.output


def kraftgate(
    folder: Path, *arguments: str, stdout: int = subprocess.PIPE, **environment: str
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "orchestrator", *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
        text=True,
        errors="replace",
        timeout=120,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(CONFIG)(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [("runbook", "schema"), ("--help",), ("--version",), ("help", "commands")]
)
def test_a_full_disk_behind_the_output_is_one_line(folder: Path, words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        ended = kraftgate(folder, *words, stdout=full.fileno())
    assert ended.returncode == ExitCode.FAILED
    said = "standard output: No space left on device: redirect it to another file"
    assert ended.stderr == f"kraftgate: {said}\n"


@pytest.mark.slow
def test_a_reader_that_is_gone_ends_it_quietly(folder: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = kraftgate(folder, "runbook", "schema", stdout=writer)
    finally:
        os.close(writer)
    assert (ended.returncode, ended.stderr) == (ExitCode.FAILED, "")


@pytest.mark.slow
def test_no_terminal_encoding_is_too_small(folder: Path) -> None:
    ended = kraftgate(folder, "status", PYTHONIOENCODING="ascii")
    assert ended.returncode == ExitCode.NO_DATA
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.slow
def test_an_argument_that_is_no_text_is_one_line(folder: Path) -> None:
    ended = kraftgate(folder, "status", "--config", os.fsdecode(b"\xff.yaml"))
    assert ended.returncode == ExitCode.USAGE
    assert len(ended.stderr.splitlines()) == 1


def test_a_port_that_is_taken_is_named_by_its_key(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for key in ("metrics", "console"):
            write(f"{CONFIG}{key}: {{listen: '127.0.0.1:{port}'}}\n")(folder)
            result = CliRunner().invoke(main, ["run", "--config", str(folder / "kraftgate.yaml")])
            assert result.exit_code == ExitCode.USAGE
            assert f"`{key}.listen` 127.0.0.1:{port}: Address already in use" in result.stderr


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PermissionError(13, "Permission denied", "/x/y"), "kraftgate: /x/y: Permission denied"),
        (OSError(28, "No space left on device"), "kraftgate: No space left on device"),
        (MemoryError(), "kraftgate: out of memory"),
        (KeyError("x"), "kraftgate: unexpected error: KeyError: 'x'; its traceback is in "),
        (ValueError("two\nlines"), "kraftgate: unexpected error: ValueError: two lines; its "),
        (RecursionError(), "kraftgate: unexpected error: RecursionError; its traceback is in "),
    ],
)
def test_an_error_that_nobody_foresaw_is_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    (folder / "state").mkdir()
    monkeypatch.setattr("orchestrator.cli.status.Reader", fail)
    result = CliRunner().invoke(main, ["status", "--config", str(folder / "kraftgate.yaml")])
    assert result.exit_code == ExitCode.FAILED
    (line,) = result.stderr.splitlines()
    assert line.startswith(said)
    for file in (folder / "state").glob(f"{PREFIX}*"):
        assert "Traceback (most recent call last)" in file.read_text()
        assert file.stat().st_mode & 0o777 == 0o600
        assert line.endswith(f"is in {file}")


def test_without_a_temporary_directory_the_fix_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/dev/null"])
    with pytest.raises(FileNotFoundError) as caught:
        tempfile.mkdtemp()
    fix = "set TMPDIR to a directory that this user can write to"
    assert crash.described(caught.value).endswith(f"found in ['/dev/null']: {fix}")
    monkeypatch.setattr(crash, "_home", None)
    assert "could not be kept (No usable temporary" in crash.described(KeyError())


def test_the_tracebacks_that_are_kept_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crash, "_home", tmp_path)
    said = [crash.described(KeyError(number)) for number in range(22)]
    assert len(list(tmp_path.iterdir())) == 20
    assert said[-1].endswith(f"{tmp_path} has 20 tracebacks already: remove them")


def test_a_thread_ends_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(crash, "_home", tmp_path)
    monkeypatch.setattr(threading, "excepthook", crash._of_thread)

    def fail() -> None:
        raise KeyError("x")

    thread = threading.Thread(target=fail, name="a thread")
    thread.start()
    thread.join()
    assert "thread a thread ended: unexpected error: KeyError: 'x'; its traceback" in caplog.text
    assert "Traceback" not in caplog.text


def interrupted_class() -> None:
    """As Ctrl-C during an import, in a class that has a descriptor."""

    class Descriptor:
        def __set_name__(self, owner: type, name: str) -> None:
            raise KeyboardInterrupt

    type("Owner", (), {"value": Descriptor()})


def test_a_program_of_python_m_ends_as_a_command_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(crash, "_home", tmp_path)
    monkeypatch.setattr(crash, "quiet", lambda: None)

    def fail(error: BaseException) -> Callable[[], int]:
        def call() -> int:
            raise error

        return call

    assert guarded(lambda: None) == 0
    assert guarded(lambda: 3) == 3
    assert guarded(fail(KeyboardInterrupt())) == 1
    assert guarded(fail(BrokenPipeError())) == 1
    assert guarded(interrupted_class) == 1
    assert capsys.readouterr().err == ""
    assert guarded(fail(KeyError("x"))) == 1
    assert capsys.readouterr().err.startswith("kraftgate: unexpected error: KeyError: 'x'; its ")


@pytest.mark.slow
def test_ctrl_c_of_a_command_is_one_word(folder: Path) -> None:
    """As it waits for what no `run` will ever bring."""
    process = subprocess.Popen(
        [sys.executable, "-m", "orchestrator", "wait", "--condition", "isr_full"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stderr is not None
        begun = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=PATIENCE_S)[1]
    assert "Traceback" not in begun + rest
    assert process.returncode in (1, ExitCode.NO_DATA)


@pytest.mark.slow
@pytest.mark.parametrize("program", ["kraftgate", "-m orchestrator"])
def test_ctrl_c_during_the_imports_prints_nothing(folder: Path, program: str) -> None:
    """The time differs; whenever it comes, it prints no traceback."""
    command = [sys.executable, "-m", "orchestrator"]
    if program == "kraftgate":
        command = [str(Path(sys.executable).with_name("kraftgate"))]
    for after_s in (0.06, 0.09, 0.12, 0.16, 0.2, 0.3):
        process = subprocess.Popen(
            [*command, "status"], cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        with process:
            time.sleep(after_s)  # there is no event before the imports
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=PATIENCE_S)[1].decode()
        # Before the first line of `orchestrator.cli` has run, Kraftgate cannot do anything:
        # Python's own start, finding that file, and the import of `signal`.
        early = "orchestrator/cli/" not in said or "\n    import signal\n" in said
        assert early or "Traceback" not in said, (after_s, said)
        assert "unexpected error" not in said, (after_s, said)


def test_ctrl_c_while_a_command_defines_a_class_is_one_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(LazyCommand, "load", lambda _: interrupted_class())
    ended = CliRunner().invoke(main, ["status"])
    assert (ended.exit_code, ended.stderr.strip()) == (1, "Aborted!")


@pytest.mark.parametrize(
    "command", ["pause", "resume", "abort", "skip one", "done one", "approve one"]
)
def test_a_refused_request_creates_nothing(folder: Path, command: str) -> None:
    ended = in_process(folder / "kraftgate.yaml", *command.split(), "--reason", "x")
    assert ended.returncode == ExitCode.USAGE, ended.stderr
    assert "no execution has begun for prod" in ended.stderr
    assert not (folder / "state").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [("--last", "9223372036854775808"), ("--cluster", os.fsdecode(b"\xff"))]
)
def test_the_audit_trail_is_asked_for_what_it_cannot_have(
    folder: Path, words: tuple[str, str]
) -> None:
    with AuditLog.open(load_config(folder / "kraftgate.yaml").state_dir / AUDIT_FILE) as log:
        log.append("prod", "paused", {"reason": "lunch"}, 1)
    ended = kraftgate(folder, "audit", "show", *words)
    assert ended.returncode == ExitCode.USAGE, ended.stderr
    assert "unexpected" not in ended.stderr

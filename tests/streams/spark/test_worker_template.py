"""Spark's Python processes as forks of one process: what a program gives, its fork has."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from streams.spark import worker_program, worker_template
from streams.spark.worker_template import Template
from tests.support.polling import until
from tests.support.processes import runs

pytestmark = pytest.mark.slow

SAYS = """\
import os, sys
print(sys.argv[1:], os.environ["SAID"], sys.stdin.read(), os.getppid())
print("wrong", file=sys.stderr)
"""
WAITS = "import sys\nprint('here', flush=True)\nsys.stdin.read()\n"
IGNORES = "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})\n" + WAITS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("t", numbered=False)
    for name, text in {"says": SAYS, "waits": WAITS, "ignores": IGNORES}.items():
        (folder / f"{name}.py").write_text(text)
    return folder


@pytest.fixture(scope="module")
def template(folder: Path) -> Iterator[Template]:
    made = _template(folder, folder)
    yield made
    made.end()
    assert made.process.returncode == 0
    assert (folder / "log").read_text() == ""


def _template(modules: Path, folder: Path) -> Template:
    paths = os.pathsep.join([str(modules), os.environ["PYTHONPATH"]])
    return worker_template.start(folder, folder / "log", {**os.environ, "PYTHONPATH": paths})


def _started(program: str, module: str, **environ: str) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [program, "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environ},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    return process


def _forks(template: Template) -> list[psutil.Process]:
    return psutil.Process(template.process.pid).children()


def test_a_fork_has_the_arguments_environment_and_streams_of_the_program(
    template: Template,
) -> None:
    done = subprocess.run(
        [template.program, "-m", "says", "a b", "'"],
        input="in",
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "SAID": "été\n"},
    )
    assert done.stdout == f"""['a b', "'"] été\n in {template.process.pid}\n"""
    assert done.stderr == "wrong\n"


def test_the_program_ends_with_its_fork(template: Template) -> None:
    waits = _started(template.program, "waits")
    (fork,) = _forks(template)
    fork.kill()
    waits.communicate()
    assert waits.returncode == 0


def test_sigterm_is_the_forks(template: Template) -> None:
    waits = _started(template.program, "waits")
    waits.terminate()
    waits.communicate()
    # Its connection is closed, which ends the program, a moment before the fork has ended.
    until(lambda: not _forks(template), "the end of its fork")


def test_a_fork_that_ignores_sigterm_ends_with_its_input(template: Template) -> None:
    ignores = _started(template.program, "ignores")
    ignores.terminate()
    (fork,) = _forks(template)
    assert fork.is_running()
    ignores.communicate("")
    assert ignores.returncode == 0
    until(lambda: not runs(fork), "the end of the fork")


def test_a_program_that_dies_before_it_has_said_what_it_wants_harms_nobody(
    template: Template, folder: Path
) -> None:
    wants = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
    subprocess.run([sys.executable, "-c", wants, str(folder / "workers")], check=True)
    until(lambda: not _forks(template), "the end of its fork")
    log = folder / "log"
    until(lambda: "Error" in log.read_text(), "its traceback")
    log.write_text("")
    _started(template.program, "waits").communicate()


def test_forks_go_on_after_the_template_and_further_programs_are_pythons(folder: Path) -> None:
    apart = folder / "apart"
    apart.mkdir()
    template = _template(folder, apart)
    waits = _started(template.program, "waits")
    (fork,) = _forks(template)
    template.process.kill()
    template.end()
    assert runs(fork)
    _started(template.program, "waits", PYTHONPATH=str(folder)).communicate()
    waits.communicate()
    until(lambda: not runs(fork), "the end of the fork")


def test_nothing_is_imported_from_the_working_directory(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("json", "shlex", "pandas", "says", "streams"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    template = _template(folder, tmp_path)
    _started(template.program, "waits").communicate()
    template.end()
    _started(template.program, "waits", PYTHONPATH=str(folder)).communicate()
    assert (tmp_path / "log").read_text() == ""


def test_what_is_no_module_is_run_by_python(tmp_path: Path) -> None:
    program = [sys.executable, "-IS", worker_program.__file__, str(tmp_path / "none")]
    for arguments in (["-c", "print(1)"], ["-m", "calendar", "-t", "text", "1"]):
        done = subprocess.run([*program, *arguments], capture_output=True, check=True)
        assert done.stdout


def test_a_path_that_is_too_long_for_a_socket_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    with pytest.raises(OSError, match="too long"):
        worker_template.start(folder, tmp_path / "log", os.environ)

"""The Containerfile by its steps, and the image's entry point; built where a builder can be had."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
import pytest

from orchestrator.cli.framework import LazyCommand
from orchestrator.cli.program import main
from orchestrator.hooks.files import End
from orchestrator.hooks.runs import Ended, HookRuns, Running
from tests.manual.pages import OWN, ROOT

FILE: Final = ROOT / "runbooks" / "container" / "Containerfile"
ENTRY_POINT: Final = FILE.with_name("entrypoint")
TEXT: Final = FILE.read_text("utf-8")
STATE: Final = "/var/lib/kraftgate"
BASE: Final = re.findall(r"^ARG BASE=(.*)$", TEXT, re.MULTILINE)[0]
KRAFTGATE: Final = """\
#!{python}
import signal
from pathlib import Path
from orchestrator.hooks.runs import Hook, HookRuns
HookRuns(Path({state!r})).start("run-1", Hook(argv=("cat", {fifo!r}), timeout_s=600.0))
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
print("started", flush=True)
signal.sigwait([signal.SIGTERM])
"""
"""Takes the place of kraftgate: it starts a real hook, which ends when its FIFO is closed."""


def steps(kind: str) -> list[str]:
    """What follows each instruction of a kind, on one line."""
    text = re.sub(r"^#.*\n", "", TEXT, flags=re.MULTILINE).replace("\\\n", " ")
    return re.findall(rf"^{kind} (.*)$", text, re.MULTILINE)


def ran(program: str) -> Iterator[list[str]]:
    """The arguments of each call of a program."""
    for step in steps("RUN"):
        for command in step.split("&&"):
            words = shlex.split(command)
            if words[0].rpartition("/")[2] == program:
                yield words[1:]


def test_what_is_copied_exists_and_is_all_of_kraftgate() -> None:
    copied = [each.split()[:-1] for each in steps("COPY") if not each.startswith("--from")]
    names = {name for each in copied for name in each}
    assert [name for name in names if not (ROOT / name).exists()] == []
    assert {each for each in OWN if not each.startswith(".")} <= names


def test_each_package_has_a_hash_or_comes_from_a_step_before() -> None:
    calls = list(ran("pip"))
    assert calls
    for words in calls:
        offline = "--no-deps" in words and {"--no-index", "--no-build-isolation"} & set(words)
        assert "--require-hashes" in words or offline
        assert "wheel" not in words or "--no-build-isolation" in words


def test_setuptools_is_cut_from_the_lock(tmp_path: Path) -> None:
    (cut,) = [each for each in steps("RUN") if each.startswith("sed")]
    command = cut.partition("&&")[0].replace(">", f">{shlex.quote(str(tmp_path))}/")
    subprocess.run(["sh", "-c", command], cwd=ROOT, check=True)
    first, *others = (tmp_path / "setuptools.lock").read_text().splitlines()
    assert re.fullmatch(r"setuptools==[\d.]+ \\", first)
    assert others
    assert all("--hash=sha256:" in each for each in others)


def test_java_is_that_of_the_clone() -> None:
    java = re.findall(r"openjdk-\S+headless", (ROOT / ".ci" / "java").read_text("utf-8"))
    assert re.findall(r"openjdk-\S+", TEXT) == java


def test_it_runs_as_a_user_with_a_volume_and_the_entry_point() -> None:
    assert steps("USER") == ["10001:10001"]
    assert steps("VOLUME") == [STATE]
    assert f"\nstate={STATE}\n" in ENTRY_POINT.read_text("utf-8")
    assert steps("ENTRYPOINT") == ['["tini", "-g", "--", "entrypoint"]']
    (words,) = steps("CMD")
    name, *arguments = re.findall(r'"([^"]*)"', words)
    command = main.commands[name]
    assert isinstance(command, LazyCommand)
    command.load().make_context(name, arguments, parent=click.Context(main))


def entry_point(folder: Path, kraftgate: str) -> Path:
    """The entry point, for a state directory in this folder, with this program as kraftgate."""
    own = folder / "entrypoint"
    text = ENTRY_POINT.read_text("utf-8")
    own.write_text(text.replace(STATE, str(folder / "state")), "utf-8")
    program = folder / "kraftgate"
    program.write_text(kraftgate, "utf-8")
    for each in (own, program):
        each.chmod(0o755)
    return own


def start(folder: Path, entry: Path, *words: str) -> subprocess.Popen[str]:
    """As tini starts it: in a process group of its own."""
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return subprocess.Popen(
        [entry, *words],
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )


def test_it_waits_for_a_hook_after_kraftgate_has_ended(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    state = tmp_path / "state"
    stand_in = KRAFTGATE.format(python=sys.executable, state=str(state), fifo=str(fifo))
    entry = entry_point(tmp_path, stand_in)
    runs = HookRuns(state)
    with start(tmp_path, entry, "run") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "started\n"
        # Waits until the hook has opened the other end; the hook ends when this one is closed.
        held = os.open(fifo, os.O_WRONLY)
        try:
            os.killpg(process.pid, signal.SIGTERM)
            said = process.stderr.readline()
            assert said == "kraftgate: waiting for the hook of run run-1 to end\n"
            assert isinstance(runs.state("run-1"), Running)
            assert process.poll() is None
        finally:
            os.close(held)
        assert process.wait(timeout=120) == 0
    ended = runs.state("run-1")
    assert isinstance(ended, Ended)
    assert (ended.outcome.end, ended.outcome.exit_code) == (End.EXITED, 0)


def test_another_command_replaces_it(tmp_path: Path) -> None:
    entry = entry_point(tmp_path, '#!/bin/sh\necho "$$ $*"\nexit 4\n')
    with start(tmp_path, entry, "status", "--json") as process:
        printed, _ = process.communicate(timeout=120)
    assert (printed, process.returncode) == (f"{process.pid} status --json\n", 4)


def has_base() -> bool:
    """Whether buildah is here, with the base image: nothing is fetched."""
    if shutil.which("buildah") is None:
        return False
    return (
        subprocess.run(["buildah", "inspect", BASE], capture_output=True, check=False).returncode
        == 0
    )


@pytest.mark.slow
@pytest.mark.skipif(not has_base(), reason=f"there is no buildah with the image {BASE}")
def test_it_is_built_and_run() -> None:
    """With Spark and Java in it: it replays a metadata log."""
    build = ("bud", "--isolation", "chroot", "--pull-never", "--quiet", "--file", str(FILE))
    image = buildah(*build, str(ROOT)).splitlines()[-1]
    container = buildah("from", "--pull-never", image)
    try:
        logs = ROOT / "tests" / "streams" / "wire" / "data"
        run = ("run", "--isolation", "chroot", "--volume", f"{logs}:/mnt:ro", container, "--")
        assert buildah(*run, "id", "-u") == "10001"
        replay = ("tini", "-s", "-g", "--", "entrypoint", "replay", "/mnt/00000000000000000000.log")
        assert "kind=controller_elected" in buildah(*run, *replay)
    finally:
        buildah("rm", container)
        buildah("rmi", image)


def buildah(*words: str) -> str:
    done = subprocess.run(["buildah", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()

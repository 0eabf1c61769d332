"""Finds the Java runtime, checks its version, and builds the commands of Kafka's classes."""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.lab.errors import LabError
from orchestrator.lab.machine.jars import APT_INSTALL, Jars
from orchestrator.lab.machine.spawner import tied_to_this_process
from streams.process.java import RELEASE_MIN, flaw_of

_TAIL_LINES = 15
# The start-up time dominates a lab's duration: one compiler tier and the serial collector are
# fastest.
_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Djava.awt.headless=true")


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime and the verified jars it runs.

    Attributes:
        executable: The java program.
        jars: Kafka's jars.
        log4j: The logging configuration of long-running processes.
        sharing: The options with which a JVM uses the archive of classes.
    """

    executable: str
    jars: Jars
    log4j: Path
    sharing: tuple[str, ...] = ()

    def command(
        self, heap_mb: int, main: str, *arguments: str, options: Sequence[str] = ()
    ) -> list[str]:
        """Return the command of a long-running process with a heap of `heap_mb` MiB.

        `options`: further options of the JVM.
        """
        return [
            self.executable,
            f"-Xmx{heap_mb}m",
            "-Xss512k",
            *_JVM,
            *self.sharing,
            *options,
            f"-Dlog4j.configuration=file:{self.log4j}",
            "-cp",
            self.jars.classpath,
            main,
            *arguments,
        ]

    def run_tool(self, main: str, arguments: Sequence[str], *, timeout_s: float) -> str:
        """Run one of Kafka's tools to its end and return its standard output.

        Raises:
            LabError: It ended with an error, or not within `timeout_s` seconds.
        """
        command = [self.executable, "-Xmx256m", *_JVM, *self.sharing, "-cp", self.jars.classpath]
        where = f"{main} {' '.join(arguments)}"
        try:
            done = subprocess.run(
                tied_to_this_process([*command, main, *arguments]),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise LabError(
                f"the tool did not end within {timeout_s:.0f} s",
                where=where,
                fix="The machine may be overloaded; repeat the command of `kraftgate lab`.",
            ) from error
        if done.returncode != 0:
            said = "\n".join((done.stdout + done.stderr).splitlines()[-_TAIL_LINES:])
            raise LabError(
                f"the tool ended with {done.returncode}:\n{said}\n",
                where=where,
                fix="Its message says what it did not accept.",
            )
        return done.stdout


def find_java() -> str:
    """Return the java program on the PATH.

    Raises:
        LabError: There is none, or it is of no use.
    """
    executable = shutil.which("java")
    if executable is None:
        raise LabError(
            "the lab runs Kafka, and there is no java", where="PATH", fix=f"Run: {APT_INSTALL}"
        )
    flaw = flaw_of(executable)
    if flaw is not None:
        raise LabError(
            f"the lab needs java {RELEASE_MIN} or newer: {flaw}",
            where=executable,
            fix=f"Run: {APT_INSTALL}",
        )
    return executable

"""Determines why Spark's JVM does not start, in one line; used only after a failed start."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_RELEASE_MIN: Final = 17
_ANSWER_S_MAX: Final = 20.0
_RELEASE: Final = re.compile(r'version "(?:1\.)?(\d+)')
_FIX: Final = (
    f"Spark needs Java {_RELEASE_MIN} or later (Debian: apt-get install openjdk-17-jre-headless)"
)


def why_no_jvm(log: Path, environ: Mapping[str, str] = os.environ) -> str:
    """Return the problem with Java, or else the last line of the JVM's log, with the fix.

    `log`: the file with the JVM's output.
    """
    home = environ.get("JAVA_HOME")
    java = (
        str(Path(home, "bin", "java")) if home else shutil.which("java", path=environ.get("PATH"))
    )
    if java is None:
        return f"there is no java on the PATH and JAVA_HOME is not set: {_FIX}"
    named = f"JAVA_HOME is {home}" if home else f"java is {java}"
    if not os.access(java, os.X_OK):
        return f"{named}, and {java} is not a program: correct or unset JAVA_HOME. {_FIX}"
    return f"{named}: {_tried(java) or _last_line(log)}. {_FIX}"


def _tried(java: str) -> str | None:
    """Return the problem with this Java; None: Spark can use it."""
    try:
        told = subprocess.run(
            [java, "-version"], capture_output=True, timeout=_ANSWER_S_MAX, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"`{java} -version` fails: {error}"
    said = told.stderr.decode("utf-8", "replace").strip() or "it printed nothing"
    if told.returncode:
        return f"`{java} -version` fails with {told.returncode}: {said.splitlines()[-1]}"
    found = _RELEASE.search(said)
    if found is not None and int(found[1]) < _RELEASE_MIN:
        return f"it is Java {found[1]}"
    return None


def _last_line(log: Path) -> str:
    try:
        lines = log.read_text("utf-8", errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return f"the JVM ended: {lines[-1] if lines else 'it printed nothing'} (all of it is in {log})"

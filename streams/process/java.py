"""Identifies a Java runtime of this host, and finds the problem with it."""

import re
import subprocess
from pathlib import Path
from typing import Final

RELEASE_MIN: Final = 17
_ANSWER_S_MAX: Final = 20.0
_RELEASE: Final = re.compile(r'version "(?:1\.)?(\d+)')


def build_of(java: str) -> str:
    """Return what distinguishes builds of Java: each ignores an archive of another one's classes.

    Raises:
        OSError: there is no such file.
    """
    program = Path(java).resolve()
    return f"{program} {program.stat().st_mtime_ns}"


def flaw_of(java: str) -> str | None:
    """Return the problem with this java program; None: it runs, and is new enough."""
    try:
        shown = subprocess.run(
            [java, "-version"], capture_output=True, timeout=_ANSWER_S_MAX, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"`{java} -version` fails: {error}"
    # A JVM that cannot start says why on stdout.
    printed = (shown.stderr + shown.stdout).decode("utf-8", "replace").strip()
    text = printed or "it printed nothing"
    if shown.returncode:
        return f"`{java} -version` fails with {shown.returncode}: {text.splitlines()[-1]}"
    found = _RELEASE.search(text)
    if found is None:
        return f"`{java} -version` names no release: {text.splitlines()[0][:80]}"
    return None if int(found[1]) >= RELEASE_MIN else f"it is Java {found[1]}"

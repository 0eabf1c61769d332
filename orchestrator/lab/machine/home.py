"""A lab's home directory: claimed for one lab, cleared after it, and the files in it."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import yaml

from orchestrator.lab.errors import LabError
from streams.state.files import replace_file, try_lock

MARKER = "kraftgate-lab"
CONFIG = "kraftgate.yaml"
SOCKET = "control.sock"
_CHOOSE = "Choose another --home."
_PROBE_S_MAX = 0.5

_SEPARATORS = frozenset(",\r\n")
"""Kafka splits log.dirs at commas, without a way to escape one, and a properties file at lines."""


def claim_home(home: Path) -> IO[str]:
    """Claim an empty or absent directory for this lab.

    Returns:
        The handle with its lock: closing it releases the home.

    Raises:
        LabError: It is not empty or not a directory, or has a path that Kafka cannot use.
    """
    if set(str(home)) & _SEPARATORS:
        raise LabError(
            "the home's path has a comma or a line end, where Kafka would split it",
            where=str(home),
            fix="Choose another --home (or TMPDIR, without --home).",
        )
    try:
        home.mkdir(parents=True, exist_ok=True)
        if any(home.iterdir()):
            fix = "Choose another --home; kraftgate lab start replaces an old lab's with --fresh."
            raise LabError("the home is not empty", where=str(home), fix=fix)
        handle = (home / MARKER).open("x")
        _lock(handle, home)
    except OSError as error:
        raise LabError(
            f"the home cannot be used: {error.strerror}", where=str(home), fix=_CHOOSE
        ) from error
    return handle


def is_claimed(home: Path) -> bool:
    """Return whether a process holds this home, as far as this user can read it."""
    try:
        with (home / MARKER).open() as handle:
            return not try_lock(handle.fileno(), shared=True)
    except OSError:
        return False


def clear_home(home: Path) -> None:
    """Empty an ended lab's home; an absent or empty one does not change.

    Raises:
        LabError: It is not a lab's home, or its lab still runs.
    """
    try:
        if not home.exists() or not any(home.iterdir()):
            return
        marker = home / MARKER
        if not marker.is_file():
            raise LabError(
                "this is not a lab's home; it is left alone",
                where=str(home),
                fix=_CHOOSE,
            )
        with marker.open("r+") as handle:
            _lock(handle, home)
            target = home.resolve()  # rmtree refuses a symbolic link
            shutil.rmtree(target)
            target.mkdir(exist_ok=True)
    except OSError as error:
        raise LabError(
            f"the home cannot be removed: {error.strerror or error}", where=str(home), fix=_CHOOSE
        ) from error


def write_config(
    home: Path,
    *,
    cluster_id: str,
    zookeeper: str | None,
    controllers: str,
    brokers: str,
    jmx_exporters: Mapping[int, str],
    metrics: str | None = None,
) -> Path:
    """Write the kraftgate.yaml with which the other commands follow this lab; return its path."""
    content: dict[str, object] = {"cluster": {"name": "lab", "id": cluster_id}}
    if zookeeper is not None:
        content["zookeeper"] = {"connect": zookeeper}
    content["controllers"] = {"bootstrap": controllers}
    if brokers:
        content["brokers"] = {"bootstrap": brokers}
    if jmx_exporters:
        content["jmx"] = {"exporters": {str(id_): url for id_, url in jmx_exporters.items()}}
    content["state_dir"] = str(home / "kraftgate-state")
    if metrics is not None:
        content["metrics"] = {"listen": metrics}
    path = home / CONFIG
    replace_file(path, yaml.safe_dump(content, sort_keys=False), durable=False)
    return path


def _lock(handle: IO[str], home: Path) -> None:
    # `is_claimed` holds the lock for a moment.
    if not try_lock(handle.fileno(), wait_s_max=_PROBE_S_MAX):
        raise LabError("a lab runs in this home", where=str(home), fix="Stop it with Ctrl-C first.")

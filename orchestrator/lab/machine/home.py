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
_MEND = "Choose another --home; an old lab's is replaced with --fresh."


def claim_home(home: Path) -> IO[str]:
    """Claim an empty or absent directory for this lab.

    Returns:
        The handle with its lock: closing it releases the home.

    Raises:
        LabError: It is not empty or not a directory.
    """
    try:
        home.mkdir(parents=True, exist_ok=True)
        if any(home.iterdir()):
            raise LabError("the home is not empty", where=str(home), fix=_MEND)
        handle = (home / MARKER).open("x")
        _lock(handle, home)
    except OSError as error:
        raise LabError(
            f"the home cannot be used: {error.strerror}", where=str(home), fix=_MEND
        ) from error
    return handle


def clear_home(home: Path) -> None:
    """Remove an ended lab's home; an absent or empty one does not change.

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
                fix="Choose another --home.",
            )
        with marker.open("r+") as handle:
            _lock(handle, home)
            shutil.rmtree(home)
    except OSError as error:
        raise LabError(
            f"the home cannot be removed: {error.strerror}", where=str(home), fix=_MEND
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
    if not try_lock(handle.fileno()):
        raise LabError("a lab runs in this home", where=str(home), fix="Stop it with Ctrl-C first.")

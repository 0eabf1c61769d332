"""The broker's own host: whether it is this one, and the state of its paths here.

A path counts as a broker's only if its `meta.properties` names that broker and that cluster:
another host, or the remote end of a tunnel, may have the same path.
"""

import json
import os
import re
import socket
import threading
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Final

import psutil

from migration.assessment.meta_properties import META, METADATA_LOG, faults, parse
from migration.observed.probed import MetaProperties
from streams.log_dirs.remembered import LocalDir
from streams.process.background import begin

_LOOK_S_MAX: Final = 2.0
_PARTITION: Final = re.compile(r".+-[0-9]+")


def is_own_host(host: str) -> bool:
    """Return whether the name or address is one of this machine's. Blocks as long as DNS does."""
    try:
        found = socket.getaddrinfo(host, None, proto=socket.IPPROTO_TCP)
    except OSError:
        return False  # a name that cannot be resolved here is not this host's
    own = {each.address for addresses in psutil.net_if_addrs().values() for each in addresses}
    hosts = {str(address[0]) for *_, address in found}
    return any(each in own or ip_address(each.partition("%")[0]).is_loopback for each in hosts)


def read_meta(path: Path) -> MetaProperties:
    """Return a log directory's `meta.properties` and its other content. Blocks.

    Raises:
        OSError: the directory or the file cannot be read.
    """
    found = _parsed(path, _folders(path))
    return replace(found, voters=_voters(path / METADATA_LOG / "quorum-state"))


def _parsed(path: Path, folders: frozenset[str]) -> MetaProperties:
    try:
        found = parse(str(path), (path / META).read_bytes())
    except FileNotFoundError:
        found = MetaProperties(path=str(path), missing=True)
    return replace(
        found,
        partitions=frozenset(filter(_PARTITION.fullmatch, folders - {METADATA_LOG})),
        metadata_log=METADATA_LOG in folders,
    )


def _folders(path: Path) -> frozenset[str]:
    with os.scandir(path) as entries:
        return frozenset(each.name for each in entries if each.is_dir())


def _voters(file: Path) -> tuple[int, ...] | None:
    """Return the voters of a static quorum; only its file has them (FileQuorumStateStore)."""
    try:
        found = json.loads(file.read_bytes())["currentVoters"]
        return tuple(int(each["voterId"]) for each in found)
    except (FileNotFoundError, NotADirectoryError, ValueError, TypeError, KeyError):
        return None


def read_local(path: Path, broker: int, cluster_id: str) -> LocalDir:
    """Return whether the path is this broker's log directory, its id and its folders. Blocks."""
    try:
        folders = _folders(path)
        found = _parsed(path, folders)
    except OSError as error:
        return LocalDir(is_own=False, trouble=f"{path}: {error}")
    wrong = [each.text for each in faults([found])]
    is_own = found.readable and (found.node_id, found.cluster_id) == (broker, cluster_id)
    if found.readable and not is_own:
        whose = f"broker {found.node_id} of cluster {found.cluster_id}"
        wrong = [f"{META} belongs to {whose}"]
    return LocalDir(
        is_own=is_own,
        directory_id=found.directory_id if is_own else None,
        trouble="; ".join(f"{path}: {each}" for each in wrong) or None,
        folders=folders,
        has_bad_file=not is_own,
        version=found.version if is_own else None,
    )


class LocalReader:
    """Reads paths, each with a time-out: a dead disk may block its reader for ever."""

    def __init__(self, timeout_s: float = _LOOK_S_MAX) -> None:
        self._timeout_s = timeout_s
        self._held: dict[tuple[str, int], threading.Thread] = {}
        self._lock = threading.Lock()

    def read(self, path: str, broker: int, cluster_id: str) -> LocalDir:
        """Read the path, unless its disk still blocks the last read of it."""
        key = (path, broker)
        with self._lock:
            held = self._held.get(key)
            if held is not None and held.is_alive():
                return self._hangs(path)
            thread, found = begin("local", lambda: read_local(Path(path), broker, cluster_id))
            self._held[key] = thread
        thread.join(self._timeout_s)
        return found[0] if found else self._hangs(path)

    def _hangs(self, path: str) -> LocalDir:
        return LocalDir(
            is_own=False, trouble=f"{path}: reading it takes over {self._timeout_s:g} s"
        )

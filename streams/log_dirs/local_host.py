"""The broker's own host: whether it is this one, and the state of its paths here.

A path counts as a broker's only if its `meta.properties` names that broker and that cluster:
another host, or the remote end of a tunnel, may have the same path.
"""

import os
import re
import socket
import threading
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Final

import psutil

from streams.log_dirs.remembered import LocalDir

META: Final = "meta.properties"
_LOOK_S_MAX: Final = 2.0
_DRAFT: Final = (
    "has directory.ids, which is an early draft of KIP-858: Kafka reads directory.id only"
)
_ESCAPED: Final = re.compile(r"\\(.)")


def is_own_host(host: str) -> bool:
    """Return whether the name or address is one of this machine's. Blocks as long as DNS does."""
    try:
        found = socket.getaddrinfo(host, None, proto=socket.IPPROTO_TCP)
    except OSError:
        return False  # a name that cannot be resolved here is not this host's
    own = {each.address for addresses in psutil.net_if_addrs().values() for each in addresses}
    hosts = {str(address[0]) for *_, address in found}
    return any(each in own or ip_address(each.partition("%")[0]).is_loopback for each in hosts)


def properties(text: str) -> Mapping[str, str]:
    """Return the entries of a Java properties file that Kafka wrote, without continuation lines."""
    found = {}
    for line in text.splitlines():
        key, equals, value = line.strip().partition("=")
        if equals and not key.startswith(("#", "!")):
            found[key.strip()] = _ESCAPED.sub(r"\1", value.strip())
    return found


def read_local(path: Path, broker: int, cluster_id: str) -> LocalDir:
    """Return whether the path is this broker's log directory, and its directory id. Blocks."""
    try:
        with os.scandir(path) as entries:
            next(entries, None)
        found = properties((path / META).read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        return LocalDir(is_own=False, trouble=f"{path}: {error}")
    named = found.get("broker.id", found.get("node.id"))
    if named != str(broker) or found.get("cluster.id") != cluster_id:
        whose = f"broker {named} of cluster {found.get('cluster.id')}"
        return LocalDir(is_own=False, trouble=f"{path}: {META} is of {whose}")
    trouble = f"{path}: {META} {_DRAFT}" if "directory.ids" in found else None
    return LocalDir(is_own=True, directory_id=found.get("directory.id"), trouble=trouble)


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
            found: list[LocalDir] = []
            thread = threading.Thread(
                target=lambda: found.append(read_local(Path(path), broker, cluster_id)),
                name=f"read {path}",
                daemon=True,
            )
            self._held[key] = thread
            thread.start()
        thread.join(self._timeout_s)
        return found[0] if found else self._hangs(path)

    def _hangs(self, path: str) -> LocalDir:
        return LocalDir(
            is_own=False, trouble=f"{path}: reading it takes over {self._timeout_s:g} s"
        )

"""Queries each server of a ZooKeeper ensemble with the four-letter command `srvr`."""

import re
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from kazoo.hosts import collect_hosts

from migration.observed.probed import Maybe, Unknown, ZooKeeperServer
from streams.net.security import Security
from streams.zookeeper.dialing import dial, reason
from streams.zookeeper.ensemble import Ensemble

_ANSWER_S_MAX: Final = 3.0
_ANSWER_BYTES_MAX: Final = 65_536
_AT_ONCE_MAX: Final = 9
_VERSION: Final = re.compile(r"^Zookeeper version: (\d+)\.(\d+)\.(\d+)", re.MULTILINE)
_MODE: Final = re.compile(r"^Mode: (\S+)", re.MULTILINE)


def ask_ensemble(ensemble: Ensemble) -> tuple[ZooKeeperServer, ...]:
    """Return the answer of every server of the connection string."""
    hosts, _ = collect_hosts(ensemble.connect)
    addresses: Sequence[tuple[str, int]] = sorted({(host, int(port)) for host, port in hosts})
    with ThreadPoolExecutor(_AT_ONCE_MAX) as pool:
        return tuple(pool.map(partial(_ask, ensemble.security), addresses))


def _ask(security: Security, address: tuple[str, int]) -> ZooKeeperServer:
    host, port = address
    endpoint = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        told = _four_letters(security, address)
    except OSError as error:
        why = Unknown(f"it does not answer ({reason(error)})")
        return ZooKeeperServer(endpoint=endpoint, version=why)
    mode = _MODE.search(told)
    return ZooKeeperServer(
        endpoint=endpoint, version=_version(told), mode=mode[1] if mode is not None else ""
    )


def _version(told: str) -> Maybe[tuple[int, ...]]:
    found = _VERSION.search(told)
    if found is None:
        first = told.strip().partition("\n")[0][:80]
        return Unknown(f"it does not tell its version: {first or 'no answer to srvr'}")
    return tuple(map(int, found.groups()))


def _four_letters(security: Security, address: tuple[str, int]) -> str:
    deadline_s = time.monotonic() + _ANSWER_S_MAX
    told = b""
    with dial(security, address, address[0], _ANSWER_S_MAX) as connection:
        connection.sendall(b"srvr")
        while len(told) < _ANSWER_BYTES_MAX and (left_s := deadline_s - time.monotonic()) > 0:
            connection.settimeout(left_s)
            part = connection.recv(4096)
            if not part:
                break
            told += part
    return told.decode("utf-8", "replace")

"""The checks before the window: reads Kafka's znodes in one session, and queries each server.

The session sends get, children and ACL requests; no watch, no write. A server is queried with the
four-letter command `srvr`.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, Final, TypeVar

from kazoo.hosts import collect_hosts

from migration.observed import znodes
from migration.observed.probed import Maybe, Unknown, ZooKeeper, ZooKeeperServer
from migration.observed.znode_codec import (
    ZkController,
    broker_id_of,
    broker_of,
    cluster_id_of,
    config_entries_of,
    controller_of,
    endpoints_of,
    fields_of,
    host_of,
    not_text,
    replicas_of,
    topic_id_of,
)
from migration.values.foreign import Unreadable
from streams.net.endpoint import Endpoint
from streams.net.security import Security
from streams.zookeeper.calls import Pending, ZooKeeperCalls
from streams.zookeeper.config_digests import quotas_of
from streams.zookeeper.dialing import dial, reason
from streams.zookeeper.ensemble import Ensemble
from streams.zookeeper.errors import NoAuth, NoNode, ZooKeeperError
from streams.zookeeper.session import IN_FLIGHT_MAX

_CONNECT_S_MAX: Final = 5.0
_ALL_S_MAX: Final = 30.0
"""For everything together: a cluster of 50,000 topics is read in a few seconds."""
_ANSWER_S_MAX: Final = 3.0
_ANSWER_BYTES_MAX: Final = 65_536
_AT_ONCE_MAX: Final = 9
_VERSION: Final = re.compile(r"^Zookeeper version: (\d+)\.(\d+)\.(\d+)", re.MULTILINE)
_MODE: Final = re.compile(r"^Mode: (\S+)", re.MULTILINE)
_OWN_PATHS: Final = (
    "/",
    znodes.CONTROLLER,
    znodes.CONTROLLER_EPOCH,
    "/brokers",
    znodes.BROKER_IDS,
    znodes.TOPICS,
    znodes.CONFIGS,
    "/admin",
    znodes.MIGRATION,
)
_PRIVATE: Final = (znodes.USER_CONFIGS, znodes.CLIENT_CONFIGS, znodes.IP_CONFIGS)
_REFUSED: Final = "reading it is refused (NoAuth)"

T = TypeVar("T")
V = TypeVar("V")


def ask_zookeeper(ensemble: Ensemble) -> Maybe[ZooKeeper]:
    calls = ZooKeeperCalls(ensemble)
    try:
        calls.connect(_CONNECT_S_MAX)
        return _ZnodeReader(calls, time.monotonic() + _ALL_S_MAX).all()
    except ZooKeeperError as error:
        return Unknown(str(error))
    finally:
        calls.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerAddresses:
    """Where a cluster's brokers listen, as `/brokers/ids` has it, and its controller.

    Attributes:
        cluster_id: None: ZooKeeper has none.
        controller: the holder of `/controller`; None: there is none.
        listeners: security protocol -> host:port of each broker, in order of broker id.
        hosts: broker id -> host of its first listener, in order of id.
    """

    cluster_id: str | None
    listeners: Mapping[str, tuple[str, ...]]
    hosts: Mapping[int, str] = field(default_factory=dict)
    controller: ZkController | None = None


def ask_addresses(ensemble: Ensemble) -> Maybe[BrokerAddresses]:
    calls = ZooKeeperCalls(ensemble)
    try:
        calls.connect(_CONNECT_S_MAX)
        reader = _ZnodeReader(calls, time.monotonic() + _ALL_S_MAX)
        found: dict[str, list[str]] = {}
        hosts: dict[int, str] = {}
        for id_ in sorted(reader.broker_ids(), key=broker_id_of):
            for protocol, address in endpoints_of(reader.data(f"{znodes.BROKER_IDS}/{id_}")):
                found.setdefault(protocol, []).append(address)
                hosts.setdefault(broker_id_of(id_), host_of(address))
        controller = reader.data(znodes.CONTROLLER)
        return BrokerAddresses(
            cluster_id=cluster_id_of(reader.data(znodes.CLUSTER_ID)),
            listeners={protocol: tuple(each) for protocol, each in found.items()},
            hosts=hosts,
            controller=None if controller is None else controller_of(controller, 0),
        )
    except (ZooKeeperError, Unreadable) as error:
        return Unknown(str(error))
    finally:
        calls.close()


@dataclass(slots=True)
class _ZnodeReader:
    """One pass over the tree: sends requests in parallel, and waits until `deadline_s`."""

    calls: ZooKeeperCalls
    deadline_s: float
    unreadable: dict[str, str] = field(default_factory=dict)
    closed: list[tuple[str, str]] = field(default_factory=list)
    hidden: list[tuple[str, str]] = field(default_factory=list)

    def all(self) -> ZooKeeper:
        """Read everything.

        Raises:
            ZooKeeperError: an essential znode may not be read, or no answer in time.
        """
        topics = sorted(self.children(znodes.TOPICS))
        ids = self.children(znodes.BROKER_IDS)
        assignments = dict(self._assignments(topics))
        broker_ids = self._broker_ids(ids)
        for _ in self._configs(self._config_paths()):
            pass
        return ZooKeeper(
            controller=self.data(znodes.CONTROLLER),
            controller_epoch=self.data(znodes.CONTROLLER_EPOCH),
            migration=self.data(znodes.MIGRATION),
            cluster_id=self.data(znodes.CLUSTER_ID),
            reassign_partitions=self.data(znodes.REASSIGN_PARTITIONS),
            broker_ids=broker_ids,
            assignments=assignments,
            deletions=tuple(sorted(self.children(znodes.DELETE_TOPICS))),
            notifications=tuple(sorted(self.children(znodes.NOTIFICATIONS))),
            dynamic_keys=dict(self._dynamic_keys()),
            restricted=tuple(self._restricted()),
            closed=tuple(self.closed),  # last, as the next ones: the readings above add to them
            hidden=tuple(self.hidden),
            unreadable=tuple(self.unreadable.items()),
        )

    def data(self, path: str) -> bytes | None:
        """Return a znode's data: b"" when it has none, None when the znode does not exist."""
        found = self._one(path, self.calls.begin_get)
        return None if found is None else found.data

    def children(self, path: str) -> Sequence[str]:
        """Return the names below a znode; none when the znode does not exist."""
        return self._one(path, self.calls.begin_children) or ()

    def broker_ids(self) -> Sequence[str]:
        """Return the children of /brokers/ids, which Kafka makes at its first start.

        Raises:
            ZooKeeperError: there is no such znode.
        """
        found = self._one(znodes.BROKER_IDS, self.calls.begin_children)
        if found is None:
            why = f"there is no {znodes.BROKER_IDS}: check the chroot"
            raise NoNode(f"{self.calls.place}: {why}")
        return found

    def _one(self, path: str, begin: Callable[[str], Pending[T]]) -> T | None:
        ((_, found),) = self._results([path], begin)
        if isinstance(found, NoAuth):
            raise NoAuth(f"{self.calls.place}: {path}: {_REFUSED}")
        return None if isinstance(found, NoNode) else found

    def _results(
        self, paths: Iterable[str], begin: Callable[[str], Pending[T]]
    ) -> Iterator[tuple[str, T | NoNode | NoAuth]]:
        """Request many znodes, a bounded number at a time."""
        wanted = list(paths)
        for start in range(0, len(wanted), IN_FLIGHT_MAX):
            asked = [(path, begin(path)) for path in wanted[start : start + IN_FLIGHT_MAX]]
            for path, pending in asked:
                try:
                    yield path, pending.result(max(0.001, self.deadline_s - time.monotonic()))
                except (NoNode, NoAuth) as error:
                    yield path, error

    def _data(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield the content of each znode that may be read."""
        for path, found in self._results(paths, self.calls.begin_get):
            if isinstance(found, NoNode):
                continue  # it was deleted meanwhile
            if isinstance(found, NoAuth):
                if path.startswith(znodes.BROKER_CONFIGS):
                    self.closed.append((path, _REFUSED))
                elif not path.startswith(_PRIVATE):
                    self.hidden.append((path, _REFUSED))
                continue
            if not found.data and path.startswith(_PRIVATE):
                continue  # Kafka makes it as the parent of another
            yield path, found.data

    def _parsed(self, path: str, parse: Callable[[V], T], value: V) -> T | None:
        """Return the parsed value; None: it cannot be parsed, which is noted, once for a path."""
        try:
            return parse(value)
        except Unreadable as error:
            self.unreadable.setdefault(path, str(error))
            return None

    def _assignments(self, topics: Sequence[str]) -> Iterator[tuple[str, frozenset[int]]]:
        """Yield every topic's replicas, even without a valid id; none if they cannot be read."""
        read = dict.fromkeys(topics, frozenset[int]())
        for path, data in self._data(f"{znodes.TOPICS}/{topic}" for topic in topics):
            content = self._parsed(path, fields_of, data)
            if content is None:
                continue
            self._parsed(path, topic_id_of, content)
            replicas = self._parsed(path, replicas_of, content) or {}
            read[path.removeprefix(f"{znodes.TOPICS}/")] = frozenset(chain(*replicas.values()))
        yield from read.items()

    def _broker_ids(self, names: Iterable[str]) -> frozenset[int]:
        """Return the brokers' ids, even of those whose znode cannot be parsed."""
        paths = {f"{znodes.BROKER_IDS}/{name}": name for name in names}
        ids = {path: self._parsed(path, broker_id_of, name) for path, name in paths.items()}
        for path, data in self._data(path for path, id_ in ids.items() if id_ is not None):
            self._parsed(path, partial(broker_of, paths[path], written_ms=0, read_ms=0), data)
        return frozenset(id_ for id_ in ids.values() if id_ is not None)

    def _dynamic_keys(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the names of the keys; the values may be secrets and are not returned.

        Kafka closes them to others with zookeeper.set.acl: znodes that may not be read go to
        `closed`.
        """
        try:
            names = self.children(znodes.BROKER_CONFIGS)
        except NoAuth:
            self.closed.append((znodes.BROKER_CONFIGS, _REFUSED))
            return
        for path, config in self._configs(f"{znodes.BROKER_CONFIGS}/{name}" for name in names):
            yield path, tuple(sorted(config))

    def _config_paths(self) -> Iterator[str]:
        """Yield the znodes with settings: of topics, and of others as far as they are readable."""
        root = znodes.TOPIC_CONFIGS
        yield from (f"{root}/{name}" for name in self.children(root))
        for root in (znodes.CLIENT_CONFIGS, znodes.IP_CONFIGS):
            yield from (f"{root}/{name}" for name in self._readable_children(root))
        root = znodes.USER_CONFIGS
        users = [f"{root}/{name}" for name in self._readable_children(root)]
        yield from users
        parents = (f"{user}/clients" for user in users)
        for path, clients in self._results(parents, self.calls.begin_children):
            if not isinstance(clients, (NoNode, NoAuth)):
                yield from (f"{path}/{name}" for name in clients)

    def _readable_children(self, path: str) -> Sequence[str]:
        try:
            return self.children(path)
        except NoAuth:  # Kafka closes quotas and SCRAM secrets to others
            return ()

    def _configs(self, paths: Iterable[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the settings of each znode, even if the copy stops at one of their values."""
        for path, data in self._data(paths):
            config = self._parsed(path, config_entries_of, data)
            if config is None:
                continue
            if wrong := not_text(config):
                why = f"values that are not strings: {', '.join(wrong)}: no broker starts with them"
                self.unreadable[path] = why
            elif path.startswith(_PRIVATE):
                self._parsed(path, quotas_of, data)
            yield path, config

    def _restricted(self) -> Iterator[str]:
        for path, is_open in self._results(_OWN_PATHS, self.calls.begin_is_open):
            if isinstance(is_open, NoAuth) or is_open is False:
                yield path


def ask_ensemble(ensemble: Ensemble) -> tuple[ZooKeeperServer, ...]:
    hosts, _ = collect_hosts(ensemble.connect)
    addresses = sorted({Endpoint(*address) for address in hosts})
    with ThreadPoolExecutor(_AT_ONCE_MAX) as pool:
        return tuple(pool.map(partial(_query_server, ensemble.security), addresses))


def _query_server(security: Security, address: Endpoint) -> ZooKeeperServer:
    endpoint = str(address)
    try:
        answer = _four_letters(security, address)
    except (OSError, ValueError) as error:  # a resolver raises a UnicodeError for some names
        why = Unknown(f"it does not answer ({reason(error, security)})")
        return ZooKeeperServer(endpoint=endpoint, version=why)
    mode = _MODE.search(answer)
    return ZooKeeperServer(
        endpoint=endpoint, version=_version(answer), mode=mode[1] if mode is not None else ""
    )


def _version(answer: str) -> Maybe[tuple[int, ...]]:
    found = _VERSION.search(answer)
    if found is None:
        first = answer.strip().partition("\n")[0][:80]
        return Unknown(f"it does not report its version: {first or 'no answer to srvr'}")
    return tuple(map(int, found.groups()))


def _four_letters(security: Security, address: Endpoint) -> str:
    deadline_s = time.monotonic() + _ANSWER_S_MAX
    answer = b""
    with dial(security, address, address.host, _ANSWER_S_MAX) as connection:
        connection.sendall(b"srvr")
        while len(answer) < _ANSWER_BYTES_MAX and (left_s := deadline_s - time.monotonic()) > 0:
            connection.settimeout(left_s)
            part = connection.recv(4096)
            if not part:
                break
            answer += part
    return answer.decode("utf-8", "replace")

"""Queries the brokers' log directories: every replica in them, and their ids on this host."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from migration.observed.probed import Maybe, Unknown
from streams.kafka.broker_values import ClusterView, LogDirAnswer
from streams.log_dirs.local_host import LocalReader, is_own_host
from streams.log_dirs.remembered import LocalDir
from streams.net.endpoint import Endpoint
from streams.net.security import Security
from streams.probe.asking import in_parallel, query_node
from streams.probe.brokers import ABSENT


class BrokerLogDirs(NamedTuple):
    """The log directories of one broker.

    Attributes:
        endpoint: None: no broker lists it as alive.
        log_dirs: its own answer.
        local: the state of these paths on this host, by path; empty if its host is another one.
    """

    id: int
    endpoint: Endpoint | None
    log_dirs: Maybe[tuple[LogDirAnswer, ...]]
    local: Mapping[str, LocalDir]


def ask_log_dirs(
    view: ClusterView, security: Security, brokers: Collection[int]
) -> tuple[BrokerLogDirs, ...]:
    """Query these brokers in parallel; return their answers by id. Takes at most about 20 s."""
    reader = LocalReader()
    alive = [(each, view.brokers[each]) for each in sorted(brokers) if each in view.brokers]
    answers = in_parallel(lambda one: _ask(*one, view.cluster_id, security, reader), alive)
    absent = [BrokerLogDirs(each, None, ABSENT, {}) for each in {*brokers} - view.brokers.keys()]
    return tuple(sorted([*answers, *absent], key=lambda one: one.id))


def _ask(
    id_: int, endpoint: Endpoint, cluster_id: str | None, security: Security, reader: LocalReader
) -> BrokerLogDirs:
    log_dirs = query_node(endpoint, security, lambda node: node.log_dirs(), broker=id_)
    local = {}
    if cluster_id and not isinstance(log_dirs, Unknown) and is_own_host(endpoint.host):
        paths = [each.path for each in log_dirs if each.error == 0]
        local = {path: reader.read(path, id_, cluster_id) for path in paths}
    return BrokerLogDirs(id_, endpoint, log_dirs, local)

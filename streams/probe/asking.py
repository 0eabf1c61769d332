"""Queries of many nodes in parallel: an error is an `Unknown` with its reason."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from migration.observed.probed import Maybe, Unknown
from streams.kafka.errors import NotAuthorized
from streams.kafka.node import Node
from streams.net.endpoint import Endpoint
from streams.net.errors import LiveError
from streams.net.security import Security

_PARALLEL_MAX: Final = 32

T = TypeVar("T")
N = TypeVar("N")


def in_parallel(query: Callable[[N], T], nodes: Sequence[N]) -> list[T]:
    """Return the answer of every node, in their order."""
    with ThreadPoolExecutor(max(1, min(_PARALLEL_MAX, len(nodes)))) as pool:
        return list(pool.map(query, nodes))


def maybe(query: Callable[[], T]) -> Maybe[T]:
    try:
        return query()
    except LiveError as error:
        return Unknown(str(error), denied=isinstance(error, NotAuthorized))


def query_node(
    endpoint: Endpoint,
    security: Security,
    query: Callable[[Node], T],
    *,
    broker: int | None = None,
) -> Maybe[T]:
    def connected() -> T:
        with Node(endpoint, security, broker=broker) as node:
            return query(node)

    return maybe(connected)

"""The quorum of controllers: the leader, the followers, and the controllers that are gone."""

import socket
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from migration.assessment.conditions import QuorumSeen
from migration.observed.probed import Maybe, Quorum, Unknown
from streams.kafka.errors import NotAuthorized
from streams.kafka.node import Node
from streams.net.endpoint import Endpoint
from streams.net.errors import LiveError
from streams.net.security import Security
from streams.probe.asking import in_parallel
from streams.probe.gather import Target

_CONNECT_S_MAX: Final = 3.0


class _QuorumAnswer(NamedTuple):
    """The result of querying one controller.

    Attributes:
        quorum: None: it is not the leader, or did not answer.
        why: why it did not answer; None: it did.
        refused: the host refuses the connection.
        denied: it answers, and rejects the request as not authorized.
    """

    quorum: Quorum | None = None
    why: str | None = None
    refused: bool = False
    denied: str | None = None


def ask_quorum(target: Target, clock_ms: Callable[[], int]) -> Maybe[QuorumSeen]:
    """Query every configured controller; only the leader describes the quorum."""
    at_ms = clock_ms()
    if not target.controllers:
        return Unknown("the configuration names no controllers")
    endpoints = target.controllers
    answers = in_parallel(lambda one: _ask(one, target.controllers_security), endpoints)
    denied = next((each.denied for each in answers if each.denied is not None), None)
    quorums = [each.quorum for each in answers if each.quorum is not None]
    if denied is not None and not quorums:
        return Unknown(denied)
    latest = max(quorums, key=lambda each: each.epoch, default=None)
    return _seen(latest, endpoints, answers, at_ms)


def _seen(
    latest: Quorum | None,
    endpoints: Sequence[Endpoint],
    answers: Sequence[_QuorumAnswer],
    at_ms: int,
) -> QuorumSeen:
    pairs = list(zip(map(str, endpoints), answers, strict=True))
    return QuorumSeen(
        at_ms=at_ms,
        leader=None if latest is None else latest.leader,
        epoch=None if latest is None else latest.epoch,
        high_watermark=None if latest is None else latest.high_watermark,
        voters=() if latest is None else latest.progress,
        refused=tuple(endpoint for endpoint, each in pairs if each.refused),
        silent={
            endpoint: each.why
            for endpoint, each in pairs
            if each.why is not None and not each.refused
        },
        answering=sum(each.why is None for each in answers),
    )


def _ask(endpoint: Endpoint, security: Security) -> _QuorumAnswer:
    try:
        node = Node(endpoint, security)
    except LiveError as error:
        return _QuorumAnswer(why=str(error), refused=_refuses(endpoint))
    try:
        with node:
            return _QuorumAnswer(quorum=node.quorum())
    except NotAuthorized as error:
        return _QuorumAnswer(denied=str(error))
    except LiveError as error:
        return _QuorumAnswer(why=str(error))


def _refuses(endpoint: Endpoint) -> bool:
    """Return whether the host is up, at each of its addresses, and refuses the connection."""
    try:
        address = endpoint.host, endpoint.port
        socket.create_connection(address, _CONNECT_S_MAX, all_errors=True).close()
    except OSError:
        return False
    except ExceptionGroup as errors:
        return all(isinstance(each, ConnectionRefusedError) for each in errors.exceptions)
    return False

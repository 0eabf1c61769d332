"""Serves the console in its own threads while the loop of `kraftgate run` runs."""

import ipaddress
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final

from orchestrator.config.load import Config
from orchestrator.config.models import ConsoleAddress
from orchestrator.config.values import HostPort
from orchestrator.errors import ConfigError
from orchestrator.output.printing import echo
from orchestrator.process.admission import Crowd, Door
from orchestrator.run.assessed import Tick
from orchestrator.runbook.load import load
from orchestrator.views.console import third_party
from orchestrator.views.console.access import bearer_token as tokens
from orchestrator.views.console.access.bearer_token import Token
from orchestrator.views.console.access.certificate import Certificate
from orchestrator.views.console.access.permissions import Access, Sessions
from orchestrator.views.console.access.redaction import cleaner
from orchestrator.views.console.answers.pending_replicas import Replicas
from orchestrator.views.console.feed.hub import Hub
from orchestrator.views.console.feed.publisher import Publisher
from orchestrator.views.console.web.app import application
from orchestrator.views.console.web.context import Context
from orchestrator.views.console.web.server import Server

READERS_MAX: Final = 64
READERS_RESERVED: Final = 16
"""The part of them for readers that have sent the token: on loopback every local user may read."""
_SEND_BUFFER: Final = 128 * 1024
"""Unread changes of a slow reader must be merged in the hub instead of growing old in the kernel,
which by default would buffer 4 MiB for each reader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Protection:
    """The protection of the transmitted data.

    Attributes:
        certificate: None: the console serves plain HTTP.
        insecure: whether it serves plain HTTP beyond loopback.
    """

    certificate: Certificate | None
    insecure: bool


def _protection(config: Config, wanted: ConsoleAddress, host: str) -> _Protection:
    """Return the protection for these settings; `host`: the address of the listener.

    Raises:
        ConfigError: the certificate cannot be used, or plain HTTP beyond loopback is not accepted.
    """
    where = f"{config.path}: `console`"
    if wanted.tls is not None:
        certificate = Certificate(wanted.tls, f"{where}.tls")
        return _Protection(certificate=certificate, insecure=False)
    beyond = not ipaddress.ip_address(host).is_loopback
    if beyond and not wanted.insecure:
        problem = (
            f"{where}.listen {wanted.listen} is reached by other hosts, and the token would be sent"
            " over plain HTTP: add `tls: {cert_file: ..., key_file: ...}`, or listen on 127.0.0.1"
            " and use an ssh tunnel, or accept it with `insecure: true`"
        )
        raise ConfigError([problem])
    return _Protection(certificate=None, insecure=beyond)


class Console:
    """The running console.

    Attributes:
        at: its address.
        url: its address as a URL without a path.
        insecure: whether it serves plain HTTP beyond loopback.
        token: the token of this console.
    """

    def __init__(
        self,
        at: HostPort,
        protection: "_Protection",
        token: Token,
        publisher: Publisher,
        hub: Hub,
    ) -> None:
        self.at = at
        self.url = f"{'http' if protection.certificate is None else 'https'}://{at}"
        self.insecure = protection.insecure
        self.token = token
        self._publisher = publisher
        self._hub = hub

    @property
    def looked_ms(self) -> int | None:
        """The time of the last published tick; None before the first."""
        return self._hub.looked_ms

    def tick(self, tick: Tick) -> None:
        """Publish a tick; returns at once."""
        self._publisher.take(tick)


@contextmanager
def served(config: Config, wanted: ConsoleAddress) -> Iterator[Console]:
    """Listen until the block ends.

    Raises:
        ConfigError: the address cannot be listened on, or the token cannot be read or written.
        RunbookError: a runbook cannot be used.
        SecretUnknown: a secret of the configuration cannot be read, so it could not be redacted.
        ThirdPartyError: a module of the page is missing.
    """
    third_party.check()
    with (
        closing(_listener(config, wanted)) as listener,
        _token(config, wanted, listener) as token,
        _running(config, wanted, listener, token) as console,
    ):
        echo(
            f"kraftgate: console at {console.url}/, the token to approve, pause and abort is"
            f" in {token.path}",
            err=True,
        )
        if console.insecure:
            echo(
                "kraftgate: the console is served over plain HTTP (`insecure: true`): the token and"
                " all that it shows can be read on the network",
                err=True,
            )
        yield console


@contextmanager
def _running(
    config: Config, wanted: ConsoleAddress, listener: socket.socket, token: Token
) -> Iterator[Console]:
    host, port = listener.getsockname()[:2]
    protection = _protection(config, wanted, host)
    sessions, crowd = Sessions(port), Crowd()
    hub = Hub(
        {each.name: each.runbook is not None for each in config.clusters},
        {
            "version": version("kraftgate"),
            "stall_after_ms": config.stall_after_ms,
            "insecure": protection.insecure,
        },
        READERS_MAX,
        READERS_RESERVED,
    )
    clean = cleaner(config, token)
    loaded = {each.name: load(each.runbook.file) for each in config.clusters if each.runbook}
    publisher = Publisher(config, clean, loaded, lambda *tick: server.show(*tick))
    context = Context(
        config=config,
        cleaner=clean,
        hub=hub,
        token=token,
        sessions=sessions,
        access=Access(
            token,
            sessions,
            {wanted.listen.host.lower(), *wanted.hosts},
            loopback=ipaddress.ip_address(host).is_loopback,
        ),
        insecure=protection.insecure,
        tls=protection.certificate is not None,
        crowd=crowd,
        replicas=Replicas(config.state_dir),
        loaded=loaded,
        tick=lambda: publisher.last,
    )
    certificate = protection.certificate
    server = Server(
        application(context),
        hub,
        Door(listener, crowd),
        crowd,
        None if certificate is None else certificate.context,
    )
    server.start()
    publisher.start()
    try:
        yield Console(HostPort(wanted.listen.host, port), protection, token, publisher, hub)
    finally:
        publisher.stop()
        server.stop()


def _token(
    config: Config, wanted: ConsoleAddress, listener: socket.socket
) -> AbstractContextManager[Token]:
    if wanted.token_file is not None:
        return nullcontext(tokens.configured(wanted.token_file, config.path))
    port = listener.getsockname()[1]
    return tokens.made(config.state_dir / f"console-{port}.token")


def _listener(config: Config, wanted: ConsoleAddress) -> socket.socket:
    """Return the listening socket; its address family is that of the address (IPv4 or IPv6).

    Raises:
        ConfigError: the address cannot be listened on.
    """
    at = wanted.listen
    try:
        family = socket.getaddrinfo(at.host, at.port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((at.host, at.port), family=family)
    except OSError as error:
        fix = "choose another address, or stop what listens there"
        where = f"{config.path}: `console.listen` {at}"
        # `create_server` adds the address, which the message has already.
        why = str(error.strerror).partition(" (while")[0]
        raise ConfigError([f"{where}: {why}: {fix}"]) from error
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
    # asyncio sets it only if the socket names its protocol, which a socket accepted here does not:
    # each file of the page would wait 40 ms for the acknowledgement of its headers.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener

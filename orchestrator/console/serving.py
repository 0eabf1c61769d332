"""Serves the console beside the loop of `kraftgate run`, in threads of its own, until that ends."""

import ipaddress
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from importlib.metadata import version
from typing import Final

from orchestrator.config import Config
from orchestrator.config_models import ConsoleAddress
from orchestrator.config_values import HostPort
from orchestrator.console import token as tokens
from orchestrator.console.access import Access
from orchestrator.console.app import application
from orchestrator.console.clean import cleaner
from orchestrator.console.context import Context
from orchestrator.console.door import Crowd, Door
from orchestrator.console.hub import Hub
from orchestrator.console.painting import Painting
from orchestrator.console.pending import Replicas
from orchestrator.console.server import Server
from orchestrator.console.sessions import Sessions
from orchestrator.console.token import Token
from orchestrator.errors import ConfigError
from orchestrator.metrics.board import Look
from orchestrator.runbook.load import load
from orchestrator.terminal import echo

READERS_MAX: Final = 64
READERS_RESERVED: Final = 16
"""Of these, for readers that have shown the token: on loopback every local user may read."""
_SEND_BUFFER: Final = 128 * 1024
"""What a slow reader has not taken is to be joined here, not to grow old in the kernel: by itself
that would keep 4 MiB for each."""


class Console:
    """The console at its address.

    Attributes:
        at: where.
        token: of this console.
    """

    def __init__(self, at: HostPort, token: Token, painting: Painting, hub: Hub) -> None:
        self.at = at
        self.token = token
        self._painting = painting
        self._hub = hub

    @property
    def looked_ms(self) -> int | None:
        """Up to which look the pages are told; None before the first."""
        return self._hub.looked_ms

    def look(self, look: Look) -> None:
        """Show a look; nothing is waited for."""
        self._painting.look(look)


@contextmanager
def served(config: Config, wanted: ConsoleAddress) -> Iterator[Console]:
    """Listen until the block ends.

    Raises:
        ConfigError: nothing can listen there, or the token cannot be had.
        RunbookError: a runbook cannot be used.
        SecretUnknown: a secret of the configuration cannot be read, so it could not be kept out.
    """
    with (
        closing(_listener(config, wanted)) as listener,
        _token(config, wanted, listener) as token,
        _running(config, wanted, listener, token) as console,
    ):
        echo(
            f"kraftgate: console at http://{console.at}/, the token to approve, pause and abort is"
            f" in {token.path}",
            err=True,
        )
        yield console


@contextmanager
def _running(
    config: Config, wanted: ConsoleAddress, listener: socket.socket, token: Token
) -> Iterator[Console]:
    host, port = listener.getsockname()[:2]
    sessions, crowd = Sessions(port), Crowd()
    hub = Hub(
        {each.name: each.runbook is not None for each in config.clusters},
        {"version": version("kraftgate"), "stall_after_ms": config.stall_after_ms},
        READERS_MAX,
        READERS_RESERVED,
    )
    clean = cleaner(config, token)
    loaded = {each.name: load(each.runbook.file) for each in config.clusters if each.runbook}
    painting = Painting(config, clean, loaded, lambda fresh: server.show(fresh))
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
        crowd=crowd,
        replicas=Replicas(config.state_dir),
        loaded=loaded,
        look=lambda: painting.last,
    )
    server = Server(application(context), hub, Door(listener, crowd), crowd)
    server.start()
    painting.start()
    try:
        yield Console(HostPort(wanted.listen.host, port), token, painting, hub)
    finally:
        painting.stop()
        server.stop()


def _token(
    config: Config, wanted: ConsoleAddress, listener: socket.socket
) -> AbstractContextManager[Token]:
    if wanted.token_file is not None:
        return nullcontext(tokens.configured(wanted.token_file, config.path))
    port = listener.getsockname()[1]
    return tokens.made(config.state_dir / f"console-{port}.token")


def _listener(config: Config, wanted: ConsoleAddress) -> socket.socket:
    """Listen; an IPv6 address needs a socket of its own family.

    Raises:
        ConfigError: nothing can listen there.
    """
    at = wanted.listen
    try:
        family = socket.getaddrinfo(at.host, at.port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((at.host, at.port), family=family)
    except OSError as error:
        mend = "choose another address, or end what listens there"
        where = f"{config.path}: `console.listen` {at}"
        # `create_server` adds the address, which is there already.
        why = str(error.strerror).partition(" (while")[0]
        raise ConfigError([f"{where}: {why}: {mend}"]) from error
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
    # asyncio sets it where the socket names its protocol, which one that was accepted here does
    # not: each file of the page would wait 40 ms for the acknowledgement of its headers.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener

"""Serves the console in its own threads while the loop of `kraftgate run` runs."""

import ipaddress
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from orchestrator.config.load import Config
from orchestrator.config.models import ConsoleAddress
from orchestrator.errors import ConfigError, KraftgateError
from orchestrator.output.printing import echo
from orchestrator.process.admission import Crowd
from orchestrator.process.http_server import HttpServer, listening
from orchestrator.redaction.configured_secrets import redactor_of
from orchestrator.run.assessed import Tick
from orchestrator.runbook.load import load
from orchestrator.views.console import third_party
from orchestrator.views.console.access import bearer_token as tokens
from orchestrator.views.console.access.bearer_token import Token
from orchestrator.views.console.access.certificate import Certificate
from orchestrator.views.console.access.permissions import Access
from orchestrator.views.console.access.redaction import RedactedJson
from orchestrator.views.console.access.refusals import Refused, failure_response
from orchestrator.views.console.answers.pending_replicas import Replicas
from orchestrator.views.console.feed.hub import Hub
from orchestrator.views.console.feed.publisher import Publisher
from orchestrator.views.console.web import manual
from orchestrator.views.console.web.guard import Guard
from orchestrator.views.console.web.routes import Routes
from streams.net.endpoint import Endpoint

READERS_MAX: Final = 64
READERS_RESERVED: Final = 16
"""The part of them for readers that have sent the token: on loopback every local user may read."""
_STATIC: Final = third_party.FOLDER / "static"
_SEND_BUFFER: Final = 128 * 1024
"""Unread changes of a slow reader must be merged in the hub instead of growing old in the kernel,
which by default would buffer 4 MiB for each reader."""


def _certificate(config: Config, wanted: ConsoleAddress, *, loopback: bool) -> Certificate | None:
    """Return the certificate; None: the console serves plain HTTP.

    Raises:
        ConfigError: the certificate cannot be used, or plain HTTP beyond loopback is not accepted.
    """
    where = f"{config.path}: `console`"
    if wanted.tls is not None:
        return Certificate(wanted.tls, f"{where}.tls")
    if not (loopback or wanted.insecure):
        problem = (
            f"{where}.listen {wanted.listen} is reached by other hosts, and the token would be sent"
            " over plain HTTP: add `tls: {cert_file: ..., key_file: ...}`, or listen on 127.0.0.1"
            " and use an ssh tunnel, or accept it with `insecure: true`"
        )
        raise ConfigError([problem])
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    """The running console.

    Attributes:
        at: its address.
        url: its address as a URL without a path.
        insecure: whether it serves plain HTTP beyond loopback.
        token: the token of this console.
    """

    at: Endpoint
    url: str
    insecure: bool
    token: Token
    _publisher: Publisher
    _hub: Hub

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
        KraftgateError: the host or disk of the state directory cannot serve it now.
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
        is_any = console.at.host in ("0.0.0.0", "::")  # noqa: S104
        where = " (all addresses of this host)" if is_any else ""
        echo(
            f"kraftgate: console at {console.url}/{where}, the"
            f" token that permits every action on the execution is in {token.path}",
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
    loopback = ipaddress.ip_address(host).is_loopback
    certificate = _certificate(config, wanted, loopback=loopback)
    insecure = certificate is None and not loopback
    hub = Hub(
        {each.name: each.runbook is not None for each in config.clusters},
        {
            "version": version("kraftgate"),
            "stall_after_ms": config.stall_after_ms,
            "insecure": insecure,
        },
        READERS_MAX,
        READERS_RESERVED,
    )
    cleaner = RedactedJson(redactor_of(config, [token.secret()]))
    loaded = {each.name: load(each.runbook.file) for each in config.clusters if each.runbook}
    publisher = Publisher(config, cleaner, loaded, lambda *tick: server.call(hub.take, *tick))
    hosts = {wanted.listen.host.lower(), *wanted.hosts}
    routes = Routes(
        config=config,
        cleaner=cleaner,
        hub=hub,
        access=Access(token, port, hosts, loopback=loopback),
        insecure=insecure,
        tls=certificate is not None,
        replicas=Replicas(config.state_dir),
        loaded=loaded,
        tick=lambda: publisher.last,
        bases=publisher.bases,
    )
    crowd = Crowd()
    server = HttpServer(
        "console",
        _application(routes, crowd),
        listener,
        crowd,
        tls=None if certificate is None else certificate.context,
        at_end=hub.close,
    )
    at = Endpoint(wanted.listen.host, port)
    with server, publisher:
        yield Console(
            at=at,
            url=f"{'http' if certificate is None else 'https'}://{at}",
            insecure=insecure,
            token=token,
            _publisher=publisher,
            _hub=hub,
        )


def _token(
    config: Config, wanted: ConsoleAddress, listener: socket.socket
) -> AbstractContextManager[Token]:
    if wanted.token_file is not None:
        return nullcontext(tokens.configured(wanted.token_file, config.path))
    port = listener.getsockname()[1]
    return tokens.made(config.state_dir / f"console-{port}.token")


def _listener(config: Config, wanted: ConsoleAddress) -> socket.socket:
    listener = listening(wanted.listen, f"{config.path}: `console.listen`")
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
    # asyncio sets it only if the socket names its protocol, which a socket accepted here does not:
    # each file of the page would wait 40 ms for the acknowledgement of its headers.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _application(routes: Routes, crowd: Crowd) -> Starlette:
    guard = Middleware(
        Guard, config=routes.config, access=routes.access, crowd=crowd, cleaner=routes.cleaner
    )
    return Starlette(
        routes=[
            Route("/", _page, methods=["GET"]),
            Mount("/static", StaticFiles(directory=_STATIC)),
            *manual.routes(),
            *routes.routes(),
        ],
        middleware=[guard],
        exception_handlers=dict.fromkeys(
            (Refused, HTTPException, KraftgateError, Exception),
            lambda _, error: failure_response(routes.cleaner, error),
        ),
    )


async def _page(_: Request) -> Response:
    return FileResponse(_STATIC / "index.html")

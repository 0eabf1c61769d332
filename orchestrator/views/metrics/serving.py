"""The HTTP listener for the metrics, in threads of its own."""

import logging
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.exposition import ThreadingWSGIServer
from prometheus_client.process_collector import ProcessCollector

from orchestrator.config.load import Config
from orchestrator.errors import ConfigError
from orchestrator.notify.sender import SenderStats
from orchestrator.output.printing import echo
from orchestrator.process.admission import Crowd, Door, Rank
from orchestrator.run.assessed import Tick
from orchestrator.views.metrics.collector import LastTick
from streams.net.endpoint import Endpoint

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

_SCRAPED_S: Final = 150.0
"""No Prometheus scrapes if no request came for this time; its default interval is a minute."""
_LAST_SCRAPE_S: Final = 65.0
_POLL_S: Final = 0.1
_CONNECTIONS_MAX: Final = 32
_SILENT_S_MAX: Final = 10.0
_LOG = logging.getLogger(__name__)


class Served:
    """The running listener of the metrics.

    Attributes:
        at: its address.
    """

    def __init__(self, at: Endpoint, last: Callable[[], Tick | None], scrapes: "_Scrapes") -> None:
        self.at = at
        self._last = last
        self._scrapes = scrapes

    def wait_until_scraped(
        self, wait: Callable[[float], bool], limit_s: float = _LAST_SCRAPE_S
    ) -> None:
        """Wait until Prometheus has scraped the last tick, if it scrapes, so that it has the end.

        Otherwise Prometheus would keep a finalized migration as one that nothing monitors.

        Args:
            wait: Waits for this number of seconds; returns True when the process must end.
            limit_s: The longest wait.
        """
        at_s, last = self._scrapes.at_s, self._last()
        if at_s is None or time.monotonic() - at_s > _SCRAPED_S or self._scrapes.tick is last:
            return
        echo("kraftgate: done; it ends once Prometheus has scraped this", err=True)
        deadline_s = time.monotonic() + limit_s
        while self._scrapes.tick is not last and time.monotonic() < deadline_s:
            if wait(_POLL_S):
                return


@contextmanager
def served(
    config: Config,
    last: Callable[[], Tick | None],
    receivers: Callable[[], Mapping[str, SenderStats]] = dict,
) -> Iterator[Served | None]:
    """Listen until the block ends; None if `metrics` is not configured.

    `receivers`: returns the counters of each receiver of alerts.

    Raises:
        ConfigError: the address cannot be listened on.
    """
    if config.metrics is None:
        yield None
        return
    wanted = config.metrics.listen
    registry = CollectorRegistry()
    registry.register(LastTick(last, receivers))
    ProcessCollector(namespace="kraftgate", registry=registry)
    scrapes = _Scrapes(make_wsgi_app(registry), last)
    try:
        server = _server(wanted, scrapes)
    except OSError as error:
        fix = "choose another address, or stop what listens there"
        where = f"{config.path}: `metrics.listen` {wanted}"
        raise ConfigError([f"{where}: {error.strerror}: {fix}"]) from error
    at = Endpoint(wanted.host, server.server_port)
    thread = threading.Thread(
        target=server.serve_forever, args=(_POLL_S,), name="metrics", daemon=True
    )
    thread.start()
    echo(f"kraftgate: metrics at http://{at}/metrics", err=True)
    try:
        yield Served(at, last, scrapes)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Scrapes:
    """The WSGI application; it records which tick was written completely to a client, and when."""

    def __init__(self, inner: "WSGIApplication", last: Callable[[], Tick | None]) -> None:
        self._inner = inner
        self._last = last
        self.tick: object = None
        self.at_s: float | None = None

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Return the response to one request, made from the last tick."""
        tick = self._last()
        return self._recorded(self._inner(environ, start_response), tick)

    def _recorded(self, body: Iterable[bytes], tick: object) -> Iterator[bytes]:
        """Yield the body; the server asks for more when it has written the last part."""
        yield from body
        self.tick, self.at_s = tick, time.monotonic()


class _Quiet(WSGIRequestHandler):
    """Logs no requests, because a live view may own the terminal; closes a silent connection."""

    timeout = _SILENT_S_MAX
    server: "_Server"

    def parse_request(self) -> bool:
        """Read the head of a request; a client that sent one ranks above a silent one."""
        whole = super().parse_request()
        if whole:
            host, port, *_ = self.client_address
            self.server.crowd.rank((host, port), Rank.ASKING)
        return whole

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name there
        """Discard the line of the request log."""


class _Server(ThreadingWSGIServer):
    """Handles each request in its own thread, with a limit on the connections."""

    crowd: Crowd
    request_queue_size = 2 * _CONNECTIONS_MAX
    """The backlog of simultaneous connections; without it TCP would retry each a second later."""

    def server_bind(self) -> None:
        """Bind the socket and put the admission of connections in front of it."""
        super().server_bind()
        self.crowd = Crowd(_CONNECTIONS_MAX)
        self.socket = Door(self.socket, self.crowd)

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002
        """Log at level INFO that a client was silent or closed before the end of its response."""
        _LOG.info("metrics: %s: %s", client_address, sys.exception())


def _server(at: Endpoint, application: "WSGIApplication") -> WSGIServer:
    """Return a listening server; its address family is that of the address (IPv4 or IPv6)."""
    family = socket.getaddrinfo(at.host, at.port, type=socket.SOCK_STREAM)[0][0]

    class Server(_Server):
        address_family = family

    return make_server(at.host, at.port, application, Server, _Quiet)

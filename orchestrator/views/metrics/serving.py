"""Serves the metrics over HTTP, in a thread of its own."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from prometheus_client import CollectorRegistry, make_asgi_app
from prometheus_client.process_collector import ProcessCollector
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orchestrator.config.load import Config
from orchestrator.config.models import MetricsAddress
from orchestrator.notify.sender import SenderStats
from orchestrator.output.printing import echo
from orchestrator.process.admission import Crowd
from orchestrator.process.http_server import HttpServer, listening
from orchestrator.run.assessed import Tick
from orchestrator.views.metrics.collector import LastTick
from streams.net.endpoint import Endpoint

_SCRAPED_S: Final = 150.0
"""No Prometheus scrapes if no request came for this time; its default interval is a minute."""
_LAST_SCRAPE_S: Final = 65.0
_POLL_S: Final = 0.1
_CONNECTIONS_MAX: Final = 32
_NOTHING: Final = {"type": "http.response.body", "body": b""}


class Served:
    """The running listener of the metrics: its ASGI application.

    Attributes:
        at: its address.
    """

    def __init__(self, at: Endpoint, inner: ASGIApp, last: Callable[[], Tick | None]) -> None:
        self.at = at
        self._inner = inner
        self._last = last
        self._scraped: object = None
        self._scraped_s: float | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response to one request; record the tick that it was made from."""
        tick = self._last()

        async def send_body(message: Message) -> None:
            if message["type"] != "http.response.body":
                await send(message)
                return
            await send({**message, "more_body": True})
            await send({**_NOTHING, "more_body": True})  # waits until the first part is written
            if not await Request(scope, receive).is_disconnected():
                self._scraped, self._scraped_s = tick, time.monotonic()
            await send(_NOTHING)

        await self._inner(scope, receive, send_body)

    def wait_until_scraped(
        self, wait: Callable[[float], bool], limit_s: float = _LAST_SCRAPE_S
    ) -> None:
        """Wait until Prometheus has scraped the last tick, if it scrapes, so that it has the end.

        Otherwise Prometheus would keep a finalized migration as one that nothing monitors.

        Args:
            wait: Waits for this number of seconds; returns True when the process must end.
            limit_s: The longest wait.
        """
        at_s, last = self._scraped_s, self._last()
        if at_s is None or time.monotonic() - at_s > _SCRAPED_S or self._scraped is last:
            return
        echo("kraftgate: done; it ends once Prometheus has scraped this", err=True)
        deadline_s = time.monotonic() + limit_s
        while self._scraped is not last and time.monotonic() < deadline_s:
            if wait(_POLL_S):
                return


@contextmanager
def served(
    config: Config,
    wanted: MetricsAddress,
    last: Callable[[], Tick | None],
    receivers: Callable[[], Mapping[str, SenderStats]],
) -> Iterator[Served]:
    """Listen until the block ends; `receivers`: returns the counters of each receiver of alerts.

    Raises:
        ConfigError: the address cannot be listened on.
    """
    registry = CollectorRegistry()
    registry.register(LastTick(last, receivers))
    ProcessCollector(namespace="kraftgate", registry=registry)
    listener = listening(wanted.listen, f"{config.path}: `metrics.listen`")
    at = Endpoint(wanted.listen.host, listener.getsockname()[1])
    found = Served(at, make_asgi_app(registry), last)
    application = Starlette(routes=[Route("/{path:path}", found, methods=["GET"])])
    with HttpServer("metrics", application, listener, Crowd(_CONNECTIONS_MAX)):
        echo(f"kraftgate: metrics at http://{at}/metrics", err=True)
        yield found

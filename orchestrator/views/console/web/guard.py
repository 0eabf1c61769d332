"""Checks every request before anything is read for it, and adds headers to every response.

Every page in the operator's browser can reach a listener on loopback: it may send requests here, or
let its own name resolve to 127.0.0.1 (DNS rebinding). So the Host must be one of the console's, the
origin that a browser reports must be this console, and a change needs the token in a header, which
no other page can know.
"""

from collections.abc import Mapping
from typing import Final

from anyio import to_thread
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orchestrator.config.load import Config
from orchestrator.process.admission import Crowd, Rank
from orchestrator.views.console.access.permissions import Access, bearer
from orchestrator.views.console.access.redaction import RedactedJson
from orchestrator.views.console.access.refusals import Refused, failure_response
from orchestrator.views.console.access.wrong_tokens import WRONG_MAX, WrongTokens
from orchestrator.views.console.web.actions import record_wrong_token

SECURITY_HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
        " connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none';"
        " frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_READING: Final = frozenset({"GET", "HEAD"})
_API: Final = "/api/"
_OPEN: Final = frozenset({"/api/session"})
"""Paths that need no token from any host: this one returns whether reading needs a token."""


class Guard:
    """The outermost middleware of the application."""

    def __init__(
        self, app: ASGIApp, config: Config, access: Access, crowd: Crowd, cleaner: RedactedJson
    ) -> None:
        self._app = app
        self._config = config
        self._access = access
        self._crowd = crowd
        self._wrong = WrongTokens(access.token)
        self._cleaner = cleaner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        api = scope["path"].startswith(_API)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(SECURITY_HEADERS)
                headers["Cache-Control"] = "no-store" if api else "no-cache"
            await send(message)

        try:
            await self._check(HTTPConnection(scope), scope, api=api)
        except Refused as refused:
            answer = failure_response(self._cleaner, refused)
            await answer(scope, receive, with_headers)
            return
        await self._app(scope, receive, with_headers)

    async def _check(self, connection: HTTPConnection, scope: Scope, *, api: bool) -> None:
        self._access.check_host(connection.headers)
        if not api:
            return
        self._access.check_origin(connection.headers)
        await self._check_token(connection)
        if scope["method"] not in _READING:
            return  # the route checks the token after it has found that the path exists
        if scope["path"] not in _OPEN:
            self._access.check_reader(connection)

    async def _check_token(self, connection: HTTPConnection) -> None:
        """Reject a wrong token on any path; the right one, or a session, is trusted.

        Raises:
            Refused: the token is wrong, or too many tokens were.
        """
        client = connection.client
        if client is None:
            return
        given = bearer(connection.headers)
        if given is not None:
            wrong = self._wrong.check(given, client.host)
            if wrong is not None:
                if wrong in (1, WRONG_MAX):
                    await to_thread.run_sync(record_wrong_token, self._config, client.host, wrong)
                raise self._access.no_token(connection.headers)
        if self._access.has_shown_token(connection):
            self._crowd.rank((client.host, client.port), Rank.TRUSTED)

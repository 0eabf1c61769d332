"""Who may ask what: checks before anything is looked at, and headers on every answer.

Whoever listens on loopback is reached by every page that the operator's browser shows: such a page
may send requests here, or have its own name resolve to 127.0.0.1 (DNS rebinding). So the Host must
be one of ours, what a browser says of where it comes from must be here, and a change needs the
token in a header, which no other page can know.
"""

import ipaddress
from collections.abc import Iterable, Mapping
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orchestrator.console.refusals import Refusals, Refused
from orchestrator.console.sessions import Sessions
from orchestrator.console.token import Token

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
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_READING: Final = frozenset({"GET", "HEAD"})
_API: Final = "/api/"
_OPEN: Final = frozenset({"/api/session"})
"""What may be read without a token everywhere: it tells whether one is needed."""


class Access:
    """Who may read, and who may change.

    Attributes:
        token_to_read: it is not only loopback that reaches us.
    """

    def __init__(
        self, token: Token, sessions: Sessions, hosts: Iterable[str], *, loopback: bool
    ) -> None:
        """Prepare; `hosts`: names beside loopback's by which we are reached."""
        self._token = token
        self._sessions = sessions
        self._hosts = _LOOPBACK | frozenset(hosts)
        self._loopback = loopback
        self.token_to_read = not loopback

    def check_host(self, headers: Headers) -> None:
        """Refuse a Host that is not ours; an IP address is nobody's name to resolve elsewhere."""
        host = _host(headers.get("host", ""))
        if host in self._hosts or (not self._loopback and _is_ip(host)):
            return
        raise Refused(
            403,
            "other_host",
            "this console is not known by the name in the request",
            "use the address that kraftgate run printed, or name it in `console.hosts`",
        )

    def check_origin(self, headers: Headers) -> None:
        """Refuse what a page from elsewhere sends."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        host = headers.get("host", "").lower()
        ours = origin is None or origin.lower() in (f"http://{host}", f"https://{host}")
        if ours and site in (None, "same-origin", "none"):
            return
        raise Refused(403, "other_origin", "the request comes from another page than this console")

    def may_read(self, connection: HTTPConnection) -> bool:
        """Whether it may see anything."""
        return not self.token_to_read or self.has_shown_token(connection)

    def has_shown_token(self, connection: HTTPConnection) -> bool:
        """Whether it sends the token, or belongs to a browser that has sent it."""
        if self._sessions.holds(connection.cookies):
            return True
        given = _bearer(connection.headers)
        return given is not None and self._token.is_it(given)

    def check_reader(self, connection: HTTPConnection) -> None:
        """Refuse who may not read."""
        if not self.may_read(connection):
            raise self._no_token(connection.headers)

    def check_writer(self, headers: Headers) -> None:
        """Refuse who has no token, or sends no JSON."""
        given = _bearer(headers)
        if given is None or not self._token.is_it(given):
            raise self._no_token(headers)
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Refused(415, "content_type", "a change is sent as application/json")

    def _no_token(self, headers: Headers) -> Refused:
        mend = "kraftgate run printed at its start which file holds the token"
        if _bearer(headers) is None:
            return Refused(401, "token_needed", "this needs the token", mend)
        return Refused(401, "token_wrong", "the token is not the one of this console", mend)


class Guard:
    """The outermost part of the application."""

    def __init__(self, app: ASGIApp, access: Access, refusals: Refusals) -> None:
        self._app = app
        self._access = access
        self._refusals = refusals

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check, then hand on."""
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
            self._check(HTTPConnection(scope), scope, api=api)
        except Refused as refused:
            answer = self._refusals.answer(refused.status, refused.problem)
            await answer(scope, receive, with_headers)
            return
        await self._app(scope, receive, with_headers)

    def _check(self, connection: HTTPConnection, scope: Scope, *, api: bool) -> None:
        self._access.check_host(connection.headers)
        if not api:
            return
        self._access.check_origin(connection.headers)
        if scope["method"] not in _READING:
            return  # the route checks who writes, once it is known that there is one
        if scope["path"] not in _OPEN:
            self._access.check_reader(connection)


def _bearer(headers: Headers) -> str | None:
    scheme, _, given = headers.get("authorization", "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" and given.strip() else None


def _host(header: str) -> str:
    """The name without its port, and without the brackets of an IPv6 address."""
    host = header.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True

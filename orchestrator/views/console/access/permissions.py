"""The permissions to read the console and to act in it.

A session is that of a browser that sent the token and may read: an event stream cannot send a
header. A session permits no action: a browser also sends its cookie with requests of other pages.
It ends when the token is replaced.
"""

import ipaddress
import secrets
from collections.abc import Iterable, Mapping
from typing import Final

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from orchestrator.views.console.access.bearer_token import Token
from orchestrator.views.console.access.refusals import Refused

_KEPT_MAX: Final = 256
_COOKIE_BYTES: Final = 32


_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class Access:
    """Checks whether a request may read, and whether it may act.

    Attributes:
        token_to_read: whether reading needs the token: other hosts than this one can connect.
        cookie: the name of the cookie of a session.
    """

    def __init__(self, token: Token, port: int, hosts: Iterable[str], *, loopback: bool) -> None:
        """Keep the facts; `hosts`: names besides loopback's that browsers use for the console."""
        self.token = token
        # Browsers share the cookies of a host among its ports.
        self.cookie: Final = f"kraftgate-{port}"
        self._sessions: dict[str, int] = {}  # and the token that began them
        self._hosts = _LOOPBACK | frozenset(hosts)
        self._loopback = loopback
        self.token_to_read = not loopback

    def begin_session(self) -> str:
        """Begin a session, dropping the oldest one if there are many; return the cookie's value."""
        made = secrets.token_urlsafe(_COOKIE_BYTES)
        self._sessions[made] = self.token.generation()
        while len(self._sessions) > _KEPT_MAX:
            del self._sessions[next(iter(self._sessions))]
        return made

    def _has_session(self, cookies: Mapping[str, str]) -> bool:
        given, now = cookies.get(self.cookie, "").encode(), self.token.generation()
        return any(
            secrets.compare_digest(given, each.encode()) and began == now
            for each, began in self._sessions.items()
        )

    def check_host(self, headers: Headers) -> None:
        """Reject a foreign Host; beyond loopback an IP address passes: DNS cannot rebind it."""
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
        """Reject a request that a page of another origin sends."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        host = headers.get("host", "").lower()
        ours = origin is None or origin.lower() in (f"http://{host}", f"https://{host}")
        if ours and site in (None, "same-origin", "none"):
            return
        raise Refused(403, "other_origin", "the request comes from another page than this console")

    def may_read(self, connection: HTTPConnection) -> bool:
        return not self.token_to_read or self.has_shown_token(connection)

    def has_shown_token(self, connection: HTTPConnection) -> bool:
        """Whether the request has the token, or the session of a browser that has sent it."""
        if self._has_session(connection.cookies):
            return True
        return self._has_token(connection.headers)

    def check_reader(self, connection: HTTPConnection) -> None:
        if not self.may_read(connection):
            raise self.no_token(connection.headers)

    def check_writer(self, headers: Headers) -> None:
        """Reject a request without the token, or whose body is not JSON."""
        if not self._has_token(headers):
            raise self.no_token(headers)
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Refused(415, "content_type", "a change is sent as application/json")

    def _has_token(self, headers: Headers) -> bool:
        given = bearer(headers)
        return given is not None and self.token.is_it(given)

    def no_token(self, headers: Headers) -> Refused:
        """Return the refusal for a missing or a wrong token."""
        fix = "kraftgate run printed at its start which file holds the token"
        if bearer(headers) is None:
            return Refused(401, "token_needed", "this needs the token", fix)
        return Refused(401, "token_wrong", "the token is not the one of this console", fix)


def bearer(headers: Headers) -> str | None:
    """Return the token of a request; None: it has none."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" and given.strip() else None


def _host(header: str) -> str:
    """Return the host name without the port, and without the brackets of an IPv6 address."""
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

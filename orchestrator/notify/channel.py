"""The channel to one receiver: it builds the request and checks the response."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Generic, TypeVar
from urllib.parse import urlsplit

from orchestrator.config.alerts import RUNBOOK_URL, Destination
from orchestrator.notify.http_post import (
    Poster,
    Request,
    Response,
    Undelivered,
    origin_of,
    secret_in,
)
from orchestrator.notify.notification import Notification
from orchestrator.redaction.known_secrets import known_by
from orchestrator.redaction.redactor import Redactor

C = TypeVar("C", bound=Destination)


class Channel(ABC, Generic[C]):
    """A channel to one receiver; used by one thread. Nothing is opened or read before `notify`.

    Attributes:
        runbook_url: the base address of the alert pages.
        batch_size: the most notifications in one request.
        inhibits: whether Kraftgate inhibits warnings that are active as critical.
        repeat_ms: interval after which an active alert is sent again; None: as configured.
    """

    batch_size: ClassVar[int] = 1
    inhibits: ClassVar[bool] = True
    repeat_ms: ClassVar[int | None] = None

    def __init__(self, name: str, config: C, runbook_url: str = RUNBOOK_URL) -> None:
        self.name = name
        self.config = config
        self.runbook_url = runbook_url
        self._poster = Poster(config.ca_file, config.proxy)

    def notify(self, notifications: Sequence[Notification], now_ms: int) -> str:
        """Send at most `batch_size` notifications; return the receiver's response in short.

        Raises:
            Undelivered: the receiver did not accept them, or that is unknown. The message has no
                secret.
        """
        request = self.request(notifications, now_ms)
        redactor = Redactor(form for each in request.secrets for form in known_by(each))
        response = self._poster.post(request, redactor)
        return redactor.text(self.accepted(response, request.url))

    @abstractmethod
    def request(self, notifications: Sequence[Notification], now_ms: int) -> Request:
        """Return the request that carries the notifications.

        Raises:
            Undelivered: a secret for the request cannot be read.
        """

    def accepted(self, response: Response, url: str) -> str:  # noqa: ARG002
        """Return a short summary of the response of `url`, whose status is 2xx.

        Raises:
            Undelivered: a receiver of this kind does not respond like that.
        """
        return f"{response.status}"

    def close(self) -> None:
        self._poster.close()


def secret_address(url: str | None, url_file: Path | None) -> tuple[str, tuple[str, ...]]:
    """Return the configured address and its secrets.

    Raises:
        Undelivered: the file with the address cannot be read, or has no URL.
    """
    if url_file is None:
        return url or "", ()
    found = secret_in(url_file)
    try:
        parts = urlsplit(found)
        is_url = parts.scheme in {"http", "https"} and parts.netloc != ""
    except ValueError:  # such as a bracket that is not closed
        is_url = False
    if not is_url:
        why = f"the first line of {url_file} is not a URL: write it like https://..."
        raise Undelivered(why, permanent=True)
    return found, (found,)


def header_values(files: Mapping[str, Path] | None) -> Mapping[str, str]:
    """Return the values of headers, read from their files.

    Raises:
        Undelivered: a file cannot be read.
    """
    return {name: secret_in(path) for name, path in (files or {}).items()}


def as_json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def unexpected_response(kind: str, url: str) -> Undelivered:
    """Return the error for a response that does not come from the expected kind of receiver.

    Whether the notification was accepted is unknown.
    """
    why = f"{origin_of(url)} responds, but not as {kind} does: is the address right?"
    return Undelivered(why, permanent=False, delivered=None)


def shortened(text: str, characters_max: int) -> str:
    return text if len(text) <= characters_max else f"{text[: characters_max - 3]}..."

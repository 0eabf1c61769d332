"""How one receiver is reached: the request for it, and what its response means."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from orchestrator.config.alerts import Destination
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


class Channel(ABC):
    """One receiver; for one thread.

    Attributes:
        batch_size: the most notifications in one request.
        inhibits: whether Kraftgate inhibits warnings that are active as critical.
        repeat_ms: an active alert is sent again after so long; None: as configured.
    """

    batch_size: ClassVar[int] = 1
    inhibits: ClassVar[bool] = True
    repeat_ms: ClassVar[int | None] = None

    def __init__(self, config: Destination) -> None:
        self._poster = Poster(config.ca_file, config.proxy)

    def notify(self, notifications: Sequence[Notification], now_ms: int) -> str:
        """Send notifications, at most `batch_size`; what the receiver responds.

        Raises:
            Undelivered: they were not accepted, or that is unknown. The message has no secret.
        """
        request = self.request(notifications, now_ms)
        redactor = Redactor(form for each in request.secrets for form in known_by(each))
        try:
            return redactor.text(self.accepted(self._poster.post(request)))
        except Undelivered as error:
            raise Undelivered(
                redactor.text(str(error)),
                permanent=error.permanent,
                delivered=error.delivered,
                retry_after_s=error.retry_after_s,
            ) from None  # the original message has the secrets

    @abstractmethod
    def request(self, notifications: Sequence[Notification], now_ms: int) -> Request:
        """The request that carries them.

        Raises:
            Undelivered: a secret that it needs cannot be read.
        """

    def accepted(self, response: Response) -> str:
        """What a response with status 2xx says, in a few words.

        Raises:
            Undelivered: this kind of receiver does not respond so.
        """
        return f"{response.status}"

    def close(self) -> None:
        """Close the connections."""
        self._poster.close()


def secret_address(url: str | None, url_file: Path | None) -> tuple[str, tuple[str, ...]]:
    """The configured address, and its secrets.

    Raises:
        Undelivered: the file with it cannot be read, or has none.
    """
    if url_file is None:
        return url or "", ()
    found = secret_in(url_file)
    if urlsplit(found).scheme not in {"http", "https"} or not urlsplit(found).netloc:
        why = f"the first line of {url_file} is not a URL: write it like https://..."
        raise Undelivered(why, permanent=True)
    return found, (found,)


def header_values(files: Mapping[str, Path] | None) -> Mapping[str, str]:
    """Read the values of headers from their files.

    Raises:
        Undelivered: one cannot be read.
    """
    return {name: secret_in(path) for name, path in (files or {}).items()}


def as_json(value: object) -> bytes:
    """Compact JSON in UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def unexpected_response(kind: str, url: str) -> Undelivered:
    """The error for a response of something else; whether the notification was accepted is unknown.

    Args:
        kind: The receiver that was expected.
        url: Of the request.
    """
    why = f"{origin_of(url)} responds, but not as {kind} does: is the address right?"
    return Undelivered(why, permanent=False, delivered=None)


def shortened(text: str, characters_max: int) -> str:
    """The text, or its beginning."""
    return text if len(text) <= characters_max else f"{text[: characters_max - 3]}..."

"""A way to tell one receiver: what is sent there, and what its answer means."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from orchestrator.alerts.notice import Notice
from orchestrator.alerts.post import Answer, Message, Poster, Undelivered, place_of, secret_in
from orchestrator.audit.redact import Redactor
from orchestrator.audit.secrets import known_by
from orchestrator.config_alerts import Destination


class Channel(ABC):
    """How one receiver is told; for one thread.

    Attributes:
        at_once: so many notices go into one message.
        inhibits: whether Kraftgate itself keeps a warning quiet while it stands as critical.
        again_ms: what stands is told again so long after it was told; None: as configured.
    """

    at_once: ClassVar[int] = 1
    inhibits: ClassVar[bool] = True
    again_ms: ClassVar[int | None] = None

    def __init__(self, given: Destination) -> None:
        self._poster = Poster(given.ca_file, given.proxy)

    def tell(self, notices: Sequence[Notice], now_ms: int) -> str:
        """Tell it, and say what it answered.

        Raises:
            Undelivered: it was not taken, or nobody knows whether it was.
        """
        return self.send(self.message(notices, now_ms))

    def send(self, message: Message) -> str:
        """Send a message, and say what was answered.

        Raises:
            Undelivered: as `tell`.
        """
        redactor = Redactor(form for each in message.secrets for form in known_by(each))
        try:
            return redactor.text(self.meant(self._poster.post(message)))
        except Undelivered as error:
            raise Undelivered(
                redactor.text(str(error)),
                refused=error.refused,
                taken=error.taken,
                after_s=error.after_s,
            ) from None  # the text before had what was taken out

    @abstractmethod
    def message(self, notices: Sequence[Notice], now_ms: int) -> Message:
        """Put together what is sent.

        Raises:
            Undelivered: a secret that is needed cannot be read.
        """

    @abstractmethod
    def meant(self, answer: Answer) -> str:
        """Say what an answer means.

        Raises:
            Undelivered: it is not one of this receiver's kind.
        """

    def close(self) -> None:
        """Let go of what is open."""
        self._poster.close()


def address(url: str | None, url_file: Path | None) -> tuple[str, tuple[str, ...]]:
    """Where to send to, and what of it is secret.

    Raises:
        Undelivered: it is in a file that cannot be read, or holds none.
    """
    if url_file is None:
        return url or "", ()
    found = secret_in(url_file)
    if urlsplit(found).scheme not in {"http", "https"} or not urlsplit(found).netloc:
        why = f"the first line of {url_file} is no address: write it like https://..."
        raise Undelivered(why, refused=True)
    return found, (found,)


def header_values(files: Mapping[str, Path] | None) -> Mapping[str, str]:
    """Read headers' values.

    Raises:
        Undelivered: one cannot be read.
    """
    return {name: secret_in(path) for name, path in (files or {}).items()}


def as_json(value: object) -> bytes:
    """Write JSON as it is sent."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def no_answer_of(kind: str, url: str) -> Undelivered:
    """Say that something else answered; whether it was taken is not known."""
    why = f"{place_of(url)} answers, but not as {kind} does: is the address right?"
    return Undelivered(why, refused=False, taken=None)


def shortened(text: str, characters_max: int) -> str:
    """The text, or its beginning."""
    return text if len(text) <= characters_max else f"{text[: characters_max - 3]}..."

"""The token that an operator needs in order to act: its file, and the comparison.

The token is compared in constant time, and is never printed, logged or put into a page.
"""

import logging
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

from orchestrator.errors import ConfigError
from streams.net import secret_file
from streams.net.secret_file import SecretFileRefused

_BYTES: Final = 32
_LENGTH_MIN: Final = 16
_log: Final = logging.getLogger(__name__)


class Token:
    """A token; its text is not part of its representation.

    Attributes:
        path: the file that contains it.
    """

    def __init__(self, path: Path, text: str, read: Callable[[], str] | None = None) -> None:
        """Keep the text; `read` reads it again when its file has changed.

        While the changed file is refused there is no token: the former one may have leaked.
        """
        self.path = path
        self._text: str | None = text
        self._read = read
        self._stamp = secret_file.stamp(path)
        self._number = 0

    def __repr__(self) -> str:
        """Return the file's name only."""
        return f"Token({self.path})"

    def is_it(self, given: str) -> bool:
        """Whether a given text is the token."""
        text = self._now()
        return text is not None and secrets.compare_digest(given.encode(), text.encode())

    def is_in(self, text: str) -> bool:
        """Whether a text contains the token and so must not be stored or shown."""
        token = self._now()
        return token is not None and token in text

    def number(self) -> int:
        """Return how often the token was replaced: a session ends with its token."""
        self._now()
        return self._number

    def secret(self) -> str:
        """Return the text, for redaction; "": there is none."""
        return self._now() or ""

    def _now(self) -> str | None:
        if self._read is None or (found := secret_file.stamp(self.path)) == self._stamp:
            return self._text
        self._stamp = found
        self._number += 1
        try:
            self._text = self._read()
        except ConfigError as error:
            self._text = None
            _log.error("nobody can act in the console: %s", error)
        return self._text


def configured(path: Path, where: Path) -> Token:
    """Return the configured token: the first line of its file, also when that is replaced.

    `where`: the configuration's own file, for messages.

    Raises:
        ConfigError: the file cannot be read, or has no valid token.
    """
    return Token(path, _text_of(path, where), partial(_text_of, path, where))


def _text_of(path: Path, where: Path) -> str:
    key = f"{where}: `console.token_file` {path}"
    try:
        lines = secret_file.content(path).decode("ascii").splitlines()
    except SecretFileRefused as error:
        raise ConfigError([f"{key}: {error}"]) from error
    except UnicodeDecodeError as error:
        raise ConfigError([f"{key}: not ASCII: take letters, digits, - and _"]) from error
    text = lines[0].strip() if lines else ""
    if len(text) < _LENGTH_MIN or not text.isprintable() or " " in text:
        fix = "openssl rand -hex 32 makes one"
        raise ConfigError(
            [f"{key}: a token has at least {_LENGTH_MIN} characters and no space: {fix}"]
        )
    return text


@contextmanager
def made(path: Path) -> Iterator[Token]:
    """Write a new token to a file that only this user may read; delete it when the block ends.

    Raises:
        ConfigError: the file cannot be written.
    """
    token = Token(path, secrets.token_urlsafe(_BYTES))
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh.unlink(missing_ok=True)
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with open(handle, "w", encoding="ascii") as file:  # noqa: PTH123  # it has its mode already
            file.write(f"{token.secret()}\n")
        fresh.replace(path)
    except OSError as error:
        fix = "let kraftgate write to `state_dir`"
        raise ConfigError([f"{path}: the console's token: {error.strerror}: {fix}"]) from error
    try:
        yield token
    finally:
        with suppress(FileNotFoundError):
            path.unlink()

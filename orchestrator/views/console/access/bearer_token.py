"""The token that an operator needs in order to act: its file, and the comparison.

The token is compared in constant time, and is never printed, logged or put into a page.
"""

import logging
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

from orchestrator.config.state_dir import unusable
from orchestrator.errors import ConfigError
from streams.net import secret_file
from streams.net.secret_file import SecretFileRefused, stamp
from streams.state.directory import create_private
from streams.state.files import replace_file

_log: Final = logging.getLogger(__name__)
_BYTES: Final = 32
_LENGTH_MIN: Final = 16


class Token:
    """A token; its text is not part of its representation.

    A configured one is read again when its file changes. While the new file is refused, no text is
    the token.

    Attributes:
        path: the file that contains it.
    """

    def __init__(self, path: Path, text: str, read: Callable[[], str] | None = None) -> None:
        """Keep the token; `read` returns that of a changed file, or raises ConfigError."""
        self.path = path
        self._text: str | None = text
        self._read = read
        self._stamp = stamp(path)
        self._generation = 0
        self._refused: str | None = None

    def __repr__(self) -> str:
        """Return the file's name only."""
        return f"Token({self.path})"

    def is_it(self, given: str) -> bool:
        text = self._current()
        return text is not None and secrets.compare_digest(given.encode(), text.encode())

    def is_in(self, text: str) -> bool:
        """Whether a text contains the token and so must not be stored or shown."""
        current = self._current()
        return current is not None and current in text

    def generation(self) -> int:
        """Return a number that differs once the token was replaced or its file refused."""
        self._current()
        return self._generation

    def secret(self) -> str:
        """Return the text that was read last, for redaction."""
        return self._text or ""

    def _current(self) -> str | None:
        found = stamp(self.path)
        # A refused file is read again each time: `stamp` may not show the cause.
        if self._read is None or (found == self._stamp and self._text is not None):
            return self._text
        self._stamp = found
        try:
            text, refused = self._read(), None
        except ConfigError as error:
            text, refused = None, str(error)
        if text != self._text:
            self._text, self._generation = text, self._generation + 1
        if refused != self._refused:
            self._refused = refused
            if refused is not None:
                _log.error("the console accepts no token: %s", refused)
        return text


def configured(path: Path, where: Path) -> Token:
    """Return the configured token: the first line of its file.

    `where`: the configuration's own file, for messages.

    Raises:
        ConfigError: the file cannot be read, or has no valid token.
    """
    read = partial(_configured, path, where)
    return Token(path, read(), read)


def _configured(path: Path, where: Path) -> str:
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
        ConfigError: the state directory, which contains it, cannot be written.
        KraftgateError: its host or disk cannot serve it now.
    """
    token = Token(path, secrets.token_urlsafe(_BYTES))
    create_private()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, f"{token.secret()}\n", durable=False)
    except OSError as error:
        raise unusable(path.parent, "the console's token", error) from error
    try:
        yield token
    finally:
        with suppress(FileNotFoundError):
            path.unlink()

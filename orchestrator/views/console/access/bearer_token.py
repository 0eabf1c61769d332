"""The token that an operator needs in order to act: its file, and the comparison.

The token is compared in constant time, and is never printed, logged or put into a page.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.errors import ConfigError
from streams.net import secret_file
from streams.net.secret_file import SecretFileRefused

_BYTES: Final = 32
_LENGTH_MIN: Final = 16


@dataclass(frozen=True, slots=True)
class Token:
    """A token; its text is not part of its representation.

    Attributes:
        path: the file that contains it.
    """

    path: Path
    _text: str

    def __repr__(self) -> str:
        """Return the file's name only."""
        return f"Token({self.path})"

    def is_it(self, given: str) -> bool:
        """Whether a given text is the token."""
        return secrets.compare_digest(given.encode(), self._text.encode())

    def is_in(self, text: str) -> bool:
        """Whether a text contains the token and so must not be stored or shown."""
        return self._text in text

    def secret(self) -> str:
        """Return the text, for redaction."""
        return self._text


def configured(path: Path, where: Path) -> Token:
    """Return the configured token: the first line of its file.

    `where`: the configuration's own file, for messages.

    Raises:
        ConfigError: the file cannot be read, or has no valid token.
    """
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
    return Token(path, text)


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

"""The locations of the secrets that must not be written: names and paths, never values."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from orchestrator.errors import SecretUnknown
from orchestrator.redaction.patterns import names_a_secret
from orchestrator.redaction.redactor import Redactor
from streams.net import secret_file
from streams.net.secret_file import SecretFileRefused, Stamp, stamp

_TOKEN_MIN: Final = 12
_NAME: Final = re.compile("[A-Za-z]*[0-9]{0,4}")
_SEPARATORS: Final = re.compile(r"[\s/?&=#]+")
_GUESSED_MIN: Final = 6
"""A variable whose name only resembles a secret's counts as one if its value has at least this
many characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """Secrets, identified by their location.

    Attributes:
        variables: names of environment variables.
        files: files whose content, or whose first line, is a secret.
    """

    variables: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()

    def redactor(self, environment: Mapping[str, str], more: Iterable[str] = ()) -> Redactor:
        """Read the secrets and return a redactor for them.

        It also redacts variables of the environment that are named like a secret, and the values in
        `more`.

        Raises:
            SecretUnknown: a named variable is not set, or a file cannot be read.
        """
        stamps = {path: stamp(path) for path in self.files}
        in_files = (each for path in self.files for each in _in_file(path))
        known = frozenset([*self._named(environment), *_guessed(environment), *in_files, *more])
        return _FileRedactor(known, stamps)

    def readable(self) -> "Secrets":
        """Return the secrets without the files that cannot be used now, as while one is replaced.

        Of the files that this user cannot read, the user cannot write a secret either.
        """
        return replace(self, files=tuple(filter(_is_usable, self.files)))

    def _named(self, environment: Mapping[str, str]) -> Iterator[str]:
        for name in self.variables:
            if name not in environment:
                raise SecretUnknown(
                    f"the environment variable {name} is named as a secret and is not set: set it,"
                    " or remove its name"
                )
            yield environment[name]


class _FileRedactor(Redactor):
    """Redacts secrets of files, also those that a file had before it was changed.

    Args:
        known: the values of all secrets.
        stamps: the files, with their stamps before they were read.
    """

    def __init__(self, known: frozenset[str], stamps: Mapping[Path, Stamp]) -> None:
        super().__init__(known)
        self._known = known
        self._stamps = stamps

    def refreshed(self) -> Redactor:
        """Return a redactor that has read the changed files again; this one if there is none.

        A file that cannot be read, because it is being replaced, is read the next time.
        """
        known, stamps = self._known, dict(self._stamps)
        for path, before in self._stamps.items():
            if (now := stamp(path)) != before:
                with suppress(SecretUnknown):
                    known = known.union(_in_file(path))
                    stamps[path] = now
        return self if stamps == self._stamps else _FileRedactor(known, stamps)


def _is_usable(path: Path) -> bool:
    try:
        secret_file.content(path)
    except SecretFileRefused:
        return False
    return True


def _in_file(path: Path) -> Iterator[str]:
    try:
        content = secret_file.content(path).decode("utf-8-sig", "backslashreplace")
    except SecretFileRefused as error:
        raise SecretUnknown(str(error), path) from error
    yield content
    for line in content.splitlines()[:1]:
        yield from known_by(line.strip())


def known_by(secret: str) -> Iterator[str]:
    """Yield a secret, its password and the part after its host if it is a URL, and its tokens.

    A receiver that rejects `Bearer TOKEN`, or a URL with a token, may quote the token alone.
    """
    yield secret
    try:
        url = urlsplit(secret if "://" in secret else "")
    except ValueError:  # such as a bracket that is not closed
        url = urlsplit("")
    rest = secret.partition(url.netloc)[2] if url.netloc else secret
    if url.netloc:
        yield rest.strip("/")
    if url.password and len(url.password) >= _GUESSED_MIN:
        yield url.password
    yield from (each for each in _SEPARATORS.split(rest) if _is_token(each))


def _is_token(text: str) -> bool:
    """Return whether a part of a secret is no name that other texts have, as `kafka-prod-eu1`."""
    return len(text) >= _TOKEN_MIN and not all(map(_NAME.fullmatch, re.split(r"[-._]", text)))


def _guessed(environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        if len(value) >= _GUESSED_MIN and names_a_secret(name):
            yield value

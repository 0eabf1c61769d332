"""The locations of the secrets that must not be written: names and paths, never values."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from orchestrator.errors import SecretUnknown
from orchestrator.redaction.patterns import names_a_secret
from orchestrator.redaction.redactor import Redactor
from streams.net import secret_file
from streams.net.secret_file import SecretFileRefused

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
        known = [*self._named(environment), *_guessed(environment), *self._in_files()]
        return Redactor([*known, *more])

    def readable(self) -> "Secrets":
        """Return the secrets without the files that this user cannot read.

        A user cannot write a secret that the user does not know.
        """
        files = tuple(path for path in self.files if os.access(path, os.R_OK))
        return Secrets(variables=self.variables, files=files)

    def _named(self, environment: Mapping[str, str]) -> Iterator[str]:
        for name in self.variables:
            if name not in environment:
                raise SecretUnknown(
                    f"the environment variable {name} is named as a secret and is not set: set it,"
                    " or remove its name"
                )
            yield environment[name]

    def _in_files(self) -> Iterator[str]:
        for path in self.files:
            try:
                content = secret_file.content(path).decode("utf-8-sig", "backslashreplace")
            except SecretFileRefused as error:
                raise SecretUnknown(str(error)) from error
            yield content
            for line in content.splitlines()[:1]:
                yield from known_by(line.strip())


def known_by(secret: str) -> Iterator[str]:
    """Yield a secret and, if it is a URL, the part after its host."""
    yield secret
    try:
        host = urlsplit(secret).netloc if "://" in secret else ""
    except ValueError:  # such as a bracket that is not closed
        host = ""
    if host:
        yield secret.partition(host)[2].strip("/")


def _guessed(environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        if len(value) >= _GUESSED_MIN and names_a_secret(name):
            yield value

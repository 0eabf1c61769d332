"""Finds the secret files that the configuration names, and redacts their content."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from pydantic import BaseModel

from orchestrator.config.alerts import SECRETS
from orchestrator.config.load import Config
from orchestrator.errors import SecretUnknown
from orchestrator.redaction.known_secrets import Secrets
from orchestrator.redaction.patterns import names_a_secret
from orchestrator.redaction.redactor import Redactor

_NAMED: Final = SECRETS | {"key_file"}
"""Keys whose name does not show that the file contains a secret."""


def configured_files(config: Config) -> dict[Path, str]:
    """Return every file with a secret that the configuration names, with its key."""
    parts = ("clusters", "console", "alerts", "spark", "publish")
    return {path: key for each in parts for path, key in _files(getattr(config, each), each)}


def redactor_of(config: Config, more: Iterable[str] = ()) -> Redactor:
    """Return a redactor of the secrets in the configured files, the environment and `more`.

    Raises:
        SecretUnknown: a file cannot be read.
    """
    files = configured_files(config)
    try:
        return Secrets(files=tuple(files)).redactor(os.environ, more)
    except SecretUnknown as error:
        if error.path is None:
            raise
        what = f"{config.path}: `{files[error.path]}`: {error}"
        raise SecretUnknown(what, error.path) from error


def _files(value: object, key: str, *, secret: bool = False) -> Iterator[tuple[Path, str]]:
    if isinstance(value, BaseModel):
        for name in type(value).model_fields:
            is_secret = name in _NAMED or names_a_secret(name.removesuffix("_file"))
            yield from _files(getattr(value, name), f"{key}.{name}", secret=is_secret)
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from _files(each, f"{key}.{name}", secret=secret)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _files(each, key, secret=secret)
    elif isinstance(value, Path) and secret:
        yield value, key

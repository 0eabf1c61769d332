"""Finds the secret files that the configuration names, and redacts their content."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from pydantic import BaseModel

from orchestrator.config.alerts import SECRETS
from orchestrator.config.load import Config
from orchestrator.redaction.known_secrets import Secrets
from orchestrator.redaction.patterns import names_a_secret
from orchestrator.redaction.redactor import Redactor

_NAMED: Final = SECRETS | {"key_file"}
"""Keys whose name does not show that the file contains a secret."""


def configured_files(config: Config) -> tuple[Path, ...]:
    """Return every file with a secret that the configuration names."""
    models = (*config.clusters, config.console, config.alerts, config.spark, config.publish)
    return tuple(dict.fromkeys(path for each in models for path in _files(each, secret=False)))


def redactor_of(config: Config, more: Iterable[str] = ()) -> Redactor:
    """Return a redactor of the secrets in the configured files, the environment and `more`.

    Raises:
        SecretUnknown: a file cannot be read.
    """
    return Secrets(files=configured_files(config)).redactor(os.environ, more)


def _files(value: object, *, secret: bool) -> Iterator[Path]:
    if isinstance(value, BaseModel):
        for name in type(value).model_fields:
            told = name in _NAMED or names_a_secret(name.removesuffix("_file"))
            yield from _files(getattr(value, name), secret=told)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _files(each, secret=secret)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _files(each, secret=secret)
    elif isinstance(value, Path) and secret:
        yield value

"""The secrets that the configuration names."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

from orchestrator.audit.secret_patterns import names_a_secret
from orchestrator.config import Config


def configured_files(config: Config) -> tuple[Path, ...]:
    """Every file with a password or a token that the configuration names."""
    models: list[BaseModel] = [*config.clusters, *([config.console] if config.console else [])]
    return tuple(dict.fromkeys(path for each in models for path in _files(each)))


def _files(model: BaseModel) -> Iterator[Path]:
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from _files(value)
        elif isinstance(value, Path) and names_a_secret(name.removesuffix("_file")):
            yield value

"""The page of the configuration, from the pydantic models that check the file."""

import enum
import types
from collections.abc import Iterable, Iterator
from datetime import timedelta
from inspect import get_annotations
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from migration.values.durations import format_duration
from orchestrator.cli.run import CONFIG_EXAMPLE
from orchestrator.config import alerts, jmx, models, spark, values
from orchestrator.reference.markdown import attributes, code, page, table

_INTRODUCTION: Final = """
The configuration is one YAML file, `--config FILE` (default `kraftgate.yaml`). Unknown keys are
errors; every problem is reported with its line. A relative path starts at the directory of the
file. The file names the files that hold secrets and never holds a secret itself.
"""
_TYPES: Final = (
    (values.Bootstrap, "`host:port,host:port`"),
    (values.Zookeeper, "`host:port,host:port/chroot`"),
    (values.Listen, "`host:port`"),
    (values.HostName, "host name"),
    (values.ClusterName, "name"),
    (values.Directory, "directory"),
    (values.File, "file"),
    (values.SecretFile, "file"),
    (values.Duration, "duration"),
    (values.ShippedOrFile, "name or file"),
    (jmx.Url, "URL"),
    (jmx.Server, "URL"),
    (jmx.Exporters, "map of node id to URL"),
    (jmx.Instances, "map of `instance` to node id"),
    (jmx.Label, "label"),
    (jmx.Labels, "map of label to value"),
    (spark.Settings, "map of setting to value"),
    (alerts.MinSeverity, "`warning`, `critical`"),
    (alerts.HeaderFiles, "map of header to file"),
)


def configuration() -> str:
    lines = [line[2:] for line in CONFIG_EXAMPLE.splitlines() if line.startswith("  ")]
    example = "\n".join(["```yaml", *lines, "```"])
    return page("Configuration", _INTRODUCTION, example, *_sections())


def _sections() -> Iterator[str]:
    """Yield one heading and one table for each key of the file that has keys, else one for all."""
    hints = get_type_hints(models.ConfigFile, include_extras=True)
    plain: list[tuple[str, str, str, str]] = []
    nested: list[tuple[str, type[BaseModel], str]] = []
    for name, field in models.ConfigFile.model_fields.items():
        model, suffix = _model(hints[name])
        if model is None or name == "clusters":
            plain.append(_row(models.ConfigFile, name, "", field, hints[name]))
        else:
            nested.append((name, model, suffix))
    header = ("key", "type", "default", "meaning")
    yield "## Top level"
    yield table(header, plain)
    for name, model, suffix in nested:
        yield f"## {name}"
        yield _meaning(models.ConfigFile, name)
        yield table(header, _rows(model, f"{name}{suffix}."))


def _rows(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, str, str, str]]:
    hints = get_type_hints(model, include_extras=True)
    for name in _own_first(model):
        inner, suffix = _model(hints[name])
        if inner is None:
            yield _row(model, name, prefix, model.model_fields[name], hints[name])
        else:
            yield from _rows(inner, f"{prefix}{name}{suffix}.")


def _own_first(model: type[BaseModel]) -> Iterable[str]:
    """Return the keys of a model, before those that it shares with others."""
    declared = (name for each in model.__mro__ for name in get_annotations(each))
    return dict.fromkeys(name for name in declared if name in model.model_fields)


def _row(
    model: type[BaseModel], name: str, prefix: str, field: FieldInfo, hint: object
) -> tuple[str, str, str, str]:
    return code(prefix + name), _type(hint), _default(field), _meaning(model, name)


def _meaning(model: type[BaseModel], name: str) -> str:
    """Return the text of a key.

    Raises:
        KeyError: no docstring of the model or of its bases describes the key.
    """
    for each in model.__mro__:
        if name in (found := attributes(each) if each.__doc__ else {}):
            return found[name]
    raise KeyError(f"{model.__name__}.{name} has no text under `Attributes`")


def _model(hint: object) -> tuple[type[BaseModel] | None, str]:
    """Return the model inside an annotation, and `[]` for a list of it."""
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return hint, ""
    for inner in _inner(hint):
        model, suffix = _model(inner)
        if model is not None:
            is_list = get_origin(hint) in {tuple, list}
            return model, "[]" if is_list else suffix
    return None, ""


def _inner(hint: object) -> tuple[Any, ...]:
    if get_origin(hint) is Annotated:
        return get_args(hint)[:1]
    return get_args(hint)


def _type(hint: object) -> str:
    for known, words in _TYPES:
        if hint == known:
            return words
    origin = get_origin(hint)
    if origin in {Union, types.UnionType}:
        return ", ".join(_type(each) for each in get_args(hint) if each is not type(None))
    if origin is Literal:
        return ", ".join(f"`{each}`" for each in get_args(hint))
    if origin is Annotated:
        return _type(get_args(hint)[0])
    if origin in {tuple, list}:
        return f"list of {_type(get_args(hint)[0])}s" if _model(hint)[0] is None else "list"
    plain = {str: "text", bool: "`true`, `false`", timedelta: "duration"}
    return plain[hint]  # type: ignore[index]  # a KeyError names it


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.default
    if value is None or value == ():
        return ""
    if isinstance(value, timedelta):
        return code(format_duration(value))
    if isinstance(value, bool):
        return code(str(value).lower())
    return code(value.value if isinstance(value, enum.Enum) else str(value))

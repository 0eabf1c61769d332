"""Reads kraftgate.yaml: all problems in one go, each with its line, what is wrong and the mend.

What comes out is one `Config`, whichever form the file has: `clusters` is never empty, paths start
at the file's directory. Nothing is asked of the network and no secret is read.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from orchestrator.config_models import Address, ClusterEntry, ConfigFile
from orchestrator.errors import ConfigError
from orchestrator.nearest import did_you_mean
from orchestrator.yaml_lines import Problem, YamlFile, YamlPath, read_yaml

_PER_CLUSTER: Final = ("zookeeper", "controllers", "brokers")
_DOCUMENTED: Final = "see the example in `kraftgate run --help`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What kraftgate was told.

    Attributes:
        path: the file, for messages.
        many: whether the file has `clusters`, so that output is a list as well.
        stall_after_ms: how long a held broker may be without progress.
    """

    path: Path
    clusters: tuple[ClusterEntry, ...]
    many: bool
    state_dir: Path
    metrics: Address | None
    console: Address | None
    stall_after_ms: int


def load_config(path: Path) -> Config:
    """Read and check a configuration file.

    Raises:
        ConfigError: it cannot be used; carries every problem that was found.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        mend = "give the file with --config FILE"
        raise ConfigError([f"{path}: {error.strerror}: {mend}"]) from error
    except UnicodeDecodeError as error:
        raise ConfigError([f"{path}: byte {error.start} is not UTF-8: save it as such"]) from error
    return parse_config(text, path)


def parse_config(text: str, path: Path) -> Config:
    """Check the text of a configuration file that lies at `path`.

    Raises:
        ConfigError: it cannot be used; carries every problem that was found.
    """
    read = read_yaml(text)
    problems = list(read.problems)
    config = None
    if not problems and not isinstance(read.data, dict):
        what = f"must hold keys and values, {_DOCUMENTED}"
        problems.append(Problem(line=read.line(()), what=what))
    elif isinstance(read.data, dict):
        problems.extend(_across_keys(read, read.data))
        try:
            config = ConfigFile.model_validate(read.data, context={"base": path.resolve().parent})
        except ValidationError as error:
            problems.extend(_problem(read, detail) for detail in error.errors())
    if problems or config is None:
        ordered = sorted(problems, key=lambda problem: problem.line)
        raise ConfigError([f"{path}:{problem.line}: {problem.what}" for problem in ordered])
    return _settled(config, path)


def _settled(config: ConfigFile, path: Path) -> Config:
    if config.cluster is not None:
        entry = ClusterEntry(
            name=config.cluster.name,
            id=config.cluster.id,
            zookeeper=config.zookeeper,
            controllers=config.controllers,
            brokers=config.brokers,
        )
    return Config(
        path=path,
        clusters=tuple(config.clusters) if config.clusters else (entry,),
        many=config.clusters is not None,
        state_dir=path.resolve().parent / config.state_dir,
        metrics=config.metrics,
        console=config.console,
        stall_after_ms=int(config.stall.after.total_seconds() * 1000),
    )


def _across_keys(read: YamlFile, data: Mapping[str, object]) -> Iterator[Problem]:
    """Yield what no single key can know."""
    one, many = data.get("cluster"), data.get("clusters")
    if one is None and many is None:
        what = f"`cluster` is missing: write cluster: {{name: prod}}, {_DOCUMENTED}"
        yield Problem(line=1, what=what)
    if one is not None and many is not None:
        what = "`cluster` and `clusters` exclude each other: keep one"
        yield Problem(line=read.line(("clusters",)), what=what)
    if many is not None:
        for key in _PER_CLUSTER:
            if data.get(key) is not None:
                what = f"`{key}` belongs inside each entry of `clusters`"
                yield Problem(line=read.line((key,)), what=what)
        yield from _names_twice(read, many)


def _names_twice(read: YamlFile, entries: object) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for position, entry in enumerate(entries if isinstance(entries, list) else ()):
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str):
            continue
        line = read.line(("clusters", position, "name"))
        if name in first:
            what = f"the cluster name `{name}` is taken (line {first[name]}): choose another"
            yield Problem(line=line, what=what)
        first.setdefault(name, line)


def _problem(read: YamlFile, detail: ErrorDetails) -> Problem:
    """Say one finding of pydantic in our words."""
    path: YamlPath = detail["loc"]
    line = read.line(path)
    if detail["type"] == "extra_forbidden":
        where = f"in `{_dotted(path[:-1])}`" if path[:-1] else "in the top level"
        hint = did_you_mean(str(path[-1]), _model_at(path[:-1]).model_fields)
        return Problem(line=line, what=f"unknown key `{path[-1]}` {where}; {hint}")
    if detail["type"] == "missing":
        return Problem(line=line, what=f"`{_dotted(path)}` is missing: add it")
    return Problem(line=line, what=f"`{_dotted(path)}`: {_words(detail)}")


def _words(detail: ErrorDetails) -> str:
    given = detail["input"]
    match detail["type"]:
        case "value_error":
            return str(detail["ctx"]["error"])
        case "string_type":
            return f"must be text, not {type(given).__name__}: put it in quotes"
        case "bool_type":
            return "must be true or false"
        case "literal_error":
            return f"must be {detail['ctx']['expected']}".replace("'", "")
        case "model_type" | "dict_type":
            keys = ", ".join(_model_at(detail["loc"]).model_fields)
            return f"must hold keys and values; its keys are {keys}"
        case "list_type" | "too_short":
            return "must be a list of at least one cluster, each with a name"
        case _:
            return detail["msg"]


def _dotted(path: YamlPath) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def _model_at(path: YamlPath) -> type[BaseModel]:
    """Find the model that stands at a path of the file."""
    model: type[BaseModel] = ConfigFile
    for part in path:
        if isinstance(part, str):
            model = next(_models_in(model.model_fields[part].annotation))
    return model


def _models_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)

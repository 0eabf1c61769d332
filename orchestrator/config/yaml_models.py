"""Checks parsed YAML against a pydantic model, and describes the problems to operators.

Every finding becomes a `Problem` with its line. Unknown keys name the nearest known one.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from migration.values.nearest import did_you_mean
from orchestrator.config.yaml_lines import Problem, YamlFile, YamlPath, read_yaml
from orchestrator.errors import ProblemsError
from streams.process.pipes import without_waiting

M = TypeVar("M", bound=BaseModel)
_BYTES_MAX: Final = 4 * 2**20
"""A larger file is not a configuration: parsing it would take minutes."""


def read_text(path: Path, error: type[ProblemsError], fix: str = "") -> tuple[bytes, str]:
    """Read a file that an operator wrote; return its bytes and its text.

    `fix` follows the reason why a file cannot be read.

    Raises:
        ProblemsError: it cannot be read; of the type `error`.
    """
    try:
        with open(path, "rb", opener=without_waiting) as file:
            raw = file.read(_BYTES_MAX + 1)
        if not raw and path.is_fifo():
            raise error([f"{path}: no process writes to this pipe{fix}"])
        if len(raw) > _BYTES_MAX:
            raise error([f"{path}: has more than {_BYTES_MAX} bytes: name another file"])
        return raw, raw.decode("utf-8")
    except OSError as reason:
        raise error([f"{path}: {reason.strerror}{fix}"]) from reason
    except UnicodeDecodeError as reason:
        raise error([f"{path}: byte {reason.start} is not UTF-8: save it as such"]) from reason


def read_model(
    model: type[M], path: Path, text: str, error: type[ProblemsError], documented: str
) -> tuple[M, YamlFile]:
    """Parse the text of a YAML file and validate it as a model; see `check_model`.

    Raises:
        ProblemsError: it is invalid, with every problem; of the type `error`.
    """
    read = read_yaml(text)
    found, problems = check_model(model, read, {}, documented=documented)
    if found is None:
        raise error(in_order(problems, path))
    return found, read


def check_model(
    model: type[M], read: YamlFile, context: Mapping[str, object], *, documented: str
) -> tuple[M | None, tuple[Problem, ...]]:
    """Validate a parsed YAML file as a model.

    Args:
        model: the model of the whole file.
        read: the file.
        context: passed to the models' validators.
        documented: where an operator finds an example, as the end of a sentence.

    Returns:
        The model, or None with every problem that was found.
    """
    if read.problems:
        return None, read.problems
    if not isinstance(read.data, dict):
        what = f"must hold keys and values, {documented}"
        return None, (Problem(line=read.line(()), what=what),)
    try:
        return model.model_validate(read.data, context=dict(context)), ()
    except ValidationError as error:
        return None, tuple(_problem(model, read, detail) for detail in error.errors())


def in_order(problems: Iterable[Problem], where: object) -> list[str]:
    """Return the problems as `FILE:LINE: what`, ordered by line."""
    ordered = sorted(problems, key=lambda problem: problem.line)
    return [f"{where}:{problem.line}: {problem.what}" for problem in ordered]


def _problem(model: type[BaseModel], read: YamlFile, detail: ErrorDetails) -> Problem:
    path: YamlPath = detail["loc"]
    line = read.line(path)
    if detail["type"] == "extra_forbidden":
        where = f"in `{dotted(path[:-1])}`" if path[:-1] else "in the top level"
        hint = did_you_mean(str(path[-1]), _model_at(model, path[:-1]).model_fields)
        return Problem(line=line, what=f"unknown key `{path[-1]}` {where}; {hint}")
    if detail["type"] == "missing":
        return Problem(line=line, what=f"`{dotted(path)}` is missing: add it")
    return Problem(line=line, what=f"`{dotted(path)}`: {_words(model, detail)}")


def _words(model: type[BaseModel], detail: ErrorDetails) -> str:
    given = detail["input"]
    match detail["type"]:
        case "value_error":
            return str(detail["ctx"]["error"])
        case "string_type":
            return f"must be text, not {type(given).__name__}: put it in quotes"
        case "string_too_short":
            return "must not be empty"
        case "bool_type":
            return "must be true or false"
        case "int_type":
            return f"must be a whole number, not {type(given).__name__}"
        case "literal_error" | "enum":
            return f"must be {detail['ctx']['expected']}".replace("'", "")
        case "model_type" | "dict_type":
            keys = ", ".join(_model_at(model, detail["loc"]).model_fields)
            return f"must hold keys and values; its keys are {keys}"
        case "list_type" | "tuple_type":
            return f"must be a list, not {type(given).__name__}"
        case "too_short":
            return "must have at least one entry"
        case _:
            return detail["msg"]


def dotted(path: YamlPath) -> str:
    """Return a path as `checkpoints[2].step.name`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def _model_at(model: type[BaseModel], path: YamlPath) -> type[BaseModel]:
    for part in path:
        if isinstance(part, str) and part in model.model_fields:
            model = next(_models_in(model.model_fields[part].annotation), model)
    return model


def _models_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)

"""Reads YAML and records the line of every key, so that an error can name its line.

Plain YAML only: a duplicate key is an error (YAML would use the last value), and so is a key that
is not text. Paths are tuples of keys and list positions; the root's path is ().
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

import yaml
from yaml.constructor import ConstructorError

_SHOWN_MAX: Final = 40
YamlPath: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A problem at one line; the first line is 1."""

    line: int
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlFile:
    """The content of a file, the line of each part, and its problems as YAML."""

    data: object
    lines: dict[YamlPath, int]
    problems: tuple[Problem, ...]

    def line(self, path: YamlPath) -> int:
        """Return the line of a path, or of the nearest existing part around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def read_yaml(text: str) -> YamlFile:
    """Read one YAML document; a document that cannot be read is a problem, never an exception."""
    walk = _Walk()
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        if root is None:
            return YamlFile(data=None, lines={}, problems=())
        walk.visit(root, ())
        data = None if walk.problems else loader.construct_document(root)
    except yaml.YAMLError as error:
        return YamlFile(data=None, lines={}, problems=(_yaml_problem(error),))
    except (RecursionError, ValueError, OverflowError) as error:
        problem = Problem(line=1, what=f"not YAML: {error}")
        return YamlFile(data=None, lines={}, problems=(problem,))
    return YamlFile(data=data, lines=walk.lines, problems=tuple(walk.problems))


class _Loader(yaml.SafeLoader):
    """Names the line of a value that does not fit its tag, such as `!!bool x` or 2024-13-45."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> object:
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError, AttributeError, ArithmeticError) as error:
            kind = node.tag.rpartition(":")[2]
            what = f"`{node.value[:_SHOWN_MAX]}` is not a valid {kind}"
            problem = f"{what}: put it in quotes, without a tag"
            raise ConstructorError(problem=problem, problem_mark=node.start_mark) from error


class _Walk:
    """Visits every node once; a node that an alias repeats has the line of its first place."""

    def __init__(self) -> None:
        self.lines: dict[YamlPath, int] = {}
        self.problems: list[Problem] = []
        self._visited: set[int] = set()

    def visit(self, node: yaml.Node, path: YamlPath) -> None:
        self.lines.setdefault(path, node.start_mark.line + 1)
        if id(node) in self._visited:
            return
        self._visited.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            for position, child in enumerate(node.value):
                self.visit(child, (*path, position))
        elif isinstance(node, yaml.MappingNode):
            for key, child in node.value:
                self._visit_entry(key, child, path)

    def _visit_entry(self, key: yaml.Node, child: yaml.Node, path: YamlPath) -> None:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
            what = f"the key {_plain(key)} must be text: put it in quotes"
            self.problems.append(Problem(line=line, what=what))
            return
        here = (*path, key.value)
        if here in self.lines:
            first = self.lines[here]
            what = f"the key `{key.value}` is given twice (first in line {first}): remove one"
            self.problems.append(Problem(line=line, what=what))
            return
        self.lines[here] = line
        self.visit(child, here)


def _plain(key: yaml.Node) -> str:
    return f"`{key.value}`" if isinstance(key, yaml.ScalarNode) else "that is no single word"


def _yaml_problem(error: yaml.YAMLError) -> Problem:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return Problem(line=error.problem_mark.line + 1, what=f"not YAML: {error.problem}")
    return Problem(line=1, what=f"not YAML: {error}".splitlines()[0])

"""Reads YAML and remembers the line of every key, so that an error can say where.

Plain YAML only: a key that is given twice is an error (YAML would keep the last), and so is a key
that is not text. Paths are tuples of keys and list positions; the root's path is ().
"""

from dataclasses import dataclass
from typing import TypeAlias

import yaml

YamlPath: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is wrong at one line (from 1)."""

    line: int
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlFile:
    """The content, where each part of it stands, and what was wrong with it as YAML."""

    data: object
    lines: dict[YamlPath, int]
    problems: tuple[Problem, ...]

    def line(self, path: YamlPath) -> int:
        """Give the line of a path, or of the nearest part around it that exists."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def read_yaml(text: str) -> YamlFile:
    """Read one YAML document; what cannot be read is a problem, never an exception."""
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return YamlFile(data=None, lines={}, problems=())
        lines: dict[YamlPath, int] = {(): root.start_mark.line + 1}
        problems: list[Problem] = []
        _walk(root, (), lines, problems)
        data = None if problems else loader.construct_document(root)
    except yaml.YAMLError as error:
        return YamlFile(data=None, lines={}, problems=(_yaml_problem(error),))
    except (RecursionError, ValueError) as error:  # e.g. a date such as 2024-13-45
        return YamlFile(data=None, lines={}, problems=(Problem(line=1, what=f"not YAML: {error}"),))
    finally:
        loader.dispose()
    return YamlFile(data=data, lines=lines, problems=tuple(problems))


def _walk(
    node: yaml.Node, path: YamlPath, lines: dict[YamlPath, int], problems: list[Problem]
) -> None:
    if isinstance(node, yaml.SequenceNode):
        for position, child in enumerate(node.value):
            lines[(*path, position)] = child.start_mark.line + 1
            _walk(child, (*path, position), lines, problems)
    elif isinstance(node, yaml.MappingNode):
        for key, child in node.value:
            _walk_key(key, child, path, lines, problems)


def _walk_key(
    key: yaml.Node,
    child: yaml.Node,
    path: YamlPath,
    lines: dict[YamlPath, int],
    problems: list[Problem],
) -> None:
    line = key.start_mark.line + 1
    if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
        problems.append(Problem(line=line, what=f"the key {key.value!r} must be text: quote it"))
        return
    here = (*path, key.value)
    if here in lines:
        what = f"the key `{key.value}` is given twice (first in line {lines[here]}): remove one"
        problems.append(Problem(line=line, what=what))
        return
    lines[here] = line
    _walk(child, here, lines, problems)


def _yaml_problem(error: yaml.YAMLError) -> Problem:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return Problem(line=error.problem_mark.line + 1, what=f"not YAML: {error.problem}")
    return Problem(line=1, what=f"not YAML: {error}".splitlines()[0])

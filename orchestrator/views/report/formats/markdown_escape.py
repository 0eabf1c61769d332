"""Markdown in which every foreign text is escaped."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from orchestrator.output.visible import visible

_SPECIAL: Final = re.compile(r"[\\`*{}\[\]<>#|~&$]|(?<!\w)_|_(?!\w)|^[-+=]")
"""Characters that are markup anywhere, or only at the end of a word or the start of a line."""
_NUMBERED: Final = re.compile(r"^(\d+)([.)])(?=\s|$)")
_BREAKS: Final = re.compile(r"\s+")


def plain(text: object) -> str:
    r"""Return text, escaped, on one line.

    >>> plain("<b>|`x`\n[y](z)")
    '\\<b\\>\\|\\`x\\` \\[y\\](z)'
    """
    line = _BREAKS.sub(" ", visible(str(text))).strip()
    return _NUMBERED.sub(r"\1\\\2", _SPECIAL.sub(r"\\\g<0>", line))


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a table; a head that ends with # is of numbers. None is shown as -."""
    names = [head.removesuffix("#") for head in heads]
    rules = ["--:" if head.endswith("#") else "---" for head in heads]
    yield f"| {' | '.join(names)} |"
    yield f"| {' | '.join(rules)} |"
    for row in rows:
        yield f"| {' | '.join('-' if each is None else plain(each) or '-' for each in row)} |"
    yield ""


def fenced(text: str) -> Iterator[str]:
    """Yield the text unchanged between fences that are longer than any in it."""
    ticks = "`" * max(3, *(len(each) + 1 for each in re.findall(r"`+", text)), 3)
    yield f"{ticks}text"
    yield from visible(text).rstrip("\n").split("\n")
    yield ticks
    yield ""

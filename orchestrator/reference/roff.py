"""Text as roff, the format of man pages, for groff and mandoc."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from orchestrator.reference.sections import Example

_ESCAPES: Final = {
    ord(character): escape
    for character, escape in {
        "\\": r"\e",
        "-": r"\-",  # others become typographic characters, which no shell knows
        "'": r"\(aq",
        "`": r"\(ga",
        "^": r"\(ha",
        "~": r"\(ti",
    }.items()
}
_MARKED: Final = re.compile(r"`([^`]+)`|(?<![\w-])(--[a-z][a-z-]*)")
_OPTION: Final = re.compile(r"(--?[\w-]+)|([^,\s]+)")


def heading(name: str) -> str:
    return f".SH {name}"


def subheading(name: str) -> str:
    return f".SS {escaped(name)}"


def paragraphs(parts: Iterable[str | Example]) -> Iterator[str]:
    for index, part in enumerate(parts):
        if isinstance(part, str):
            yield f".PP\n{marked(part)}" if index else marked(part)
        else:
            lines = "\n".join(map(escaped, part.lines))
            yield f".RS 4\n.EX\n{lines}\n.EE\n.RE"


def items(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield a list: each term, already roff, and its meaning."""
    for term, meaning in rows:
        yield f".TP\n{term}\n{marked(meaning)}"


def option(names: str) -> str:
    """Return the names of an option in bold, and its value in italics."""
    return _OPTION.sub(lambda found: bold(found[1]) if found[1] else italic(found[2]), names)


def bold(text: str) -> str:
    return rf"\fB{escaped(text)}\fR"


def italic(text: str) -> str:
    return rf"\fI{escaped(text)}\fR"


def marked(text: str) -> str:
    """Return prose; what is in backticks, and options, is bold."""
    parts = []
    end = 0
    for found in _MARKED.finditer(text):
        parts += [text[end : found.start()].translate(_ESCAPES), bold(found[1] or found[2])]
        end = found.end()
    return _line("".join([*parts, text[end:].translate(_ESCAPES)]))


def escaped(text: str) -> str:
    return _line(text.translate(_ESCAPES))


def _line(text: str) -> str:
    """Return a line that is not a request: those begin with a full stop."""
    return rf"\&{text}" if text.startswith(".") else text

"""The page of commands, from the commands that click parses."""

from collections.abc import Iterator
from typing import Final

from orchestrator.cli.program import main
from orchestrator.reference.markdown import page, table
from orchestrator.reference.sections import Example, Section, sections

_WHERE: Final = (
    "To complete commands and options with the tab key, add one line to the shell's start file:"
    " `~/.bashrc`; `~/.zshrc`, below its `compinit`; or `~/.config/fish/config.fish`."
)
_LINES: Final = (
    'eval "$(_KRAFTGATE_COMPLETE=bash_source kraftgate)"',
    'eval "$(_KRAFTGATE_COMPLETE=zsh_source kraftgate)"',
    "_KRAFTGATE_COMPLETE=fish_source kraftgate | source",
)
COMPLETION: Final[tuple[str, Example]] = (_WHERE, Example(_LINES))
_INTRODUCTION: Final = """
Each command prints its own part of this page with `--help`, and `man kraftgate-run` shows that of
`run`. Options may be given in any order. The [exit codes](exit-codes.md) are the same for all
commands.
"""


def commands() -> str:
    parts = ["\n\n".join(_formatted(each)) for each in sections(main, "kraftgate")]
    return page("Commands", _INTRODUCTION, *(_paragraph(each) for each in COMPLETION), *parts)


def _formatted(section: Section) -> Iterator[str]:
    yield f"## {section.path}"
    yield f"    {section.path} {section.usage}".rstrip()
    yield from map(_paragraph, (*section.text, *section.epilog))
    if section.options:
        rows = [(f"`{names}`", text) for names, text in section.options]
        yield table(("option", "meaning"), rows)


def _paragraph(part: str | Example) -> str:
    return part if isinstance(part, str) else "\n".join(["```", *part.lines, "```"])

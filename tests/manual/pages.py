"""The Markdown pages of the repository, their commands and their links."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
HANDBOOK: Final = ROOT / "runbooks" / "handbook"
OWN: Final = ("orchestrator", "migration", "streams", "runbooks", ".github")
_FENCE: Final = re.compile(r"^( *)```sh\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    """All Markdown pages, without third-party ones."""
    found = [*ROOT.glob("*.md"), *(each for top in OWN for each in (ROOT / top).rglob("*.md"))]
    return sorted(each for each in found if "node_modules" not in each.parts)


def shown_to_users() -> list[Path]:
    """The pages whose shell commands are tested: README and the handbook, without the reference."""
    return [ROOT / "README.md", *sorted(HANDBOOK.glob("*.md"))]


@dataclass(frozen=True)
class Command:
    """One simple command of a page, without pipes and redirections."""

    page: Path
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.page.stem}: {shlex.join(self.words)}"


def commands(page: Path) -> Iterator[Command]:
    """The commands of the page's `sh` blocks."""
    for match in _FENCE.finditer(page.read_text("utf-8")):
        for line in match[2].replace("\\\n", " ").splitlines():
            yield from _simple(page, line)


def _simple(page: Path, line: str) -> Iterator[Command]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    words: list[str] = []
    tokens = iter(lexer)
    for token in tokens:
        if token in {"|", "&&", ";"}:
            yield Command(page, tuple(words))
            words = []
        elif token in {">", ">>"}:
            next(tokens)
        else:
            words.append(token)
    if words:
        yield Command(page, tuple(words))


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the page's headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}

"""The handbook: its topics, and the text of a page."""

import os
import re
from importlib import resources
from pathlib import Path
from typing import Final

from migration.values.nearest import did_you_mean
from orchestrator.errors import UnknownIdError

HANDBOOK: Final = Path(str(resources.files("runbooks"))) / "handbook"
"""The pages, as files; `reference/` below it is generated."""
_INDEX: Final = HANDBOOK / "README.md"
_ON_CALL: Final = HANDBOOK.parent / "alerts" / "README.md"
_LINK: Final = re.compile(r"(?<=\]\()([^)#\s]+\.md)(?=[)#])")


def topics() -> dict[str, Path]:
    """Return the pages by topic: the handbook's own, the reference, those of the alerts.

    The page with which each alert begins is the topic `on-call`.
    """
    folders = (HANDBOOK, HANDBOOK / "reference", HANDBOOK.parent / "alerts")
    pages = (path for folder in folders for path in sorted(folder.glob("*.md")) if path != _INDEX)
    return {"on-call" if path == _ON_CALL else path.stem: path for path in pages}


def title(page: Path) -> str:
    with page.open(encoding="utf-8") as lines:
        return next(lines).removeprefix("# ").strip()


def text(topic: str) -> str:
    """Return the text of a page; its links to other pages name their topics.

    Raises:
        UnknownIdError: there is no such topic; the message names the nearest one.
    """
    found = topics()
    if topic not in found:
        raise UnknownIdError(f"there is no topic `{topic}`; {did_you_mean(topic, found)}")
    page = found[topic]
    names = {str(path): name for name, path in found.items()}

    def named(link: re.Match[str]) -> str:
        return names.get(os.path.normpath(page.parent / link[0]), link[0])

    return _LINK.sub(named, page.read_text("utf-8"))

"""The handbook: its topics, and the text of a page."""

from importlib import resources
from pathlib import Path
from typing import Final

from migration.values.nearest import did_you_mean
from orchestrator.errors import UnknownIdError

HANDBOOK: Final = Path(str(resources.files("runbooks"))) / "handbook"
"""The pages, as files; `reference/` below it is generated."""
_INDEX: Final = "README"


def topics() -> dict[str, Path]:
    """Return the pages by topic: the handbook's own, the reference, a page for each alert."""
    folders = (HANDBOOK, HANDBOOK / "reference", HANDBOOK.parent / "alerts")
    pages = (path for folder in folders for path in sorted(folder.glob("*.md")))
    return {path.stem: path for path in pages if path.stem != _INDEX}


def title(page: Path) -> str:
    with page.open(encoding="utf-8") as lines:
        return next(lines).removeprefix("# ").strip()


def text(topic: str) -> str:
    """Return the text of a page.

    Raises:
        UnknownIdError: there is no such topic; the message names the nearest one.
    """
    found = topics()
    if topic not in found:
        raise UnknownIdError(f"there is no topic `{topic}`; {did_you_mean(topic, found)}")
    return found[topic].read_text("utf-8")

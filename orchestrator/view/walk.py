"""The walk through the runbook, as every view shows it: where it stands, and what holds it."""

import textwrap
from typing import Final

from rich.text import Text

from orchestrator.view.words import clock
from orchestrator.walk.state import Stage
from orchestrator.walk.told import WalkTold

_HOLDS_MAX: Final = 4
_SHOWN_LINES_MAX: Final = 12
STAGE_WORDS: Final = {
    Stage.AHEAD: "next",
    Stage.ENTERED: "before its step",
    Stage.RUNNING: "its hook runs",
    Stage.SHOWN: "do this by hand",
    Stage.ASKS: "asks",
    Stage.STEP_DONE: "step done, its gate is waited for",
}


def walk_lines(walk: WalkTold, width: int) -> list[Text]:
    """Draw where the walk stands, what is to be done by hand, and what holds it."""
    head = Text(f"runbook {walk.runbook}", style="bold")
    if walk.path is not None:
        head.append(f"  rolling back: {walk.path}", style="bold magenta")
    if walk.outcome is not None:
        head.append(f"  {walk.outcome}", style="bold green" if walk.outcome != "aborted" else "red")
        return [_cut(head, width)]
    behind = sum(each.stage in (Stage.PASSED, Stage.SKIPPED) for each in walk.places)
    head.append(f"  {behind} behind", style="not bold")
    if not walk.execute:
        head.append("  steps by hand", style="not bold")
    if walk.paused is not None:
        head.append(f"  PAUSED by {walk.paused}", style="bold yellow")
    lines = [_cut(head, width)]
    if walk.checkpoint is not None:
        at = Text(f"> {walk.checkpoint}", style="bold cyan")
        at.append(f"  {walk.title}" if walk.title else "", style="not bold")
        stage = STAGE_WORDS.get(walk.stage) if walk.stage is not None else None
        at.append(f"  ({stage})" if stage else "", style="dim not bold")
        lines.append(_cut(at, width))
    lines += _shown(walk, width)
    style = "bold red" if walk.asks is not None else "yellow"
    for hold in walk.holds[:_HOLDS_MAX]:
        lines += _wrapped(f"holds: {hold}", width, style)
    if len(walk.holds) > _HOLDS_MAX:
        lines.append(Text(f"  and {len(walk.holds) - _HOLDS_MAX} more: kraftgate status --json"))
    if walk.unexpected:
        at_ms, words = walk.unexpected[-1]
        lines += _wrapped(f"unexpected at {clock(at_ms)}: {words}", width, "magenta")
    return lines


def walk_fields(walk: WalkTold) -> dict[str, object]:
    """Where it stands as fields of a line."""
    return {
        "checkpoint": walk.checkpoint,
        "stage": None if walk.stage is None else str(walk.stage),
        "path": walk.path,
        "outcome": walk.outcome,
        "paused": walk.paused is not None,
        "holds": len(walk.holds),
        "text": walk.holds[0] if walk.holds else (walk.shown or ""),
    }


def walk_key(walk: WalkTold) -> object:
    """What makes a new line: not the words of a hold, which carry counts and ages."""
    names = tuple(each.partition(":")[0] for each in walk.holds)
    return walk.checkpoint, walk.stage, walk.path, walk.outcome, walk.paused, names


def _shown(walk: WalkTold, width: int) -> list[Text]:
    if walk.shown is None:
        return []
    lines = walk.shown.strip().splitlines()
    shown = [Text(f"  {line}"[:width]) for line in lines[:_SHOWN_LINES_MAX]]
    if len(lines) > _SHOWN_LINES_MAX:
        shown.append(Text("  ... the rest: kraftgate runbook show", style="dim"))
    return shown


def _wrapped(text: str, width: int, style: str) -> list[Text]:
    return [Text(line, style=style) for line in textwrap.wrap(text, width)]


def _cut(text: Text, width: int) -> Text:
    text.truncate(width, overflow="ellipsis")
    return text

"""The execution of the runbook in the terminal: its checkpoint, and the reasons that block it."""

from rich.text import Text

from migration.values.timestamps import time_text
from orchestrator.audit.execution.state import STAGE_WORDS, Stage
from orchestrator.run.execution_status import WalkTold
from orchestrator.views.terminal.blocks import Block, lines_of, text, wrapped
from orchestrator.views.terminal.layout import Want


def walk_blocks(walk: WalkTold, width: int) -> list[Block]:
    """Return the checkpoint of the execution and the instructions for a step by hand."""
    head = text(f"runbook {walk.runbook}", "bold")
    if walk.path is not None:
        head.append_text(text(f"  rolling back: {walk.path}", "bold magenta"))
    if walk.outcome is not None:
        head.append(f"  {walk.outcome}", style="bold green" if walk.outcome != "aborted" else "red")
        return [lines_of([head], width, rank=9)]
    behind = sum(each.stage in (Stage.PASSED, Stage.SKIPPED) for each in walk.places)
    head.append(f"  {behind} behind", style="not bold")
    if not walk.execute:
        head.append("  steps by hand", style="not bold")
    if walk.paused is not None:
        head.append_text(text(f"  PAUSED by {walk.paused}", "bold yellow"))
    # An operator must not overlook that the execution is paused.
    blocks = [lines_of([head], width, rank=9, least=1, floor=walk.paused is not None)]
    if walk.checkpoint is not None:
        at = text(f"> {walk.checkpoint}", "bold cyan")
        at.append_text(text(f"  {walk.title}" if walk.title else "", "not bold"))
        stage = STAGE_WORDS.get(walk.stage) if walk.stage is not None else None
        at.append(f"  ({stage})" if stage else "", style="dim not bold")
        blocks.append(lines_of([at], width, rank=4, least=2, floor=1))
    if walk.shown is not None:
        blocks.append(_shown(walk.shown, width))
    if walk.unexpected:
        at_ms, words = walk.unexpected[-1]
        told = text(f"unexpected at {time_text(at_ms)}: {words}", "magenta")
        blocks.append(lines_of([told], width, rank=14))
    return blocks


def walk_fields(walk: WalkTold) -> dict[str, object]:
    """Return the state of the execution as the fields of a line."""
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
    """Return the part whose change makes a new line; hold texts are left out: they have ages."""
    names = tuple(each.partition(":")[0] for each in walk.holds)
    return walk.checkpoint, walk.stage, walk.path, walk.outcome, walk.paused, names


def _shown(shown: str, width: int) -> Block:
    """Return an operator's instructions in full; if they do not fit, the rest is in the runbook."""
    lines = [line for each in shown.strip().splitlines() for line in _indented(each, width)]
    rest = Text("  ... the rest: kraftgate runbook show"[:width], style="bold")

    def draw(count: int) -> list[Text]:
        return lines if count >= len(lines) else [*lines[: count - 1], rest]

    want = Want(lines=len(lines), least=len(lines), floor=1, rank=6)
    return Block(want=want, draw=draw)


def _indented(line: str, width: int) -> list[Text]:
    """Return a line wrapped over as many lines as it needs, each with the line's indentation."""
    words = line.lstrip()
    margin = " " * min(len(line) - len(words) + 2, max(0, width - 20))
    return [Text(margin).append_text(e) for e in wrapped(text(words), width - len(margin))] or [
        Text("")
    ]

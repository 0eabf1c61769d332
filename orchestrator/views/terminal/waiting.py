"""The bottom of the screen: hazards, the execution, and the one thing that is waited for.

As in the console, the reason that keeps the runbook's checkpoint closed comes before what the
migration itself waits for.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from rich.text import Text

from migration.assessment.conditions import Verdict
from migration.assessment.eta import Eta, NoEstimate
from migration.assessment.hazards import Hazard
from migration.assessment.waits import Wait, WaitKind
from migration.values.severity import Severity
from migration.values.timestamps import time_text
from orchestrator.audit.execution.state import STAGE_WORDS, Stage
from orchestrator.output.formatting import short_age
from orchestrator.run.assessed import Assessed
from orchestrator.run.execution_status import ExecutionStatus
from orchestrator.views.terminal.blocks import Block, Want, lines_of, text, wrapped

_HAZARDS_MAX: Final = 3
_URGENT: Final = (WaitKind.BROKER_STALLED, WaitKind.SOURCE_ERROR)
_HELD: Final = (WaitKind.BROKER_HELD, WaitKind.BROKER_STALLED)
_ALL: Final = 1000
"""More lines than any text has, so all of them."""


def hazard_blocks(found: Sequence[Hazard], now_ms: int, width: int) -> Iterator[Block]:
    """Yield the first hazards that are critical or near, and a line that counts the others."""
    grave = [e for e in found if e.severity is Severity.CRITICAL or e.deadline_ms is not None]
    for number, each in enumerate(grave[:_HAZARDS_MAX]):
        line = text(f"HAZARD {each.text}{_left(each.deadline_ms, now_ms)}", "bold red")
        yield lines_of([line], width, rank=10 + number, least=2, floor=not number)
    left = len(found) - min(len(grave), _HAZARDS_MAX)
    if left:
        more = "more: " if len(grave) > _HAZARDS_MAX else ""
        noun = "hazard" if left == 1 else "hazards"
        kinds = ", ".join(dict.fromkeys(str(each.kind) for each in found if each not in grave))
        words = f"{left} {more}{noun}{f' ({kinds})' if kinds else ''}: kraftgate hazards"
        style = "bold red" if len(grave) > _HAZARDS_MAX else "yellow"
        yield lines_of([text(words, style)], width, rank=13, least=1)


def _left(deadline_ms: int | None, now_ms: int) -> str:
    if deadline_ms is None:
        return ""
    left_ms = deadline_ms - now_ms
    return f" (in {short_age(left_ms)})" if left_ms > 0 else f" ({short_age(-left_ms)} ago)"


def waiting_blocks(one: Assessed, width: int) -> Iterator[Block]:
    """Yield the sentence that is always shown, and the other waits."""
    walk, reasons = one.execution, one.waits
    walked = walk if walk is not None and walk.outcome is None else None
    migration = one.assessment.headline + _eta(reasons, one.assessment.eta)
    style = _style(reasons)
    if walked is None or not walked.holds:
        yield _sentence(f"waiting for: {migration}", style, width)
        return
    asks = "bold yellow" if walked.asks is None else "bold red"
    yield _sentence(f"waiting for: {walked.holds[0]}", asks, width)
    for each in walked.holds[1:]:
        violated = _is_violated(walked, each)
        also = text(f"also: {each}", "bold red" if violated else "yellow")
        yield lines_of([also], width, rank=8, least=_ALL if violated else 1)
    if reasons:
        yield lines_of([text(f"also: {migration}", style)], width, rank=8, least=1)


def _sentence(words: str, style: str, width: int) -> Block:
    """Return the block that shrinks last."""
    return lines_of([text(words, style)], width, rank=1, least=_ALL, floor=1)


def _is_violated(walk: ExecutionStatus, hold: str) -> bool:
    """Whether the hold lasts until an operator acts, who must read the reason."""
    return any(
        each.verdict is Verdict.VIOLATED and hold.startswith(each.condition)
        for each in walk.findings
    )


def _style(reasons: tuple[Wait, ...]) -> str:
    if not reasons:
        return "bold green"
    return "bold red" if reasons[0].kind in _URGENT else "bold yellow"


def _eta(reasons: tuple[Wait, ...], eta: Eta | None) -> str:
    held = bool(reasons) and reasons[0].kind in _HELD
    if not held or eta is None or isinstance(eta, NoEstimate):
        return ""
    between = f"{short_age(eta.low * 1000)} to {short_age(eta.high * 1000)}"
    about = f"{short_age(eta.seconds * 1000)}, {between}"
    return f"; nothing held in about {about} ({eta.how})"


def execution_blocks(walk: ExecutionStatus, width: int) -> list[Block]:
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
        line = text(f"unexpected at {time_text(at_ms)}: {words}", "magenta")
        blocks.append(lines_of([line], width, rank=14))
    return blocks


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

"""The bottom of the screen: hazards, the execution, the next action, the other reasons."""

import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from rich.text import Text

from migration.assessment.conditions import Verdict
from migration.assessment.hazards import Hazard
from migration.assessment.next_action import Need, NextAction
from migration.values.severity import Severity
from orchestrator.output.formatting import local_time, short_age
from orchestrator.output.visible import visible
from orchestrator.run.assessed import Assessed
from orchestrator.run.execution_status import ExecutionStatus
from orchestrator.views.terminal.blocks import Block, command_of, lines_of, text, unbroken, wrapped

_HAZARDS_MAX: Final = 3
_LABELS: Final = {
    Need.NOTHING: ("", "bold green"),
    Need.WAITING: ("", "bold cyan"),
    Need.YOUR_TURN: ("YOUR TURN", "bold yellow"),
    Need.WRONG: ("WRONG", "bold red"),
}
"""The label and the style of each need; a sentence that begins with "Waiting" needs no label."""
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


def next_blocks(one: Assessed, width: int) -> Iterator[Block]:
    """Yield the next action, which is always shown, with its cause, its command and its task."""
    now, walk = one.assessment.next, one.read.execution
    label, style = _LABELS[now.need]
    line = text("now: ", "bold")
    if label:
        line.append_text(text(f" {label} ", f"reverse {style}"))
        line.append(" ")
    line.append_text(text(now.headline, style))
    yield lines_of([line], width, rank=1, least=_ALL, floor=1)
    if now.why:
        yield lines_of([text(f"  why: {now.why}")], width, rank=14)
    if walk is not None and walk.output:
        printed = [Text(visible(f"  | {each}"), "dim") for each in walk.output]
        yield lines_of(printed, width, rank=5, least=2)
    for number, each in enumerate(now.commands):
        command = text(f"{'   or' if number else '  run'}: {each}", "bold")
        yield command_of(command, width, rank=7 if number else 2, least=_ALL, floor=not number)
    if now.instructions is not None:
        runbook = one.entry.runbook
        rest = "the runbook"
        if runbook is not None:
            rest = shlex.join(("kraftgate", "runbook", "show", str(runbook.file)))
        yield _instructions(now.instructions, rest, width)
    if now.need in (Need.YOUR_TURN, Need.WRONG):
        yield lines_of([text(f"  read: kraftgate help {now.topic}", "dim")], width, rank=16)


def other_blocks(one: Assessed, width: int) -> Iterator[Block]:
    """Yield the other reasons: of the closed checkpoint, then those of the migration."""
    now, walk = one.assessment.next, one.read.execution
    said = f"{now.text} {now.why}"
    for each in walk.holds if walk is not None else ():
        violated = walk is not None and _is_violated(walk, each)
        if not _is_said(each, said, now):
            also = text(f"also: {each}", "bold red" if violated else "yellow")
            yield lines_of([also], width, rank=8, least=_ALL if violated else 1)
    for wait in one.assessment.waits:
        if not any(each and each in said for each in (wait.text, wait.action, wait.cause)):
            also = text(f"also: {wait.text}", "yellow")
            yield lines_of([also], width, rank=8, least=0)


def _is_said(hold: str, said: str, now: NextAction) -> bool:
    """Return whether the next action has the reason of a hold already."""
    reason = hold.partition(": ")[2] or hold
    causes = (now.why, *now.commands) if now.why else now.commands
    return reason.lower() in said.lower() or any(each in hold for each in causes)


def _is_violated(walk: ExecutionStatus, hold: str) -> bool:
    """Whether the hold lasts until an operator acts, who must read the reason."""
    return any(
        each.verdict is Verdict.VIOLATED and hold.startswith(each.condition)
        for each in walk.findings
    )


def execution_blocks(walk: ExecutionStatus, width: int) -> list[Block]:
    """Return the checkpoint of the execution and the instructions for a step by hand."""
    head = text(f"runbook {walk.runbook}", "bold")
    if walk.path is not None:
        head.append_text(text(f"  rolling back: {walk.path}", "bold magenta"))
    if walk.outcome is not None:
        head.append(f"  {walk.outcome}", style="bold green" if walk.outcome != "aborted" else "red")
        return [lines_of([head], width, rank=9)]
    if place := walk.place.removeprefix(f"rollback {walk.path}, "):
        head.append_text(text(f"  {place}", "not bold"))
    if not walk.execute:
        head.append("  steps by hand", style="not bold")
    if walk.paused is not None:
        head.append_text(text(f"  PAUSED by {walk.paused}", "bold yellow"))
    # An operator must not overlook that the execution is paused.
    blocks = [lines_of([head], width, rank=9, least=1, floor=walk.paused is not None)]
    if walk.checkpoint is not None:
        at = text(f"> {walk.checkpoint}", "bold cyan")
        at.append_text(text(f"  {walk.title}" if walk.title else "", "not bold"))
        at.append(f"  ({walk.stage_text})" if walk.stage_text else "", style="dim not bold")
        blocks.append(lines_of([at], width, rank=4, least=2, floor=1))
    since_ms = next((each.entered_ms for each in walk.places if each.id == walk.checkpoint), None)
    recent = [each for each in walk.unexpected if each.at_ms >= (since_ms or 0)]
    if recent and walk.checkpoint is not None:
        at_ms, words = recent[-1]
        line = text(f"unexpected at {local_time(at_ms)}: {words}", "magenta")
        blocks.append(lines_of([line], width, rank=14))
    return blocks


def _instructions(of_step: str, runbook: str, width: int) -> Block:
    """Return an operator's instructions in full; if they do not fit, `runbook` prints the rest."""
    every = of_step.strip().splitlines()
    lines = [line for each in every for line in _indented(each, width)]
    printed: list[Text] = []
    for each in every:  # a line end of ours in a code line would be copied with it
        is_code = each.startswith(" " * 4)
        printed += [unbroken(text(f"  {each}"))] if is_code else _indented(each, width)
    rest = text(f"  ... the rest: {runbook}"[:width], "bold")

    def draw(count: int) -> list[Text]:
        return lines if count >= len(lines) else [*lines[: count - 1], rest]

    count = len(lines)
    return Block(lines=count, least=count, floor=1, rank=6, draw=draw, printed=printed)


def _indented(line: str, width: int) -> list[Text]:
    """Return a line wrapped over as many lines as it needs, each with the line's indentation."""
    words = line.lstrip()
    margin = " " * min(len(line) - len(words) + 2, max(0, width - 20))
    return [Text(margin).append_text(e) for e in wrapped(text(words), width - len(margin))] or [
        Text("")
    ]

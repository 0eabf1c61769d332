"""The bottom of the screen: the hazards, and the one thing that the migration waits for.

As in the console, the reason that keeps the runbook's checkpoint closed comes before what the
migration itself waits for.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from migration.assessment.conditions import Verdict
from migration.assessment.eta import Eta, NoEstimate
from migration.assessment.hazards import Hazard
from migration.assessment.waits.wait import Wait, WaitKind
from migration.values.severity import Severity
from orchestrator.output.formatting import short_age
from orchestrator.run.assessed import Assessed
from orchestrator.run.execution_status import WalkTold
from orchestrator.views.terminal.blocks import Block, lines_of, text

_HAZARDS_MAX: Final = 3
_URGENT: Final = (WaitKind.BROKER_STALLED, WaitKind.SOURCE_ERROR)
_HELD: Final = (WaitKind.BROKER_HELD, WaitKind.BROKER_STALLED)
_ALL: Final = 1000
"""More lines than any text has, so all of them."""


def hazard_blocks(found: Sequence[Hazard], width: int) -> Iterator[Block]:
    """Yield the first critical hazards, and a line that counts the others."""
    grave = [each for each in found if each.severity is Severity.CRITICAL]
    for number, each in enumerate(grave[:_HAZARDS_MAX]):
        line = text(f"HAZARD {each.text}", "bold red")
        yield lines_of([line], width, rank=10 + number, least=2, floor=not number)
    left = len(found) - min(len(grave), _HAZARDS_MAX)
    if left:
        more = "more: " if len(grave) > _HAZARDS_MAX else ""
        noun = "hazard" if left == 1 else "hazards"
        kinds = ", ".join(dict.fromkeys(str(each.kind) for each in found if each not in grave))
        words = f"{left} {more}{noun}{f' ({kinds})' if kinds else ''}: kraftgate hazards"
        style = "bold red" if len(grave) > _HAZARDS_MAX else "yellow"
        yield lines_of([text(words, style)], width, rank=13, least=1)


def waiting_blocks(one: Assessed, width: int) -> Iterator[Block]:
    """Yield the sentence that is always shown, and the other waits."""
    walk, reasons = one.walk, one.waits
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


def _is_violated(walk: WalkTold, hold: str) -> bool:
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

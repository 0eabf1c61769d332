"""The attempts at the migration, from its phases.

An attempt belongs to one metadata log: after a rollback the controllers are removed, and the next
attempt starts with newly formatted controllers, which write another log.
"""

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from migration.image.summary import WAY, Phase
from orchestrator.api.report.execution import ExecutionAccount
from orchestrator.api.report.report import Attempt, PhaseSpan
from orchestrator.api.report.shape import span

Outcome = Literal["finalized", "rolled back", "abandoned", "under way"]
UNDER_WAY: Final = (Phase.PRE_MIGRATION, Phase.COPYING, Phase.HYBRID, Phase.DUAL_WRITE)
_OUTCOMES: Final[dict[str, Outcome]] = {
    Phase.FINALIZED: "finalized",
    Phase.ROLLED_BACK: "rolled back",
}


def numbered(phases: Iterable[PhaseSpan]) -> tuple[PhaseSpan, ...]:
    """Return the phases with the number of the attempt of each, if it has one."""
    number, log = 0, None
    told = []
    for each in phases:
        if each.phase in UNDER_WAY and each.metadata_log != log:
            number, log = number + 1, each.metadata_log
        belongs = each.metadata_log == log and (each.phase in UNDER_WAY or each.phase in _OUTCOMES)
        told.append(each.model_copy(update={"attempt": number}) if belongs else each)
    return tuple(told)


def attempts_of(
    phases: Sequence[PhaseSpan], executions: Sequence[ExecutionAccount], as_of_ms: int
) -> tuple[Attempt, ...]:
    """Return the attempts in order; `phases` are already numbered."""
    numbers = dict.fromkeys(each.attempt for each in phases if each.attempt is not None)
    return tuple(
        _attempt(number, [each for each in phases if each.attempt == number], executions, as_of_ms)
        for number in numbers
    )


def _attempt(
    number: int, phases: Sequence[PhaseSpan], executions: Sequence[ExecutionAccount], as_of_ms: int
) -> Attempt:
    first, last = phases[0], phases[-1]
    outcome = _OUTCOMES.get(last.phase)
    ended_ms = last.ended_at if outcome is None else last.began_at
    if outcome is None:
        outcome = "under way" if ended_ms is None else "abandoned"
    reached = max((Phase(each.phase) for each in phases if each.phase in WAY), key=WAY.index)
    exact = all(each.exact for each in phases)
    whole = span(first.began_at, ended_ms, as_of_ms, exact=exact)
    return Attempt(
        **whole.model_dump(),
        number=number,
        metadata_log=first.metadata_log,
        outcome=outcome,
        reached=str(reached),
        walks=tuple(each.number for each in executions if _meet(each, whole.began_at, ended_ms)),
    )


def _meet(execution: ExecutionAccount, began_ms: int | None, ended_ms: int | None) -> bool:
    if ended_ms is not None and execution.began_at > ended_ms:
        return False
    return execution.ended_at is None or began_ms is None or execution.ended_at >= began_ms

"""Conditions for `--until`: read from text, judged on what was observed.

A condition is judged Met, NotMet or Unknown, each with its reasons. Unknown never opens a gate:
data that is stale, missing, or still being caught up with tells nothing of the present.
"""

import enum
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from migration.source_status import SourceStatus, is_current
from migration.summary import ClusterSummary, Mode, Phase
from orchestrator.errors import ConditionError
from orchestrator.nearest import did_you_mean

_ORDER: Final = (
    Phase.ZOOKEEPER,
    Phase.PRE_MIGRATION,
    Phase.COPYING,
    Phase.HYBRID,
    Phase.DUAL_WRITE,
    Phase.FINALIZED,
)
"""The way of the migration; `rolled-back` and `kraft` are beside it."""

_BROKER_MAX: Final = 2**31 - 1
_CALL: Final = re.compile(r"\s*(?P<name>[A-Za-z_-]+)\s*(?:\((?P<argument>[^()]*)\))?\s*")


class Verdict(enum.Enum):
    """What can be said of a condition."""

    MET = "met"
    NOT_MET = "not met"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A verdict and its reason in words."""

    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A condition on one cluster.

    Attributes:
        text: as it prints, in one spelling.
        holds: whether it holds, with the reason; asked only of data that is current.
    """

    text: str
    holds: Callable[[ClusterSummary], tuple[bool, str]]

    def judge(
        self, summary: ClusterSummary, source: SourceStatus, now_ms: int, *, caught_up: bool
    ) -> Judgement:
        """Judge on one cluster's summary; `caught_up` comes from its `Horizon`."""
        if not is_current(source, now_ms) or summary.metadata_offset is None:
            return Judgement(verdict=Verdict.UNKNOWN, reason="the data is missing or stale")
        if not caught_up:
            return Judgement(verdict=Verdict.UNKNOWN, reason="committed records are yet to be read")
        met, reason = self.holds(summary)
        return Judgement(verdict=Verdict.MET if met else Verdict.NOT_MET, reason=reason)


def parse_condition(text: str) -> Condition:
    """Read `finalized`, `phase(finalized)`, `assignments_complete(3)`, `nothing_held`, `offset(9)`.

    Raises:
        ConditionError: it is none of these; names the nearest that is.
    """
    match = _CALL.fullmatch(text)
    if match is None:
        raise ConditionError(f"{text!r} is no condition: write one like finalized or offset(1439)")
    name, argument = match["name"], match["argument"]
    if name in _MAKERS:
        if (argument is None or not argument.strip()) and name != "nothing_held":
            raise ConditionError(f"the condition `{name}` needs an argument: {_EXAMPLES[name]}")
        return _MAKERS[name](argument)
    if name in set(Phase):
        if argument is not None:
            raise ConditionError(f"the phase `{name}` takes no argument: write {name}")
        return _phase(name)
    known = (*_MAKERS, *(str(phase) for phase in Phase))
    raise ConditionError(f"unknown condition `{name}`; {did_you_mean(name, known)}")


def _phase(argument: str | None) -> Condition:
    wanted = (argument or "").strip()
    if wanted not in set(Phase):
        hint = did_you_mean(wanted, (str(phase) for phase in Phase))
        raise ConditionError(f"unknown phase `{wanted}`; {hint}")
    phase = Phase(wanted)

    def holds(summary: ClusterSummary) -> tuple[bool, str]:
        reached = summary.phase is phase
        if phase in _ORDER and summary.phase in _ORDER:
            reached = _ORDER.index(summary.phase) >= _ORDER.index(phase)
        return reached, f"the phase is {summary.phase}"

    return Condition(text=f"phase({phase})", holds=holds)


def _assignments_complete(argument: str | None) -> Condition:
    wanted = _whole_number("assignments_complete", argument, _BROKER_MAX)

    def holds(summary: ClusterSummary) -> tuple[bool, str]:
        broker = next((b for b in summary.brokers if b.id == wanted), None)
        if broker is None:
            return False, f"broker {wanted} is not registered"
        if broker.mode is not Mode.KRAFT:
            return False, f"broker {wanted} is still in ZooKeeper mode"
        if broker.held or broker.pending:
            return False, f"broker {wanted} has {broker.pending} replicas without a directory"
        return True, f"every replica of broker {wanted} has a directory"

    return Condition(text=f"assignments_complete({wanted})", holds=holds)


def _nothing_held(argument: str | None) -> Condition:
    if argument is not None and argument.strip():
        raise ConditionError("the condition `nothing_held` takes no argument")

    def holds(summary: ClusterSummary) -> tuple[bool, str]:
        held = ", ".join(str(b.id) for b in summary.brokers if b.held)
        if held:
            return False, f"held: {held}"
        return bool(summary.brokers), "no broker is held" if summary.brokers else "no broker yet"

    return Condition(text="nothing_held", holds=holds)


def _offset(argument: str | None) -> Condition:
    wanted = _whole_number("offset", argument, 2**63 - 1)

    def holds(summary: ClusterSummary) -> tuple[bool, str]:
        reached = summary.metadata_offset is not None and summary.metadata_offset >= wanted
        return reached, f"the metadata offset is {summary.metadata_offset}"

    return Condition(text=f"offset({wanted})", holds=holds)


def _whole_number(name: str, argument: str | None, maximum: int) -> int:
    text = (argument or "").strip()
    if not re.fullmatch(r"[0-9]{1,19}", text) or int(text) > maximum:
        raise ConditionError(f"`{name}` takes a whole number, not {text!r}: {_EXAMPLES[name]}")
    return int(text)


_MAKERS: Final[dict[str, Callable[[str | None], Condition]]] = {
    "phase": _phase,
    "assignments_complete": _assignments_complete,
    "nothing_held": _nothing_held,
    "offset": _offset,
}
_EXAMPLES: Final = {
    "phase": "write phase(finalized)",
    "assignments_complete": "write assignments_complete(3)",
    "offset": "write offset(1439)",
}

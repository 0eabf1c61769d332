"""Conditions that block a step: hazards, the checks before the window, the soak."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Final

from migration.assessment.conditions.authority import hazards_not_known
from migration.assessment.conditions.kind import BROKER, DURATION, kind, one_of
from migration.assessment.conditions.view import View
from migration.assessment.data_source import FOLLOWED, DataSource
from migration.assessment.finding import Finding, satisfied, unknown, violated, waiting
from migration.assessment.hazards.hazard import Action, Hazard, HazardKind
from migration.observed.source_status import STALE_AFTER_MS
from migration.values.durations import format_duration
from migration.values.evidence import count
from migration.values.timestamps import utc_text

_PASSING: Final = frozenset({HazardKind.UNFENCED_EARLY, HazardKind.FINALIZE_TOO_EARLY})
"""These end without an operator: the assignments complete, the other brokers follow."""
_SUBJECT: Final = replace(
    one_of(*Action, *HazardKind, name=f"{'|'.join(Action)}|HAZARD"),
    pattern=f"(?:{'|'.join(Action)}|(?:{'|'.join(HazardKind)}))",
)


@kind(
    "No hazard blocks this step, or no hazard of this kind is active, for the broker"
    " or for all brokers.",
    may_use=frozenset(FOLLOWED),
    parameters=(_SUBJECT, BROKER),
    optional=1,
)
def no_hazard(view: View, subject: str, broker: int | None = None) -> Finding:
    """Evaluate the hazards; a known one is reported even if other data is unknown."""
    found = [each for each in view.hazards if _concerns(each, subject, broker)]
    lasting = [each for each in found if each.kind not in _PASSING]
    if lasting:
        return _with_fix(violated, lasting)
    if stale := hazards_not_known(view, subject, broker):
        return unknown("; ".join(stale))
    if found:
        return _with_fix(waiting, found)
    about = "" if broker is None else f", of broker {broker}"
    what = f"that blocks {subject}" if subject in set(Action) else f"of kind {subject}"
    return satisfied(f"no hazard {what} is known{about}")


def _concerns(hazard: Hazard, subject: str, broker: int | None) -> bool:
    if subject != hazard.kind and not hazard.forbids(subject):
        return False
    return broker is None or hazard.broker in (None, broker)


def _with_fix(answer: Callable[..., Finding], found: list[Hazard]) -> Finding:
    """Return the remedy and the other hazards first: a hazard may have many facts."""
    first = found[0]
    lines = [f"way out: {first.way_out}", *(f"also: {each.text}" for each in found[1:])]
    counted = len(lines) + first.evidence_total
    return answer(first.text, *lines, *first.evidence, counted=counted)


@kind("No check of `kraftgate preflight` blocks.", requires=(DataSource.PREFLIGHT,))
def preflight_passed(view: View) -> Finding:
    seen = view.preflight
    if seen is None or not seen.checks:
        return unknown("the preflight checks were not run")
    if seen.blocking:
        named = ", ".join(each.id for each in seen.blocking)
        lines = [f"{each.id}: {each.text}" for each in seen.blocking]
        if all(each.is_unknown for each in seen.blocking):
            return unknown(lines[0], *lines)
        return violated(f"{count(len(seen.blocking), 'check')} of {seen.checks}: {named}", *lines)
    reason = f"none of {count(seen.checks, 'check')} blocks"
    if not seen.warning:
        return satisfied(reason)
    named = ", ".join(each.id for each in seen.warning)
    lines = [f"{each.id}: {each.text}" for each in seen.warning]
    return satisfied(f"{reason}, {len(seen.warning)} of them warn: {named}", *lines)


@kind(
    "All other conditions of the same guards or gate have held for this time without"
    f" a break. More than {STALE_AFTER_MS // 1000} s without an evaluation count as a break:"
    " the host slept, or its clock was set.",
    parameters=(DURATION,),
)
def soak(view: View, duration: timedelta) -> Finding:
    if view.not_current.keys() >= {*FOLLOWED} - {DataSource.JMX}:
        return unknown("no source is current")
    since = view.satisfied_since_ms
    wanted = format_duration(duration)
    if since is None:
        return waiting(f"the other conditions must hold for {wanted} and do not hold yet")
    reason = f"the other conditions have held since {utc_text(since)}"
    if view.now_ms - since < duration / timedelta(milliseconds=1):
        return waiting(f"{reason} and must hold for {wanted}")
    return satisfied(f"{reason}, longer than {wanted}")

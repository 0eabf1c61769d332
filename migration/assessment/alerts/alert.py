"""One alert, and the rule that raises it: from a view of the cluster, or from its hazards."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from migration.assessment.conditions import View
from migration.assessment.conditions.authority import is_hazard_over, log_decides
from migration.assessment.hazards import Hazard, HazardKind
from migration.values.severity import Severity

_NO_LABELS: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """A condition that needs an operator, described for a reader who is new to the migration.

    Attributes:
        labels: identify it among the alerts of its name, as in Prometheus: `severity`, `cluster`
            and, depending on the name, `broker`, `log_dir` and others; none is empty.
        summary: the problem, without names.
        description: the same with names, and its meaning.
        details: further facts, a sentence each.
        since_ms: when the condition began; None: unknown.
        bound_ms: when it had begun at the latest, if `since_ms` is unknown; None: that, too.
        for_ms: the alert is active once the condition has held for this time.
    """

    name: str
    labels: Mapping[str, str]
    summary: str
    description: str
    details: tuple[str, ...] = ()
    since_ms: int | None = None
    bound_ms: int | None = None
    for_ms: int = 0

    @property
    def severity(self) -> Severity:
        return Severity(self.labels["severity"])

    @property
    def fingerprint(self) -> str:
        """A digest of name and labels, 16 hex digits; it does not depend on the text."""
        named = json.dumps({"alertname": self.name, **self.labels}, sort_keys=True)
        return hashlib.sha256(named.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule: which alerts it raises, and when they are resolved.

    Attributes:
        for_ms: an alert is active once its condition has held for this time, at every tick.
        find: yields the alerts whose condition holds now.
        is_resolved: whether an alert with these labels, whose condition no longer holds, is known
            to be resolved; False: the data that would show the condition is stale. None: the
            condition is a hazard.
    """

    name: str
    severity: Severity
    for_ms: int = 0
    summary: str
    find: Callable[["Rule", View], Iterator[Alert]]
    is_resolved: Callable[[View, Mapping[str, str]], bool] | None

    def is_over(self, view: View, labels: Mapping[str, str], active_ms: int) -> bool:
        """Return whether an alert, whose condition no longer holds, is known to be resolved.

        `active_ms`: a time at which the condition held.
        """
        if self.is_resolved is not None:
            return self.is_resolved(view, labels)
        broker = labels.get("broker")
        return is_hazard_over(view, labels["hazard"], int(broker) if broker else None, active_ms)

    def alert(
        self,
        view: View,
        description: str,
        *,
        labels: Mapping[str, str] = _NO_LABELS,
        details: tuple[str, ...] = (),
        since_ms: int | None = None,
        bound_ms: int | None = None,
        for_ms: int | None = None,
    ) -> Alert:
        """Return an alert of this rule, without empty labels; `for_ms` replaces the rule's."""
        given = {"severity": self.severity, "cluster": view.cluster, **labels}
        return Alert(
            name=self.name,
            labels={label: str(value) for label, value in sorted(given.items()) if value},
            summary=self.summary,
            description=description,
            details=details,
            since_ms=since_ms,
            bound_ms=bound_ms,
            for_ms=self.for_ms if for_ms is None else for_ms,
        )


def shown_by_log(view: View, labels: Mapping[str, str]) -> bool:  # noqa: ARG001
    """Return whether an alert that the metadata log would show, and does not, is resolved."""
    return log_decides(view)


Selects: TypeAlias = Callable[[View, Hazard], bool]
_EVIDENCE_MAX: Final = 5


def on_hazards(
    name: str,
    severity: Severity,
    summary: str,
    selects: Selects,
    words: str,
    *labels: str,
    for_ms: int = 0,
    own_words: Mapping[HazardKind, str] = MappingProxyType({}),
) -> Rule:
    """Return a rule on the selected hazards; those with equal `labels` are one alert.

    A hazard is active until current data shows that it ended, so stale data does not hide one.

    `words`: the description, with `{cluster}`, and `{kind}`, `{who}` and `{where}` of the first
    hazard; `own_words`: that of a kind whose danger is another one.
    """

    def find(rule: Rule, view: View) -> Iterator[Alert]:
        groups: dict[tuple[tuple[str, str], ...], list[Hazard]] = {}
        for hazard in view.due_hazards:
            if selects(view, hazard):
                every = _labels(hazard)
                groups.setdefault(tuple((each, every[each]) for each in labels), []).append(hazard)
        for identity, found in groups.items():
            yield rule.alert(
                view,
                _described(own_words.get(found[0].kind, words), view, found[0]),
                labels=dict(identity),
                details=tuple(line for each in found for line in _details(each)),
                since_ms=min((e.since_ms for e in found if e.since_ms is not None), default=None),
            )

    return Rule(
        name=name,
        severity=severity,
        for_ms=for_ms,
        summary=summary,
        find=find,
        is_resolved=None,
    )


def _described(words: str, view: View, hazard: Hazard) -> str:
    broker = None if hazard.broker is None else f"broker {hazard.broker}"
    return words.format(
        cluster=view.cluster,
        kind=hazard.kind,
        who=broker or "any broker",
        where=f", {broker}" if broker else "",
    )


def _labels(hazard: Hazard) -> Mapping[str, str]:
    return {
        "hazard": str(hazard.kind),
        "blocks": str(hazard.blocks or ""),
        "broker": "" if hazard.broker is None else str(hazard.broker),
    }


def _details(hazard: Hazard) -> Iterator[str]:
    yield hazard.text
    yield from hazard.evidence[:_EVIDENCE_MAX]
    if (more := hazard.evidence_total - len(hazard.evidence[:_EVIDENCE_MAX])) > 0:
        yield f"and {more} more: see `kraftgate hazards`"
    yield f"The way out: {hazard.way_out}"

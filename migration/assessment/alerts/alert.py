"""One alert, and the rule that raises it."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from migration.values.severity import Severity

if TYPE_CHECKING:
    from migration.assessment.alerts.facts import AlertFacts

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
        for_ms: the alert is active once the condition has held for this time.
    """

    name: str
    labels: Mapping[str, str]
    summary: str
    description: str
    details: tuple[str, ...] = ()
    since_ms: int | None = None
    for_ms: int = 0

    @property
    def severity(self) -> Severity:
        """The urgency."""
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
            to be resolved; False: the data that would show the condition is stale.
    """

    name: str
    severity: Severity
    for_ms: int
    summary: str
    find: Callable[["Rule", "AlertFacts"], Iterator[Alert]]
    is_resolved: Callable[["AlertFacts", Mapping[str, str]], bool]

    def alert(
        self,
        facts: "AlertFacts",
        description: str,
        *,
        labels: Mapping[str, str] = _NO_LABELS,
        details: tuple[str, ...] = (),
        since_ms: int | None = None,
        for_ms: int | None = None,
    ) -> Alert:
        """Return an alert of this rule, without empty labels; `for_ms` replaces the rule's."""
        given = {"severity": self.severity, "cluster": facts.cluster, **labels}
        return Alert(
            name=self.name,
            labels={label: str(value) for label, value in sorted(given.items()) if value},
            summary=self.summary,
            description=description,
            details=details,
            since_ms=since_ms,
            for_ms=self.for_ms if for_ms is None else for_ms,
        )

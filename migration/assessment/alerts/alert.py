"""One alert, and the rule that raises it."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from migration.assessment.conditions import DataSource, View
from migration.assessment.conditions.authority import is_zookeeper_authoritative
from migration.assessment.execution import Execution
from migration.image.summary import ClusterSummary
from migration.observed.source_status import NO_STATUS, STALE_AFTER_MS, SourceStatus
from migration.values.severity import Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertFacts:
    """One cluster at one moment.

    Attributes:
        view: of the cluster.
        sources: the followed sources' own reports.
        current: of `Assessment`; the values of `kraftgate_source_current`.
        phase_began_ms: when its phase began; None: unknown.
        execution: None: no runbook is executed.
    """

    view: View
    sources: Mapping[DataSource, SourceStatus] = field(default_factory=dict)
    current: Mapping[DataSource, bool | None] = field(default_factory=dict)
    phase_began_ms: int | None = None
    execution: Execution | None = None

    @property
    def cluster(self) -> str:
        """The cluster's name."""
        return self.summary.cluster

    @property
    def summary(self) -> ClusterSummary:
        """The image of the cluster."""
        return self.view.summary

    @property
    def now_ms(self) -> int:
        """The time of the snapshot, by the wall clock."""
        return self.view.now_ms

    def status(self, source: DataSource) -> SourceStatus:
        """Return a source's own report."""
        return self.sources.get(source, NO_STATUS)

    def is_current(self, source: DataSource) -> bool | None:
        """Return whether a source is current; None: not configured, or no longer in use."""
        return self.current.get(source)

    @property
    def log_is_current(self) -> bool:
        """Whether the metadata log is current."""
        return self.is_current(DataSource.METADATA_LOG) is True

    @property
    def log_decides(self) -> bool:
        """Whether a condition that the metadata log does not show is known not to hold."""
        return self.log_is_current or is_zookeeper_authoritative(self.view)

    @property
    def execution_is_current(self) -> bool:
        """Whether the execution, if there is one, was recorded recently."""
        return self.execution is None or self.now_ms - self.execution.at_ms <= STALE_AFTER_MS


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
    find: Callable[["Rule", AlertFacts], Iterator[Alert]]
    is_resolved: Callable[[AlertFacts, Mapping[str, str]], bool]

    def alert(
        self,
        facts: AlertFacts,
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

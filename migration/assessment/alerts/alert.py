"""One alert, and the rule that it stands by."""

import enum
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from migration.assessment.alerts.scene import Scene


class Severity(enum.StrEnum):
    """How urgent: `critical` is for the pager, `warning` for whoever runs the migration.

    In order; `info` needs nobody, and no rule has it.
    """

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"

    def is_at_least(self, other: "Severity") -> bool:
        """Whether it is as urgent, or more."""
        order = list(Severity)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """Something that needs a person, in words for somebody who has never seen this migration.

    Attributes:
        labels: what tells it from others of its name, as Prometheus has it: `severity`, `cluster`
            and, by its kind, `broker`, `log_dir` and the like; none is empty.
        summary: what is wrong, without names.
        description: with names, and what it means.
        details: what is known beyond that, a sentence or a fact each; may be none.
        since_ms: since when what it tells of is so, as well as is known.
    """

    name: str
    labels: Mapping[str, str]
    summary: str
    description: str
    details: tuple[str, ...] = ()
    since_ms: int | None = None

    @property
    def severity(self) -> Severity:
        """How urgent it is."""
        return Severity(self.labels["severity"])

    @property
    def fingerprint(self) -> str:
        """The same for the same name and labels, whatever its words: 16 hex digits."""
        named = json.dumps({"alertname": self.name, **self.labels}, sort_keys=True)
        return hashlib.sha256(named.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a rule found now.

    Attributes:
        labels: besides `severity` and `cluster`; empty ones are none.
        for_ms: where the rule's own time does not do: so long it must be found.
    """

    labels: Mapping[str, str] = field(default_factory=dict)
    description: str
    details: tuple[str, ...] = ()
    since_ms: int | None = None
    for_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """When an alert stands.

    Attributes:
        for_ms: so long it must be found at every look.
        find: what there is of it now.
        is_over: of an alert with these labels that was not found: whether it is known to be over;
            False: what would show it is not known.
    """

    name: str
    severity: Severity
    for_ms: int
    summary: str
    find: Callable[["Scene"], Iterator[Found]]
    is_over: Callable[["Scene", Mapping[str, str]], bool]

    def alerts(self, scene: "Scene") -> Iterator[tuple[Alert, int]]:
        """All that it finds, with how long it must be found to stand."""
        for found in self.find(scene):
            given = {"severity": self.severity, "cluster": scene.cluster, **found.labels}
            alert = Alert(
                name=self.name,
                labels={label: str(value) for label, value in sorted(given.items()) if value},
                summary=self.summary,
                description=found.description,
                details=found.details,
                since_ms=found.since_ms,
            )
            yield alert, self.for_ms if found.for_ms is None else found.for_ms

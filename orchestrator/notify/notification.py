"""A notification about one alert: it is active, still active, or resolved."""

from collections.abc import Mapping
from dataclasses import dataclass

from migration.assessment.alerts import Alert
from migration.values.timestamps import iso
from orchestrator.output.formatting import local_times

NOT_KNOWN = (
    "It is unknown whether this is resolved: the data that would show it is stale. The alert stays"
    " active until current data shows that it is resolved."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """A notification about one alert to one receiver.

    Attributes:
        resolved_ms: when the alert was resolved; None: it is active.
        repeats: number of earlier notifications that the alert is active.
        is_known: whether the condition held at the last tick; False: stale data may hide that it
            no longer holds.
        reactivations: number of times the alert became active again soon after its resolution.
    """

    alert: Alert
    active_since_ms: int
    resolved_ms: int | None = None
    repeats: int = 0
    is_known: bool = True
    reactivations: int = 0

    @property
    def is_resolved(self) -> bool:
        return self.resolved_ms is not None

    @property
    def status(self) -> str:
        """`firing` or `resolved`, as in Alertmanager."""
        return "resolved" if self.is_resolved else "firing"

    @property
    def since_ms(self) -> int:
        """When the condition began, or else when the alert became active."""
        return self.active_since_ms if self.alert.since_ms is None else self.alert.since_ms

    @property
    def idempotency_key(self) -> str:
        """A key that stays the same when a notification is sent again, as after a lost response."""
        alert = self.alert.fingerprint
        return f"kraftgate-{alert}-{self.active_since_ms}-{self.status}-{self.repeats}"

    def details(self) -> tuple[str, ...]:
        """Return the facts beyond the description, one sentence each."""
        found = list(self.alert.details)
        if not self.is_resolved and not self.is_known:
            found.append(NOT_KNOWN)
        if self.reactivations:
            times = "once" if self.reactivations == 1 else f"{self.reactivations} times"
            found.append(
                f"It is flapping: it became active again {times} soon after it was resolved."
            )
        return tuple(map(local_times, found))

    def annotations(self, runbook_url: str) -> Mapping[str, str]:
        """Return the annotations of the Prometheus rule, and the details.

        Args:
            runbook_url: Base address of the alert pages.
        """
        found = {
            "summary": self.alert.summary,
            "description": self.alert.description,
            "runbook_url": page_url(self.alert, runbook_url),
            "since": iso(self.since_ms),
        }
        details = "\n".join(self.details())
        return {**found, "details": details} if details else found

    def labels(self) -> Mapping[str, str]:
        """Return the alert's name and labels, as in Prometheus."""
        return {"alertname": self.alert.name, **self.alert.labels}


def subject(alert: Alert) -> str:
    """Return the labels as text, including the cluster and the broker."""
    labels = {k: v for k, v in alert.labels.items() if k not in ("severity", "verdict")}
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in labels.items())


def page_url(alert: Alert, runbook_url: str) -> str:
    return f"{runbook_url}/{alert.name}.md"

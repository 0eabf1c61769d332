"""What a receiver is told of one alert: that it stands, still stands, or is over."""

from collections.abc import Mapping
from dataclasses import dataclass

from migration.assessment.alerts import Alert
from migration.values.timestamps import iso

NOT_KNOWN = (
    "Kraftgate cannot tell now whether this is over: what would show it is not current. It stands"
    " until that is known."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One alert, as it is told.

    Attributes:
        starts_ms: since when it stands.
        ends_ms: when it was over; None: it stands.
        number: how often the receiver was told before that it stands.
        is_known: whether it was found at the last look.
        returns: how often it had come back soon after it was over.
    """

    alert: Alert
    starts_ms: int
    ends_ms: int | None = None
    number: int = 0
    is_known: bool = True
    returns: int = 0

    @property
    def is_over(self) -> bool:
        """Whether it tells of the end."""
        return self.ends_ms is not None

    @property
    def status(self) -> str:
        """As Alertmanager calls it."""
        return "resolved" if self.is_over else "firing"

    @property
    def since_ms(self) -> int:
        """Since when what it tells of is so."""
        return self.starts_ms if self.alert.since_ms is None else self.alert.since_ms

    @property
    def key(self) -> str:
        """The same when the same is sent twice, as after an answer that was lost."""
        alert = self.alert.fingerprint
        return f"kraftgate-{alert}-{self.starts_ms}-{self.status}-{self.number}"

    def details(self) -> tuple[str, ...]:
        """What is known beyond the description, a sentence or a fact each."""
        found = list(self.alert.details)
        if not self.is_over and not self.is_known:
            found.append(NOT_KNOWN)
        if self.returns:
            times = "once" if self.returns == 1 else f"{self.returns} times"
            found.append(f"It comes and goes: it came back {times} soon after it was over.")
        return tuple(found)

    def annotations(self, runbook_url: str) -> Mapping[str, str]:
        """What the rules for Prometheus annotate, and what is known beyond that.

        `runbook_url`: where the pages are.
        """
        told = {
            "summary": self.alert.summary,
            "description": self.alert.description,
            "runbook_url": page_of(self.alert, runbook_url),
            "since": iso(self.since_ms),
        }
        details = "\n".join(self.details())
        return {**told, "details": details} if details else told

    def labels(self) -> Mapping[str, str]:
        """Those of the alert, with its name, as Prometheus has them."""
        return {"alertname": self.alert.name, **self.alert.labels}


def page_of(alert: Alert, runbook_url: str) -> str:
    """Where its page is; `runbook_url`: where all of them are."""
    return f"{runbook_url}/{alert.name}.md"

"""The latest answers of the sources that are polled only when a condition needs them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from migration.assessment.conditions.view import PreflightSeen, QuorumSeen, SettingsSeen, TopicsSeen
from migration.assessment.finding import Finding
from migration.observed.probed import Maybe, Unknown

_FROM_BROKERS: Final = Unknown("not polled from the brokers yet")
_FROM_CONTROLLERS: Final = Unknown("not polled from the controllers yet")
_NOT_RUN: Final = Unknown("not run yet")

T = TypeVar("T", TopicsSeen, SettingsSeen, QuorumSeen, PreflightSeen)


@dataclass(frozen=True, slots=True, kw_only=True)
class Polled:
    """One cluster's answers; an `Unknown` has the reason why there is none.

    Attributes:
        log_dirs: `Unknown`: an immediate poll of the log directories, which are followed, failed.
        external: the users' own conditions, by name.
    """

    topics: Maybe[TopicsSeen] = _FROM_BROKERS
    settings: Maybe[SettingsSeen] = _FROM_BROKERS
    quorum: Maybe[QuorumSeen] = _FROM_CONTROLLERS
    preflight: Maybe[PreflightSeen] = _NOT_RUN
    log_dirs: Maybe[None] = None
    external: Mapping[str, Finding] = field(default_factory=dict)

    def merged(self, other: "Polled") -> "Polled":
        """Return the newer answer of each source."""
        return Polled(
            topics=_newer(self.topics, other.topics),
            settings=_newer(self.settings, other.settings),
            quorum=_newer(self.quorum, other.quorum),
            preflight=_newer(self.preflight, other.preflight),
            log_dirs=self.log_dirs or other.log_dirs,
            external={**self.external, **other.external},
        )


NOT_POLLED: Final = Polled()


def _newer(one: Maybe[T], other: Maybe[T]) -> Maybe[T]:
    """Return the newer answer; an answer has precedence over a reason for none."""
    if isinstance(one, Unknown):
        return one if other in (_FROM_BROKERS, _FROM_CONTROLLERS, _NOT_RUN) else other
    return one if isinstance(other, Unknown) or other.at_ms < one.at_ms else other

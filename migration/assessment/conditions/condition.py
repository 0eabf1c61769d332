"""A condition, and whether its broker or controller exists."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from migration.assessment.conditions.authority import brokers_not_known, not_known
from migration.assessment.conditions.view import View
from migration.assessment.data_source import DataSource
from migration.assessment.finding import Finding, Verdict, unknown, waiting
from migration.image.known_ids import known_brokers, known_controllers, no_such


class ConditionError(ValueError):
    """The text is not a condition."""


Rule = Callable[[View], Finding]


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A condition on one cluster, its arguments bound.

    Attributes:
        text: in its canonical form.
        needs: the sources whose facts the rule may use.
        broker: the broker that it concerns, if any.
        controller: the controller that it concerns, if any.
        rule: evaluates it; the rule itself returns `unknown` if a source that it needs is not
            current.
    """

    text: str
    name: str
    needs: frozenset[DataSource]
    rule: Rule
    broker: int | None = None
    controller: int | None = None

    def judge(self, view: View) -> Finding:
        return replace(self.rule(view), condition=self.text, broker=self.broker)


def judge_all(conditions: Iterable[Condition], view: View) -> tuple[Finding, ...]:
    return tuple(each.judge(view) for each in conditions)


def absent(condition: Condition, view: View) -> str | None:
    """Return a reason if the broker or controller does not exist; None: it does, or unknown.

    It does not exist if no source has it and all sources that would have it are current.
    """
    if condition.broker is not None:
        return absent_broker(condition.broker, view)
    if condition.controller is not None:
        return _absent_controller(condition.controller, view)
    return None


def absent_broker(broker: int, view: View) -> str | None:
    """Return a reason if the broker does not exist; None: it does, or unknown."""
    known = known_brokers(view.summary)
    if broker in known or brokers_not_known(view) is not None:
        return None
    return no_such("broker", broker, view.summary.cluster, known)


def of_a_broker(view: View, broker: int, answer: Finding) -> Finding:
    """Limit an answer about one broker by the broker's existence.

    No condition holds for a broker that no source has. While the sources that would have it are not
    current, only a violation is reported.
    """
    known = known_brokers(view.summary)
    if broker in known or answer.verdict is Verdict.VIOLATED:
        return answer
    reason = absent_broker(broker, view)
    if reason is None:
        return unknown(no_such("broker", broker, view.summary.cluster, known))
    return waiting(reason) if answer.verdict is Verdict.SATISFIED else answer


def _absent_controller(controller: int, view: View) -> str | None:
    voters = view.quorum.voters if view.quorum is not None else ()
    known = known_controllers(view.summary, (each.id for each in voters))
    if controller in known or not_known(view, DataSource.METADATA_LOG, DataSource.QUORUM):
        return None
    return no_such("controller", controller, view.summary.cluster, known)

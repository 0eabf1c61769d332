"""A condition, and the documentation of each kind of condition."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from migration.assessment.conditions.view import View
from migration.assessment.data_source import DataSource
from migration.assessment.finding import Finding


class ConditionError(ValueError):
    """The text is not a condition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionDoc:
    """One kind of condition, for schemas, pages and messages.

    Attributes:
        signature: its syntax, `broker_mode(broker, kraft|migrating|zookeeper)`.
        explains: one sentence: when it is satisfied.
        sources: of its facts.
    """

    name: str
    signature: str
    explains: str
    sources: frozenset[DataSource]


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
        """Evaluate the condition on the known data of the cluster."""
        return replace(self.rule(view), condition=self.text, broker=self.broker)


def judge_all(conditions: Iterable[Condition], view: View) -> tuple[Finding, ...]:
    """Evaluate each condition, in the given order."""
    return tuple(each.judge(view) for each in conditions)

"""A condition, and the documentation of each kind of condition."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from migration.assessment.conditions.verdict import DataSource, Finding, Verdict
from migration.assessment.conditions.view import View
from migration.values.evidence import bounded, total_of


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A rule's result: a finding without the condition's name, with unbounded evidence.

    Attributes:
        counted: number of facts; 0: all of them are in `evidence`.
    """

    verdict: Verdict
    reason: str
    evidence: tuple[str, ...] = ()
    counted: int = 0


Rule = Callable[[View], Answer]


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
        answer = self.rule(view)
        return Finding(
            condition=self.text,
            verdict=answer.verdict,
            reason=answer.reason,
            evidence=bounded(answer.evidence, answer.counted),
            broker=self.broker,
            evidence_total=total_of(answer.evidence, answer.counted),
        )


def judge_all(conditions: Iterable[Condition], view: View) -> tuple[Finding, ...]:
    """Evaluate each condition, in the given order."""
    return tuple(each.judge(view) for each in conditions)

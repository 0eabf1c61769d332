"""A condition, and what is told of each kind of them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from migration.assessment.conditions.verdict import DataSource, Finding, Verdict
from migration.assessment.conditions.view import View
from migration.values.evidence import bounded, total_of


class ConditionError(ValueError):
    """The text is no condition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionDoc:
    """One kind of condition, for schemas, pages and messages.

    Attributes:
        signature: how it is written, `broker_mode(broker, kraft|migrating|zookeeper)`.
        explains: one sentence: when it is satisfied.
        sources: where its facts come from.
    """

    name: str
    signature: str
    explains: str
    sources: frozenset[DataSource]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a rule says of a view: a finding without the condition's name, its evidence not cut yet.

    Attributes:
        counted: how many facts there are; 0: all of them are in `evidence`.
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
        text: in one spelling.
        needs: the sources whose facts it may be judged by.
        broker: the broker that it is about, if it is about one.
        controller: likewise.
        rule: the judgement; it says `unknown` itself where a source that it needs is not current.
    """

    text: str
    name: str
    needs: frozenset[DataSource]
    rule: Rule
    broker: int | None = None
    controller: int | None = None

    def judge(self, view: View) -> Finding:
        """Judge on what is known of the cluster."""
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
    """Judge each, in their order."""
    return tuple(each.judge(view) for each in conditions)

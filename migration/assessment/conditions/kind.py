"""A kind of condition: its name, its arguments, and the rule that judges it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Concatenate, TypeAlias

from migration.assessment.conditions.condition import Answer, ConditionDoc
from migration.assessment.conditions.verdict import DataSource
from migration.assessment.conditions.view import View


class Refused(ValueError):
    """An argument's text is none of what it may be; the message goes on after the condition's name.

    Attributes:
        example: whether an example should follow.
    """

    def __init__(self, message: str, *, example: bool = False) -> None:
        super().__init__(message)
        self.example = example


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One argument.

    Attributes:
        name: as it stands in the signature: `broker`, `N`, `kraft|zookeeper`.
        read: text -> value; raises Refused.
        example: a value as one writes it.
        broker: whether it is a broker's id.
        controller: whether it is a controller's.
        text: value -> text, in one spelling.
    """

    name: str
    read: Callable[[str], object]
    example: str
    broker: bool = False
    controller: bool = False
    text: Callable[[object], str] = str


KindRule: TypeAlias = Callable[Concatenate[View, ...], Answer]
"""Takes the view and the arguments' values; an argument that was left out is not passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of condition.

    Attributes:
        parameters: in order.
        optional: how many of the last ones may be left out.
        explains: one sentence: when it is satisfied.
        sources: those that the rule may look at.
    """

    name: str
    explains: str
    sources: frozenset[DataSource]
    rule: KindRule
    parameters: tuple[Parameter, ...] = ()
    optional: int = 0

    @property
    def signature(self) -> str:
        """How it is written: `no_hazard(restart|migrate|finalize|KIND[, broker])`."""
        names = [each.name for each in self.parameters]
        needed = len(names) - self.optional
        if not needed:
            return f"{self.name}[({', '.join(names)})]" if names else self.name
        others = "".join(f"[, {name}]" for name in names[needed:])
        return f"{self.name}({', '.join(names[:needed])}{others})"

    @property
    def example(self) -> str:
        """One that can be written so."""
        needed = self.parameters[: len(self.parameters) - self.optional]
        return f"{self.name}({', '.join(each.example for each in needed)})" if needed else self.name

    @property
    def doc(self) -> ConditionDoc:
        """What is told of it."""
        return ConditionDoc(
            name=self.name,
            signature=self.signature,
            explains=self.explains,
            sources=self.sources,
        )

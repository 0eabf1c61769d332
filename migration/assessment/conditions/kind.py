"""A kind of condition: its name, its arguments, and the rule that evaluates it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Concatenate, TypeAlias

from migration.assessment.conditions.condition import ConditionDoc
from migration.assessment.conditions.view import View
from migration.assessment.data_source import DataSource
from migration.assessment.finding import Finding


class Refused(ValueError):
    """An argument's text is not valid; the message continues after the condition's name.

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
        name: in the signature: `broker`, `N`, `kraft|zookeeper`.
        read: text -> value; raises Refused.
        example: a valid text.
        broker: whether it is a broker's id.
        controller: whether it is a controller's id.
        text: value -> text, in its canonical form.
    """

    name: str
    read: Callable[[str], object]
    example: str
    broker: bool = False
    controller: bool = False
    text: Callable[[object], str] = str


KindRule: TypeAlias = Callable[Concatenate[View, ...], Finding]
"""Takes the view and the arguments' values; an omitted argument is not passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of condition.

    Attributes:
        parameters: in order.
        optional: number of the last ones that may be omitted.
        explains: one sentence: when it is satisfied.
        sources: those that the rule may use.
    """

    name: str
    explains: str
    sources: frozenset[DataSource]
    rule: KindRule
    parameters: tuple[Parameter, ...] = ()
    optional: int = 0

    @property
    def signature(self) -> str:
        """The syntax: `no_hazard(restart|migrate|finalize|KIND[, broker])`."""
        names = [each.name for each in self.parameters]
        needed = len(names) - self.optional
        if not needed:
            return f"{self.name}[({', '.join(names)})]" if names else self.name
        others = "".join(f"[, {name}]" for name in names[needed:])
        return f"{self.name}({', '.join(names[:needed])}{others})"

    @property
    def example(self) -> str:
        """A valid condition of this kind."""
        needed = self.parameters[: len(self.parameters) - self.optional]
        return f"{self.name}({', '.join(each.example for each in needed)})" if needed else self.name

    @property
    def doc(self) -> ConditionDoc:
        """The documentation of this kind."""
        return ConditionDoc(
            name=self.name,
            signature=self.signature,
            explains=self.explains,
            sources=self.sources,
        )

"""A kind of condition: its name, its arguments, and the rule that evaluates it."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Concatenate, Final, TypeAlias

from migration.assessment.conditions.view import View
from migration.assessment.data_source import DataSource
from migration.assessment.finding import Finding
from migration.metadata.versions import level_of, name_of
from migration.values.durations import NoDuration, format_duration, parse_duration
from migration.values.foreign import INT32_MAX, INT64_MAX
from migration.values.nearest import did_you_mean


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
        pattern: the regular expression that the published schema has for it.
        example: a valid text.
        broker: whether it is a broker's id.
        controller: whether it is a controller's id.
        text: value -> text, in its canonical form.
    """

    name: str
    read: Callable[[str], object]
    pattern: str
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
        requires: the sources without which the condition is unknown.
        may_use: further sources, which the rule may use.
    """

    name: str
    explains: str
    rule: KindRule
    requires: tuple[DataSource, ...] = ()
    may_use: frozenset[DataSource] = frozenset()
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
        needed = self.parameters[: len(self.parameters) - self.optional]
        return f"{self.name}({', '.join(each.example for each in needed)})" if needed else self.name

    @property
    def sources(self) -> frozenset[DataSource]:
        """All sources of its facts."""
        return self.may_use | {*self.requires}


def kind(
    explains: str,
    *,
    requires: tuple[DataSource, ...] = (),
    may_use: frozenset[DataSource] = frozenset(),
    parameters: tuple[Parameter, ...] = (),
    optional: int = 0,
) -> Callable[[KindRule], Kind]:
    """Return a decorator that makes a kind of a rule; the arguments are the attributes of `Kind`.

    The name of the rule is the name of the condition, which is public.
    """
    return lambda rule: Kind(
        name=rule.__name__,
        explains=explains,
        rule=rule,
        requires=requires,
        may_use=may_use,
        parameters=parameters,
        optional=optional,
    )


def _whole_number(maximum: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,19}", text) or int(text) > maximum:
            raise Refused(f"takes a whole number, not {text!r}", example=True)
        return int(text)

    return read


def one_of(*words: str, name: str | None = None) -> Parameter:
    """Return a parameter that accepts only these values; `name`: its name in the signature."""
    choices = "|".join(words)

    def read(text: str) -> str:
        if text not in words:
            raise Refused(f"does not take {text!r}; {did_you_mean(text, words)}")
        return text

    return Parameter(name=name or choices, read=read, pattern=f"(?:{choices})", example=words[0])


def _duration(text: str) -> timedelta:
    try:
        return parse_duration(text)
    except NoDuration as error:
        raise Refused(f"does not take {text!r}: {error}") from error


def _level(text: str) -> int:
    level = level_of(text)
    if not level:
        raise Refused(f"takes a metadata.version such as 3.7-IV2 or 3.9, not {text!r}")
    return level


BROKER: Final = Parameter(
    name="broker",
    read=_whole_number(INT32_MAX),
    pattern="(?:broker|[0-9]{1,10})",
    example="3",
    broker=True,
)
CONTROLLER: Final = Parameter(
    name="controller",
    read=_whole_number(INT32_MAX),
    pattern="(?:controller|[0-9]{1,10})",
    example="3000",
    controller=True,
)
COUNT: Final = Parameter(
    name="N", read=_whole_number(INT32_MAX), pattern="[0-9]{1,19}", example="3"
)
OFFSET: Final = replace(COUNT, read=_whole_number(INT64_MAX), example="1439")
MODE: Final = one_of("kraft", "migrating", "zookeeper")
DURATION: Final = Parameter(
    name="duration",
    read=_duration,
    pattern=r"(?:(?:[0-9]+(?:\.[0-9]+)?(?:ms|[dhms]))+|PT?[0-9][0-9A-Z.]*)",
    example="10m",
    text=lambda value: format_duration(parse_duration(value)),
)
LEVEL: Final = Parameter(
    name="version",
    read=_level,
    pattern=r"[0-9]+\.[0-9]+(?:-IV[0-9]+)?",
    example="3.7-IV2",
    text=lambda value: name_of(int(str(value))),
)

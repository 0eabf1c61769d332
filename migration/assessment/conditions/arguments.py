"""The arguments of conditions: ids, counts, modes, phases, durations."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from migration.assessment.conditions.kind import Parameter, Refused
from migration.metadata.versions import level_of, name_of
from migration.values.durations import NoDuration, format_duration, parse_duration
from migration.values.nearest import did_you_mean

_ID_MAX: Final = 2**31 - 1
_OFFSET_MAX: Final = 2**63 - 1


def _whole_number(maximum: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,19}", text) or int(text) > maximum:
            raise Refused(f"takes a whole number, not {text!r}", example=True)
        return int(text)

    return read


def one_of(*words: str, name: str | None = None) -> Parameter:
    """Return a parameter that accepts only these values; `name`: its name in the signature."""

    def read(text: str) -> str:
        if text not in words:
            raise Refused(f"does not take {text!r}; {did_you_mean(text, words)}")
        return text

    return Parameter(name=name or "|".join(words), read=read, example=words[0])


def _duration(text: str) -> timedelta:
    try:
        return parse_duration(text)
    except NoDuration as error:
        raise Refused(f"does not take {text!r}: {error}") from error


def _duration_text(value: object) -> str:
    return format_duration(parse_duration(value))


def _level(text: str) -> int:
    level = level_of(text)
    if not level:
        raise Refused(f"takes a metadata.version such as 3.7-IV2 or 3.9, not {text!r}")
    return level


def _level_text(value: object) -> str:
    return name_of(int(str(value)))


BROKER: Final = Parameter(name="broker", read=_whole_number(_ID_MAX), example="3", broker=True)
CONTROLLER: Final = Parameter(
    name="controller", read=_whole_number(_ID_MAX), example="3000", controller=True
)
COUNT: Final = Parameter(name="N", read=_whole_number(_ID_MAX), example="3")
OFFSET: Final = Parameter(name="N", read=_whole_number(_OFFSET_MAX), example="1439")
MODE: Final = one_of("kraft", "migrating", "zookeeper")
DURATION: Final = Parameter(name="duration", read=_duration, example="10m", text=_duration_text)
LEVEL: Final = Parameter(name="version", read=_level, example="3.7-IV2", text=_level_text)

"""Parses JSON and numbers from other programs within bounds; else raises `Unreadable`.

For znodes, answers of servers, and files of other processes or versions. Messages do not quote the
content, which may be a secret.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NoReturn

BYTES_MAX: Final = 4 * 2**20
"""Four times ZooKeeper's default limit (`jute.maxbuffer`)."""
DEPTH_MAX: Final = 64
TEXT_MAX: Final = 1024
"""Maximum length of a name, such as a host, in characters."""
INT32_MAX: Final = 2**31 - 1
INT64_MAX: Final = 2**63 - 1
_DIGITS_MAX: Final = len(str(INT64_MAX))
_CANONICAL: Final = re.compile(rf"0|-?[1-9][0-9]{{0,{_DIGITS_MAX - 1}}}")
_NOT_JSON: Final = "its content is not JSON"


class Unreadable(ValueError):
    """The content is not valid; the message is a clause with `its` or `it`."""


def load(data: bytes | str, *, bytes_max: int = BYTES_MAX) -> Any:  # noqa: ANN401 JSON of strangers
    """Parse JSON whose numbers are finite and fit into 64 bits, and whose text is Unicode.

    Raises:
        Unreadable: it is larger than `bytes_max`, nested deeper than `DEPTH_MAX`, or not valid.
    """
    if len(data) > bytes_max:
        raise Unreadable(f"its content is larger than {bytes_max} bytes")
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
        value = json.loads(text, parse_int=_int, parse_float=_float, parse_constant=_constant)
        if "\\u" in text or not text.isascii():
            # A lone surrogate has no UTF-8, and cannot be stored.
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise _too_deep() from None
    except Unreadable:
        raise
    except UnicodeEncodeError:
        raise Unreadable("a text of it is not Unicode") from None
    except ValueError:
        raise Unreadable(_NOT_JSON) from None
    _check_depth(value)
    return value


def load_object(data: bytes | str, *, bytes_max: int = BYTES_MAX) -> Mapping[str, Any]:
    """Parse a JSON object as `load` does.

    Raises:
        Unreadable: the content is not a JSON object.
    """
    if not data:
        raise Unreadable("it is empty")
    value = load(data, bytes_max=bytes_max)
    if not isinstance(value, dict):
        raise Unreadable("its content is not a JSON object")
    return value


def whole(value: object, name: str, lowest: int, highest: int) -> int:
    """Return an integer within the range; text of decimal digits is accepted, as Kafka writes it.

    Raises:
        Unreadable: it is not an integer within the range.
    """
    if isinstance(value, str) and _CANONICAL.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Unreadable(f"its {name} is not a whole number")
    if not lowest <= value <= highest:
        raise Unreadable(f"its {name} is not within {lowest} and {highest}")
    return value


def _int(digits: str) -> int:
    if len(digits.removeprefix("-")) <= _DIGITS_MAX:
        number = int(digits)
        if -INT64_MAX - 1 <= number <= INT64_MAX:
            return number
    raise Unreadable("a number of it has more than 64 bits")


def _float(digits: str) -> float:
    number = float(digits)
    if number in {float("inf"), float("-inf")}:
        raise Unreadable("a number of it is out of range")
    return number


def _constant(_: str) -> NoReturn:
    raise Unreadable(_NOT_JSON)


def _check_depth(value: object) -> None:
    level = [value]
    for _ in range(DEPTH_MAX):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise _too_deep()


def _too_deep() -> Unreadable:
    return Unreadable(f"its content is nested deeper than {DEPTH_MAX}")

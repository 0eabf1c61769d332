"""Foreign JSON and numbers, read within bounds: what is not within them is `Unreadable`.

For znodes, answers of other servers, and files that another process, or version, may have written.
No message quotes what was read, which may be a secret.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NoReturn

BYTES_MAX: Final = 4 * 2**20
"""Four times what ZooKeeper takes by default (`jute.maxbuffer`)."""
DEPTH_MAX: Final = 64
TEXT_MAX: Final = 1024
"""Characters of a name of the cluster's, such as a host."""
INT32_MAX: Final = 2**31 - 1
INT64_MAX: Final = 2**63 - 1
_DIGITS_MAX: Final = len(str(INT64_MAX))
_CANONICAL: Final = re.compile(rf"0|-?[1-9][0-9]{{0,{_DIGITS_MAX - 1}}}")
_NOT_JSON: Final = "its content is not JSON"


class Unreadable(ValueError):
    """Foreign content is not what belongs there; the message is a clause with `its` or `it`."""


def load(data: bytes | str, *, bytes_max: int = BYTES_MAX) -> Any:  # noqa: ANN401 JSON of strangers
    """Read JSON whose numbers are finite and of 64 bits, and whose text is Unicode.

    Raises:
        Unreadable: it is larger than `bytes_max`, nested deeper than `DEPTH_MAX`, or not such JSON.
    """
    if len(data) > bytes_max:
        raise Unreadable(f"its content is larger than {bytes_max} bytes")
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
        value = json.loads(text, parse_int=_int, parse_float=_float, parse_constant=_constant)
        if "\\u" in text or not text.isascii():
            # Half of a surrogate pair is no text, and cannot be kept.
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
    """Read a JSON object as `load` does.

    Raises:
        Unreadable: it is none.
    """
    if not data:
        raise Unreadable("it is empty")
    value = load(data, bytes_max=bytes_max)
    if not isinstance(value, dict):
        raise Unreadable("its content is not a JSON object")
    return value


def whole(value: object, name: str, lowest: int, highest: int) -> int:
    """Return a whole number within the range, also one in decimal digits, as Kafka writes some.

    Raises:
        Unreadable: it is none.
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

"""Numbers that a request brings: none that SQLite, or Python's own reader of digits, refuses."""

from typing import Final

_NUMBER_MAX: Final = 2**62
_DIGITS_MAX: Final = 20
"""With a sign; Python refuses to read more than 4300 digits."""


def bounded(text: str) -> int:
    """Return the number.

    Raises:
        ValueError: it is none, or beyond 2**62.
    """
    if len(text) > _DIGITS_MAX:
        raise ValueError(f"a number of {len(text)} characters")
    number = int(text)
    if abs(number) > _NUMBER_MAX:
        raise ValueError(f"{number} is beyond 2**62")
    return number

"""Numbers of requests, within the limits of SQLite and of Python's integer parser."""

from typing import Final

_NUMBER_MAX: Final = 2**62
_DIGITS_MAX: Final = 20
"""Includes a sign; Python does not parse more than 4300 digits."""


def bounded(text: str) -> int:
    """Return the number in a text.

    Raises:
        ValueError: the text is no number, or is beyond 2**62.
    """
    if len(text) > _DIGITS_MAX:
        raise ValueError(f"a number of {len(text)} characters")
    number = int(text)
    if abs(number) > _NUMBER_MAX:
        raise ValueError(f"{number} is beyond 2**62")
    return number

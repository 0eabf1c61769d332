"""Paths of directories on another host, as text."""

import re
from typing import Final

_SLASHES: Final = re.compile("/+")


def collapsed(path: str) -> str:
    """Return a path without superfluous slashes, as java.io.File prints it."""
    return _SLASHES.sub("/", path).rstrip("/") or "/"


def is_same(one: str, other: str) -> bool:
    """Return whether both spellings name one directory; symbolic links and `..` are not known."""
    return _names(one) == _names(other)


def _names(path: str) -> list[str]:
    return [each for each in collapsed(path).split("/") if each != "."]

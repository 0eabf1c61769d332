"""Straight-line readers."""

from collections.abc import Callable, Mapping
from typing import Final

from migration.records import Record

FAST_READERS: Final[Mapping[bytes, Callable[[bytes], Record]]] = {}

"""Digests of the configurations and quotas of znodes; their values may be secrets. Pure."""

import re
from collections.abc import Mapping
from typing import Final

from migration.comparison import quotas
from migration.observed.znode_codec import config_entries_of, not_text
from migration.values.foreign import Unreadable
from migration.values.secret_settings import setting_digest

_JAVA_DOUBLE: Final = re.compile(
    r"[+-]?(NaN|Infinity|(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[fFdD]?)", re.ASCII
)
"""What Java's Double.valueOf accepts within blanks, except for hexadecimal numbers."""


def config_of(data: bytes | None) -> tuple[tuple[str, bytes], ...]:
    """Return a configuration as digests of its values, ordered by key (ConfigEntityZNode).

    Raises:
        Unreadable: the data is not a configuration.
    """
    entries = _texts_of(data)
    return tuple((name, setting_digest(name, value)) for name, value in sorted(entries.items()))


def quotas_of(data: bytes | None) -> tuple[tuple[str, bytes], ...]:
    """Return quotas as digests of their values, ordered by key; credentials are ignored.

    Raises:
        Unreadable: the data is not a configuration.
    """
    entries = _texts_of(data)
    found = sorted((name, value) for name, value in entries.items() if name in quotas.KEYS)
    return tuple((name, quotas.digest_of(_rate(value))) for name, value in found)


def _texts_of(data: bytes | None) -> Mapping[str, str]:
    entries = config_entries_of(data)
    if not_text(entries):
        raise Unreadable("a value of its config is not text")
    return entries


def _rate(value: str) -> float:
    number = value.strip()
    if not _JAVA_DOUBLE.fullmatch(number):
        raise Unreadable("a quota of it is not a number")
    return float(number.rstrip("fFdD"))

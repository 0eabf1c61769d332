"""`/migration` as a liveness beacon: which of its changes can wait.

In dual write the active KRaft controller rewrites it for every batch of the metadata log, about
twice a second; only the offset and the epochs differ then (KRaftMigrationDriver).
"""

from collections.abc import Mapping
from typing import Any, Final

from migration.observed.znode_codec import MIGRATION_OFFSET, fields_of
from migration.values.foreign import Unreadable

COALESCE_MS: Final = 5000
"""Maximum time for which a beat is delayed."""

_BEATING: Final = frozenset({MIGRATION_OFFSET, "kraft_metadata_epoch", "kraft_controller_epoch"})


def is_beat(before: bytes, now: bytes) -> bool:
    """Return whether the change shows only that a controller still writes.

    The first change of the offset to a value above 0 shows that the copy is complete, so it is not
    a beat; neither is data that cannot be parsed.
    """
    was, is_ = _fields(before), _fields(now)
    if was is None or is_ is None or was.keys() != is_.keys():
        return False
    if _copied(was) is None or _copied(was) != _copied(is_):
        return False
    return all(is_[name] == value for name, value in was.items() if name not in _BEATING)


def _copied(fields: Mapping[str, Any]) -> bool | None:
    offset = fields.get(MIGRATION_OFFSET)
    return offset > 0 if isinstance(offset, int) else None


def _fields(data: bytes) -> Mapping[str, Any] | None:
    try:
        return fields_of(data)
    except Unreadable:
        return None  # the caller emits such data immediately

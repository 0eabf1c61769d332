"""Writes the status of a source to a file next to the store, and reads it."""

import json
import logging
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from migration.observed.source_status import SourceStatus
from streams.process.background import BackgroundThread
from streams.process.clocks import wall_clock_ms
from streams.state.files import make_parents, replace_file

if TYPE_CHECKING:
    from pydantic import TypeAdapter

STATUS_FILE: Final = "source.json"
"""The status file of the metadata log's source, in the directory of the cluster."""
_EVERY_S: Final = 1.0

_log: Final = logging.getLogger(__name__)


def write_status(file: Path, status: SourceStatus) -> None:
    """Replace the status file.

    Half of a surrogate pair, which a file name can contain, has no UTF-8 form: `?` replaces it.
    """
    text = json.dumps(asdict(status), ensure_ascii=False)
    make_parents(file, 2)
    replace_file(file, text.encode("utf-8", "replace"), durable=False)


def read_status(file: Path) -> SourceStatus:
    """Read the status that `write_status` wrote; unknown keys of a later version are ignored.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is damaged: it is no JSON, or a value has another type.
    """
    from pydantic import ValidationError

    try:
        return _adapter().validate_json(file.read_bytes(), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(": ".join((*map(str, first["loc"]), first["msg"]))) from error


@cache
def _adapter() -> "TypeAdapter[SourceStatus]":
    """Return the adapter; a process that only writes does not import pydantic."""
    from pydantic import TypeAdapter

    return TypeAdapter(SourceStatus)


def note_damage(file: Path, damage: str) -> None:
    """Write the status of a source that nothing observes, because what it stored is damaged."""
    write_status(file, SourceStatus(observed_ms=wall_clock_ms(), error=damage))


class StatusWriter(BackgroundThread):
    """Writes a source's status once a second; it gets stale if the process dies."""

    def __init__(self, file: Path, status: Callable[[], SourceStatus]) -> None:
        super().__init__("source-status", stop_s=_EVERY_S * 2)
        self._file = file
        self._status = status

    def _run(self) -> None:
        while True:
            try:
                write_status(self._file, self._status())
            except OSError as error:
                # A status that cannot be written gets stale, and readers report that.
                _log.warning("the source's status cannot be written: %s", error)
            if self._stopping.wait(_EVERY_S):
                return

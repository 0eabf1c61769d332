"""What brings a log to the source: files that are all there is, or a follower of a live log.

Either also says how it is (`streams.source.status_file`).
"""

from pathlib import Path
from typing import Protocol

from migration.source_status import SourceStatus
from migration.transactions import IllegalTransaction
from streams.source.status_file import STATUS_FILE, now_ms, write_status
from streams.wire.errors import WireError

Damage = WireError | IllegalTransaction | None


class Feed(Protocol):
    """Brings bytes into the log's directory."""

    def available(self) -> int | None:
        """Offset before which everything may be read; None: whatever is there."""

    def wait_beyond(self, offset: int | None, timeout_s: float) -> bool:
        """Wait until more than that is available; False: it is not, after the time-out."""

    def retain(self, offset: int) -> None:
        """What lies before `offset` is not needed again."""

    def note_damage(self, damage: Damage) -> None:
        """Say that the log cannot be read any further."""

    def stop(self) -> None:
        """Let go of everything."""


class FileFeed:
    """Files that are all there is."""

    def __init__(self, state: Path) -> None:
        self._file = state / STATUS_FILE
        self._said: str | None = None
        write_status(self._file, SourceStatus(observed_ms=now_ms(), finished=True))

    def available(self) -> int | None:
        """Whatever is there."""
        return None

    def wait_beyond(self, offset: int | None, timeout_s: float) -> bool:  # noqa: ARG002
        """Nothing will come."""
        return False

    def retain(self, offset: int) -> None:
        """The files are not ours to remove."""

    def note_damage(self, damage: Damage) -> None:
        """Keep the first damage in the status."""
        if damage is not None and self._said is None:
            self._said = str(damage)
            status = SourceStatus(observed_ms=now_ms(), error=self._said, finished=True)
            write_status(self._file, status)

    def stop(self) -> None:
        """Nothing is held."""

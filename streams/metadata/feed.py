"""What brings a log to the source: files that are all there is, or a follower of a live log.

Either also says how it is (`streams.state.source_status`). `AbsentFeed` brings nothing: the
configuration names no controllers.
"""

from pathlib import Path
from typing import NamedTuple, Protocol

from migration.metadata.transactions import IllegalTransaction
from migration.observed.source_status import SourceStatus
from streams.state.source_status import STATUS_FILE, now_ms, write_status
from streams.wire.errors import WireError

Damage = WireError | IllegalTransaction | None


class Reach(NamedTuple):
    """Up to where everything may be read: a log's number, counted from 1, and an offset in it."""

    log: int
    offset: int


class Feed(Protocol):
    """Brings bytes into the logs' directories."""

    def available(self) -> Reach | None:
        """Before which everything may be read, earlier logs whole; None: whatever is there."""

    def wait_beyond(self, reach: Reach | None, timeout_s: float) -> bool:
        """Wait until more than that is available; False: it is not, after the time-out."""

    def began_ms(self, log: int) -> int:
        """When a log began, by its own clock; 0: that is not known."""

    def retain(self, reach: Reach) -> None:
        """What lies before it is not needed again."""

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

    def available(self) -> Reach | None:
        """Whatever is there."""
        return None

    def wait_beyond(self, reach: Reach | None, timeout_s: float) -> bool:  # noqa: ARG002
        """Nothing will come."""
        return False

    def began_ms(self, log: int) -> int:  # noqa: ARG002
        """There is only one log, and nothing to date it by."""
        return 0

    def retain(self, reach: Reach) -> None:
        """The files are not ours to remove."""

    def note_damage(self, damage: Damage) -> None:
        """Keep the first damage in the status."""
        if damage is not None and self._said is None:
            self._said = str(damage)
            status = SourceStatus(observed_ms=now_ms(), error=self._said, finished=True)
            write_status(self._file, status)

    def stop(self) -> None:
        """Nothing is held."""


class AbsentFeed:
    """The spool without controllers: nothing arrives, a batch that was begun is still read."""

    def __init__(self, spool: Path) -> None:
        self._spool = spool

    def available(self) -> Reach | None:
        """All that is in the spool."""
        return None

    def wait_beyond(self, reach: Reach | None, timeout_s: float) -> bool:  # noqa: ARG002
        """Nothing arrives."""
        return False

    def began_ms(self, log: int) -> int:
        """When a log of the spool began, as `Spool.began_ms`.

        Raises:
            SpoolDamaged: the spool does not say legibly which logs it has.
        """
        from streams.metadata.spool_info import load

        head = load(self._spool).heads[log - 1]
        return 0 if head is None else head.timestamp_ms

    def retain(self, reach: Reach) -> None:
        """Keep everything until there are controllers again."""

    def note_damage(self, damage: Damage) -> None:
        """Nothing is read beyond what was read before."""

    def stop(self) -> None:
        """Nothing is held."""

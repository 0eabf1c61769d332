"""`log_dirs`: the PySpark Python Data Source over the log directories of the brokers.

Options: those of `streams.spark.journal_source`, and `brokers` (JSON of `streams.net.listener`).
The directory `disks/` next to the journal contains the stored state of the disks, and the requests
for an immediate poll.
"""

import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

from migration.observed.source_status import SourceStatus
from migration.shard.placement import LOG_DIRS
from streams.log_dirs.places import MEMORY_FILE
from streams.spark.journal_source import JournalReader, JournalSource, Watcher

if TYPE_CHECKING:
    from streams.log_dirs.memory import Memory
    from streams.log_dirs.poller import LogDirsPoller
    from streams.state.journal import Journal

REQUESTS: Final = Path("disks", "requests.db")
"""In the cluster's directory."""
_RETRY_S: Final = 0.1


class LogDirsReader(JournalReader):
    """Reads the state of the brokers' disks."""

    format = "log_dirs"
    shard = LOG_DIRS
    option = "brokers"

    def watch(self, journal: "Journal") -> Watcher:
        """Start polling, with the stored state."""
        from streams.log_dirs.memory import Memory
        from streams.log_dirs.poll import LogDirsConfig
        from streams.log_dirs.poller import LogDirsPoller
        from streams.net.listener import parse_listener
        from streams.state.source_status import now_ms

        listener = parse_listener(self.options.watched)
        config = LogDirsConfig(
            brokers=listener.endpoints,
            cluster_id=listener.cluster_id,
            security=listener.security,
            cluster=self.options.cluster,
        )
        memory = Memory(self.options.state / MEMORY_FILE)
        return _PollerWithMemory(
            LogDirsPoller(config, memory, journal.append, now_ms).start(), memory
        )


class _PollerWithMemory:
    """A poller and its memory, as one `Watcher`."""

    def __init__(self, poller: "LogDirsPoller", memory: "Memory") -> None:
        self._poller = poller
        self._memory = memory

    def status(self) -> SourceStatus:
        return self._poller.status()

    def stop(self) -> None:
        self._poller.stop()
        self._memory.close()


class LogDirsSource(JournalSource):
    """The data source with the format `log_dirs`."""

    reader_type = LogDirsReader


def poll_disks(
    state_dir: Path, cluster: str, broker: int | None, why: str, timeout_s: float
) -> bool:
    """Request that the running job polls a broker's disks, or all, and wait for the stored result.

    False: there was no result in time; the store's data then may not be current.
    """
    from streams.log_dirs.errors import RequestsUnusable
    from streams.log_dirs.poll_requests import PollRequests
    from streams.state.journal import JournalError, last_sequence
    from streams.state.store import Store, StoreError

    home = state_dir / "clusters" / cluster
    if not (home / REQUESTS).is_file():
        return False
    deadline = time.monotonic() + timeout_s
    try:
        with PollRequests(home / REQUESTS) as requests:
            if not requests.wait_answered(requests.ask(broker, why), timeout_s):
                return False
        last = last_sequence(home / "log_dirs.db")
        with closing(Store.open_readonly(state_dir / "store.db")) as store:
            while store.place(cluster, "log_dirs") < last:
                if time.monotonic() > deadline:
                    return False
                time.sleep(_RETRY_S)
    except (RequestsUnusable, JournalError, StoreError):
        return False  # as if no broker had answered: the gate holds
    return True

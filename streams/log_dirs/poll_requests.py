"""Requests for an immediate poll, from any process: a table in `requests.db`.

The file is in the state directory. A request is answered when every broker that it concerns was
polled after the request, and the result is appended: a broker that did not answer in time counts,
as unreachable. A request for all brokers whose `why` is "content" also waits until a snapshot of
the content of all disks, made of those answers, is appended; where snapshots are disabled, or no
broker answers, it does not wait.
"""

import errno
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from streams.log_dirs.errors import RequestsUnusable
from streams.process.clocks import wall_clock_ms
from streams.state.journal import JournalError, last_sequence
from streams.state.sqlite import Connection, connect, errors_as
from streams.state.store import Store, StoreError

REQUESTS: Final = Path("disks", "requests.db")
"""In the cluster's directory."""
_LOOK_S: Final = 0.05
_KEPT_MS: Final = 3_600_000
"""Answered requests are stored for an hour, for inspection."""

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS requests (
    id INTEGER PRIMARY KEY AUTOINCREMENT, broker INTEGER, why TEXT NOT NULL,
    asked_ms INTEGER NOT NULL, answered_ms INTEGER
) STRICT;
CREATE INDEX IF NOT EXISTS requests_pending ON requests (id) WHERE answered_ms IS NULL;
"""


class PollRequest(NamedTuple):
    """A pending request.

    Attributes:
        broker: its subject; None: all brokers.
        why: the reason, for readers of the table.
    """

    id: int
    broker: int | None
    why: str


class PollRequests:
    """The table of requests. Thread-safe; every process opens its own connection.

    Every method raises RequestsUnusable if the file cannot be read or written.
    """

    def __init__(self, path: Path, clock: Callable[[], int] = wall_clock_ms) -> None:
        """Open the file; create it if it does not exist. `clock`: wall clock, ms since the epoch.

        Raises:
            RequestsUnusable: the file is not such a table, or cannot be created.
        """
        self.path = path
        self._clock = clock
        self._lock = threading.Lock()
        with errors_as(RequestsUnusable, f"{path} cannot be opened", OSError):
            self._db = connect(path)
            self._db.executescript(_SCHEMA)

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> "PollRequests":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, broker: int | None, why: str) -> int:
        """Request a poll of one broker, or of all; return the request's id."""
        row = (broker, why, self._clock())
        with self._use() as db:
            added = db.execute(
                "INSERT INTO requests (broker, why, asked_ms) VALUES (?, ?, ?)", row
            ).lastrowid
        if added is None:
            raise RequestsUnusable(f"{self.path} gave the request no id")
        return added

    def is_answered(self, id_: int) -> bool:
        """Return whether the request was answered; False for a request that does not exist."""
        with self._use() as db:
            row = db.execute("SELECT answered_ms FROM requests WHERE id = ?", (id_,)).fetchone()
        return row is not None and row[0] is not None

    def wait_answered(self, id_: int, timeout_s: float) -> bool:
        """Wait until the request is answered; False: the time-out expired."""
        deadline_s = time.monotonic() + timeout_s
        while not self.is_answered(id_):
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                return False
            time.sleep(min(_LOOK_S, left_s))
        return True

    def pending(self) -> tuple[PollRequest, ...]:
        """Return the requests without an answer, oldest first."""
        with self._use() as db:
            found = db.execute(
                "SELECT id, broker, why FROM requests WHERE answered_ms IS NULL ORDER BY id"
            ).fetchall()
        return tuple(PollRequest(*row) for row in found)

    def answer(self, ids: Collection[int], now_ms: int) -> None:
        """Mark requests as answered, and drop those that were answered over an hour ago."""
        with self._use() as db:
            db.executemany(
                "UPDATE requests SET answered_ms = ? WHERE id = ? AND answered_ms IS NULL",
                [(now_ms, each) for each in ids],
            )
            db.execute("DELETE FROM requests WHERE answered_ms < ?", (now_ms - _KEPT_MS,))

    @contextmanager
    def _use(self) -> Iterator[Connection]:
        with errors_as(RequestsUnusable, f"{self.path} cannot be used"), self._lock:
            yield self._db


def poll_disks(
    state_dir: Path, cluster: str, broker: int | None, why: str, timeout_s: float
) -> bool:
    """Request that the running job polls a broker's disks, or all, and wait for the stored result.

    False: there was no result in time; the store's data then may not be current.

    Raises:
        RequestsUnusable: the request cannot be written; the message names the file and the reason.
    """
    home = state_dir / "clusters" / cluster
    if not (home / REQUESTS).is_file():
        return False
    _check_writable(home / REQUESTS)
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
                time.sleep(_LOOK_S)
    except (JournalError, StoreError):
        return False  # as if no broker had answered: the gate holds
    return True


def _check_writable(path: Path) -> None:
    """Raise RequestsUnusable with the system's reason, which SQLite does not report."""
    if all(os.access(each, os.W_OK) for each in (path, path.parent)):
        return
    is_readonly = os.statvfs(path).f_flag & os.ST_RDONLY
    why = os.strerror(errno.EROFS if is_readonly else errno.EACCES)
    raise RequestsUnusable(
        f"the request cannot be written to {path}: {why}: make the state directory writable"
    )

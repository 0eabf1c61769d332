"""Requests an immediate poll of the disks, and waits for its result before a gate is evaluated."""

import time
from contextlib import closing
from pathlib import Path
from typing import Final

from streams.log_dirs.errors import RequestsUnusable
from streams.log_dirs.poll_requests import PollRequests
from streams.spark.log_dirs_source import REQUESTS
from streams.state.journal import JournalError, last_sequence
from streams.state.store import Store, StoreError

_LOOK_EVERY_S: Final = 0.1


def look_at_disks(
    state_dir: Path, cluster: str, broker: int | None, why: str, timeout_s: float
) -> bool:
    """Request that the running job polls a broker's disks, or all, and wait for the stored result.

    False: there was no result in time; the store's data then may not be current.
    """
    home = state_dir / "clusters" / cluster
    if not (home / REQUESTS).is_file():
        return False
    deadline = time.monotonic() + timeout_s
    try:
        with PollRequests(home / REQUESTS) as requests:
            if not requests.wait_answered(requests.ask(broker, why), timeout_s):
                return False
        seen = last_sequence(home / "log_dirs.db")
        with closing(Store.open_readonly(state_dir / "store.db")) as store:
            while store.place(cluster, "log_dirs") < seen:
                if time.monotonic() > deadline:
                    return False
                time.sleep(_LOOK_EVERY_S)
    except (RequestsUnusable, JournalError, StoreError):
        return False  # as if no broker had answered: the gate holds
    return True

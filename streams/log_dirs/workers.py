"""The threads that the poller starts for work that may take long."""

import threading
import time
from collections.abc import Callable
from typing import Final

_STOP_S: Final = 3.0


class Workers:
    """The running threads. Used by the poller's thread."""

    def __init__(self) -> None:
        self._threads: set[threading.Thread] = set()

    def start(self, work: Callable[[], None], name: str) -> None:
        """Run the function in a thread of its own."""
        self._threads = {each for each in self._threads if each.is_alive()}
        thread = threading.Thread(target=work, name=f"log-dirs: {name}", daemon=True)
        self._threads.add(thread)
        thread.start()

    def join(self) -> None:
        """Wait for all of them, a few seconds in total; a broker that hangs is not waited for."""
        deadline_s = time.monotonic() + _STOP_S
        for thread in list(self._threads):
            thread.join(max(0.0, deadline_s - time.monotonic()))

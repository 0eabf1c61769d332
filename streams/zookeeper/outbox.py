"""Passes facts to their store in a thread, so that no reading waits for a disk."""

import logging
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Final

from migration.observed.facts import ZooKeeperFact

_RETRY_S: Final = 1.0
_STOP_S: Final = 10.0

_log: Final = logging.getLogger(__name__)


class Outbox:
    """Passes facts on in order, each once; retries rejected ones until they are stored."""

    def __init__(self, append: Callable[[Sequence[ZooKeeperFact]], object]) -> None:
        """Prepare the outbox; `start` starts its thread.

        Args:
            append: Stores facts; they are stored when it returns, and not stored when it raises.
        """
        self._append = append
        self._waiting: queue.SimpleQueue[Sequence[ZooKeeperFact] | None] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="zookeeper-facts", daemon=True)
        self.error: str | None = None

    def start(self) -> None:
        """Start the thread; only once."""
        self._thread.start()

    def put(self, facts: Sequence[ZooKeeperFact]) -> None:
        """Queue facts; does not block."""
        self._waiting.put(facts)

    def close(self) -> None:
        """Pass on the queued facts with one last attempt, and end the thread.

        Facts that cannot be stored are not lost: the next watcher resumes from the stored state.
        """
        self._stopping.set()
        self._waiting.put(None)
        self._thread.join(_STOP_S)

    def _run(self) -> None:
        ended = False
        while not ended:
            batch, ended = self._take()
            while batch and not self._kept(batch):
                if self._stopping.wait(_RETRY_S):
                    self._kept(batch)
                    return

    def _take(self) -> tuple[list[ZooKeeperFact], bool]:
        """Wait for facts and return all queued ones; True: they are the last."""
        batch: list[ZooKeeperFact] = []
        facts = self._waiting.get()
        while facts is not None:
            batch.extend(facts)
            if self._waiting.empty():
                return batch, False
            facts = self._waiting.get()
        return batch, True

    def _kept(self, batch: Sequence[ZooKeeperFact]) -> bool:
        try:
            self._append(batch)
        except Exception as error:  # noqa: BLE001 after any error the facts are not stored
            if self.error is None:
                _log.warning("facts of ZooKeeper cannot be kept: %r", error)
            self.error = f"what ZooKeeper shows cannot be kept: {error!r}"
            return False
        self.error = None
        return True

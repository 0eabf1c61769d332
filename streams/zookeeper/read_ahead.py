"""Has a separate process read notifications, and keeps what it read until it is accounted for.

In the process of the source, a reading of the content or a slow disk can delay the watcher by more
than the 20 ms for which a notification exists. The separate process (`notification_process`) only
reads; what is emitted, and what counts as missed, is decided by the watcher's thread alone
(`notifications`). Without the process the watcher's own readings remain.
"""

import base64
import json
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from kazoo.protocol.states import ZnodeStat

from streams.process.background import BackgroundThread
from streams.process.child import Child
from streams.zookeeper import notification_process
from streams.zookeeper.ensemble import Ensemble, ensemble_option
from streams.zookeeper.session import Action

RESTART_S: Final = 5.0
"""Minimum time between two starts of the process."""

CATCH_UP_S_MAX: Final = 3.0
"""A process that needs longer to catch up is replaced."""

KEPT_MAX: Final = 1000
"""How many notifications are kept, the latest, while the watcher has no connection."""

_STOP_S: Final = 5.0

_log: Final = logging.getLogger(__name__)


class ReadAhead(BackgroundThread):
    """The separate process, and the notifications that it read.

    The watcher's thread calls all methods, except those of the thread that reads the output.
    """

    def __init__(self, config: Ensemble, post: Callable[[Action], None]) -> None:
        """Prepare; `start` starts the process. `post` passes an action to the watcher's thread."""
        super().__init__("zookeeper-read-ahead", _STOP_S)
        self._config = config
        self._post = post
        self._session_s_max = 2 * config.session_timeout_ms / 1000
        self._process: Child | None = None
        self._watches = False
        self._changed_at = time.monotonic()
        self._found: dict[int, tuple[bytes, ZnodeStat]] = {}
        self._requests = 0
        self._waiting: dict[int, tuple[float, Action]] = {}

    # The watcher's thread

    def found(
        self, first: int, end: int, *, after_zxid: int, until_zxid: int
    ) -> Iterator[tuple[int, bytes, ZnodeStat]]:
        """Yield the notifications from `first` up to `end`, exclusive, that the process read.

        Their creations are those between two transactions: numbers repeat when the parent is
        created again.
        """
        for number, (data, stat) in sorted(self._found.items()):
            if first <= number < end and after_zxid < stat.czxid <= until_zxid:
                yield number, data, stat

    def forget(self, until_zxid: int) -> None:
        """Discard the notifications that were created up to a transaction."""
        self._found = {n: each for n, each in self._found.items() if each[1].czxid > until_zxid}

    def clear(self) -> None:
        """Discard all notifications: a ZooKeeper that lost its data repeats transaction numbers."""
        self._found.clear()

    def catch_up(self, then: Action) -> None:
        """Call `then` when all notifications created so far were read, if the process can do so."""
        if not self._watches:
            then()
            return
        self._requests += 1
        self._waiting[self._requests] = (time.monotonic() + CATCH_UP_S_MAX, then)
        self._send(json.dumps(self._requests))

    def tick(self) -> None:
        """Replace a process that does not answer, and a session that ZooKeeper does not accept."""
        now = time.monotonic()
        if any(deadline < now for deadline, _ in self._waiting.values()):
            self._release()
            self._kill()
        elif not self._watches and now - self._changed_at > self._session_s_max:
            self._changed_at = now
            self._send(json.dumps(None))

    def _take(self, message: Sequence[Any]) -> None:
        match message:
            case ["read", number, data, stat]:
                self._found[number] = (base64.b64decode(data), ZnodeStat(*stat))
                while len(self._found) > KEPT_MAX:
                    del self._found[min(self._found)]
            case ["caught up", request]:
                if request in self._waiting:
                    _, then = self._waiting.pop(request)
                    then()
            case ["watching", watches]:
                self._watches, self._changed_at = watches, time.monotonic()
                if not watches:
                    self._release()

    def _release(self) -> None:
        """End all waits: the process reads nothing more for them."""
        self._watches, self._changed_at = False, time.monotonic()
        waiting, self._waiting = self._waiting, {}
        for _, then in waiting.values():
            then()

    def _send(self, line: str) -> None:
        process = self._process
        if process is not None:
            process.send(line)

    def stop(self) -> None:
        """Stop the thread and the process, also one that does not react to the end of its input."""
        super().stop()
        self._kill()

    def _kill(self) -> None:
        process = self._process
        if process is not None:
            process.kill()

    # The thread

    def _wake(self) -> None:
        process = self._process
        if process is not None:
            process.close()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                why = f"exit code {self._follow()}"
            except (OSError, ValueError) as error:
                why = repr(error)
            self._post(self._release)
            if not self._stopping.wait(RESTART_S):
                _log.warning("the process that reads notifications is started again: %s", why)

    def _follow(self) -> int:
        """Start the process, pass on what it writes until it ends, and return its exit code."""
        process = Child(notification_process.__name__, silent=True)
        process.send(ensemble_option(self._config))
        self._process = process
        try:
            if self._stopping.is_set():
                process.kill()  # `stop` may have looked for it before it was started
            for line in process:
                self._post(partial(self._take, json.loads(line)))
        finally:
            self._process = None
            process.close()
            code = process.wait()
        return code

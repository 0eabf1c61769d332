"""One reading of all content, through a client of its own: to its end, or abandoned.

kazoo's threads only put work on a queue; everything else happens in the thread that calls `run`,
so that whatever abandons the reading is an exception there.
"""

import queue
import time
from typing import Final, NoReturn

from kazoo.client import KazooState

from streams.zookeeper.content.facts import Content
from streams.zookeeper.content.gathering import Gathering
from streams.zookeeper.ensemble import Ensemble
from streams.zookeeper.link import Link
from streams.zookeeper.session import IN_FLIGHT_MAX, Action, Session

_TICK_S: Final = 0.2


class Abandoned(Exception):
    """A reading came to nothing.

    Attributes:
        name: Stable: `no_zookeeper_reachable`, `connection_lost`, `no_answer`, `refused`,
            `facts_not_kept`, `stopped`.
        detail: In words.
    """

    def __init__(self, name: str, detail: str) -> None:
        super().__init__(f"{name}: {detail}")
        self.name = name
        self.detail = detail


class ContentReading:
    """Reads everything once, or some topics. It never writes to ZooKeeper."""

    def __init__(
        self,
        config: Ensemble,
        names: tuple[str, ...] | None = None,
        in_flight_max: int = IN_FLIGHT_MAX,
    ) -> None:
        """Prepare; nothing is opened before `run`.

        Args:
            config: Where ZooKeeper is.
            names: Of the topics to look at; None: everything is read.
            in_flight_max: How many requests may be unanswered at once.
        """
        self._config = config
        self._names = names
        self._in_flight_max = in_flight_max
        self._work: queue.SimpleQueue[Action] = queue.SimpleQueue()
        # A link for each reading: it costs one session, and nothing of a lost one is left over.
        self.link = Link(config, lambda _link, *told: self._work.put(lambda: self._take(*told)))
        self._server = config.hosts
        self._session: Session | None = None
        self._content: Content | None = None

    def run(self) -> Content:
        """Read; to be called once.

        Raises:
            Abandoned: ZooKeeper cannot be reached, was lost or refused, or `cancel` was called.
        """
        began_at = time.monotonic()
        try:
            self.link.open()
            while self._content is None:
                try:
                    self._work.get(timeout=_TICK_S)()
                except queue.Empty:
                    self._check(began_at)
            return self._content
        finally:
            self.link.close()

    def cancel(self) -> None:
        """Have `run` abandoned; may be called by any thread, at any time."""
        self._work.put(lambda: self._abandon("stopped", "Kraftgate was stopped"))

    def _abandon(self, name: str, detail: str) -> NoReturn:
        raise Abandoned(name, detail)

    def _check(self, began_at: float) -> None:
        """Give up on a ZooKeeper that says nothing, which kazoo would wait for."""
        timeout_s = self.link.session_timeout_s
        if self._session is None:
            if time.monotonic() - began_at > 2 * timeout_s:
                self._abandon("no_zookeeper_reachable", self.link.why_not())
        elif (silent_s := self._session.unanswered_s()) > timeout_s:
            self._abandon("no_answer", f"{self._server} has not answered for {silent_s:.1f} s")

    def _take(self, state: str, server: str) -> None:
        self._server = server
        if state == KazooState.CONNECTED:
            self._begin()
        elif state == KazooState.SUSPENDED:
            self._abandon("connection_lost", f"the connection to {self._server} was lost")
        else:
            self._abandon("connection_lost", f"the session with {self._server} ended")

    def _begin(self) -> None:
        session = Session(
            self.link.client,
            post=lambda _session, action: self._work.put(action),
            on_complete=lambda session: self._complete(session, gathering, zxid[0]),
            on_broken=lambda why: self._abandon("connection_lost", f"{self._server}: {why}"),
        )
        gathering = Gathering(session, self._in_flight_max, self._names)
        zxid: list[int] = []
        self._session = session
        # The first reading runs when only the sync was answered: the zxid is the one of its answer.
        session.begin(lambda: zxid.append(self.link.zxid), gathering.begin)

    def _complete(self, session: Session, gathering: Gathering, zxid: int) -> None:
        if session.refusals:
            count, (path, why) = len(session.refusals), min(session.refusals.items())
            others = f", and {count - 1} more" if count > 1 else ""
            self._abandon("refused", f"ZooKeeper refused to show {path}: {why}{others}")
        self._content = gathering.content(zxid)

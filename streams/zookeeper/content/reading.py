"""One reading of all content, through a client of its own: complete or abandoned.

kazoo's threads only put work into a queue; everything else happens in the thread that calls `run`,
so that each reason to abandon the reading is an exception there.
"""

import queue
import time
from collections.abc import Callable
from typing import Final, NoReturn, TypeAlias

from kazoo.client import KazooState
from kazoo.protocol.states import ZnodeStat

from migration.observed.znodes import CLUSTER_ID
from streams.zookeeper.client import Client
from streams.zookeeper.content.facts import Content
from streams.zookeeper.content.gathering import Gathering
from streams.zookeeper.ensemble import Ensemble
from streams.zookeeper.errors import Abandoned
from streams.zookeeper.session import IN_FLIGHT_MAX, Action, Session

_TICK_S: Final = 0.2

RequireCluster: TypeAlias = Callable[[bytes | None], object]
"""Called with the content of `/cluster/id`; raises `AnotherCluster` if it has another id."""


class ContentReading:
    """Reads everything, or some topics, once. It never writes to ZooKeeper."""

    def __init__(
        self,
        config: Ensemble,
        names: tuple[str, ...] | None = None,
        in_flight_max: int = IN_FLIGHT_MAX,
        require_cluster: RequireCluster = lambda _: None,
    ) -> None:
        """Prepare the reading of everything, or of the topics of these names."""
        self._require_cluster = require_cluster
        self._config = config
        self._names = names
        self._in_flight_max = in_flight_max
        self._work: queue.SimpleQueue[Action] = queue.SimpleQueue()
        # One client for each reading: it costs one session, and leaves no state of a lost one.
        self.client = Client(config, lambda _, *event: self._work.put(lambda: self._take(*event)))
        self._server = config.hosts
        self._session: Session | None = None
        self._content: Content | None = None

    def run(self) -> Content:
        """Return the content; call it only once.

        Raises:
            AnotherCluster: the server is one of another cluster.
            Abandoned: ZooKeeper cannot be reached, was lost or refused, or `cancel` was called.
        """
        began_at = time.monotonic()
        try:
            self.client.open()
            while self._content is None:
                try:
                    self._work.get(timeout=_TICK_S)()
                except queue.Empty:
                    self._check(began_at)
            return self._content
        finally:
            self.client.end()

    def cancel(self) -> None:
        """Abandon `run`; any thread may call this at any time."""
        self._work.put(lambda: self._abandon("Kraftgate was stopped"))

    def _abandon(self, why: str) -> NoReturn:
        raise Abandoned(why)

    def _check(self, began_at: float) -> None:
        """Abandon the reading if ZooKeeper does not answer; kazoo would wait."""
        timeout_s = self.client.session_timeout_s
        if self._session is None:
            if time.monotonic() - began_at > 2 * timeout_s:
                self._abandon(self.client.why_not())
        elif (silent_s := self._session.unanswered_s()) > timeout_s:
            self._abandon(f"{self._server} has not answered for {silent_s:.1f} s")

    def _take(self, state: str, server: str) -> None:
        self._server = server
        if state == KazooState.CONNECTED:
            self._begin()
        elif state == KazooState.SUSPENDED:
            self._abandon(f"the connection to {self._server} was lost")
        else:
            self._abandon(f"the session with {self._server} ended")

    def _begin(self) -> None:
        session = Session(
            self.client,
            post=lambda _session, action: self._work.put(action),
            on_complete=lambda session: self._complete(session, gathering, zxid[0]),
            on_broken=lambda why: self._abandon(f"{self._server}: {why}"),
        )
        gathering = Gathering(session, self._in_flight_max, self._names)
        zxid: list[int] = []

        def identified(found: tuple[bytes | None, ZnodeStat] | None) -> None:
            if found is not None:
                self._require_cluster(found[0])
            gathering.begin()

        self._session = session
        # The first reading runs after the answer to the sync alone: its zxid is that of this
        # answer.
        session.begin(
            lambda: zxid.append(int(self.client.last_zxid)),
            lambda: session.ask(self.client.get_async, CLUSTER_ID, identified),
        )

    def _complete(self, session: Session, gathering: Gathering, zxid: int) -> None:
        if session.refusals:
            count, (path, why) = len(session.refusals), min(session.refusals.items())
            others = f", and {count - 1} more" if count > 1 else ""
            self._abandon(f"ZooKeeper refused to show {path}: {why}{others}")
        self._content = gathering.content(zxid)

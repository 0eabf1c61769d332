"""All znodes that are watched in one session: first a full reading, then the changes.

A watch alone proves nothing: ZooKeeper drops its event if the session may no longer read the znode.
"""

import time
from typing import Final

from kazoo.protocol.states import ZnodeStat

from migration.observed import znodes
from migration.observed.facts import ZooKeeperSeen
from streams.zookeeper.emitter import Emitter
from streams.zookeeper.notifications import Notifications
from streams.zookeeper.read_ahead import ReadAhead
from streams.zookeeper.session import Session
from streams.zookeeper.topics import Topics, Touched
from streams.zookeeper.tree import Tree
from streams.zookeeper.watch_events import WatchEvents

_REREAD_S: Final = 10.0
"""From one reading of all znodes except topics to the next, which finds a dropped event."""


class AllZnodes:
    """Reads all znodes through one session into the `Emitter`."""

    def __init__(
        self,
        session: Session,
        emitter: Emitter,
        events: WatchEvents,
        touched: Touched,
        ahead: ReadAhead,
    ) -> None:
        """Prepare the readers; `begin` sends the first request.

        `session` sends the requests, and `emitter` receives each znode found or gone. `events` has
        those of the recursive watches; `touched` receives the topics whose content must be
        compared again; `ahead` reads notifications, too.
        """
        self.session = session
        self.topics = Topics(session, emitter, events, touched)
        self._emitter = emitter
        self._tree = Tree(session, emitter)
        self._notifications = Notifications(session, emitter, ahead)
        self._read_at = session.began_at

    def begin(self) -> None:
        """Read everything; the session's `on_complete` reports the end."""
        self.session.begin(self._read_cluster_id)

    def _read_cluster_id(self) -> None:
        """Read the cluster id before anything else: the server may be one of another cluster."""

        def answered(found: tuple[bytes | None, ZnodeStat] | None) -> None:
            if found is not None:
                self._emitter.update(znodes.CLUSTER_ID, *found)
            self.topics.watch(then=self._read)

        self.session.ask(self.session.client.get_async, znodes.CLUSTER_ID, answered)

    def _read(self) -> None:
        self._read_except_topics()
        self.topics.read()

    def _read_except_topics(self) -> None:
        self._read_at = time.monotonic()
        # Notifications first: no other znode is deleted while it waits to be read.
        self._notifications.read()
        self._tree.read()

    def complete(self, server: str) -> bool:
        """Emit that everything was read; False: the connection was lost just now."""
        client, known = self.session.client, self._emitter.known
        identity = client.session_id
        if identity is None:
            return False
        self._emitter.flush()
        self.topics.complete()
        if not known.sees:
            self._emitter.emit(
                ZooKeeperSeen(
                    seen_ms=self._emitter.clock(),
                    server=server,
                    session=identity,
                    blind_since_ms=known.blind_since_ms,
                    zxid=int(client.last_zxid),
                )
            )
        return True

    def follow(self, quiet_s: float) -> None:
        """Read the marked topics, and the rest every `_REREAD_S`.

        If the server was silent for `quiet_s`, send a request.
        """
        now, is_idle = time.monotonic(), not self.session.open
        if is_idle and now - self._read_at > _REREAD_S:
            self._read_except_topics()
        elif is_idle and now - self.session.answered_at > quiet_s:
            self._notifications.read()
        self.topics.follow()

    def end(self) -> None:
        """Emit the pending counts: the session is discarded."""
        self.topics.emit_states(self._emitter.clock())

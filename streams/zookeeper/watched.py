"""Everything that is watched in one session: first a full reading, then the changes."""

import time
from collections.abc import Callable

from migration.observed import znodes
from migration.observed.facts import ZooKeeperSeen
from streams.zookeeper.ledger import Ledger
from streams.zookeeper.marks import Marks
from streams.zookeeper.notifications import Notifications
from streams.zookeeper.session import Session
from streams.zookeeper.topics import Topics, Touched
from streams.zookeeper.tree import Tree


class Everything:
    """Reads all znodes through one session into the `Ledger`."""

    def __init__(
        self,
        session: Session,
        ledger: Ledger,
        marks: Marks,
        touched: Touched,
        on_chroot: Callable[[], object],
        *,
        chroot: str,
    ) -> None:
        """Prepare the readers; `begin` sends the first request.

        `session` sends the requests, and `ledger` receives each znode found or gone. `marks` has
        the events of the recursive watches; `touched` receives the topics whose content must be
        compared again. `on_chroot` is called when it is known whether `chroot` exists: Kafka's
        chroot, empty for the root.
        """
        self.session = session
        self.topics = Topics(session, ledger, marks, touched)
        self.chroot_missing = False
        self._ledger = ledger
        self._chroot = chroot
        self._on_chroot = on_chroot
        self._tree = Tree(session, ledger, znodes.DATA, znodes.BRANCHES)
        self._notifications = Notifications(session, ledger)

    def begin(self) -> None:
        """Read everything; the session's `on_complete` reports the end."""
        self.session.begin(lambda: self.topics.watch(then=self._read))

    def _read(self) -> None:
        # Notifications first: no other znode is deleted while it waits to be read.
        self._notifications.look()
        self._tree.read()
        self._look_for_chroot()
        self.topics.read()

    def complete(self, server: str) -> bool:
        """Emit that everything was read; False: the connection was lost just now.

        Args:
            server: The server's name for the fact.
        """
        client, known = self.session.client, self._ledger.known
        identity = client.session_id
        if identity is None:
            return False
        self._ledger.flush()
        self.topics.complete()
        if not known.sees:
            self._ledger.say(
                ZooKeeperSeen(
                    seen_ms=self._ledger.clock(),
                    server=server,
                    session=identity,
                    blind_since_ms=known.blind_since_ms,
                    zxid=int(client.last_zxid),
                )
            )
        return True

    def follow(self, quiet_s: float) -> None:
        """Read the marked topics; if the server was silent for `quiet_s`, send a request."""
        self.topics.follow()
        if not self.session.open and time.monotonic() - self.session.heard_at > quiet_s:
            self._notifications.look()

    def end(self) -> None:
        """Emit the pending counts: the session is discarded."""
        self.topics.tell_states(self._ledger.clock())

    def _look_for_chroot(self) -> None:
        """Read whether the chroot exists: without it every znode below seems absent."""
        if not self._chroot:
            return

        def answered(stat: object) -> None:
            self.chroot_missing = stat is None
            self._on_chroot()

        watch = self.session.watch("/", self._look_for_chroot)
        self.session.ask(self.session.client.exists_async, "/", answered, watch=watch)

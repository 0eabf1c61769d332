"""The watcher: a thread that keeps what is known of ZooKeeper up to date, and says what changes.

In: a configuration, what is known, and where facts go. Out: facts, and `status`. Whatever
ZooKeeper does, the thread goes on: a wait has a named reason, a refusal an error, both in the
status; an error that nobody foresaw too, and then everything is begun again.

kazoo's threads only put work on a queue. The watcher's thread takes it from there, asks without
waiting, and hands facts to a third thread (`outbox`), so that a slow disk costs no notification.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, Self

from kazoo.client import KazooState

from migration import znodes
from migration.observations import ZooKeeperBlind, ZooKeeperFact, ZooKeeperSeen
from streams.running import Running
from streams.zookeeper.config import WatcherConfig
from streams.zookeeper.known import Known
from streams.zookeeper.ledger import Clock, Ledger
from streams.zookeeper.link import Link
from streams.zookeeper.notifications import Notifications
from streams.zookeeper.outbox import Outbox
from streams.zookeeper.session import Action, Session
from streams.zookeeper.status import StatusBoard, WatcherStatus
from streams.zookeeper.tree import Tree

_TICK_S: Final = 0.2
_AGAIN_S: Final = 3.0
"""Between attempts after a refusal or an unexpected error."""

_STOP_S: Final = 30.0

_log: Final = logging.getLogger(__name__)


class ZooKeeperWatcher(Running):
    """Watches one ZooKeeper, in threads of its own. It never writes to it."""

    def __init__(
        self,
        config: WatcherConfig,
        known: Known,
        append: Callable[[Sequence[ZooKeeperFact]], object],
        clock: Clock,
    ) -> None:
        """Prepare; nothing is opened before `start`.

        Args:
            config: What to watch.
            known: What the facts that were kept so far add up to.
            append: Keeps facts: they are durable when it returns. It is called by one thread, in
                order, and again with the same facts after it raised.
            clock: Gives Kraftgate's time, ms since the epoch.
        """
        self._config = config
        self._clock = clock
        self._outbox = Outbox(append)
        self._ledger = Ledger(Known(known.facts()), self._outbox.put, clock)
        self._work: queue.SimpleQueue[tuple[object, Action]] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._link: Link | None = None
        self._session: Session | None = None
        self._notifications: Notifications | None = None
        self._heard_at = time.monotonic()
        self._chroot_missing = False
        self._board = StatusBoard(clock)

    # What the owner calls

    def start(self) -> Self:
        """Start watching; once only."""
        if self._thread is not None:
            raise RuntimeError("a watcher is started once")
        self._outbox.start()
        self._thread = threading.Thread(target=self._run, name="zookeeper-watcher", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """End the threads, and say that the view ends. A second time does nothing."""
        self._stopping.set()
        self._work.put((None, lambda: None))
        if self._thread is not None:
            self._thread.join(_STOP_S)

    def status(self) -> WatcherStatus:
        """Say how it stands now. Never raises."""
        return self._board.read(self._outbox.error)

    @property
    def known(self) -> Known:
        """What is known; other threads may ask it for single znodes and whether it `sees`."""
        return self._ledger.known

    # The thread

    def _run(self) -> None:
        self._admit_gap()
        while not self._stopping.is_set():
            try:
                self._follow()
            except Exception as error:  # noqa: BLE001 told in the status, and begun again
                _log.exception("watching %s went wrong; begun again", self._config.connect)
                self._lose(f"unexpected: {error!r}")
                self._tell(error=("unexpected", repr(error)))
                self._stopping.wait(_AGAIN_S)
        self._outbox.close()

    def _admit_gap(self) -> None:
        """Say that the view was lost, when the last watcher ended without saying so."""
        known = self._ledger.known
        if known.sees and known.latest_ms is not None:
            why = "Kraftgate ended without a word after this; it is started again"
            self._ledger.say(ZooKeeperBlind(known.latest_ms, why))

    def _follow(self) -> None:
        """Use one link, until it is hopeless or the watcher is stopped."""
        link = Link(self._config, self._state_changed)
        self._link = link
        self._heard_at = time.monotonic()
        try:
            link.open()
            while not self._stopping.is_set() and not self._is_hopeless():
                self._turn()
        finally:
            if self._stopping.is_set():
                self._lose("Kraftgate was stopped")
            self._link = None
            link.close()

    def _turn(self) -> None:
        try:
            owner, action = self._work.get(timeout=_TICK_S)
        except queue.Empty:
            pass  # nothing happened: only time went on
        else:
            # Of a link or session that was given up, nothing is of interest any more.
            if owner is not None and owner in {self._link, self._session}:
                action()
        self._tick()

    def _tick(self) -> None:
        self._ledger.tick()
        session = self._session
        if session is None:
            if self._link is not None:
                self._tell(waiting=("no_zookeeper_reachable", self._link.why_not()))
            return
        if session.heard_at > self._heard_at:
            self._heard_at = session.heard_at
            self._tell(answered=True)
        if not session.complete:
            return
        if session.unanswered_s() > self._timeout_s / 2:
            # kazoo would notice too, but not always within the session timeout: it sends no ping
            # while requests go out. The new session's first answer tells that the server is back.
            self._lose(f"{self._server} has not answered for {session.unanswered_s():.1f} s")
            self._begin()
        elif session.refusals:
            self._refused(session)
        elif self._is_quiet(session) and self._notifications is not None:
            self._notifications.look()

    def _refused(self, session: Session) -> None:
        words = ", ".join(f"{path}: {why}" for path, why in sorted(session.refusals.items()))
        self._lose(f"ZooKeeper refused to show {words}", keep=True)
        self._tell(error=("refused", f"ZooKeeper refused to show {words}"))
        if time.monotonic() - session.began_at > _AGAIN_S:
            self._begin()

    def _is_quiet(self, session: Session) -> bool:
        return not session.open and time.monotonic() - session.heard_at > self._timeout_s / 3

    @property
    def _timeout_s(self) -> float:
        return self._config.session_timeout_ms / 1000

    @property
    def _server(self) -> str:
        return (self._link.server if self._link else None) or self._config.hosts

    def _is_hopeless(self) -> bool:
        """Whether nothing was heard for two session timeouts, so that no session can be left."""
        return time.monotonic() - self._heard_at > 2 * self._timeout_s

    # What kazoo tells

    def _state_changed(self, link: Link, state: str) -> None:
        self._work.put((link, lambda: self._take_state(state)))

    def _take_state(self, state: str) -> None:
        if state == KazooState.CONNECTED:
            self._heard_at = time.monotonic()
            self._tell(answered=True)
            self._begin()
        elif state == KazooState.SUSPENDED:
            self._lose(f"the connection to {self._server} was lost")
        else:
            self._lose(f"the session with {self._server} ended")

    def _begin(self) -> None:
        """Read everything, in a new session object; the old one's answers no longer count."""
        link = self._link
        if link is None:
            return
        session = Session(
            link.client,
            post=lambda session, action: self._work.put((session, action)),
            on_complete=self._completed,
            on_broken=lambda why: self._lose(f"{self._server}: {why}"),
        )
        branches = (*znodes.BRANCHES, znodes.TOPICS) if self._config.topics else znodes.BRANCHES
        tree = Tree(session, self._ledger, znodes.DATA, branches)
        self._notifications = Notifications(session, self._ledger)
        self._session = session
        self._tell(waiting=("reading", f"reading everything from {self._server}"))
        # Notifications first: nothing else vanishes while it is waiting to be read.
        session.begin(self._notifications.look, tree.read, self._look_for_chroot)

    def _look_for_chroot(self) -> None:
        """Find out whether the chroot exists: without it every znode below just seems absent."""
        session = self._session
        if session is None or not self._config.chroot:
            return

        def answered(stat: object) -> None:
            self._chroot_missing = stat is None
            if session.complete and not session.refusals:
                self._tell_settled()

        watch = session.watch("/", self._look_for_chroot)
        session.ask(session.client.exists_async, "/", answered, watch=watch)

    def _completed(self, session: Session) -> None:
        if session.refusals:
            return  # not everything was read: `_tick` says so, and tries again
        link = self._link
        identity = None if link is None else link.session
        if link is None or identity is None:
            return  # the connection was lost just now: its state follows
        self._ledger.flush()
        known = self._ledger.known
        if not known.sees:
            self._ledger.say(
                ZooKeeperSeen(
                    seen_ms=self._clock(),
                    server=self._server,
                    session=identity,
                    blind_since_ms=known.blind_since_ms,
                    zxid=link.zxid,
                )
            )
        self._tell_settled()

    def _lose(self, why: str, *, keep: bool = False) -> None:
        """Give the session up, unless it is to be kept, and say once that the view is lost."""
        if not keep:
            self._session = self._notifications = None
        self._ledger.flush()
        if self._ledger.known.sees:
            self._ledger.say(ZooKeeperBlind(self._clock(), why))
        self._tell()

    # What is told of it

    def _tell_settled(self) -> None:
        chroot = self._config.chroot
        missing = f"the chroot {chroot} does not exist in ZooKeeper: is it the right one?"
        self._board.settle(("chroot_missing", missing) if self._chroot_missing else None)
        self._tell()

    def _tell(
        self,
        *,
        answered: bool = False,
        waiting: tuple[str, str] | None = None,
        error: tuple[str, str] | None = None,
    ) -> None:
        ledger, link = self._ledger, self._link if self._session else None
        self._board.tell(
            answered=answered,
            waiting=waiting,
            error=error,
            server=link and link.server,
            session=link and link.session,
            sees=ledger.known.sees,
            blind_since_ms=ledger.known.blind_since_ms,
            notifications_seen=ledger.notifications_seen,
            notifications_missed=ledger.notifications_missed,
        )

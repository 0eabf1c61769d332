"""The watcher: a thread that updates the known state of ZooKeeper, and emits changes.

Input: a configuration, the known state, and where to append facts. Output: facts, and `status`. The
thread continues whatever ZooKeeper does: a wait has a named reason, a refusal is an error, both in
the status; so is an unexpected error, after which everything is read again.

kazoo's threads only put work into a queue. The watcher's thread takes it from there, sends requests
without waiting, and passes facts to a third thread (`outbox`), so that a slow disk causes no missed
notification.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, Self

from kazoo.client import KazooState

from migration.observed.facts import ZooKeeperBlind, ZooKeeperFact
from streams.process.background import BackgroundThreads
from streams.zookeeper.client import Client
from streams.zookeeper.ensemble import Ensemble
from streams.zookeeper.known import Known
from streams.zookeeper.ledger import Clock, Ledger
from streams.zookeeper.marks import Marks
from streams.zookeeper.outbox import Outbox
from streams.zookeeper.session import Action, Session
from streams.zookeeper.status import StatusBoard, WatcherStatus
from streams.zookeeper.topics import POLL_S, Touched
from streams.zookeeper.watched import Everything

_TICK_S: Final = 0.2
_AGAIN_S: Final = 3.0
"""Time between attempts after a refusal or an unexpected error."""

_STOP_S: Final = 30.0
_POLLED: Final = (
    f"this ZooKeeper has no recursive watches (it is older than 3.6): topics are read every"
    f" {POLL_S:.0f} s, and changes of leaders and ISRs are not counted"
)

_log: Final = logging.getLogger(__name__)


class ZooKeeperWatcher(BackgroundThreads):
    """Watches one ZooKeeper, in threads of its own. It never writes to it."""

    def __init__(
        self,
        config: Ensemble,
        known: Known,
        append: Callable[[Sequence[ZooKeeperFact]], object],
        clock: Clock,
        touched: Touched = lambda _: None,
    ) -> None:
        """Prepare the watcher; `start` opens the first connection.

        Args:
            config: The ZooKeeper.
            known: The state that results from the facts stored so far.
            append: Stores facts: they are durable when it returns. It is called by one thread, in
                order, and again with the same facts after it raised.
            clock: Returns Kraftgate's time, ms since the epoch.
            touched: Receives the topics whose content must be compared again; called by the
                watcher's thread.
        """
        self._config = config
        self._clock = clock
        self._outbox = Outbox(append)
        self._ledger = Ledger(Known(known.facts()), self._outbox.put, clock)
        self._work: queue.SimpleQueue[tuple[object, Action]] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._client: Client | None = None
        self._everything: Everything | None = None
        self._marks = Marks(clock)
        self._touched = touched
        self._heard_at = time.monotonic()
        self._server = config.hosts
        self._board = StatusBoard(clock)

    # Called by the owner

    def start(self) -> Self:
        """Start the threads; only once."""
        if self._thread is not None:
            raise RuntimeError("a watcher is started once")
        self._outbox.start()
        self._thread = threading.Thread(target=self._run, name="zookeeper-watcher", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """End the threads, and emit that the view ends. A second call does nothing."""
        self._stopping.set()
        self._work.put((None, lambda: None))
        if self._thread is not None:
            self._thread.join(_STOP_S)

    def status(self) -> WatcherStatus:
        """Return the current status. Never raises."""
        return self._board.read(self._outbox.error)

    @property
    def known(self) -> Known:
        """The known state; other threads may read only single znodes and `sees`."""
        return self._ledger.known

    # The thread

    def _run(self) -> None:
        self._admit_gap()
        while not self._stopping.is_set():
            try:
                self._follow()
            except Exception as error:  # noqa: BLE001 reported in the status, and retried
                _log.exception("watching %s went wrong; begun again", self._config.connect)
                self._lose(f"unexpected: {error!r}")
                self._tell(error=("unexpected", repr(error)))
                self._stopping.wait(_AGAIN_S)
        self._outbox.close()

    def _admit_gap(self) -> None:
        """Emit that the view was lost, if the last watcher ended without emitting that."""
        known = self._ledger.known
        if known.sees and known.latest_ms is not None:
            why = "Kraftgate ended without a word after this; it is started again"
            self._ledger.say(ZooKeeperBlind(known.latest_ms, why))

    def _follow(self) -> None:
        """Use one client, until it is hopeless or the watcher is stopped."""
        client = Client(self._config, self._state_changed)
        self._client = client
        self._heard_at = time.monotonic()
        try:
            client.open()
            while not self._stopping.is_set() and not self._is_hopeless():
                self._turn()
        finally:
            if self._stopping.is_set():
                self._lose("Kraftgate was stopped")
            self._client = None
            client.end()

    def _turn(self) -> None:
        try:
            owner, action = self._work.get(timeout=_TICK_S)
        except queue.Empty:
            pass  # no event: only time passed
        else:
            # Actions of a discarded client or session are ignored.
            if owner is not None and owner in {self._client, self._session}:
                action()
        self._tick()

    def _tick(self) -> None:
        self._ledger.tick()
        everything = self._everything
        if everything is None:
            if self._client is not None:
                self._tell(waiting=("no_zookeeper_reachable", self._client.why_not()))
            return
        session = everything.session
        heard_at = max(session.heard_at, session.client.heard_at)
        if heard_at > self._heard_at:
            self._heard_at = heard_at
            self._tell(answered=True)
        if not session.complete:
            return
        if session.unanswered_s() > self._timeout_s / 2:
            # kazoo would notice, too, but not always within the session timeout: it sends no ping
            # while requests are sent. The first answer of the new session shows that the server is
            # back.
            self._lose(f"{self._server} has not answered for {session.unanswered_s():.1f} s")
            self._begin()
        elif session.refusals:
            self._refused(session)
        else:
            everything.follow(quiet_s=self._timeout_s / 3)

    def _refused(self, session: Session) -> None:
        words = ", ".join(f"{path}: {why}" for path, why in sorted(session.refusals.items()))
        self._lose(f"ZooKeeper refused to show {words}", keep=True)
        self._tell(error=("refused", f"ZooKeeper refused to show {words}"))
        if time.monotonic() - session.began_at > _AGAIN_S:
            self._begin()

    @property
    def _session(self) -> Session | None:
        return None if self._everything is None else self._everything.session

    @property
    def _timeout_s(self) -> float:
        client = self._client
        return (
            self._config.session_timeout_ms / 1000 if client is None else client.session_timeout_s
        )

    def _is_hopeless(self) -> bool:
        """Return whether the server was silent for two session timeouts: no session can remain."""
        return time.monotonic() - self._heard_at > 2 * self._timeout_s

    # Events of kazoo

    def _state_changed(self, client: Client, state: str, server: str) -> None:
        self._work.put((client, lambda: self._take_state(state, server)))

    def _take_state(self, state: str, server: str) -> None:
        self._server = server
        if state == KazooState.CONNECTED:
            self._heard_at = time.monotonic()
            self._tell(answered=True)
            self._begin()
        elif state == KazooState.SUSPENDED:
            self._lose(f"the connection to {self._server} was lost")
        else:
            self._lose(f"the session with {self._server} ended")

    def _begin(self) -> None:
        """Read everything, in a new session object; answers of the old one no longer count."""
        client = self._client
        if client is None:
            return
        session = Session(
            client,
            post=lambda session, action: self._work.put((session, action)),
            on_complete=self._completed,
            on_broken=lambda why: self._lose(f"{self._server}: {why}"),
        )
        self._everything = Everything(
            session,
            self._ledger,
            self._marks,
            self._touched,
            on_chroot=lambda: self._settle(session),
            chroot=self._config.chroot,
        )
        self._tell(waiting=("reading", f"reading everything from {self._server}"))
        self._everything.begin()

    def _completed(self, session: Session) -> None:
        if session.refusals or self._everything is None:
            return  # not everything was read: `_tick` reports it, and retries
        self._touched(None)  # there may have been changes while the view was lost
        if self._everything.complete(self._server):
            self._settle(session)

    def _settle(self, session: Session) -> None:
        """Record that everything was read, if so; without its chroot every znode seems absent."""
        if self._everything is None or not session.complete or session.refusals:
            return
        chroot = self._config.chroot
        missing = f"the chroot {chroot} does not exist in ZooKeeper: is it the right one?"
        self._board.settle(("chroot_missing", missing) if self._everything.chroot_missing else None)
        self._tell()

    def _lose(self, why: str, *, keep: bool = False) -> None:
        """Discard the session, unless `keep` is set, and emit once that the view is lost."""
        if self._everything is not None:
            self._everything.end()
        if not keep:
            self._everything = None
        self._ledger.flush()
        if self._ledger.known.sees:
            self._ledger.say(ZooKeeperBlind(self._clock(), why))
        self._tell()

    # The status

    def _tell(
        self,
        *,
        answered: bool = False,
        waiting: tuple[str, str] | None = None,
        error: tuple[str, str] | None = None,
    ) -> None:
        ledger, client = self._ledger, self._client if self._session else None
        self._board.tell(
            answered=answered,
            waiting=waiting,
            error=error,
            server=client and self._server,
            session=client and client.session_id,
            sees=ledger.known.sees,
            sees_since_ms=ledger.known.sees_since_ms,
            blind_since_ms=ledger.known.blind_since_ms,
            notifications_seen=ledger.notifications_seen,
            notifications_missed=ledger.notifications_missed,
            limits=(_POLLED,) if client is not None and client.has_branches is False else (),
        )

"""The watcher: a thread that updates the known state of ZooKeeper, and emits changes.

Input: a configuration, the known state, and where to append facts. Output: facts, and `status`. The
thread continues whatever ZooKeeper does: the status has the reason of a wait, and a refusal is an
error in it; so is an unexpected error, after which everything is read again.

kazoo's threads only put work into a queue. The watcher's thread takes it from there, sends requests
without waiting, and passes facts to a third thread (`_Appender`), so that a slow disk causes no
missed notification. A process of its own reads notifications, too (`read_ahead`).
"""

import logging
import queue
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, Self

from kazoo.client import KazooState

from migration.observed.facts import ZooKeeperBlind, ZooKeeperFact
from migration.observed.source_status import STALE_AFTER_MS, SourceStatus
from migration.observed.znodes import CLUSTER_ID
from streams.process.background import BackgroundThread
from streams.zookeeper.all_znodes import AllZnodes
from streams.zookeeper.client import Client
from streams.zookeeper.emitter import Clock, Emitter
from streams.zookeeper.ensemble import Ensemble
from streams.zookeeper.errors import AnotherCluster
from streams.zookeeper.known import Known
from streams.zookeeper.read_ahead import ReadAhead
from streams.zookeeper.session import Action, Session
from streams.zookeeper.topics import POLL_S, Touched
from streams.zookeeper.watch_events import WatchEvents

_TICK_S: Final = 0.2
_AGAIN_S: Final = 3.0
"""Time between attempts after an unexpected error, and after the first refusal."""
_AGAIN_S_MAX: Final = 60.0
"""The same while refusals last: each attempt reads everything."""

_STOP_S: Final = 30.0
_RETRY_S: Final = 1.0
_APPEND_STOP_S: Final = 10.0
_BLOCKED_S: Final = STALE_AFTER_MS / 1000
_POLLED: Final = (
    f"this ZooKeeper has no recursive watches (it is older than 3.6): topics are read every"
    f" {POLL_S:.0f} s, and changes of leaders and ISRs are not counted"
)

_log: Final = logging.getLogger(__name__)


class ZooKeeperWatcher(BackgroundThread):
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
            known: The state that results from the facts stored so far; the watcher updates it.
            append: Stores facts: they are durable when it returns. It is called by one thread, in
                order, and again with the same facts after it raised.
            clock: Returns Kraftgate's time, ms since the epoch.
            touched: Receives the topics whose content must be compared again; called by the
                watcher's thread.
        """
        super().__init__("zookeeper-watcher", _STOP_S)
        self._config = config
        self._clock = clock
        self._appender = _Appender(append)
        self._emitter = Emitter(known, self._appender.put, clock)
        self._work: queue.SimpleQueue[tuple[object, Action]] = queue.SimpleQueue()
        self._ahead = ReadAhead(config, lambda action: self._work.put((self._ahead, action)))
        self._client: Client | None = None
        # Kept for the next client, which would begin with the reason of one server.
        self._tried: dict[str, str] = {}
        self._all_znodes: AllZnodes | None = None
        self._events = WatchEvents(clock)
        self._touched = touched
        self._contact_at = time.monotonic()
        self._again_s = _AGAIN_S
        self._server = config.hosts
        self._status = SourceStatus(observed_ms=clock(), waiting="the watcher has not begun yet")

    # Called by the owner

    def start(self) -> Self:
        super().start()
        self._appender.start()
        self._ahead.start()
        return self

    def _wake(self) -> None:
        self._work.put((None, lambda: None))

    def status(self) -> SourceStatus:
        """Return the current status; while the view is not complete, nothing is known as current.

        Never raises.
        """
        status, now_ms = self._status, self._clock()
        known = self._emitter.known
        beat = self._emitter.heartbeat
        return replace(
            status,
            observed_ms=now_ms,
            cluster_id=known.cluster_id if known.sees else status.cluster_id,
            error=self._appender.why_not() or status.error or self._no_cluster(),
            whole_since_ms=now_ms if status.whole_since_ms is None else status.whole_since_ms,
            migration_mzxid=beat and beat.mzxid,
            migration_version=beat and beat.version,
            migration_offset=beat and beat.znode.offset,
            migration_written_ms=beat and beat.znode.written_ms,
        )

    def _no_cluster(self) -> str | None:
        """Return that no cluster is below the chroot, where every znode seems absent; None: one is.

        Nothing that ZooKeeper does not show there is known to be absent.
        """
        known = self._emitter.known
        if not known.sees or known.kept(CLUSTER_ID) is not None:
            return None
        return (
            f"no Kafka cluster is below {self._config.chroot or '/'}: ZooKeeper has no"
            f" {CLUSTER_ID} there. Set zookeeper.connect to the brokers' value, including the"
            " chroot"
        )

    @property
    def known(self) -> Known:
        """The known state; other threads may read only single znodes and `sees`."""
        return self._emitter.known

    # The thread

    def _run(self) -> None:
        self._emit_gap()
        while not self._stopping.is_set():
            try:
                self._follow()
            except AnotherCluster as error:
                self._lose(why := f"{self._server}: {error}")
                self._update_status(error=why, cluster_id=error.cluster_id)
                self._stopping.wait(_AGAIN_S)
            except Exception as error:  # noqa: BLE001 reported in the status, and retried
                _log.exception("watching %s failed; it begins again", self._config.connect)
                self._lose(f"unexpected: {error!r}")
                self._update_status(error=repr(error))
                self._stopping.wait(_AGAIN_S)
        self._ahead.stop()
        self._appender.stop()

    def _emit_gap(self) -> None:
        """Emit that the view was lost, if the last watcher ended without emitting that."""
        known = self._emitter.known
        if known.sees and known.latest_ms is not None:
            why = "Kraftgate ended unexpectedly after this; it is started again"
            self._emitter.emit(ZooKeeperBlind(known.latest_ms, why))

    def _follow(self) -> None:
        """Use one client, until it is hopeless or discarded, or the watcher is stopped."""
        client = Client(self._config, self._state_changed)
        client.handler.tried = self._tried
        self._client = client
        self._contact_at = time.monotonic()
        try:
            client.open()
            while (
                not self._stopping.is_set() and self._client is client and not self._is_hopeless()
            ):
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
            if owner is not None and owner in {self._client, self._session, self._ahead}:
                action()
        self._tick()

    def _tick(self) -> None:
        self._emitter.tick()
        self._ahead.tick()
        all_znodes = self._all_znodes
        if all_znodes is None:
            if self._client is not None:
                self._update_status(waiting=self._client.why_not())
            return
        session = all_znodes.session
        answered_at = max(session.answered_at, session.client.event_at)
        if answered_at > self._contact_at:
            self._contact_at = answered_at
            self._update_status(answered=True)
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
            all_znodes.follow(quiet_s=self._timeout_s / 3)

    def _refused(self, session: Session) -> None:
        """Report the refusals; after a while discard the client, which keeps all watches."""
        words = ", ".join(f"{path}: {why}" for path, why in sorted(session.refusals.items()))
        self._lose(f"ZooKeeper refused to show {words}", keep=True)
        self._update_status(error=f"ZooKeeper refused to show {words}")
        if time.monotonic() - session.began_at > self._again_s:
            self._again_s = min(2 * self._again_s, _AGAIN_S_MAX)
            self._all_znodes = self._client = None

    @property
    def _session(self) -> Session | None:
        return None if self._all_znodes is None else self._all_znodes.session

    @property
    def _timeout_s(self) -> float:
        client = self._client
        return (
            self._config.session_timeout_ms / 1000 if client is None else client.session_timeout_s
        )

    def _is_hopeless(self) -> bool:
        """Return whether the server was silent for two session timeouts: no session can remain."""
        return time.monotonic() - self._contact_at > 2 * self._timeout_s

    # Events of kazoo

    def _state_changed(self, client: Client, state: str, server: str) -> None:
        self._work.put((client, lambda: self._take_state(state, server)))

    def _take_state(self, state: str, server: str) -> None:
        self._server = server
        if state == KazooState.CONNECTED:
            self._contact_at = time.monotonic()
            self._tried.clear()
            self._update_status(answered=True)
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
        self._all_znodes = AllZnodes(
            session,
            self._emitter,
            self._events,
            self._touched,
            self._ahead,
        )
        self._update_status(waiting=f"reading everything from {self._server}")
        self._all_znodes.begin()

    def _completed(self, session: Session) -> None:
        if session.refusals or self._all_znodes is None:
            return  # not everything was read: `_tick` reports it, and retries
        self._touched(None)  # there may have been changes while the view was lost
        if self._all_znodes.complete(self._server):
            self._again_s = _AGAIN_S
            self._status = replace(self._status, waiting=None, error=None, cluster_id=None)
            self._update_status()

    def _lose(self, why: str, *, keep: bool = False) -> None:
        """Discard the session, unless `keep` is set, and emit once that the view is lost."""
        if self._all_znodes is not None:
            self._all_znodes.end()
        if not keep:
            self._all_znodes = None
        self._emitter.flush()
        if self._emitter.known.sees:
            self._emitter.emit(ZooKeeperBlind(self._clock(), why))
        self._update_status()

    # The status

    def _update_status(
        self,
        *,
        answered: bool = False,
        waiting: str | None = None,
        error: str | None = None,
        cluster_id: str | None = None,
    ) -> None:
        """Update the status; a wait, an error or an id that is not given remains.

        `answered`: whether ZooKeeper answered just now; `cluster_id`: that of another cluster.
        """
        was, now_ms = self._status, self._clock()
        client = self._client if self._session else None
        self._status = SourceStatus(
            observed_ms=now_ms,
            last_reply_ms=now_ms if answered else was.last_reply_ms,
            endpoint=client and self._server,
            cluster_id=cluster_id or was.cluster_id,
            waiting=waiting or was.waiting,
            error=error or was.error,
            limits=(_POLLED,) if client is not None and client.has_branches is False else (),
            whole_since_ms=self._emitter.known.sees_since_ms,
        )


class _Appender(BackgroundThread):
    """Passes facts on in order, each once; retries rejected ones until they are stored.

    `stop` passes on the queued facts with one last attempt. Facts that cannot be stored are not
    lost: the next watcher resumes from the stored state.
    """

    def __init__(self, append: Callable[[Sequence[ZooKeeperFact]], object]) -> None:
        """`append` stores facts: they are stored when it returns, and not stored when it raises."""
        super().__init__("zookeeper-facts", _APPEND_STOP_S)
        self._append = append
        self._waiting: queue.SimpleQueue[Sequence[ZooKeeperFact] | None] = queue.SimpleQueue()
        self._began_s: float | None = None
        self._error: str | None = None

    def why_not(self) -> str | None:
        """Return why facts cannot be stored; None: they can. Thread-safe."""
        began_s = self._began_s
        if self._error is None and began_s is not None:
            took_s = time.monotonic() - began_s
            if took_s > _BLOCKED_S:
                return f"the state of ZooKeeper has not been stored for {took_s:.0f} s"
        return self._error

    def put(self, facts: Sequence[ZooKeeperFact]) -> None:
        """Queue facts; does not block."""
        self._waiting.put(facts)

    def _wake(self) -> None:
        self._waiting.put(None)

    def _run(self) -> None:
        ended = False
        while not ended:
            batch, ended = self._take()
            self._began_s = time.monotonic()
            while batch and not self._kept(batch):
                if self._stopping.wait(_RETRY_S):
                    self._kept(batch)
                    return
            self._began_s = None

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
            if self._error is None:
                _log.warning("facts of ZooKeeper cannot be stored: %r", error)
            self._error = f"the state of ZooKeeper cannot be stored: {error!r}"
            return False
        self._error = None
        return True

"""The follower: a thread that asks the quorum what the cursor says and spools what it answers.

In: a configuration and an open spool. Out: a growing spool, `position` (what Spark may read), and
`status` (how it stands, for gates and screens). Whatever the quorum does, the thread goes on:
a wait has a named reason, a refusal an error, both in the status. Only an error that nobody
foresaw ends it, and that one is raised to whoever calls next.
"""

import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Final, Self, assert_never

from streams.live import cursor as c
from streams.live import messages
from streams.live.connection import ControllerConnection
from streams.live.errors import (
    ConnectionFailed,
    FollowerCrashed,
    LiveError,
)
from streams.live.messages import Endpoint
from streams.live.security import Security
from streams.live.spool import Position, Spool

_log = logging.getLogger(__name__)
_STOP_S: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowerConfig:
    """What to follow, and how.

    Attributes:
        controllers: Where to ask first; any of the quorum's controllers leads to the leader.
        cluster_id: The only cluster to accept; None takes the spool's, or else what it finds.
        security: How the controllers' listener is secured.
        max_wait_ms: How long the leader may hold a FETCH that finds nothing.
        max_bytes: Bytes wanted in one reply.
        connect_timeout_ms: For connecting, TLS and SASL together, for each controller.
    """

    controllers: tuple[Endpoint, ...]
    cluster_id: str | None = None
    security: Security = field(default_factory=Security)
    max_wait_ms: int = 500
    max_bytes: int = 8 * 1024 * 1024
    connect_timeout_ms: int = 3000


@dataclass(frozen=True, slots=True)
class Reason:
    """Why nothing arrives, or may be asked for.

    Attributes:
        name: Stable, for alerts: `no_controller_reachable`, `no_leader`, `waiting_for_quorum`,
            `snapshot_vanished`, `spool_not_writable`; for an error, its class.
        detail: A sentence for the operator.
        since_ms: Wall clock, ms since 1970, when this name began.
    """

    name: str
    detail: str
    since_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowerStatus:
    """How it stands. Times are wall clock in ms since 1970.

    Attributes:
        observed_at_ms: When this was put together.
        last_reply_ms: When the leader last answered a FETCH without an error; None: never yet.
            While this is recent and `waiting` and `error` are None, the spool is up to date.
        next_offset: First offset not in the spool.
        high_watermark: First offset not committed, as last told; None while unknown.
        leader_id: Node id of the leader, None while unknown.
        leader_epoch: The highest leader epoch heard of.
        leader_endpoint: Where the leader listens, None while not connected to it.
        cluster_id: The cluster followed, as configured, remembered or found out.
        waiting: Why nothing arrives although all may be well soon.
        error: What a person has to mend.
    """

    observed_at_ms: int
    last_reply_ms: int | None = None
    next_offset: int = 0
    high_watermark: int | None = None
    leader_id: int | None = None
    leader_epoch: int = 0
    leader_endpoint: Endpoint | None = None
    cluster_id: str | None = None
    waiting: Reason | None = None
    error: Reason | None = None


def _nobody(_position: Position) -> None:
    """Take no interest in progress."""


class Follower:
    """Follows one quorum into one spool, in a thread of its own."""

    def __init__(
        self,
        config: FollowerConfig,
        spool: Spool,
        on_progress: Callable[[Position], None] = _nobody,
    ) -> None:
        """Prepare; nothing is opened or sent before `start`.

        Args:
            config: What to follow.
            spool: An open spool; it stays the caller's to close, after `stop`.
            on_progress: Called by the thread after each move of `position`; must not block.
        """
        self._config = config
        self._spool = spool
        self._on_progress = on_progress
        self._moved = threading.Condition()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._connection: ControllerConnection | None = None
        self._crash: BaseException | None = None
        self._cluster_id = config.cluster_id
        self._cursor = c.Cursor(
            config.controllers,
            spool.position,
            max_wait_s=config.max_wait_ms / 1000,
            jitter=random.random,
        )
        self._status = FollowerStatus(
            observed_at_ms=_wall_ms(), next_offset=spool.position.next_offset
        )

    # What the owner calls

    def start(self) -> Self:
        """Start following; once only."""
        if self._thread is not None:
            raise RuntimeError("a follower is started once")
        self._thread = threading.Thread(target=self._run, name="kraft-follower", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """End the thread, at once even from within a long poll. A second time does nothing."""
        self._stopping.set()
        connection = self._connection
        if connection is not None:
            connection.interrupt()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_STOP_S)
        with self._moved:
            self._moved.notify_all()

    @property
    def position(self) -> Position:
        """Where the spool ends: up to here Spark may read.

        Raises:
            FollowerCrashed: the thread died.
        """
        self._raise_crash()
        return self._spool.position

    def wait_for(self, beyond_offset: int, timeout_s: float) -> bool:
        """Block until the spool ends beyond the offset; tell whether it does.

        Returns early, with False, when the follower stops.

        Raises:
            FollowerCrashed: the thread died.
        """
        with self._moved:
            self._moved.wait_for(
                lambda: (
                    self._spool.position.next_offset > beyond_offset
                    or self._crash is not None
                    or self._stopping.is_set()
                ),
                timeout_s,
            )
        self._raise_crash()
        return self._spool.position.next_offset > beyond_offset

    def status(self) -> FollowerStatus:
        """Say how it stands now. Never raises: a crash is in `error`."""
        with self._moved:
            return replace(self._status, observed_at_ms=_wall_ms())

    def __enter__(self) -> Self:
        """Start."""
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        self.stop()

    def _raise_crash(self) -> None:
        if self._crash is not None:
            raise FollowerCrashed(f"the follower ended: {self._crash!r}") from self._crash

    # The thread

    def _run(self) -> None:
        try:
            self._adopt_spools_cluster()
            while not self._stopping.is_set():
                self._step()
        except BaseException as error:  # noqa: BLE001 told in the status and to the next caller
            _log.exception("the follower of %s ended", self._config.controllers)
            self._crash = error
            self._tell(error=c.Why("FollowerCrashed", repr(error)))
        finally:
            self._disconnect()
            with self._moved:
                self._moved.notify_all()

    def _adopt_spools_cluster(self) -> None:
        made_from = self._spool.cluster_id
        if self._cluster_id is None:
            self._cluster_id = made_from
        self._tell()

    def _step(self) -> None:
        action = self._cursor.next_action(time.monotonic())
        match action:
            case c.Connect():
                self._connect(action.endpoint)
            case c.Fetch():
                self._exchange(lambda connection: self._fetch(connection, action))
            case c.FetchSnapshot():
                self._exchange(lambda connection: self._fetch_snapshot(connection, action))
            case c.Wait():
                self._pause(action)
            case c.Refuse():
                self._disconnect()
                self._tell(error=c.Why(type(action.error).__name__, str(action.error)))
                self._sleep(action.until)
            case _:
                assert_never(action)

    def _pause(self, wait: c.Wait) -> None:
        if self._cursor.connected_to is None:
            self._disconnect()
        if wait.why is not None:
            self._tell(waiting=wait.why)
        self._sleep(wait.until)

    def _sleep(self, until: float | None) -> None:
        self._stopping.wait(None if until is None else max(0.0, until - time.monotonic()))

    def _connect(self, endpoint: Endpoint) -> None:
        self._disconnect()
        try:
            self._connection = ControllerConnection(
                endpoint,
                self._config.security,
                connect_timeout_ms=self._config.connect_timeout_ms,
            )
            self._cursor.connected(endpoint)
            self._identify(self._connection)
        except LiveError as error:
            self._disconnect()
            self._cursor.failed(error, endpoint, time.monotonic())

    def _identify(self, connection: ControllerConnection) -> None:
        """Find out the cluster id, if nobody told it: needs ALTER on CLUSTER, so it may fail."""
        if self._cluster_id is None:
            try:
                version = connection.version(messages.DESCRIBE_CLUSTER)
            except ConnectionFailed:
                return  # before 3.7 a controller does not answer it
            told = messages.read_cluster(connection.ask(messages.cluster_request(version)))
            self._cursor.learned(dict(told.endpoints))
            self._cluster_id = told.cluster_id
        if self._cluster_id is not None:
            # Bound before anything is spooled: FETCH then carries the id, and the leader checks.
            self._spool.bind(self._cluster_id)
            self._tell()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _exchange(self, talk: Callable[[ControllerConnection], c.Effect]) -> None:
        connection, endpoint = self._connection, self._cursor.connected_to
        if connection is None or endpoint is None:
            raise RuntimeError("asked to talk without a connection")
        try:
            effect = talk(connection)
            self._carry_out(effect)
        except LiveError as error:
            self._disconnect()
            if not self._stopping.is_set():
                self._cursor.resume(self._spool.position, time.monotonic())
                self._cursor.failed(error, endpoint, time.monotonic())
        except OSError as error:
            why = c.Why("spool_not_writable", f"{self._spool.directory}: {error}")
            self._cursor.resume(self._spool.position, time.monotonic(), why)

    def _fetch(self, connection: ControllerConnection, action: c.Fetch) -> c.Effect:
        asked = time.monotonic()
        request = messages.fetch_request(
            connection.version(messages.FETCH),
            cluster_id=self._cluster_id,
            leader_epoch=action.leader_epoch,
            offset=action.offset,
            last_fetched_epoch=action.last_fetched_epoch,
            max_wait_ms=self._config.max_wait_ms,
            max_bytes=self._config.max_bytes,
        )
        reply = messages.read_fetch(connection.ask(request, wait_ms=self._config.max_wait_ms))
        now = time.monotonic()
        effect = self._cursor.fetched(reply, now, now - asked)
        if not reply.error:
            self._tell(answered=True)
        return effect

    def _fetch_snapshot(
        self, connection: ControllerConnection, action: c.FetchSnapshot
    ) -> c.Effect:
        request = messages.snapshot_request(
            connection.version(messages.FETCH_SNAPSHOT),
            cluster_id=self._cluster_id,
            leader_epoch=action.leader_epoch,
            snapshot=action.snapshot,
            position=action.position,
            max_bytes=self._config.max_bytes,
        )
        reply = messages.read_snapshot(connection.ask(request))
        return self._cursor.snapshot_fetched(reply, time.monotonic())

    def _carry_out(self, effect: c.Effect) -> None:
        match effect:
            case None:
                return
            case c.Append():
                self._spool.append(effect.records, effect.position)
            case c.BeginSnapshot():
                self._spool.begin_snapshot(effect.snapshot)
                return
            case c.SnapshotPart():
                self._spool.append_snapshot(effect.content)
                if not effect.complete:
                    return
                self._spool.complete_snapshot()
            case _:
                assert_never(effect)
        self._progressed()

    def _progressed(self) -> None:
        position = self._spool.position
        with self._moved:
            self._status = replace(self._status, next_offset=position.next_offset)
            self._moved.notify_all()
        self._on_progress(position)

    def _tell(
        self,
        *,
        answered: bool = False,
        waiting: c.Why | None = None,
        error: c.Why | None = None,
    ) -> None:
        """Put the status together anew. A good answer clears waits and errors; else they stay."""
        now = _wall_ms()
        with self._moved:
            was = self._status
            keep_waiting = None if answered or error else was.waiting
            keep_error = None if answered else was.error
            self._status = FollowerStatus(
                observed_at_ms=now,
                last_reply_ms=now if answered else was.last_reply_ms,
                next_offset=self._spool.position.next_offset,
                high_watermark=self._cursor.high_watermark,
                leader_id=self._cursor.leader,
                leader_epoch=self._cursor.epoch,
                leader_endpoint=self._cursor.connected_to if answered else None,
                cluster_id=self._cluster_id,
                waiting=_reason(waiting, was.waiting, now) if waiting else keep_waiting,
                error=_reason(error, was.error, now) if error else keep_error,
            )


def _reason(why: c.Why, before: Reason | None, now_ms: int) -> Reason:
    since = before.since_ms if before is not None and before.name == why.name else now_ms
    return Reason(why.name, why.detail, since)


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000

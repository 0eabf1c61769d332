"""The follower: a thread that sends the cursor's requests to the quorum and spools the replies.

In: a configuration and an open spool. Out: a growing spool, `position` (what Spark may read), and
`status` (for gates and screens). No behaviour of the quorum ends the thread: the status then has
the reason of a wait, or an error. Only an unexpected error ends the thread; the next call of the
owner raises it.
"""

import logging
import math
import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, TypeVar, assert_never

from migration.observed.source_status import STALE_AFTER_MS, SourceStatus
from migration.values.timestamps import is_unbroken
from streams.kafka import messages
from streams.kafka.connection import Connection
from streams.kafka.error_codes import ErrorCode, name
from streams.kafka.errors import ReplyDamaged, RequestRefused, WrongCluster
from streams.kafka.messages import ClusterReply
from streams.metadata import actions as do
from streams.metadata.batches import Mark
from streams.metadata.cursor import Cursor
from streams.metadata.errors import FollowerCrashed
from streams.metadata.spool import Position, Spool
from streams.net.endpoint import Endpoint
from streams.net.errors import LiveError
from streams.net.listener import Listener
from streams.process.background import BackgroundThread
from streams.process.clocks import wall_clock_ms

_log = logging.getLogger(__name__)
_STOP_S: Final = 10.0
_PROMPT_MS: Final = 5_000
"""A record that was not there in the previous reply, this long before, has just been written."""
_IDENTIFY_S: Final = 1.0
_IDENTIFY_S_MAX: Final = 600.0
"""Between two requests for the cluster id; each refused one is an error in the controller's log."""
_MAX_WAIT_MS: Final = 500
"""How long the leader may hold a FETCH without new records."""
_MAX_BYTES: Final = 8 * 1024 * 1024
"""The requested size of one reply."""
_BATCH_BYTES_MAX: Final = 16 * 1024 * 1024
"""Twice the largest batch that a controller writes (KafkaRaftClient.MAX_BATCH_SIZE_BYTES)."""

T = TypeVar("T")


class Follower(BackgroundThread):
    """Follows one quorum into one spool, in a thread of its own."""

    def __init__(
        self,
        listener: Listener,
        spool: Spool,
        on_progress: Callable[[Position], None] = lambda _: None,
    ) -> None:
        """Prepare the follower; it opens and sends nothing before `start`.

        Args:
            listener: The controllers to contact first; any controller of the quorum leads to the
                leader. Without a cluster id, the spool's is accepted, or else the quorum's.
            spool: An open spool; the caller closes it, after `stop`.
            on_progress: The thread calls it after each change of `position`; it must not block.

        Raises:
            WrongCluster: the spool was made from another cluster than the configured one.
        """
        super().__init__("kraft-follower", _STOP_S)
        self._listener = listener
        self._spool = spool
        self._on_progress = on_progress
        self._reporting = threading.Lock()
        self._connection: Connection | None = None
        self._crash: BaseException | None = None
        self._cluster_id = _agreed(listener.cluster_id, spool)
        self._foreign_id: str | None = None
        self._identify_s = _IDENTIFY_S
        self._identify_at_s = math.inf
        self._cursor = Cursor(
            listener.endpoints,
            spool.position,
            max_wait_s=_MAX_WAIT_MS / 1000,
            jitter=random.Random().random,  # noqa: S311 no secret; no shared state either
        )
        self._is_prompt = False
        self._status = SourceStatus(
            observed_ms=wall_clock_ms(),
            log=spool.position.log,
            next_offset=spool.position.next_offset,
        )

    # The interface for the owner

    def _wake(self) -> None:
        connection = self._connection
        if connection is not None:  # it may be in a long poll
            connection.interrupt()

    @property
    def position(self) -> Position:
        """The end of the spool, up to which Spark may read.

        Raises:
            FollowerCrashed: the thread ended with an unexpected error.
        """
        if self._crash is not None:
            raise FollowerCrashed(f"the follower ended: {self._crash!r}") from self._crash
        return self._spool.position

    def status(self) -> SourceStatus:
        """Return the current status. Never raises: `error` has a crash.

        While `last_reply_ms` is recent and `next_offset` equals `high_watermark`, the spool is
        current.
        """
        with self._reporting:
            return replace(self._status, observed_ms=wall_clock_ms())

    # The thread

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._step()
        except BaseException as error:  # noqa: BLE001 reported in the status and to the next caller
            _log.exception("the follower of %s ended", self._listener.endpoints)
            self._crash = error
            self._report(error=f"the follower ended: {error!r}")
        finally:
            self._disconnect()

    def _step(self) -> None:
        action = self._cursor.next_action(time.monotonic())
        match action:
            case do.Connect():
                self._connect(action.endpoint)
            case do.Fetch():
                self._exchange(lambda connection: self._fetch(connection, action))
            case do.FetchSnapshot():
                self._exchange(lambda connection: self._fetch_snapshot(connection, action))
            case do.Pause():
                self._pause(action)
            case do.Refuse():
                self._disconnect()
                self._report(error=str(action.error))
                self._sleep(action.until)
            case _:
                assert_never(action)

    def _pause(self, pause: do.Pause) -> None:
        if self._cursor.connected_to is None:
            self._disconnect()
        if pause.reason is not None:
            self._report(waiting=pause.reason)
        self._sleep(pause.until)

    def _sleep(self, until: float | None) -> None:
        self._stopping.wait(None if until is None else max(0.0, until - time.monotonic()))

    def _connect(self, endpoint: Endpoint) -> None:
        self._disconnect()
        try:
            self._connection = Connection(endpoint, self._listener.security)
            self._cursor.connected(endpoint)
            self._identify(self._connection)
        except LiveError as error:
            self._disconnect()
            self._cursor.failed(error, endpoint, time.monotonic())

    def _identify(self, connection: Connection) -> None:
        """Request the cluster id if it is unknown; this needs ALTER on CLUSTER, so it may fail.

        A controller refuses the request below metadata.version 3.7-IV0, or if it has just started
        and has not read the version yet (ControllerRegistrationsPublisher): the id is requested
        again.
        """
        if self._cluster_id is not None:
            return  # every FETCH contains it, and the controller compares it with its own
        described = _described(connection)
        self._cursor.learned(described.endpoints)
        self._cluster_id = described.cluster_id
        self._identify_at_s = math.inf
        if described.error == ErrorCode.unsupported_version:
            self._identify_at_s = time.monotonic() + self._identify_s
            self._identify_s = min(2 * self._identify_s, _IDENTIFY_S_MAX)

    def _wrong_cluster(self, connection: Connection) -> WrongCluster:
        """Return the error with both ids, as far as the controller reports its own."""
        described = _described(connection)
        theirs = described.cluster_id or _why_unknown(described.error)
        if self._status.last_reply_ms is None:
            self._foreign_id = theirs
        return WrongCluster(
            f"{connection.endpoint} belongs to cluster {theirs}, not to {self._cluster_id}, which"
            " is configured or was followed before"
        )

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _exchange(self, exchange: Callable[[Connection], do.Effect]) -> None:
        connection, endpoint = self._connection, self._cursor.connected_to
        if connection is None or endpoint is None:
            raise RuntimeError("a request without a connection")
        try:
            moved = self._apply(exchange(connection))
        except LiveError as error:
            self._disconnect()
            if not self._stopping.is_set():
                self._cursor.resume(self._spool.position, time.monotonic())
                self._cursor.failed(error, endpoint, time.monotonic())
        except OSError as error:
            # Network errors have become ConnectionFailed, so this is an error of the disk.
            reason = f"the spool {self._spool.directory} cannot be written: {error}"
            self._cursor.resume(self._spool.position, time.monotonic(), reason)
        else:
            if moved:
                self._cursor.progressed()
                self._progressed()

    def _fetch(self, connection: Connection, action: do.Fetch) -> do.Effect:
        if time.monotonic() >= self._identify_at_s:
            self._identify(connection)
        sent = time.monotonic()
        was_at_end = self._cursor.position.next_offset == self._cursor.high_watermark
        before_ms = self._status.last_reply_ms
        request = messages.fetch_request(
            connection.version(messages.FETCH),
            cluster_id=self._cluster_id,
            leader_epoch=action.leader_epoch,
            offset=action.offset,
            last_fetched_epoch=action.last_fetched_epoch,
            max_wait_ms=_MAX_WAIT_MS,
            max_bytes=_MAX_BYTES,
        )
        reply = self._ask(connection, request, messages.read_fetch, _MAX_WAIT_MS)
        if reply.error == ErrorCode.inconsistent_cluster_id:
            raise self._wrong_cluster(connection)
        now = time.monotonic()
        effect = self._cursor.fetched(reply, now, now - sent)
        if not reply.error:
            if self._cluster_id is not None:
                # Before the first append, but after a controller accepted the id.
                self._spool.bind(self._cluster_id)
            self._report(answered=True)
            self._is_prompt = was_at_end and is_unbroken(
                before_ms or 0, self._status.last_reply_ms or 0, _PROMPT_MS
            )
        return effect

    def _fetch_snapshot(self, connection: Connection, action: do.FetchSnapshot) -> do.Effect:
        request = messages.snapshot_request(
            connection.version(messages.FETCH_SNAPSHOT),
            cluster_id=self._cluster_id,
            leader_epoch=action.leader_epoch,
            snapshot=action.snapshot,
            position=action.position,
            max_bytes=_MAX_BYTES,
        )
        reply = self._ask(connection, request, messages.read_snapshot)
        return self._cursor.snapshot_fetched(reply, time.monotonic())

    def _ask(
        self,
        connection: Connection,
        request: Any,  # noqa: ANN401 kio entities
        read: Callable[[Any], T],
        wait_ms: int = 0,
    ) -> T:
        """Send a request for at most `max_bytes`; a controller may exceed it by one batch."""
        bytes_max = _MAX_BYTES + _BATCH_BYTES_MAX
        reply = connection.ask(request, wait_ms=wait_ms, bytes_max=bytes_max)
        try:
            return read(reply)
        except ReplyDamaged as error:
            raise ReplyDamaged(f"{connection.endpoint} sent {error}") from error

    def _apply(self, effect: do.Effect) -> bool:
        """Apply the effect of a reply to the spool; return whether the end of the spool moved."""
        match effect:
            case None:
                return False
            case do.Append():
                self._keep_head(effect.position.head)
                self._spool.append(effect.records, effect.position)
                return True
            case do.KeepHead():
                self._keep_head(effect.head)
                return False
            case do.Restart():
                position = self._spool.restart(effect.head)
                _log.warning("another metadata log begins: number %d", position.log)
                return True
            case do.BeginSnapshot():
                self._spool.begin_snapshot(effect.snapshot)
                name = f"{effect.snapshot.end_offset}-{effect.snapshot.epoch}"
                self._report(waiting=f"fetching the snapshot {name}")
                return False
            case do.SnapshotPart():
                self._spool.append_snapshot(effect.content)
                if effect.complete:
                    self._spool.complete_snapshot()
                return effect.complete
            case _:
                assert_never(effect)

    def _keep_head(self, head: Mark | None) -> None:
        if head is not None and self._spool.position.head is None:
            self._spool.keep_head(head)

    def _progressed(self) -> None:
        position = self._spool.position
        with self._reporting:
            self._status = replace(
                self._status,
                log=position.log,
                next_offset=position.next_offset,
                busy_until=position.busy_until,
                record_ms=position.record_ms,
                record_seen_ms=self._status.last_reply_ms if self._is_prompt else None,
            )
        self._on_progress(position)

    def _report(
        self, *, answered: bool = False, waiting: str | None = None, error: str | None = None
    ) -> None:
        """Rebuild the status. A good reply clears `waiting` and `error`; otherwise they stay."""
        now, position, cursor = wall_clock_ms(), self._spool.position, self._cursor
        with self._reporting:
            was = self._status
            epoch, led_since_ms = cursor.epoch or None, was.led_since_ms
            if (cursor.leader, epoch) != (was.active_controller, was.leader_epoch) or (
                not is_unbroken(was.last_reply_ms or 0, now, STALE_AFTER_MS)
            ):
                led_since_ms = None
            self._status = SourceStatus(
                observed_ms=now,
                last_reply_ms=now if answered else was.last_reply_ms,
                log=position.log,
                next_offset=position.next_offset,
                busy_until=position.busy_until,
                record_ms=position.record_ms,
                record_seen_ms=was.record_seen_ms,
                high_watermark=cursor.high_watermark,
                active_controller=cursor.leader,
                leader_epoch=epoch,
                led_since_ms=now if answered and led_since_ms is None else led_since_ms,
                endpoint=str(cursor.leader_endpoint) if cursor.leader_endpoint else None,
                cluster_id=self._foreign_id or self._spool.cluster_id,
                waiting=waiting or (None if answered or error else was.waiting),
                error=error or (None if answered else was.error),
            )


def _described(connection: Connection) -> ClusterReply:
    """Request the cluster id and the controllers; empty: the controller does not report them."""
    try:
        version = connection.version(messages.DESCRIBE_CLUSTER)
    except RequestRefused:
        return ClusterReply()  # before 3.7 a controller does not support the request
    return messages.read_cluster(connection.ask(messages.cluster_request(version)))


def _why_unknown(error: int) -> str:
    """Return the text that replaces a cluster id that was not reported, with the reason."""
    match error:
        case ErrorCode.unsupported_version:
            why = "the controller has just started, or its metadata.version is below 3.7-IV0"
        case ErrorCode.cluster_authorization_failed:
            why = "that needs ALTER on CLUSTER"
        case 0:
            why = "a controller before Kafka 3.7 cannot"
        case _:
            why = name(error)
    return f"(not reported: {why})"


def _agreed(configured: str | None, spool: Spool) -> str | None:
    """Return the cluster id that the configuration or the spool requires; None: any is accepted.

    Raises:
        WrongCluster: the two differ.
    """
    made_from = spool.cluster_id
    if made_from is not None and configured not in {None, made_from}:
        raise WrongCluster(
            f"the spool {spool.directory} was made from cluster {made_from}, not from"
            f" {configured}: give each cluster a spool directory of its own"
        )
    return configured or made_from

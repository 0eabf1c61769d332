"""The state machine of the follower: the next request and its receiver, without I/O or a clock.

In: replies and failures, and "now" (monotonic seconds). Out: the next `Action`, and the `Effect` of
a reply on the spool. The rules are those of a Raft follower (KafkaRaftClient.handleFetchResponse,
handleFetchSnapshotResponse), with one difference: all records in the spool were committed, so the
spool is never truncated. A leader that lacks these records either lost them, which is an error, or
has another log because the controllers were provisioned again; the cursor then follows that log
from its beginning. The first FETCH on each connection requests the last batch of the spool, because
offsets and epochs alone may also match another log (`batches.Mark`).

The cursor cannot spin: a bad reply counts towards the end of a round (`rounds.py`), and a good
reply without new data, earlier than the end of a long poll, causes a pause that grows. The backoff
after a failed write to the spool ends only once data is stored.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from streams.kafka.error_codes import ELSEWHERE, NOT_A_CONTROLLER, SNAPSHOT_GONE, ErrorCode, name
from streams.kafka.errors import GRANT_FETCH, NotAuthorized, ReplyDamaged, WrongCluster
from streams.kafka.messages import FetchReply, Leader, OffsetAndEpoch, SnapshotReply
from streams.metadata.actions import (
    Action,
    Append,
    BeginSnapshot,
    Connect,
    Effect,
    Fetch,
    FetchSnapshot,
    KeepHead,
    Pause,
    Refuse,
    Restart,
    SnapshotPart,
)
from streams.metadata.batches import committed
from streams.metadata.continuity import Continuity, Doubt, FetchPurpose, LogIdentity
from streams.metadata.errors import CommittedLogDiverged, SpoolDamaged
from streams.metadata.rounds import Refusal, RoundOver, Rounds
from streams.metadata.spool import Position
from streams.net.endpoint import Endpoint
from streams.net.errors import AuthenticationFailed, LiveError
from streams.wire.errors import DamagedBatch

REFUSED_RETRY_S: Final = 10.0
COMMIT_POLL_S: Final = 0.003
"""The pause before a retry for records that are appended but not yet committed."""
COMMIT_POLL_MAX_S: Final = 0.25
_QUICK_POLLS: Final = 10
_DOUBLINGS_MAX: Final = 16


class Cursor:
    """The state of the follower of one quorum.

    Attributes:
        position: The end of the spool after all effects that were returned so far.
        epoch: The highest leader epoch received.
        leader: The leader's node id; None while unknown.
        connected_to: The connected controller; None while there is none.
        leader_endpoint: The connected controller once it has answered as the leader; else None.
        high_watermark: The last one received; None while the leader knows none.
    """

    def __init__(
        self,
        bootstrap: Sequence[Endpoint],
        position: Position,
        *,
        max_wait_s: float,
        jitter: Callable[[], float],
    ) -> None:
        """Start without a connection.

        Args:
            bootstrap: The controllers to contact first; at least one.
            position: The end of the spool.
            max_wait_s: How long the leader holds a FETCH without new records.
            jitter: Returns numbers from 0 to 1, which spread the retries of many followers.
        """
        self.position = position
        self.epoch = position.epoch or 0
        self.leader: int | None = None
        self.connected_to: Endpoint | None = None
        self.leader_endpoint: Endpoint | None = None
        self.high_watermark: int | None = None
        self._rounds = Rounds(bootstrap, jitter)
        self._max_wait_s = max_wait_s
        self._nothing_new = 0
        self._snapshot: tuple[OffsetAndEpoch, int] | None = None
        self._waiting: Pause | Refuse | None = None
        self._continuity = Continuity()

    # The next action

    def next_action(self, now: float) -> Action:
        """Return the next action; repeated calls without a report return the same action."""
        if self._waiting is not None:
            if self._waiting.until is None or now < self._waiting.until:
                return self._waiting
            self._waiting = None
        if self.connected_to is None:
            return Connect(self._rounds.candidate(now))
        here = self.position
        if self._continuity.doubt is None:
            # A leader rejects a last fetched epoch above its own (INVALID_REQUEST), so `self.epoch`
            # is never below it.
            self.epoch = max(self.epoch, here.epoch or 0)
        if self._snapshot is not None:
            snapshot, position = self._snapshot
            return FetchSnapshot(self.epoch, snapshot, position)
        question = self._continuity.question(here, self.epoch)
        if question is not None:
            return Fetch(self.epoch, *question)
        if here.epoch is not None:
            return Fetch(self.epoch, here.next_offset, here.epoch)
        # At offset 0, epoch 0 is valid (ReplicatedLog.validateOffsetAndEpoch). At other offsets an
        # unknown epoch is replaced by the leader's own, which covers its whole log.
        return Fetch(self.epoch, here.next_offset, 0 if here.next_offset == 0 else self.epoch)

    # Reports of results

    def connected(self, endpoint: Endpoint) -> None:
        self.connected_to = endpoint
        self._continuity.connected()

    def learned(self, nodes: Mapping[int, Endpoint]) -> None:
        self._rounds.learn(nodes)

    def failed(self, error: LiveError, endpoint: Endpoint, now: float) -> None:
        """Record that a connection or an exchange failed; the connection is closed."""
        self._leave()
        retry_at = now + REFUSED_RETRY_S
        if isinstance(error, CommittedLogDiverged | SpoolDamaged | WrongCluster):
            self._refuse(error, retry_at)
            return
        # One controller may lack the user, or the right (`super.users`), while they are changed.
        until = retry_at if isinstance(error, AuthenticationFailed | NotAuthorized) else None
        over = self._rounds.failed(endpoint, Refusal(str(error), until=until), now)
        if over is not None and over.rejected:
            self._refuse(error, retry_at)
        else:
            self._end_round(over)

    def progressed(self) -> None:
        """Reset the backoff: the end of the spool moved, or a long poll was held."""
        self._nothing_new = 0
        self._rounds.succeeded(self.connected_to)

    def resume(self, position: Position, now: float, reason: str | None = None) -> None:
        """Reset to the actual end of the spool after an effect failed."""
        self.position = position
        self._snapshot = None
        self._continuity.connected()
        if reason is not None:
            self._waiting = self._rounds.pause(reason, now)

    def fetched(self, reply: FetchReply, now: float, took_s: float) -> Effect:
        """Process a FETCH reply, which arrived `took_s` seconds after its request.

        Raises:
            ReplyDamaged: the records of the reply are damaged; pass the error to `failed`.
        """
        self._rounds.learn(reply.endpoints)
        if reply.error:
            self._complain(reply.error, reply.leader, now)
            return None
        self._answered(reply.leader)
        self.high_watermark = reply.high_watermark
        try:
            if self._continuity.purpose is FetchPurpose.HEAD:
                return self._check_head(reply, now)
            if reply.diverging is not None:
                return self._diverged(reply.diverging, now)
            if reply.snapshot is not None:
                return self._sent_to_snapshot(reply.snapshot, now)
            if self._continuity.purpose is FetchPurpose.TAIL:
                found = self._continuity.check_tail(reply, self.position)
                if found is LogIdentity.NOTHING_YET:
                    self._pause(now, "the last batch of the spool is not in the reply")
                if found is not LogIdentity.SAME:
                    return None
            return self._take_records(reply, now, took_s)
        except DamagedBatch as error:
            raise ReplyDamaged(f"{self.connected_to} sent damaged records: {error}") from error

    def _take_records(self, reply: FetchReply, now: float, took_s: float) -> Effect:
        here = self.position
        cut = committed(reply.records, here.next_offset, reply.high_watermark or 0)
        if cut.records:
            head = here.head or cut.head
            busy = cut.busy_until or here.busy_until or here.next_offset
            self.position = Position(cut.next_offset, cut.epoch, here.log, head, cut.tail, busy)
            self._continuity.confirm()
            return Append(cut.records, self.position)
        if self._continuity.purpose is FetchPurpose.TAIL:
            return None  # the log has the last batch of the spool, and no further records yet
        if reply.records or took_s < self._max_wait_s / 2:
            self._pause(now, f"offset {here.next_offset} is not committed yet")
        else:
            self.progressed()
        return None

    def snapshot_fetched(self, reply: SnapshotReply, now: float) -> Effect:
        self._rounds.learn(reply.endpoints)
        if reply.error in SNAPSHOT_GONE:
            self._snapshot = None
            what = f"{self.connected_to} answers {name(reply.error)}: starting over"
            self._waiting = self._rounds.pause(what, now)
            return None
        if reply.error:
            self._complain(reply.error, reply.leader, now)
            return None
        if self._snapshot is None:
            return None
        snapshot, position = self._snapshot
        if reply.position != position or not reply.content:
            self._reject(now, f"sent no bytes at {position} of {reply.size} of a snapshot")
            return None
        self._answered(reply.leader)
        position += len(reply.content)
        if position < reply.size:
            self._snapshot = (snapshot, position)
            return SnapshotPart(reply.content, complete=False)
        self._snapshot = None
        here = self.position
        self.position = Position(snapshot.end_offset, snapshot.epoch, here.log, here.head)
        return SnapshotPart(reply.content, complete=True)

    # Good replies

    def _answered(self, leader: Leader | None) -> None:
        if leader is not None and leader.epoch >= self.epoch:
            self.epoch, self.leader = leader.epoch, leader.node
        self.leader_endpoint = self.connected_to
        self._rounds.prefer(self.connected_to)

    def _pause(self, now: float, detail: str) -> None:
        """Wait for a commit: a few quick polls, then polls at growing intervals."""
        self._nothing_new += 1
        doublings = min(max(0, self._nothing_new - _QUICK_POLLS), _DOUBLINGS_MAX)
        delay = min(COMMIT_POLL_S * 2**doublings, COMMIT_POLL_MAX_S)
        stuck = delay >= COMMIT_POLL_MAX_S
        self._waiting = Pause(now + delay, f"{self.connected_to}: {detail}" if stuck else None)

    # Another log?

    def _diverged(self, diverging: OffsetAndEpoch, now: float) -> Effect:
        """Evaluate a DivergingEpoch: recoverable only while the spool's last epoch is unknown."""
        here = self.position
        if here.epoch is not None or diverging.end_offset < here.next_offset:
            self._doubts(f"its epoch {diverging.epoch} ends at offset {diverging.end_offset}")
        else:
            self._adopt(diverging.epoch, now)
        return None

    def _sent_to_snapshot(self, snapshot: OffsetAndEpoch, now: float) -> Effect:
        """Evaluate a SnapshotId: it must lead forward, never back."""
        here = self.position
        if snapshot.end_offset > here.next_offset:
            if self._continuity.wants_head(here):
                return None
            self._snapshot = (snapshot, 0)
            return BeginSnapshot(snapshot)
        if self._continuity.purpose is FetchPurpose.TAIL:
            # The leader's log begins after that batch, perhaps exactly at the end of the spool.
            self._continuity.confirm()
        elif here.epoch is None and snapshot.end_offset == here.next_offset:
            self._adopt(snapshot.epoch, now)
        else:
            self._doubts(f"it offers the snapshot {snapshot.end_offset}-{snapshot.epoch} instead")
        return None

    def _adopt(self, epoch: int, now: float) -> None:
        self.position = replace(self.position, epoch=epoch)
        self._pause(now, f"trying epoch {epoch} for offset {self.position.next_offset}")

    def _doubts(self, why: str, below_epoch: int | None = None) -> None:
        """Check next whether this log has the same beginning as the spool's."""
        self._continuity.doubt = Doubt(why, below_epoch)
        self._snapshot = None

    def _check_head(self, reply: FetchReply, now: float) -> Effect:
        """Store the mark of the log's beginning, or follow the log from there if it is another."""
        doubt = self._continuity.doubt
        found, head = self._continuity.check_head(reply, self.position)
        if found is LogIdentity.NOTHING_YET:
            self._pause(now, "the beginning of the log is not committed yet")
        elif found is LogIdentity.LOST:
            self._lost("" if doubt is None else doubt.why)
        elif head is not None:
            if found is LogIdentity.ANOTHER:
                self.position = Position(0, None, self.position.log + 1, head)
                return Restart(head)
            self.position = replace(self.position, head=head)
            return KeepHead(head)
        return None

    def _lost(self, what: str) -> None:
        here = self.position
        error = CommittedLogDiverged(
            f"the spool holds committed records up to offset {here.next_offset}, epoch"
            f" {here.epoch}, which {self.connected_to or 'the quorum'} does not have: {what}."
            " The quorum lost committed metadata, or cannot be distinguished from one that did:"
            " keep the spool as evidence and start with an empty directory"
        )
        self._refuse(error, None)

    # Bad replies

    def _complain(self, code: int, leader: Leader | None, now: float) -> None:
        where = self.connected_to
        if code == ErrorCode.cluster_authorization_failed and where is not None:
            self.failed(NotAuthorized(f"{where} refuses: {GRANT_FETCH}"), where, now)
        elif code == ErrorCode.inconsistent_cluster_id:
            error = f"{where} belongs to another cluster than the one configured or spooled"
            self._refuse(WrongCluster(error), now + REFUSED_RETRY_S)
        elif code in ELSEWHERE and leader is not None:
            self._follow_leader(code, leader, now)
        elif code in NOT_A_CONTROLLER:
            self._reject(now, "is a broker's listener, not a controller's")
        else:
            self._reject(now, f"answers {name(code)}")

    def _follow_leader(self, code: int, leader: Leader, now: float) -> None:
        """Follow the CurrentLeader of an error reply if its epoch is not stale."""
        if leader.epoch < self.epoch:
            text = (
                f"answers {name(code)} at epoch {leader.epoch}, although {self.epoch} was received"
            )
            self._reject(now, text, leader.epoch)
            return
        is_newer = leader.epoch > self.epoch
        self._snapshot = None
        self.epoch, self.leader = leader.epoch, leader.node
        self._continuity.leads_in(leader.epoch)
        leads = self._rounds.endpoint_of(leader.node)
        self._rounds.prefer(leads)
        if (
            is_newer
            and code == ErrorCode.fenced_leader_epoch
            and leads in {None, self.connected_to}
        ):
            # Perhaps only the follower's epoch was stale: retry with the same controller.
            self._end_round(self._rounds.spend(now))
            return
        knows = "knows no leader" if leader.node is None else f"says that {leader.node} leads"
        # Without the epoch, which each election changes: the same reason is reported once.
        self._reject(now, f"{knows} ({name(code)})", leader.epoch)

    def _reject(self, now: float, text: str, epoch: int | None = None) -> None:
        endpoint = self.connected_to
        self._leave()
        if endpoint is not None:
            refusal = Refusal(f"{endpoint} {text}", epoch)
            self._end_round(self._rounds.failed(endpoint, refusal, now))

    def _end_round(self, over: RoundOver | None) -> None:
        if over is None:
            return
        self._waiting = over.pause
        if over.epoch is None or over.epoch >= self.epoch:
            return
        # Every controller reported a lower epoch than the cursor's: that epoch was never one of
        # this quorum, unless the spool has committed records of it.
        if self.position.epoch is not None and over.epoch < self.position.epoch:
            why = f"every controller is at an earlier epoch ({over.pause.reason})"
            self._doubts(why, below_epoch=self.position.epoch)
        self.epoch = over.epoch

    def _refuse(self, error: LiveError, until: float | None) -> None:
        self._leave()
        self._rounds.forget()
        self._waiting = Refuse(error, until)

    def _leave(self) -> None:
        self.connected_to = self.leader_endpoint = self._snapshot = None

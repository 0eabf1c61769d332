"""Who is asked next, and what: the follower's state machine, without I/O and without a clock.

In: replies and failures, and "now" (monotonic seconds). Out: the next `Action`, and for a reply
the `Effect` it has on the spool. The rules are those of a Raft follower towards its leader
(KafkaRaftClient.handleFetchResponse, handleFetchSnapshotResponse), with one difference: all that
was spooled was committed, so nothing is ever truncated. A leader that lacks it either lost it,
which is refused, or has another log altogether, which is followed from its beginning: the
controllers were provisioned anew. Each connection is asked first for the batch that the spool ends
with, for offsets and epochs alone may fit another log, too (`log_marks.py`).

Why it cannot spin: a bad reply counts towards the end of a round (`rounds.py`), and a good reply
that brings nothing new, sooner than a long poll would, ends in a pause that grows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from streams.kafka.error_codes import ELSEWHERE, NOT_A_CONTROLLER, SNAPSHOT_GONE, Code, name
from streams.kafka.errors import NotAuthorized, ReplyDamaged, WrongCluster
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
    Refuse,
    Restart,
    SnapshotPart,
    Wait,
    Why,
)
from streams.metadata.batches import committed
from streams.metadata.continuity import Asking, Continuity, Found
from streams.metadata.errors import CommittedLogDiverged, SpoolDamaged
from streams.metadata.rounds import Refusal, RoundOver, Rounds
from streams.metadata.spool import Position
from streams.net.endpoint import Endpoint
from streams.net.errors import AuthenticationFailed, LiveError
from streams.wire.errors import DamagedBatch

REFUSED_RETRY_S: Final = 10.0
COMMIT_POLL_S: Final = 0.003
"""Pause before asking again for records that are appended but not yet committed."""
COMMIT_POLL_MAX_S: Final = 0.25
_QUICK_POLLS: Final = 10
_DOUBLINGS_MAX: Final = 16


class Cursor:
    """The state of following one quorum.

    Attributes:
        position: Where the spool ends once the effects told so far are carried out.
        epoch: Highest leader epoch heard of.
        leader: The leader's node id, if known.
        connected_to: The controller that is connected, None while there is none.
        leader_endpoint: The same, once it has answered as the leader.
        high_watermark: The last one told.
    """

    def __init__(
        self,
        bootstrap: Sequence[Endpoint],
        position: Position,
        *,
        max_wait_s: float,
        jitter: Callable[[], float],
    ) -> None:
        """Start unconnected.

        Args:
            bootstrap: Controllers to ask; at least one.
            position: Where the spool ends.
            max_wait_s: How long the leader holds a FETCH that finds nothing.
            jitter: Gives numbers from 0 to 1; spreads the retries of many followers.
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
        self._waiting: Wait | Refuse | None = None
        self._continuity = Continuity()

    # What to do

    def next_action(self, now: float) -> Action:
        """Return what to do now; asked twice without news, it says the same."""
        if self._waiting is not None:
            if self._waiting.until is None or now < self._waiting.until:
                return self._waiting
            self._waiting = None
        if self.connected_to is None:
            return Connect(self._rounds.candidate())
        here = self.position
        if self._continuity.doubt is None:
            # A leader refuses a last epoch above its own (INVALID_REQUEST), so ours is never below.
            self.epoch = max(self.epoch, here.epoch or 0)
        if self._snapshot is not None:
            snapshot, position = self._snapshot
            return FetchSnapshot(self.epoch, snapshot, position)
        question = self._continuity.question(here, self.epoch)
        if question is not None:
            return Fetch(self.epoch, *question)
        if here.epoch is not None:
            return Fetch(self.epoch, here.next_offset, here.epoch)
        # At 0, epoch 0 is right (ReplicatedLog.validateOffsetAndEpoch); elsewhere an unknown
        # epoch goes unchecked by claiming the leader's own, which covers its whole log.
        return Fetch(self.epoch, here.next_offset, 0 if here.next_offset == 0 else self.epoch)

    # What happened

    def connected(self, endpoint: Endpoint) -> None:
        """Take note that the connection asked for stands."""
        self.connected_to = endpoint
        self._continuity.connected()

    def learned(self, nodes: Mapping[int, Endpoint]) -> None:
        """Take note of where controllers listen."""
        self._rounds.learn(nodes)

    def failed(self, error: LiveError, endpoint: Endpoint, now: float) -> None:
        """Take note that a connection or an exchange failed; the connection is closed."""
        self._leave()
        if isinstance(
            error, AuthenticationFailed | CommittedLogDiverged | SpoolDamaged | WrongCluster
        ):
            self._refuse(error, now + REFUSED_RETRY_S)
        else:
            self._end_round(self._rounds.turn_away(endpoint, Refusal(str(error)), now))

    def resume(self, position: Position, now: float, why: Why | None = None) -> None:
        """Go back to where the spool really ends, after an effect could not be carried out."""
        self.position = position
        self._snapshot = None
        self._continuity.connected()
        if why is not None:
            self._waiting = self._rounds.wait(why, now)

    def fetched(self, reply: FetchReply, now: float, took_s: float) -> Effect:
        """Take note of a FETCH reply, `took_s` after it was asked for.

        Raises:
            ReplyDamaged: its records are not sound; call `failed` with it.
        """
        self._rounds.learn(reply.endpoints)
        if reply.error:
            self._complain(reply.error, reply.leader, now)
            return None
        self._welcome(reply.leader)
        self.high_watermark = reply.high_watermark
        try:
            if self._continuity.asking is Asking.HEAD:
                return self._head_told(reply, now)
            if reply.diverging is not None:
                return self._diverged(reply.diverging, now)
            if reply.snapshot is not None:
                return self._sent_to_snapshot(reply.snapshot, now)
            if self._continuity.asking is Asking.TAIL:
                found = self._continuity.tail_told(reply, self.position)
                if found is Found.NOTHING_YET:
                    self._pause(now, "what the spool ends with is not told")
                if found is not Found.SAME:
                    return None
            return self._records_told(reply, now, took_s)
        except DamagedBatch as error:
            raise ReplyDamaged(f"{self.connected_to} sent damaged records: {error}") from error

    def _records_told(self, reply: FetchReply, now: float, took_s: float) -> Effect:
        here = self.position
        cut = committed(reply.records, here.next_offset, reply.high_watermark or 0)
        if cut.records:
            self._went_well()
            head = here.head or cut.head
            busy = cut.busy_until or here.busy_until or here.next_offset
            self.position = Position(cut.next_offset, cut.epoch, here.log, head, cut.tail, busy)
            self._continuity.confirm()
            return Append(cut.records, self.position)
        if self._continuity.asking is Asking.TAIL:
            return None  # it has what the spool ends with, and nothing more yet
        if reply.records or took_s < self._max_wait_s / 2:
            self._pause(now, f"offset {here.next_offset} is not committed yet")
        else:
            self._went_well()
        return None

    def snapshot_fetched(self, reply: SnapshotReply, now: float) -> Effect:
        """Take note of a FETCH_SNAPSHOT reply."""
        self._rounds.learn(reply.endpoints)
        if reply.error in SNAPSHOT_GONE:
            self._snapshot = None
            what = f"{self.connected_to} answers {name(reply.error)}: starting over"
            self._waiting = self._rounds.wait(Why("snapshot_vanished", what), now)
            return None
        if reply.error:
            self._complain(reply.error, reply.leader, now)
            return None
        if self._snapshot is None:
            return None
        snapshot, position = self._snapshot
        if reply.position != position or not reply.content:
            self._turn_away(now, f"sent no bytes at {position} of {reply.size} of a snapshot")
            return None
        self._welcome(reply.leader)
        position += len(reply.content)
        if position < reply.size:
            self._snapshot = (snapshot, position)
            return SnapshotPart(reply.content, complete=False)
        self._snapshot = None
        here = self.position
        self.position = Position(snapshot.end_offset, snapshot.epoch, here.log, here.head)
        return SnapshotPart(reply.content, complete=True)

    # Good replies

    def _welcome(self, leader: Leader | None) -> None:
        if leader is not None and leader.epoch >= self.epoch:
            self.epoch, self.leader = leader.epoch, leader.node
        self.leader_endpoint = self.connected_to
        self._rounds.prefer(self.connected_to)

    def _went_well(self) -> None:
        """Begin anew: only what moves the log on, or a long poll that was held, is progress."""
        self._nothing_new = 0
        self._rounds.went_well(self.connected_to)

    def _pause(self, now: float, detail: str) -> None:
        """Wait for a commit: some quick polls, then slower and slower."""
        self._nothing_new += 1
        doublings = min(max(0, self._nothing_new - _QUICK_POLLS), _DOUBLINGS_MAX)
        delay = min(COMMIT_POLL_S * 2**doublings, COMMIT_POLL_MAX_S)
        stuck = delay >= COMMIT_POLL_MAX_S
        why = Why("waiting_for_quorum", f"{self.connected_to}: {detail}") if stuck else None
        self._waiting = Wait(now + delay, why)

    # Another log?

    def _diverged(self, diverging: OffsetAndEpoch, now: float) -> Effect:
        """Judge a DivergingEpoch: recoverable only while our last epoch was a guess."""
        here = self.position
        if here.epoch is not None or diverging.end_offset < here.next_offset:
            self._doubts(f"its epoch {diverging.epoch} ends at offset {diverging.end_offset}")
        else:
            self._adopt(diverging.epoch, now)
        return None

    def _sent_to_snapshot(self, snapshot: OffsetAndEpoch, now: float) -> Effect:
        """Judge a SnapshotId: it must lead onwards, never back."""
        here = self.position
        if snapshot.end_offset > here.next_offset:
            self._snapshot = (snapshot, 0)
            return BeginSnapshot(snapshot)
        if self._continuity.asking is Asking.TAIL:
            # Its log begins behind that batch, perhaps just where the spool ends.
            self._continuity.confirm()
        elif here.epoch is None and snapshot.end_offset == here.next_offset:
            self._adopt(snapshot.epoch, now)
        else:
            self._doubts(f"it offers the snapshot {snapshot.end_offset}-{snapshot.epoch} instead")
        return None

    def _adopt(self, epoch: int, now: float) -> None:
        self.position = replace(self.position, epoch=epoch)
        self._pause(now, f"trying epoch {epoch} for offset {self.position.next_offset}")

    def _doubts(self, what: str) -> None:
        """Find out next whether this log begins as the spool's does."""
        self._continuity.doubt = what
        self._snapshot = None

    def _head_told(self, reply: FetchReply, now: float) -> Effect:
        """Learn how the leader's log begins, or follow it from there: it is another one."""
        doubt = self._continuity.doubt
        found, head = self._continuity.head_told(reply, self.position)
        if found is Found.NOTHING_YET:
            self._pause(now, "the beginning of the log is not committed yet")
        elif found is Found.LOST:
            self._lost(doubt or "")
        elif head is not None:
            if found is Found.ANOTHER:
                self._went_well()
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
            " The quorum lost committed metadata, or cannot be told from one that did: keep the"
            " spool as evidence and start with an empty directory"
        )
        self._refuse(error, None)

    # Bad replies

    def _complain(self, code: int, leader: Leader | None, now: float) -> None:
        where = self.connected_to
        if code == Code.CLUSTER_AUTHORIZATION_FAILED:
            error = f"{where} refuses: grant the principal CLUSTER_ACTION on CLUSTER"
            self._refuse(NotAuthorized(error), now + REFUSED_RETRY_S)
        elif code == Code.INCONSISTENT_CLUSTER_ID:
            error = f"{where} belongs to another cluster than the one configured or spooled"
            self._refuse(WrongCluster(error), now + REFUSED_RETRY_S)
        elif code in ELSEWHERE and leader is not None:
            self._look_elsewhere(code, leader, now)
        elif code in NOT_A_CONTROLLER:
            self._turn_away(now, "is a broker's listener, not a controller's")
        else:
            self._turn_away(now, f"answers {name(code)}")

    def _look_elsewhere(self, code: int, leader: Leader, now: float) -> None:
        """Follow the CurrentLeader of an error reply, if it is news."""
        if leader.epoch < self.epoch:
            text = (
                f"answers {name(code)}, being at epoch {leader.epoch} where {self.epoch} was seen"
            )
            self._turn_away(now, text, leader.epoch)
            return
        news = leader.epoch > self.epoch
        self._snapshot = None
        self.epoch, self.leader = leader.epoch, leader.node
        leads = self._rounds.where(leader.node)
        self._rounds.prefer(leads)
        if news and code == Code.FENCED_LEADER_EPOCH and leads in {None, self.connected_to}:
            # Perhaps only our epoch was old: ask the same one again.
            self._end_round(self._rounds.spend(now))
            return
        knows = "knows no leader" if leader.node is None else f"says that {leader.node} leads"
        self._turn_away(now, f"{knows} in epoch {leader.epoch} ({name(code)})", leader.epoch)

    def _turn_away(self, now: float, text: str, epoch: int | None = None) -> None:
        endpoint = self.connected_to
        self._leave()
        if endpoint is not None:
            refusal = Refusal(f"{endpoint} {text}", epoch)
            self._end_round(self._rounds.turn_away(endpoint, refusal, now))

    def _end_round(self, over: RoundOver | None) -> None:
        if over is None:
            return
        self._waiting = over.wait
        if over.epoch is None or over.epoch >= self.epoch:
            return
        # Everyone told a lower epoch than ours: it was never one of this quorum's, unless records
        # of it are committed in the spool.
        if self.position.epoch is not None and over.epoch < self.position.epoch:
            why = over.wait.why
            self._doubts(f"every controller is at an earlier epoch ({why.detail if why else ''})")
        self.epoch = over.epoch

    def _refuse(self, error: LiveError, until: float | None) -> None:
        self._leave()
        self._rounds.forget()
        self._waiting = Refuse(error, until)

    def _leave(self) -> None:
        self.connected_to = self.leader_endpoint = self._snapshot = None

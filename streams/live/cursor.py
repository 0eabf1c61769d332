"""Who is asked next, and what: the follower's state machine, without I/O and without a clock.

In: replies and failures, and "now" (monotonic seconds). Out: the next `Action`, and for a reply
the `Effect` it has on the spool. The rules are those of a Raft follower towards its leader
(KafkaRaftClient.handleFetchResponse, handleFetchSnapshotResponse), with one difference: all that
was spooled was committed, so nothing is ever truncated; a leader that lacks it is refused.

How it cannot spin: a controller that is no use is `tried`; when all are, or when too many replies
in a row were no use, the round ends in a `Wait`. A good reply that brings nothing new, sooner
than a long poll would, ends in a short one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from streams.live.batches import BadBatch, committed
from streams.live.errors import (
    AuthenticationFailed,
    CommittedLogDiverged,
    LiveError,
    NotAuthorized,
    ReplyDamaged,
    WrongCluster,
)
from streams.live.messages import Endpoint, FetchReply, Leader, OffsetAndEpoch, SnapshotReply
from streams.live.spool import Position

UNKNOWN_TOPIC: Final = 3
NOT_LEADER_OR_FOLLOWER: Final = 6
BROKER_NOT_AVAILABLE: Final = 8
CLUSTER_AUTHORIZATION_FAILED: Final = 31
FENCED_LEADER_EPOCH: Final = 74
UNKNOWN_LEADER_EPOCH: Final = 75
SNAPSHOT_NOT_FOUND: Final = 98
POSITION_OUT_OF_RANGE: Final = 99
UNKNOWN_TOPIC_ID: Final = 100
INCONSISTENT_CLUSTER_ID: Final = 104
_ELSEWHERE: Final = {
    NOT_LEADER_OR_FOLLOWER: "NOT_LEADER_OR_FOLLOWER",
    BROKER_NOT_AVAILABLE: "BROKER_NOT_AVAILABLE",
    FENCED_LEADER_EPOCH: "FENCED_LEADER_EPOCH",
    UNKNOWN_LEADER_EPOCH: "UNKNOWN_LEADER_EPOCH",
}
_VANISHED: Final = {
    SNAPSHOT_NOT_FOUND: "SNAPSHOT_NOT_FOUND",
    POSITION_OUT_OF_RANGE: "POSITION_OUT_OF_RANGE",
}

BACKOFF_S: Final = 0.1
BACKOFF_MAX_S: Final = 5.0
ELECTION_BACKOFF_MAX_S: Final = 0.5
"""Controllers that answer cost little to ask again, and an election is soon over."""
REFUSED_RETRY_S: Final = 10.0
COMMIT_POLL_S: Final = 0.003
"""Pause before asking again for records that are appended but not yet committed."""
_COMMIT_POLLS: Final = 10
_COMMIT_POLL_MAX_S: Final = 0.25
_DOUBLINGS_MAX: Final = 16


@dataclass(frozen=True, slots=True)
class Why:
    """A named reason: a stable name for alerts and metrics, and a sentence for a person."""

    name: str
    detail: str


@dataclass(frozen=True, slots=True)
class Connect:
    """Connect to this controller; then call `connected` or `failed`."""

    endpoint: Endpoint


@dataclass(frozen=True, slots=True)
class Fetch:
    """Send a FETCH; then call `fetched` or `failed`."""

    leader_epoch: int
    offset: int
    last_fetched_epoch: int


@dataclass(frozen=True, slots=True)
class FetchSnapshot:
    """Send a FETCH_SNAPSHOT; then call `snapshot_fetched` or `failed`."""

    leader_epoch: int
    snapshot: OffsetAndEpoch
    position: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing until then (monotonic seconds); `why` is None for pauses of the normal course."""

    until: float
    why: Why | None


@dataclass(frozen=True, slots=True)
class Refuse:
    """Tell this error and do nothing until then; None: until a person mends it."""

    error: LiveError
    until: float | None


Action = Connect | Fetch | FetchSnapshot | Wait | Refuse


@dataclass(frozen=True, slots=True)
class Append:
    """Append these batches to the spool, which then ends at `position`."""

    records: bytes
    position: Position


@dataclass(frozen=True, slots=True)
class BeginSnapshot:
    """Begin this snapshot in the spool."""

    snapshot: OffsetAndEpoch


@dataclass(frozen=True, slots=True)
class SnapshotPart:
    """Append this to the snapshot; when `complete`, that was the last of it."""

    content: bytes
    complete: bool


Effect = Append | BeginSnapshot | SnapshotPart | None


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why a controller was no use in this round; its epoch, if it told one."""

    text: str
    epoch: int | None = None


class Cursor:
    """The state of following one quorum.

    Attributes:
        position: Where the spool ends once the effects told so far are carried out.
        epoch: Highest leader epoch heard of.
        leader: The leader's node id, if known.
        connected_to: The controller that is connected, None while there is none.
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
        self.high_watermark: int | None = None
        self._bootstrap = tuple(bootstrap)
        self._max_wait_s = max_wait_s
        self._jitter = jitter
        self._nodes: dict[int, Endpoint] = {}
        self._hint: Endpoint | None = None
        self._tried: dict[Endpoint, _Refusal] = {}
        self._rounds = 0
        self._useless = 0
        self._nothing_new = 0
        self._snapshot: tuple[OffsetAndEpoch, int] | None = None
        self._snapshots_lost = 0
        self._waiting: Wait | Refuse | None = None

    # What to do

    def next_action(self, now: float) -> Action:
        """Return what to do now; asked twice without news, it says the same."""
        if self._waiting is not None:
            if self._waiting.until is None or now < self._waiting.until:
                return self._waiting
            self._waiting = None
        if self.connected_to is None:
            return Connect(self._candidate())
        if self._snapshot is not None:
            snapshot, position = self._snapshot
            return FetchSnapshot(self.epoch, snapshot, position)
        if self.position.epoch is not None:
            return Fetch(self.epoch, self.position.next_offset, self.position.epoch)
        # From 0, epoch 0 is right (ReplicatedLog.validateOffsetAndEpoch); elsewhere an unknown
        # epoch is left unchecked by claiming the leader's own.
        known = 0 if self.position.next_offset == 0 else self.epoch
        return Fetch(self.epoch, self.position.next_offset, known)

    def _endpoints(self) -> list[Endpoint]:
        return list(dict.fromkeys([*self._bootstrap, *self._nodes.values()]))

    def _candidate(self) -> Endpoint:
        if self._hint is not None and self._hint not in self._tried:
            return self._hint
        return next(e for e in self._endpoints() if e not in self._tried)

    # What happened

    def connected(self, endpoint: Endpoint) -> None:
        """Take note that the connection asked for stands."""
        self.connected_to = endpoint

    def learned(self, nodes: dict[int, Endpoint]) -> None:
        """Take note of where controllers listen."""
        self._nodes.update(nodes)

    def failed(self, error: LiveError, endpoint: Endpoint, now: float) -> None:
        """Take note that a connection or an exchange failed; the connection is closed."""
        self.connected_to = None
        self._snapshot = None
        if isinstance(error, (AuthenticationFailed, WrongCluster)):
            self._refuse(error, now + REFUSED_RETRY_S)
            return
        self._turn_away(endpoint, _Refusal(str(error)), now)

    def resume(self, position: Position, now: float, why: Why | None = None) -> None:
        """Go back to where the spool really ends, after an effect could not be carried out."""
        self.position = position
        self._snapshot = None
        if why is not None:
            self._rounds += 1
            self._waiting = Wait(now + self._backoff(self._rounds, BACKOFF_MAX_S), why)

    def fetched(self, reply: FetchReply, now: float, took_s: float) -> Effect:
        """Take note of a FETCH reply, `took_s` after it was asked for.

        Raises:
            ReplyDamaged: its records are not sound; call `failed` with it.
        """
        self._nodes.update(reply.endpoints)
        if reply.error:
            self._complain(reply.error, reply.leader, now)
            return None
        self._welcome(reply.leader)
        self.high_watermark = reply.high_watermark
        if reply.diverging is not None:
            return self._diverged(reply.diverging, now)
        if reply.snapshot is not None:
            return self._sent_to_snapshot(reply.snapshot, now)
        here = self.position.next_offset
        try:
            cut = committed(reply.records, here, reply.high_watermark or 0)
        except BadBatch as error:
            raise ReplyDamaged(f"{self.connected_to} sent damaged records, {error}") from error
        if cut.records:
            self._nothing_new = 0
            self.position = Position(cut.next_offset, cut.epoch)
            return Append(cut.records, self.position)
        if reply.records or took_s < self._max_wait_s / 2:
            self._pause(now, f"offset {here} is not committed")
        else:
            self._nothing_new = 0
        return None

    def snapshot_fetched(self, reply: SnapshotReply, now: float) -> Effect:
        """Take note of a FETCH_SNAPSHOT reply."""
        self._nodes.update(reply.endpoints)
        if reply.error in _VANISHED:
            self._snapshots_lost += 1
            self._snapshot = None
            why = Why("snapshot_vanished", f"{self.connected_to}: {_VANISHED[reply.error]}")
            delay = self._backoff(self._snapshots_lost, BACKOFF_MAX_S)
            self._waiting = Wait(now + delay, why)
            return None
        if reply.error:
            self._complain(reply.error, reply.leader, now)
            return None
        if self._snapshot is None:
            return None
        snapshot, position = self._snapshot
        if reply.position != position or not reply.content:
            self._useless_reply(now, f"no bytes at {position} of {reply.size} of the snapshot")
            return None
        self._welcome(reply.leader)
        position += len(reply.content)
        self._snapshot = (snapshot, position)
        if position < reply.size:
            return SnapshotPart(reply.content, complete=False)
        self._snapshot = None
        self._snapshots_lost = 0
        self.position = Position(snapshot.end_offset, snapshot.epoch)
        return SnapshotPart(reply.content, complete=True)

    # Good replies

    def _welcome(self, leader: Leader | None) -> None:
        if leader is not None and leader.epoch >= self.epoch:
            self.epoch, self.leader = leader.epoch, leader.node
        self._hint = self.connected_to
        self._tried.clear()
        self._rounds = self._useless = 0

    def _pause(self, now: float, detail: str) -> None:
        """Wait for a commit: a few quick polls, then slower and slower."""
        self._nothing_new += 1
        slower = min(max(0, self._nothing_new - _COMMIT_POLLS), _DOUBLINGS_MAX)
        delay = min(COMMIT_POLL_S * 2**slower, _COMMIT_POLL_MAX_S)
        stuck = delay >= _COMMIT_POLL_MAX_S
        why = Why("waiting_for_quorum", f"{self.connected_to}: {detail}") if stuck else None
        self._waiting = Wait(now + delay, why)

    def _diverged(self, diverging: OffsetAndEpoch, now: float) -> Effect:
        """Judge a DivergingEpoch: recoverable only while our last epoch was a guess."""
        here = self.position
        if here.epoch is not None or diverging.end_offset < here.next_offset:
            self._lost(
                f"its last epoch up to ours is {diverging.epoch}, ending at offset"
                f" {diverging.end_offset}"
            )
            return None
        self.position = replace(here, epoch=diverging.epoch)
        self._pause(now, f"epoch {diverging.epoch} is tried for offset {here.next_offset}")
        return None

    def _sent_to_snapshot(self, snapshot: OffsetAndEpoch, now: float) -> Effect:
        """Judge a SnapshotId: it must lead onwards, never back."""
        here = self.position
        if snapshot.end_offset > here.next_offset:
            self._snapshot = (snapshot, 0)
            return BeginSnapshot(snapshot)
        if here.epoch is None and snapshot.end_offset == here.next_offset:
            self.position = replace(here, epoch=snapshot.epoch)
            self._pause(now, f"epoch {snapshot.epoch} is tried for offset {here.next_offset}")
            return None
        self._lost(f"it offers the snapshot {snapshot.end_offset}-{snapshot.epoch} instead")
        return None

    def _lost(self, what: str) -> None:
        here = self.position
        self._refuse(
            CommittedLogDiverged(
                f"the spool holds committed records up to offset {here.next_offset}, epoch"
                f" {here.epoch}, which the leader {self.connected_to} does not have: {what}."
                " The quorum lost committed metadata (or was formatted anew): keep the spool as"
                " evidence and start with an empty directory"
            ),
            None,
        )

    # Bad replies

    def _complain(self, error: int, leader: Leader | None, now: float) -> None:
        where = self.connected_to
        if error == CLUSTER_AUTHORIZATION_FAILED:
            self._refuse(
                NotAuthorized(
                    f"{where} refuses FETCH: grant the principal CLUSTER_ACTION on CLUSTER"
                ),
                now + REFUSED_RETRY_S,
            )
        elif error == INCONSISTENT_CLUSTER_ID:
            self._refuse(
                WrongCluster(f"{where} belongs to another cluster than the one configured"),
                now + REFUSED_RETRY_S,
            )
        elif error in _ELSEWHERE:
            self._look_elsewhere(error, leader, now)
        elif error in {UNKNOWN_TOPIC, UNKNOWN_TOPIC_ID}:
            self._useless_reply(now, "is a broker's listener, not a controller's")
        else:
            self._useless_reply(now, f"error code {error}")

    def _look_elsewhere(self, error: int, leader: Leader | None, now: float) -> None:
        """Follow the CurrentLeader of an error reply, if it is news."""
        name = _ELSEWHERE[error]
        if leader is None:
            self._useless_reply(now, name)
        elif leader.epoch < self.epoch:
            text = f"{name}: it is at epoch {leader.epoch}, {self.epoch} was seen"
            self._useless_reply(now, text, leader.epoch)
        else:
            news = leader.epoch > self.epoch
            self._snapshot = None
            self.epoch, self.leader = leader.epoch, leader.node
            self._hint = None if leader.node is None else self._nodes.get(leader.node)
            if news and error == FENCED_LEADER_EPOCH and self._hint in {None, self.connected_to}:
                self._spend(now)  # only our epoch was old: ask the same one again
                return
            known = "knows no leader" if leader.node is None else f"says {leader.node} leads"
            text = f"{name}: {known} in epoch {leader.epoch}"
            self._useless_reply(now, text, leader.epoch)

    def _useless_reply(self, now: float, text: str, epoch: int | None = None) -> None:
        endpoint, self.connected_to, self._snapshot = self.connected_to, None, None
        if endpoint is not None:
            self._turn_away(endpoint, _Refusal(f"{endpoint} {text}", epoch), now)

    def _turn_away(self, endpoint: Endpoint, refusal: _Refusal, now: float) -> None:
        self._tried[endpoint] = refusal
        self._spend(now)

    def _spend(self, now: float) -> None:
        """Count a useless step; end the round when all were tried or too many were useless."""
        self._useless += 1
        endpoints = self._endpoints()
        if self._useless <= 2 * len(endpoints) and not self._tried.keys() >= set(endpoints):
            return
        heard = [refusal.epoch for refusal in self._tried.values()]
        told = [epoch for epoch in heard if epoch is not None]
        detail = ", ".join(refusal.text for refusal in self._tried.values())
        self._tried.clear()
        self._useless = 0
        self._rounds += 1
        if heard and len(told) == len(heard):
            # Everyone answered: what nobody stands by was never an epoch of this quorum.
            if self.position.epoch is not None and max(told) < self.position.epoch:
                self._lost(f"every controller is at an earlier epoch ({detail})")
                return
            self.epoch = max(told)
        if told:
            why = Why("no_leader", f"no leader found: {detail}")
            delay = self._backoff(self._rounds, ELECTION_BACKOFF_MAX_S)
        else:
            why = Why("no_controller_reachable", f"no controller reachable: {detail}")
            delay = self._backoff(self._rounds, BACKOFF_MAX_S)
        self._waiting = Wait(now + delay, why)

    def _refuse(self, error: LiveError, until: float | None) -> None:
        self.connected_to, self._snapshot = None, None
        self._tried.clear()
        self._waiting = Refuse(error, until)

    def _backoff(self, times: int, longest_s: float) -> float:
        doubled = min(BACKOFF_S * 2 ** min(times - 1, _DOUBLINGS_MAX), longest_s)
        return float(doubled * (0.5 + self._jitter() / 2))

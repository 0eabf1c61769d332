"""Whatever the quorum answers, the cursor never skips, never runs ahead, and never spins."""

from hypothesis import given
from hypothesis import strategies as st

from streams.kafka.error_codes import ErrorCode
from streams.kafka.errors import ConnectionFailed, ReplyDamaged
from streams.kafka.messages import FetchReply, Leader, OffsetAndEpoch, SnapshotReply
from streams.metadata.actions import (
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
from streams.metadata.batches import HEAD_OFFSET
from streams.metadata.cursor import Cursor
from streams.metadata.spool import Position
from streams.net.endpoint import Endpoint
from streams.wire.batches import read_batches
from tests.streams.metadata.log_bytes import batch, log
from tests.support.examples import examples

ENDPOINTS = [Endpoint(f"c{n}", 9093) for n in range(1, 4)]
BATCHES = 12
LOG = [log(2, start=2 * n, epoch=1 + n // 4) for n in range(BATCHES)]
OTHER = [batch(2 * n, 2, epoch=1 + n // 4, body=b"other") for n in range(BATCHES)]

small = st.integers(min_value=0, max_value=2 * BATCHES)
epochs = st.integers(min_value=0, max_value=5)
leaders = st.none() | st.builds(Leader, st.none() | st.integers(1, 4), epochs)
nodes = st.dictionaries(st.integers(1, 4), st.sampled_from(ENDPOINTS), max_size=3)
codes = st.sampled_from([0, 0, 0, 42, *ErrorCode])
ends = st.none() | st.builds(OffsetAndEpoch, small, epochs)
fetch_replies = st.builds(
    FetchReply,
    error=codes,
    leader=leaders,
    endpoints=nodes,
    high_watermark=st.none() | small,
    diverging=st.none() | st.none() | ends,
    snapshot=st.none() | st.none() | ends,
    records=st.tuples(st.sampled_from([LOG, OTHER]), small, small).map(
        lambda r: b"".join(r[0][min(r[1:]) // 2 : max(r[1:])])
    ),
)
snapshot_replies = st.builds(
    SnapshotReply,
    error=codes,
    leader=leaders,
    endpoints=nodes,
    size=st.integers(0, 6),
    position=st.integers(0, 4),
    content=st.binary(max_size=3),
)
answers = st.tuples(st.booleans(), fetch_replies, snapshot_replies, st.sampled_from([0.0, 0.5]))


class Walk:
    """Plays controllers with drawn answers, and keeps the spool as the effects would."""

    def __init__(self, position: Position) -> None:
        self.cursor = Cursor(ENDPOINTS[:2], position, max_wait_s=0.5, jitter=lambda: 0.5)
        self.end = position.next_offset
        self.logs = 1
        self.snapshot: tuple[OffsetAndEpoch, bytes] | None = None
        self.now = 0.0
        self.in_vain = 0
        self.progress = 0

    def step(self, fails: bool, fetched: FetchReply, part: SnapshotReply, took: float) -> bool:
        """Act once; False when nothing more will ever happen."""
        action = self.cursor.next_action(self.now)
        assert action == self.cursor.next_action(self.now)
        self.in_vain += 1
        match action:
            case Pause(until=until) | Refuse(until=float(until)):
                assert until > self.now
                self.now = until
                self.in_vain = 0
            case Refuse():
                return False
            case Connect(endpoint):
                if fails:
                    self.cursor.failed(ConnectionFailed(f"{endpoint} refused"), endpoint, self.now)
                else:
                    self.cursor.connected(endpoint)
            case Fetch():
                tail = self.cursor.position.tail
                assert action.offset in {self.end, HEAD_OFFSET, tail.offset if tail else self.end}
                assert 0 <= action.last_fetched_epoch <= action.leader_epoch
                self.fetch(fetched, took)
            case FetchSnapshot():
                assert self.snapshot is not None
                assert (action.snapshot, action.position) == (
                    self.snapshot[0],
                    len(self.snapshot[1]),
                )
                self.carry_out(self.cursor.snapshot_fetched(part, self.now))
        return True

    def fetch(self, reply: FetchReply, took: float) -> None:
        self.now += took
        self.in_vain = 0 if took else self.in_vain
        endpoint = self.cursor.connected_to
        assert endpoint is not None
        try:
            effect = self.cursor.fetched(reply, self.now, took)
        except ReplyDamaged as error:
            self.cursor.resume(self.cursor.position, self.now)
            self.cursor.failed(error, endpoint, self.now)
            return
        if isinstance(effect, Append):
            assert effect.position.next_offset <= (reply.high_watermark or 0)
        self.carry_out(effect)

    def carry_out(self, effect: Effect) -> None:
        match effect:
            case Append(records, position):
                batches = list(read_batches(records, file="effect"))
                assert batches[0].base_offset <= self.end <= batches[0].last_offset
                assert batches[-1].last_offset + 1 == position.next_offset
                assert batches[-1].leader_epoch == position.epoch
                self.move(position.next_offset)
            case BeginSnapshot(snapshot):
                assert snapshot.end_offset > self.end
                self.snapshot = (snapshot, b"")
            case SnapshotPart(content, complete):
                assert self.snapshot is not None
                self.snapshot = (self.snapshot[0], self.snapshot[1] + content)
                if complete:
                    self.move(self.snapshot[0].end_offset)
            case Restart():
                self.logs += 1
                self.move(0)
            case KeepHead() | None:
                pass
        assert self.cursor.position.reach == (self.logs, self.end)

    def move(self, end: int) -> None:
        self.end, self.in_vain = end, 0
        self.cursor.progressed()


@examples(120)
@given(
    st.builds(Position, small.map(lambda n: n - n % 2), st.none() | epochs),
    st.lists(answers, max_size=60),
)
def test_any_sequence_of_answers(
    position: Position, sequence: list[tuple[bool, FetchReply, SnapshotReply, float]]
) -> None:
    """Each walk: offsets without gap, nothing above the high watermark, a wait before long."""
    walk = Walk(position)
    for fails, fetched, part, took in sequence:
        if not walk.step(fails, fetched, part, took):
            break
        # Two useless steps for each of 3 controllers and each address learned, each with its
        # connect, its fetches (what comes next, how the log ends and begins) and its snapshot's
        # parts (6 bytes here).
        assert walk.in_vain <= 11 * (2 * 3 + 1)


@examples(80)
@given(answers.filter(lambda answer: answer[3] == 0.0))
def test_the_same_useless_answer_for_ever_ends_in_a_wait(
    answer: tuple[bool, FetchReply, SnapshotReply, float],
) -> None:
    """No answer, given again and again at the same instant, is asked for endlessly."""
    walk = Walk(Position(0, None))
    for _ in range(400):
        if not walk.step(*answer):
            break
        assert walk.in_vain <= 11 * (2 * 3 + 1)

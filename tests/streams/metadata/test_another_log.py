"""A cluster's next metadata log is distinguished from the previous one; the two never mix.

The quorum is simulated by Kafka's rules (ReplicatedLog.validateOffsetAndEpoch), which do not
identify the log; the cursor and the spool are the real ones.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streams.kafka.error_codes import ErrorCode
from streams.kafka.errors import ConnectionFailed
from streams.kafka.messages import FetchReply, Leader, OffsetAndEpoch
from streams.metadata import log_files
from streams.metadata.actions import (
    Append,
    Connect,
    Fetch,
    FetchSnapshot,
    KeepHead,
    Pause,
    Refuse,
    Restart,
)
from streams.metadata.batches import mark_at
from streams.metadata.cursor import Cursor
from streams.metadata.errors import CommittedLogDiverged, SpoolDamaged
from streams.metadata.spool import Position, Spool
from streams.metadata.spool_info import began_ms
from streams.net.endpoint import Endpoint
from streams.wire.batches import read_batches
from tests.streams.metadata.log_bytes import batch
from tests.support.examples import examples

C1 = Endpoint("c1", 9093)


@dataclass
class TrueLog:
    """One metadata log: its batches, with the offset behind each and its epoch."""

    number: int
    batches: list[tuple[bytes, int, int]] = field(default_factory=list)

    @property
    def end(self) -> int:
        return self.batches[-1][1] if self.batches else 0

    def write(self, epoch: int, count: int) -> None:
        body = f"log {self.number}, offset {self.end}".encode()
        self.batches.append(
            (batch(self.end, count, epoch=epoch, body=body), self.end + count, epoch)
        )

    @property
    def content(self) -> bytes:
        return b"".join(each for each, _, _ in self.batches)

    def ends(self, epoch: int) -> OffsetAndEpoch:
        """Where the greatest epoch up to this one ends (LeaderEpochFileCache.endOffsetFor)."""
        known = [(each, end) for _, end, each in self.batches if each <= epoch]
        return OffsetAndEpoch(known[-1][1], known[-1][0]) if known else OffsetAndEpoch(0, 0)


class Quorum:
    """One controller whose whole log is committed."""

    def __init__(self) -> None:
        self.logs = [TrueLog(1)]
        self.epoch = 1
        self.write(1)

    @property
    def log(self) -> TrueLog:
        return self.logs[-1]

    def write(self, count: int) -> None:
        self.log.write(self.epoch, count)

    def restart(self, epoch: int) -> None:
        """Provision the quorum again, with a new log."""
        self.logs.append(TrueLog(len(self.logs) + 1))
        self.epoch = epoch
        self.write(1)

    def answer(self, asked: Fetch) -> FetchReply:
        leader = Leader(3000, self.epoch)
        if asked.leader_epoch != self.epoch:
            code = (
                ErrorCode.fenced_leader_epoch
                if asked.leader_epoch < self.epoch
                else ErrorCode.unknown_leader_epoch
            )
            return FetchReply(error=code, leader=leader)
        told = FetchReply(leader=leader, high_watermark=self.log.end)
        if (asked.offset, asked.last_fetched_epoch) != (0, 0):
            ends = self.log.ends(asked.last_fetched_epoch)
            if ends.epoch != asked.last_fetched_epoch or ends.end_offset < asked.offset:
                return FetchReply(leader=leader, high_watermark=self.log.end, diverging=ends)
        records = b"".join(each for each, end, _ in self.log.batches if end > asked.offset)
        return FetchReply(leader=told.leader, high_watermark=told.high_watermark, records=records)


class WithSnapshots(Quorum):
    """By the whole rule of ReplicatedLog.validateOffsetAndEpoch; the log still begins at 0."""

    snapshots: tuple[OffsetAndEpoch, ...] = ()

    def answer(self, asked: Fetch) -> FetchReply:
        reply = super().answer(asked)
        if reply.error or not self.snapshots:
            return reply
        if asked.offset and asked.last_fetched_epoch >= self.snapshots[0].epoch:
            return reply
        leader = Leader(3000, self.epoch)
        return FetchReply(leader=leader, high_watermark=self.log.end, snapshot=self.snapshots[-1])

    def elect_and_snapshot(self) -> None:
        """Elect a leader in epoch 2, write records, and a snapshot of all of them."""
        self.epoch = 2
        self.write(10)
        self.snapshots = (OffsetAndEpoch(self.log.end, 2),)


class Following:
    """A cursor and a spool that follow a quorum."""

    def __init__(self, directory: Path, quorum: Quorum) -> None:
        self.directory, self.quorum, self.now = directory, quorum, 0.0
        self.spool = Spool(directory)
        self.cursor = self._begin()

    def _begin(self) -> Cursor:
        return Cursor([C1], self.spool.position, max_wait_s=0.5, jitter=lambda: 1.0)

    def crash(self) -> None:
        """Stop and start again."""
        self.spool.close()
        self.spool = Spool(self.directory)
        self.cursor = self._begin()

    def drop(self) -> None:
        """Lose the connection, as when a controller stops."""
        if self.cursor.connected_to is not None:
            self.cursor.failed(ConnectionFailed("c1:9093 closed"), C1, self.now)

    def step(self) -> bool:
        """Run one step; return False if an operator must act."""
        action = self.cursor.next_action(self.now)
        match action:
            case Connect():
                self.cursor.connected(C1)
            case Pause(until=until) | Refuse(until=float(until)):
                self.now = until
            case Refuse():
                return False
            case Fetch():
                effect = self.cursor.fetched(self.quorum.answer(action), self.now, 0.5)
                match effect:
                    case Append(records, position):
                        if position.head is not None and self.spool.position.head is None:
                            self.spool.keep_head(position.head)
                        self.spool.append(records, position)
                    case KeepHead(head):
                        self.spool.keep_head(head)
                    case Restart(head):
                        self.spool.restart(head)
                    case _:
                        assert effect is None
                assert self.cursor.position == self.spool.position
        return True

    def settle(self) -> None:
        """Follow until the spool is complete."""
        for _ in range(60):
            assert self.step()

    def contents(self) -> list[bytes]:
        """Return the contents of each log of the spool."""
        found = []
        for number in range(1, self.spool.position.log + 1):
            home = log_files.log_directory(self.directory, number)
            segments = log_files.listing(home).segments
            found.append(b"".join(each.path.read_bytes() for each in segments))
        return found


steps = st.one_of(
    st.tuples(st.just("write"), st.integers(1, 4)),
    st.tuples(st.just("elect"), st.just(0)),
    st.tuples(st.just("restart"), st.integers(1, 4)),
    st.tuples(st.just("drop"), st.just(0)),
    st.tuples(st.just("crash"), st.just(0)),
    st.tuples(st.just("follow"), st.integers(1, 12)),
)
_LONGER_THAN_BEFORE = [("write", 3), ("follow", 12), ("crash", 0), ("restart", 1), ("write", 4)] + [
    ("write", 4)
] * 3
"""The next log has the offset and the epoch where the spool ends."""
_ENDS_WHERE_THE_LAST_BATCH_BEGINS = [
    ("write", 3),
    ("write", 1),
    ("follow", 3),
    ("restart", 1),
    ("write", 1),
]


@examples(150)
@given(st.lists(steps, max_size=25))
@example(_LONGER_THAN_BEFORE)
@example(_ENDS_WHERE_THE_LAST_BATCH_BEGINS)
def test_each_log_is_kept_for_itself(drawn: list[tuple[str, int]]) -> None:
    with TemporaryDirectory() as folder, ExitStack() as kept:
        quorum = Quorum()
        following = Following(Path(folder), quorum)
        kept.callback(lambda: following.spool.close())
        for what, number in drawn:
            match what:
                case "write":
                    quorum.write(number)
                case "elect":
                    quorum.epoch += 1
                    following.drop()
                    quorum.write(1)
                case "restart":
                    quorum.restart(number)
                    # Its process ended, and with it the connection.
                    following.drop()
                case "drop":
                    following.drop()
                case "crash":
                    following.crash()
                case _:
                    for _ in range(number):
                        assert following.step()
        quorum.write(2)
        following.settle()
        if following.spool.position.next_offset > quorum.log.end:
            # The next log ends where the last known batch begins: the two are indistinguishable
            # until its next record, which an idle controller writes within half a second.
            quorum.write(1)
            following.settle()
        contents = following.contents()
        # What came and went while nobody looked is not there; all else is, each for itself.
        seen = [
            next(log for log in quorum.logs if log.content.startswith(content))
            for content in contents
            if content
        ]
        assert [log.number for log in seen] == sorted({log.number for log in seen})
        assert contents[-1] == quorum.log.content
        assert following.spool.position == Position(quorum.log.end, quorum.epoch, len(contents))


@pytest.fixture
def following(tmp_path: Path) -> Iterator[Following]:
    quorum = Quorum()
    quorum.write(1)
    quorum.write(3)
    made = Following(tmp_path, quorum)
    made.settle()
    yield made
    made.spool.close()


def test_it_is_dated_by_its_beginning_and_known_after_a_restart(following: Following) -> None:
    assert began_ms(following.spool.directory, 1) == 1000  # as the made batches say
    following.quorum.restart(1)
    following.quorum.write(9)
    following.drop()
    following.settle()
    assert following.spool.position == Position(10, 1, 2)
    following.crash()
    assert following.spool.position == Position(10, 1, 2)
    assert began_ms(following.spool.directory, 2) == 1000
    following.settle()
    assert len(following.contents()) == 2


def test_a_quorum_that_lost_records_is_refused_still(following: Following) -> None:
    following.quorum.log.batches.pop()
    following.quorum.log.write(2, 1)
    following.quorum.epoch = 2
    following.drop()
    while following.step():
        pass
    refused = following.cursor.next_action(following.now)
    assert isinstance(refused, Refuse)
    assert isinstance(refused.error, CommittedLogDiverged)
    assert len(following.contents()) == 1


def test_a_log_that_was_left_behind_does_not_come_back(following: Following) -> None:
    """Two quorums share a cluster id, one of them is abandoned: the logs are not confused."""
    quorum = following.quorum
    quorum.restart(1)
    quorum.write(9)
    following.drop()
    following.settle()
    quorum.logs.append(quorum.logs[0])
    following.drop()
    with pytest.raises(CommittedLogDiverged, match=r"number 1 .* answers again"):
        following.settle()
    assert following.spool.position.log == 2


def test_a_snapshot_of_another_log_does_not_continue_this_one(tmp_path: Path) -> None:
    """The controllers were formatted again, elected a leader, and wrote their first snapshot."""
    quorum = WithSnapshots()
    quorum.write(4)
    following = Following(tmp_path, quorum)
    following.settle()
    following.crash()
    quorum.restart(1)
    quorum.elect_and_snapshot()
    while following.spool.position.log == 1:
        assert not isinstance(following.cursor.next_action(following.now), FetchSnapshot)
        assert following.step()
    assert following.spool.position == Position(0, None, 2)
    following.spool.close()


def test_a_snapshot_of_the_same_log_is_taken(tmp_path: Path) -> None:
    quorum = WithSnapshots()
    quorum.write(4)
    following = Following(tmp_path, quorum)
    following.settle()
    following.crash()
    quorum.elect_and_snapshot()
    cursor, asked = following.cursor, []
    cursor.connected(C1)
    while not isinstance(action := cursor.next_action(0.0), FetchSnapshot):
        assert isinstance(action, Fetch)
        asked.append((action.offset, action.last_fetched_epoch))
        cursor.fetched(quorum.answer(action), 0.0, 0.5)
    assert asked == [(1, 1), (1, 1), (1, 2), (1, 1)]
    assert cursor.position.log == 1
    following.spool.close()


def test_a_spool_that_never_saw_the_beginning_does_not_guess(following: Following) -> None:
    """The spool began with a snapshot, from a leader without the beginning of the log."""
    following.cursor = Cursor(
        [C1],
        replace(following.spool.position, head=None),
        max_wait_s=0.5,
        jitter=lambda: 1.0,
    )
    following.quorum.restart(1)
    following.quorum.write(3)
    while following.step():
        pass
    refused = following.cursor.next_action(following.now)
    assert isinstance(refused, Refuse)
    assert isinstance(refused.error, CommittedLogDiverged)


def test_the_beginning_is_asked_for_when_the_spool_began_with_a_snapshot() -> None:
    quorum = Quorum()
    quorum.write(3)
    cursor = Cursor([C1], Position(4, 1), max_wait_s=0.5, jitter=lambda: 1.0)
    cursor.connected(C1)
    asked = cursor.next_action(0.0)
    assert asked == Fetch(1, 1, 1)
    head = mark_at(quorum.log.content, 1)
    assert head is not None
    assert cursor.fetched(quorum.answer(asked), 0.0, 0.5) == KeepHead(head)
    assert cursor.next_action(0.0) == Fetch(1, 4, 1)


def test_an_illegible_spool_is_said_to_be_so(tmp_path: Path) -> None:
    for told in ("{", '{"version": 1, "cluster_id": "c"}', '{"version": 2}'):
        (tmp_path / log_files.INFO_NAME).write_text(told)
        with pytest.raises(SpoolDamaged, match=r"spool\.json"):
            Spool(tmp_path)


def test_a_torn_end_is_mended_before_the_next_log_begins(
    following: Following, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool, before = following.spool, following.contents()[0]

    def full(file: object, content: bytes) -> None:
        file.write(content[:10])  # type: ignore[attr-defined]
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("streams.metadata.spool.write_all", full)
    with pytest.raises(OSError, match="No space"):
        spool.append(batch(5), Position(6, 1))
    monkeypatch.undo()
    head = mark_at(batch(0, 2, body=b"another"), 1)
    assert head is not None
    assert spool.restart(head) == Position(0, None, 2)
    assert following.contents() == [before, b""]
    assert list(read_batches(before, file="the first log"))

"""The follower's owner always learns how it stands, and no error ends it silently."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from migration.observed.source_status import SourceStatus, controllers_now_ms, over_no_ops
from streams.kafka import messages
from streams.kafka.error_codes import ErrorCode
from streams.kafka.errors import ConnectionFailed, WrongCluster
from streams.kafka.messages import ClusterReply, FetchReply, Leader, SnapshotReply
from streams.metadata.cursor import Cursor
from streams.metadata.errors import FollowerCrashed
from streams.metadata.follower import Follower
from streams.metadata.spool import Position, Spool
from streams.net.endpoint import Endpoint
from streams.net.errors import AuthenticationFailed, LiveError
from streams.net.listener import Listener
from streams.net.security import Security
from tests.streams.metadata.log_bytes import batch, log, no_op
from tests.streams.metadata.quorum import wait_for
from tests.support.wire_writing import write_checkpoint

C1 = Endpoint("c1", 9093)
LEADER = Leader(1, 0)
Script = Callable[[int, Any], FetchReply | SnapshotReply | ClusterReply]
"""(API key, request) -> reply; it may raise what a connection raises, or hold the reply."""


class Scripted:
    """Stands in for `Connection`: replies are the script's."""

    script: Script

    def __init__(self, endpoint: Endpoint, _security: Security, **_options: int) -> None:
        self.endpoint = endpoint
        self.interrupted = threading.Event()

    def version(self, api_key: int) -> int:
        return messages.APIS[api_key].last

    def ask(self, request: Any, **_options: int) -> Any:
        return type(self).script(request.__api_key__, request)

    def interrupt(self) -> None:
        self.interrupted.set()

    def close(self) -> None:
        self.interrupted.set()


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Callable[[Script], None]:
    """Let the follower talk to a script instead of a controller."""
    monkeypatch.setattr("streams.metadata.follower.Connection", Scripted)
    monkeypatch.setattr("streams.metadata.follower._MAX_WAIT_MS", 20)
    for name in ("read_fetch", "read_snapshot", "read_cluster"):
        monkeypatch.setattr(messages, name, lambda reply: reply)

    def use(wanted: Script) -> None:
        monkeypatch.setattr(Scripted, "script", staticmethod(wanted), raising=False)

    return use


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    with Spool(tmp_path) as made:
        yield made


CONFIG = Listener((C1,), cluster_id="a-cluster")
UNNAMED = Listener((C1,))


def idle() -> FetchReply:
    time.sleep(0.02)
    return FetchReply(leader=LEADER, high_watermark=0)


def until(follower: Follower, holds: Callable[[SourceStatus], object]) -> SourceStatus:
    deadline = time.monotonic() + 60
    while not holds(status := follower.status()):
        assert time.monotonic() < deadline, status
        time.sleep(0.005)
    return status


def serve(key: int, request: Any) -> FetchReply | SnapshotReply | ClusterReply:
    """A healthy controller with a log of three batches, all committed."""
    if key == messages.DESCRIBE_CLUSTER:
        return ClusterReply(cluster_id="a-cluster")
    offset = request.topics[0].partitions[0].fetch_offset
    if offset >= 6:
        time.sleep(0.02)
    records = log(1, 2, 3) if offset == 0 else b""
    return FetchReply(leader=LEADER, high_watermark=6, records=records)


def test_progress_is_told_to_everyone_who_asks(
    script: Callable[[Script], None], spool: Spool
) -> None:
    script(serve)
    moves: list[Position] = []
    with Follower(UNNAMED, spool, moves.append) as follower:
        assert wait_for(follower, 5, 60.0)
        assert not wait_for(follower, 6, 0.05)
        assert follower.position == Position(6, 1)
        status = until(follower, lambda s: s.last_reply_ms)
        assert (status.next_offset, status.high_watermark, status.active_controller) == (6, 6, 1)
        assert (status.cluster_id, spool.cluster_id) == ("a-cluster", "a-cluster")
    assert moves == [Position(6, 1)]


def test_the_time_of_a_leader_begins_with_its_election(
    script: Callable[[Script], None], spool: Spool
) -> None:
    elected = threading.Event()

    def elect(key: int, request: Any) -> FetchReply | SnapshotReply | ClusterReply:
        reply = serve(key, request)
        if isinstance(reply, FetchReply):
            return replace(reply, leader=Leader(1, 2 if elected.is_set() else 1))
        return reply

    script(elect)
    with Follower(UNNAMED, spool, lambda _: None) as follower:
        first = until(follower, lambda s: s.led_since_ms)
        later = until(follower, lambda s: (s.last_reply_ms or 0) > (first.last_reply_ms or 0))
        assert later.led_since_ms == first.led_since_ms
        elected.set()
        until(follower, lambda s: (s.led_since_ms or 0) > (later.led_since_ms or 0))


def test_a_record_is_busy_as_soon_as_it_is_fetched(
    script: Callable[[Script], None], spool: Spool
) -> None:
    """Else the store would seem to have read a record that only its status lacks."""
    held = threading.Event()

    def serve(key: int, request: Any) -> FetchReply | ClusterReply:
        if key == messages.DESCRIBE_CLUSTER:
            return ClusterReply(cluster_id="a-cluster")
        at = request.topics[0].partitions[0].fetch_offset
        if at < 2:
            return FetchReply(leader=LEADER, high_watermark=2, records=batch(at))
        if at < 6:
            return FetchReply(leader=LEADER, high_watermark=at + 1, records=no_op(at))
        if at == 6:
            return FetchReply(leader=LEADER, high_watermark=7, records=batch(6))
        held.wait(20.0)  # until the next no-op record
        return FetchReply(leader=LEADER, high_watermark=7)

    script(serve)
    with Follower(CONFIG, spool) as follower:
        status = until(follower, lambda one: one.next_offset == 7)
        assert status.record_ms is not None
        for store in (1, 5):
            assert over_no_ops(replace(status, high_watermark=7), store) == store
        held.set()


def test_a_record_that_has_just_been_written_compares_the_clocks(
    script: Callable[[Script], None], spool: Spool
) -> None:
    """Those of a log that is read later, such as the first one, say nothing about the clocks."""
    written = threading.Event()

    def serve(key: int, request: Any) -> FetchReply | ClusterReply:
        if key == messages.DESCRIBE_CLUSTER:
            return ClusterReply(cluster_id="a-cluster")
        at = request.topics[0].partitions[0].fetch_offset
        if at == 0 or (at == 1 and written.is_set()):
            return FetchReply(leader=LEADER, high_watermark=at + 1, records=no_op(at))
        time.sleep(0.02)
        return FetchReply(leader=LEADER, high_watermark=at)

    script(serve)
    with Follower(CONFIG, spool) as follower:
        status = until(follower, lambda one: one.next_offset == 1)
        assert controllers_now_ms(status, status.observed_ms) == status.observed_ms
        written.set()
        status = until(follower, lambda one: one.next_offset == 2)
        assert status.record_ms is not None
        assert status.record_seen_ms is not None
        assert controllers_now_ms(status, status.record_seen_ms) == status.record_ms


def test_the_configured_cluster_is_named_in_every_fetch(
    script: Callable[[Script], None], spool: Spool
) -> None:
    asked: list[Any] = []

    def note(key: int, request: Any) -> FetchReply:
        asked.append((key, request.cluster_id))
        return idle()

    script(note)
    config = Listener((C1,), cluster_id="mine")
    with Follower(config, spool) as follower:
        until(follower, lambda s: s.last_reply_ms)
    assert set(asked) == {(messages.FETCH, "mine")}
    assert spool.cluster_id == "mine"


def test_a_configured_id_is_not_reported_before_a_controller_accepts_it(
    script: Callable[[Script], None], spool: Spool
) -> None:
    def refuse(_key: int, _request: Any) -> FetchReply:
        raise ConnectionFailed(f"{C1}: refused")

    script(refuse)
    with Follower(CONFIG, spool) as follower:
        assert until(follower, lambda s: s.waiting).cluster_id is None
        script(lambda _key, _request: idle())
        assert until(follower, lambda s: s.last_reply_ms).cluster_id == "a-cluster"


def test_a_wrong_cluster_is_named_with_both_ids(
    script: Callable[[Script], None], spool: Spool
) -> None:
    def other(key: int, _request: Any) -> FetchReply | ClusterReply:
        if key == messages.DESCRIBE_CLUSTER:
            return ClusterReply(cluster_id="theirs")
        return FetchReply(error=ErrorCode.inconsistent_cluster_id)

    script(other)
    with Follower(CONFIG, spool) as follower:
        status = until(follower, lambda s: s.error is not None)
    assert status.error is not None
    assert f"{C1} belongs to cluster theirs, not to a-cluster" in status.error
    assert status.cluster_id == "theirs"


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (ErrorCode.cluster_authorization_failed, "that needs ALTER on CLUSTER"),
        (
            ErrorCode.unsupported_version,
            "the controller has just started, or its metadata.version is below 3.7-IV0",
        ),
        (-1, "UNKNOWN_SERVER_ERROR (-1)"),
        (999, "error code 999"),
        (0, "a controller before Kafka 3.7 cannot"),
    ],
)
def test_a_wrong_cluster_that_does_not_report_its_id_is_refused_with_the_reason(
    script: Callable[[Script], None], spool: Spool, error: int, why: str
) -> None:
    def other(key: int, _request: Any) -> FetchReply | ClusterReply:
        if key == messages.DESCRIBE_CLUSTER:
            return ClusterReply(error=error)
        return FetchReply(error=ErrorCode.inconsistent_cluster_id)

    script(other)
    with Follower(CONFIG, spool) as follower:
        status = until(follower, lambda s: s.error is not None)
    assert status.error is not None
    assert f"belongs to cluster (not reported: {why}), not to a-cluster" in status.error
    assert status.cluster_id == f"(not reported: {why})"


def test_a_wrong_cluster_that_has_just_started_is_named_later(
    script: Callable[[Script], None], spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.metadata.cursor.REFUSED_RETRY_S", 0.01)
    asked: list[int] = []

    def start(key: int, _request: Any) -> FetchReply | ClusterReply:
        if key == messages.DESCRIBE_CLUSTER:
            asked.append(key)
            if len(asked) == 1:
                return ClusterReply(error=ErrorCode.unsupported_version)
            return ClusterReply(cluster_id="theirs")
        return FetchReply(error=ErrorCode.inconsistent_cluster_id)

    script(start)
    with Follower(CONFIG, spool) as follower:
        status = until(follower, lambda s: s.cluster_id == "theirs")
    assert "belongs to cluster theirs, not to a-cluster" in str(status.error)


def test_a_principal_that_may_not_describe_the_cluster_may_still_follow(
    script: Callable[[Script], None], spool: Spool
) -> None:
    def forbid(key: int, request: Any) -> FetchReply | SnapshotReply | ClusterReply:
        return ClusterReply(error=31) if key == messages.DESCRIBE_CLUSTER else serve(key, request)

    script(forbid)
    with Follower(UNNAMED, spool) as follower:
        assert wait_for(follower, 5, 60.0)
    assert spool.cluster_id is None


def test_a_controller_that_has_just_started_is_asked_again(
    script: Callable[[Script], None], spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It describes the cluster once it has read the metadata.version."""
    monkeypatch.setattr("streams.metadata.follower._IDENTIFY_S", 0.01)
    asked: list[int] = []

    def start(key: int, request: Any) -> FetchReply | SnapshotReply | ClusterReply:
        if key == messages.DESCRIBE_CLUSTER:
            asked.append(key)
            if len(asked) < 3:
                return ClusterReply(error=ErrorCode.unsupported_version)
        return serve(key, request)

    script(start)
    with Follower(UNNAMED, spool) as follower:
        until(follower, lambda s: s.cluster_id == "a-cluster")
        deadline = time.monotonic() + 60
        while spool.cluster_id is None:
            assert time.monotonic() < deadline
            time.sleep(0.005)
    assert len(asked) == 3


def test_a_spool_of_another_cluster_is_refused_before_anything_is_asked(spool: Spool) -> None:
    spool.bind("theirs")
    with pytest.raises(WrongCluster, match="made from cluster theirs, not from mine"):
        Follower(Listener((C1,), cluster_id="mine"), spool)


def test_an_authorization_error_stays_in_the_status_and_goes_when_it_is_granted(
    script: Callable[[Script], None], spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.metadata.cursor.REFUSED_RETRY_S", 0.05)
    granted = threading.Event()

    def guard(key: int, request: Any) -> FetchReply | SnapshotReply | ClusterReply:
        return serve(key, request) if granted.is_set() else FetchReply(error=31)

    script(guard)
    with Follower(CONFIG, spool) as follower:
        status = until(follower, lambda s: s.error)
        assert status.error is not None
        assert "CLUSTER_ACTION on CLUSTER" in status.error
        granted.set()
        assert wait_for(follower, 5, 60.0)
        assert until(follower, lambda s: not s.error).waiting is None


def test_refused_credentials_are_an_error_not_a_crash(
    script: Callable[[Script], None], spool: Spool
) -> None:
    def refuse(_key: int, _request: Any) -> FetchReply:
        raise AuthenticationFailed("c1:9093 refused the credentials")

    script(refuse)
    with Follower(CONFIG, spool) as follower:
        status = until(follower, lambda s: s.error)
        assert status.error is not None
        assert follower.position == Position(0, None)


def test_a_disk_that_is_full_is_a_wait_that_ends(
    script: Callable[[Script], None], spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(serve)
    append, full = spool.append, threading.Event()
    full.set()

    def refuse(records: bytes, position: Position) -> None:
        if full.is_set():
            raise OSError(28, "No space left on device")
        append(records, position)

    def note(cursor: Cursor) -> None:
        resets.append(spool.position)
        reset(cursor)

    reset, resets = Cursor.progressed, list[Position]()
    monkeypatch.setattr(Cursor, "progressed", note)
    monkeypatch.setattr(spool, "append", refuse)
    with Follower(CONFIG, spool) as follower:
        status = until(follower, lambda s: s.waiting)
        assert status.waiting is not None
        assert "cannot be written" in status.waiting
        assert "No space left on device" in status.waiting
        assert resets == [], "the backoff ended, and nothing was stored"
        full.clear()
        assert wait_for(follower, 5, 60.0)
    assert resets[0] == Position(6, 1)


def test_an_unforeseen_error_is_in_the_status_and_raised_to_the_next_caller(
    script: Callable[[Script], None], spool: Spool
) -> None:
    def break_down(_key: int, _request: Any) -> FetchReply:
        raise ZeroDivisionError("nobody foresaw this")

    script(break_down)
    with Follower(CONFIG, spool) as follower:
        status = until(follower, lambda s: s.error)
        assert status.error is not None
        with pytest.raises(FollowerCrashed, match="nobody foresaw this") as caught:
            _ = follower.position
        assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_follower_is_started_once(script: Callable[[Script], None], spool: Spool) -> None:
    script(lambda *_: idle())
    with Follower(CONFIG, spool) as follower, pytest.raises(RuntimeError, match="started once"):
        follower.start()


def test_a_damaged_snapshot_is_fetched_again_not_at_once(
    script: Callable[[Script], None], spool: Spool
) -> None:
    fetched: list[float] = []

    def damaged(key: int, _request: Any) -> FetchReply | SnapshotReply:
        if key == messages.FETCH:
            snapshot = messages.OffsetAndEpoch(9, 1)
            return FetchReply(leader=Leader(1, 1), high_watermark=9, snapshot=snapshot)
        fetched.append(time.monotonic())
        content = write_checkpoint(1, 1_000, []) if len(fetched) > 2 else b"junk"
        return SnapshotReply(leader=Leader(1, 1), size=len(content), content=content)

    script(damaged)
    with Follower(CONFIG, spool) as follower:
        assert wait_for(follower, 8, 60.0)
        assert follower.position == Position(9, 1)
        assert min(b - a for a, b in itertools.pairwise(fetched)) >= 0.05


def test_every_error_of_the_follower_has_one_root() -> None:
    assert all(issubclass(kind, LiveError) for kind in (FollowerCrashed, WrongCluster))

"""Each reply of a controller has one meaning for the follower."""

import pytest

from streams.kafka.error_codes import ErrorCode
from streams.kafka.errors import ConnectionFailed, NotAuthorized, ReplyDamaged, WrongCluster
from streams.kafka.messages import FetchReply, Leader, OffsetAndEpoch, SnapshotReply
from streams.metadata.actions import (
    Append,
    BeginSnapshot,
    Connect,
    Fetch,
    FetchSnapshot,
    Pause,
    Refuse,
    SnapshotPart,
)
from streams.metadata.batches import mark_at
from streams.metadata.cursor import COMMIT_POLL_MAX_S, COMMIT_POLL_S, REFUSED_RETRY_S, Cursor
from streams.metadata.errors import CommittedLogDiverged, SpoolDamaged
from streams.metadata.spool import Position
from streams.net.endpoint import Endpoint
from streams.net.errors import AuthenticationFailed, LiveError
from tests.streams.metadata.log_bytes import batch, log, no_op

C1, C2, C3 = (Endpoint(f"c{n}", 9093) for n in (1, 2, 3))
HEAD = mark_at(log(2), 1)


def at(offset: int, epoch: int | None) -> Position:
    """Make a position in a log whose beginning is known, and not its last batch."""
    return Position(offset, epoch, head=HEAD)


AT_5 = at(5, 1)
SAME_BEGINNING = FetchReply(high_watermark=9, records=log(2))


def cursor(position: Position = AT_5, *, connected: bool = True) -> Cursor:
    made = Cursor((C1, C2), position, max_wait_s=0.5, jitter=lambda: 1.0)
    if connected:
        made.connected(C1)
    return made


def checked() -> Cursor:
    """Make a cursor that was sent to a snapshot and found the beginning of its own log."""
    made = cursor()
    assert made.fetched(FetchReply(snapshot=OffsetAndEpoch(20, 2)), 0.0, 0.0) is None
    assert made.next_action(0.0) == Fetch(1, 1, 1)
    assert made.fetched(SAME_BEGINNING, 0.0, 0.0) is None
    assert made.next_action(0.0) == Fetch(1, 5, 1)
    return made


def refusal(made: Cursor, now: float = 0.0) -> Refuse:
    action = made.next_action(now)
    assert isinstance(action, Refuse)
    return action


def wait(made: Cursor, now: float = 0.0) -> Pause:
    action = made.next_action(now)
    assert isinstance(action, Pause)
    return action


def why(made: Cursor) -> str:
    found = wait(made).reason
    assert found is not None
    return found


# Beginnings


def test_it_connects_first_and_fetches_then() -> None:
    made = cursor(connected=False)
    assert made.next_action(0.0) == Connect(C1)
    made.connected(C1)
    assert made.next_action(0.0) == Fetch(leader_epoch=1, offset=5, last_fetched_epoch=1)


def test_an_empty_spool_asks_for_offset_0_of_epoch_0() -> None:
    assert cursor(Position(0, None)).next_action(0.0) == Fetch(0, 0, 0)


def test_an_unknown_epoch_elsewhere_claims_the_leaders_own() -> None:
    made = cursor(at(5, None))
    made.fetched(FetchReply(error=ErrorCode.fenced_leader_epoch, leader=Leader(1, 7)), 0.0, 0.0)
    assert made.next_action(0.0) == Fetch(7, 5, 7)


# Good replies


def test_committed_records_are_appended_and_fetched_no_more() -> None:
    made = cursor()
    reply = FetchReply(high_watermark=8, records=log(2, 1, 4, start=5, epoch=3))
    effect = made.fetched(reply, 0.0, 0.0)
    assert effect == Append(log(2, 1, start=5, epoch=3), Position(8, 3))
    assert made.next_action(0.0) == Fetch(3, 8, 3)


def test_no_ops_leave_it_known_how_far_there_is_more() -> None:
    made = cursor()
    idle = [FetchReply(high_watermark=99, records=no_op(offset)) for offset in (5, 6, 10)]
    made.fetched(idle[0], 0.0, 0.0)
    assert made.position.reach == (1, 6)
    assert made.position.busy_until == 5, "what is before the spool's end is not known"
    made.fetched(idle[1], 0.0, 0.0)
    assert (made.position.reach, made.position.busy_until) == ((1, 7), 5)
    made.fetched(FetchReply(high_watermark=99, records=log(3, start=7)), 0.0, 0.0)
    made.fetched(idle[2], 0.0, 0.0)
    assert (made.position.reach, made.position.busy_until) == ((1, 11), 10)


def test_uncommitted_records_are_asked_for_again_after_a_short_pause() -> None:
    made = cursor()
    assert made.fetched(FetchReply(high_watermark=5, records=log(2, start=5)), 0.0, 0.0) is None
    assert wait(made) == Pause(COMMIT_POLL_S, None)
    assert made.next_action(COMMIT_POLL_S) == Fetch(1, 5, 1)


def test_a_quorum_that_does_not_commit_is_polled_ever_more_slowly_and_said() -> None:
    made, now = cursor(), 0.0
    for _ in range(40):
        made.fetched(FetchReply(high_watermark=5, records=log(2, start=5)), now, 0.0)
        now = wait(made, now).until
    made.fetched(FetchReply(high_watermark=5, records=log(2, start=5)), 0.0, 0.0)
    assert wait(made).until == COMMIT_POLL_MAX_S
    assert why(made) == "c1:9093: offset 5 is not committed yet"


def test_a_leader_without_a_high_watermark_commits_nothing() -> None:
    made = cursor()
    assert made.fetched(FetchReply(records=log(2, start=5)), 0.0, 0.0) is None
    assert isinstance(made.next_action(0.0), Pause)


def test_a_long_poll_that_found_nothing_is_followed_by_the_next() -> None:
    made = cursor()
    assert made.fetched(FetchReply(high_watermark=5), 0.5, 0.5) is None
    assert made.next_action(0.5) == Fetch(1, 5, 1)


def test_an_empty_reply_without_a_long_poll_is_not_answered_at_once() -> None:
    made = cursor()
    made.fetched(FetchReply(high_watermark=5), 0.0, 0.0)
    assert isinstance(made.next_action(0.0), Pause)


def test_damaged_records_are_the_controllers_fault() -> None:
    flipped = bytearray(log(1, start=5))
    flipped[-1] ^= 1
    with pytest.raises(ReplyDamaged, match="c1:9093 sent damaged records"):
        cursor().fetched(FetchReply(high_watermark=9, records=bytes(flipped)), 0.0, 0.0)


# Finding the leader


def test_a_newer_epoch_is_learned_from_the_error_and_tried_there() -> None:
    made = cursor()
    made.fetched(FetchReply(error=ErrorCode.fenced_leader_epoch, leader=Leader(1, 7)), 0.0, 0.0)
    assert made.next_action(0.0) == Fetch(7, 5, 1)


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.not_leader_or_follower,
        ErrorCode.fenced_leader_epoch,
        ErrorCode.broker_not_available,
    ],
)
def test_the_leader_is_followed_to_the_endpoint_in_the_reply(code: ErrorCode) -> None:
    made = cursor()
    made.fetched(FetchReply(error=code, leader=Leader(3, 7), endpoints={3: C3}), 0.0, 0.0)
    if code == ErrorCode.fenced_leader_epoch:
        made.fetched(FetchReply(error=6, leader=Leader(3, 7), endpoints={3: C3}), 0.0, 0.0)
    assert made.next_action(0.0) == Connect(C3)
    made.connected(C3)
    assert made.next_action(0.0) == Fetch(7, 5, 1)


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.not_leader_or_follower,
        ErrorCode.fenced_leader_epoch,
        ErrorCode.unknown_leader_epoch,
        ErrorCode.broker_not_available,
    ],
)
@pytest.mark.parametrize("leader", [None, Leader(None, 1), Leader(9, 1)])
def test_without_an_endpoint_each_controller_is_tried_and_then_there_is_a_wait(
    code: ErrorCode, leader: Leader | None
) -> None:
    made = cursor()
    made.fetched(FetchReply(error=code, leader=leader), 0.0, 0.0)
    assert made.next_action(0.0) == Connect(C2)
    made.connected(C2)
    made.fetched(FetchReply(error=code, leader=leader), 0.0, 0.0)
    assert wait(made).until == 0.1
    assert code.name.upper() in why(made)
    assert made.next_action(0.1) == Connect(C1)


def test_a_node_of_an_older_epoch_is_not_believed() -> None:
    made = cursor(at(5, 4))
    made.fetched(FetchReply(error=ErrorCode.unknown_leader_epoch, leader=Leader(1, 2)), 0.0, 0.0)
    assert made.next_action(0.0) == Connect(C2)
    made.connected(C2)
    assert made.next_action(0.0) == Fetch(4, 5, 4)


def test_an_epoch_that_nobody_stands_by_is_given_up() -> None:
    made = cursor()
    made.fetched(FetchReply(error=ErrorCode.fenced_leader_epoch, leader=Leader(1, 9)), 0.0, 0.0)
    for endpoint in (C1, C2):
        made.connected(endpoint)
        made.fetched(
            FetchReply(error=ErrorCode.unknown_leader_epoch, leader=Leader(1, 3)), 0.0, 0.0
        )
    assert isinstance(made.next_action(0.0), Pause)
    assert made.next_action(9.0) == Connect(C1)
    made.connected(C1)
    assert made.next_action(9.0) == Fetch(3, 5, 1)


def test_a_quorum_wholly_at_an_earlier_epoch_than_the_spool_lost_records() -> None:
    made = cursor(at(5, 4))
    for endpoint in (C1, C2):
        made.connected(endpoint)
        made.fetched(
            FetchReply(error=ErrorCode.unknown_leader_epoch, leader=Leader(1, 2)), 0.0, 0.0
        )
    now = wait(made).until
    assert made.next_action(now) == Connect(C1)
    made.connected(C1)
    assert made.next_action(now) == Fetch(2, 1, 2)
    made.fetched(SAME_BEGINNING, now, 0.0)
    assert isinstance(refusal(made, now).error, CommittedLogDiverged)


def test_a_leader_that_has_every_record_ends_the_doubt() -> None:
    """The only configured controller was down during the last election, and has just started."""
    first = batch(0, 1, epoch=4)
    last = batch(3, 2, epoch=5)
    content = first + batch(1, 1, epoch=4) + batch(2, 1, epoch=5) + last
    here = Position(5, 5, head=mark_at(content, 1), tail=mark_at(content, 3))
    made = Cursor((C3,), here, max_wait_s=0.5, jitter=lambda: 1.0)
    made.connected(C3)
    made.fetched(FetchReply(error=ErrorCode.unknown_leader_epoch, leader=Leader(3, 4)), 0.0, 0.0)
    now = wait(made).until
    assert made.next_action(now) == Connect(C3)
    made.connected(C3)
    assert made.next_action(now) == Fetch(4, 1, 4)
    leads = FetchReply(error=ErrorCode.fenced_leader_epoch, leader=Leader(1, 5), endpoints={1: C1})
    made.fetched(leads, now, 0.0)
    assert made.next_action(now) == Connect(C1)
    made.connected(C1)
    assert made.next_action(now) == Fetch(5, 3, 5)
    made.fetched(FetchReply(leader=Leader(1, 5), high_watermark=5, records=last), now, 0.5)
    assert made.next_action(now) == Fetch(5, 5, 5)


def test_unreachable_controllers_are_named() -> None:
    made = cursor(connected=False)
    made.failed(ConnectionFailed("c1:9093 refused"), C1, 0.0)
    assert made.next_action(0.0) == Connect(C2)
    made.failed(ConnectionFailed("c2:9093 timed out"), C2, 0.0)
    expected = "no controller reachable: c1:9093 refused, c2:9093 timed out"
    assert why(made) == expected


def test_each_election_without_a_leader_has_the_same_reason() -> None:
    def elects(epoch: int) -> str | None:
        made = cursor(connected=False)
        for endpoint in (C1, C2):
            made.connected(endpoint)
            code = ErrorCode.not_leader_or_follower
            made.fetched(FetchReply(error=code, leader=Leader(None, epoch)), 0.0, 0.0)
        return why(made)

    assert elects(8) == elects(9)


def test_a_lost_connection_is_followed_by_the_others_at_once() -> None:
    made = cursor()
    made.failed(ConnectionFailed("c1:9093 closed the connection"), C1, 0.0)
    assert made.next_action(0.0) == Connect(C2)


@pytest.mark.parametrize("code", [ErrorCode.unknown_topic_id, ErrorCode.unknown_topic_or_partition])
def test_a_broker_is_told_from_a_controller(code: ErrorCode) -> None:
    made = cursor()
    made.fetched(FetchReply(error=code), 0.0, 0.0)
    made.failed(ConnectionFailed("c2:9093 refused"), C2, 0.0)
    assert "c1:9093 is a broker's listener, not a controller's" in why(made)


@pytest.mark.parametrize(
    ("code", "name"),
    [(42, "INVALID_REQUEST (42)"), (-1, "UNKNOWN_SERVER_ERROR (-1)"), (999, "error code 999")],
)
def test_an_unforeseen_error_code_is_named_and_waited_for(code: int, name: str) -> None:
    made = cursor()
    for endpoint in (C1, C2):
        made.connected(endpoint)
        made.fetched(FetchReply(error=code), 0.0, 0.0)
    assert name in why(made)


# Refusals


def answers(made: Cursor, code: ErrorCode, *, snapshot: bool) -> None:
    if snapshot:
        made.fetched(FetchReply(snapshot=OffsetAndEpoch(9, 1)), 0.0, 0.0)
        made.snapshot_fetched(SnapshotReply(error=code), 0.0)
    else:
        made.fetched(FetchReply(error=code), 0.0, 0.0)


@pytest.mark.parametrize("snapshot", [False, True])
def test_a_refusal_is_an_error_and_tried_again_slowly(*, snapshot: bool) -> None:
    made = checked() if snapshot else cursor()
    answers(made, ErrorCode.inconsistent_cluster_id, snapshot=snapshot)
    refused = refusal(made)
    assert isinstance(refused.error, WrongCluster)
    assert refused.until == REFUSED_RETRY_S
    assert made.next_action(REFUSED_RETRY_S) == Connect(C1)


@pytest.mark.parametrize("snapshot", [False, True])
def test_a_right_that_one_controller_lacks_leaves_the_others_in_use(*, snapshot: bool) -> None:
    """`super.users` is a setting of each controller."""
    made = checked() if snapshot else cursor()
    answers(made, ErrorCode.cluster_authorization_failed, snapshot=snapshot)
    assert made.next_action(0.0) == Connect(C2)
    made.connected(C2)
    made.fetched(FetchReply(error=ErrorCode.cluster_authorization_failed), 0.0, 0.0)
    refused = refusal(made)
    assert isinstance(refused.error, NotAuthorized)
    assert refused.until == REFUSED_RETRY_S
    assert made.next_action(REFUSED_RETRY_S) == Connect(C1)


@pytest.mark.parametrize("kind", [WrongCluster, SpoolDamaged])
def test_what_a_person_must_mend_is_an_error_not_a_wait(kind: type[LiveError]) -> None:
    made = cursor()
    made.failed(kind("fix me"), C1, 0.0)
    assert refusal(made).until == REFUSED_RETRY_S


def test_credentials_that_every_controller_rejects_are_an_error_not_a_wait() -> None:
    made = cursor()
    made.failed(AuthenticationFailed("c1: wrong password"), C1, 0.0)
    assert made.next_action(0.0) == Connect(C2)
    made.failed(AuthenticationFailed("c2: wrong password"), C2, 0.0)
    assert refusal(made).until == REFUSED_RETRY_S
    assert made.next_action(REFUSED_RETRY_S) == Connect(C1)


def test_a_controller_that_rejects_the_credentials_leaves_the_others_in_use() -> None:
    made, asked, now = cursor(), list[Endpoint](), 0.0
    made.failed(ConnectionFailed("c1 died"), C1, now)
    while now < REFUSED_RETRY_S:
        action = made.next_action(now)
        if isinstance(action, Connect):
            asked.append(action.endpoint)
            kind = AuthenticationFailed if action.endpoint == C2 else ConnectionFailed
            made.failed(kind("no"), action.endpoint, now)
        else:
            assert isinstance(action, Pause)
            now = action.until
    assert asked.count(C1) > 2
    assert asked.count(C2) == 1, "each further attempt may lock the account"


# Divergence


@pytest.mark.parametrize(
    "diverging", [OffsetAndEpoch(3, 1), OffsetAndEpoch(5, 0), OffsetAndEpoch(9, 0)]
)
def test_a_divergence_from_a_known_epoch_means_committed_records_were_lost(
    diverging: OffsetAndEpoch,
) -> None:
    made = cursor()
    assert made.fetched(FetchReply(diverging=diverging), 0.0, 0.0) is None
    assert made.next_action(0.0) == Fetch(1, 1, 1)
    assert made.fetched(SAME_BEGINNING, 0.0, 0.0) is None
    told = refusal(made, 1e9)
    assert isinstance(told.error, CommittedLogDiverged)
    assert told.until is None


def test_a_guessed_epoch_is_corrected_when_nothing_spooled_is_in_question() -> None:
    made = cursor(at(5, None))
    assert made.fetched(FetchReply(diverging=OffsetAndEpoch(5, 0)), 0.0, 0.0) is None
    assert isinstance(made.next_action(0.0), Pause)
    assert made.next_action(1.0) == Fetch(0, 5, 0)


def test_a_guessed_epoch_does_not_excuse_a_log_that_ends_below_the_spool() -> None:
    made = cursor(at(5, None))
    made.fetched(FetchReply(diverging=OffsetAndEpoch(4, 0)), 0.0, 0.0)
    made.next_action(0.0)
    made.fetched(SAME_BEGINNING, 0.0, 0.0)
    assert isinstance(refusal(made).error, CommittedLogDiverged)


# Snapshots


def test_a_snapshot_is_fetched_by_position_and_the_log_goes_on_behind_it() -> None:
    made = checked()
    snapshot = OffsetAndEpoch(20, 2)
    assert made.fetched(FetchReply(snapshot=snapshot), 0.0, 0.0) == BeginSnapshot(snapshot)
    assert made.next_action(0.0) == FetchSnapshot(1, snapshot, 0)
    first = made.snapshot_fetched(SnapshotReply(size=5, position=0, content=b"abc"), 0.0)
    assert first == SnapshotPart(b"abc", complete=False)
    assert made.next_action(0.0) == FetchSnapshot(1, snapshot, 3)
    last = made.snapshot_fetched(SnapshotReply(size=5, position=3, content=b"de"), 0.0)
    assert last == SnapshotPart(b"de", complete=True)
    assert made.next_action(0.0) == Fetch(2, 20, 2)


def test_a_snapshot_is_taken_if_the_log_lost_its_beginning() -> None:
    made, snapshot = cursor(), OffsetAndEpoch(20, 2)
    for asked in (Fetch(1, 5, 1), Fetch(1, 1, 1), Fetch(1, 5, 1)):
        assert made.next_action(0.0) == asked
        effect = made.fetched(FetchReply(snapshot=snapshot), 0.0, 0.0)
    assert effect == BeginSnapshot(snapshot)


@pytest.mark.parametrize("code", [ErrorCode.snapshot_not_found, ErrorCode.position_out_of_range])
def test_a_snapshot_that_vanishes_is_started_over_ever_more_slowly(code: ErrorCode) -> None:
    made, now, waits = checked(), 0.0, []
    for _ in range(8):
        made.fetched(FetchReply(snapshot=OffsetAndEpoch(20, 2)), now, 0.0)
        made.snapshot_fetched(SnapshotReply(error=code), now)
        pause = wait(made, now)
        assert pause.reason is not None
        assert "starting over" in pause.reason
        waits.append(round(pause.until - now, 6))
        now = pause.until
        assert made.next_action(now) == Fetch(1, 5, 1)
    assert waits == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]


def test_another_leaders_snapshot_is_never_mixed_in() -> None:
    made = checked()
    made.fetched(FetchReply(snapshot=OffsetAndEpoch(20, 2)), 0.0, 0.0)
    made.snapshot_fetched(SnapshotReply(size=5, position=0, content=b"abc"), 0.0)
    reply = SnapshotReply(error=6, leader=Leader(2, 3), endpoints={2: C2})
    assert made.snapshot_fetched(reply, 0.0) is None
    assert made.next_action(0.0) == Connect(C2)
    made.connected(C2)
    assert made.next_action(0.0) == Fetch(3, 5, 1)


@pytest.mark.parametrize(
    "reply",
    [SnapshotReply(size=5, position=0), SnapshotReply(size=5, position=1, content=b"x")],
)
def test_a_snapshot_reply_that_brings_nothing_is_turned_away(reply: SnapshotReply) -> None:
    made = checked()
    made.fetched(FetchReply(snapshot=OffsetAndEpoch(20, 2)), 0.0, 0.0)
    assert made.snapshot_fetched(reply, 0.0) is None
    assert made.next_action(0.0) == Connect(C2)


@pytest.mark.parametrize("snapshot", [OffsetAndEpoch(4, 1), OffsetAndEpoch(5, 2)])
def test_a_snapshot_that_leads_back_means_committed_records_were_lost(
    snapshot: OffsetAndEpoch,
) -> None:
    made = cursor()
    made.fetched(FetchReply(snapshot=snapshot), 0.0, 0.0)
    made.next_action(0.0)
    made.fetched(SAME_BEGINNING, 0.0, 0.0)
    assert isinstance(refusal(made).error, CommittedLogDiverged)


def test_a_snapshot_that_ends_here_tells_an_unknown_epoch() -> None:
    made = cursor(at(5, None))
    made.fetched(FetchReply(snapshot=OffsetAndEpoch(5, 2)), 0.0, 0.0)
    assert made.next_action(1.0) == Fetch(2, 5, 2)


# The spool's side


def test_what_could_not_be_spooled_is_fetched_again() -> None:
    made = cursor()
    made.fetched(FetchReply(high_watermark=9, records=log(2, start=5)), 0.0, 0.0)
    made.resume(AT_5, 0.0)
    assert made.next_action(0.0) == Fetch(1, 5, 1)


def test_a_full_disk_is_tried_ever_more_slowly_until_records_are_stored() -> None:
    made, now = cursor(), 0.0
    records = FetchReply(high_watermark=9, records=log(2, start=5))

    def fail() -> float:
        assert isinstance(made.fetched(records, now, 0.0), Append)
        made.resume(AT_5, now, "the spool cannot be written: No space left on device")
        return wait(made, now).until

    waits = []
    for _ in range(30):
        until = fail()
        waits.append(round(until - now, 6))
        now = until
        assert made.next_action(now) == Fetch(1, 5, 1)
    assert waits == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, *[5.0] * 24]
    assert isinstance(made.fetched(records, now, 0.0), Append)
    made.progressed()
    assert made.next_action(now) == Fetch(1, 7, 1)
    made.resume(AT_5, now)
    assert round(fail() - now, 6) == 0.1

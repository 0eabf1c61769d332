"""How far a move is: the states of Kafka's tool, and the metadata log's in KRaft mode."""

from typing import Any

import pytest

from migration.image.summary import Mode
from migration.metadata.directory_ids import to_text
from migration.metadata.replica_state import ReplicaState
from migration.moves.verify import Progress, Verified, verify
from migration.observed.probed import Broker, LogDir, MetaProperties, Unknown
from migration.what_if import Assignment, Situation
from tests.migration.moves.brokers import D0, D1, D2, at, broker, log_dir, topics

T = at("t-0")
ID0, ID1 = to_text(b"0123456789abcdef"), to_text(b"fedcba9876543210")
META = (
    MetaProperties(path=D0, node_id=1, directory_id=ID0),
    MetaProperties(path=D1, node_id=1, directory_id=ID1),
)


def now(there: Broker, mode: Mode | None = Mode.ZOOKEEPER, **given: Any) -> Situation:
    placed = topics({"t-0": (1,)}, frozenset({1}))
    return Situation(broker=1, topics=placed, brokers={1: there}, mode=mode, **given)


def one(situation: Situation) -> Verified:
    """T, whose target is D1."""
    (found,) = verify({T: D1}, situation)
    return found


@pytest.mark.parametrize(
    ("log_dirs", "progress"),
    [
        ((log_dir(D0), log_dir(D1, {"t-0": 5})), Progress.COMPLETED),
        ((log_dir(D0, {"t-0": 5}), log_dir(D1, futures={"t-0": 3})), Progress.MOVING),
        (
            (log_dir(D0, {"t-0": 5}), log_dir(D1), log_dir(D2, futures={"t-0": 3})),
            Progress.MOVING_ELSEWHERE,
        ),
        ((log_dir(D0, futures={"t-0": 3}), log_dir(D1, {"t-0": 5})), Progress.MOVING_ELSEWHERE),
        ((log_dir(D0, {"t-0": 5}), log_dir(D1)), Progress.NOT_MOVING),
        ((log_dir(D0, error=56), log_dir(D1)), Progress.MISSING),
        ((log_dir(D0), log_dir(D1)), Progress.MISSING),
    ],
)
def test_the_disks_decide_as_for_kafkas_tool(
    log_dirs: tuple[LogDir, ...], progress: Progress
) -> None:
    """KIP-113, "How to reassign replica ...": verified by DescribeLogDirs (LogDirMoveState)."""
    found = one(now(broker(1, *log_dirs)))
    assert found.progress is progress
    if progress is Progress.MOVING:
        assert (found.path, found.future, found.lag) == (D0, D1, 3)


def test_an_offline_directory_is_named() -> None:
    """KIP-113, "Handle failure that happens ...": on a bad directory the replica is offline."""
    found = one(now(broker(1, log_dir(D0, error=56), log_dir(D1))))
    assert found.why == "it is in no online directory of broker 1; not online: /d0 (error 56)"


def test_a_copy_in_an_offline_target_may_resume() -> None:
    """KIP-113, "Handle failure that happens ...": a broker resumes the copies that it finds."""
    found = one(now(broker(1, log_dir(D0, {"t-0": 5}), log_dir(D1, error=56))))
    assert (found.progress, found.target_error) == (Progress.NOT_MOVING, 56)
    assert found.why is not None
    assert found.why.startswith("it does not move: /d1 is not online (error 56)")


def test_a_silent_broker_is_unknown() -> None:
    found = one(now(Broker(id=1, log_dirs=Unknown("b1:9092 refused"))))
    assert (found.progress, found.why) == (Progress.UNKNOWN, "b1:9092 refused")


def kraft(recorded: Any) -> Situation:
    there = Broker(
        id=1, log_dirs=(log_dir(D0, {"u-0": 5}), log_dir(D1, {"t-0": 5})), meta=META, release=(3, 9)
    )
    return now(there, Mode.KRAFT, assignments=recorded)


def assigned(directory: str) -> Assignment:
    return Assignment(state=ReplicaState.ASSIGNED, directory=directory)


def test_in_kraft_mode_the_metadata_log_has_the_directory_too() -> None:
    """KIP-858, "Intra-broker replica movement": the controller records the new directory."""
    found = one(kraft({T: assigned(ID1)}))
    assert found.progress is Progress.COMPLETED
    assert (found.directory, found.recorded) == (ID1, ID1)
    other = one(kraft({T: assigned(ID0)}))
    assert other.progress is Progress.NOT_RECORDED
    assert (other.directory, other.recorded) == (ID1, ID0)


@pytest.mark.parametrize(
    ("recorded", "words"),
    [(Unknown("start `kraftgate run`"), "start `kraftgate run`"), ({}, "does not list it")],
)
def test_without_the_metadata_log_nothing_is_completed(recorded: Any, words: str) -> None:
    found = one(kraft(recorded))
    assert found.progress is Progress.UNKNOWN
    assert found.why is not None
    assert words in found.why


def test_an_unknown_mode_completes_nothing() -> None:
    found = one(now(broker(1, log_dir(D1, {"t-0": 5})), None))
    assert found.progress is Progress.UNKNOWN


def test_a_moved_replica_is_no_evidence_of_the_id() -> None:
    """Else a target that only has moved replicas would have the id that they came from."""
    alone = broker(1, log_dir(D0), log_dir(D1, {"t-0": 5}))
    found = one(now(alone, Mode.KRAFT, assignments={T: assigned(ID0)}))
    assert found.progress is Progress.UNKNOWN
    assert "the id of /d1 is not known here" in str(found.why)
    with_another = broker(1, log_dir(D0), log_dir(D1, {"t-0": 5, "u-0": 5}))
    recorded = {T: assigned(ID1), at("u-0"): assigned(ID1)}
    assert one(now(with_another, Mode.KRAFT, assignments=recorded)).progress is Progress.COMPLETED

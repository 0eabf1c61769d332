"""What a broker's replies become, and what its refusals are called."""

import datetime
import uuid
from importlib import import_module
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from kio.static.primitive import i32Timedelta

from streams.kafka import node
from streams.kafka.broker_values import ClusterView, LogDirAnswer, ReplicaPlace
from streams.kafka.errors import ConnectionFailed, NotAuthorized, ReplyDamaged, RequestRefused
from streams.kafka.node import LATEST, Node
from streams.log_dirs.poll import BrokerPolls, PollTask
from streams.net.endpoint import Endpoint
from streams.net.errors import LiveError
from streams.net.listener import Listener

AT = Endpoint("b1", 9092)
NO_TIME = i32Timedelta.parse(datetime.timedelta())


class Scripted(Node):
    """A node that returns its replies in turn, and keeps the requests."""

    def __init__(self) -> None:
        self.endpoint = AT
        self._reply_timeout_ms = 0
        self.versions = {3: 12, 2: 7, 34: 2, 35: 4}
        self.replies: list[Any] = []
        self.asked: list[Any] = []

    def version(self, api_key: int) -> int:
        return self.versions[api_key]

    def __exit__(self, *_: object) -> None:
        pass

    def ask(self, request: Any, **_: int) -> Any:
        self.asked.append(request)
        return self.replies.pop(0)


@pytest.fixture
def scripted() -> Scripted:
    return Scripted()


def kinds(api: str, version: int) -> Any:
    return import_module(f"kio.schema.{api}.v{version}.response")


def described(version: int, error: ErrorCode = ErrorCode.none, **sizes: int) -> Any:
    of = kinds("describe_log_dirs", version)
    partition = of.DescribeLogDirsPartition(
        partition_index=3, partition_size=70, offset_lag=2, is_future_key=True
    )
    topic = of.DescribeLogDirsTopic(name="t", partitions=(partition,))
    result = of.DescribeLogDirsResult(
        error_code=ErrorCode.none, log_dir="/a", topics=(topic,), **sizes
    )
    results = () if error else (result,)
    return of.DescribeLogDirsResponse(throttle_time=NO_TIME, error_code=error, results=results)


def test_a_log_directory_with_its_volume(scripted: Scripted) -> None:
    """KIP-113, "Create DescribeLogDirsRequest" and "Create DescribeLogDirsResponse".

    The volume is of KIP-827.
    """
    scripted.replies = [described(4, total_bytes=100, usable_bytes=-1)]
    replicas = (ReplicaPlace("t", 3, 70, 2, True),)
    assert scripted.log_dirs() == (LogDirAnswer("/a", 0, 100, None, replicas),)
    assert scripted.asked[0].topics is None


def test_a_broker_before_version_4_tells_no_volume(scripted: Scripted) -> None:
    scripted.versions = {35: 3}
    scripted.replies = [described(3)]
    (found,) = scripted.log_dirs()
    assert (found.total_bytes, found.usable_bytes) == (None, None)


@pytest.mark.parametrize(
    ("code", "kind", "said"),
    [
        (
            ErrorCode.cluster_authorization_failed,
            NotAuthorized,
            "b1:9092: DescribeLogDirs needs DESCRIBE on CLUSTER",
        ),
        (
            ErrorCode.unknown_server_error,
            RequestRefused,
            "b1:9092 answers DescribeLogDirs with UNKNOWN_SERVER_ERROR (-1)",
        ),
    ],
)
def test_a_refusal_is_typed(
    scripted: Scripted, code: ErrorCode, kind: type[LiveError], said: str
) -> None:
    """Readers put in front that the broker does not describe its log directories."""
    scripted.replies = [described(4, code)]
    with pytest.raises(kind) as caught:
        scripted.log_dirs()
    assert str(caught.value) == said


def altered(**codes: int) -> Any:
    of = kinds("alter_replica_log_dirs", 2)
    results = tuple(
        of.AlterReplicaLogDirTopicResult(
            topic_name=topic,
            partitions=(
                of.AlterReplicaLogDirPartitionResult(partition_index=0, error_code=ErrorCode(code)),
            ),
        )
        for topic, code in codes.items()
    )
    return of.AlterReplicaLogDirsResponse(throttle_time=NO_TIME, results=results)


def test_moves_are_requested_by_directory_and_refused_by_replica(scripted: Scripted) -> None:
    """KIP-113, "Create AlterReplicaDirRequest" and "Create AlterReplicaDirResponse".

    Shipped by directory; REPLICA_NOT_AVAILABLE: the broker remembers the directory.
    """
    scripted.replies = [altered(s=0, t=9, u=57)]
    refused = scripted.alter_log_dirs({("t", 0): "/b", ("s", 0): "/b", ("u", 0): "/x"})
    assert refused == {("t", 0): "REPLICA_NOT_AVAILABLE (9)", ("u", 0): "LOG_DIR_NOT_FOUND (57)"}
    (request,) = scripted.asked
    assert [
        (each.path, [(topic.name, topic.partitions) for topic in each.topics])
        for each in request.dirs
    ] == [("/b", [("s", (0,)), ("t", (0,))]), ("/x", [("u", (0,))])]


def test_a_missing_right_to_move_is_named(scripted: Scripted) -> None:
    """KafkaApis.handleAlterReplicaLogDirs: each replica has the error of the cluster."""
    scripted.replies = [altered(s=31, t=31)]
    refused = scripted.alter_log_dirs({("s", 0): "/b", ("t", 0): "/b"})
    assert set(refused.values()) == {"ALTER on CLUSTER is needed"}


def test_a_reply_about_other_replicas_is_damaged(scripted: Scripted) -> None:
    scripted.replies = [altered(s=0)]
    with pytest.raises(ReplyDamaged, match="answered for 1 of 2 replicas"):
        scripted.alter_log_dirs({("s", 0): "/b", ("t", 0): "/b"})


def test_a_view_says_absent_by_none(scripted: Scripted) -> None:
    of = kinds("metadata", 12)
    partition = of.MetadataResponsePartition(
        error_code=ErrorCode.leader_not_available, partition_index=0, leader_id=-1, leader_epoch=4,
        replica_nodes=(1, 2), isr_nodes=(2,),
    )  # fmt: skip
    id_ = uuid.UUID(int=7)
    topics = (
        of.MetadataResponseTopic(
            error_code=ErrorCode.none, name="t", topic_id=id_, partitions=(partition,)
        ),
        of.MetadataResponseTopic(
            error_code=ErrorCode.topic_authorization_failed, name="x", topic_id=None, partitions=()
        ),
    )
    broker = of.MetadataResponseBroker(node_id=1, host="b1", port=9092)
    scripted.replies = [
        of.MetadataResponse(throttle_time=NO_TIME, brokers=(broker,), cluster_id="c", topics=topics)
    ]
    view = scripted.metadata()
    assert view.brokers == {1: Endpoint("b1", 9092)}
    assert view.errors == {"x": 29}
    found = view.partitions["t", 0]
    assert (found.leader, found.leader_epoch, found.topic_id) == (None, 4, id_.hex)
    assert [each.partition for each in view.hosted_by(2)] == [0]
    assert view.led_by(2) == ()


def test_many_partitions_are_asked_for_in_parts(
    scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node, "_PARTITIONS_MAX", 2)
    of = kinds("list_offsets", 7)

    def reply(*partitions: int) -> Any:
        told = tuple(
            of.ListOffsetsPartitionResponse(
                partition_index=each, error_code=ErrorCode.none, offset=each * 10
            )
            for each in partitions
        )
        topic = of.ListOffsetsTopicResponse(name="t", partitions=told)
        return of.ListOffsetsResponse(throttle_time=NO_TIME, topics=(topic,))

    scripted.replies = [reply(0, 1), reply(2)]
    found = scripted.offsets([("t", each) for each in (2, 0, 1)], LATEST)
    assert [(each.partition, each.offset, each.leader_epoch) for each in found] == [
        (0, 0, None),
        (1, 10, None),
        (2, 20, None),
    ]
    assert scripted.offsets([], LATEST) == ()


def test_an_error_that_nobody_foresaw_is_a_reply_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("streams.log_dirs.poll.Node", fail)
    asker = BrokerPolls(Listener((AT,)), lambda _: None)
    view = ClusterView("c", {}, {}, {})
    reply = asker.ask(PollTask(1, Endpoint("b1.invalid", 9092), view, "c", ()))
    assert isinstance(reply.failure, ConnectionFailed)
    assert "ZeroDivisionError" in str(reply.failure)
    with pytest.raises(ConnectionFailed, match="ZeroDivisionError"):
        asker.discover()


@pytest.mark.parametrize("moved", [{}, {1: Endpoint("b9.invalid", 9092)}], ids=str)
def test_a_broker_whose_address_another_one_has_taken_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, scripted: Scripted, moved: dict[int, Endpoint]
) -> None:
    monkeypatch.setattr("streams.log_dirs.poll.Node", lambda *_, **__: scripted)
    taken = ClusterView("c", {**moved, 4: Endpoint("b1.invalid", 9092)}, {}, {})
    monkeypatch.setattr(Scripted, "metadata", lambda _: taken)
    asker = BrokerPolls(Listener((AT,)), lambda _: None)
    for view in (taken, None):
        reply = asker.ask(PollTask(1, Endpoint("b1.invalid", 9092), view, "c", ()))
        assert reply.log_dirs is None
        assert "broker 4" in str(reply.failure)


def test_of_the_topics_that_are_not_listed_those_that_do_not_exist_are_named(
    monkeypatch: pytest.MonkeyPatch, scripted: Scripted
) -> None:
    """KafkaApis.handleTopicMetadataRequest: one that may not be described has another error."""
    of = kinds("metadata", 12)
    at = of.MetadataResponsePartition(
        error_code=ErrorCode.none, partition_index=0, leader_id=1, leader_epoch=4,
        replica_nodes=(1,), isr_nodes=(1,),
    )  # fmt: skip

    def reply(**codes: ErrorCode) -> object:
        topics = tuple(
            of.MetadataResponseTopic(
                error_code=code, name=name, topic_id=None, partitions=() if code else (at,)
            )
            for name, code in codes.items()
        )
        return of.MetadataResponse(throttle_time=NO_TIME, brokers=(), cluster_id="c", topics=topics)

    hidden, gone = ErrorCode.topic_authorization_failed, ErrorCode.unknown_topic_or_partition
    scripted.replies = [
        reply(t=ErrorCode.none),
        reply(hidden=hidden, gone=gone),
        described(4, total_bytes=100, usable_bytes=-1),
    ]
    monkeypatch.setattr("streams.log_dirs.poll.Node", lambda *_, **__: scripted)
    task = PollTask(1, AT, None, "c", (), frozenset({"t", "hidden", "gone"}))
    found = BrokerPolls(Listener((AT,)), lambda _: None).ask(task)
    assert found.view is not None
    assert found.view.deleted == {"gone"}
    request = scripted.asked[1]
    assert [each.name for each in request.topics] == ["gone", "hidden"]


@pytest.mark.parametrize("listed", [(), (1,), (1, 4)], ids=str)
def test_one_that_is_not_listed_for_a_while_or_still_is_answers(
    monkeypatch: pytest.MonkeyPatch, scripted: Scripted, listed: tuple[int, ...]
) -> None:
    monkeypatch.setattr("streams.log_dirs.poll.Node", lambda *_, **__: scripted)
    asker = BrokerPolls(Listener((AT,)), lambda _: None)
    scripted.replies = [described(4, total_bytes=100, usable_bytes=-1)]
    view = ClusterView("c", {e: Endpoint(f"b{e}.invalid", 9092) for e in listed}, {}, {})
    reply = asker.ask(PollTask(1, Endpoint("b1.invalid", 9092), view, "c", ()))
    assert reply.failure is None
    assert reply.log_dirs is not None

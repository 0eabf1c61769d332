"""What librdkafka answers between two records of a transaction; a real topic: test_two_clusters."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from streams.kafka import topic_writer
from streams.kafka.errors import ConnectionFailed, NotAuthorized, RequestRefused
from streams.kafka.topic_writer import TopicWriter, WriterFenced
from streams.net.endpoint import Endpoint
from streams.net.security import Security
from tests.support.polling import PATIENCE_S

RECORDS = [(b"prod", b"%d" % number) for number in range(5)]


class _Consumer:
    """In place of a consumer group."""

    def __init__(self, _: dict[str, Any]) -> None:
        """Take the place of a Consumer."""

    def consumer_group_metadata(self) -> None:
        """Return nothing: `_Producer` ignores it."""

    def poll(self, _: float) -> None:
        """Return nothing."""

    def close(self) -> None:
        """Do nothing."""


class _Producer:
    """Refuses the third record, then the position; None: it takes the position."""

    def __init__(self, record: int, offsets: int | None) -> None:
        self._record, self._offsets = record, offsets
        self.produced: list[bytes] = []
        self.committed = False
        self.hangs = threading.Event()
        self.hangs.set()

    def begin_transaction(self) -> None:
        """Accept it."""

    def produce(self, _topic: str, value: bytes, _key: bytes, **_: Callable[..., None]) -> None:
        if len(self.produced) == 2:
            raise KafkaException(KafkaError(self._record))
        self.produced.append(value)

    def poll(self, _: float) -> int:
        return 0

    def flush(self, _: float) -> int:
        return 0

    def send_offsets_to_transaction(self, _: list[TopicPartition], *__: object) -> None:
        self.hangs.wait(PATIENCE_S)
        if self._offsets is not None:
            raise KafkaException(KafkaError(self._offsets, txn_requires_abort=True))

    def commit_transaction(self, _: float) -> None:
        self.committed = True


@pytest.mark.parametrize(
    ("record", "offsets", "raised", "says"),
    [
        (
            KafkaError._STATE,
            KafkaError.TOPIC_AUTHORIZATION_FAILED,
            NotAuthorized,
            "WRITE and DESCRIBE on the topic is needed",
        ),
        (
            KafkaError._STATE,
            KafkaError.UNKNOWN_TOPIC_OR_PART,
            RequestRefused,
            "Unknown topic or partition",
        ),
        (KafkaError._FATAL, KafkaError._FENCED, WriterFenced, "another process writes as name"),
        (KafkaError.MSG_SIZE_TOO_LARGE, None, RequestRefused, "Message size too large"),
    ],
)
def test_a_record_that_is_refused_ends_the_transaction_with_its_cause(
    record: int,
    offsets: int | None,
    raised: type[Exception],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A transaction fails while records are still handed over: produce() names only its state."""
    producer = _Producer(record, offsets)
    monkeypatch.setattr(topic_writer, "Producer", lambda _: producer)
    monkeypatch.setattr(topic_writer, "Consumer", _Consumer)
    writer = TopicWriter([Endpoint("k1", 9092)], Security(), "kraftgate", "name")
    with pytest.raises(raised, match=says):
        writer.write(RECORDS, "position", 5)
    assert len(producer.produced) == 2
    assert not producer.committed


def test_what_ends_a_producer_does_not_keep_the_writer_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without the right on its id, each of its calls raises that; the next writer may have it."""
    closed = []

    class Fatal:
        def __init__(self, *_: object) -> None:
            """Take the place of a Producer."""

        def abort_transaction(self, _: float) -> None:
            raise KafkaException(KafkaError(KafkaError._FATAL))

        def close(self) -> None:
            closed.append(self)
            raise KafkaException(KafkaError(KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))

    monkeypatch.setattr(topic_writer, "Producer", Fatal)
    monkeypatch.setattr(topic_writer, "Consumer", Fatal)
    TopicWriter([Endpoint("kafka.example", 9092)], Security(), "events", "name").close()
    assert len(closed) == 2


def test_a_position_that_librdkafka_never_sends_ends_the_writer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its issue 5456: the call ignores its time-out. A real broker hangs it only now and then."""
    producer = _Producer(KafkaError._STATE, None)
    producer.hangs.clear()
    monkeypatch.setattr(topic_writer, "Producer", lambda _: producer)
    monkeypatch.setattr(topic_writer, "Consumer", _Consumer)
    monkeypatch.setattr(topic_writer, "_HANGS_S", 0.01)
    writer = TopicWriter([Endpoint("k1", 9092)], Security(), "kraftgate", "name")
    with pytest.raises(ConnectionFailed, match="kraftgate at k1:9092: "):
        writer.write(RECORDS[:1], "position", 5)
    writer.close()  # asks the producer for nothing: it has no such method
    assert not producer.committed
    producer.hangs.set()

"""Writes records to a topic exactly once, by a transactional producer.

The writer's position is part of each transaction: it is the metadata of an offset that the
transaction commits for a consumer group of its own (KIP-98, TxnOffsetCommit). After a crash the
next writer goes on from there, and the producer of the previous one is fenced by its transactional
id.
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from streams.kafka.errors import RequestRefused
from streams.kafka.librdkafka import Clients, calling
from streams.net.endpoint import Endpoint
from streams.net.security import Security
from streams.process.background import begin

_ANSWER_S_MAX: Final = 15.0
_HANGS_S: Final = 2 * _ANSWER_S_MAX
_TRANSACTION_MS: Final = 60_000
_DENIED: Final = {
    # Committing the position needs READ (KafkaApis.handleTxnOffsetCommitRequest).
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "READ, WRITE and DESCRIBE on the topic",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "READ on the group",
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "WRITE and DESCRIBE on the transactional id",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "IDEMPOTENT_WRITE on CLUSTER",
}

T = TypeVar("T")


class WriterFenced(Exception):
    """Another process writes under the same transactional id."""


class TopicWriter:
    """A connected writer. Not thread-safe. After any error, close it and connect another one.

    Every request raises AuthenticationFailed if the listener rejects the credentials, and
    ConnectionFailed, NotAuthorized or RequestRefused if there is no answer, or an error.
    """

    def __init__(
        self, bootstrap: Sequence[Endpoint], security: Security, topic: str, name: str
    ) -> None:
        """Prepare the clients; they connect at `connect`.

        `name`: the transactional id, and the consumer group whose offset is the position.

        Raises:
            AuthenticationFailed: a secret cannot be read.
            RequestRefused: librdkafka does not support the security settings.
        """
        self._topic, self._name = topic, name
        self._failed: str | None = None
        self._hangs = False
        self._clients = Clients(bootstrap, security)
        self._producer = self._clients.made(
            Producer,
            {"transactional.id": name, "transaction.timeout.ms": _TRANSACTION_MS, "linger.ms": 20},
        )
        self._consumer = self._clients.made(
            Consumer, {"group.id": name, "enable.auto.commit": False}
        )

    def cluster_id(self) -> str:
        """Return the id of the cluster, which must have the topic."""
        found = self._asked(lambda: self._consumer.list_topics(self._topic, timeout=_ANSWER_S_MAX))
        error = found.topics[self._topic].error
        if error is not None:
            raise self._as_ours(KafkaException(error))
        return str(found.cluster_id)

    def topic_id(self) -> str:
        """Return the topic's id; a topic that is created again has another one."""
        admin = self._clients.made(AdminClient)
        asked = admin.describe_topics(TopicCollection([self._topic]), request_timeout=_ANSWER_S_MAX)
        return str(self._asked(asked[self._topic].result).topic_id)

    def connect(self) -> str | None:
        """Fence an earlier writer; return the position of its last transaction; None: none."""
        self._asked(lambda: self._producer.init_transactions(_ANSWER_S_MAX))
        place = [TopicPartition(self._topic, 0)]
        (found,) = self._asked(lambda: self._consumer.committed(place, timeout=_ANSWER_S_MAX))
        return found.metadata or None

    def write(self, records: Iterable[tuple[bytes, bytes]], position: str, number: int) -> None:
        """Write keys and values and the position in one transaction.

        `number`: the offset that the group shows; never lower than the last one. After any error
        nothing was written, or an answer is missing; the position that `connect` of the next writer
        returns is right.

        Raises:
            WriterFenced: another writer has taken over.
        """
        self._failed = None
        self._asked(self._producer.begin_transaction)
        refused: KafkaException | None = None
        try:
            for key, value in records:
                self._produce(key, value)
        except KafkaException as error:
            refused = error
        self._asked(lambda: self._producer.flush(_ANSWER_S_MAX))
        place = TopicPartition(self._topic, 0, number, metadata=position)
        group = self._consumer.consumer_group_metadata()
        self._asked(lambda: self._send_offset(place, group))
        if refused is not None:  # the transaction had not failed: this record cannot be written
            raise self._as_ours(refused) from refused
        self._asked(lambda: self._producer.commit_transaction(_ANSWER_S_MAX))
        if self._failed is not None:
            raise RequestRefused(f"{self._topic} at {self._clients.where}: {self._failed}")

    def close(self) -> None:
        """Abort an open transaction, and close the connections."""
        with suppress(KafkaException):
            self._consumer.close()
        if self._hangs:  # whatever it is asked would wait, too; the next writer fences it
            return
        with suppress(KafkaException), calling():  # there may be no transaction, or no connection
            self._producer.abort_transaction(_ANSWER_S_MAX)
        with suppress(KafkaException), calling(), warnings.catch_warnings():
            # After a fatal error it raises that error; it warns if it cannot abort a transaction.
            warnings.simplefilter("ignore")
            self._producer.close()

    def _send_offset(self, place: TopicPartition, group: object) -> None:
        """Add the position to the transaction, in a thread that is abandoned if it hangs.

        librdkafka ignores the time-out of this call if the group's coordinator is down (its issue
        5456), and then may wait for ever.
        """

        def send() -> KafkaException | None:
            try:
                with calling():
                    self._producer.send_offsets_to_transaction([place], group, _ANSWER_S_MAX)
            except KafkaException as error:
                return error
            return None

        thread, ended = begin("publish-position", send)
        thread.join(_HANGS_S)
        self._hangs = not ended
        error = ended[0] if ended else KafkaException(KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001  # public
        if error is not None:
            raise error

    def _produce(self, key: bytes, value: bytes) -> None:
        while True:
            with calling():
                try:
                    self._producer.produce(self._topic, value, key, on_delivery=self._delivered)
                except BufferError:  # as many as librdkafka buffers: wait for some
                    self._producer.poll(1.0)
                else:
                    self._producer.poll(0)
                    return

    def _delivered(self, error: KafkaError | None, _message: Any) -> None:  # noqa: ANN401
        if error is not None:
            self._failed = str(error.str())

    def _asked(self, ask: Callable[[], T]) -> T:
        try:
            with calling():
                return ask()
        except KafkaException as error:
            raise self._as_ours(error) from error

    def _as_ours(self, error: KafkaException) -> Exception:
        what = f"{self._topic} at {self._clients.where}"
        if error.args[0].code() in (KafkaError._FENCED, KafkaError.PRODUCER_FENCED):  # noqa: SLF001  # documented
            return WriterFenced(f"{what}: another process writes as {self._name}")
        return self._clients.error_of(what, error, _DENIED, self._producer, self._consumer)

"""The lab's requests for topics and records to the brokers, with typed errors and bounded calls."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import TypeVar

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from orchestrator.lab.errors import RequestRefusedError
from orchestrator.lab.kafka.reassignment import reassign

_CALL_S_MAX = 60.0
_PRODUCE_S_MAX = 120.0

T = TypeVar("T")


class Admin:
    """Requests to the brokers of one lab.

    Args:
        bootstrap: The brokers' addresses.
    """

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._config: dict[str, str | int | float | bool] = {
            "bootstrap.servers": bootstrap,
            "log_level": 0,
            # librdkafka requests the controller when it refreshes the metadata, by default every
            # five minutes: too rarely for a cluster that has just started.
            "topic.metadata.refresh.interval.ms": 500,
        }
        self._client: AdminClient | None = None
        self._making = threading.Lock()

    def create_topic(
        self,
        name: str,
        partitions: int,
        replication_factor: int,
        config: Mapping[str, str],
        assignments: Sequence[Sequence[int]] | None,
    ) -> None:
        """Create a topic, with its replicas assigned by Kafka or by `assignments`.

        Raises:
            RequestRefusedError: Kafka refused it.
        """
        topic = (
            NewTopic(name, len(assignments), replica_assignment=list(map(list, assignments)),
                     config=dict(config))
            if assignments is not None
            else NewTopic(name, partitions, replication_factor, config=dict(config))
        )  # fmt: skip
        self._one(f"create topic {name}", lambda admin: admin.create_topics([topic]))

    def delete_topic(self, name: str) -> None:
        """Delete a topic.

        Raises:
            RequestRefusedError: Kafka refused it.
        """
        self._one(f"delete topic {name}", lambda admin: admin.delete_topics([name]))

    def add_partitions(self, name: str, total: int) -> None:
        """Increase a topic's partitions to `total`.

        Raises:
            RequestRefusedError: Kafka refused it.
        """
        asked = [NewPartitions(name, total)]
        self._one(f"add partitions to {name}", lambda admin: admin.create_partitions(asked))

    def reassign(self, moves: Mapping[tuple[str, int], Sequence[int]]) -> None:
        """Begin to move partitions to other brokers; returns once Kafka has accepted.

        Raises:
            RequestRefusedError: Kafka refused one of them.
        """
        reassign(self._bootstrap, moves)

    def isrs(self) -> dict[tuple[str, int], tuple[list[int], list[int], int]]:
        """Return replicas, in-sync replicas and leader (-1: none) of every partition.

        Raises:
            RequestRefusedError: No broker answered.
        """
        listed = self._refusing("list topics", lambda: self._admin().list_topics(timeout=10.0))
        return {
            (name, number): (list(p.replicas), list(p.isrs), p.leader)
            for name, topic in listed.topics.items()
            for number, p in topic.partitions.items()
        }

    def watermarks(self, topic: str, partition: int) -> tuple[int, int]:
        """Return the partition's low and high watermark.

        Raises:
            RequestRefusedError: Its leader did not answer.
        """

        def call() -> tuple[int, int]:
            consumer = Consumer(self._config | {"group.id": "kraftgate-lab"})
            try:
                low, high = consumer.get_watermark_offsets(
                    TopicPartition(topic, partition), timeout=_CALL_S_MAX
                )
            finally:
                consumer.close()
            return low, high

        return self._refusing(f"tell the watermarks of {topic}-{partition}", call)

    def produce(self, topic: str, partition: int, count: int, size_bytes: int) -> None:
        """Write records and return once all in-sync replicas have them.

        Raises:
            RequestRefusedError: A record was not acknowledged.
        """
        failures: list[str] = []
        producer = Producer(
            self._config | {"acks": "all", "linger.ms": 5, "message.timeout.ms": 60_000}
        )
        value = b"x" * size_bytes

        def call() -> int:
            for _ in range(count):
                producer.produce(
                    topic,
                    value,
                    partition=partition,
                    on_delivery=lambda error, _: failures.append(str(error)) if error else None,
                )
                producer.poll(0)
            return int(producer.flush(_PRODUCE_S_MAX))

        what = f"take {count} records for {topic}-{partition}"
        waiting = self._refusing(what, call)
        if failures or waiting:
            raise self._refusal(what, failures[:1] or f"{waiting} without an answer")

    def _admin(self) -> AdminClient:
        with self._making:
            if self._client is None:
                self._client = AdminClient(self._config)
            return self._client

    def _one(self, what: str, ask: Callable[[AdminClient], dict[str, Future[None]]]) -> None:
        def call() -> None:
            self._await_controller()
            for answer in ask(self._admin()).values():
                answer.result(timeout=_CALL_S_MAX)

        self._refusing(what, call)

    def _await_controller(self) -> None:
        """Wait until the brokers name a controller that is one of them; bounded as any call."""
        deadline = time.monotonic() + _CALL_S_MAX
        while True:
            seen = self._admin().list_topics(timeout=_CALL_S_MAX)
            if seen.controller_id in seen.brokers:
                return
            if time.monotonic() > deadline:
                raise TimeoutError(f"the brokers name no controller for {_CALL_S_MAX:.0f} s")
            time.sleep(0.1)

    def _refusing(self, what: str, call: Callable[[], T]) -> T:
        try:
            return call()
        except (KafkaException, BufferError, TimeoutError) as error:
            raise self._refusal(what, error) from error

    def _refusal(self, what: str, why: object) -> RequestRefusedError:
        said = str(why) or f"no answer within {_CALL_S_MAX:.0f} s"
        return RequestRefusedError(
            f"Kafka did not {what}: {said}",
            where=self._bootstrap,
            fix="Are enough brokers up and thawed? See kraftgate lab status.",
        )

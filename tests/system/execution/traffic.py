"""A producer and a consumer that live through a migration: what was acknowledged must arrive."""

import threading
import time
from collections.abc import Callable
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

_EVERY_S: Final = 0.5
_AT_ONCE: Final = 5
"""Records of one partition in one request; a request for each took a third of the brokers' time."""
_POLL_S: Final = 0.2
_ARRIVE_S_MAX: Final = 120.0
_SILENT_S_MAX: Final = 10.0


class Traffic:
    """Numbers, one after the other, to all partitions of a topic; a context manager.

    Acknowledged by all in-sync replicas; the consumer reads everything from the beginning.
    """

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self._topic, self._partitions = topic, partitions
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "acks": "all",
                "enable.idempotence": True,
                "delivery.timeout.ms": 120_000,
                "linger.ms": 5,
            }
        )
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": f"{topic}-reader",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "fetch.min.bytes": 10_000,  # as long as it may: half a second a fetch
            }
        )
        self._next_offsets = dict.fromkeys(range(partitions), 0)
        self._stopping, self._leaving, self._sent = threading.Event(), threading.Event(), 0
        self._acknowledged: set[int] = set()
        self._consumed: set[int] = set()
        self._arrived = threading.Condition()
        self.failed: list[str] = []
        self._threads = [
            threading.Thread(target=self._produce, name="traffic-out", daemon=True),
            threading.Thread(target=self._consume, name="traffic-in", daemon=True),
        ]

    def __enter__(self) -> "Traffic":
        """Begin."""
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End, whatever was missing."""
        self._stopping.set()
        self._leaving.set()
        for each in self._threads:
            each.join(_ARRIVE_S_MAX)
        self._consumer.close()
        self._producer.close()

    def finish(self) -> tuple[set[int], set[int]]:
        """Send no more, and wait until what was acknowledged has come; both sets."""
        self._stopping.set()
        self._threads[0].join(_ARRIVE_S_MAX)
        with self._arrived:
            self._arrived.wait_for(lambda: self._acknowledged <= self._consumed, _ARRIVE_S_MAX)
            return set(self._acknowledged), set(self._consumed)

    def _produce(self) -> None:
        while not self._stopping.wait(_EVERY_S):
            for number in range(self._sent, self._sent + _AT_ONCE):
                self._producer.produce(
                    self._topic,
                    str(number).encode(),
                    partition=self._sent // _AT_ONCE % self._partitions,
                    on_delivery=self._delivered(number),
                )
            self._sent += _AT_ONCE
            self._producer.poll(0)
        self._producer.flush(_ARRIVE_S_MAX)

    def _delivered(self, number: int) -> Callable[[KafkaError | None, Message], None]:
        def told(error: KafkaError | None, _message: Message) -> None:
            if error is None:
                with self._arrived:
                    self._acknowledged.add(number)
                    self._arrived.notify_all()
            else:
                self.failed.append(f"{number}: {error}")

        return told

    def _consume(self) -> None:
        self._assign()
        came_s = time.monotonic()
        while not self._leaving.is_set():  # what is acknowledged last comes after `finish` began
            message = self._consumer.poll(_POLL_S)
            error = None if message is None else message.error()
            if error is not None and error.fatal():
                raise KafkaException(error)
            if message is None or error is not None:
                # A broker that has just started may not know the topic yet. Then librdkafka drops
                # the partitions ("partition count changed from 2 to 0"), once for good.
                if time.monotonic() - came_s > _SILENT_S_MAX:
                    self._assign()
                    came_s = time.monotonic()
                continue
            came_s = time.monotonic()
            self._next_offsets[message.partition() or 0] = (message.offset() or 0) + 1
            with self._arrived:
                self._consumed.add(int(message.value() or b"-1"))
                self._arrived.notify_all()

    def _assign(self) -> None:
        self._consumer.assign(
            [TopicPartition(self._topic, *place) for place in self._next_offsets.items()]
        )

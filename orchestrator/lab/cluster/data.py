"""The part of a lab that has data: topics, records, log directories and metadata logs."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from orchestrator.lab import kafka_requests
from orchestrator.lab.cluster import directories
from orchestrator.lab.cluster.members import LabMembers
from orchestrator.lab.errors import RequestRefusedError, WrongStateError
from streams.kafka.librdkafka import words

_SYNC_S_MAX = 180.0
_TOPIC_S_MAX = 180.0
_DUMP_S_MAX = 120.0
_FEATURES_S_MAX = 180.0
_CALL_S_MAX = 60.0
_LIST_S_MAX = 10.0
_PRODUCE_S_MAX = 120.0
_LOST = {KafkaError._DESTROY_BROKER}  # noqa: SLF001  # public by its documentation
_LOST_MAX = 5
_UNAVAILABLE = "Check that enough brokers run and none is frozen: kraftgate lab status."
_FIXES = {
    KafkaError.TOPIC_ALREADY_EXISTS: (
        "Choose another name, or delete the topic first: kraftgate lab delete-topic."
    ),
    KafkaError.TOPIC_EXCEPTION: "Choose a name that Kafka allows.",
    KafkaError.UNKNOWN_TOPIC_OR_PART: "Check the topic's name.",
    KafkaError.INVALID_CONFIG: "Correct the setting in --config.",
    KafkaError.INVALID_REPLICA_ASSIGNMENT: (
        "Give every partition in --assign the same number of different brokers, all of which run:"
        " kraftgate lab status."
    ),
    KafkaError.INVALID_REPLICATION_FACTOR: (
        "Pass a lower --replication-factor; kraftgate lab status shows which brokers run."
    ),
}
_DUMP_MAIN = "kafka.tools.DumpLogSegments"
_FEATURES_MAIN = "org.apache.kafka.tools.FeatureCommand"


class LabData(LabMembers):
    """Creates and moves data, fails directories, and reads metadata logs.

    A method raises RequestRefusedError if Kafka refuses its request or does not answer, and
    WaitTimedOutError if the result that it waits for does not follow.
    """

    _admin: AdminClient | None = None

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replication_factor: int = 1,
        *,
        config: Mapping[str, str] | None = None,
        assignments: Sequence[Sequence[int]] | None = None,
    ) -> None:
        """Create a topic and wait until each partition has a leader.

        `assignments` has the brokers of each partition, and replaces `partitions` and
        `replication_factor`.
        """
        settings = dict(config or {})
        if assignments is None:
            topic = NewTopic(name, partitions, replication_factor, config=settings)
        else:
            for broker in {each for replicas in assignments for each in replicas}:
                self.broker(broker)  # Kafka accepts any id, and then cannot delete the topic
            partitions = len(assignments)
            replicas = list(map(list, assignments))
            topic = NewTopic(name, partitions, replica_assignment=replicas, config=settings)
        self._change(
            f"create topic {name}",
            lambda admin: admin.create_topics([topic]),
            done=KafkaError.TOPIC_ALREADY_EXISTS,
        )
        self._wait_leaders(name, partitions)

    def delete_topic(self, name: str) -> None:
        """Delete a topic and wait until the brokers no longer list it."""
        self._change(
            f"delete topic {name}",
            lambda admin: admin.delete_topics([name]),
            done=KafkaError.UNKNOWN_TOPIC_OR_PART,
        )
        self._waiter.until(
            f"topic {name} to be gone",
            lambda: all(topic != name for topic, _ in self.isrs()),
            timeout_s=_TOPIC_S_MAX,
            where=self.broker_bootstrap,
        )

    def move_replicas(self, broker: int, moves: Mapping[tuple[str, int], int]) -> None:
        """Begin to move replicas between log directories of one broker.

        `moves` has the index of the target directory of each (topic, partition).
        """
        wanted = {key: self.directory(broker, index) for key, index in moves.items()}
        kafka_requests.move_replicas(self.broker(broker).address, wanted)

    def produce(self, topic: str, partition: int, count: int, *, size_bytes: int = 100) -> None:
        """Write `count` records and return once all in-sync replicas have them."""
        failures: list[KafkaError] = []
        producer = Producer(
            self._client_config
            | {
                "acks": "all",
                "linger.ms": 5,
                "message.timeout.ms": round(_PRODUCE_S_MAX * 900),
                # What a frozen broker took is repeated elsewhere before the records time out.
                "socket.timeout.ms": 20_000,
            }
        )
        what = f"take {count} records for {topic}-{partition}"
        with self._requesting(what):
            for _ in range(count):
                producer.produce(
                    topic,
                    b"x" * size_bytes,
                    partition=partition,
                    on_delivery=lambda error, _: failures.append(error) if error else None,
                )
                producer.poll(0)
            unanswered = producer.flush(_PRODUCE_S_MAX)
        if failures or unanswered:
            why = failures[0].str() if failures else f"{unanswered} without an answer"
            raise self._refused(what, why)

    def wait_in_sync(self, *, timeout_s: float = _SYNC_S_MAX) -> None:
        """Wait until every replica of every partition is in sync and every partition has a leader.

        The replicas of a new partition are in sync before their brokers have made the folders; this
        waits for these, too. The WaitTimedOutError names the leaders of the partitions with a
        replica out of sync.
        """
        self._waiter.until(
            "every replica to be in sync",
            lambda: not self.out_of_sync() and self._has_folders(),
            timeout_s=timeout_s,
            where=self.broker_bootstrap,
            tail=lambda: ", ".join(
                f"{partitions} partitions led by {leader}"
                for leader, partitions in sorted(Counter(self.out_of_sync().values()).items())
            ),
        )

    def out_of_sync(self) -> dict[tuple[str, int], int]:
        """Return the leader of each partition with a replica out of sync; -1: it has none."""
        return {
            key: leader
            for key, (replicas, isr, leader) in self.isrs().items()
            if leader < 0 or set(replicas) != set(isr)
        }

    def _has_folders(self) -> bool:
        """Whether each replica has a folder, as far as the broker's directories have not failed."""
        made: dict[int, set[tuple[str, int]]] = {}
        for broker, member in self.brokers.items():
            if not any(map(directories.is_failed, member.directories)):
                found = (directories.replicas(path) for path in member.directories)
                made[broker] = {replica for each in found for replica in each}
        return all(
            key in made[broker]
            for key, (replicas, _, _) in self.isrs().items()
            for broker in replicas
            if broker in made
        )

    def failed_directories(self, name: str) -> tuple[int, ...]:
        """Return the indexes of the process's directories that were failed and not healed."""
        known = enumerate(self.named(name).directories)
        return tuple(index for index, path in known if directories.is_failed(path))

    def fail_directory(self, broker: int, index: int) -> None:
        """Make every later access below a log directory an error; the broker notices in about 10 s.

        Raises:
            WrongStateError: It has already failed, or does not exist yet.
        """
        directories.fail(self.directory(broker, index))

    def heal_directory(self, broker: int, index: int) -> None:
        """Restore a failed directory; a broker uses it again after its next start.

        Raises:
            WrongStateError: It has not failed, or something else exists in its place.
        """
        directories.heal(self.directory(broker, index))

    def drain_directories(self, broker: int, sources: Iterable[Path]) -> None:
        """Move every replica in these log directories of a broker into its first one, and wait."""
        paths, asked = tuple(sources), set[tuple[str, int]]()

        def empty() -> bool:
            left = {replica for path in paths for replica in directories.replicas(path)}
            if new := left - asked:
                self.move_replicas(broker, dict.fromkeys(new, 0))
                asked.update(new)
            return not left

        self._waiter.until(
            f"broker {broker} to move its replicas into its first directory",
            empty,
            timeout_s=_SYNC_S_MAX,
            where=self.broker(broker).address,
        )

    def metadata_log_dir(self, who: int | str) -> Path:
        """Return the ``__cluster_metadata-0`` directory of a broker or controller.

        Raises:
            WrongStateError: ZooKeeper has none, or it does not exist yet.
        """
        member = self._named(who)
        if not member.metadata_log.is_dir():
            raise WrongStateError(
                f"{member.name} has no metadata log",
                where=str(member.metadata_log),
                fix="Start it in migration or KRaft mode first.",
            )
        return member.metadata_log

    def dump_log(self, path: Path) -> str:
        """Return kafka-dump-log's output for a metadata segment or snapshot.

        Raises:
            LabError: The file is not valid.
        """
        arguments = ("--cluster-metadata-decoder", "--files", str(path))
        return self._java.run_tool(_DUMP_MAIN, arguments, timeout_s=_DUMP_S_MAX)

    def raise_metadata_version(self, release: str) -> None:
        """Run kafka-features upgrade --metadata. It cannot be undone.

        Raises:
            LabError: Kafka refused it.
        """
        arguments = ("--bootstrap-server", self.broker_bootstrap, "upgrade", "--metadata", release)
        self._java.run_tool(_FEATURES_MAIN, arguments, timeout_s=_FEATURES_S_MAX)

    def _wait_leaders(self, name: str, partitions: int) -> None:
        def led() -> bool:
            leaders = [part[2] for (topic, _), part in self.isrs().items() if topic == name]
            return len(leaders) == partitions and min(leaders) >= 0

        self._waiter.until(
            f"{partitions} partitions of {name} to have a leader",
            led,
            timeout_s=_TOPIC_S_MAX,
            where=self.broker_bootstrap,
        )

    def isrs(self) -> dict[tuple[str, int], tuple[list[int], list[int], int]]:
        """Return replicas, in-sync replicas and leader (-1: none) of every partition."""
        with self._requesting("list topics"):
            listed = self._client().list_topics(timeout=_LIST_S_MAX)
        return {
            (name, number): (list(p.replicas), list(p.isrs), p.leader)
            for name, topic in listed.topics.items()
            for number, p in topic.partitions.items()
        }

    @property
    def _client_config(self) -> dict[str, str | int | float | bool]:
        return {
            "bootstrap.servers": self.broker_bootstrap,
            "log_level": 0,
            # librdkafka requests the controller when it refreshes the metadata, by default every
            # five minutes: too rarely for a cluster that has just started.
            "topic.metadata.refresh.interval.ms": 500,
        }

    def _client(self) -> AdminClient:
        with self._changing:
            if self._admin is None:
                self._admin = AdminClient(self._client_config)
            return self._admin

    def _change(
        self, what: str, request: Callable[[AdminClient], dict[str, Future[None]]], done: int
    ) -> None:
        """Send a request to the controller, once the brokers name one of them as the controller.

        A broker that restarts with the request sends no response: the request is sent again. The
        error `done` then shows that the first one was executed.
        """
        lost = 0
        with self._requesting(what):
            while True:
                self._await_controller()
                (answer,) = request(self._client()).values()
                try:
                    answer.result(timeout=_CALL_S_MAX)
                except KafkaException as error:
                    code = error.args[0].code()
                    if code == done and lost:
                        return
                    if code not in _LOST or lost == _LOST_MAX:
                        raise
                    lost += 1
                else:
                    return

    def _await_controller(self) -> None:
        deadline_s = time.monotonic() + _CALL_S_MAX
        while True:
            view = self._client().list_topics(timeout=_CALL_S_MAX)
            if view.controller_id in view.brokers:
                return
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"the brokers name no controller for {_CALL_S_MAX:.0f} s")
            time.sleep(0.1)

    @contextmanager
    def _requesting(self, what: str) -> Iterator[None]:
        try:
            yield
        except KafkaException as error:
            fix = _FIXES.get(error.args[0].code(), _UNAVAILABLE)
            raise self._refused(what, words(error), fix) from error
        except (BufferError, TimeoutError) as error:
            why = str(error) or f"no answer within {_CALL_S_MAX:.0f} s"
            raise self._refused(what, why) from error

    def _refused(self, what: str, why: str, fix: str = _UNAVAILABLE) -> RequestRefusedError:
        return RequestRefusedError(
            f"Kafka did not {what}: {why}", where=self.broker_bootstrap, fix=fix
        )

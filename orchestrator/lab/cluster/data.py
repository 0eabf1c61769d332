"""The part of a lab that has data: topics, records, log directories and metadata logs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from orchestrator.lab.cluster import directories
from orchestrator.lab.cluster.layout import Mode
from orchestrator.lab.cluster.members import LabMembers
from orchestrator.lab.errors import WrongStateError
from orchestrator.lab.kafka import log_dirs
from orchestrator.lab.kafka.admin import Admin

_SYNC_S_MAX = 180.0
_TOPIC_S_MAX = 180.0
_NOTICE_S_MAX = 60.0
_DUMP_S_MAX = 120.0
_CONFIGS_S_MAX = 180.0
_DUMP_MAIN = "kafka.tools.DumpLogSegments"
_CONFIGS_MAIN = "kafka.admin.ConfigCommand"


class LabData(LabMembers):
    """Creates and moves data, fails directories, and reads metadata logs."""

    _admin: Admin | None = None

    @property
    def admin(self) -> Admin:
        """The client for the brokers, without the waits of this class's methods."""
        if self._admin is None:
            self._admin = Admin(self.broker_bootstrap)
        return self._admin

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

        Args:
            name: Its name.
            partitions: Their number; ignored with `assignments`.
            replication_factor: Replicas of each; ignored with `assignments`.
            config: Topic configuration.
            assignments: The brokers of each partition, instead of Kafka's own assignment.

        Raises:
            RequestRefusedError: Kafka refused the request.
            WaitTimedOutError: A partition has no leader.
        """
        self.admin.create_topic(name, partitions, replication_factor, config or {}, assignments)
        wanted = len(assignments) if assignments is not None else partitions
        self._wait_leaders(name, wanted)

    def delete_topic(self, name: str) -> None:
        """Delete a topic and wait until the brokers no longer list it.

        Raises:
            RequestRefusedError: Kafka refused the request.
            WaitTimedOutError: It is still listed.
        """
        self.admin.delete_topic(name)
        self._waiter.until(
            f"topic {name} to go",
            lambda: all(topic != name for topic, _ in self.admin.isrs()) or None,
            timeout_s=_TOPIC_S_MAX,
            where=self.broker_bootstrap,
        )

    def add_partitions(self, name: str, total: int) -> None:
        """Increase a topic's partitions to `total` and wait until each has a leader.

        Raises:
            RequestRefusedError: Kafka refused the request.
            WaitTimedOutError: A partition has no leader.
        """
        self.admin.add_partitions(name, total)
        self._wait_leaders(name, total)

    def reassign(
        self, moves: Mapping[tuple[str, int], Sequence[int]], *, wait: bool = True
    ) -> None:
        """Move partitions to other brokers.

        Args:
            moves: The target brokers of each (topic, partition).
            wait: Whether to wait until the replicas are on the target brokers, in sync.

        Raises:
            RequestRefusedError: Kafka refused one of them.
            WaitTimedOutError: A move did not end.
        """
        self.admin.reassign(moves)
        if not wait:
            return

        def moved() -> bool:
            now = self.admin.isrs()
            return all(
                key in now and now[key][0] == list(to) and set(now[key][1]) == set(to)
                for key, to in moves.items()
            )

        self._waiter.until(
            "the reassignment to end",
            lambda: moved() or None,
            timeout_s=_SYNC_S_MAX,
            where=self.broker_bootstrap,
        )

    def move_replicas(self, broker: int, moves: Mapping[tuple[str, int], int]) -> None:
        """Begin to move replicas between log directories of one broker.

        Args:
            broker: Its id.
            moves: The index of the target directory of each (topic, partition).

        Raises:
            RequestRefusedError: The broker refused one of them, or did not answer.
            WrongStateError: It has no such directory.
        """
        wanted = {key: self.directory(broker, index) for key, index in moves.items()}
        log_dirs.move(self._layout.broker(broker).address, wanted)

    def produce(self, topic: str, partition: int, count: int, *, size_bytes: int = 100) -> None:
        """Write `count` records and return once all in-sync replicas have them.

        Raises:
            RequestRefusedError: A record was not acknowledged.
        """
        self.admin.produce(topic, partition, count, size_bytes)

    def watermarks(self, topic: str, partition: int) -> tuple[int, int]:
        """Return the partition's low and high watermark: the range that can be read.

        Raises:
            RequestRefusedError: Its leader did not answer.
        """
        return self.admin.watermarks(topic, partition)

    def wait_in_sync(self, *, timeout_s: float = _SYNC_S_MAX) -> None:
        """Wait until every replica of every partition is in sync and every partition has a leader.

        Raises:
            WaitTimedOutError: A replica is out of sync; it names the leaders of its partition.
        """
        self._waiter.until(
            "every replica to be in sync",
            lambda: not self.out_of_sync() or None,
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
            for key, (replicas, isr, leader) in self.admin.isrs().items()
            if leader < 0 or set(replicas) != set(isr)
        }

    def directory(self, broker: int, index: int) -> Path:
        """Return a broker's log directory by its index, from 0.

        Raises:
            WrongStateError: There is no such directory.
        """
        return self._layout.directory(broker, index)

    def failed_directories(self, name: str) -> tuple[int, ...]:
        """Return the indexes of the process's directories that were failed and not healed."""
        known = enumerate(self._layout.named(name).directories)
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

    def wait_directory_noticed(
        self, broker: int, index: int, *, timeout_s: float = _NOTICE_S_MAX
    ) -> bool:
        """Wait until a broker has noticed its failed directory.

        Returns:
            True when the broker continues without it; False when it ended because of it, as a
            broker in migration mode does, and any other if it was its last or its metadata
            directory.

        Raises:
            WaitTimedOutError: It has not noticed.
        """
        process = self._process(self._layout.broker(broker).name)
        line = f"Stopping serving logs in dir {self.directory(broker, index)}"
        metadata = index == 0 and self.mode(process.name) is not Mode.ZOOKEEPER
        fatal = metadata or self.mode(process.name) is Mode.MIGRATING

        def noticed() -> str | None:
            if not process.alive:
                return "ended"
            return "goes on" if not fatal and line in process.logged() else None

        found = self._waiter.until(
            f"{process.name} to notice that directory {index} failed",
            noticed,
            timeout_s=timeout_s,
            where=str(process.log),
            tail=process.tail,
        )
        return found == "goes on"

    def metadata_log_dir(self, who: int | str) -> Path:
        """Return the ``__cluster_metadata-0`` directory of a broker or controller.

        Raises:
            WrongStateError: ZooKeeper has none, or it does not exist yet.
        """
        node = self._named(who)
        if not node.metadata_log.is_dir():
            raise WrongStateError(
                f"{node.name} has no metadata log",
                where=str(node.metadata_log),
                fix="Controllers and brokers have one once they were started with KRaft named.",
            )
        return node.metadata_log

    def dump_log(self, path: Path) -> str:
        """Return kafka-dump-log's output for a metadata segment or snapshot.

        Raises:
            ToolFailedError: The file is not valid.
        """
        arguments = ("--cluster-metadata-decoder", "--files", str(path))
        return self._java.run_tool(_DUMP_MAIN, arguments, timeout_s=_DUMP_S_MAX)

    def alter_configs(self, *arguments: str) -> None:
        """Run kafka-configs --alter: settings of brokers and topics, quotas, credentials.

        Args:
            arguments: The entity and the change: ``--entity-type brokers --entity-default
                --add-config ..``

        Raises:
            ToolFailedError: Kafka refused it.
        """
        to = ("--bootstrap-server", self.broker_bootstrap, "--alter")
        self._java.run_tool(_CONFIGS_MAIN, (*to, *arguments), timeout_s=_CONFIGS_S_MAX)

    def _wait_leaders(self, name: str, partitions: int) -> None:
        def led() -> bool:
            leaders = [part[2] for (topic, _), part in self.admin.isrs().items() if topic == name]
            return len(leaders) == partitions and min(leaders) >= 0

        self._waiter.until(
            f"{partitions} partitions of {name} to have a leader",
            lambda: led() or None,
            timeout_s=_TOPIC_S_MAX,
            where=self.broker_bootstrap,
        )

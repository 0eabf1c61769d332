"""Stores the state of the disks in SQLite, together with the facts that are not yet appended.

A poll's result and its facts are committed in one transaction, the facts in an outbox; then they
are appended; then the outbox is emptied. After a kill before the commit, the next poll finds the
same change. After a later kill, the same facts are appended at the next start, possibly a second
time, which changes nothing: each describes a state, not an action. (Appending first would lose a
`ReplicasBack` whose `ReplicasCutOff` was appended and then forgotten.)

`synchronous=FULL`: NORMAL survives kill -9 as well, but after a power loss it may return to a state
before facts that the journal has stored. FULL costs two fsyncs a poll.
"""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from migration.observed.facts import Observation
from streams.kafka.broker_values import BrokerAddress, TopicPartition
from streams.kafka.errors import WrongCluster
from streams.log_dirs import rows
from streams.log_dirs.errors import MemoryUnusable
from streams.log_dirs.remembered import NOTHING, KnownBroker, KnownPartition
from streams.state.fact_codec import pack, unpack
from streams.state.sqlite import connect, errors_as, transaction

_FORGET_MS: Final = 30 * 24 * 3_600_000


class Memory:
    """The stored state of one cluster's disks. Not thread-safe, except for `partition`."""

    def __init__(self, path: Path) -> None:
        """Open the file; create it if it does not exist.

        Raises:
            MemoryUnusable: the file is not a memory, or cannot be created.
        """
        self.path = path
        failed = f"{path} cannot be opened as the disks' memory"
        with errors_as(MemoryUnusable, failed, OSError, KeyError, ValueError):
            self._db = connect(path)
            self._db.executescript(rows.SCHEMA)
            self._brokers = rows.read_brokers(self._db)
            self._addresses = rows.read_addresses(self._db)
            self._partitions = rows.read_partitions(self._db)
            self._cluster_id = rows.read_cluster_id(self._db)
            self._outbox: list[Observation] = [unpack(each) for each in rows.read_outbox(self._db)]

    @property
    def cluster_id(self) -> str | None:
        """The stored cluster id; None before the first answer."""
        return self._cluster_id

    @property
    def addresses(self) -> Mapping[int, BrokerAddress]:
        """The last known address of every broker that was ever in METADATA."""
        return self._addresses

    def broker(self, id_: int) -> KnownBroker:
        """Return the stored state of a broker's disks."""
        return self._brokers.get(id_, NOTHING)

    def partition(self, key: TopicPartition) -> KnownPartition | None:
        """Return the stored state of a partition; None: there is none."""
        return self._partitions.get(key)

    @property
    def partitions(self) -> Mapping[TopicPartition, KnownPartition]:
        """The stored state of all partitions."""
        return self._partitions

    def claim(self, cluster_id: str) -> None:
        """Store the cluster id to which this memory belongs.

        Raises:
            WrongCluster: it belongs to another cluster.
            MemoryUnusable: it cannot be written.
        """
        if self._cluster_id is None:
            with self._transaction():
                self._db.execute("INSERT INTO meta VALUES ('cluster_id', ?)", (cluster_id,))
            self._cluster_id = cluster_id
        elif self._cluster_id != cluster_id:
            raise WrongCluster(
                f"the brokers are of cluster {cluster_id}, {self.path} is of {self._cluster_id}"
            )

    def keep_addresses(self, found: Mapping[int, BrokerAddress]) -> None:
        """Store the brokers' addresses.

        Raises:
            MemoryUnusable: it cannot be written.
        """
        fresh = {id_: each for id_, each in found.items() if self._addresses.get(id_) != each}
        if not fresh:
            return
        with self._transaction():
            rows.write_addresses(self._db, fresh.values())
        self._addresses = {**self._addresses, **fresh}

    def commit(
        self,
        facts: Sequence[Observation],
        brokers: Mapping[int, KnownBroker],
        partitions: Mapping[TopicPartition, KnownPartition],
    ) -> None:
        """Store the changes and their facts, all or nothing.

        Raises:
            MemoryUnusable: it cannot be written; nothing changed then.
        """
        with self._transaction():
            for id_, known in brokers.items():
                rows.write_broker(self._db, id_, self.broker(id_), known)
            rows.write_partitions(self._db, partitions)
            rows.write_outbox(self._db, [pack(each) for each in facts])
        self._brokers.update(brokers)
        self._partitions.update(partitions)
        self._outbox += facts

    def deliver(self, append: Callable[[Sequence[Observation]], object]) -> None:
        """Append the facts of the outbox, then empty it.

        Raises:
            MemoryUnusable: it cannot be emptied: the same facts will be appended once more.
        """
        if not self._outbox:
            return
        append(tuple(self._outbox))
        with self._transaction():
            self._db.execute("DELETE FROM outbox")
        self._outbox = []

    def prune(self, listed: Container[TopicPartition], now_ms: int) -> None:
        """Drop the partitions that are no longer listed and whose end is 30 days old.

        Raises:
            MemoryUnusable: it cannot be written.
        """
        old = [
            key
            for key, each in self._partitions.items()
            if key not in listed and each.seen_ms < now_ms - _FORGET_MS
        ]
        if not old:
            return
        with self._transaction():
            rows.delete_partitions(self._db, old)
        for key in old:
            del self._partitions[key]

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with errors_as(MemoryUnusable, f"{self.path} cannot be written"), transaction(self._db):
            yield

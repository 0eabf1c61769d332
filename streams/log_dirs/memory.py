"""Stores the state of the disks in SQLite, together with the facts that are not yet appended.

A poll's result and its facts are committed in one transaction, the facts in an outbox; then they
are appended; then the outbox is emptied. After a kill before the commit, the next poll finds the
same change. After a later kill, the same facts are appended at the next start, possibly a second
time; `migration.observed.log_dirs` recognizes an equal incident. (Appending first would lose a
`ReplicasBack` whose `ReplicasCutOff` was appended and then forgotten.)

`synchronous=FULL`: NORMAL survives kill -9 as well, but after a power loss it may return to a state
before facts that the journal has stored. FULL costs two fsyncs a poll.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, cast

from migration.observed import probed
from migration.observed.facts import Observation, ReplicasCutOff
from streams.kafka.broker_values import ReplicaPlace, TopicPartition
from streams.kafka.errors import WrongCluster
from streams.log_dirs.errors import MemoryUnusable
from streams.log_dirs.remembered import NOTHING, CutOffDir, KnownBroker, KnownDir, KnownPartition
from streams.net.endpoint import Endpoint
from streams.state.fact_codec import pack, unpack
from streams.state.sqlite import (
    Connection,
    connect,
    connect_readonly,
    errors_as,
    transaction,
)

MEMORY_FILE: Final = Path("disks", "disks.db")
"""In the cluster's directory."""
_FORGET_MS: Final = 30 * 24 * 3_600_000
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS brokers (
    id INTEGER PRIMARY KEY, host TEXT NOT NULL, port INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS log_dirs (
    broker INTEGER NOT NULL, path TEXT NOT NULL, error INTEGER NOT NULL, total_bytes INTEGER,
    usable_bytes INTEGER, seen_ms INTEGER NOT NULL, directory_id TEXT, local INTEGER NOT NULL,
    PRIMARY KEY (broker, path)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS replicas (
    broker INTEGER NOT NULL, path TEXT NOT NULL, topic TEXT NOT NULL, partition INTEGER NOT NULL,
    bytes INTEGER NOT NULL, lag INTEGER NOT NULL, future INTEGER NOT NULL,
    PRIMARY KEY (broker, path, topic, partition, future)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS cut_off (
    broker INTEGER NOT NULL, path TEXT NOT NULL, unreadable INTEGER NOT NULL, `told` BLOB NOT NULL,
    PRIMARY KEY (broker, path)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS partitions (
    topic TEXT NOT NULL, partition INTEGER NOT NULL, replicas INTEGER NOT NULL, topic_id TEXT,
    end_offset INTEGER, seen_ms INTEGER NOT NULL, leader INTEGER NOT NULL,
    leader_epoch INTEGER NOT NULL, PRIMARY KEY (topic, partition)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS outbox (sequence INTEGER PRIMARY KEY, fact BLOB NOT NULL) STRICT;
"""


class Memory:
    """The stored state of one cluster's disks. Not thread-safe, except for `partition`.

    Every method that stores something raises MemoryUnusable if the file cannot be written.

    Attributes:
        cluster_id: The stored cluster id; None before the first answer.
        addresses: The last known address of every broker that was ever in METADATA.
    """

    def __init__(self, path: Path) -> None:
        """Open the file; create it if it does not exist.

        Raises:
            MemoryUnusable: the file is not a memory, or cannot be created.
        """
        self.path = path
        failed = f"{path} cannot be opened as the disks' memory"
        with errors_as(MemoryUnusable, failed, OSError, KeyError, ValueError):
            self._db = connect(path)
            self._db.executescript(_SCHEMA)
            self._brokers = _read_brokers(self._db)
            addresses = self._db.execute("SELECT id, host, port FROM brokers")
            self.addresses: Mapping[int, Endpoint] = {id_: Endpoint(*at) for id_, *at in addresses}
            partitions = self._db.execute("SELECT * FROM partitions")
            self._partitions = {(row[0], row[1]): KnownPartition(*row[2:]) for row in partitions}
            row = self._db.execute("SELECT value FROM meta WHERE key = 'cluster_id'").fetchone()
            self.cluster_id: str | None = row and row[0]
            outbox = self._db.execute("SELECT fact FROM outbox ORDER BY sequence")
            self._outbox: list[Observation] = [unpack(fact) for (fact,) in outbox]

    def broker(self, id_: int) -> KnownBroker:
        return self._brokers.get(id_, NOTHING)

    def cut_off_topics(self) -> frozenset[str]:
        """Return the topics of the replicas that are cut off on any broker."""
        cuts = (cut for each in self._brokers.values() for cut in each.cut_off.values())
        return frozenset(replica.topic for cut in cuts for replica in cut.fact.replicas)

    def partition(self, key: TopicPartition) -> KnownPartition | None:
        return self._partitions.get(key)

    @property
    def partitions(self) -> Mapping[TopicPartition, KnownPartition]:
        return self._partitions

    def claim(self, cluster_id: str) -> None:
        """Store the cluster id to which this memory belongs.

        Raises:
            WrongCluster: it belongs to another cluster.
        """
        if self.cluster_id is None:
            with self._transaction():
                self._db.execute("INSERT INTO meta VALUES ('cluster_id', ?)", (cluster_id,))
            self.cluster_id = cluster_id
        elif self.cluster_id != cluster_id:
            raise WrongCluster(
                f"the brokers belong to cluster {cluster_id}, but {self.path} to {self.cluster_id}"
            )

    def keep_addresses(self, found: Mapping[int, Endpoint]) -> None:
        fresh = {id_: each for id_, each in found.items() if self.addresses.get(id_) != each}
        if not fresh:
            return
        with self._transaction():
            self._db.executemany(
                "INSERT OR REPLACE INTO brokers VALUES (?, ?, ?)",
                [(id_, *each) for id_, each in fresh.items()],
            )
        self.addresses = {**self.addresses, **fresh}

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
                _write_broker(self._db, id_, self.broker(id_), known)
            self._db.executemany(
                "INSERT OR REPLACE INTO partitions VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [(*key, *known) for key, known in partitions.items()],
            )
            self._db.executemany(
                "INSERT INTO outbox (fact) VALUES (?)", [(pack(each),) for each in facts]
            )
        self._brokers.update(brokers)
        self._partitions.update(partitions)
        self._outbox += facts

    def deliver(self, append: Callable[[Sequence[Observation]], object]) -> None:
        """Append the facts of the outbox, then empty it.

        Raises:
            MemoryUnusable: it cannot be emptied: after a restart the same facts are appended again.
        """
        if not self._outbox:
            return
        append(tuple(self._outbox))
        self._outbox = []
        with self._transaction():
            self._db.execute("DELETE FROM outbox")

    def prune(self, listed: Container[TopicPartition], now_ms: int) -> None:
        """Drop the partitions that are no longer listed and whose end is 30 days old."""
        old = [
            key
            for key, each in self._partitions.items()
            if key not in listed and each.seen_ms < now_ms - _FORGET_MS
        ]
        if not old:
            return
        with self._transaction():
            self._db.executemany("DELETE FROM partitions WHERE topic = ? AND partition = ?", old)
        for key in old:
            del self._partitions[key]

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with errors_as(MemoryUnusable, f"{self.path} cannot be written"), transaction(self._db):
            yield


def places_of(cluster_home: Path, broker: int) -> probed.Maybe[Mapping[probed.TopicPartition, str]]:
    """Return the path of each replica as the broker last reported it, without future replicas.

    `cluster_home`: the cluster's directory in the state directory.
    """
    path = cluster_home / MEMORY_FILE
    if not path.is_file():
        return probed.Unknown("no broker's disks were polled yet")
    try:
        with (
            errors_as(MemoryUnusable, f"{path} cannot be read"),
            closing(connect_readonly(path)) as db,
        ):
            rows = db.execute(
                "SELECT topic, partition, path FROM replicas WHERE broker = ? AND future = 0",
                (broker,),
            )
            return {
                probed.TopicPartition(topic, partition): where for topic, partition, where in rows
            }
    except MemoryUnusable as error:
        return probed.Unknown(str(error))


def _read_brokers(db: Connection) -> dict[int, KnownBroker]:
    replicas: defaultdict[tuple[int, str], list[ReplicaPlace]] = defaultdict(list)
    for broker, path, *fields, future in db.execute("SELECT * FROM replicas"):
        replicas[broker, path].append(ReplicaPlace._make((*fields, bool(future))))
    log_dirs: defaultdict[int, dict[str, KnownDir]] = defaultdict(dict)
    for broker, path, *fields, local in db.execute("SELECT * FROM log_dirs"):
        log_dirs[broker][path] = KnownDir._make(
            (*fields, bool(local), tuple(replicas[broker, path]))
        )
    cut_off: defaultdict[int, dict[str, CutOffDir]] = defaultdict(dict)
    for broker, path, unreadable, fact in db.execute("SELECT * FROM cut_off"):
        cut_off[broker][path] = CutOffDir(cast(ReplicasCutOff, unpack(fact)), bool(unreadable))
    return {
        id_: KnownBroker(log_dirs.get(id_, {}), cut_off.get(id_, {}))
        for id_ in log_dirs.keys() | cut_off.keys()
    }


def _write_broker(db: Connection, broker: int, before: KnownBroker, now: KnownBroker) -> None:
    """Store the state of a broker's disks; `before` is the stored one."""
    for path in before.log_dirs.keys() | now.log_dirs.keys():
        was, is_ = before.log_dirs.get(path), now.log_dirs.get(path)
        if was != is_:
            _write_replicas(db, (broker, path), was.replicas if was else (), is_)
            _write_log_dir(db, (broker, path), is_)
    for path in before.cut_off.keys() | now.cut_off.keys():
        cut = now.cut_off.get(path)
        if cut is None:
            db.execute("DELETE FROM cut_off WHERE broker = ? AND path = ?", (broker, path))
        elif cut != before.cut_off.get(path):
            row = (broker, path, cut.unreadable, pack(cut.fact))
            db.execute("INSERT OR REPLACE INTO cut_off VALUES (?, ?, ?, ?)", row)


def _write_log_dir(db: Connection, key: tuple[int, str], now: KnownDir | None) -> None:
    if now is None:
        db.execute("DELETE FROM log_dirs WHERE broker = ? AND path = ?", key)
    else:
        row = (*key, *now[:-1])
        db.execute("INSERT OR REPLACE INTO log_dirs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)


def _write_replicas(
    db: Connection,
    key: tuple[int, str],
    before: Collection[ReplicaPlace],
    now: KnownDir | None,
) -> None:
    was, is_ = set(before), set(now.replicas if now else ())
    db.executemany(
        "DELETE FROM replicas WHERE broker = ? AND path = ? AND topic = ? AND partition = ?"
        " AND future = ?",
        [(*key, each.topic, each.partition, each.future) for each in was - is_],
    )
    db.executemany(
        # A broker may name a replica twice: one row of it is stored.
        "INSERT OR REPLACE INTO replicas VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(*key, *each) for each in is_ - was],
    )

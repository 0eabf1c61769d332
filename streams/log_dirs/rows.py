"""The memory's values as rows. Only differences are written: a poll mostly changes a few sizes."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, cast

from migration.observed.facts import ReplicasCutOff
from streams.kafka.broker_values import BrokerAddress, ReplicaPlace, TopicPartition
from streams.log_dirs.remembered import CutOff, KnownBroker, KnownDir, KnownPartition
from streams.state.fact_codec import pack, unpack
from streams.state.sqlite import Connection

SCHEMA: Final = """
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
    broker INTEGER NOT NULL, path TEXT NOT NULL, unreadable INTEGER NOT NULL, told BLOB NOT NULL,
    PRIMARY KEY (broker, path)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS partitions (
    topic TEXT NOT NULL, partition INTEGER NOT NULL, replicas INTEGER NOT NULL, topic_id TEXT,
    end_offset INTEGER, seen_ms INTEGER NOT NULL, leader INTEGER NOT NULL,
    leader_epoch INTEGER NOT NULL, PRIMARY KEY (topic, partition)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS outbox (sequence INTEGER PRIMARY KEY, fact BLOB NOT NULL) STRICT;
"""


def read_cluster_id(db: Connection) -> str | None:
    """Return the id of the memory's cluster."""
    row = db.execute("SELECT value FROM meta WHERE key = 'cluster_id'").fetchone()
    return None if row is None else row[0]


def read_addresses(db: Connection) -> dict[int, BrokerAddress]:
    """Return every broker's address."""
    return {row[0]: BrokerAddress(*row) for row in db.execute("SELECT id, host, port FROM brokers")}


def read_partitions(db: Connection) -> dict[TopicPartition, KnownPartition]:
    """Return every partition's state."""
    found = db.execute("SELECT * FROM partitions")
    return {(row[0], row[1]): KnownPartition(*row[2:]) for row in found}


def read_outbox(db: Connection) -> list[bytes]:
    """Return the facts that are not yet appended, in order."""
    return [row[0] for row in db.execute("SELECT fact FROM outbox ORDER BY sequence")]


def read_brokers(db: Connection) -> dict[int, KnownBroker]:
    """Return the state of every broker's disks."""
    replicas: defaultdict[tuple[int, str], list[ReplicaPlace]] = defaultdict(list)
    for broker, path, *fields, future in db.execute("SELECT * FROM replicas"):
        replicas[broker, path].append(ReplicaPlace._make((*fields, bool(future))))
    log_dirs: defaultdict[int, dict[str, KnownDir]] = defaultdict(dict)
    for broker, path, *fields, local in db.execute("SELECT * FROM log_dirs"):
        lay = tuple(replicas[broker, path])
        log_dirs[broker][path] = KnownDir._make((*fields, bool(local), lay))
    cut_off: defaultdict[int, dict[str, CutOff]] = defaultdict(dict)
    for broker, path, unreadable, told in db.execute("SELECT * FROM cut_off"):
        fact = cast(ReplicasCutOff, unpack(told))
        cut_off[broker][path] = CutOff(fact, bool(unreadable))
    return {
        id_: KnownBroker(log_dirs.get(id_, {}), cut_off.get(id_, {}))
        for id_ in log_dirs.keys() | cut_off.keys()
    }


def write_addresses(db: Connection, addresses: Iterable[BrokerAddress]) -> None:
    """Store brokers' addresses."""
    db.executemany("INSERT OR REPLACE INTO brokers VALUES (?, ?, ?)", addresses)


def write_partitions(db: Connection, changed: Mapping[TopicPartition, KnownPartition]) -> None:
    """Store the state of partitions."""
    db.executemany(
        "INSERT OR REPLACE INTO partitions VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [(*key, *known) for key, known in changed.items()],
    )


def delete_partitions(db: Connection, gone: Iterable[TopicPartition]) -> None:
    """Delete partitions."""
    db.executemany("DELETE FROM partitions WHERE topic = ? AND partition = ?", gone)


def write_outbox(db: Connection, facts: Sequence[bytes]) -> None:
    """Add facts that are not yet appended."""
    db.executemany("INSERT INTO outbox (fact) VALUES (?)", [(each,) for each in facts])


def write_broker(db: Connection, broker: int, before: KnownBroker, now: KnownBroker) -> None:
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
            row = (broker, path, cut.unreadable, pack(cut.told))
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

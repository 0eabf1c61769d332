"""Situations for what-if questions: a broker with two directories, and variations of it."""

from collections.abc import Mapping
from typing import Any

from migration.image.summary import Mode
from migration.metadata.directory_ids import MIGRATING, UNASSIGNED, to_text
from migration.metadata.replica_state import ReplicaState
from migration.observed.probed import (
    Broker,
    LogDir,
    MetaProperties,
    Partition,
    TopicPartition,
    Topics,
    Unknown,
)
from migration.what_if import Assignment, Situation

D0, D1 = "/d0", "/d1"
ID0, ID1 = to_text(b"0123456789abcdef"), to_text(b"fedcba9876543210")
T = TopicPartition("t", 0)
"""The partition in question, on broker 1."""
WHY = Unknown("it is not reported")


def assigned(directory: str = ID0) -> Assignment:
    return Assignment(state=ReplicaState.ASSIGNED, directory=directory)


def pending(state: ReplicaState = ReplicaState.MIGRATING) -> Assignment:
    id_ = MIGRATING if state is ReplicaState.MIGRATING else UNASSIGNED
    return Assignment(state=state, directory=to_text(id_))


def part(
    replicas: tuple[int, ...],
    isr: tuple[int, ...] | None = None,
    leader: int | None = 1,
    at: TopicPartition = T,
) -> Partition:
    return Partition(at=at, replicas=replicas, isr=replicas if isr is None else isr, leader=leader)


def broker(id_: int, **places: Any) -> Broker:
    """A broker with D0 and D1; `d0`, `d1`: their contents; `bad`: the offline paths.

    `unknown`: why it does not describe them.
    """
    bad = places.get("bad", ())
    return Broker(
        id=id_,
        endpoint=f"b{id_}:9092",
        release=(3, 9),
        settings={"zookeeper.connect": "zk1:2181"},
        log_dirs=places.get("unknown")
        or tuple(
            LogDir(
                path=path,
                error=56 if path in bad else 0,
                replicas=frozenset() if path in bad else frozenset(places.get(path[1:], ())),
            )
            for path in (D0, D1)
        ),
        meta=places.get("meta"),
    )


META = (
    MetaProperties(path=D0, node_id=1, directory_id=ID0),
    MetaProperties(path=D1, node_id=1, directory_id=ID1),
)


def situation(*parts: Partition, **given: Any) -> Situation:
    """Broker 1 with T in D0; everything but `parts` can be overridden."""
    brokers: Mapping[int, Broker] = {
        1: broker(1, d0=[each.at for each in parts if 1 in each.replicas], meta=META),
        2: broker(2, d0=[each.at for each in parts if 2 in each.replicas]),
        3: broker(3, d0=[each.at for each in parts if 3 in each.replicas]),
    } | dict(given.get("brokers", {}))
    min_isr = given.get("min_isr", 1)
    topics = {each.at.topic: min_isr for each in parts}
    return Situation(
        broker=1,
        topics=Topics(
            cluster_id="c",
            broker_ids=given.get("alive", frozenset({1, 2, 3})),
            partitions=parts,
            min_isr=min_isr if isinstance(min_isr, Unknown) else topics,
            unclean=given.get("unclean", frozenset()),
            reassignments=given.get("reassignments", ()),
        ),
        brokers=brokers,
        mode=given.get("mode", Mode.KRAFT),
        metadata_dir=given.get("metadata_dir", D1),
        assignments=given.get("assignments", {each.at: assigned() for each in parts}),
        no_election=given.get("no_election"),
    )

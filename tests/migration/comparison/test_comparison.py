"""Comparisons: only what two of them find counts; nothing is guessed of which path is which id."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest
from pydantic import TypeAdapter

from migration.comparison.differences import (
    LASTS_MS,
    NAMED_MAX,
    Comparisons,
    Difference,
    Placed,
    ShardComparison,
)
from migration.comparison.log_dirs import against_disks
from migration.comparison.quotas import QUOTA_RESOURCE
from migration.comparison.result import Compared, Comparing, identify, take
from migration.comparison.zookeeper import against_zookeeper
from migration.metadata.directory_ids import DirectoryId, to_text
from migration.metadata.events import Source
from migration.metadata.partitions import Numbers, Replicas
from migration.observed.facts import (
    DiskContentSeen,
    LogDirSeen,
    ReplicaOnDisk,
    TopicOnDisk,
    ZkConfig,
    ZkContentSeen,
    ZkPartition,
    ZkTopic,
)
from migration.observed.log_dirs import STORAGE_ERROR, BrokerDisks, DisksImage

A, B = (DirectoryId(bytes([0] * 15 + [200 + n])) for n in range(2))
ID = bytes([7] * 16)


@dataclass
class Topic:
    name: str
    partitions: dict[int, Replicas] = field(default_factory=dict)


def numbers() -> Numbers:
    return Numbers([A, B])


def logged(directories: tuple[DirectoryId, ...] = (A, B)) -> dict[bytes, Topic]:
    known = numbers()
    places = tuple(known[each] for each in directories)
    return {ID: Topic("t", {0: Replicas((1, 2), places, 1, (1, 2))})}


def zookeeper(comparison: int, *topics: ZkTopic) -> ZkContentSeen:
    at_ms = comparison * LASTS_MS
    return ZkContentSeen(at_ms, at_ms, 0, topics, ())


def zk_topic(
    replicas: tuple[int, ...] = (1, 2), leader: int | None = 1, isr: tuple[int, ...] = (2, 1)
) -> ZkTopic:
    return ZkTopic(ID, "t", (ZkPartition(0, replicas, leader, isr),))


def twice(*topics: ZkTopic) -> ShardComparison:
    kept = Comparisons()
    first = against_zookeeper(logged(), {}, kept, zookeeper(1, *topics))
    assert first.lasting == {}
    return against_zookeeper(logged(), {}, kept, zookeeper(2, *topics))


def test_the_same_content_does_not_differ() -> None:
    found = twice(zk_topic())
    assert (found.compared, found.differing, found.named) == (1, 0, ())


def test_the_order_of_the_replicas_counts_and_that_of_the_isr_does_not() -> None:
    found = twice(zk_topic(replicas=(2, 1), isr=(2, 1)))
    assert found.named == (Difference("replicas", "t-0", "[2, 1]", "[1, 2]"),)


def test_each_field_is_compared() -> None:
    found = twice(zk_topic(leader=2, isr=(2,)))
    assert found.named == (
        Difference("isr", "t-0", "[2]", "[1, 2]"),
        Difference("leader", "t-0", "2", "1"),
    )


def test_a_partition_without_a_state_znode_differs() -> None:
    """After a rollback ZooKeeper's controller would take every live replica as in sync."""
    found = twice(zk_topic(leader=None, isr=()))
    assert found.named == (Difference("state", "t-0", "absent", "present"),)


def test_topics_and_partitions_on_one_side_only() -> None:
    other = ZkTopic(bytes(16), "u", ())
    more = ZkTopic(ID, "t", (*zk_topic().partitions, ZkPartition(1, (1,), 1, (1,))))
    assert twice(other, more).named == (
        Difference("partition", "t-1", "present", "absent"),
        Difference("topic", "u", "present", "absent"),
    )
    assert twice().named == (Difference("topic", "t", "absent", "present"),)
    assert twice(ZkTopic(ID, "t", ())).named == (
        Difference("partition", "t-0", "absent", "present"),
    )


def test_a_difference_that_changes_passes() -> None:
    kept = Comparisons()
    for comparison, leader in enumerate((2, 3, 2)):
        found = against_zookeeper(
            logged(), {}, kept, zookeeper(comparison, zk_topic(leader=leader))
        )
        assert (found.differing, found.lasting) == (1, {})


def configs_twice(
    in_log: dict[tuple[int, str], dict[str, bytes]], *in_zookeeper: ZkConfig
) -> tuple[Difference, ...]:
    kept = Comparisons()
    found: tuple[Difference, ...] = ()
    for comparison in (1, 2):
        seen = zookeeper(comparison)._replace(configs=in_zookeeper)
        found = against_zookeeper({}, in_log, kept, seen).named
    return found


def test_settings_are_compared_key_by_key() -> None:
    in_log = {(2, "t"): {"a": b"1", "b": b"2", "c": b"3"}, (4, ""): {"d": b"4"}}
    same = (
        ZkConfig("topics", "t", (("a", b"1"), ("b", b"2"), ("c", b"3"))),
        ZkConfig("brokers", "", (("d", b"4"),)),
    )
    assert configs_twice(in_log, *same) == ()
    other = ZkConfig("topics", "t", (("a", b"1"), ("b", b"9"), ("e", b"5")))
    assert configs_twice(in_log, other, same[1]) == (
        Difference("config", "topic t: b", "one value", "another"),
        Difference("config", "topic t: c", "absent", "present"),
        Difference("config", "topic t: e", "present", "absent"),
    )
    assert configs_twice(in_log, same[0]) == (
        Difference("config", "broker default: d", "absent", "present"),
    )


def test_quotas_are_compared_as_settings_are() -> None:
    alice = "user 'alice'"
    in_log = {(QUOTA_RESOURCE, alice): {"producer_byte_rate": b"1"}}
    assert configs_twice(in_log, ZkConfig("quotas", alice, (("producer_byte_rate", b"1"),))) == ()
    assert configs_twice(in_log) == (
        Difference("config", "quotas of user 'alice': producer_byte_rate", "absent", "present"),
    )


def test_secrets_are_not_compared_and_other_resources_neither() -> None:
    in_log = {(4, "1"): {"ssl.keystore.password": b"1"}, (32, "x"): {"a": b"1"}}
    jaas = ZkConfig("brokers", "1", (("listener.name.sasl.jaas.config", b"7"),))
    assert configs_twice(in_log, jaas, ZkConfig("users", "u", (("a", b"1"),))) == ()


PATHS = ((1, "/1/a"), (1, "/1/b"), (2, "/2/b"))


def disks(
    comparison: int, *replicas: ReplicaOnDisk, whole: tuple[int, ...] = (1, 2)
) -> DiskContentSeen:
    topics = (TopicOnDisk(ID, "t", replicas),) if replicas else ()
    return DiskContentSeen(comparison, comparison, 0, PATHS, whole, topics)


IN_A, IN_B, ON_2 = (ReplicaOnDisk(0, path, False, 0) for path in range(3))


def disks_twice(*replicas: ReplicaOnDisk, whole: tuple[int, ...] = (1, 2)) -> ShardComparison:
    kept = Comparisons()
    against_disks(logged(), numbers(), kept, disks(1, *replicas, whole=whole))
    return against_disks(logged(), numbers(), kept, disks(2, *replicas, whole=whole))


def test_where_replicas_lie_against_where_they_are_assigned() -> None:
    """KIP-858, "Replica management": the directory on the disk and the one in metadata."""
    found = disks_twice(IN_A, ON_2)
    assert found.placed == (
        Placed(1, "/1/a", A, 1, ("t-0",)),
        Placed(2, "/2/b", B, 1, ("t-0",)),
    )
    assert (found.compared, found.named) == (2, ())


def test_a_replica_that_is_nowhere() -> None:
    missing = Difference("missing", "t-0", "absent", "present", 2)
    assert disks_twice(IN_A).named == (missing,)
    assert disks_twice(IN_A, whole=(1,)).named == ()


def test_a_log_that_the_metadata_does_not_know() -> None:
    stray = ReplicaOnDisk(9, 1, False, 0)
    assert disks_twice(IN_A, ON_2, stray).named == (
        Difference("stray", "t-9", "present", "absent", 1, "/1/b"),
    )


def test_a_future_replica_that_has_caught_up_is_to_be_promoted() -> None:
    """KIP-113, "Complete replica data movement": it replaces the source log."""
    future = ReplicaOnDisk(0, 1, True, 0)
    assert disks_twice(IN_A, ON_2, future).named == (
        Difference("future", "t-0", "caught up", "", 1, "/1/b"),
    )
    assert disks_twice(IN_A, ON_2, future._replace(lag=5)).named == ()


def test_what_lasts_stands_until_it_can_be_looked_at_again() -> None:
    def found(comparison: int, seen: DiskContentSeen) -> tuple[Difference, ...]:
        seen = seen._replace(comparison=comparison)
        return against_disks(logged(), numbers(), kept, seen).named

    kept = Comparisons()
    stray = ReplicaOnDisk(9, 1, False, 0)
    there = disks(0, IN_A, ON_2, stray)
    gone = there._replace(paths=((2, "/2/b"),), whole=(2,), topics=())
    lasting = (Difference("stray", "t-9", "present", "absent", 1, "/1/b"),)
    assert [found(1, there), found(2, there), found(3, gone), found(4, gone)] == [
        (),
        lasting,
        lasting,
        (*sorted([*lasting, Difference("missing", "t-0", "absent", "present", 2)]),),
    ]
    assert found(5, disks(0, IN_A, ON_2)) == ()


def test_what_the_log_has_by_now_is_not_stray_because_it_cannot_be_looked_at() -> None:
    kept = Comparisons()
    nothing: dict[bytes, Topic] = {}  # before the copy
    for comparison in (1, 2):
        before = against_disks(nothing, numbers(), kept, disks(comparison, IN_A, ON_2))
    assert before.lasting == {"stray": 2}
    gone = disks(3, ON_2)._replace(paths=((1, "-"), (1, "-"), (2, "/2/b")), whole=(2,))
    assert against_disks(logged(), numbers(), kept, gone).differing == 0


@pytest.mark.parametrize(
    ("whole", "lasting"), [((1, 2), {}), ((2,), {"stray": 1})], ids=["all", "unreadable"]
)
def test_a_log_in_a_directory_that_is_none_any_more_is_not_stray(
    whole: tuple[int, ...], lasting: Mapping[str, int]
) -> None:
    """It was taken out of log.dirs; before the copy every log is unknown to the metadata log."""
    kept = Comparisons()
    stray = ReplicaOnDisk(9, 1, False, 0)
    for comparison in (1, 2):
        before = against_disks(logged(), numbers(), kept, disks(comparison, IN_A, ON_2, stray))
    assert before.lasting == {"stray": 1}
    left = disks(3, IN_A, ON_2)
    left = left._replace(paths=(left.paths[0], (1, "-"), left.paths[2]), whole=whole)
    assert against_disks(logged(), numbers(), kept, left).lasting == lasting


def test_what_the_log_has_no_more_is_not_missing_because_its_broker_went() -> None:
    kept = Comparisons()
    for comparison in (1, 2):
        against_disks(logged(), numbers(), kept, disks(comparison, IN_A))
    gone = disks(3)._replace(paths=(), whole=(), topics=())
    nothing: dict[bytes, Topic] = {}  # the topic was deleted
    assert against_disks(nothing, numbers(), kept, gone).differing == 0


def test_what_was_seen_once_does_not_last_because_its_broker_went() -> None:
    kept = Comparisons()
    stray = ReplicaOnDisk(9, 1, False, 0)
    against_disks(logged(), numbers(), kept, disks(1, IN_A, ON_2, stray))
    gone = disks(2, ON_2)._replace(paths=((1, "-"), (1, "-"), (2, "/2/b")), whole=(2,))
    assert against_disks(logged(), numbers(), kept, gone).named == ()


def known_disks(path: str, id_: str | None) -> DisksImage:
    log_dir = LogDirSeen(path, 0, None, None, 0, 0, 0, 0, id_, True)
    return DisksImage(brokers={1: BrokerDisks(id=1, log_dirs=(log_dir,))})


def placed(path: str, directory: DirectoryId, replicas: int) -> Placed:
    return Placed(1, path, directory, replicas, tuple(f"t-{n}" for n in range(replicas)))


def test_a_path_is_the_id_that_most_of_its_replicas_are_assigned_to() -> None:
    """KIP-858, "Future work": no request has the id of a path."""
    (found,) = identify([placed("/a", A, 3), placed("/a", B, 2)], DisksImage())
    assert (found.directory, found.by, found.agreeing, found.others) == (
        to_text(A),
        "replicas",
        3,
        2,
    )


def test_without_a_majority_nothing_is_guessed() -> None:
    assert identify([placed("/a", A, 2), placed("/a", B, 2)], DisksImage()) == ()


@pytest.mark.parametrize("number", [0, 1, 2, 3, 99])
def test_a_reserved_id_is_no_place(number: int) -> None:
    """KIP-858, "Reserved UUIDs": its replicas neither identify a path nor are misplaced in one."""
    one = placed("/a", DirectoryId(number.to_bytes(16, "big")), 9)
    assert identify([one], DisksImage()) == ()
    there = Comparing()
    for comparison in (1, 2):
        reported = [(0, replace(part(comparison, one), of=Source.LOG_DIRS))]
        there, _ = take(there, reported, 1, Source.LOG_DIRS, known_disks("/a", to_text(A)))
    assert (there.last.misplaced, dict(there.last.lasting)) == (frozenset(), {})


def test_meta_properties_decide() -> None:
    """KIP-858, "Future work": only meta.properties has the id of a path."""
    (found,) = identify([placed("/a", A, 3)], known_disks("/a", None)) or (None,)
    assert found is not None
    (found,) = identify([placed("/a", A, 3)], known_disks("/a", to_text(B)))
    assert (found.directory, found.by, found.agreeing, found.others) == (
        to_text(B),
        "meta.properties",
        0,
        3,
    )


def part(
    comparison: int, *placements: Placed, named: tuple[Difference, ...] = ()
) -> ShardComparison:
    lasting = {each.kind: 1 for each in named}
    return ShardComparison(
        of=Source.ZOOKEEPER,
        comparison=comparison,
        seen_ms=comparison,
        whole_ms=comparison,
        compared=1,
        differing=len(named),
        lasting=lasting,
        named=named,
        placed=placements,
    )


def test_a_comparison_counts_when_every_shard_has_sent_its_part() -> None:
    state = Comparing()
    state, events = take(state, [(0, part(1))], 2, Source.ZOOKEEPER)
    assert (state.last, events) == (Compared(), ())
    state, _ = take(state, [(1, part(1))], 2, Source.ZOOKEEPER)
    assert (state.last.at_ms, state.last.compared, state.parts) == (1, 2, {})


def test_a_comparison_of_the_disks_names_the_brokers_that_it_includes() -> None:
    kept = Comparisons()
    without_1 = disks(1, whole=(2,))._replace(paths=((2, "/2/b"),))
    parts = [(n, against_disks(logged(), numbers(), kept, without_1)) for n in (0, 1)]
    state, _ = take(Comparing(), parts, 2, Source.LOG_DIRS)
    assert state.last.brokers == (2,)
    parts = [(n, against_disks(logged(), numbers(), kept, disks(2, IN_A, ON_2))) for n in (0, 1)]
    state, _ = take(state, parts, 2, Source.LOG_DIRS)
    assert state.last.brokers == (1, 2)


def test_parts_of_an_older_comparison_are_dropped() -> None:
    state, _ = take(Comparing(), [(0, part(1)), (1, part(2))], 2, Source.ZOOKEEPER)
    assert list(state.parts) == [1]
    state, _ = take(state, [(0, part(1)), (0, part(2))], 2, Source.ZOOKEEPER)
    assert state.last.at_ms == 2


def test_a_difference_is_reported_once_and_so_is_its_end() -> None:
    difference = Difference("leader", "t-0", "2", "1")
    state, kinds = Comparing(), []
    for comparison in range(1, 5):
        named = (difference,) if comparison < 4 else ()
        state, events = take(state, [(0, part(comparison, named=named))], 1, Source.ZOOKEEPER)
        kinds.append([event.kind for event in events])
    assert kinds == [["zookeeper_differs"], [], [], ["differences_over"]]


def test_a_replica_that_lies_elsewhere_counts_the_second_time() -> None:
    """KIP-858, "Replica management": the broker corrects the assignment."""
    state, reported = Comparing(), []
    for comparison in (1, 2, 3):
        parts = [(0, part(comparison, placed("/a", A, 3), Placed(1, "/a", B, 1, ("x-y-7",))))]
        state, events = take(state, parts, 1, Source.LOG_DIRS, DisksImage())
        reported.append([(event.kind, dict(event.fields)) for event in events])
    assert reported[0] == [
        (
            "log_dir_identified",
            {"path": "/a", "directory": to_text(A), "by": "replicas", "replicas": 3},
        )
    ]
    assert reported[1:] == [
        [
            (
                "replica_misplaced",
                {
                    "topic": "x-y",
                    "partition": 7,
                    "path": "/a",
                    "lies_in": to_text(A),
                    "assigned_to": to_text(B),
                },
            )
        ],
        [],
    ]
    assert replace(state.last, identities=()).lasting == {"misplaced": 1}


@pytest.mark.parametrize(
    ("placements", "disks", "unclear"),
    [
        ([placed("/a", A, 10), placed("/b", B, 1)], DisksImage(), ()),
        ([placed("/a", A, 10), placed("/b", A, 1)], DisksImage(), ("/a", "/b")),
        ([placed("/a", A, 10), placed("/b", A, 1), placed("/b", B, 1)], DisksImage(), ("/b",)),
        ([placed("/a", A, 10), placed("/b", A, 1)], known_disks("/b", to_text(B)), ()),
        ([placed("/a", A, 10), placed("/b", A, 1)], known_disks("/b", to_text(A)), ("/a",)),
        ([placed("/a", A, 1), placed("/b", DirectoryId(bytes(16)), 1)], DisksImage(), ()),
    ],
)
def test_whose_directory_id_is_not_clear(
    placements: list[Placed], disks: DisksImage, unclear: tuple[str, ...]
) -> None:
    """KIP-858, "meta.properties": each directory of a broker has an id of its own."""
    state, events = take(Comparing(), [(0, part(1, *placements))], 1, Source.LOG_DIRS, disks)
    assert state.last.unclear == tuple((1, path) for path in unclear)
    known = {each.path: each.directory for each in state.last.identities}
    assert known.keys().isdisjoint(unclear)
    assert [(e.fields["path"], e.fields["directory"]) for e in events] == list(known.items())


def test_misplaced_replicas_are_counted_exactly_although_few_are_named() -> None:
    """Each shard names at most 20 of one place; a broker that does not answer keeps its own."""
    disks = known_disks("/a", to_text(A))
    named = [tuple(f"t{shard}-{n}" for n in range(NAMED_MAX)) for shard in (0, 1)]
    state = Comparing()
    counts = {1: {}, 2: {"misplaced": 2000}, 3: {"misplaced": 2400}}
    for comparison, replicas in ((1, 1000), (2, 1200), (3, 1200)):
        parts = [
            (
                shard,
                part(comparison, Placed(1, "/a", B, replicas, named[shard]), placed("/a", A, 3)),
            )
            for shard in (0, 1)
        ]
        state, _ = take(state, parts, 2, Source.LOG_DIRS, disks)
        assert state.last.lasting == counts[comparison]
        assert state.last.differing == 2 * replicas
    stored = TypeAdapter(Comparing)
    assert stored.validate_json(stored.dump_json(state)) == state
    one = disks.brokers[1]
    bad = replace(one, log_dirs=tuple(e._replace(error=STORAGE_ERROR) for e in one.log_dirs))
    for comparison, of in ((4, replace(one, unreachable="no route")), (5, bad)):
        parts = [(shard, part(comparison)) for shard in (0, 1)]
        unread = DisksImage(brokers={1: of})
        state, _ = take(state, parts, 2, Source.LOG_DIRS, unread)
        assert state.last.lasting == {"misplaced": 2400}
    for comparison in (6, 7):
        parts = [(shard, part(comparison, placed("/a", A, 1203))) for shard in (0, 1)]
        state, _ = take(state, parts, 2, Source.LOG_DIRS, disks)
        assert (state.last.lasting, state.last.unnamed, state.last.differing) == ({}, (), 0)

"""Registrations and /brokers/ids: which contradict each other, and for how long they may."""

from dataclasses import replace

import pytest

from migration.comparison.differences import Difference, Last
from migration.comparison.result import Compared, Comparing
from migration.image.cluster import Broker, ClusterImage, Provenance
from migration.image.observe import LASTS_MS, against_brokers, compare
from migration.image.phases import MIGRATION, POST_MIGRATION, MigrationState
from migration.image.summary import Mode
from migration.metadata.events import Moment, Source
from migration.observed.facts import ZkContentRead
from migration.shard.report import ShardReport
from streams.state.store import pack_image, unpack_image
from tests.migration.comparison.test_comparison import part


def read(at_ms: int, *brokers: int) -> ZkContentRead:
    return ZkContentRead(at_ms, at_ms, 9, 0, 0, brokers)


def registered(mode: Mode, *, fenced: bool = False) -> Broker:
    return Broker(
        id=1,
        epoch=1,
        incarnation=bytes(16),
        mode=mode,
        fenced=fenced,
        in_controlled_shutdown=False,
        log_dirs=(),
        registered=Moment(offset=1, timestamp_ms=1),
        held=False,
    )


@pytest.mark.parametrize(
    ("broker", "present", "told"),
    [
        (registered(Mode.MIGRATING), True, None),
        (registered(Mode.MIGRATING), False, ("absent", "migrating")),
        (registered(Mode.MIGRATING, fenced=True), False, None),
        (registered(Mode.MIGRATING, fenced=True), True, None),
        (registered(Mode.KRAFT), False, None),
        (registered(Mode.KRAFT), True, ("present", "kraft")),
        (registered(Mode.KRAFT, fenced=True), True, ("present", "kraft")),
        (None, True, ("present", "absent")),
    ],
)
def test_brokers_against_their_znodes(
    broker: Broker | None, present: bool, told: tuple[str, str] | None
) -> None:
    brokers = {} if broker is None else {1: broker}
    seen = (1,) if present else ()
    first, kept = against_brokers(brokers, Last(), read(0, *seen))
    soon, kept = against_brokers(brokers, kept, read(LASTS_MS - 1, *seen))
    later, _ = against_brokers(brokers, kept, read(LASTS_MS, *seen))
    found = () if told is None else (Difference("registration", "broker 1", *told),)
    assert (first.named, soon.named, later.named) == ((), (), found)


def test_the_time_of_a_difference_begins_again_after_the_clock_was_set_back() -> None:
    at_ms, back_ms = 36_000_000, 32_400_000
    steps = [(at_ms, at_ms), (at_ms + 1, back_ms), (at_ms + 2, back_ms + 1000)]
    steps += [(at_ms + 3, back_ms + LASTS_MS - 1), (at_ms + 4, back_ms + LASTS_MS)]
    kept, lasting = Last(), []
    for comparison, seen_ms in steps:
        seen = ZkContentRead(seen_ms, comparison, 9, 0, 0, ())
        found, kept = against_brokers({1: registered(Mode.MIGRATING)}, kept, seen)
        lasting.append(sum(found.lasting.values()))
    assert lasting == [0, 0, 0, 0, 1]


def test_a_broker_that_changes_its_mode_does_not_differ() -> None:
    migrating, kraft = registered(Mode.MIGRATING), registered(Mode.KRAFT)
    kept, lasting = Last(), []
    # It was killed: its znode outlives it, into its life in KRaft mode.
    steps = [(migrating, (1,)), (kraft, (1,)), (kraft, ()), (kraft, ())]
    for number, (broker, there) in enumerate(steps):
        found, kept = against_brokers({1: broker}, kept, read(number * 30_000, *there))
        lasting.append(found.lasting)
    assert lasting == [{}, {}, {}, {}]


def test_what_was_found_of_the_brokers_counts_with_the_rest() -> None:
    image = ClusterImage(migration_state=MigrationState(value=MIGRATION))
    lasting = []
    for number in range(4):
        at_ms = number * LASTS_MS
        facts = (read(at_ms, *((1,) if number < 3 else ())),)
        reports = {shard: ShardReport(comparisons=[part(at_ms)]) for shard in (0, 1)}
        image, events = compare(image, reports, facts, 2)
        lasting.append((dict(image.content.last.lasting), [event.kind for event in events]))
    assert lasting == [
        ({}, []),
        ({"registration": 1}, ["zookeeper_differs"]),
        ({"registration": 1}, []),
        ({}, ["differences_over"]),
    ]
    assert unpack_image(pack_image(image)) == image


def test_after_the_finalization_only_the_disks_are_compared() -> None:
    """No controller writes to ZooKeeper any more: every ordinary change would be a difference."""
    image = ClusterImage(
        migration_state=MigrationState().now(POST_MIGRATION, 5000),
        provenance=Provenance(offset=900, epoch=2, timestamp_ms=6000),
        content=Comparing(last=Compared(at_ms=4000, lasting={"topic": 1})),
    )
    topic = Difference("topic", "new", "absent", "present")
    stray = Difference("stray", "t-0", "present", "absent", 1, "/d1")
    parts = [part(7000, named=(topic,)), replace(part(7000, named=(stray,)), of=Source.LOG_DIRS)]
    reports = {0: ShardReport(comparisons=parts)}
    image, events = compare(image, reports, (read(7000, 1),), 1)
    assert image.content == Comparing()
    assert image.places.last.lasting == {"stray": 1}
    assert [event.kind for event in events] == ["replica_not_in_metadata"]

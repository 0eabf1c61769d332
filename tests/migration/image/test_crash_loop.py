"""A held broker that registers again and again is held from its first registration on."""

from dataclasses import replace

from migration.image.advance import Batch, advance
from migration.image.cluster import ClusterImage, Provenance, summarize
from migration.image.summary import BrokerSummary
from migration.metadata.directory_ids import MIGRATING, DirectoryId
from migration.metadata.records import RegisterBroker, Stamped
from migration.metadata.transactions import Admission
from migration.shard.report import Crossing, Movement, ShardReport
from orchestrator.views.terminal.closing import held_text

A, B = (DirectoryId(bytes([each]) * 16) for each in (0xA, 0xB))
BEGAN = ClusterImage(
    provenance=Provenance(offset=99, epoch=1, timestamp_ms=500),
    directories={1: {MIGRATING: 5}},
    pending_shards={1: frozenset({0})},
)


def registered(image: ClusterImage, offset: int, *, migrating: bool = False) -> ClusterImage:
    """Register broker 1 with a new incarnation, one second after the offset before."""
    record = RegisterBroker(
        1, migrating, bytes([offset % 256]) * 16, offset, None, True, False, (A, B)
    )
    at = Provenance(offset=offset, epoch=1, timestamp_ms=(offset - 99) * 1_000)
    stamped = Stamped(offset, at.timestamp_ms, record)
    batch = Batch(log=1, start=offset, end=at, records=[(stamped, Admission.NOW)], reports={})
    return advance(image, batch)[0]


def broker_of(image: ClusterImage) -> BrokerSummary:
    return summarize("prod", image).brokers[0]


def test_each_registration_of_a_crash_loop_continues_the_hold() -> None:
    image = BEGAN
    for offset in (100, 101, 102):
        image = registered(image, offset)
    found = broker_of(image)
    assert found.held
    assert (found.registered_ms, found.held_since_ms, found.last_progress_ms) == (
        3_000,
        1_000,
        1_000,
    )
    assert found.is_stalled(7_001, 6_000)


def test_progress_before_a_restart_counts() -> None:
    image = replace(registered(BEGAN, 100), assigned_ms={1: 1_500})
    found = broker_of(registered(image, 101))
    assert (found.held_since_ms, found.last_progress_ms) == (1_000, 1_500)


def test_a_registration_in_zookeeper_mode_ends_the_hold() -> None:
    image = registered(registered(BEGAN, 100), 101, migrating=True)
    assert not broker_of(image).held
    assert broker_of(registered(image, 102)).held_since_ms == 3_000


def test_the_last_assignment_ends_the_hold() -> None:
    image = registered(registered(BEGAN, 100), 101)
    crossing = Crossing(102, 3_000, 1, pending=False)
    report = ShardReport(
        directories={(1, MIGRATING): -5, (1, A): 5},
        movements={(103, 1): Movement(net=-5, assigned=5, first_ms=3_000, last_ms=3_000)},
        crossings=[crossing],
    )
    end = Provenance(offset=102, epoch=1, timestamp_ms=3_000)
    image, events = advance(
        image, Batch(log=1, start=102, end=end, reports={0: report}, records=[])
    )
    found = broker_of(image)
    assert not found.held
    assert [each.fields["held_ms"] for each in events] == [2_000]
    assert held_text(found) == "2 s"
    assert not broker_of(registered(image, 103)).held

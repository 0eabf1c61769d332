"""A cluster without ZooKeeper whose controllers write another metadata log lost its metadata."""

from dataclasses import replace

import pytest

from migration.assessment.currency import CURRENT
from migration.assessment.hazards import Action, Hazard, HazardKind, hazards
from migration.image.advance import Batch, advance
from migration.image.cluster import ClusterImage, Provenance, summarize
from migration.image.phases import MIGRATION, NONE, POST_MIGRATION, MigrationState
from migration.image.summary import MetadataLost, Phase
from migration.shard.report import ShardReport
from tests.migration.image.test_roll_back import rolled_back

WIPED_MS = 9000


def image_of(state: int, topics: int = 3) -> ClusterImage:
    return ClusterImage(
        migration_state=MigrationState().now(state, 5000), topics=topics, partitions=5 * topics
    )


FINALIZED = image_of(POST_MIGRATION)
LOST = MetadataLost(phase=Phase.FINALIZED, topics=3, partitions=15, at_ms=WIPED_MS)


def other_log(image: ClusterImage, began_ms: int = WIPED_MS) -> ClusterImage:
    start = 0 if image.provenance is None else image.provenance.offset + 1
    end = Provenance(offset=-1, epoch=0, timestamp_ms=began_ms)
    batch = Batch(log=image.log + 1, start=start, end=end, records=(), reports={}, snapshot=True)
    return advance(image, batch)[0]


def grown(image: ClusterImage, topics: int) -> ClusterImage:
    """The log of the image gets topics of one partition each."""
    start = 0 if image.provenance is None else image.provenance.offset + 1
    end = Provenance(offset=start, epoch=1, timestamp_ms=WIPED_MS + start)
    report = ShardReport(topics=topics, partitions=topics)
    batch = Batch(log=image.log, start=start, end=end, records=(), reports={0: report})
    return advance(image, batch)[0]


def found_in(image: ClusterImage) -> tuple[Hazard, ...]:
    return hazards(summarize("c", image), 10_000, CURRENT)


@pytest.mark.parametrize(("state", "phase"), [(POST_MIGRATION, "finalized"), (NONE, "kraft")])
def test_without_zookeeper_another_log_has_lost_the_metadata(state: int, phase: str) -> None:
    image = other_log(image_of(state))
    assert image.metadata_lost == replace(LOST, phase=Phase(phase))
    (hazard,) = found_in(image)
    assert (hazard.kind, hazard.broker, hazard.since_ms) == ("metadata_lost", None, WIPED_MS)
    assert hazard.forbids(Action.RESTART)
    assert hazard.severity == "critical"
    assert "3 topics (15 partitions)" in hazard.text
    assert hazard.evidence == (
        f"before: 3 topics and 15 partitions, in phase {phase}",
        "now, in metadata log number 2: 0 topics and 0 partitions",
    )


@pytest.mark.parametrize(
    "image",
    [
        ClusterImage(),
        image_of(NONE, topics=0),
        image_of(MIGRATION),
        replace(rolled_back(), topics=3),
    ],
    ids=["first start", "no topics", "ZooKeeper has the metadata", "after a rollback"],
)
def test_otherwise_another_log_loses_nothing(image: ClusterImage) -> None:
    assert other_log(image).metadata_lost is None


def test_topics_that_are_created_again_are_not_the_lost_ones() -> None:
    """Clients create them (auto.create.topics.enable), while their logs are strays."""
    image = grown(other_log(FINALIZED), 4)
    assert image.metadata_lost == LOST
    assert [each.kind for each in found_in(image)] == [HazardKind.METADATA_LOST]


def test_the_larger_loss_is_kept() -> None:
    between = replace(other_log(FINALIZED), migration_state=MigrationState(value=NONE))
    assert other_log(grown(between, 2), WIPED_MS + 500).metadata_lost == LOST
    assert other_log(grown(between, 4), WIPED_MS + 500).metadata_lost == MetadataLost(
        phase=Phase.KRAFT, topics=4, partitions=4, at_ms=WIPED_MS + 500
    )

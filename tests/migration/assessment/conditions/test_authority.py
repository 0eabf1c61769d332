"""When the metadata log's counts of topics and replicas may be shown."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from migration.assessment.conditions import DataSource, hazards_not_known
from migration.assessment.conditions.authority import is_log_past, knows_partitions, log_counts
from migration.image.summary import Phase
from migration.observed.znodes import MIGRATION
from tests.migration.assessment.conditions.views import ALL_STALE, SUMMARY, view, zookeeper


def test_a_migration_znode_that_cannot_be_read_may_be_there() -> None:
    """Without it the metadata log is not in use: nobody would miss its controllers."""
    absent = zookeeper(kraft=False, migration=None)
    unreadable = replace(absent, unreadable={MIGRATION: "it is empty"})
    assert is_log_past(view(replace(SUMMARY, zookeeper=absent)))
    assert not is_log_past(view(replace(SUMMARY, zookeeper=unreadable)))


@pytest.mark.parametrize(
    ("changes", "not_current", "known"),
    [
        ({}, {}, True),
        ({}, ALL_STALE, True),
        ({"phase": Phase.KRAFT, "topics": 0, "partitions": 0}, {}, True),
        ({"metadata_offset": None}, {}, False),
        ({"phase": Phase.COPYING, "topics": 0, "partitions": 0}, {}, False),
        ({"phase": Phase.COPYING, "topics": 0, "partitions": 0}, ALL_STALE, False),
        ({"phase": Phase.COPYING}, {}, True),
        ({"phase": Phase.ROLLED_BACK}, {}, False),
        ({"phase": Phase.ROLLED_BACK}, ALL_STALE, False),
        ({"zookeeper": zookeeper(kraft=False)}, {}, False),
        ({"zookeeper": zookeeper(kraft=False)}, ALL_STALE, True),
    ],
)
def test_counts_are_known_while_the_log_is_authoritative(
    changes: Mapping[str, object], not_current: Mapping[DataSource, str], known: bool
) -> None:
    summary = replace(SUMMARY, **changes)  # type: ignore[arg-type]
    assert knows_partitions(view(summary, not_current=not_current)) is known
    if "zookeeper" not in changes:
        assert log_counts(summary) is known


@pytest.mark.parametrize(
    ("phase", "is_reason"), [(Phase.KRAFT, False), (Phase.FINALIZED, False), (Phase.HYBRID, True)]
)
def test_a_cluster_without_zookeeper_does_not_miss_its_configuration(
    phase: Phase, is_reason: bool
) -> None:
    """The metadata log may be stale: the cluster does not use ZooKeeper again."""
    unset = {**ALL_STALE, DataSource.ZOOKEEPER: "`zookeeper` is not configured"}
    configured = frozenset(ALL_STALE) - {DataSource.ZOOKEEPER}
    summary = replace(SUMMARY, phase=phase, zookeeper=None)
    found = hazards_not_known(view(summary, not_current=unset, configured=configured))
    assert ("ZooKeeper: `zookeeper` is not configured" in found) is is_reason
    assert any(each.startswith("the metadata log: ") for each in found)

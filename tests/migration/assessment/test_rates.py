"""Rates and estimates of held brokers, and why there is none."""

from dataclasses import replace

import pytest

from migration.assessment.eta import NoEstimate, cluster_eta, rate_per_second
from migration.image.summary import BrokerSummary, ClusterSummary, Phase
from migration.observed.source_status import NO_STATUS, SourceStatus
from tests.scenes.night import (
    FIVE_MINUTES_MS,
    FRESH,
    NOW_MS,
    cluster,
    held,
    kraft,
    progress,
    replicas,
)
from tests.support.assessing import etas

STEADY = ((5_300, 7), (4_300, 2), (3_300, 2), (2_300, 2), (1_300, 2), (300, 2))
"""Two replicas a second up to the log's last record, after a first step of unknown length."""


def seen(*brokers: BrokerSummary, later_ms: int = 0) -> ClusterSummary:
    one = cluster(Phase.HYBRID, *brokers)
    return replace(one, observed_ms=NOW_MS - 300 + later_ms)


def seconds(summary: ClusterSummary, now_ms: int = NOW_MS) -> dict[int, float]:
    """Of those that have an estimate."""
    status = replace(FRESH, observed_ms=now_ms, last_reply_ms=now_ms)
    found = etas(summary, status, now_ms, FIVE_MINUTES_MS)
    return {
        broker: each.seconds for broker, each in found.items() if not isinstance(each, NoEstimate)
    }


def test_a_rate_is_of_all_that_were_assigned_and_an_estimate_of_what_came_after_the_first() -> None:
    """Nothing is known of how long the first step took, so no estimate is made of it."""
    one = held(3, progress=progress(*STEADY))
    assert rate_per_second(one) == pytest.approx(17 / 5)
    assert seconds(seen(one)) == {3: pytest.approx(6.0)}


def test_there_is_no_rate_before_two_moments() -> None:
    brokers = (held(3, progress=None), held(4, progress=progress((300, 40))))
    assert [rate_per_second(each) for each in brokers] == [None, None]
    assert etas(seen(*brokers), FRESH, NOW_MS, FIVE_MINUTES_MS) == {
        3: NoEstimate.NO_RATE,
        4: NoEstimate.NO_RATE,
    }


def test_time_that_passes_in_the_log_counts_and_not_the_clock_beside_it() -> None:
    one = held(3, progress=progress(*STEADY))
    assert seconds(seen(one, later_ms=5_000), NOW_MS + 5_000) == {3: pytest.approx(12.0)}
    behind_or_before = (NOW_MS - 4_000, NOW_MS + 4_000)
    assert [seconds(seen(one), now_ms)[3] for now_ms in behind_or_before] == [
        pytest.approx(6.0),
        pytest.approx(6.0),
    ]


def test_without_no_op_records_the_clock_counts() -> None:
    one = held(3, progress=progress(*STEADY))
    assert seconds(seen(one), NOW_MS + 14_700) == {3: pytest.approx(24.0)}


def test_whoever_is_not_held_has_none() -> None:
    assert etas(seen(kraft(1)), FRESH, NOW_MS, FIVE_MINUTES_MS) == {}
    assert cluster_eta(seen(kraft(1)), {}) is None


@pytest.mark.parametrize(
    "status",
    [
        NO_STATUS,
        replace(FRESH, error="another cluster id"),
        replace(FRESH, last_reply_ms=NOW_MS - 16_000),
        replace(FRESH, high_watermark=5_000),
        replace(FRESH, log=2),
    ],
    ids=["nothing", "error", "old", "behind", "another log"],
)
def test_what_is_not_the_present_gives_none(status: SourceStatus) -> None:
    summary = seen(held(3, progress=progress(*STEADY)))
    found = etas(summary, status, NOW_MS, FIVE_MINUTES_MS)
    assert found == {3: NoEstimate.NOT_CURRENT}
    assert cluster_eta(summary, found) is NoEstimate.NOT_CURRENT


def test_a_broker_that_stalled_gives_none() -> None:
    now_ms = NOW_MS + FIVE_MINUTES_MS
    summary = seen(held(3, progress=progress(*STEADY)), later_ms=FIVE_MINUTES_MS)
    status = replace(FRESH, observed_ms=now_ms, last_reply_ms=now_ms)
    assert etas(summary, status, now_ms, FIVE_MINUTES_MS) == {3: NoEstimate.STALLED}
    before_ms = now_ms - 301
    assert etas(summary, status, before_ms, FIVE_MINUTES_MS) != {3: NoEstimate.STALLED}


def test_the_cluster_waits_for_its_last_broker() -> None:
    quick = held(3, progress=progress(*STEADY))
    slow = held(4, progress=progress(*STEADY), replicas=replicas(assigned=52, migrating=24))
    summary = seen(quick, slow, kraft(1))
    found = etas(summary, FRESH, NOW_MS, FIVE_MINUTES_MS)
    both, one = cluster_eta(summary, found), found[4]
    assert not isinstance(both, NoEstimate | None)
    assert not isinstance(one, NoEstimate)
    assert both.broker == 4
    assert both.seconds == pytest.approx(12.0)
    assert (both.low, both.level) == (one.low, one.level)
    assert both.high > one.high


def test_the_cluster_has_none_unless_each_has_one() -> None:
    summary = seen(held(3, progress=progress(*STEADY)), held(5, progress=None))
    found = etas(summary, FRESH, NOW_MS, FIVE_MINUTES_MS)
    assert cluster_eta(summary, found) is NoEstimate.NO_RATE


def test_of_one_broker_alone_the_cluster_says_the_same() -> None:
    summary = seen(held(3, progress=progress(*STEADY)), kraft(1))
    found = etas(summary, FRESH, NOW_MS, FIVE_MINUTES_MS)
    assert cluster_eta(summary, found) == found[3]

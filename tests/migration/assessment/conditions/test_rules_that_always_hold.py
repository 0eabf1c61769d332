"""Invariants of every condition: no stale source and no worse state makes it satisfied."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration.assessment.conditions import Condition, DataSource, Finding, Verdict, View
from migration.assessment.currency import Currency
from migration.assessment.hazards import hazards
from migration.image.summary import BrokerSummary, Mode
from migration.metadata.replica_state import ReplicaState
from migration.observed.log_dirs import DisksImage
from migration.values.evidence import EVIDENCE_MAX
from tests.migration.assessment.conditions.test_verdicts import CONDITIONS
from tests.migration.assessment.conditions.views import ALL_STALE, NOW, directory, view, views
from tests.support.examples import examples

_RANK = {
    verdict: rank
    for rank, verdict in enumerate(
        (Verdict.VIOLATED, Verdict.UNKNOWN, Verdict.WAITING, Verdict.SATISFIED)
    )
}


def worsened(of: View, index: int, how: str) -> View:
    """Return the view with one broker in a worse state, its hazards assessed again."""
    summary = of.summary
    brokers = list(summary.brokers)
    one = brokers[index % len(brokers)]
    if how == "disk":
        known = summary.disks
        before = known.brokers.get(one.id) if known is not None else None
        if known is None or before is None:
            return of
        log_dirs = (*before.log_dirs, directory("/failed", error=56))
        after = replace(before, log_dirs=log_dirs)
        summary = replace(summary, disks=DisksImage(brokers={**known.brokers, one.id: after}))
    else:
        brokers[index % len(brokers)] = _worse(one, how)
        summary = replace(summary, brokers=tuple(brokers))
        if how == "under_replicated" and summary.under_replicated is not None:
            summary = replace(summary, under_replicated=summary.under_replicated + 1)
    return replace(
        of, summary=summary, hazards=hazards(summary, NOW, Currency(not_current=of.not_current))
    )


def _worse(one: BrokerSummary, how: str) -> BrokerSummary:
    if how == "fenced":
        return replace(one, fenced=True)
    if how == "under_replicated":
        known = one.under_replicated
        return one if known is None else replace(one, under_replicated=known + 1)
    state = ReplicaState.OFFLINE if how == "offline" else ReplicaState.UNASSIGNED
    counted = {**one.replicas, state: one.replicas[state] + 1}
    return replace(
        one, replicas=counted, held=one.held or (how == "held" and one.mode is Mode.KRAFT)
    )


@examples()
@given(views(), st.sampled_from(DataSource))
def test_every_condition_keeps_its_invariants(any_view: View, source: DataSource) -> None:
    """One view for all invariants: drawing it takes longer than any of them."""
    found = {each: each.judge(any_view) for each in CONDITIONS}
    for finding in found.values():
        has_its_reason_and_bounded_evidence(finding)
    losing_a_source_satisfies_nothing(any_view, source, found)
    nothing_is_satisfied_while_no_source_is_current(any_view)
    nothing_is_said_well_of_brokers_while_none_is_known(any_view)


def has_its_reason_and_bounded_evidence(found: Finding) -> None:
    assert found.reason
    assert len(found.shown) <= EVIDENCE_MAX
    assert len(found.evidence) <= found.evidence_total
    assert all(isinstance(line, str) and line for line in found.evidence)


def losing_a_source_satisfies_nothing(
    any_view: View, source: DataSource, found: Mapping[Condition, Finding]
) -> None:
    less = replace(any_view, not_current={**any_view.not_current, source: "it is stale"})
    for condition in CONDITIONS:
        if condition.judge(less).verdict is Verdict.SATISFIED:
            assert found[condition].verdict is Verdict.SATISFIED, condition


def nothing_is_satisfied_while_no_source_is_current(any_view: View) -> None:
    blind = replace(any_view, not_current=ALL_STALE)
    for condition in CONDITIONS:
        assert condition.judge(blind).verdict is not Verdict.SATISFIED


def nothing_is_said_well_of_brokers_while_none_is_known(any_view: View) -> None:
    seen = any_view.summary.zookeeper
    zookeeper = None if seen is None else replace(seen, brokers={})
    nobody = replace(any_view.summary, brokers=(), disks=None, zookeeper=zookeeper)
    empty = replace(
        any_view,
        summary=nobody,
        hazards=hazards(nobody, NOW, Currency(not_current=any_view.not_current)),
    )
    words = ("broker", "held", "log_dirs", "assignments")
    about = [each for each in CONDITIONS if any(word in each.name for word in words)]
    assert about
    for condition in about:
        assert condition.judge(empty).verdict is not Verdict.SATISFIED, condition


@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda each: each.text)
def test_what_is_satisfied_rests_on_a_source_that_it_names(condition: Condition) -> None:
    """A condition is not satisfied if all its sources are stale, whatever others report."""
    needs = condition.needs or frozenset(DataSource)
    blind = replace(view(), not_current=dict.fromkeys(needs, "it is stale"))
    assert condition.judge(blind).verdict is not Verdict.SATISFIED


@examples(150)
@given(
    views().filter(lambda each: bool(each.summary.brokers)),
    st.integers(0, 2),
    st.sampled_from(["held", "pending", "offline", "fenced", "under_replicated", "disk"]),
)
def test_a_broker_that_gets_worse_makes_nothing_better(
    any_view: View, index: int, how: str
) -> None:
    worse = worsened(any_view, index, how)
    for condition in CONDITIONS:
        if how == "fenced" and condition.text.startswith("no_directory_move"):
            continue  # the silence of a broker that is down says that it moves nothing
        before, after = condition.judge(any_view), condition.judge(worse)
        assert _RANK[after.verdict] <= _RANK[before.verdict], (before, after)

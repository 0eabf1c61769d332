"""Every check on healthy clusters, on unhealthy ones, and on clusters that do not answer."""

import re
from dataclasses import replace

import pytest

from migration.assessment.checks.check import Check, silent_controllers
from migration.assessment.checks.run import CHECKS, judge, overall
from migration.assessment.finding import Verdict
from migration.observed.probed import Facts, Partition, TopicPartition
from migration.values.evidence import EVIDENCE_MAX, bounded
from migration.values.severity import Severity
from orchestrator.views.terminal.preflight import outcome_of
from tests.migration.assessment.checks.cases import CASES, FAIL, OFFLINE, PASS, UNKNOWN, WARN, Case
from tests.migration.assessment.checks.clusters import (
    BROKERS,
    EARLY,
    WELL,
    WHY,
    broker1,
    broker2,
    controller,
    controllers,
    no_brokers,
    no_zookeeper,
    one_silent,
    topics,
)

BY_ID = {check.id: check for check in CHECKS}
NEVER_FAIL = {"brokers-reachable", "broker-rights", "zookeeper-lock"}
"""What these find out is that something is not known, or how Kraftgate itself is configured."""
NEVER_UNKNOWN = {"directory-ids", "zookeeper-lock"}
"""Without data they have nothing to say: the data's own check says that it is missing."""


@pytest.mark.parametrize(
    "case", CASES, ids=[f"{case.check}-{case.outcome}-{n}" for n, case in enumerate(CASES)]
)
def test_a_check_finds_what_is_there(case: Case) -> None:
    found = BY_ID[case.check].judge(case.facts)
    assert outcome_of(found) == case.outcome, found
    assert case.said in "\n".join([found.reason, *found.evidence, found.fix])
    if case.outcome in {FAIL, UNKNOWN, WARN}:
        assert found.evidence
        assert found.fix


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_every_check_is_tried_in_every_way(check: Check) -> None:
    tried = {case.outcome for case in CASES if case.check == check.id}
    assert PASS in tried
    assert check.id in NEVER_FAIL or tried & {FAIL, WARN}
    assert check.id in NEVER_UNKNOWN or UNKNOWN in tried


@pytest.mark.parametrize(
    "facts",
    [
        no_zookeeper(),
        no_brokers(),
        broker1(release=WHY),
        broker2(settings=WHY),
        broker2(log_dirs=WHY),
        topics(min_isr=WHY),
        topics(reassignments=WHY),
        controller(metadata_version=WHY),
        controller(migration_ready=WHY),
        controller(may_fetch=WHY),
        controller(cluster_id=WHY),
        controller(settings=WHY),
        one_silent(WELL),
    ],
)
def test_whatever_is_not_known_closes_the_gate(facts: Facts) -> None:
    assert overall(judge(facts)) is Severity.CRITICAL


def test_ids_are_stable_names() -> None:
    assert len(BY_ID) == len(CHECKS)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", check.id) for check in CHECKS)


def test_a_cluster_that_is_well_passes_with_honest_warnings() -> None:
    results = judge(WELL)
    assert overall(results) is Severity.WARNING
    assert [one.check.id for one in results if outcome_of(one.finding) == WARN] == [
        "replication-factor-one"
    ]
    assert not any(one.is_blocking for one in results)


def test_before_the_controllers_exist_that_is_a_phase() -> None:
    for facts in (EARLY, controllers(unreachable="refused", exists=False)):
        assert not [one for one in judge(facts) if one.is_blocking]


def test_nothing_known_blocks_and_comes_first() -> None:
    nothing = Facts(cluster="prod")
    results = judge(nothing)
    assert nothing.nothing_reached
    assert overall(results) is Severity.CRITICAL
    assert results[0].is_blocking
    blocking = [one.is_blocking for one in results]
    assert blocking == sorted(blocking, reverse=True)


def test_a_check_that_does_not_block_warns_at_most() -> None:
    results = tuple(one for one in judge(no_zookeeper()) if not one.check.blocks)
    assert any(one.finding.verdict is Verdict.UNKNOWN for one in results)
    assert overall(results) is Severity.WARNING


def test_what_is_wrong_stands_before_what_is_not_known() -> None:
    facts = replace(WELL, brokers=(replace(BROKERS[0], log_dirs=OFFLINE),
                                   replace(BROKERS[1], log_dirs=WHY)))  # fmt: skip
    found = BY_ID["log-dirs-online"].judge(facts)
    assert outcome_of(found) == FAIL
    assert found.evidence[1] == "unknown: the directories of broker 2: b2:9092 refused"


def test_evidence_is_bounded() -> None:
    parts = tuple(
        Partition(at=TopicPartition("t", n), replicas=(1, 2), isr=(1,), leader=1)
        for n in range(1000)
    )
    found = BY_ID["under-replicated"].judge(topics(partitions=parts))
    assert len(found.evidence) == 1000
    assert len(found.shown) == EVIDENCE_MAX
    assert found.shown[-1] == "and 981 more"
    assert bounded(["a"] * EVIDENCE_MAX) == ("a",) * EVIDENCE_MAX


@pytest.mark.parametrize("why", ["c1:9093 refused", "c1:9093: authentication failed", "refused"])
def test_an_error_that_names_its_endpoint_is_not_doubled(why: str) -> None:
    first = replace(WELL.controllers[0], unreachable=why)
    facts = replace(WELL, controllers=(first, *WELL.controllers[1:]))
    lines = silent_controllers(facts)
    assert [each.count("c1:9093") for each in lines] == [1]
    assert lines[0].endswith(why)

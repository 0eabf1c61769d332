"""In each phase, preflight reports that phase's facts and gives no advice for another phase."""

from dataclasses import replace
from typing import Any

import pytest

from migration.assessment.checks.check import consequences
from migration.assessment.checks.phase import NOT_UNDER_WAY, OVER, UNDER_WAY, phase_of
from migration.assessment.checks.run import CHECKS, judge, overall
from migration.assessment.finding import Finding, Verdict
from migration.image.summary import Phase
from migration.observed.probed import Facts, Unknown
from migration.values.severity import Severity
from orchestrator.cli import preflight as command
from orchestrator.errors import ExitCode
from tests.migration.assessment.checks.cases import DEAD, ELECTED, KRAFT, migration
from tests.migration.assessment.checks.clusters import (
    BROKERS,
    EARLY,
    PARTITIONS,
    SETTINGS,
    WELL,
    WHY,
    ZOOKEEPER,
    all_settings,
    broker2,
    controller,
    controllers,
    log_dir,
    no_zookeeper,
    one_silent,
    topics,
)
from tests.migration.assessment.checks.test_command import Gathered, file, gathered, invoke  # noqa: F401  # fixtures

ROLES = {**SETTINGS, "process.roles": "broker", "inter.broker.protocol.version": ""}
TAKEN = replace(ZOOKEEPER, controller=KRAFT, migration=migration(283))


def in_kraft_mode(facts: Facts) -> Facts:
    return replace(facts, brokers=tuple(replace(one, settings=ROLES) for one in facts.brokers))


MIGRATING = replace(all_settings(zookeeper_metadata_migration_enable="true"), zookeeper=TAKEN)
DUAL_WRITE = in_kraft_mode(replace(WELL, zookeeper=TAKEN))
FINALIZED = in_kraft_mode(replace(controllers(migration_ready=False), zookeeper=TAKEN))
AT = {
    Phase.ZOOKEEPER: EARLY,
    Phase.PRE_MIGRATION: WELL,
    Phase.COPYING: replace(MIGRATING, zookeeper=replace(TAKEN, migration=migration(-1))),
    Phase.HYBRID: replace(
        MIGRATING, brokers=(MIGRATING.brokers[0], replace(BROKERS[1], settings=ROLES))
    ),
    Phase.DUAL_WRITE: DUAL_WRITE,
    Phase.FINALIZED: FINALIZED,
    Phase.ROLLED_BACK: replace(EARLY, zookeeper=replace(ZOOKEEPER, migration=migration(283))),
    Phase.KRAFT: replace(FINALIZED, zookeeper=Unknown("the configuration names no ZooKeeper")),
}
OF_ANOTHER_CLUSTER = controllers(migration_ready=False, cluster_id="other")
DESTRUCTIVE = ("format", "delete /migration", "anew")


def advice(facts: Facts) -> str:
    return "\n".join(one.finding.fix for one in judge(facts))


def found(facts: Facts, check: str) -> Finding:
    return next(one.finding for one in judge(facts) if one.check.id == check)


@pytest.mark.parametrize("phase", Phase)
def test_the_phase_is_told_by_the_clusters_own_answers(phase: Phase) -> None:
    assert phase_of(AT[phase]) is phase


@pytest.mark.parametrize(
    "facts",
    [
        replace(FINALIZED, controllers=(*FINALIZED.controllers[:1], *WELL.controllers[1:])),
        # The configuration does not name the others, which may have the migration enabled.
        *(replace(FINALIZED, controllers=(one,)) for one in FINALIZED.controllers),
        one_silent(FINALIZED),
        replace(FINALIZED, controllers=controllers(unreachable="refused").controllers),
        replace(FINALIZED, controllers=controllers(migration_ready=WHY).controllers),
        replace(FINALIZED, controllers=()),
    ],
)
def test_only_controllers_that_all_answer_end_dual_write(facts: Facts) -> None:
    """Every broker is in KRaft mode, so the quorum that made the copy must not be formatted."""
    assert phase_of(facts) is Phase.DUAL_WRITE
    assert [word for word in DESTRUCTIVE if word in advice(facts)] == []
    assert {each for each in NOT_UNDER_WAY if found(facts, each).verdict is Verdict.SKIPPED} == (
        set(NOT_UNDER_WAY)
    )


@pytest.mark.parametrize(
    ("facts", "may_format"),
    [
        (WELL, True),
        (replace(WELL, zookeeper=replace(ZOOKEEPER, migration=migration(-1))), True),
        (replace(WELL, zookeeper=replace(ZOOKEEPER, migration=migration(283))), False),
        (replace(WELL, zookeeper=replace(ZOOKEEPER, migration=b"null")), False),
        (no_zookeeper(), False),
        (broker2(settings=WHY), False),
        (replace(MIGRATING, zookeeper=WHY), False),
    ],
)
def test_a_quorum_is_to_be_formatted_only_if_it_made_no_copy(
    facts: Facts, may_format: bool
) -> None:
    broken = replace(facts, controllers=controllers(migration_ready=False).controllers)
    assert phase_of(broken) not in UNDER_WAY
    assert ("format" in found(broken, "migration-enabled-everywhere").fix) is may_format


def test_a_copy_whose_controllers_all_stopped_blocks() -> None:
    """They stop at content that they cannot copy: one that still holds /controller exists."""
    facts = replace(AT[Phase.COPYING], controllers=DEAD.controllers)
    assert phase_of(facts) is Phase.COPYING
    assert overall(judge(facts)) is Severity.CRITICAL
    assert "provision" not in advice(facts)
    reasons = [one.finding.reason for one in judge(facts)]
    assert [each for each in reasons if "before they are provisioned" in each] == []


@pytest.mark.parametrize(
    ("check", "changed"),
    [
        ("znode-payloads", {"unreadable": (("/config/topics/a", "not JSON (3 bytes)"),)}),
        ("dynamic-secrets", {"dynamic_keys": {"/config/brokers/1": ("ssl.key.password",)}}),
        ("topic-deletions-pending", {"deletions": ("old",)}),
    ],
)
def test_what_the_copy_reads_is_checked_until_it_is_made(
    check: str, changed: dict[str, Any]
) -> None:
    at = {}
    for phase in UNDER_WAY:
        taken = AT[phase].zookeeper
        assert not isinstance(taken, Unknown)
        at[phase] = found(replace(AT[phase], zookeeper=replace(taken, **changed)), check).verdict
    assert at.pop(Phase.COPYING) is Verdict.VIOLATED
    assert set(at.values()) == {Verdict.SKIPPED}


def test_brokers_in_migration_mode_after_the_copy_are_hybrid() -> None:
    assert phase_of(MIGRATING) is Phase.HYBRID


@pytest.mark.parametrize("phase", OVER)
def test_after_the_migration_nothing_is_advised(
    phase: Phase,
    file: object,  # noqa: F811
    gathered: Gathered,  # noqa: F811
) -> None:
    facts = AT[phase]
    assert advice(facts).strip() == ""
    assert overall(judge(facts)) is None
    assert {one.finding.reason for one in judge(facts)} == {OVER[phase]}
    gathered(facts)
    result = invoke(file)  # type: ignore[arg-type]
    assert result.exit_code == ExitCode.DONE
    assert " ".join(result.stdout.split()) == f"prod preflight: {OVER[phase]}"
    assert result.stderr == ""


def test_finalized_says_so() -> None:
    assert OVER[Phase.FINALIZED] == "already finalized: nothing to migrate"


@pytest.mark.parametrize("phase", sorted(UNDER_WAY))
def test_while_it_is_under_way_nothing_is_to_be_formatted_or_deleted(phase: Phase) -> None:
    broken = replace(
        AT[phase],
        controllers=tuple(replace(one, metadata_version=16) for one in AT[phase].controllers),
    )
    if phase is not Phase.DUAL_WRITE:
        broken = replace(
            broken,
            controllers=tuple(replace(one, migration_ready=False) for one in broken.controllers),
        )
    assert phase_of(broken) is phase
    elected = replace(AT[phase], controllers=controller(quorum=ELECTED).controllers)
    for facts in (AT[phase], broken, elected):
        said = advice(facts)
        assert [word for word in DESTRUCTIVE if word in said] == []
    assert found(AT[phase], "metadata-version").verdict is Verdict.SKIPPED
    # The disks count in every phase in which brokers are restarted.
    dead = replace(AT[phase], brokers=(replace(AT[phase].brokers[0], log_dirs=WHY),))
    assert found(dead, "log-dirs-online").verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("phase", [Phase.ZOOKEEPER, Phase.PRE_MIGRATION, Phase.ROLLED_BACK])
def test_before_the_migration_every_check_applies(phase: Phase) -> None:
    checks = {check.id: check for check in CHECKS}
    assert all(one.finding == checks[one.check.id].judge(AT[phase]) for one in judge(AT[phase]))


@pytest.mark.parametrize("phase", sorted(UNDER_WAY))
def test_zookeeper_shows_a_migration_in_progress_without_the_brokers_settings(
    phase: Phase,
) -> None:
    """A broker in KRaft mode is not in /brokers/ids: it is not to be started or emptied."""
    brokers = tuple(replace(one, settings=WHY) for one in AT[phase].brokers)
    taken = AT[phase].zookeeper
    assert not isinstance(taken, Unknown)
    facts = replace(AT[phase], brokers=brokers, zookeeper=replace(taken, broker_ids=frozenset({2})))
    assert phase_of(facts) is (Phase.COPYING if phase is Phase.COPYING else Phase.HYBRID)
    assert found(facts, "broker-ids-agree").verdict is Verdict.SKIPPED
    assert found(facts, "broker-rights").verdict is not Verdict.SATISFIED


def test_after_a_roll_back_the_leftover_blocks_with_its_own_advice() -> None:
    stale = found(AT[Phase.ROLLED_BACK], "migration-znode-stale")
    assert stale.verdict is Verdict.VIOLATED
    assert "delete /migration" in stale.fix


@pytest.mark.parametrize(
    "facts",
    [
        broker2(settings=WHY),
        no_zookeeper(),
        replace(WELL, zookeeper=replace(ZOOKEEPER, controller=None)),
        Facts(cluster="prod"),
    ],
)
def test_a_phase_that_is_not_known_lifts_no_check(facts: Facts) -> None:
    assert phase_of(facts) is None
    checks = {check.id: check for check in CHECKS}
    assert all(one.finding == checks[one.check.id].judge(facts) for one in judge(facts))


def test_the_table_names_checks_that_there_are() -> None:
    assert set(NOT_UNDER_WAY) <= {check.id for check in CHECKS}


def test_one_cause_is_told_once(
    file: object,  # noqa: F811
    gathered: Gathered,  # noqa: F811
) -> None:
    """For a cluster that is down, preflight counts and names the unknown checks together."""
    dead = Facts(cluster="prod", zookeeper=Unknown("zk1 is silent"), topics=Unknown("b1 refused"))
    gathered(dead)
    result = invoke(file)  # type: ignore[arg-type]
    assert result.exit_code == ExitCode.NO_DATA
    assert result.stdout.count("b1 refused") == 1
    assert result.stdout.count("zk1 is silent") == 1
    depend = consequences(judge(dead))
    assert len(depend) > 15
    said = " ".join(result.stdout.split())
    assert f"unknown because of the above ({len(depend)})" in said
    assert all(one.check.id in said for one in depend)


@pytest.mark.parametrize("phase", sorted(UNDER_WAY))
def test_a_topic_that_only_zookeeper_shows_blocks_until_zookeeper_is_no_longer_written(
    phase: Phase,
) -> None:
    """The checks of partitions passed on a partial view of the topics."""
    hiding = replace(AT[phase], topics=topics(partitions=PARTITIONS[1:]).topics)
    assert phase_of(hiding) is phase
    visible = found(hiding, "topics-visible")
    assert (visible.verdict, visible.evidence) == (Verdict.VIOLATED, ("orders",))


def test_a_result_is_only_a_consequence_of_a_check_that_is_reported() -> None:
    facts = broker2(log_dirs=(log_dir("/d0", total_bytes=None),))
    assert found(facts, "disk-space").verdict is Verdict.UNKNOWN
    assert consequences(judge(facts)) == []
    hiding = topics(partitions=())
    assert found(hiding, "topics-visible").verdict is Verdict.VIOLATED
    assert [one.check.id for one in consequences(judge(hiding))] == ["stray-logs"]


def test_the_error_line_counts_what_depends(
    file: object,  # noqa: F811
    gathered: Gathered,  # noqa: F811
) -> None:
    gathered(replace(WELL, topics=Unknown("b1 refused"), brokers=()))
    result = invoke(file)  # type: ignore[arg-type]
    assert result.exit_code == ExitCode.HAZARD
    assert "brokers-reachable" in result.stderr
    assert " checks that depend on these" in result.stderr
    assert "log-dirs-online" not in result.stderr
    assert command is not None


def test_addresses_of_two_clusters_are_never_nothing_to_migrate() -> None:
    """Brokers of one finalized cluster, and the controllers of another with the same ids."""
    facts = in_kraft_mode(replace(OF_ANOTHER_CLUSTER, zookeeper=TAKEN))
    assert phase_of(facts) is Phase.FINALIZED
    worst = judge(facts)[0]
    assert (worst.check.id, worst.finding.verdict) == ("cluster-id-agrees", Verdict.VIOLATED)
    assert overall(judge(facts)) is Severity.CRITICAL
    others = {one.finding.verdict for one in judge(facts)[1:]}
    assert others == {Verdict.SKIPPED}, "no advice for the time before the copy"

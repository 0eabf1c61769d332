"""The next action: who must act, what to do, and which of several reasons comes first."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from migration.assessment.assess import Assessment, Snapshot, assess
from migration.assessment.conditions.view import Execution
from migration.assessment.data_source import DataSource
from migration.assessment.failed_directories import advice
from migration.assessment.finding import Finding, Verdict
from migration.assessment.next_action import Need
from migration.comparison.differences import Difference
from migration.comparison.result import Compared
from migration.image.summary import (
    BrokerSummary,
    ClusterSummary,
    DirectoriesGone,
    Mode,
    Phase,
    UncleanElection,
)
from migration.observed.facts import LogDirSeen
from migration.observed.jmx import Contradiction, JmxImage
from migration.observed.jmx_names import JmxName
from migration.observed.log_dirs import STORAGE_ERROR, BrokerDisks, DisksImage, Loss
from migration.observed.source_status import NO_STATUS, SourceStatus
from migration.observed.znodes import MIGRATION
from migration.observed.zookeeper import ZooKeeperImage
from orchestrator.output.manual import topics
from tests.migration.assessment.conditions.views import migration, zookeeper
from tests.scenes.night import FRESH, NOW_MS, cluster, held, kraft, migrating

GATE = Finding(verdict=Verdict.WAITING, reason="99 replicas wait", condition="nothing_held")
EXECUTION = Execution(
    at_ms=NOW_MS, checkpoint="brokers-kraft[3]", place="checkpoint 5 of 9, broker 2 of 3"
)


def assessed(
    summary: ClusterSummary,
    execution: Execution | None = None,
    status: SourceStatus = FRESH,
    *,
    resuming: bool = False,
    options: str = "",
    sources: Mapping[DataSource, SourceStatus] | None = None,
) -> Assessment:
    sources = {DataSource.METADATA_LOG: status, **(sources or {})}
    return assess(
        Snapshot(
            summary=summary,
            now_ms=NOW_MS,
            stall_after_ms=300_000,
            configured=frozenset(sources),
            sources=sources,
            execution=execution,
            resuming=frozenset({DataSource.METADATA_LOG} if resuming else ()),
            options=options,
        )
    )


def failed(summary: ClusterSummary, broker: int) -> ClusterSummary:
    other = LogDirSeen("/data/d0", 0, None, None, 0, 0, 0, 0, None, None)
    seen = other._replace(path="/data/d1", error=STORAGE_ERROR)
    disks = BrokerDisks(id=broker, log_dirs=(other, seen), answered_ms=NOW_MS)
    return replace(summary, disks=DisksImage(brokers={broker: disks}), leaderless=0)


REFUSED = "c1:9093: connection refused"
_STALE = replace(FRESH, last_reply_ms=NOW_MS - 15_001, waiting=REFUSED)
HYBRID = cluster(Phase.HYBRID, kraft(1), kraft(2), held(3))


def test_a_held_broker_is_waited_for_and_nobody_has_to_act() -> None:
    found = assessed(HYBRID).next
    assert found.need is Need.WAITING
    assert found.text.startswith("Waiting for broker 3: 12 of 64 replicas have no directory")
    assert found.broker == 3


def test_the_gate_of_an_execution_names_the_held_broker_and_the_place() -> None:
    found = assessed(HYBRID, replace(EXECUTION, findings=(GATE,), holds=("nothing_held: 99",))).next
    assert found.headline.startswith("Waiting for broker 3: 12 of 64 replicas have no directory")
    assert found.headline.endswith("(checkpoint 5 of 9, broker 2 of 3)")


def test_a_gate_without_a_held_broker_is_named_by_its_reason() -> None:
    calm = cluster(Phase.HYBRID, kraft(1))
    found = assessed(calm, replace(EXECUTION, findings=(GATE,), holds=("x",))).next
    assert (found.need, found.text) == (Need.WAITING, "Waiting: 99 replicas wait")
    assert found.why == "nothing_held does not hold yet"


def test_a_step_by_hand_is_the_operators_turn() -> None:
    turn = replace(EXECUTION, turn="Restart broker 3", why="by hand", commands=("kraftgate done",))
    found = assessed(HYBRID, replace(turn, shown="On c3: restart it.")).next
    assert (found.need, found.text, found.why) == (Need.YOUR_TURN, "Restart broker 3", "by hand")
    assert found.commands == ("kraftgate done",)
    assert found.instructions == "On c3: restart it."


def test_the_commands_find_the_configuration_and_those_of_an_execution_are_complete() -> None:
    option = "--config prod.yaml"
    (command,) = assessed(failed(HYBRID, 1), options=option).next.commands
    assert command == f"kraftgate hazards --before restart --broker 1 --cluster prod {option}"
    turn = replace(EXECUTION, turn="Restart broker 3", commands=("kraftgate done",))
    assert assessed(HYBRID, turn, options=option).next.commands == ("kraftgate done",)
    assert assessed(cluster(Phase.ZOOKEEPER), options=option).next.commands == (
        "kraftgate runbook show zk-to-kraft-jbod",
    )


def test_a_hook_of_an_aborted_execution_is_waited_for_before_its_step_is_asked_for() -> None:
    """A step done by hand meanwhile would be done twice at once."""
    hold = "the processes 4711 of the hook of controllers to end"
    ended = Execution(at_ms=NOW_MS, checkpoint=None, outcome="aborted", asks="elsewhere")
    found = assessed(cluster(Phase.ZOOKEEPER), replace(ended, holds=(hold,))).next
    assert (found.need, found.text) == (Need.WAITING, f"Waiting for {hold}")
    assert assessed(cluster(Phase.ZOOKEEPER), ended).next.need is Need.YOUR_TURN


def test_a_violated_condition_is_wrong_and_comes_before_the_turn() -> None:
    bad = Finding(verdict=Verdict.VIOLATED, reason="broker 3 lost 2 replicas")
    bad = replace(bad, condition="nothing_held")
    found = assessed(HYBRID, replace(EXECUTION, turn="Restart", findings=(GATE, bad))).next
    assert (found.need, found.text) == (Need.WRONG, "Broker 3 lost 2 replicas")
    assert found.commands == ("kraftgate wait --condition nothing_held --cluster prod",)
    own = replace(EXECUTION, findings=(replace(bad, condition="lag-is-low"),))
    assert assessed(HYBRID, own).next.commands == ("kraftgate status --cluster prod",)


_BEHIND = replace(FRESH, high_watermark=40_000)


@pytest.mark.parametrize(
    ("summary", "status", "text"),
    [
        (cluster(Phase.HYBRID, kraft(1), kraft(3)), FRESH, "Waiting for the next checkpoint"),
        (HYBRID, FRESH, "Broker 3 is held, and makes no progress"),
        (cluster(Phase.HYBRID, kraft(1)), _BEHIND, "Broker 3 is held, and makes no progress"),
    ],
)
def test_a_violation_of_the_last_tick_is_shown_until_its_condition_is_known_to_hold(
    summary: ClusterSummary, status: SourceStatus, text: str
) -> None:
    reason = "broker 3 is held, and makes no progress"
    bad = Finding(verdict=Verdict.VIOLATED, reason=reason, condition="nothing_held")
    assert assessed(summary, replace(EXECUTION, findings=(bad,)), status).next.text == text


def test_a_failed_step_comes_before_a_failed_directory() -> None:
    asks = replace(EXECUTION, asks="the hook ended with exit code 1", turn="Decide about it")
    found = assessed(failed(HYBRID, 1), asks).next
    assert (found.need, found.text) == (Need.WRONG, "Decide about it")
    assert found.why == "the hook ended with exit code 1"


def test_another_runbook_comes_after_a_failed_directory() -> None:
    """No step is in progress: the orchestrator has no checkpoint of the execution."""
    other = replace(EXECUTION, checkpoint=None, place="", asks="it was changed", turn="Restore it")
    assert assessed(failed(HYBRID, 1), other).next.text.startswith("Replace the disk of broker 1")
    assert assessed(HYBRID, other).next.text == "Restore it"


def test_after_an_unclean_election_no_broker_is_to_be_started() -> None:
    """It may be of the earlier ISR, and truncates what only it has."""
    unclean = UncleanElection(topic="t", partition=0, broker=2, isr="1", at_ms=5)
    silent = BrokerDisks(id=1, unreachable="refused", unreachable_since_ms=NOW_MS - 600_000)
    down = replace(
        cluster(Phase.HYBRID, kraft(1, fenced=True), kraft(2)),
        disks=DisksImage(brokers={1: silent}),
        unclean=(unclean,),
    )
    seen = {DataSource.LOG_DIRS: FRESH}
    assert assessed(down, sources=seen).next.text.startswith("Start no broker of the earlier ISR")
    assert assessed(replace(down, unclean=()), sources=seen).next.text == "Start broker 1"


def test_a_failed_directory_comes_before_the_checkpoint() -> None:
    found = assessed(failed(HYBRID, 1), replace(EXECUTION, turn="Restart broker 3")).next
    assert found.need is Need.WRONG
    assert found.headline == (
        "Replace the disk of broker 1: /data/d1 is offline (checkpoint 5 of 9, broker 2 of 3)"
    )


def test_a_step_comes_before_a_failed_directory_that_only_its_runbook_can_replace() -> None:
    """The runbook asks for an approval, and has the instructions."""
    approve = replace(EXECUTION, turn="Approve: accept the loss", commands=("kraftgate approve",))
    in_kraft = failed(cluster(Phase.KRAFT, kraft(1), kraft(2)), 1)
    found = assessed(in_kraft, approve).next
    assert (found.need, found.text) == (Need.YOUR_TURN, "Approve: accept the loss")
    assert assessed(in_kraft, replace(approve, turn="")).next.need is Need.WRONG
    alone = assessed(replace(in_kraft, leaderless=13), approve).next
    assert (alone.need, alone.text) == (Need.YOUR_TURN, "Approve: accept the loss")
    assert "the disk of broker 1 (/data/d1): 13 partitions without a leader may" in alone.why
    harmed = failed(cluster(Phase.KRAFT, held(1), kraft(2)), 1)
    assert assessed(harmed, approve).next.text.startswith("Restore the disk of broker 1")


@pytest.mark.parametrize(
    ("broker", "does"),
    [
        (kraft(1), "a restart in KRaft mode loses no replica"),
        (migrating(1), "do not restart broker 1 before"),
        (held(1), "do not restart broker 1 before"),
    ],
)
def test_the_advice_about_a_restart_agrees_with_the_hazard(
    broker: BrokerSummary, does: str
) -> None:
    found = assessed(failed(cluster(Phase.HYBRID, broker), 1))
    assert does in found.next.why
    kinds = {str(each.kind) for each in found.hazards if each.broker == 1}
    assert ("restart_loses_replicas" in kinds) is ("do not restart" in does)


@pytest.mark.parametrize(
    ("summary", "path"),
    [
        (cluster(Phase.DUAL_WRITE, kraft(1), kraft(2)), "from-kraft"),
        (cluster(Phase.HYBRID, kraft(1), replace(migrating(2), reverted=True)), None),
    ],
)
def test_in_a_rollback_a_broker_in_kraft_mode_is_not_safe_to_restart(
    summary: ClusterSummary, path: str | None
) -> None:
    """It restarts in migration mode: H1."""
    found = assessed(failed(summary, 1), replace(EXECUTION, path=path))
    assert found.next.headline.startswith("Restore the disk of broker 1")
    assert "do not restart broker 1 before" in found.next.why
    assert "restart_loses_replicas" in {str(each.kind) for each in found.hazards}


def test_no_disk_is_replaced_that_may_have_the_only_records() -> None:
    gone = kraft(1, gone=DirectoriesGone(directories=("x",), pending=11, at_ms=5))
    found = assessed(failed(cluster(Phase.HYBRID, gone, kraft(2)), 1), TURN)
    assert found.next.text.startswith("Stop the producers to the partitions of broker 1, ")
    assert (found.next.need, found.next.place) == (Need.WRONG, TURN.place)
    action, why = advice(found.view.failed[0], found.summary, log_is_current=True)
    assert action.startswith("Keep the disk of broker 1: ")

    restarted = failed(cluster(Phase.HYBRID, kraft(1), kraft(2)), 1)
    assert restarted.disks is not None
    loss = Loss(topic="t", partition=0, was_end=107, now_end=0, seen_ms=5, broker=1)
    found = assessed(replace(restarted, disks=replace(restarted.disks, losses=(loss,))))
    assert (found.next.text, found.next.why) == (action, why)
    elsewhere = replace(loss, broker=2)  # by an unclean election, after the directory failed
    found = assessed(replace(restarted, disks=replace(restarted.disks, losses=(elsewhere,))))
    assert advice(found.view.failed[0], found.summary, log_is_current=False) == (action, why)
    unclean = UncleanElection(topic="t", partition=0, broker=2, isr="1", at_ms=5)
    found = assessed(replace(restarted, unclean=(unclean,)))
    assert advice(found.view.failed[0], found.summary, log_is_current=True) == (action, why)


@pytest.mark.parametrize("execution", [None, replace(EXECUTION, findings=(GATE,))])
def test_a_broker_that_is_down_precedes_harm_that_was_done(execution: Execution | None) -> None:
    """Lost records stay lost: that advice would be the only one for the rest of the night."""
    loss = Loss(topic="t", partition=0, was_end=107, now_end=0, seen_ms=5, broker=1)
    since_ms = NOW_MS - 600_000
    silent = BrokerDisks(id=1, unreachable="refused", unreachable_since_ms=since_ms)
    gone = DirectoriesGone(directories=("x",), pending=11, at_ms=5)
    for down, recreated, text in (
        (None, None, "Stop producers to these partitions"),
        (1, None, "Start broker 1"),
        (2, 1, "Start broker 2"),
        (1, 1, "Stop producers to these partitions"),
    ):
        one, two = kraft(1, gone=gone if recreated == 1 else None), kraft(2)
        disks = {} if down is None else {down: replace(silent, id=down)}
        summary = replace(
            cluster(Phase.HYBRID, *(replace(e, fenced=e.id == down) for e in (one, two))),
            disks=DisksImage(brokers=disks, losses=(loss,)),
        )
        found = assessed(summary, execution, sources={DataSource.LOG_DIRS: FRESH})
        assert found.next.text.startswith(text)


@pytest.mark.parametrize("phase", [Phase.FINALIZED, Phase.KRAFT])
def test_partitions_without_a_leader_are_something_to_do(phase: Phase) -> None:
    leaderless = replace(cluster(phase, kraft(1)), leaderless=2)
    found = assessed(leaderless).next
    assert (found.need, found.text) == (
        Need.WRONG,
        "Find the cause of 2 partitions without a leader",
    )
    assert found.commands == ("kraftgate wait --condition isr_full --cluster prod",)
    fenced = replace(leaderless, brokers=(kraft(1), kraft(2, fenced=True)))
    assert assessed(fenced).next.broker == 2
    assert assessed(replace(leaderless, leaderless=0)).next.need is Need.NOTHING


def test_a_step_names_the_harm_that_was_done() -> None:
    loss = Loss(topic="t", partition=0, was_end=107, now_end=0, seen_ms=5, broker=1)
    harmed = replace(cluster(Phase.HYBRID, kraft(1)), disks=DisksImage(losses=(loss,)))
    found = assessed(harmed, replace(TURN, why="by hand")).next
    assert (found.need, found.text) == (Need.YOUR_TURN, TURN.turn)
    assert found.why == "by hand; acknowledged records of one partition are lost"


def test_no_disk_is_replaced_that_may_have_the_last_in_sync_replica() -> None:
    """The leader election of an empty replica truncates the other ones."""
    well = failed(cluster(Phase.FINALIZED, kraft(1), kraft(2)), 1)
    assert assessed(well).next.text.startswith("Replace the disk of broker 1: ")
    found = assessed(replace(well, leaderless=13)).next
    assert found.text.startswith("Keep the disk of broker 1: ")
    assert found.why.startswith("13 partitions without a leader may have the last in-sync replica")
    unknown = assessed(well, status=_BEHIND).next
    assert unknown.text.startswith("Keep the disk of broker 1: ")
    assert "because the metadata log is not current" in unknown.why
    misplaced = Difference("misplaced", "t-0", "a", "b", broker=1, path="/data/d1")
    for places in (
        Compared(at_ms=NOW_MS, misplaced=frozenset({misplaced})),
        Compared(at_ms=NOW_MS, unnamed=((misplaced._replace(subject=""), 2),)),
    ):
        found = assessed(replace(well, places=places)).next
        assert found.text.startswith("Keep the disk of broker 1: ")
        assert "replicas in it are assigned to another directory" in found.why


@pytest.mark.parametrize("leaderless", [0, 13])
def test_a_full_disk_is_not_replaced(leaderless: int) -> None:
    """Kafka takes a full directory offline like a failed one: its replicas are undamaged."""
    summary = failed(cluster(Phase.FINALIZED, kraft(1), kraft(2)), 1)
    found = assessed(replace(summary, leaderless=leaderless)).next
    assert found.why.endswith(
        "; if the disk is full, free space on it and restart the broker instead"
    )


@pytest.mark.parametrize(
    ("seen", "need", "text"),
    [
        (_STALE, Need.WRONG, "Do not finalize the migration: the brokers' log directories: "),
        (FRESH, Need.WAITING, "Waiting to finalize the migration: ZooKeeper's content was not"),
    ],
)
def test_nobody_finalizes_while_what_forbids_it_is_unknown(
    seen: SourceStatus, need: Need, text: str
) -> None:
    sources = {DataSource.ZOOKEEPER: FRESH, DataSource.LOG_DIRS: seen}
    there = ZooKeeperImage(seen_ms=1)
    summary = replace(cluster(Phase.DUAL_WRITE, kraft(1)), zookeeper=there, disks=DisksImage())
    found = assessed(summary, sources=sources).next
    assert (found.need, found.text[: len(text)]) == (need, text)
    assert found.commands == ("kraftgate hazards --before finalize --cluster prod",)


@pytest.mark.parametrize("path", ["/brokers/ids/9", "/controller_epoch"])
def test_a_znode_that_cannot_be_read_is_for_the_operator(path: str) -> None:
    """Nothing else corrects or deletes it."""
    there = ZooKeeperImage(seen_ms=1, unreadable={path: "it is empty"})
    content = Compared(at_ms=NOW_MS)
    summary = replace(
        cluster(Phase.DUAL_WRITE, kraft(1)),
        zookeeper=there,
        disks=DisksImage(),
        content=content,
        places=content,
    )
    sources = {DataSource.ZOOKEEPER: FRESH, DataSource.LOG_DIRS: FRESH}
    found = assessed(summary, sources=sources).next
    assert found.need is Need.WRONG
    assert found.text.startswith(f"Do not finalize the migration: {path} cannot be read: it is")


def test_what_jmx_reported_ends_when_it_leaves_the_configuration() -> None:
    doubt = Contradiction(
        node=2,
        name=str(JmxName.OFFLINE_LOG_DIRECTORY_COUNT),
        reads=1,
        expected=0,
        against="disks",
        since_ms=NOW_MS,
        lasting=True,
    )
    summary = replace(cluster(Phase.KRAFT, kraft(1)), jmx=JmxImage(contradictions=(doubt,)))
    assert assessed(summary, sources={DataSource.JMX: FRESH}).hazards
    assert assessed(summary).hazards == ()


def test_without_kraftgate_run_nothing_else_is_advised() -> None:
    silent = replace(FRESH, observed_ms=NOW_MS - 60_000)
    found = assessed(failed(HYBRID, 1), status=silent).next
    assert (found.need, found.commands) == (Need.WRONG, ("kraftgate run",))
    assert found.text == (
        "Start kraftgate run, or restart it if it hangs: it last reported 1 min ago"
    )


TURN = replace(EXECUTION, turn="Restart broker 3", commands=("kraftgate done",))
_NEVER = SourceStatus(observed_ms=NOW_MS, waiting=REFUSED)


@pytest.mark.parametrize(
    ("reason", "key"),
    [
        ("the quorum of controllers: the configuration names no controllers", "controllers"),
        ("the brokers' log directories: `brokers` is not configured", "brokers"),
        ("the partition state: no broker answered", None),
    ],
)
def test_a_gate_whose_source_is_not_configured_asks_for_it(reason: str, key: str | None) -> None:
    closed = Finding(verdict=Verdict.UNKNOWN, reason=reason, condition="quorum_healthy")
    phase = replace(GATE, condition="phase_is(pre-migration)")
    execution = replace(EXECUTION, findings=(phase, closed))
    summary = cluster(Phase.ZOOKEEPER)
    without = Snapshot(
        summary=summary,
        now_ms=NOW_MS,
        stall_after_ms=300_000,
        configured=frozenset({DataSource.ZOOKEEPER}),
        execution=execution,
    )
    found = assess(without).next
    if key is None:
        assert found.need is Need.WAITING
        return
    assert (found.need, found.topic, found.why) == (Need.WRONG, "preflight", reason)
    assert found.text == f"Add `{key}.bootstrap` to the configuration and restart `kraftgate run`"
    assert found.commands == ("kraftgate run",)
    both = frozenset({DataSource.METADATA_LOG, DataSource.LOG_DIRS})
    assert assess(replace(without, configured=both)).next.text != found.text
    assert assess(replace(without, execution=replace(TURN, findings=(closed,)))).next.text == (
        "Restart broker 3"
    )


def test_a_gate_whose_source_is_refused_needs_an_operator() -> None:
    """Nothing else shows the wrong credentials of a source that decides no phase."""
    refused = "b1:9092: authentication failed: check `brokers.security`"
    reason = f"the brokers' log directories: {refused}"
    closed = Finding(verdict=Verdict.UNKNOWN, reason=reason, condition="log_dirs_online")
    execution = replace(EXECUTION, findings=(GATE, closed))
    sources = {DataSource.LOG_DIRS: replace(FRESH, error=refused)}
    found = assessed(cluster(Phase.HYBRID, kraft(1)), execution, sources=sources).next
    assert (found.need, found.text) == (Need.WRONG, f"Repair the source: {refused}")
    assert (found.place, found.commands) == (EXECUTION.place, ("kraftgate preflight",))
    calm = replace(execution, findings=(GATE,))
    assert assessed(HYBRID, calm, sources=sources).next.need is Need.WAITING


@pytest.mark.parametrize(
    "execution", [None, replace(EXECUTION, findings=(GATE,), shown="Finalize.")]
)
def test_a_broker_that_is_down_is_an_operators_turn(execution: Execution | None) -> None:
    """Its directory failed and is online again, or it crashed: nobody else starts it.

    Instructions of another step would be followed as if they belonged to this one.
    """
    silent = BrokerDisks(id=2, unreachable="refused", unreachable_since_ms=NOW_MS - 60_001)
    summary = cluster(Phase.HYBRID, kraft(1), replace(kraft(2), fenced=True))
    summary = replace(summary, disks=DisksImage(brokers={2: silent}))
    found = assessed(summary, execution, sources={DataSource.LOG_DIRS: FRESH}).next
    assert (found.need, found.text, found.broker) == (Need.YOUR_TURN, "Start broker 2", 2)
    assert found.instructions is None
    assert found.commands == ("kraftgate hazards --before restart --broker 2 --cluster prod",)


@pytest.mark.parametrize(("phase", "asks"), [(Phase.KRAFT, False), (Phase.DUAL_WRITE, True)])
def test_zookeeper_is_added_only_if_the_cluster_uses_it(phase: Phase, asks: bool) -> None:
    reason = "ZooKeeper: `zookeeper` is not configured"
    closed = Finding(verdict=Verdict.UNKNOWN, reason=reason, condition="no_hazard(restart)")
    found = assessed(cluster(phase, kraft(1)), replace(EXECUTION, findings=(closed,))).next
    assert found.text.startswith("Add `zookeeper.connect`") is asks


@pytest.mark.parametrize("execution", [None, TURN])
@pytest.mark.parametrize("phase", [Phase.PRE_MIGRATION, Phase.HYBRID])
def test_controllers_that_exist_and_are_not_configured_are_added(
    phase: Phase, execution: Execution | None
) -> None:
    snapshot = Snapshot(
        summary=cluster(phase, migrating(1)),
        now_ms=NOW_MS,
        stall_after_ms=300_000,
        configured=frozenset({DataSource.ZOOKEEPER}),
        sources={DataSource.METADATA_LOG: SourceStatus(observed_ms=NOW_MS, waiting="none named")},
        execution=execution,
    )
    found = assess(snapshot).next
    assert (found.need, found.text) == (
        Need.WRONG,
        "Add `controllers.bootstrap` to the configuration and restart `kraftgate run`",
    )
    assert "none named" in found.why


@pytest.mark.parametrize("status", [FRESH, _BEHIND, _STALE])
@pytest.mark.parametrize(
    "execution", [TURN, replace(TURN, asks="the hook ended with 1"), replace(TURN, turn="")]
)
def test_a_run_that_evaluates_nothing_is_started_again(
    execution: Execution, status: SourceStatus
) -> None:
    """Its sources still report, in processes of their own."""
    old = replace(execution, at_ms=NOW_MS - 15_001)
    found = assessed(failed(HYBRID, 1), old, status)
    assert (found.next.need, found.next.topic) == (Need.WRONG, "KraftgateOrchestratorDown")
    assert found.next.text.startswith("Stop `kraftgate run` and start it again: ")
    assert found.next.commands == ("kraftgate run",)
    starts = assessed(HYBRID, old, status, resuming=True)
    assert not starts.next.text.startswith("Stop")
    ended = assessed(HYBRID, replace(old, outcome="aborted"))
    assert ended.next.text.startswith("Waiting for broker 3")


def test_the_turn_is_not_shown_while_the_data_is_behind() -> None:
    found = assessed(HYBRID, TURN, _BEHIND).next
    assert (found.need, found.commands) == (Need.WAITING, ())
    assert found.headline == (
        "Waiting for the metadata log to be read: 1440 of 40000 records, 38560 to go"
        " (checkpoint 5 of 9, broker 2 of 3)"
    )


@pytest.mark.parametrize("execution", [None, TURN])
@pytest.mark.parametrize("status", [_STALE, _NEVER])
def test_without_controllers_an_operator_restores_them(
    status: SourceStatus, execution: Execution | None
) -> None:
    found = assessed(HYBRID, execution, status).next
    assert (found.need, found.topic) == (Need.WRONG, "KraftgateStreamStale")
    assert found.text == (
        "Restore a majority of the controllers, or Kraftgate's connection to them, unless a"
        " rollback has stopped them"
    )
    assert REFUSED in found.why
    assert "kafka-metadata-quorum.sh describe --status" in found.why
    assert found.commands == ("kraftgate preflight",)


@pytest.mark.parametrize(
    ("phase", "status"),
    [
        (Phase.HYBRID, replace(FRESH, last_reply_ms=NOW_MS - 15_000, waiting=REFUSED)),
        (Phase.HYBRID, SourceStatus(observed_ms=NOW_MS)),
        (Phase.PRE_MIGRATION, _STALE),
        (Phase.ROLLED_BACK, _STALE),
    ],
)
def test_no_controllers_are_restored_that_are_not_missed(
    phase: Phase, status: SourceStatus
) -> None:
    """A short break, no attempt yet, and the phases in which the cluster does without them."""
    found = assessed(cluster(phase, kraft(1)), TURN, status).next
    assert not found.text.startswith("Restore")
    if status.last_reply_ms is not None:
        assert found.text == "Restart broker 3"


@pytest.mark.parametrize(
    ("reverted", "mode", "stops", "wrong"),
    [
        (False, Mode.MIGRATING, False, True),
        (False, Mode.MIGRATING, True, False),
        (True, Mode.MIGRATING, False, True),
        (True, Mode.MIGRATING, None, False),
        (True, Mode.KRAFT, None, True),
    ],
)
def test_controllers_that_a_rollback_stops_are_not_restored(
    reverted: bool, mode: Mode, stops: bool | None, wrong: bool
) -> None:
    """Without an execution (None) it stops them after its last broker in KRaft mode."""
    summary = cluster(Phase.HYBRID, kraft(1, mode=mode), migrating(2, reverted=reverted))
    execution = None
    if stops is not None:
        # A guard of the step that the stop itself makes unknown.
        findings = (Finding(verdict=Verdict.UNKNOWN, reason="x", condition="quorum_healthy"),)
        execution = replace(
            EXECUTION, path="from-hybrid", controllers_stop=stops, findings=findings
        )
    found = assessed(summary, execution, _STALE)
    assert (found.next.need is Need.WRONG) is wrong
    pending = [each.alert.name for each in found.alerts.pending()]
    assert ("KraftgateStreamStale" in pending) is wrong


def test_the_controllers_of_an_attempt_after_a_rollback_are_restored() -> None:
    """They have claimed the cluster, and the execution that stopped the former ones is over."""
    ended = replace(EXECUTION, path="from-hybrid", outcome="rolled-back", findings=())
    summary = cluster(Phase.COPYING, migrating(1), migrating(2))
    found = assessed(summary, ended, _STALE).next
    assert found.text.startswith("Restore a majority of the controllers")


@pytest.mark.parametrize("log", [FRESH, _BEHIND])
@pytest.mark.parametrize(
    ("phase", "blind_ms", "wrong"),
    [
        (Phase.DUAL_WRITE, 15_001, True),
        (Phase.DUAL_WRITE, 15_000, False),
        (Phase.PRE_MIGRATION, 60_000, False),
        (Phase.FINALIZED, 60_000, False),
    ],
)
def test_zookeeper_that_dual_write_needs_is_restored(
    phase: Phase, blind_ms: int, wrong: bool, log: SourceStatus
) -> None:
    lost_ms = NOW_MS - blind_ms
    seen = ZooKeeperImage(seen_ms=lost_ms, blind_since_ms=lost_ms)
    status = SourceStatus(observed_ms=NOW_MS, last_reply_ms=lost_ms, waiting="zk1:2181: refused")
    summary = replace(cluster(phase, kraft(1)), zookeeper=seen)
    found = assessed(summary, TURN, log, sources={DataSource.ZOOKEEPER: status}).next
    assert (found.text == "Restore ZooKeeper: Kraftgate cannot read it") is wrong
    assert (found.need is Need.WRONG) is wrong
    assert (found.topic == "KraftgateStreamStale") is wrong
    assert not wrong or found.commands == ("kraftgate preflight",)


@pytest.mark.parametrize("status", [NO_STATUS, replace(FRESH, observed_ms=NOW_MS - 60_000)])
def test_kraftgate_run_does_not_ask_for_its_own_start(status: SourceStatus) -> None:
    one = assessed(HYBRID, status=status, resuming=True)
    found, why = one.next, one.currency.not_current[DataSource.METADATA_LOG]
    assert why == "it is not followed yet: `kraftgate run` starts"
    assert (found.need, found.commands) == (Need.WAITING, ())
    assert found.text == "Waiting for the metadata log to be read: kraftgate run starts"


@pytest.mark.parametrize(
    ("summary", "need", "text"),
    [
        (cluster(Phase.ZOOKEEPER), Need.YOUR_TURN, "Provision the KRaft controllers"),
        (cluster(Phase.HYBRID, kraft(1), migrating(2)), Need.YOUR_TURN, "Restart broker 2"),
        (cluster(Phase.COPYING), Need.WAITING, "Waiting for the copy from ZooKeeper"),
        (cluster(Phase.DUAL_WRITE, kraft(1)), Need.YOUR_TURN, "Finalize the migration"),
        (cluster(Phase.FINALIZED, kraft(1)), Need.NOTHING, "Nothing to do"),
        (cluster(Phase.KRAFT, kraft(1)), Need.NOTHING, "Nothing to do"),
    ],
)
def test_without_a_runbook_the_migration_decides(
    summary: ClusterSummary, need: Need, text: str
) -> None:
    found = assessed(summary).next
    assert found.need is need
    assert found.text.startswith(text)


@pytest.mark.parametrize(
    ("phase", "name", "step"),
    [
        (Phase.DUAL_WRITE, JmxName.ZK_MIGRATION_STATE, "finalize"),
        (Phase.HYBRID, JmxName.OFFLINE_LOG_DIRECTORY_COUNT, "restart"),
    ],
)
def test_no_step_is_advised_that_a_hazard_forbids(phase: Phase, name: JmxName, step: str) -> None:
    doubt = Contradiction(
        node=2,
        name=str(name),
        reads=1,
        expected=0,
        against="disks",
        since_ms=NOW_MS,
        lasting=True,
    )
    two = migrating(2) if phase is Phase.HYBRID else kraft(2)
    jmx = JmxImage(contradictions=(doubt,))
    found = assessed(
        replace(cluster(phase, kraft(1), two), jmx=jmx), sources={DataSource.JMX: FRESH}
    )
    assert [each.blocks for each in found.hazards] == [step]
    assert (found.next.need, found.next.text) == (Need.WRONG, found.hazards[0].action)
    other = replace(found.summary, brokers=(kraft(2), migrating(3)))
    if phase is Phase.HYBRID:
        assert assessed(other).next.text == "Restart broker 3 in KRaft mode"


@pytest.mark.parametrize("mode", [Mode.MIGRATING, Mode.KRAFT])
def test_a_rollback_is_not_complete_before_every_broker_is_in_zookeeper_mode(mode: Mode) -> None:
    one, two = kraft(1, mode=Mode.ZOOKEEPER), kraft(2, mode=mode)
    summary = replace(cluster(Phase.ROLLED_BACK, one, two), zookeeper=ZooKeeperImage())
    found = assessed(summary).next
    assert (found.need, found.text) == (Need.YOUR_TURN, "Restart broker 2 in ZooKeeper mode")


def test_a_rollback_with_an_unreadable_migration_znode_is_not_complete() -> None:
    unreadable = ZooKeeperImage(unreadable={MIGRATION: "its content is not JSON"})
    found = assessed(replace(cluster(Phase.ROLLED_BACK), zookeeper=unreadable)).next
    assert (found.need, found.text) == (Need.YOUR_TURN, "Delete /migration")


def test_after_a_rollback_nothing_is_asked_for_and_the_next_attempt_has_its_command() -> None:
    gone = ZooKeeperImage()
    found = assessed(replace(cluster(Phase.ROLLED_BACK), zookeeper=gone)).next
    assert (found.need, found.text) == (Need.NOTHING, "Nothing to do: the rollback is complete")
    assert "To migrate later, format the controllers again" in found.why
    assert found.commands == ("kraftgate runbook show zk-to-kraft-jbod",)


def test_a_rollback_with_a_migration_znode_is_not_complete() -> None:
    found = assessed(cluster(Phase.ROLLED_BACK)).next
    assert (found.need, found.text) == (Need.YOUR_TURN, "Delete /migration")


def test_every_mode_and_phase_has_an_action_whose_page_exists() -> None:
    known = topics()
    for phase in Phase:
        for mode in Mode:
            summary = cluster(phase, replace(kraft(1), mode=mode), held(2))
            for status in (FRESH, NO_STATUS, replace(FRESH, error="damaged")):
                found = assessed(summary, status=status).next
                assert found.topic in known
                assert found.text
                assert found.commands or found.need not in (Need.YOUR_TURN, Need.WRONG)


def test_a_stale_migration_znode_remains_when_the_controllers_are_stopped() -> None:
    """Stopping them is the first step of its own way out."""
    znode = zookeeper(migration=migration(1_000_000, written_ms=NOW_MS - 9_000_000))
    summary = replace(cluster(Phase.PRE_MIGRATION, migrating(1)), zookeeper=znode)
    for status in (FRESH, replace(FRESH, last_reply_ms=NOW_MS - 60_000)):
        found = assessed(summary, status=status)
        assert found.log.answers is (status is FRESH)
        assert "stale_migration_znode" in {str(each.kind) for each in found.view.hazards}
    behind = replace(FRESH, due_offset=10_000_000, last_reply_ms=NOW_MS - 60_000)
    assert assessed(summary, status=behind).view.hazards == ()


@pytest.mark.parametrize("last_reply_ms", [NOW_MS - 60_000, NOW_MS - 4000, NOW_MS, None])
def test_a_copy_that_is_newer_than_the_log_is_not_stale(last_reply_ms: int | None) -> None:
    """The controllers made it while none of them answered Kraftgate."""
    znode = zookeeper(migration=migration(1439, written_ms=NOW_MS - 500), found_at_takeover=-1)
    znode = replace(znode, held_by=znode.controller)
    summary = replace(cluster(Phase.PRE_MIGRATION, migrating(1)), zookeeper=znode)
    assert assessed(summary, status=replace(FRESH, last_reply_ms=last_reply_ms)).view.hazards == ()


def test_the_rollback_of_a_runbook_in_kraft_mode_restarts_in_kraft_mode() -> None:
    summary = failed(cluster(Phase.KRAFT, kraft(1), kraft(2)), 1)
    found = assessed(summary, replace(EXECUTION, path="to-the-old-disk"))
    assert found.next.headline.startswith("Replace the disk of broker 1")
    assert "restart_loses_replicas" not in {str(each.kind) for each in found.hazards}

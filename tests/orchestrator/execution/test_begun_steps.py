"""Steps of the bundled runbook that are not about a broker, half done: they break their guards."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from migration.assessment.conditions import (
    DataSource,
    QuorumSeen,
    SettingsSeen,
    TopicsSeen,
    Verdict,
    View,
)
from migration.assessment.currency import Currency
from migration.assessment.hazards import hazards
from migration.comparison.result import Compared
from migration.image.summary import Mode, Phase
from migration.observed.source_status import SourceStatus
from migration.observed.znode_codec import MigrationZnode, ZkController
from migration.observed.znodes import MIGRATION
from migration.observed.zookeeper import ZooKeeperImage
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.state import Stage
from orchestrator.execution.approvals import basis
from orchestrator.run.execution_status import IF_BEGUN, ExecutionStatus
from orchestrator.runbook.load import shipped
from tests.migration.assessment.conditions.views import all_disks, disks, zk_brokers
from tests.orchestrator.execution.test_executor import ANNA, Night
from tests.scenes.night import NOW_MS, cluster, migrating

_OLD_MS = NOW_MS - 600_000


class Attempt(Night):
    """A migration whose controllers are started or stopped one after the other.

    Attributes:
        offset: in /migration; None: the znode does not exist.
        is_kraft: whether a KRaft controller holds /controller.
        answering: number of controllers that answer.
        refused: number of those that do not run, on a host that runs.
        silent: number of those whose host does not answer.
        listed: the brokers in /brokers/ids.
        lacks: data that is unknown and that does not end with the controllers; "": none.
    """

    offset: int | None = 283
    is_kraft = True
    answering = 3
    refused = 0
    silent = 0
    listed: tuple[int, ...] = (1, 2)
    differs = False
    lacks = ""

    def view(self) -> View:
        leads = self.answering > 1
        log = {} if leads else {DataSource.METADATA_LOG: "no controller leads"}
        if self.lacks == "session":
            log[DataSource.ZOOKEEPER] = "the session is lost"
        if self.lacks == "disks":
            log[DataSource.LOG_DIRS] = "no answer"
        migration = self.offset and MigrationZnode(
            offset=self.offset,
            controller_id=3000,
            controller_epoch=1,
            metadata_epoch=1,
            written_ms=self.now_ms if leads else _OLD_MS,
        )
        seen = ZooKeeperImage(
            seen_ms=_OLD_MS,
            controller=ZkController(
                id=3000 if self.is_kraft else 1,
                kraft_epoch=1 if self.is_kraft else -1,
                claimed_ms=_OLD_MS,
            ),
            migration=migration or None,
            brokers=zk_brokers(*self.listed, since_ms=_OLD_MS),
            ever=frozenset({1, 2}),
            partitions=32,
            unreadable={MIGRATION: "no JSON"} if self.lacks == MIGRATION else {},
        )
        summary = replace(
            cluster(self.phase, *self.brokers),
            zookeeper=seen,
            content=Compared(
                at_ms=self.now_ms,
                compared=40,
                lasting={"isr_differs": 3} if self.differs else {},
                unreadable=int(self.lacks == "znode"),
            ),
            disks=all_disks(
                *(
                    disks(id_, answered_ms=self.now_ms)
                    if id_ in self.listed
                    else disks(id_, answered_ms=_OLD_MS, unreachable="refused")
                    for id_ in (1, 2)
                )
            ),
        )
        return View(
            summary=summary,
            now_ms=self.now_ms,
            stall_after_ms=300_000,
            not_current=log,
            sources={
                DataSource.METADATA_LOG: SourceStatus(
                    observed_ms=self.now_ms,
                    last_reply_ms=self.now_ms if leads else _OLD_MS,
                    waiting=None if leads else "refused",
                )
            },
            hazards=hazards(summary, self.now_ms, Currency(not_current=log)),
            settings=SettingsSeen(at_ms=self.now_ms, modes=dict.fromkeys((1, 2), Mode.MIGRATING)),
            topics=TopicsSeen(at_ms=self.now_ms, partitions=32, reassigning=0, controller=1),
            quorum=QuorumSeen(
                at_ms=self.now_ms,
                leader=3000 if leads else None,
                answering=self.answering,
                refused=tuple(f"c{number}:9093" for number in range(self.refused)),
                silent={f"d{number}:9093": "timed out" for number in range(self.silent)},
            ),
        )

    def stop(self, number: int) -> None:
        self.answering, self.refused = 3 - number, number

    def roll_back(self, path: str, at: str) -> None:
        self.say(entries.RollbackBegan(path=path, at=at, by=ANNA, reason="ISR"))
        self.say(entries.CheckpointPassed(checkpoint="zookeeper-current", how="opened", facts={}))

    def approve_the_stop(self) -> ExecutionStatus:
        """Let the soak pass, and approve the stop of the controllers."""
        self.look(75, each_ms=1_000)
        view = self.view()
        now = basis(view.summary, view.hazards, self.loaded.sha256)
        self.say(entries.Approved(checkpoint="back-controllers", by=ANNA, reason="ok", basis=now))
        return self.settle()

    def repeat(self, checkpoint: str) -> ExecutionStatus:
        """Let the hook fail, and decide to repeat it."""
        self.outside.ends(1)
        assert self.settle().stage == str(Stage.ASKS)
        decided = entries.StepDecided(
            checkpoint=checkpoint, decision="repeat", by=ANNA, reason="ssh is repaired"
        )
        self.say(decided)
        return self.settle()


@pytest.fixture(params=[True, False], ids=["by hand", "by a hook"])
def attempt(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Attempt]:
    text = shipped()["zk-to-kraft-jbod"].read_text("utf-8")
    night = Attempt(tmp_path, by_hand=request.param, runbook=text)
    night.outside.by_hook = frozenset({"provision-controllers", "deprovision-controllers"})
    night.say(entries.CheckpointPassed(checkpoint="preflight", how="opened", facts={}))
    yield night
    night.log.close()


def begin(attempt: Attempt) -> ExecutionStatus:
    """Reach the step that provisions the controllers."""
    attempt.phase, attempt.offset, attempt.is_kraft = Phase.ZOOKEEPER, None, False
    attempt.stop(3)
    return attempt.settle()


def test_controllers_that_were_provisioned_in_part_are_provisioned_on(attempt: Attempt) -> None:
    """The first one creates /migration, with offset -1 (KRaftMigrationDriver)."""
    begin(attempt)
    attempt.stop(2)
    attempt.offset = -1
    if attempt.by_hand:
        found = attempt.settle()
        assert found.turn == "Provision the KRaft controllers, in migration mode"
        assert found.shown is not None
    else:
        attempt.repeat("controllers")
        assert len(attempt.outside.started) == 2


def test_no_controllers_are_provisioned_where_a_copy_is_recorded(attempt: Attempt) -> None:
    """A new quorum would skip the copy, and wipe ZooKeeper."""
    attempt.phase, attempt.offset, attempt.is_kraft = Phase.ZOOKEEPER, 283, False
    attempt.stop(3)
    found = attempt.settle()
    assert attempt.place("controllers").stage is Stage.ENTERED
    verdicts = {each.condition: each.verdict for each in found.findings}
    assert verdicts["no_hazard(stale_migration_znode)"] is Verdict.VIOLATED


def stopping(attempt: Attempt) -> ExecutionStatus:
    """Reach the step that stops the controllers."""
    attempt.roll_back("from-hybrid", "copied")
    return attempt.approve_the_stop()


def test_no_controllers_are_stopped_while_one_does_not_answer(attempt: Attempt) -> None:
    """It could never be shown that it is stopped, and the cluster would stay without controller."""
    attempt.answering, attempt.silent = 2, 1
    found = stopping(attempt)
    assert attempt.place("back-controllers").stage is Stage.ENTERED
    assert found.holds[0].startswith("controllers_answer: no answer from d0:9093: ")


@pytest.mark.parametrize("left", [1, 0])
def test_controllers_that_were_stopped_in_part_are_stopped_on(attempt: Attempt, left: int) -> None:
    """Without a majority the log is stale, and whether ZooKeeper has everything is unknown."""
    shown = stopping(attempt)
    attempt.stop(3 - left)
    if attempt.by_hand and left:
        assert shown.turn == "Stop the KRaft controllers"
        found = attempt.settle()
        assert found.turn == "Complete the step if it was begun: Stop the KRaft controllers"
        assert found.shown == shown.shown
        assert found.why.startswith("do not begin it now: no_hazard(dual_write_stuck) (unknown): ")
    elif left:
        found = attempt.repeat("back-controllers")
        assert len(attempt.outside.started) == 2
    else:
        attempt.outside.ends(0)
        found = attempt.settle()
        assert attempt.place("back-controllers").stage is Stage.PASSED


def test_a_stop_is_not_repeated_while_zookeeper_is_known_to_differ(attempt: Attempt) -> None:
    stopping(attempt)
    if attempt.by_hand:
        return
    attempt.differs = True
    found = attempt.repeat("back-controllers")
    assert len(attempt.outside.started) == 1
    assert any(each.startswith("no_hazard(content_differs)") for each in found.holds)
    attempt.stop(2)
    attempt.settle()
    assert len(attempt.outside.started) == 1


@pytest.mark.parametrize("lacks", ["session", MIGRATION, "znode", "disks"])
def test_a_stop_is_not_repeated_while_other_data_than_the_log_is_unknown(
    attempt: Attempt, lacks: str
) -> None:
    stopping(attempt)
    if attempt.by_hand:
        return
    attempt.stop(2)
    attempt.lacks = lacks
    attempt.repeat("back-controllers")
    assert len(attempt.outside.started) == 1
    attempt.lacks = ""
    attempt.settle()
    assert len(attempt.outside.started) == 2


def test_znodes_are_not_deleted_again_while_a_controller_may_run(attempt: Attempt) -> None:
    """Its step relies on stopped controllers, and does not stop them."""
    attempt.outside.by_hook = frozenset({"delete-znodes"})
    passed = entries.CheckpointPassed(checkpoint="back-controllers", how="opened", facts={})
    attempt.roll_back("from-hybrid", "copied")
    attempt.say(passed)
    attempt.stop(3)
    attempt.settle()
    view = attempt.view()
    now = basis(view.summary, view.hazards, attempt.loaded.sha256)
    attempt.say(entries.Approved(checkpoint="back-znodes", by=ANNA, reason="ok", basis=now))
    attempt.settle()
    attempt.silent = 1
    if attempt.by_hand:
        assert attempt.settle().turn.startswith("Complete the step if it was begun: ")
    else:
        found = attempt.repeat("back-znodes")
        assert len(attempt.outside.started) == 1
        assert found.holds[0].startswith("controllers_stopped (unknown): ")


def test_a_stop_that_was_not_begun_is_not_begun_while_its_guards_are_unknown(
    attempt: Attempt,
) -> None:
    attempt.stop(2)
    attempt.roll_back("from-hybrid", "copied")
    attempt.approve_the_stop()
    assert attempt.place("back-controllers").stage is Stage.ENTERED


def test_controllers_that_never_led_are_stopped_in_a_rollback(attempt: Attempt) -> None:
    """Nothing was copied: a broker holds /controller, and /migration has -1."""
    begin(attempt)
    attempt.stop(2)
    attempt.offset = -1
    if not attempt.by_hand:
        attempt.outside.ends(1)
    attempt.settle()
    attempt.roll_back("to-zookeeper", "controllers")
    attempt.approve_the_stop()
    stage = attempt.place("back-controllers").stage
    assert stage is (Stage.SHOWN if attempt.by_hand else Stage.RUNNING)


@pytest.mark.parametrize("offset", [-1, 283])
def test_a_rollback_during_a_copy_stops_controllers_without_a_majority(
    attempt: Attempt, offset: int
) -> None:
    """A KRaft controller holds /controller, and nothing is copied before /migration has it."""
    attempt.phase, attempt.offset = Phase.COPYING, offset
    attempt.stop(2)
    attempt.roll_back("to-zookeeper", "brokers-migration[1]")
    attempt.approve_the_stop()
    stage = attempt.place("back-controllers").stage
    begun = Stage.SHOWN if attempt.by_hand else Stage.RUNNING
    assert stage is (begun if offset < 0 else Stage.ENTERED)


def test_by_hand_a_broker_that_was_stopped_for_its_rollback_keeps_its_instructions(
    attempt: Attempt,
) -> None:
    """No controller updates its registration any more; in /brokers/ids it is absent."""
    for each in ("back-controllers", "back-znodes"):
        attempt.say(entries.CheckpointPassed(checkpoint=each, how="opened", facts={}))
    attempt.roll_back("to-zookeeper", "brokers-migration[2]")
    attempt.phase, attempt.offset, attempt.is_kraft = Phase.ROLLED_BACK, None, False
    attempt.brokers = (migrating(1), migrating(2))
    attempt.stop(3)
    shown = attempt.settle()
    assert shown.checkpoint == "back-brokers[2]"  # the other one is ZooKeeper's controller
    assert shown.turn.startswith("Restart broker 2")
    attempt.listed = (1,)
    found = attempt.settle()
    assert (found.turn, found.shown) == (f"{IF_BEGUN}{shown.turn}", shown.shown)
    assert found.why.startswith("do not begin it now: no_hazard(restart, 2) (violated): ")
    assert "; the broker is down: if you did not stop it for this" in found.why
    assert not any(each.verdict is Verdict.VIOLATED for each in found.findings)

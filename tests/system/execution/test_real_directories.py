"""Runbooks kraft-jbod and disk-replacement from end to end on a real KRaft cluster, with hooks.

Two brokers with one directory each, under a metadata.version that knows no directories; broker 2
runs an older Kafka, which the first step of the runbook upgrades. In each runbook the first
execution meets a hook that fails and is rolled back; the second is completed. In the window for the
disk another client moves a replica between directories (KIP-113). A producer and a consumer run all
the time.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from migration.image.summary import ClusterSummary
from migration.metadata.replica_state import ReplicaState
from migration.observed.log_dirs import is_bad
from orchestrator.audit.execution.state import ExecutionState, Stage
from orchestrator.lab import Lab, LabSpec
from orchestrator.lab.machine.jars import KAFKA_VERSION
from tests.support import older
from tests.support.lab_steps import alter_broker, wait_directory_noticed, watermarks
from tests.support.older import LabWithOlderBroker
from tests.system.asking import directory_id, on_disk
from tests.system.execution.traffic import Traffic
from tests.system.execution.window import Window
from tests.system.killing import CLUSTER

pytestmark = [pytest.mark.lab, pytest.mark.spark, pytest.mark.long(minutes=6)]

PARTITIONS: Final = 4
RECORDS: Final = 10
BEFORE_DIRECTORIES: Final = "3.6"
"""KIP-858, "Compatibility, Deprecation, and Migration Plan": directories from 3.7-IV2 on."""
THROTTLE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
UPGRADE: Final = '  upgrade-broker: {argv: [kraftgate, lab, restart, "{broker}"], timeout: 5m}\n'
LARGE: Final = 4000
"""Records of 1000 bytes: more than one fetch, so that a throttled move is not complete after it."""


@pytest.fixture
def lab() -> Iterator[Lab]:
    spec = LabSpec(
        brokers=2,
        directories=1,
        release_version=BEFORE_DIRECTORIES,
        # A throttled move copies nothing more in this time, and not a batch every 11 s.
        broker_properties={"alter.log.dirs.replication.quota.window.num": "3600"},
        controller_properties={"leader.imbalance.check.interval.seconds": "1"},
    )
    with LabWithOlderBroker(spec, older=2) as lab:
        lab.start_kraft()
        lab.create_topic("orders", PARTITIONS, 2)
        yield lab


@pytest.fixture
def window(lab: Lab, tmp_path: Path) -> Iterator[Window]:
    with Window(tmp_path, lab, book="kraft-jbod", steps=UPGRADE) as window:
        yield window


def test_directories_are_added_and_one_of_them_is_replaced(lab: Lab, window: Window) -> None:
    """KIP-858, "Migrating a cluster in KRaft without JBOD" and "Replica management"."""
    with Traffic(lab.broker_bootstrap, "orders", PARTITIONS) as traffic:
        window.start()
        _the_older_broker_is_upgraded(lab, window)
        _a_hook_fails_and_the_first_directories_are_given_up(lab, window)
        _each_broker_gets_its_directories(lab, window)
        assert window.interrupt() == 0
        window.take("disk-replacement")
        failed = _a_disk_fails(lab)
        _begin(window, "a disk of broker 2 failed")
        window.start()
        _a_hook_stops_half_way_and_the_old_disk_is_put_back(lab, window)
        _somebody_moves_a_replica_in_the_middle_of_the_window(lab, window, failed)
        _the_disk_is_replaced(lab, window, failed)
        acknowledged, consumed = traffic.finish()
    assert not traffic.failed
    assert acknowledged
    assert acknowledged <= consumed
    assert "intact" in window.say("audit", "verify")
    assert window.interrupt() == 0
    assert not window.leftovers()


def _the_older_broker_is_upgraded(lab: Lab, window: Window) -> None:
    """Broker 1 supports metadata.version 3.9 already, so its step is not executed."""
    _approving(window, lambda walk: walk.passed("brokers-upgraded"))
    assert [_steps_of(window, f"brokers-upgraded[{broker}]") for broker in (1, 2)] == [0, 1]
    versions = re.findall(r"Kafka version: (\S+)", lab.log_file("broker-2").read_text("utf-8"))
    assert list(dict.fromkeys(versions)) == [older.VERSION, KAFKA_VERSION]


def _a_hook_fails_and_the_first_directories_are_given_up(lab: Lab, window: Window) -> None:
    window.fault("set-directories 2 3", "fail")
    _approving(window, lambda walk: walk.checkpoint("log-dirs[2]").stage is Stage.ASKS)
    assert len(lab.broker(1).directories) == 3
    lab.create_topic("late", assignments=[[1]] * 2)  # into the directories with the fewest
    lab.produce("late", 0, RECORDS)
    assert not on_disk(lab, 1, 0, "late")

    window.say("rollback", "--reason", "the new disks of broker 2 are not mounted")
    _ended(window, "rolled-back")
    assert {len(each.directories) for each in lab.brokers.values()} == {1}
    assert on_disk(lab, 1, 0, "late") == {0, 1}
    assert watermarks(lab, "late", 0) == (0, RECORDS)
    assert _steps_of(window, "back-log-dirs[2]") == 0


def _each_broker_gets_its_directories(lab: Lab, window: Window) -> None:
    _begin(window, "the disks are mounted")
    _ended(window, "completed")
    ids = {
        broker: {directory_id(lab.directory(broker, index)) for index in range(3)}
        for broker in lab.spec.broker_ids
    }
    window.wait_for(lambda now: {each.id: set(each.log_dirs) for each in now.brokers} == ids)


def _a_disk_fails(lab: Lab) -> int:
    """Fail the directory of broker 2 that has the only replica of `alone`; return its index."""
    lab.create_topic("moved", assignments=[[2]] * 3)
    lab.create_topic("alone", assignments=[[2]])
    lab.produce("alone", 0, RECORDS)
    (failed,) = (index for index in range(3) if on_disk(lab, 2, index, "alone"))
    assert failed > 0, "the first directory holds the metadata log"
    lab.fail_directory(2, failed)
    assert wait_directory_noticed(lab, 2, failed)
    return failed


def _a_hook_stops_half_way_and_the_old_disk_is_put_back(lab: Lab, window: Window) -> None:
    window.fault("replace-directories 2", "half-way")
    _approving(window, lambda walk: walk.checkpoint("disk-replaced[2]").stage is Stage.ASKS)
    assert not lab.is_alive("broker-2")
    window.say("rollback", "--reason", "the new disk is broken, and the old one can be read again")
    _ended(window, "rolled-back")
    assert _steps_of(window, "back-disk[1]") == 0
    assert lab.failed_directories("broker-2") == ()
    assert watermarks(lab, "alone", 0) == (0, RECORDS)


def _somebody_moves_a_replica_in_the_middle_of_the_window(
    lab: Lab, window: Window, failed: int
) -> None:
    """KIP-113, "How to move replica between log directories on the same broker".

    A throttle of one byte a second stops the move after its first batch. It begins before the disk
    fails again: a broker with an offline directory rejects every move (observed on 3.9.1: "Can not
    create log for moved-0 because log directories .. are offline").
    """
    healthy = [index for index in range(3) if index != failed]
    source, partition = next(
        (index, min(found)) for index in healthy if (found := on_disk(lab, 2, index, "moved"))
    )
    (to,) = (index for index in healthy if index != source)
    lab.produce("moved", partition, LARGE, size_bytes=1000)
    alter_broker(lab, 2, THROTTLE, "1")
    _begin(window, "another disk is there")
    window.wait_at("accepted", Stage.ENTERED)
    lab.move_replicas(2, {("moved", partition): to})
    lab.fail_directory(2, failed)
    assert wait_directory_noticed(lab, 2, failed)
    window.wait_for(lambda now: _has_bad_directory(now, 2) and _has_stuck_move(now, 2))

    window.approve_alone("accepted")
    window.wait_at("disk-replaced[2]", Stage.ENTERED)
    guard = "no_directory_move(2) (violated): broker 2: 1 replica moving between log directories"
    window.wait_true(lambda: guard in _holds(window), "the guard to close")
    assert window.walk_now().checkpoint("disk-replaced[2]").attempts == 0

    alter_broker(lab, 2, THROTTLE, None)
    # The approval was given while the hazard of the move was active: it expires with that.
    window.wait_true(
        lambda: _is_only_unapproved(window),
        "the guard to open, and another approval to be requested",
    )
    assert partition in on_disk(lab, 2, to, "moved")
    assert watermarks(lab, "moved", partition) == (0, LARGE)


def _the_disk_is_replaced(lab: Lab, window: Window, failed: int) -> None:
    _approving(window, lambda walk: walk.passed("disk-replaced"))
    assert lab.failed_directories("broker-2") == ()
    _the_loss_is_accepted(lab, window)
    _ended(window, "completed")
    new = directory_id(lab.directory(2, failed))
    summary = window.summary()
    assert summary is not None
    (broker,) = (each for each in summary.brokers if each.id == 2)
    assert new in broker.log_dirs
    assert broker.replicas[ReplicaState.ASSIGNED] == sum(broker.replicas.values())


def _the_loss_is_accepted(lab: Lab, window: Window) -> None:
    """A partition whose only replica was on the disk gets a leader, with an empty log, by itself.

    If the broker is unfenced before its new directory is assigned, the controller's rebalance
    elects it, without a restart (ReplicationControlManager.maybeBalancePartitionLeaders).
    """
    lost = "no_hazard(records_lost) (violated): acknowledged records of one partition are lost"
    window.wait_true(lambda: lost in _holds(window), "the loss to be reported")
    assert watermarks(lab, "alone", 0) == (0, 0)
    window.say("skip", "nothing-lost", "--reason", "the records were accepted as lost")


def _begin(window: Window, reason: str) -> None:
    window.say("begin", "--reason", reason)


def _ended(window: Window, outcome: str) -> None:
    _approving(window, lambda walk: walk.outcome is not None)
    assert window.walk_now().outcome == outcome


def _approving(window: Window, holds: Callable[[ExecutionState], bool]) -> None:
    """Wait until the execution is there, and approve each step that asks for it.

    On a busy machine a broker may be fenced for a moment: an approval expires with that.
    """

    def there() -> bool:
        for each in _holds(window):
            asks = re.search("kraftgate approve '?([^' ]+)", each)
            if asks is not None:
                words = ("--reason", "the change is planned", "--confirm", CLUSTER)
                window.ask("approve", asks[1], *words)
        walk = window.walk()
        return walk is not None and holds(walk)

    window.wait_true(there, "the execution to be there")


def _is_only_unapproved(window: Window) -> bool:
    names = {each.partition(":")[0].partition(" (")[0] for each in _holds(window)}
    return "approval by a person" in names and "no_directory_move(2)" not in names


def _holds(window: Window) -> list[str]:
    """Return what the execution waits for; nothing while `run` has stored no state yet."""
    printed = window.ask("status", "--json").stdout
    return [str(each) for each in json.loads(printed)["waiting_for"]] if printed else []


def _has_bad_directory(now: ClusterSummary, broker: int) -> bool:
    return now.disks is not None and any(map(is_bad, now.disks.brokers[broker].log_dirs))


def _has_stuck_move(now: ClusterSummary, broker: int) -> bool:
    return now.disks is not None and bool(now.disks.brokers[broker].stuck)


def _steps_of(window: Window, checkpoint: str) -> int:
    return sum(each["checkpoint"] == checkpoint for each in window.kinds("step_started"))

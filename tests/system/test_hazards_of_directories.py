"""A directory that fails under replicas without a known one, and a broker's last one, for real.

What Kafka makes of it is asked of Kafka itself: its metadata, its clients' errors. To have
replicas that lie in a directory and are not assigned to it yet for as long as a test needs, the
broker's AssignReplicasToDirs requests are held back on their way; everything else passes.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from migration.assessment.currency import CURRENT
from migration.assessment.hazards import HazardKind, hazards
from migration.image.summary import BrokerSummary, Phase
from migration.metadata.events import Source
from migration.metadata.replica_state import ReplicaState
from migration.observed.facts import DisksSeen
from migration.observed.log_dirs import FAILURE_TIMEOUT, STORAGE_ERROR, DisksImage, observe
from orchestrator.errors import ExitCode
from orchestrator.lab import Lab, LabSpec
from orchestrator.lab.errors import ProcessDiedError, RequestRefusedError, WrongStateError
from streams.log_dirs.memory import Memory
from streams.log_dirs.poll import LogDirsConfig
from streams.log_dirs.poller import LogDirsPoller
from streams.net.endpoint import Endpoint
from streams.net.listener import Listener
from tests.streams.log_dirs.journal import Facts, now_ms
from tests.support.cli import Done, kraftgate
from tests.support.held_requests import ASSIGN_REPLICAS_TO_DIRS, HeldRequests
from tests.support.lab_steps import alter_broker, unregister, wait_directory_noticed, watermarks
from tests.support.pipeline import Run
from tests.support.renamed_cluster import RenamedCluster, another_id
from tests.system.asking import (
    active,
    all_active,
    asked,
    directory_id,
    free,
    of,
    offline_alerts,
    on_disk,
    waited,
)
from tests.system.killing import CLUSTER, Killed

pytestmark = [pytest.mark.lab, pytest.mark.spark, pytest.mark.long(minutes=4.5)]

OLD = [[1], [1], [1], [1], [2], [2], [2], [2]]
"""Partitions of one replica: Kafka spreads those of a broker over its two directories."""
BOTH = [[2, 1]] * 4
RECORDS = 10
UNASKED = "unasked"
MOVED = 4000
"""Records of 1000 bytes: four batches of a fetch."""
TIMEOUT_MS = 8000
AT = r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\]"


@pytest.fixture
def assignments() -> Iterator[HeldRequests]:
    with HeldRequests(ASSIGN_REPLICAS_TO_DIRS) as held:
        yield held


@pytest.fixture
def lab(assignments: HeldRequests) -> Iterator[Lab]:
    properties = {
        "controller.quorum.voters": f"3000@{assignments.address}",
        # A throttled move copies nothing more in this time, and not a batch every 11 s.
        "alter.log.dirs.replication.quota.window.num": "3600",
    }
    spec = LabSpec(brokers=2, directories=2, controllers=1, broker_properties=properties)
    with Lab(spec) as lab:
        lab.start_zookeeper()
        lab.start_brokers()
        lab.create_topic("old", assignments=OLD)
        lab.create_topic("both", assignments=BOTH)
        for partition in range(len(OLD)):
            lab.produce("old", partition, RECORDS)
        yield lab


@pytest.fixture
def run(lab: Lab, tmp_path: Path) -> Iterator[Killed]:
    """It follows the cluster under two ids: as UNASKED it asks no broker for its disks."""
    sources = (
        f'zookeeper: {{connect: "{lab.zookeeper_connect}"}}\n'
        f'brokers: {{bootstrap: "{lab.broker_bootstrap}"}}\n'
    )
    unasked_id = another_id()
    with (
        Killed(tmp_path, lab.controller_bootstrap, lab.cluster_id, sources) as run,
        RenamedCluster(lab.controller_bootstrap, lab.cluster_id, unasked_id) as controllers,
        RenamedCluster(lab.zookeeper_connect, lab.cluster_id, unasked_id) as zookeeper,
    ):
        all_of_it = {
            "name": CLUSTER,
            "id": lab.cluster_id,
            "controllers": {"bootstrap": lab.controller_bootstrap},
            "zookeeper": {"connect": lab.zookeeper_connect},
            "brokers": {"bootstrap": lab.broker_bootstrap},
        }
        unasked = {
            "name": UNASKED,
            "id": unasked_id,
            "controllers": {"bootstrap": controllers.address},
            "zookeeper": {"connect": zookeeper.address},
        }
        twice = tmp_path / "twice.yaml"
        clusters = {"clusters": [all_of_it, unasked], "state_dir": str(run.state)}
        twice.write_text(json.dumps(clusters), "utf-8")
        run.start("--config", str(twice))
        yield run


def test_directories_that_fail_at_the_wrong_moment(
    lab: Lab, run: Killed, assignments: HeldRequests, tmp_path: Path
) -> None:
    """KIP-858, "Test plan": failures of log directories in KRaft mode; KIP-113, "Test Plan"."""
    run.wait_for(lambda now: now.disks is not None and len(now.disks.brokers) == 2)
    _one_is_left_under_zookeeper(lab, run)
    _somebody_moves_a_replica(lab, run)
    lab.start_controllers()
    assignments.target = lab.controller_bootstrap
    for broker in lab.spec.broker_ids:
        lab.enter_migration(broker)
    lab.wait_copied()
    lab.wait_in_sync()
    run.wait_for(lambda now: now.phase is Phase.HYBRID)
    _one_fails_under_pending_replicas(lab, run, assignments)
    _somebody_deletes_a_file(lab, run)
    _somebody_edits_the_ids(lab, run, assignments)
    _a_move_waits_for_the_controller(lab, run, assignments)
    _one_is_gone_before_the_broker_starts(lab, run)
    _its_broker_leaves_for_good(lab, run)
    assert run.interrupt() == 0
    assert not run.leftovers()
    _its_controller_does_not_hear_of_one(lab, tmp_path)


def _one_is_left_under_zookeeper(lab: Lab, run: Killed) -> None:
    """KIP-589, "Motivation": the znode names the broker; no request to it is needed."""
    for cluster in (CLUSTER, UNASKED):
        run.wait_for(
            lambda now: now.zookeeper is not None and len(now.zookeeper.brokers) == 2,
            cluster=cluster,
        )
    path = str(lab.directory(2, 1))
    lab.fail_directory(2, 1)
    # The notification lives for some milliseconds: it is read, or counted.
    event = run.wait_for_event(
        lambda event: event.kind in ("log_dir_failure_notified", "notifications_missed")
    )
    assert event.source is Source.ZOOKEEPER
    assert event.fields.get("count", 1) == 1
    run.wait_for_event(of("log_dir_offline", 2, path=path))
    assert wait_directory_noticed(lab, 2, 1)
    assert asked(run, 2, 5)["blocked"]
    left = active(run, HazardKind.ONE_DIRECTORY_LEFT, 2)
    assert str(lab.directory(2, 0)) in left["text"]
    run.wait_for(lambda _: bool(offline_alerts(run, UNASKED)))
    (alert,) = offline_alerts(run, UNASKED)
    # On a busy machine the notification may be missed: then it may be any broker's.
    assert alert.labels.get("broker") == "2" or "one of 1, 2" in alert.description
    assert not alert.labels.keys() & {"log_dir", "directory"}
    lab.stop("broker-2")
    lab.heal_directory(2, 1)
    run.wait_for_event(of("log_dir_online", 2, path=path))
    lab.start("broker-2")
    run.wait_for_event(of("disks_answer_again", 2))
    all_active(run, 2)
    free(run, "--before", "restart", "--broker", "2")
    if "broker" in alert.labels:
        run.wait_for(lambda _: not offline_alerts(run, UNASKED))


def _somebody_moves_a_replica(lab: Lab, run: Killed) -> None:
    """KIP-113, "How to move replica between log directories on the same broker".

    A throttle of one byte a second stops the move after its first batch. Nothing here may make
    Kafka create __consumer_offsets, whose replicas would be pending below.
    """
    throttle = "replica.alter.log.dirs.io.max.bytes.per.second"
    lab.create_topic("moved", assignments=[[1]])
    lab.produce("moved", 0, MOVED, size_bytes=1000)
    source = 0 if on_disk(lab, 1, 0, "moved") else 1
    alter_broker(lab, 1, throttle, "1")
    waited(run, "no_directory_move", "no_directory_move(1)")

    lab.move_replicas(1, {("moved", 0): 1 - source})
    run.wait_for(lambda now: now.disks is not None and now.disks.brokers[1].futures == 1)
    waited(run, "no_directory_move(2)")
    for condition in ("no_directory_move", "no_directory_move(1)"):
        held = not_met(run, condition)
        assert held.returncode in (ExitCode.GATE_NOT_MET, ExitCode.HAZARD), held.stderr
        assert "1 replica moving between log directories" in held.stderr
    run.wait_for(lambda now: now.disks is not None and bool(now.disks.brokers[1].stuck))
    stuck = active(run, HazardKind.FUTURE_REPLICA_STUCK, 1)
    (line,) = stuck["evidence"]
    assert line.startswith(f"moved-0 moves to {lab.directory(1, 1 - source)}: ")
    assert line.endswith(" messages behind")
    assert stuck["blocks"] is None

    alter_broker(lab, 1, throttle, None)
    waited(run, "no_directory_move", "no_directory_move(1)")
    all_active(run, 1)
    assert on_disk(lab, 1, 1 - source, "moved") == {0}
    lab.delete_topic("moved")


def _one_fails_under_pending_replicas(lab: Lab, run: Killed, assignments: HeldRequests) -> None:
    """As long as the controller has not heard where replicas lie, it does not move their leaders.

    Nor does it take them out of the ISR, so that other replicas' leaders wait for them, too.
    """
    doomed = {topic: on_disk(lab, 2, 1, topic) for topic in ("old", "both")}
    assert all(doomed.values())
    failing = directory_id(lab.directory(2, 1))
    run.wait_for(lambda now: any(failing in each.log_dirs for each in now.brokers), cluster=UNASKED)
    assignments.hold()
    lab.move_to_kraft(2)
    run.wait_for(lambda now: unfenced_and_held(now.brokers, 2))
    early = all_active(run, 2, HazardKind.UNFENCED_EARLY)
    assert early[HazardKind.UNFENCED_EARLY]["blocks"] == "restart"
    asked(run, 2, 5)
    lab.wait_in_sync()
    before = lab.isrs()

    lab.fail_directory(2, 1)
    assert wait_directory_noticed(lab, 2, 1)
    run.wait_for(lambda now: [len(each.log_dirs) for each in now.brokers if each.id == 2] == [1])
    found = all_active(
        run,
        2,
        HazardKind.DIRECTORY_FAILED_UNDER_PENDING,
        HazardKind.ONE_DIRECTORY_LEFT,
        HazardKind.RESTART_LOSES_REPLICAS,
        HazardKind.UNFENCED_EARLY,
    )
    failed = found[HazardKind.DIRECTORY_FAILED_UNDER_PENDING]
    assert failed["blocks"] == "restart"
    assert "does not move the leaders of the replicas that were in it" in failed["text"]
    assert str(lab.directory(2, 0)) in found[HazardKind.ONE_DIRECTORY_LEFT]["text"]
    for partition in doomed["old"]:
        assert_offline(lab, "old", partition)
    assert lab.isrs() == before
    # KIP-858, "Handling log directory failures": the registration names its id.
    named = {"broker": "2", "directory": failing}
    run.wait_for(
        lambda _: any(named.items() <= each.labels.items() for each in offline_alerts(run, UNASKED))
    )

    assignments.let_go()
    run.wait_for_event(of("assignments_complete", 2))
    run.wait_for(lambda _: leaders(lab, "old", doomed["old"]) == {-1})
    run.wait_for(lambda _: all(lab.isrs()["both", each][1] == [1] for each in doomed["both"]))
    all_active(run, 2, HazardKind.ONE_DIRECTORY_LEFT)
    asked(run, 2, 0)

    lab.stop("broker-2")
    lab.heal_directory(2, 1)
    lab.start("broker-2")
    lab.wait_in_sync()
    assert lab.failed_directories("broker-2") == ()
    with pytest.raises(WrongStateError, match="runs already"):
        lab.start("broker-2")
    run.wait_for_event(of("log_dir_online", 2, path=str(lab.directory(2, 1))))
    for partition in doomed["old"]:
        assert watermarks(lab, "old", partition) == (0, RECORDS)


def _somebody_deletes_a_file(lab: Lab, run: Killed) -> None:
    """The broker does not notice while it runs; Kafka does not start without the file."""
    file = lab.directory(2, 1) / "meta.properties"
    content, own = file.read_bytes(), directory_id(file.parent)
    run.wait_for(lambda _: not offline_alerts(run, CLUSTER))

    def is_told() -> None:
        fault, registered = active(run, HazardKind.DIRECTORY_IDS, 2)["evidence"]
        assert fault.startswith(f"{file.parent}: has no meta.properties, and")
        assert registered == f"registered, but in no directory now: {own}"
        assert not offline_alerts(run, CLUSTER)

    file.unlink()
    is_told()
    lab.stop("broker-2")
    with pytest.raises(ProcessDiedError, match=r"No `meta\.properties` found"):
        lab.start("broker-2")
    is_told()
    file.write_bytes(content)
    all_active(run, 2)


def _somebody_edits_the_ids(lab: Lab, run: Killed, assignments: HeldRequests) -> None:
    """Kafka refuses a duplicate id; for a missing one it generates another, and starts."""
    folders = [lab.directory(2, index) for index in (0, 1)]
    own = [directory_id(each) for each in folders]
    inside = on_disk(lab, 2, 1, "old")
    write_directory_id(folders[1], own[0])
    twice = active(run, HazardKind.DIRECTORY_IDS, 2)
    assert twice["blocks"] == "restart"
    assert twice["evidence"] == [
        f"{folders[0]}: directory.id {own[0]}, as in {folders[1]}",
        f"{folders[1]}: directory.id {own[0]}, as in {folders[0]}",
        f"registered, but in no directory now: {own[1]}",
    ]
    with pytest.raises(ProcessDiedError, match="Duplicate directory ID"):
        lab.start("broker-2")

    write_directory_id(folders[1], None)
    missing = active(run, HazardKind.DIRECTORY_IDS, 2)
    assert missing["evidence"] == [
        f"{folders[1]}: no directory.id in meta.properties",
        f"registered, but in no directory now: {own[1]}",
    ]
    # Kafka elects leaders when it unfences the broker, not when the assignments arrive. On a busy
    # machine these may arrive first.
    assignments.hold()
    lab.start("broker-2")
    assert directory_id(folders[1]) not in own
    run.wait_for(lambda now: unfenced_with(now.brokers, 2, directory_id(folders[1])))
    assignments.let_go()
    run.wait_for(lambda now: settled(now.brokers, 2, directory_id(folders[1])))
    assert leaders(lab, "old", inside) == {-1}
    all_active(run, 2)

    own_timeout = {FAILURE_TIMEOUT: str(TIMEOUT_MS)}
    lab.spec = replace(lab.spec, broker_properties={**lab.spec.broker_properties, **own_timeout})
    lab.restart(2)
    lab.wait_in_sync()
    for partition in inside:
        assert watermarks(lab, "old", partition) == (0, RECORDS)


def _a_move_waits_for_the_controller(lab: Lab, run: Killed, assignments: HeldRequests) -> None:
    """KIP-858, "Intra-broker replica movement": the controller confirms the directory first.

    Without its answer the copy catches up and does not replace the replica (KAFKA-16365).
    """
    partition = min(on_disk(lab, 2, 1, "old"))
    assignments.hold()
    lab.move_replicas(2, {("old", partition): 0})
    run.wait_for(lambda now: now.disks is not None and bool(now.disks.brokers[2].stuck))
    stuck = active(run, HazardKind.FUTURE_REPLICA_STUCK, 2)
    to = lab.directory(2, 0)
    assert stuck["evidence"] == [f"old-{partition} moves to {to}: caught up, not promoted"]
    assignments.let_go()
    waited(run, "no_directory_move(2)")
    all_active(run, 2)
    assert partition in on_disk(lab, 2, 0, "old")
    assert watermarks(lab, "old", partition) == (0, RECORDS)


def _one_is_gone_before_the_broker_starts(lab: Lab, run: Killed) -> None:
    """H3 with one replica: the controller believes in a leader that has no log, for good."""
    doomed, well = on_disk(lab, 1, 1, "old"), on_disk(lab, 1, 0, "old")
    assert doomed
    assert well
    pending = len(doomed) + len(on_disk(lab, 1, 1, "both"))
    lab.stop("broker-1")
    lab.fail_directory(1, 1)
    run.wait_for_event(of("replicas_cut_off", 1, path=str(lab.directory(1, 1))))
    asked(run, 1, 5)
    lab.move_to_kraft(1)
    # Those in the directory that is left get there, late; those of the other one nowhere.
    run.wait_for(lambda now: [each.pending for each in now.brokers if each.id == 1] == [pending])
    run.wait_for(lambda _: leaders(lab, "old", doomed | well) == {1})
    for partition in well:
        assert watermarks(lab, "old", partition) == (0, RECORDS)
    for partition in doomed:
        assert_offline(lab, "old", partition)
    found = all_active(
        run,
        1,
        HazardKind.ONE_DIRECTORY_LEFT,
        HazardKind.RESTART_LOSES_REPLICAS,
        HazardKind.UNFENCED_EARLY,
    )
    assert "not be created if migrating (H3)" in found[HazardKind.RESTART_LOSES_REPLICAS]["text"]


def _its_broker_leaves_for_good(lab: Lab, run: Killed) -> None:
    """Without its registration it is no broker that is down for a while."""
    lab.stop("broker-1")
    run.wait_for_event(of("disks_unreachable", 1))
    assert not_met(run, "log_dirs_online").returncode == ExitCode.HAZARD
    asked(run, 1, 5)
    unregister(lab, 1)
    run.wait_for_event(of("broker_unregistered", 1))
    all_active(run, 1)
    waited(run, "log_dirs_online")
    run.wait_for(lambda _: not offline_alerts(run, CLUSTER) + offline_alerts(run, UNASKED))
    asked(run, 1, 4)


def _its_controller_does_not_hear_of_one(lab: Lab, folder: Path) -> None:
    """KIP-858, "Handling log directory failures": log.dir.failure.timeout.ms.

    The broker shuts down after the time that it describes.
    """
    facts = Facts()
    config = LogDirsConfig(listener=Listener(Endpoint.parse_list(lab.broker(2).address)))
    controller = f"controller-{lab.active_controller()}"
    with (
        closing(Memory(folder / "disks.db")) as memory,
        LogDirsPoller(config, memory, facts.append, now_ms),
    ):
        facts.wait(DisksSeen, lambda each: each.broker == 2)
        lab.freeze(controller)
        lab.fail_directory(2, 1)
        seen = facts.wait(DisksSeen, lambda each: STORAGE_ERROR in errors(each))
    noticed = lab.wait_for_log("broker-2", rf"{AT} WARN .*Stopping serving replicas in dir")
    ended = lab.wait_for_log("broker-2", rf"{AT} ERROR .*couldn't communicate offline log dir")
    log = Run().follow(lab.metadata_log_dir(controller), 1 << 20)
    assert epoch_ms(ended[1]) - epoch_ms(noticed[1]) >= TIMEOUT_MS
    disks, _ = observe(DisksImage(), seen)
    later_ms = seen.seen_ms + TIMEOUT_MS - 1
    found = hazards(replace(log.summary, disks=disks), later_ms, CURRENT)
    (announced,) = [each for each in found if each.kind is HazardKind.BROKER_SHUTS_DOWN]
    assert announced.deadline_ms == seen.seen_ms + TIMEOUT_MS


def errors(disks: DisksSeen) -> set[int]:
    return {each.error for each in disks.log_dirs}


def epoch_ms(text: str) -> float:
    return datetime.strptime(text, "%Y-%m-%d %H:%M:%S,%f").timestamp() * 1000  # noqa: DTZ007


def not_met(run: Killed, condition: str) -> Done:
    """Wait for a condition that does not hold; again while its data is not current.

    Each poll of a move is a fact, and `wait` polls: a busy job needs seconds to process it.
    """
    for timeout in ("5s", "30s", "60s", "60s"):
        held = kraftgate(run.config, "wait", "--condition", condition, "--timeout", timeout)
        if held.returncode != ExitCode.NO_DATA:
            break
    return held


def write_directory_id(folder: Path, id_: str | None) -> None:
    file = folder / "meta.properties"
    lines = file.read_text("utf-8").splitlines()
    kept = [each for each in lines if not each.startswith("directory.id=")]
    file.write_text("\n".join([*kept, *([f"directory.id={id_}"] if id_ else []), ""]), "utf-8")


def unfenced_with(brokers: tuple[BrokerSummary, ...], broker: int, directory: str) -> bool:
    return any(
        each.id == broker and directory in each.log_dirs and not each.fenced for each in brokers
    )


def settled(brokers: tuple[BrokerSummary, ...], broker: int, directory: str) -> bool:
    """Whether every replica of the broker is assigned to a directory that it has registered."""
    (found,) = (each for each in brokers if each.id == broker)
    here = found.replicas[ReplicaState.ASSIGNED]
    return directory in found.log_dirs and not found.fenced and here == sum(found.replicas.values())


def unfenced_and_held(brokers: tuple[BrokerSummary, ...], broker: int) -> bool:
    return any(each.id == broker and each.held and not each.fenced for each in brokers)


def leaders(lab: Lab, topic: str, partitions: set[int]) -> set[int]:
    return {lab.isrs()[topic, each][2] for each in partitions}


def assert_offline(lab: Lab, topic: str, partition: int) -> None:
    """The leader that Kafka names answers with a storage error."""
    with pytest.raises(RequestRefusedError, match="Disk error"):
        watermarks(lab, topic, partition)

"""A rollback on a real cluster, an attempt on its leftovers, and a complete migration.

Three metadata logs have one cluster id: `kraftgate run` follows them one after the other. During
the copy, the first move to KRaft and the finalization of the third one it is killed with kill -9.
Nothing is lost, and nothing is counted twice: its events and transitions are those of the
controller's own logs, which are read with the job's functions and without interruption.
"""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pytest

from migration.assessment.hazards import HazardKind
from migration.image.summary import ClusterSummary, Mode, Phase
from migration.metadata.directory_ids import to_text
from migration.metadata.events import Event, Source
from migration.observed.probed import Unknown
from orchestrator.errors import ExitCode
from orchestrator.lab import Lab, LabSpec
from orchestrator.lab.control.operations import Operations
from orchestrator.lab.errors import WrongStateError
from streams.probe.assignments import assignments
from tests.support.cli import kraftgate
from tests.support.lab_steps import watermarks
from tests.support.pipeline import Run
from tests.support.written import picture, written
from tests.system.asking import active, blocked, free, modes, of, waited
from tests.system.killing import CLUSTER, Killed

pytestmark = [pytest.mark.lab, pytest.mark.spark, pytest.mark.long(minutes=5.5)]

RECORDS = 40
PLACED = [[1], [2], [1], [2]]
CONTROLLER = "controller-3000"
TOPICS = {"old", "older"}


def following(lab: Lab, folder: Path) -> Killed:
    sources = (
        f'zookeeper: {{connect: "{lab.zookeeper_connect}"}}\n'
        f'brokers: {{bootstrap: "{lab.broker_bootstrap}"}}\n'
    )
    return Killed(folder, lab.controller_bootstrap, lab.cluster_id, sources)


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab(LabSpec(brokers=2, directories=2, controllers=1)) as lab:
        lab.start_zookeeper()
        lab.start_brokers()
        lab.create_topic("old", assignments=PLACED)
        yield lab


def status(run: Killed) -> tuple[int, str, str]:
    """The exit code, the phase, and the end of what the migration waits for first."""
    done = kraftgate(run.config, "status", "--json")
    printed = json.loads(done.stdout)
    first = next(iter(printed["waiting_for"]), "")
    return done.returncode, printed["phase"], first[-len("delete /migration first") :]


def fill(lab: Lab, topic: str) -> None:
    for partition in range(len(PLACED)):
        lab.produce(topic, partition, RECORDS)


def all_is_there(lab: Lab, *topics: str) -> bool:
    lab.wait_in_sync()
    return all(
        watermarks(lab, topic, partition) == (0, RECORDS)
        for topic in topics
        for partition in range(len(PLACED))
    )


def enter(lab: Lab) -> None:
    lab.start_controllers()
    for broker in lab.spec.broker_ids:
        lab.enter_migration(broker)


def command(lab: Lab, name: str, **arguments: object) -> None:
    """Performs the step as `kraftgate lab` does."""
    Operations(lab).handle(name, arguments, lambda _: None)


def test_back_and_back_again_and_then_to_the_end(lab: Lab, tmp_path: Path) -> None:
    """KIP-858, "Storage formatting": brokers in ZooKeeper mode start with the new entries."""
    with following(lab, tmp_path) as run:
        run.start()
        _to_hybrid_and_one_broker_further(lab, run)
        _back_and_something_is_left(lab, run)
        _begun_on_what_was_left_and_stopped_in_time(lab, run)
        _to_the_end_and_killed_on_the_way(lab, run)
        _each_log_is_reported_as_its_controller_wrote_it(lab, run)


def _to_hybrid_and_one_broker_further(lab: Lab, run: Killed) -> None:
    enter(lab)
    lab.wait_copied()
    run.wait_for(lambda now: now.phase is Phase.HYBRID)
    # Every record of this log is time for the next one to be stopped in.
    lab.create_topic("many", 150)
    lab.move_to_kraft(1)
    lab.create_topic("young", assignments=PLACED)
    lab.wait_in_sync()
    fill(lab, "old")
    fill(lab, "young")
    run.wait_for(lambda now: any(each.mode is Mode.KRAFT for each in now.brokers))
    for name, arguments, why in (
        ("revert-to-migration", {"broker": 2}, "not in kraft mode"),
        ("deprovision", {}, "still in KRaft mode: broker-1"),
        ("clear-znodes", {"keep_migration": False}, "a KRaft controller runs"),
        ("revert-to-zookeeper", {"broker": 2}, "a KRaft controller owns /controller"),
    ):
        with pytest.raises(WrongStateError, match=why):
            command(lab, name, **arguments)


def _back_and_something_is_left(lab: Lab, run: Killed) -> None:
    command(lab, "roll-back", keep_migration=True)
    run.wait_for(lambda now: now.phase is Phase.ROLLED_BACK)
    changes = [event.fields for event in run.events() if event.kind == "phase_changed"]
    # Each broker's restart passed the controller on, and the phase stayed.
    assert [each["now"] for each in changes].count("rolled-back") == 1
    assert changes[-1] == {"was": "hybrid", "now": "rolled-back"}
    now = run.wait_for(lambda now: [each.mode for each in now.brokers] == [Mode.ZOOKEEPER] * 2)
    assert now.metadata_log == 1
    # The last broker that was restarted must first describe its directories again.
    last = "delete /migration first"
    run.wait_for(lambda _: status(run) == (0, "rolled-back", last))
    assert all_is_there(lab, "old", "young")
    waited(run, "phase(rolled-back)", "zk_controller(zookeeper)")
    blocked(run, "migrate", HazardKind.STALE_MIGRATION_ZNODE)


def _begun_on_what_was_left_and_stopped_in_time(lab: Lab, run: Killed) -> None:
    """An operator does it anyway: Kafka delays the wipe, so recovery is possible."""
    left = lab.zookeeper.copied_offset()
    enter(lab)
    restarted = run.wait_for_event(of("metadata_log_restarted", log=2))
    assert restarted.source is Source.KRAFT_METADATA
    # If ZooKeeper reports the new controller first, the former log still shows a copy: hybrid.
    assert restarted.fields["was_phase"] in {"rolled-back", "hybrid"}
    run.wait_for_event(of("copy_skipped", controller=3000, metadata_offset=left))
    now = run.wait_for(lambda now: now.phase is Phase.PRE_MIGRATION)
    assert (now.metadata_log, now.topics) == (2, 0)
    hazard = active(run, HazardKind.STALE_MIGRATION_ZNODE)
    assert f"once its metadata log passes offset {left}" in hazard["text"]
    lab.roll_back(lambda _: None)
    assert all_is_there(lab, "old", "young")
    run.wait_for_event(of("migration_znode_deleted"))
    assert not any(of("zookeeper_wiped")(event) for event in run.events())
    waited(run, "all_brokers(zookeeper)")
    free(run, "--before", "migrate")


class _Step(threading.Thread):
    """A step of the migration that continues while the run is killed."""

    def __init__(self, *parts: Callable[[], object]) -> None:
        super().__init__()
        self._parts = parts
        self._failure: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            for part in self._parts:
                part()
        except BaseException as error:  # noqa: BLE001  # reported by the test's own thread
            self._failure = error

    def done(self) -> None:
        self.join(300)
        assert not self.is_alive()
        assert self._failure is None, self._failure


def _in_mode(mode: Mode, count: int) -> Callable[[ClusterSummary], bool]:
    return lambda now: sum(each.mode is mode for each in now.brokers) >= count


BEFORE = (
    "phase_is(pre-migration)",
    "zk_controller(zookeeper)",
    "quorum_healthy",
    "controllers_registered(1)",
    "controller_mode(3000, migration)",
    "all_brokers(zookeeper)",
    "isr_full",
    "no_reassignment",
    "log_dirs_online",
    "no_hazard(restart)",
)
COPIED = (
    "copied",
    "phase_is(hybrid)",
    "zk_controller(kraft)",
    "dual_write_alive",
    "content_equal",
    "all_brokers(migrating)",
    "no_broker_fenced",
    "isr_full",
    "no_reassignment",
)
FIRST_IN_KRAFT = (
    "broker_mode(1, kraft)",
    "assignments_complete(1)",
    "broker_unfenced(1)",
    "log_dirs_online(1)",
    "isr_full(1)",
    "nothing_held_but(2)",
)
DONE = (
    "kraft_only",
    "all_brokers(kraft)",
    "no_zookeeper_broker",
    "assignments_complete(2)",
    "controller_mode(3000, kraft)",
    "isr_full",
    "no_reassignment",
    "soak(1s)",
)
"""What `kraftgate wait` must come to say at each stage, on this cluster."""

_BLIND = "zookeeper_blind"
_AGAIN = "zookeeper_seen_again"


def _to_the_end_and_killed_on_the_way(lab: Lab, run: Killed) -> None:
    lab.start_controllers()
    run.wait_for(lambda now: (now.metadata_log, now.phase) == (3, Phase.PRE_MIGRATION))
    # Who sees /migration only when the copy is done reports it as found, not as copied.
    run.wait_for(lambda _: any(map(of("migration_znode_found"), _since_the_rollback(run.events()))))
    waited(run, *BEFORE)
    assert set(modes(run).values()) == {Mode.ZOOKEEPER}
    _killed_during(
        run,
        _in_mode(Mode.MIGRATING, 1),
        lambda: lab.enter_migration(1),
        lambda: lab.enter_migration(2),
        lab.wait_copied,
    )
    waited(run, *COPIED)
    assert set(modes(run).values()) == {Mode.MIGRATING}
    _killed_during(
        run,
        _in_mode(Mode.KRAFT, 1),
        lambda: lab.create_topic("hybrid", 6, 2),
        lambda: lab.move_to_kraft(1),
    )
    waited(run, *FIRST_IN_KRAFT)
    lab.move_to_kraft(2)
    run.wait_for(_in_mode(Mode.KRAFT, 2))
    _killed_during(
        run,
        lambda now: now.phase is Phase.FINALIZED,
        lambda: lab.delete_topic("many"),
        lab.finalize,
    )
    waited(run, *DONE)
    assert set(modes(run).values()) == {Mode.KRAFT}
    now = run.wait_for(
        lambda now: (
            now.phase is Phase.FINALIZED
            and len(now.brokers) == 2
            and all(each.mode is Mode.KRAFT and not each.held for each in now.brokers)
        )
    )
    assert all_is_there(lab, "old", "young")
    for broker in now.brokers:
        known = assignments(run.state / "store.db", CLUSTER, broker.id)
        assert not isinstance(known, Unknown)
        assert len(known) == sum(broker.replicas.values()) > 0
    # Killed three times: each gap in the view of ZooKeeper is reported.
    run.wait_for(lambda _: sum(each.kind == _AGAIN for each in run.events()) >= 3)
    lab.stop(CONTROLLER)


def _killed_during(
    run: Killed, until: Callable[[ClusterSummary], bool], *parts: Callable[[], object]
) -> None:
    """Kill and restart the run during a step, as soon as the store shows that it has begun."""
    step = _Step(*parts)
    run.wait_for(until)
    run.kill()
    step.done()
    run.start()
    run.wait_for(until)


def _each_log_is_reported_as_its_controller_wrote_it(lab: Lab, run: Killed) -> None:
    kept = lab.home / "data" / CONTROLLER
    logs = [kept / f"metadata{end}" / "__cluster_metadata-0" for end in (".1", ".2", "")]
    replayed = Run().follow(logs[0], 2**40)
    for log in logs[1:]:
        replayed.restart(log).follow(log, 2**40)
    # No-op records at the end are not worth a batch of their own.
    run.wait_for(lambda now: picture(now) == picture(replayed.summary))
    run.stopped(run.terminate_each)
    events = run.events()
    printed = [
        replace(event, seen_ms=None) for event in events if event.source is Source.KRAFT_METADATA
    ]
    assert _by_log(printed) == _by_log(replayed.events)
    _each_znode_comes_and_goes_in_turn(events)
    live = run.summary()
    assert live is not None
    assert picture(live) == picture(replayed.summary)
    assert written(run.state, CLUSTER) == sorted(map(_row, replayed.transitions), key=repr)


def _row(transition: tuple[Any, ...]) -> tuple[object, ...]:
    """Return the transition as `written` has it.

    The time of one that another log causes is when Kraftgate saw that.
    """
    offset, moment_ms, (topic_id, name), partition, broker, *places = transition
    return (
        offset,
        None if offset < 0 else moment_ms,
        *(to_text(topic_id), name, partition, broker),
        *((None, None) if each is None else (str(each[1]), to_text(each[0])) for each in places),
    )


def _each_znode_comes_and_goes_in_turn(events: list[Event]) -> None:
    """A lost or repeated fact would break the alternation."""
    for broker in (1, 2):
        kinds = [
            each.kind
            for each in events
            if each.broker == broker and each.kind in ("zk_broker_appeared", "zk_broker_gone")
        ]
        assert kinds
        assert all(a != b for a, b in pairwise(kinds)), kinds
        assert (kinds[0], kinds[-1]) == ("zk_broker_appeared", "zk_broker_gone")
    assert sum(map(of("zookeeper_copied"), _since_the_rollback(events))) == 1
    views = [each.kind for each in events if each.kind in ("zookeeper_seen", _BLIND, _AGAIN)]
    assert views[0] == "zookeeper_seen"
    assert all(a != b for a, b in pairwise(views)), views


def _since_the_rollback(events: list[Event]) -> list[Event]:
    """What followed when /migration was deleted for the last time."""
    deleted = [at for at, each in enumerate(events) if each.kind == "migration_znode_deleted"]
    return events[deleted[-1] :]


def _by_log(events: list[Event]) -> list[list[Event]]:
    """Return the events of each log; events without an offset separate the logs."""
    parts = groupby(events, key=lambda event: event.offset is None)
    return [list(part) for between, part in parts if not between]


def test_quorums_that_must_not_start(tmp_path: Path) -> None:
    """One knows no directories; another is not stopped in time and wipes ZooKeeper.

    In between, `kraftgate run` loses its JVM.
    """
    with Lab(LabSpec(brokers=1, directories=2, controllers=1, release_version="3.6")) as lab:
        lab.start_zookeeper()
        lab.start_brokers()
        for topic in sorted(TOPICS):
            lab.create_topic(topic, assignments=[[1], [1]])
        with following(lab, tmp_path) as run:
            run.start()
            _a_metadata_version_without_directories_is_named(lab, run)
            lab.spec = replace(lab.spec, release_version=LabSpec().release_version)
            _a_quorum_wipes_zookeeper(lab, run)
            run.stopped(run.terminate_group)


def _a_metadata_version_without_directories_is_named(lab: Lab, run: Killed) -> None:
    """KIP-858, "Compatibility, Deprecation, and Migration Plan": metadata.version gates it."""
    lab.start_controllers()
    run.wait_for(lambda now: now.metadata_version == 14 and now.disks is not None)
    _is_named(run)
    lab.stop("broker-1")
    lab.start_broker(1, Mode.MIGRATING, wait=False)
    lab.wait_for_log("broker-1", "Unable to register .* UNSUPPORTED_VERSION")
    _is_named(run)
    now = run.summary()
    assert now is not None
    assert now.phase is Phase.PRE_MIGRATION
    assert all(each.epoch is None for each in now.brokers)
    command(lab, "deprovision")
    # It would register with the next controllers, and has a copy of this log.
    lab.stop("broker-1")


def _is_named(run: Killed) -> None:
    hazard = blocked(run, "migrate", HazardKind.METADATA_VERSION)
    assert "3.6-IV2" in hazard["text"]
    assert hazard["evidence"][1] == "brokers with several log directories: 1"


def _a_quorum_wipes_zookeeper(lab: Lab, run: Killed) -> None:
    # From here on the log grows, and with it the time until the next one wipes.
    enter(lab)
    lab.wait_copied()
    run.wait_for(lambda now: (now.metadata_log, now.phase) == (2, Phase.HYBRID))
    _a_killed_jvm_is_one_line(run)
    # Nobody looks while this log ends and the next one begins.
    command(lab, "deprovision")
    command(lab, "clear-znodes", keep_migration=True)
    command(lab, "revert-to-zookeeper", broker=1)
    lab.start_controllers()
    run.start()
    run.wait_for(lambda now: (now.metadata_log, now.phase) == (3, Phase.PRE_MIGRATION))
    blocked(run, "migrate", HazardKind.STALE_MIGRATION_ZNODE)
    lab.enter_migration(1)
    run.wait_for_event(of("copy_skipped"))
    wiped = run.wait_for_event(of("zookeeper_wiped", controller=3000))
    assert wiped.source is Source.ZOOKEEPER
    found = run.wait_for(
        lambda now: now.wiped is not None and now.wiped.gone.topics == len(TOPICS)
    ).wiped
    assert found is not None
    assert set(found.gone.named) == TOPICS
    hazard = active(run, HazardKind.ZOOKEEPER_WIPED)
    assert hazard["blocks"] == "restart"
    assert {f"topic {each} is missing from /brokers/topics" for each in TOPICS} == set(
        hazard["evidence"]
    )
    # The data is on the disks still.
    on_disk = {
        folder.name.rpartition("-")[0]
        for index in (0, 1)
        for folder in lab.directory(1, index).glob("old*")
    }
    assert on_disk == TOPICS


def _a_killed_jvm_is_one_line(run: Killed) -> None:
    java = run.java()
    assert java is not None
    java.kill()
    code, errors = run.ended()
    assert code == ExitCode.FAILED
    assert f"Spark's JVM ended or does not answer: its output is in {run.state}/" in errors
    assert errors.endswith("spark.log. Start the command again\n")

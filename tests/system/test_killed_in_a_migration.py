"""kill -9 during a real migration: nothing is lost, and nothing is counted twice.

The expected result is a replay of the controller's own log, which was never interrupted.
"""

import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from migration.image.summary import ClusterSummary, Mode, Phase
from migration.metadata.events import Event, Source
from orchestrator.lab import Lab, LabSpec
from streams.spark.query import ReplayOutcome, replay
from streams.state.store import Store
from tests.system.asking import modes, waited
from tests.system.killing import CLUSTER, Killed

pytestmark = [pytest.mark.lab, pytest.mark.spark, pytest.mark.long(minutes=5)]


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab(LabSpec(brokers=2, directories=2, controllers=1)) as lab:
        lab.start_zookeeper()
        lab.start_brokers()
        lab.create_topic("orders", 12, 2)
        lab.create_topic("single", 4, 1)
        yield lab


def _rows(state: Path, cluster: str) -> list[tuple[object, ...]]:
    """All transitions of committed batches."""
    with Store.open_readonly(state / "store.db") as store:
        files = store.transition_files(cluster)
    rows: list[tuple[object, ...]] = []
    for file in files:
        table = pq.read_table(state / "transitions" / file.path)
        assert table.num_rows == file.rows
        rows += zip(*(column.to_pylist() for column in table.columns), strict=True)
    return sorted(rows, key=repr)


def _replayed(log: Path, folder: Path) -> ReplayOutcome:
    shutil.copytree(log, folder / "__cluster_metadata-0")
    return replay(folder / "__cluster_metadata-0", folder / "replayed", CLUSTER)


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
    copied = [each for each in events if each.kind == "zookeeper_copied"]
    assert len(copied) == 1
    views = [each.kind for each in events if each.kind in ("zookeeper_seen", _BLIND, _AGAIN)]
    assert views[0] == "zookeeper_seen"
    assert all(a != b for a, b in pairwise(views)), views


def test_killed_in_every_phase_and_yet_the_same_story(lab: Lab, tmp_path: Path) -> None:
    """KIP-858, "Migrating a cluster in ZK mode ...", from end to end."""
    lab.start_controllers()
    more = (
        f'zookeeper: {{connect: "{lab.zookeeper_connect}"}}\n'
        f'brokers: {{bootstrap: "{lab.broker_bootstrap}"}}\n'
    )
    with Killed(tmp_path, lab.controller_bootstrap, lab.cluster_id, more) as run:
        _walk(lab, run, tmp_path)


def _walk(lab: Lab, run: Killed, tmp_path: Path) -> None:
    run.start()
    run.wait_for(lambda now: now.phase is Phase.PRE_MIGRATION)
    waited(run, *BEFORE)
    assert set(modes(run).values()) == {Mode.ZOOKEEPER}
    for parts, until, hold in (
        (
            (lambda: lab.enter_migration(1), lambda: lab.enter_migration(2), lab.wait_copied),
            _in_mode(Mode.MIGRATING, 1),
            COPIED,
        ),
        (
            (lambda: lab.create_topic("hybrid", 6, 2), lambda: lab.move_to_kraft(1)),
            _in_mode(Mode.KRAFT, 1),
            FIRST_IN_KRAFT,
        ),
        ((lambda: lab.move_to_kraft(2),), _in_mode(Mode.KRAFT, 2), ()),
        (
            (lambda: lab.delete_topic("single"), lab.finalize),
            lambda now: now.phase is Phase.FINALIZED,
            DONE,
        ),
    ):
        step = _Step(*parts)
        run.wait_for(until)
        run.kill()
        step.done()
        run.start()
        run.wait_for(until)
        if hold:
            waited(run, *hold)
        if hold == COPIED:
            assert set(modes(run).values()) == {Mode.MIGRATING}
    assert set(modes(run).values()) == {Mode.KRAFT}
    settled = run.wait_for(
        lambda now: (
            now.phase is Phase.FINALIZED
            and all(each.mode == "kraft" and not each.held for each in now.brokers)
        )
    )
    assert settled.metadata_offset is not None
    for controller in lab.spec.controller_ids:
        lab.stop(f"controller-{controller}")
    log = lab.metadata_log_dir(f"controller-{lab.spec.controller_ids[0]}")
    outcome = _replayed(log, tmp_path)
    assert outcome.damage is None
    assert outcome.summary is not None
    assert outcome.summary.metadata_offset is not None
    # No-op records at the end are not worth a batch of their own.
    end = outcome.summary.metadata_offset - 40
    assert settled.metadata_offset <= outcome.summary.metadata_offset, outcome.summary
    # Killed four times, and each time the gap in the view of ZooKeeper is said.
    run.wait_for(lambda _: sum(each.kind == _AGAIN for each in run.events()) >= 4)
    live = run.wait_for(lambda now: (now.metadata_offset or 0) >= end)
    assert run.interrupt() == 0
    assert not run.leftovers()
    assert live.brokers == outcome.summary.brokers
    assert (live.phase, live.topics, live.partitions) == (
        outcome.summary.phase,
        outcome.summary.topics,
        outcome.summary.partitions,
    )
    events = run.events()
    logged = [each for each in events if each.source is Source.KRAFT_METADATA]
    assert [replace(event, seen_ms=None) for event in logged] == list(outcome.events)
    _each_znode_comes_and_goes_in_turn(events)
    assert _rows(run.state, CLUSTER) == _rows(tmp_path / "replayed" / "state", CLUSTER)

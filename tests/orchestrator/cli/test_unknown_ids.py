"""An id that does not exist is a usage error (2); one of which that is not known yet is not: 4."""

import itertools
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from migration.image.cluster import ClusterImage
from migration.image.summary import ClusterSummary, DirectoriesGone, Phase
from migration.observed.log_dirs import DisksImage
from migration.observed.source_status import SourceStatus
from migration.observed.znode_codec import ZkBroker
from orchestrator.cli.program import main
from orchestrator.errors import ExitCode
from streams.state.source_status import write_status
from streams.state.store import BatchResult, Store
from tests.migration.assessment.conditions.views import (
    disks,
    migration,
    quorum,
    zk_brokers,
    zookeeper,
)
from tests.scenes.night import FRESH, cluster, kraft, migrating

CONFIG = """cluster: {name: prod}
zookeeper: {connect: 'z1:2181'}
controllers: {bootstrap: 'c1:9093'}
brokers: {bootstrap: 'b1:9092'}
state_dir: state
runbook: {file: zk-to-kraft-jbod}
"""
SOURCES = ("source", "zookeeper", "log_dirs")


def prod(**changes: object) -> ClusterSummary:
    """Brokers 1 and 2 registered, 3 only in ZooKeeper, 4 only on the disks, 5 once in ZooKeeper."""
    now_ms = time.time_ns() // 1_000_000
    seen = zookeeper(
        seen_ms=now_ms - 600_000,
        migration=migration(written_ms=now_ms),
        brokers=zk_brokers(3),
        ever=frozenset({3, 5}),
    )
    described = {each: disks(each) for each in (1, 2, 3, 4)}
    summary = replace(
        cluster(Phase.HYBRID, kraft(1), migrating(2)),
        zookeeper=seen,
        disks=DisksImage(brokers=described),
    )
    return replace(summary, **changes)  # type: ignore[arg-type]


class World:
    """A state directory as a `kraftgate run` keeps it, and the command."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "kraftgate.yaml").write_text(CONFIG)
        self.state = folder / "state"
        self.state.mkdir(mode=0o700)
        self._store = Store.open(self.state / "store.db")
        self._batches = itertools.count()

    def write(
        self, summary: ClusterSummary, *, current: tuple[str, ...] = SOURCES, read: int = 0
    ) -> None:
        """Write the store and the statuses of current sources; `read`: facts of ZooKeeper."""
        outcome = BatchResult(
            cluster="prod",
            image=ClusterImage(),
            summary=summary,
            brokers=summary.brokers,
            gone=[],
            place={"zookeeper": read},
            events=[],
            files=[],
        )
        self._store.commit(next(self._batches), [outcome], 0)
        now_ms = time.time_ns() // 1_000_000
        for name in current:
            of_log = FRESH if name == "source" else SourceStatus(observed_ms=0)
            status = replace(of_log, observed_ms=now_ms, last_reply_ms=now_ms)
            file = self.state / "clusters" / "prod" / f"{name}.json"
            write_status(file, status)

    def run(self, *arguments: str) -> Result:
        command, *others = arguments
        config = str(self._folder / "kraftgate.yaml")
        return CliRunner().invoke(main, [command, "--config", config, *others])

    def close(self) -> None:
        self._store.close()


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr("streams.log_dirs.poll_requests.poll_disks", lambda *_: True)
    monkeypatch.setattr(
        "streams.probe.conditions.ask_quorum", lambda _, clock_ms: quorum(at_ms=clock_ms())
    )
    with closing(World(tmp_path)) as made:
        yield made


HAZARDS = ("hazards", "--before", "restart", "--broker")


def test_a_restart_of_a_broker_that_does_not_exist_is_refused(world: World) -> None:
    world.write(prod())
    said = world.run(*HAZARDS, "99")
    assert said.exit_code == ExitCode.USAGE
    assert said.output == "kraftgate: prod has no broker 99. Known brokers: 1, 2, 3, 4, 5\n"


@pytest.mark.parametrize("broker", ["1", "2", "3", "4"])
def test_a_broker_that_one_source_knows_exists(world: World, broker: str) -> None:
    world.write(prod())
    said = world.run(*HAZARDS, broker)
    assert said.exit_code == ExitCode.DONE, said.output


def test_a_restart_that_is_not_blocked_does_not_hide_other_hazards(world: World) -> None:
    gone = DirectoriesGone(directories=("x",), pending=11, at_ms=5)
    summary = prod()
    one, *others = summary.brokers
    world.write(replace(summary, brokers=(replace(one, gone=gone), *others)))
    said = world.run(*HAZARDS, str(one.id))
    assert said.exit_code == ExitCode.DONE
    assert said.output == (
        "prod: no such hazard is known; active: 1 other hazard (kraftgate hazards)\n"
    )


@pytest.mark.parametrize("broker", ["5", "6"])
def test_a_broker_whose_directories_nobody_has_seen_may_not_be_restarted(
    world: World, broker: str
) -> None:
    there = {6: ZkBroker(id=6, host=None, rack=None, since_ms=1)}
    seen = prod().zookeeper
    assert seen is not None
    world.write(prod(zookeeper=replace(seen, brokers={**seen.brokers, **there})))
    said = world.run(*HAZARDS, broker)
    assert said.exit_code == ExitCode.NO_DATA
    assert f"broker {broker} has not described its log directories yet" in said.stderr


@pytest.mark.parametrize(
    "current",
    [(), ("source", "log_dirs"), ("zookeeper", "log_dirs")],
    ids=["nothing", "no zookeeper", "no metadata log"],
)
def test_whether_a_broker_exists_is_not_known_from_stale_sources(
    world: World, current: tuple[str, ...]
) -> None:
    world.write(prod(), current=current)
    said = world.run(*HAZARDS, "99")
    assert said.exit_code == ExitCode.NO_DATA
    assert "whether broker 99 exists" in said.output
    assert world.run("hazards", "--broker", "99").exit_code == ExitCode.NO_DATA


@pytest.mark.parametrize(
    "condition",
    [
        "assignments_complete(99)",
        "broker_mode(99, kraft)",
        "broker_unfenced(99)",
        "broker_supports(99, 3.9)",
        "log_dirs_online(99)",
        "no_directory_move(99)",
        "log_dirs_registered(99, 2)",
        "isr_full(99)",
        "nothing_held_but(99)",
        "no_hazard(restart, 99)",
        "no_hazard(records_lost, 99)",
    ],
)
def test_waiting_for_a_broker_that_does_not_exist_ends_at_once(
    world: World, condition: str
) -> None:
    world.write(prod())
    said = world.run("wait", "--condition", condition, "--timeout", "1m")
    assert said.exit_code == ExitCode.USAGE, said.output
    assert said.stderr.splitlines()[-1] == (
        f"kraftgate: {condition.replace('3.9', '3.9-IV0')}: prod has no broker 99."
        " Known brokers: 1, 2, 3, 4, 5"
    )


@pytest.mark.parametrize("current", [(), ("source",), ("zookeeper",)])
def test_waiting_for_it_on_stale_sources_is_never_satisfied(
    world: World, current: tuple[str, ...]
) -> None:
    world.write(prod(), current=current)
    for condition in ("nothing_held_but(99)", "no_hazard(restart, 99)", "log_dirs_online(99)"):
        said = world.run("wait", "--condition", condition, "--timeout", "100ms")
        assert said.exit_code == ExitCode.NO_DATA, said.output


def test_a_cluster_that_is_not_configured_is_a_usage_error_everywhere(world: World) -> None:
    world.write(prod())
    reason = ("--reason", "x")
    for command in (
        ("wait", "--condition", "finalized"),
        ("what-if", "--broker", "1"),
        ("report",),
        ("hazards",),
        ("status",),
        ("approve", "finalize", *reason),
        ("pause", *reason),
        ("begin", *reason),
    ):
        said = world.run(*command, "--cluster", "nope")
        assert said.exit_code == ExitCode.USAGE, (command, said.output)
        assert said.output.endswith("has no cluster nope. Configured clusters: prod\n"), said.output


def test_a_checkpoint_that_the_runbook_does_not_have_is_a_usage_error(world: World) -> None:
    world.write(prod())
    for checkpoint in ("nope", "brokers-kraft[99]", "soak[1]", "finalize[99]", "brokers-kraft"):
        said = world.run("wait", "--checkpoint", checkpoint, "--timeout", "100ms")
        wanted = ExitCode.NO_DATA if checkpoint == "brokers-kraft" else ExitCode.USAGE
        assert said.exit_code == wanted, (checkpoint, said.output)


def test_waiting_for_a_controller_that_does_not_exist_ends_once_the_quorum_is_asked(
    world: World,
) -> None:
    world.write(prod())
    for condition in ("controller_mode(99, kraft)", "controller_caught_up(99)"):
        said = world.run("wait", "--condition", condition, "--timeout", "30s")
        assert said.exit_code == ExitCode.USAGE, said.output
        assert said.stderr.splitlines()[-1].endswith(
            "prod has no controller 99. Known controllers: 3000, 3001, 3002"
        )

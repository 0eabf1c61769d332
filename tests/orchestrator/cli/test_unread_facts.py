"""`hazards` knows what was received before: it waits until the store has it, or exits with 4."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from migration.image.summary import ClusterSummary, DirectoriesGone
from migration.observed.facts import ZooKeeperBlind
from orchestrator.errors import ExitCode
from streams.process.clocks import wall_clock_ms
from streams.state.journal import Journal
from tests.orchestrator.cli.test_unknown_ids import World, prod

BEFORE_RESTART = ("hazards", "--before", "restart", "--broker", "2")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A cluster with two facts of ZooKeeper that have just been journaled."""
    monkeypatch.setattr("streams.log_dirs.poll_requests.poll_disks", lambda *_: True)
    with closing(World(tmp_path)) as made:
        file = made.state / "clusters" / "prod" / "zookeeper.db"
        with closing(Journal(file)) as journal:
            journal.append([ZooKeeperBlind(wall_clock_ms(), "x")] * 2)
        yield made


def with_hazard() -> ClusterSummary:
    summary = prod()
    gone = DirectoriesGone(directories=("x",), pending=11, at_ms=5)
    brokers = [replace(each, gone=gone) if each.id == 2 else each for each in summary.brokers]
    return replace(summary, brokers=tuple(brokers))


def sleeping(monkeypatch: pytest.MonkeyPatch, world: World, *later: ClusterSummary) -> list[float]:
    """Let the store include both facts after the sleeps; return the sleeps."""
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        world.write(later[len(slept) - 1], read=len(slept))

    monkeypatch.setattr("orchestrator.run.caught_up.time.sleep", sleep)
    return slept


def test_the_store_must_have_what_was_received(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.write(prod())
    slept = sleeping(monkeypatch, world, prod(), with_hazard())
    said = world.run("hazards", "--broker", "2")
    assert "prod: replicas_recreated (critical)" in said.stdout
    assert len(slept) == 2
    assert world.run(*BEFORE_RESTART).exit_code == ExitCode.DONE


def test_what_the_store_does_not_get_in_time_is_not_known(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.run.caught_up._CATCH_UP_S_MAX", 0.3)
    world.write(prod(), read=1)
    said = world.run(*BEFORE_RESTART)
    assert said.exit_code == ExitCode.NO_DATA
    assert "journaled facts have not been processed yet" in said.stderr
    said = world.run("hazards", "--broker", "99")
    assert said.exit_code == ExitCode.NO_DATA, "the facts may be of this broker"


@pytest.mark.parametrize("current", [("source", "zookeeper", "log_dirs"), ("source", "log_dirs")])
def test_it_waits_for_nothing_else(
    world: World, monkeypatch: pytest.MonkeyPatch, current: tuple[str, ...]
) -> None:
    """A source that does not answer is not current, whatever the store has of it."""
    answers = "zookeeper" in current
    world.write(prod(), current=current, read=2 if answers else 0)
    slept = sleeping(monkeypatch, world)
    said = world.run(*BEFORE_RESTART)
    assert said.exit_code == (ExitCode.DONE if answers else ExitCode.NO_DATA), said.output
    assert slept == []

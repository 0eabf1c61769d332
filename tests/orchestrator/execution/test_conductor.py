"""What `kraftgate run` stores of an execution for the processes that poll nothing."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from migration.assessment.conditions import SettingsSeen
from migration.assessment.polled import NOT_POLLED
from migration.image.summary import Mode, Phase
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.trail import ExecutionTrail
from orchestrator.audit.opening import open_verified
from orchestrator.config.load import parse_config
from orchestrator.errors import HookError
from orchestrator.execution import conductor
from orchestrator.execution.conductor import Conductor
from orchestrator.execution.kept_runbook import kept_runbook
from orchestrator.hooks.files import OUTCOME
from orchestrator.run.assessed import Tick
from orchestrator.run.execution_status import read_for
from orchestrator.run.reader import ClusterRead
from orchestrator.runbook.load import RUNBOOK, load, shipped
from orchestrator.runbook.loaded import Loaded
from tests.migration.assessment.conditions.views import zk_brokers, zookeeper
from tests.scenes.night import FRESH, NOW_MS, cluster, migrating
from tests.support.assessing import assessed


def test_the_kept_runbook_is_the_text_that_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file may be saved again during the start."""
    file = tmp_path / "own.yaml"
    file.write_bytes(shipped()[RUNBOOK].read_bytes())
    read = load(file)

    def saved_meanwhile(_: Path) -> Loaded:
        file.write_text("another")
        return read

    monkeypatch.setattr(conductor, "load", saved_meanwhile)
    text = "cluster: {name: prod}\nrunbook: {file: own.yaml}\nstate_dir: state\n"
    config = parse_config(text, tmp_path / "kraftgate.yaml")
    with open_verified(config) as log, Conductor(config, log, execute=False):
        kept = kept_runbook(config.state_dir, read.sha256)
    assert hashlib.sha256(kept.read_bytes()).hexdigest() == read.sha256


@pytest.mark.parametrize("times", [{}, {"since_ms": NOW_MS + 3_600_000, "read_ms": NOW_MS}])
def test_the_modes_that_brokers_reported_are_stored_with_the_execution(
    times: dict[str, int], tmp_path: Path
) -> None:
    """Also if ZooKeeper's clock is ahead of Kraftgate's."""
    text = "cluster: {name: prod}\nrunbook: {file: zk-to-kraft-jbod}\nstate_dir: state\n"
    config = parse_config(text, tmp_path / "kraftgate.yaml")
    seen = zookeeper(kraft=False, brokers=zk_brokers(1, **times))
    summary = replace(cluster(Phase.ROLLED_BACK, migrating(1)), zookeeper=seen)
    modes = SettingsSeen(at_ms=NOW_MS, modes={1: Mode.ZOOKEEPER, 2: Mode.ZOOKEEPER})
    polled = replace(NOT_POLLED, settings=modes)
    read = ClusterRead(summary=summary, events=(), status=FRESH)
    one = assessed(read, NOW_MS, of=config.clusters[0], polled=polled)
    with (
        open_verified(config) as log,
        Conductor(config, log, execute=False) as made,
    ):
        made.tick(Tick(at_ms=NOW_MS, clusters=(one,)))
    stored = read_for(config.state_dir, "prod")
    assert stored is not None
    assert stored.in_zookeeper_mode == {1: NOW_MS}


@pytest.mark.parametrize("names", [("prod",), ("prod", "other")])
def test_a_hook_whose_files_cannot_be_read_holds_only_its_execution(
    names: tuple[str, ...], tmp_path: Path
) -> None:
    entry = "{{name: {}, runbook: {{file: zk-to-kraft-jbod}}}}".format
    text = f"clusters: [{', '.join(map(entry, names))}]\nstate_dir: state\n"
    config = parse_config(text, tmp_path / "kraftgate.yaml")
    read = ClusterRead(summary=cluster(Phase.HYBRID, migrating(1)), events=(), status=FRESH)
    found = tuple(
        assessed(replace(read, summary=replace(read.summary, cluster=each.name)), NOW_MS, of=each)
        for each in config.clusters
    )
    outcome = config.state_dir / "hooks" / "run-1" / OUTCOME
    with open_verified(config) as log, Conductor(config, log, execute=False) as made:
        made.tick(Tick(at_ms=NOW_MS, clusters=found))
        status = made.execution("prod")
        assert status is not None
        assert status.checkpoint is not None
        started = entries.StepStarted(
            checkpoint=status.checkpoint,
            run="run-1",
            attempt=1,
            argv=("true",),
            token=1,
            open_before=False,
            facts={},
        )
        ExecutionTrail(log, "prod").append(started, NOW_MS)
        outcome.parent.mkdir(parents=True)
        outcome.write_text("{")
        if names == ("prod",):
            with pytest.raises(HookError, match="cannot be read"):
                made.tick(Tick(at_ms=NOW_MS, clusters=found))
            return
        made.tick(Tick(at_ms=NOW_MS, clusters=found))
        held, other = made.execution("prod"), made.execution("other")
    assert held is not None
    assert str(outcome) in held.holds[0]
    assert held.asks == held.holds[0]
    assert held.turn == "Repair the files of the hook"
    assert other is not None
    assert other.asks is None

"""What `kraftgate run` stores of an execution for the processes that poll nothing."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from migration.assessment.conditions import SettingsSeen
from migration.assessment.polled import NOT_POLLED
from migration.image.summary import Mode, Phase
from orchestrator.audit.opening import open_verified
from orchestrator.config.load import parse_config
from orchestrator.execution.conductor import Conductor
from orchestrator.run.assessed import Tick
from orchestrator.run.execution_status import read_for
from orchestrator.run.reader import ClusterRead
from tests.migration.assessment.conditions.views import zk_brokers, zookeeper
from tests.scenes.night import FRESH, NOW_MS, cluster, migrating
from tests.support.assessing import assessed


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
        closing(Conductor(config, log, execute=False)) as conductor,
    ):
        conductor.tick(Tick(at_ms=NOW_MS, clusters=(one,)))
    stored = read_for(config.state_dir, "prod")
    assert stored is not None
    assert stored.in_zookeeper_mode == {1: NOW_MS}

"""The lab's own migration reaches its end, and preflight names each phase.

Preflight determines the phase from the cluster's answers, and gives no advice for another phase.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from migration.assessment.checks.phase import OVER, UNDER_WAY
from migration.image.summary import Mode, Phase
from orchestrator.errors import ExitCode
from orchestrator.lab import Lab, LabSpec
from tests.support.cli import kraftgate

pytestmark = [pytest.mark.lab, pytest.mark.long(minutes=2)]

PHASES = {
    "starting the controllers": Phase.ZOOKEEPER,
    "restarting broker 1 with the migration": Phase.PRE_MIGRATION,
    "copied": Phase.HYBRID,
    "restarting broker 2 in KRaft": Phase.HYBRID,
    "finalizing": Phase.DUAL_WRITE,
    "finalized": Phase.FINALIZED,
}
"""Where the cluster is when the lab says this, by how that begins."""


@dataclass
class Migrated:
    """The output of the migration, and of preflight in each phase."""

    lab: Lab
    config: Path
    said: list[str] = field(default_factory=list)
    told: dict[str, tuple[int, Any]] = field(default_factory=dict)

    def progress(self, step: str) -> None:
        self.said.append(step)
        for begins in PHASES:
            if step.startswith(begins):
                self.lab.wait_in_sync()
                done = kraftgate(self.config, "preflight", "--json")
                self.told[begins] = done.returncode, json.loads(done.stdout)


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Migrated]:
    with Lab(LabSpec(brokers=2, directories=2, zookeeper_chroot="/kafka")) as lab:
        lab.start_zookeeper()
        lab.start_brokers()
        lab.create_topic("orders", 4, 2)
        lab.create_topic("placed", assignments=[[1], [2]])
        lab.produce("placed", 0, 100)
        file = tmp_path_factory.mktemp("preflight") / "kraftgate.yaml"
        file.write_text(
            "cluster: {name: prod}\n"
            f"zookeeper: {{connect: {json.dumps(lab.zookeeper_connect)}}}\n"
            f"brokers: {{bootstrap: {json.dumps(lab.broker_bootstrap)}}}\n"
            f"controllers: {{bootstrap: {json.dumps(lab.controller_bootstrap)}}}\n"
        )
        made = Migrated(lab, file)
        lab.migrate(made.progress)
        yield made
        home = lab.home
    assert not home.exists()


@pytest.mark.parametrize(("at", "phase"), PHASES.items())
def test_each_phase_is_told_and_none_gets_the_advice_of_another(
    migrated: Migrated, at: str, phase: Phase
) -> None:
    code, told = migrated.told[at]
    assert told["phase"] == phase, told
    advice = [each["what_to_do"] or "" for each in told["checks"]]
    if phase in UNDER_WAY:
        assert not [each for each in advice if "format" in each or "delete" in each], advice
    if phase in OVER:
        assert {each["summary"] for each in told["checks"]} == {OVER[phase]}
        assert set(advice) == {""}
    if at not in ("restarting broker 2 in KRaft", "finalizing"):
        assert code == ExitCode.DONE, told


def test_the_lab_goes_the_whole_way(migrated: Migrated) -> None:
    lab = migrated.lab
    assert migrated.said[-1] == "finalized"
    assert {lab.mode(name) for name in ("broker-1", "broker-2")} == {Mode.KRAFT}
    lab.add_partitions("orders", 6)
    lab.reassign({("placed", 1): [1]})
    lab.delete_topic("orders")
    assert lab.watermarks("placed", 0) == (0, 100)
    shown = lab.dump_log(next(lab.metadata_log_dir("controller-3000").glob("*.log")))
    lines = [line for line in shown.splitlines() if "ZK_MIGRATION_STATE_RECORD" in line]
    states = [line.split('"zkMigrationState":')[1][0] for line in lines]
    assert states == ["2", "1", "3"]

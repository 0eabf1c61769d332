"""Preflight through a real migration: the phase by the cluster's own answers, and its advice."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from migration.assessment.checks.phase import OVER, UNDER_WAY
from migration.image.summary import Phase
from orchestrator.cli import main
from orchestrator.errors import ExitCode
from orchestrator.lab import Lab, LabSpec

pytestmark = [pytest.mark.lab, pytest.mark.long(minutes=2)]


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab(LabSpec(brokers=2, directories=2)) as made:
        made.start_zookeeper()
        made.start_brokers()
        made.create_topic("orders", 4, 2)
        made.wait_in_sync()
        yield made


def test_each_phase_is_told_and_none_gets_the_advice_of_another(lab: Lab, tmp_path: Path) -> None:
    file = tmp_path / "kraftgate.yaml"
    file.write_text(
        f"cluster: {{name: prod}}\nzookeeper: {{connect: {json.dumps(lab.zookeeper_connect)}}}\n"
        f"brokers: {{bootstrap: {json.dumps(lab.broker_bootstrap)}}}\n"
        f"controllers: {{bootstrap: {json.dumps(lab.controller_bootstrap)}}}\n"
    )

    def preflight(phase: Phase) -> int:
        result = CliRunner().invoke(main, ["preflight", "--config", str(file), "--json"])
        told = json.loads(result.stdout)
        assert told["phase"] == phase, told
        advice = [each["what_to_do"] or "" for each in told["checks"]]
        if phase in UNDER_WAY:
            assert not [each for each in advice if "format" in each or "delete" in each], advice
        if phase in OVER:
            assert {each["summary"] for each in told["checks"]} == {OVER[phase]}
            assert set(advice) == {""}
        return result.exit_code

    assert preflight(Phase.ZOOKEEPER) == ExitCode.DONE
    lab.start_controllers()
    assert preflight(Phase.PRE_MIGRATION) == ExitCode.DONE
    for broker in (1, 2):
        lab.enter_migration(broker)
    lab.wait_copied()
    lab.wait_in_sync()
    assert preflight(Phase.HYBRID) == ExitCode.DONE
    for broker in (1, 2):
        lab.move_to_kraft(broker)
        lab.wait_in_sync()
        preflight(Phase.HYBRID if broker == 1 else Phase.DUAL_WRITE)
    lab.finalize()
    assert preflight(Phase.FINALIZED) == ExitCode.DONE

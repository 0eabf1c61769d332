"""A quorum of a metadata.version that knows no directories: found although no broker registers.

At its end, `kraftgate run` loses its JVM.
"""

from pathlib import Path

import pytest

from migration.assessment.hazards import HazardKind
from migration.image.summary import Mode, Phase
from orchestrator.errors import ExitCode
from orchestrator.lab import Lab, LabSpec
from tests.system.asking import blocked
from tests.system.killing import Killed

pytestmark = [pytest.mark.lab, pytest.mark.spark]


def test_a_metadata_version_without_directories_is_named_before_the_migration(
    tmp_path: Path,
) -> None:
    """KIP-858, "Compatibility, Deprecation, and Migration Plan": metadata.version gates it."""
    spec = LabSpec(brokers=1, directories=2, controllers=1, release_version="3.6")
    with Lab(spec) as lab:
        lab.start_zookeeper()
        lab.start_brokers()
        sources = (
            f'zookeeper: {{connect: "{lab.zookeeper_connect}"}}\n'
            f'brokers: {{bootstrap: "{lab.broker_bootstrap}"}}\n'
        )
        with Killed(tmp_path, lab.controller_bootstrap, lab.cluster_id, sources) as run:
            run.start()
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
            _a_killed_jvm_is_one_line(run)


def _is_named(run: Killed) -> None:
    hazard = blocked(run, "migrate", HazardKind.METADATA_VERSION)
    assert "3.6-IV2" in hazard["text"]
    assert hazard["evidence"][1] == "brokers with several log directories: 1"


def _a_killed_jvm_is_one_line(run: Killed) -> None:
    java = run.java()
    assert java is not None
    java.kill()
    code, errors = run.ended()
    assert code == ExitCode.FAILED
    assert f"Spark's JVM ended or does not answer: its output is in {run.state}/" in errors
    assert errors.endswith("spark.log. Start the command again\n")

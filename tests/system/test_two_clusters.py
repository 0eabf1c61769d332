"""Addresses of two clusters under one name, with exactly the rights that the manual lists.

Without ALTER on CLUSTER a controller does not report its cluster id, so the follower's FETCHes are
sent without one; `run` ends all the same.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from orchestrator.config.load import load_config
from orchestrator.errors import ExitCode
from orchestrator.lab import Lab, LabSpec
from orchestrator.run.identity import ask_controller
from tests.support.granting import AUTHORIZED, grant
from tests.support.polling import until
from tests.support.secured_listener import of_controller
from tests.system.killing import Killed

pytestmark = [pytest.mark.lab, pytest.mark.spark]

RIGHTS: Final = ("CLUSTER_ACTION", "DESCRIBE", "DESCRIBE_CONFIGS")
"""On CLUSTER: those of the table in runbooks/handbook/security.md."""


class Foreign(NamedTuple):
    """A cluster with an authorizer; `controllers`: where its controller wants a password."""

    lab: Lab
    controllers: str


@pytest.fixture(scope="module")
def foreign() -> Iterator[Foreign]:
    properties = dict(AUTHORIZED)
    spec = LabSpec(
        brokers=1, directories=1, broker_properties=AUTHORIZED, controller_properties=properties
    )
    with Lab(spec) as lab:
        controllers, secured_properties = of_controller(lab, {"kraftgate": "secret"})
        properties |= secured_properties
        lab.start_kraft()
        grant(lab.broker_bootstrap, "kraftgate", RIGHTS)
        yield Foreign(lab, str(controllers))


@pytest.fixture(scope="module")
def other() -> Iterator[Lab]:
    with Lab(LabSpec(brokers=1, directories=1)) as lab:
        lab.start_kraft()
        yield lab


def test_controllers_of_another_cluster_end_run(
    foreign: Foreign, other: Lab, tmp_path: Path
) -> None:
    (password := tmp_path / "password").write_text("secret")
    password.chmod(0o600)
    with Killed(tmp_path, foreign.controllers, "") as run:
        run.config.write_text(
            f"""
            cluster: {{name: lab}}
            controllers:
              bootstrap: "{foreign.controllers}"
              security:
                protocol: SASL_PLAINTEXT
                sasl_mechanism: PLAIN
                username: kraftgate
                password_file: {password}
            brokers: {{bootstrap: "{other.broker_bootstrap}"}}
            state_dir: {run.state}
            """
        )
        (entry,) = load_config(run.config).clusters
        at, id_ = foreign.controllers, foreign.lab.cluster_id
        until(lambda: ask_controller(entry, at, id_) is True)  # its first login takes longer
        run.start()
        code, errors = run.ended()
    assert code == ExitCode.USAGE
    both = f"the brokers: {other.cluster_id}, the controllers ({foreign.controllers}): another one"
    assert both in errors

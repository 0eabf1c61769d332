"""An address of another real cluster: once no broker of ours answers, none of its answers is used.

Both clusters have the same topic and broker ids, and `id` is not configured.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from migration.assessment.data_source import DataSource
from migration.observed.probed import Unknown
from migration.observed.source_status import SourceStatus
from orchestrator.config.load import load_config
from orchestrator.errors import ExitCode
from orchestrator.lab import Lab, LabSpec
from orchestrator.run.probes.probes import polls_of
from tests.support.cli import kraftgate
from tests.support.fake_store import write_status
from tests.support.polling import until

pytestmark = [pytest.mark.lab]


class Mixed(NamedTuple):
    """Two clusters under one name; `run` has followed ours."""

    ours: Lab
    theirs: Lab
    config: Path


@pytest.fixture
def mixed(tmp_path: Path) -> Iterator[Mixed]:
    spec = LabSpec(brokers=1)
    with Lab(spec) as ours, Lab(spec) as theirs:
        for lab in (ours, theirs):
            lab.start_kraft()
            lab.create_topic("orders", 2, 1)
        config = tmp_path / "kraftgate.yaml"
        both = f"{ours.broker_bootstrap},{theirs.broker_bootstrap}"
        config.write_text(
            f"cluster: {{name: prod}}\nbrokers: {{bootstrap: {json.dumps(both)}}}\n"
            f"controllers: {{bootstrap: {json.dumps(ours.controller_bootstrap)}}}\n"
        )
        followed = SourceStatus(observed_ms=1, last_reply_ms=1, cluster_id=ours.cluster_id)
        write_status(tmp_path / "kraftgate-state", "prod", followed)
        yield Mixed(ours, theirs, config)


def test_no_answer_of_another_cluster_is_used(mixed: Mixed) -> None:
    path = str(mixed.theirs.directory(1, 0))
    config = load_config(mixed.config)
    polls = polls_of(config, config.clusters[0], {DataSource.TOPICS, DataSource.SETTINGS})
    for poll in polls.values():
        until(lambda ask=poll: not isinstance(ask(), Unknown))  # type: ignore[misc]
    mixed.ours.stop(1)
    why = f"the brokers belong to cluster {mixed.theirs.cluster_id}, not {mixed.ours.cluster_id}"
    for poll in polls.values():
        until(lambda ask=poll: ask() == Unknown(why))  # type: ignore[misc]
    for command in (
        ("log-dirs",),
        ("what-if", "--broker", "1"),
        ("move", "plan", "--broker", "1", "--drain", path),
    ):
        done = kraftgate(mixed.config, *command)
        assert (done.returncode, done.stdout) == (ExitCode.USAGE, ""), done.stderr
        assert why in done.stderr

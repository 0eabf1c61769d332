"""`kraftgate preflight`: what it prints, and the exit code it ends with."""

import io
import json
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from migration.assessment.checks.run import CHECKS, judge, overall
from migration.image.summary import Phase
from migration.observed.probed import Facts, Unknown
from orchestrator.cli import preflight as command
from orchestrator.cli.program import main
from orchestrator.errors import ExitCode
from orchestrator.views.terminal.preflight import picture
from streams.net.endpoint import Endpoint
from streams.probe.gather import Target, gather
from streams.zookeeper.ensemble import Ensemble
from tests.migration.assessment.checks.cases import KRAFT, migration
from tests.migration.assessment.checks.clusters import (
    EARLY,
    WELL,
    broker1,
    controllers,
    log_dir,
    zookeeper,
)
from tests.streams.kafka.test_connection import listening

CONFIG = """
cluster: {name: prod}
zookeeper: {connect: "zk1:2181/kafka"}
brokers: {bootstrap: "b1:9092,[::1]:9092"}
controllers: {bootstrap: "c1:9093"}
"""
OFFLINE = broker1(log_dirs=(log_dir("/d0"), log_dir("/d1", error=56)))

Gathered = Callable[[Facts], list[Target]]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "kraftgate.yaml"
    path.write_text(CONFIG)
    return path


@pytest.fixture
def gathered(monkeypatch: pytest.MonkeyPatch) -> Gathered:
    """Put facts in the place of a cluster; gives the targets that were asked for."""
    targets: list[Target] = []

    def put(facts: Facts) -> list[Target]:
        def found(target: Target) -> Facts:
            targets.append(target)
            return replace(facts, cluster=target.cluster)

        monkeypatch.setattr(command, "gather", found)
        return targets

    return put


def invoke(file: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["preflight", "--config", str(file), *arguments])


def test_only_warnings_end_with_0(file: Path, gathered: Gathered) -> None:
    targets = gathered(EARLY)
    result = invoke(file)
    assert result.exit_code == ExitCode.DONE, result.output
    assert "the window may open; check the warnings" in result.stdout
    assert [str(one) for one in targets[0].brokers] == ["b1:9092", "[::1]:9092"]
    assert targets[0].zookeeper == Ensemble(connect="zk1:2181/kafka")


def test_what_blocks_ends_with_5_and_comes_first(file: Path, gathered: Gathered) -> None:
    gathered(OFFLINE)
    result = invoke(file)
    assert result.exit_code == ExitCode.HAZARD
    assert result.stderr.startswith(
        "kraftgate: prod: do not begin the migration: log-dirs-online, "
    )
    said = " ".join(result.stdout.split())
    assert said.index("BLOCKS the migration window") < said.index("warnings (")
    assert "fail log-dirs-online: a log directory is offline" in said
    assert "broker 1: /d1 is offline (KAFKA_STORAGE_ERROR 56)" in said
    assert "what to do: restart no broker that is named here" in said


def test_once_the_migration_is_in_progress_no_window_may_open(
    file: Path, gathered: Gathered
) -> None:
    begun = zookeeper(migration=migration(283), controller=KRAFT)
    gathered(begun)
    result = invoke(file)
    assert result.exit_code == ExitCode.DONE, result.output
    assert "the migration is in progress (hybrid); check the warnings" in result.stdout
    gathered(replace(OFFLINE, zookeeper=begun.zookeeper))
    result = invoke(file)
    assert "the migration is in progress (hybrid); fix what blocks it" in result.stdout
    assert result.stderr.startswith("kraftgate: prod: do not continue the migration: ")


def test_json_is_one_object_with_every_check(file: Path, gathered: Gathered) -> None:
    gathered(OFFLINE)
    result = invoke(file, "--json")
    assert result.exit_code == ExitCode.HAZARD
    told = json.loads(result.stdout)
    assert list(told) == ["cluster", "phase", "outcome", "checks"]
    assert (told["cluster"], told["outcome"]) == ("prod", "fail")
    assert {one["id"] for one in told["checks"]} == {check.id for check in CHECKS}
    first = told["checks"][0]
    assert (first["outcome"], first["blocks"], first["blocking"]) == ("fail", True, True)
    assert first["evidence"]
    assert first["what_to_do"]


def test_several_clusters_are_a_list_and_the_worst_decides(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(
        "clusters:\n- {name: a, brokers: {bootstrap: 'b1:9092'}}\n"
        "- {name: b, brokers: {bootstrap: 'b2:9092'}}\n"
    )
    facts = {"a": WELL, "b": OFFLINE}
    monkeypatch.setattr(command, "gather", lambda t: replace(facts[t.cluster], cluster=t.cluster))
    result = invoke(file, "--json")
    assert result.exit_code == ExitCode.HAZARD
    told = json.loads(result.stdout)["clusters"]
    assert [(one["cluster"], one["outcome"]) for one in told] == [("a", "warn"), ("b", "fail")]


def test_nothing_reached_ends_with_4_and_says_why(file: Path, gathered: Gathered) -> None:
    gathered(Facts(cluster="prod", zookeeper=Unknown("zk1 is silent"), topics=Unknown("b1 too")))
    result = invoke(file)
    assert result.exit_code == ExitCode.NO_DATA
    assert result.stderr == ("kraftgate: prod: nothing could be reached (zk1 is silent; b1 too)\n")
    assert "zk1 is silent" in result.stdout


def test_a_configuration_without_addresses_ends_with_2(file: Path) -> None:
    file.write_text("cluster: {name: prod}\n")
    result = invoke(file)
    assert result.exit_code == ExitCode.USAGE
    assert "cluster `prod` has neither `zookeeper` nor `brokers`" in result.stderr


def test_the_help_has_an_example() -> None:
    result = CliRunner().invoke(main, ["preflight", "--help"])
    assert "\n  Example" in result.stdout
    assert "kraftgate preflight --config" in result.stdout


@pytest.mark.parametrize("width", [40, 80, 200])
def test_the_table_keeps_to_the_terminal(width: int) -> None:
    console = Console(width=width, record=True, file=(sink := io.StringIO()))
    results = judge(controllers(metadata_version=16))
    console.print(picture("prod", overall(results), results, Phase.DUAL_WRITE))
    assert max(map(len, sink.getvalue().splitlines())) <= width


@pytest.mark.slow
def test_a_cluster_that_is_not_there_is_unknown_in_bounded_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    facts = gather(
        Target(
            cluster="prod",
            zookeeper=Ensemble(connect=f"127.0.0.1:{port}"),
            brokers=(Endpoint("127.0.0.1", port),),
            controllers=(Endpoint("127.0.0.1", port),),
        )
    )
    assert facts.nothing_reached
    assert facts.topics == Unknown(f"127.0.0.1:{port} refused")
    assert facts.controllers[0].unreachable == f"127.0.0.1:{port} refused"
    assert not facts.has_controllers
    assert isinstance(facts.ensemble[0].version, Unknown)


def test_a_controller_that_cannot_be_queried_exists() -> None:
    """It closes the connection, as a listener of another protocol does."""
    with listening(lambda *_: None) as endpoint:
        facts = gather(Target(cluster="prod", controllers=(endpoint,)))
    assert not facts.answering
    assert facts.has_controllers

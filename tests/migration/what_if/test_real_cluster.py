"""Predictions for real brokers, compared with the result of the actual failures.

The failures are also what preflight, the conditions, `log-dirs` and `move` must see: they are asked
here, too. A broker in migration mode is in tests/migration/assessment/checks/test_real_phases.py.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from migration.assessment.conditions import PreflightSeen, SettingsSeen, TopicsSeen
from migration.image.summary import ClusterSummary, Mode
from migration.moves.plan_file import to_file
from migration.observed.probed import TopicPartition
from orchestrator.cli.program import main
from orchestrator.errors import ExitCode
from orchestrator.lab import Lab, LabSpec
from streams.kafka.node import Node
from streams.net.endpoint import Endpoint
from streams.net.security import Security
from streams.probe.conditions import ask_checks, ask_settings, ask_topics
from streams.probe.gather import Target
from tests.migration.assessment.checks.preflight import Told, configured, preflight, target
from tests.migration.what_if.predicting import Predicted, Real
from tests.streams.log_dirs.journal import now_ms
from tests.support.lab_steps import wait_directory_noticed
from tests.support.log_dirs import (
    MOVES_STAND_STILL,
    listed,
    moving,
    wait_as_kafkas_tool,
)
from tests.support.moves import drained, planned, verified, wait_verified
from tests.support.polling import until
from tests.system.asking import directory_id
from tests.system.killing import Killed

pytestmark = [pytest.mark.lab, pytest.mark.long(minutes=3)]

IN_ZOOKEEPER, IN_KRAFT = 24, 18
QUICK = {
    "zookeeper.session.timeout.ms": "6000",
    "replica.high.watermark.checkpoint.interval.ms": "500",
    **MOVES_STAND_STILL,
}
"""A death, or a failed directory, is noticed sooner."""


def addresses(lab: Lab) -> str:
    return f"brokers: {{bootstrap: {json.dumps(lab.broker_bootstrap)}}}\n"


def write_config(folder: Path, lab: Lab) -> Path:
    file = folder / "kraftgate.yaml"
    file.write_text(f"cluster: {{name: prod, id: {json.dumps(lab.cluster_id)}}}\n{addresses(lab)}")
    return file


@pytest.fixture
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    with Lab(LabSpec(brokers=3, directories=2, broker_properties=QUICK)) as lab:
        lab.start_zookeeper()
        lab.start_brokers()
        lab.create_topic("one", 6, 1)
        lab.create_topic(
            "two", assignments=[[1, 2]] * 4 + [[3, 1]] * 2, config={"min.insync.replicas": "2"}
        )
        lab.create_topic("loose", assignments=[[1, 3], [3, 1], [2, 1]] * 2)
        lab.create_topic("three", 6, 3, config={"min.insync.replicas": "2"})
        lab.wait_in_sync()
        until(lambda: _have_logs(lab))
        yield Real(lab, write_config(tmp_path_factory.mktemp("what-if"), lab))


def _have_logs(lab: Lab) -> bool:
    """Whether each replica has its log: the ISR of an empty partition is full before."""
    logs = {
        (broker, each.name)
        for broker in lab.spec.broker_ids
        for index in range(2)
        for each in lab.directory(broker, index).iterdir()
    }
    placed = lab.isrs().items()
    return all((id_, f"{at[0]}-{at[1]}") in logs for at, (ids, _, _) in placed for id_ in ids)


def test_in_zookeeper_mode_it_comes_as_predicted(zookeeper: Real, tmp_path: Path) -> None:
    """A directory fails, then a broker, then some partitions have no eligible leader.

    KIP-113, "Test Plan".
    """
    lab, d0 = zookeeper.lab, zookeeper.lab.directory(1, 0)
    _moves_in_zookeeper_mode(zookeeper, tmp_path / "plan.json")
    before = zookeeper.now(IN_ZOOKEEPER)
    prediction = zookeeper.what_if(1, d0)
    assert prediction.exit_code == ExitCode.HAZARD
    assert (prediction.answer["mode"], prediction.answer["halts"]) == ("zookeeper", False)
    lying = {name.name for name in d0.iterdir() if name.is_dir()}
    assert {f"{topic}-{number}" for topic, number in prediction.lines} == lying
    assert prediction.fates("one") == {"lost"}
    assert prediction.fates("two") == {"under_min_isr"}
    assert prediction.fates("loose") | prediction.fates("three") <= {
        "leader_moves",
        "under_replicated",
    }
    lab.fail_directory(1, 0)
    assert wait_directory_noticed(lab, 1, 0)
    zookeeper.wait_as_told(prediction, before, 1)
    checked = configured(tmp_path, lab)
    _preflight_of_a_failed_directory(preflight(checked), d0, lying)
    _log_dirs_in_zookeeper_mode(zookeeper)

    last = zookeeper.what_if(1, lab.directory(1, 1))
    assert last.answer["halts"] is True
    assert "this is its last directory" in last.answer["notes"][0]
    already = zookeeper.what_if(1, d0)
    assert set(already.lines) == set(prediction.lines)
    assert already.fates("one") == {"lost"}
    assert already.fates("two") == {"under_min_isr"}
    assert already.fates("loose") | already.fates("three") <= {"under_replicated"}

    before = zookeeper.now(IN_ZOOKEEPER)
    prediction = zookeeper.what_if(2)
    assert prediction.exit_code == ExitCode.HAZARD
    hosts = {at for at, (replicas, _, _) in lab.isrs().items() if 2 in replicas}
    assert set(prediction.lines) == hosts
    assert prediction.fates("one") == {"lost"}
    assert "unavailable" in prediction.fates("two"), "broker 1 has left the ISR of half of them"
    assert "under_min_isr" in prediction.fates("three"), (
        "the ISR has one less since the directory failed"
    )
    lab.kill("broker-2")
    zookeeper.wait_as_told(prediction, before, 2)
    _preflight_of_a_dead_broker(preflight(checked))
    _conditions_without_a_broker(target(checked))

    down = zookeeper.what_if(2)
    assert "is not alive" in down.answer["notes"][0]
    refused = ["what-if", "--config", str(zookeeper.file), "--broker", "2", "--log-dir", str(d0)]
    assert CliRunner().invoke(main, refused).exit_code == ExitCode.NO_DATA
    asked = Real(lab, checked)
    assert "unknown" not in asked.what_if(3).fates("three")
    lab.kill("zookeeper")
    _no_election(asked.what_if(3), "three", "refused")


def _no_election(prediction: Predicted, topic: str, why: str) -> None:
    assert prediction.exit_code == ExitCode.HAZARD
    assert "unknown" in prediction.fates(topic), prediction
    notes = [each for each in prediction.answer["notes"] if "no controller is known" in each]
    assert why in notes[0]


def sole(lab: Lab, broker: int) -> int:
    """Return a partition of `one` whose only replica is on the broker."""
    placed = lab.isrs().items()
    return min(at[1] for at, (replicas, _, _) in placed if (at[0], replicas) == ("one", [broker]))


def _moves_in_zookeeper_mode(zookeeper: Real, file: Path) -> None:
    """KIP-113, "Test Plan": the plan is shown without `kraftgate run`, but nothing permits it."""
    lab, config = zookeeper.lab, zookeeper.file
    drain = ("--broker", "3", "--drain", str(lab.directory(3, 0)))
    code, plan, said = planned(config, *drain, "--throttle", "1000")
    assert code == ExitCode.NO_DATA
    assert "not known: " in said
    (row,) = plan["kraftgate"]["brokers"]
    assert row["forbidden"] == []
    assert row["seconds"] == row["bytes"] / 1000
    (space,) = plan["kraftgate"]["directories"]
    assert space["free_before"] - space["free_after"] == row["bytes"]
    file.write_text(json.dumps(plan))
    found = drained(lab, config, 3, file)
    assert len(found) == row["moves"] > 1
    _, done, _ = planned(config, *drain)
    assert done["partitions"] == []


def _move_in_progress(lab: Lab, config: Path, broker: int, partition: int) -> None:
    """KIP-113, "How to reassign replica ...": --verify."""
    ((path, _),) = listed(config).replicas(broker, "one", partition, future=True)
    target = {TopicPartition("one", partition): [(broker, path)]}
    (file := config.with_name("moving.json")).write_text(json.dumps(to_file(target)))
    found = wait_verified(lab, config, file, ExitCode.GATE_NOT_MET, ["moving"])
    (one,) = found.values()
    assert one["future_log_dir"] == path
    assert one["offset_lag"] > 0
    code, _, said = planned(config, "--broker", str(broker), "--even", "count")
    assert code in (ExitCode.HAZARD, ExitCode.NO_DATA), said


def _log_dirs_in_zookeeper_mode(zookeeper: Real) -> None:
    """KIP-113, "Scripts": an offline directory of broker 1, a move on broker 3."""
    lab, config = zookeeper.lab, zookeeper.file
    partition = sole(lab, 3)
    with moving(lab, config, 3, "one", partition):
        wait_as_kafkas_tool(lab, config, ExitCode.DONE)
        _move_in_progress(lab, config, 3, partition)
        filters = ("--broker", "3", "--broker", "1", "--topic", "one", "--topic", "two")
        tools = ("--broker-list", "1,3", "--topic-list", "one,two")
        wait_as_kafkas_tool(lab, config, ExitCode.DONE, filters, tools)
        now = listed(config)
        ((_, future),) = now.replicas(3, "one", partition, future=True)
        ((_, current),) = now.replicas(3, "one", partition, future=False)
        assert future["offset_lag"] > 0
        assert future["bytes"] < current["bytes"]
        assert (now.state(1, lab.directory(1, 0)), now.state(1, lab.directory(1, 1))) == (
            "offline",
            "online",
        )
        assert now.log_dirs[1, str(lab.directory(1, 0))]["partitions"] is None
        assert now.id(3, lab.directory(3, 0)) == (None, "meta.properties")
    assert not listed(config).replicas(3, "one", partition, future=True)


def _preflight_of_a_failed_directory(failed: Told, path: Path, lay: set[str]) -> None:
    alone = sorted(name for name in lay if name.startswith("one-"))
    assert alone, "the lab places RF=1 replicas in both directories"
    assert failed.exit_code == ExitCode.HAZARD
    assert {"log-dirs-online", "replicas-accounted", "one-directory-left"} <= failed.blocking()
    assert f"broker 1: {path} is offline (KAFKA_STORAGE_ERROR 56)" in failed.of("log-dirs-online")
    for name in alone:
        assert f"broker 1: {name}, the only copy ({path})" in failed.of("replicas-accounted")
    assert "would be recreated, empty" in failed.of("replicas-accounted")


def _preflight_of_a_dead_broker(down: Told) -> None:
    assert down.exit_code == ExitCode.HAZARD
    assert down.of("brokers-reachable").startswith("unknown\n")
    assert "broker 2" in down.of("brokers-reachable")
    assert "brokers-reachable" in down.blocking()
    assert "unknown: the directories of broker 2" in down.of("log-dirs-online")


def _conditions_without_a_broker(asked: Target) -> None:
    """Broker 2 was killed, and broker 1 lost a directory."""
    topics = ask_topics(asked, now_ms)
    assert isinstance(topics, TopicsSeen), topics
    assert topics.missing[1] >= 1
    assert topics.missing[2] >= 1
    assert topics.leaderless >= 1
    assert any(line.startswith(("one-", "two-")) for line in topics.named)
    settings = ask_settings(asked, now_ms)
    assert isinstance(settings, SettingsSeen), settings
    assert settings.modes == {1: Mode.ZOOKEEPER, 3: Mode.ZOOKEEPER}
    checks = ask_checks(asked, now_ms)
    assert isinstance(checks, PreflightSeen), checks
    assert "brokers-reachable" in {each.id for each in checks.blocking}


@pytest.fixture
def kraft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    with Lab(LabSpec(brokers=3, directories=3, controllers=2, broker_properties=QUICK)) as lab:
        lab.start_kraft()
        lab.create_topic("one", 9, 1)
        lab.create_topic("two", assignments=[[1, 2], [1, 3]] * 3)
        lab.create_topic("followed", assignments=[[2, 1, 3]] * 3)
        lab.wait_in_sync()
        yield Real(lab, write_config(tmp_path_factory.mktemp("blind"), lab))


@pytest.mark.spark
def test_in_kraft_mode_it_comes_as_predicted(kraft: Real, tmp_path: Path) -> None:
    """KIP-858, "Handling log directory failures": the controller moves the leaders."""
    lab, d1 = kraft.lab, kraft.lab.directory(1, 1)
    before = kraft.now(IN_KRAFT)
    blind = kraft.what_if(1, d1)
    assert blind.fates("one") <= {"lost"}
    assert blind_to_the_log(blind)
    with Killed(tmp_path, lab.controller_bootstrap, lab.cluster_id, addresses(lab)) as following:
        following.start()
        following.wait_for(lambda summary: summary.partitions == IN_KRAFT)
        followed = Real(lab, following.config)
        answers: list[Predicted] = []

        def answered() -> bool:
            answers.append(followed.what_if(1, d1))
            return not blind_to_the_log(answers[-1])

        until(answered)
        prediction = answers[-1]
        following.wait_for(lambda now: identified(now, 9))
        _moves_in_kraft_mode(kraft, followed, tmp_path / "plan.json")
        assert following.interrupt() == 0
    assert {one["rests_on"] for one in prediction.lines.values()} == {"disks_and_metadata_log"}
    assert prediction.answer["directory_known_by"] == "meta.properties"
    assert (prediction.answer["mode"], prediction.answer["halts"]) == ("kraft", False)
    assert prediction.fates("two") == {"leader_moves"}
    assert prediction.fates("followed") <= {"under_replicated"}
    failed = directory_id(d1)
    led = {at for at, one in blind.lines.items() if one["fate"] == "unknown"}
    assert led == {at for at, one in prediction.lines.items() if one["fate"] == "leader_moves"}
    lab.fail_directory(1, 1)
    assert wait_directory_noticed(lab, 1, 1)
    ids = {each: directory_id(lab.directory(*each)) for each in ((1, 0), (2, 0), (2, 1))}
    kraft.wait_as_told(prediction, before, 1)
    _log_dirs_in_kraft_mode(kraft, followed, ids, failed)

    before = kraft.now(IN_KRAFT)
    halted = kraft.what_if(1, lab.directory(1, 0))
    assert halted.answer["halts"] is True
    assert "its metadata log is in this directory" in halted.answer["notes"][0]
    lab.fail_directory(1, 0)
    assert not wait_directory_noticed(lab, 1, 0)
    kraft.wait_as_told(halted, before, 1)
    leader = lab.active_controller()
    (standby,) = lab.controllers.keys() - {leader}
    lab.freeze(f"controller-{leader}")
    host, _, port = lab.address(f"controller-{standby}").rpartition(":")
    with Node(Endpoint(host, int(port)), Security()) as client:
        assert client.reassignments() == (), "it does not lead, and answers nevertheless"
    _no_election(kraft.what_if(2), "followed", "has no `controllers.bootstrap`")
    with kraft.file.open("a") as config:
        config.write(f"controllers: {{bootstrap: {json.dumps(lab.controller_bootstrap)}}}\n")
    _no_election(kraft.what_if(2), "followed", "no controller leads the quorum")


def _moves_in_kraft_mode(kraft: Real, followed: Real, plan: Path) -> None:
    """KIP-858, "Intra-broker replica movement": the metadata log has the new directories."""
    lab, drain = kraft.lab, ("--broker", "3", "--drain", str(kraft.lab.directory(3, 0)))

    def permitted() -> bool:
        code, _, said = planned(followed.file, *drain, "--out", str(plan))
        assert code in (ExitCode.DONE, ExitCode.NO_DATA), said
        return code == ExitCode.DONE

    until(permitted)
    assert planned(kraft.file, *drain)[0] == ExitCode.NO_DATA
    found = drained(lab, followed.file, 3, plan)
    ids = {str(lab.directory(3, n)): directory_id(lab.directory(3, n)) for n in (1, 2)}
    for each in found.values():
        assert each["directory"] == each["recorded"] == ids[each["log_dir"]]
    code, blind = verified(kraft.file, plan)
    assert code == ExitCode.NO_DATA, "the disks alone complete nothing in KRaft mode"
    assert {each["progress"] for each in blind.values()} == {"unknown"}


def _log_dirs_in_kraft_mode(
    kraft: Real, followed: Real, ids: dict[tuple[int, int], str], failed: str
) -> None:
    """KIP-858, "Future work": only the stored state still has the offline directory's id."""
    lab = kraft.lab
    partition = sole(lab, 2)
    with moving(lab, followed.file, 2, "one", partition):
        wait_as_kafkas_tool(lab, followed.file, ExitCode.DONE)
        now = listed(followed.file)
        assert now.state(1, lab.directory(1, 1)) == "offline"
        assert now.id(1, lab.directory(1, 1)) == (failed, "meta.properties")
        for at, id_ in ids.items():
            assert now.id(at[0], lab.directory(*at)) == (id_, "meta.properties")
        assert now.answer["metadata_offset"] > 0
        ((_, future),) = now.replicas(2, "one", partition, future=True)
        assert future["offset_lag"] > 0
    blind = listed(kraft.file)
    assert blind.id(1, lab.directory(1, 1)) == (None, None), "this configuration has no state"
    # As seen from another host: the stored state alone knows the ids.
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("streams.probe.log_dirs.is_own_host", lambda _: False)
        assert listed(kraft.file).id(2, lab.directory(2, 0)) == (None, None)
        far = listed(followed.file)
    for at, id_ in ids.items():
        assert far.id(at[0], lab.directory(*at))[0] == id_


def identified(summary: ClusterSummary, paths: int) -> bool:
    """Whether the directory ids of this many paths are known."""
    return len(summary.places.identities) == paths


def blind_to_the_log(prediction: Predicted) -> bool:
    return any("leader_not_moved cannot be excluded" in each for each in prediction.answer["notes"])

"""Preflight against real brokers in ZooKeeper mode, with two log directories each."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from kazoo.client import KazooClient

from migration.assessment.conditions import PreflightSeen, QuorumSeen, SettingsSeen, TopicsSeen
from migration.image.summary import Mode, Phase
from migration.observed.probed import Unknown
from orchestrator.cli.program import main
from orchestrator.config.load import load_config
from orchestrator.config.targets import target_of
from orchestrator.errors import ExitCode
from orchestrator.lab import Lab, LabSpec
from streams.probe.gather import Target, ask_checks
from streams.probe.quorum import ask_quorum
from streams.probe.settings import ask_settings
from streams.probe.topics import ask_topics

pytestmark = pytest.mark.lab

HONEST = {"replication-factor-one", "min-insync-replicas", "quorum-reachable"}
"""What a clean cluster is warned of: its topics are made so, and its controllers do not exist."""
COPIED = (
    b'{"version":0,"kraft_metadata_offset":283,"kraft_controller_id":3000,'
    b'"kraft_metadata_epoch":1,"kraft_controller_epoch":1}'
)


@dataclass(frozen=True)
class Told:
    """What one run of the command printed."""

    exit_code: int
    outcome: str
    checks: dict[str, dict[str, Any]]
    phase: str | None = None

    def of(self, id_: str) -> str:
        """The outcome of one check, and everything that it says."""
        one = self.checks[id_]
        said = [one["outcome"], one["summary"], *one["evidence"], one["what_to_do"] or ""]
        return "\n".join(said)

    def blocking(self) -> set[str]:
        return {id_ for id_, one in self.checks.items() if one["blocking"]}

    def warned(self) -> set[str]:
        return {id_ for id_, one in self.checks.items() if one["outcome"] == "warn"}


@dataclass(frozen=True)
class Real:
    """The lab and a configuration for it."""

    lab: Lab
    file: Path
    zookeeper: KazooClient

    @property
    def target(self) -> Target:
        return target_of(load_config(self.file).clusters[0])

    def preflight(self) -> Told:
        arguments = ["preflight", "--config", str(self.file), "--json"]
        result = CliRunner().invoke(main, arguments)
        assert result.stdout, result.stderr
        told = json.loads(result.stdout)
        checks = {one["id"]: one for one in told["checks"]}
        return Told(result.exit_code, told["outcome"], checks, told["phase"])

    @contextmanager
    def znode(self, path: str, data: bytes) -> Iterator[None]:
        """Put a znode there as long as the block lasts."""
        self.zookeeper.create(path, data, makepath=True)
        try:
            yield
        finally:
            self.zookeeper.delete(path)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    with Lab(LabSpec(brokers=2, directories=2, zookeeper_chroot="/kafka")) as lab:
        lab.start_zookeeper()
        lab.start_brokers()
        lab.create_topic("orders", 4, 2, config={"min.insync.replicas": "2"})
        lab.create_topic("single", 4, 1)
        lab.produce("single", 0, 100)
        lab.wait_in_sync()
        file = tmp_path_factory.mktemp("preflight") / "kraftgate.yaml"
        file.write_text(
            f"cluster: {{name: prod, id: {json.dumps(lab.cluster_id)}}}\n"
            f"zookeeper: {{connect: {json.dumps(lab.zookeeper_connect)}}}\n"
            f"brokers: {{bootstrap: {json.dumps(lab.broker_bootstrap)}}}\n"
            f"controllers: {{bootstrap: {json.dumps(lab.controller_bootstrap)}}}\n"
        )
        client = KazooClient(hosts=lab.zookeeper_connect)
        client.start(timeout=60)
        try:
            yield Real(lab, file, client)
        finally:
            client.stop()
            client.close()


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def test_a_clean_cluster_passes_then_a_failed_directory_blocks_then_a_dead_broker(
    real: Real,
) -> None:
    """One story: its states follow from each other and would each cost a cluster of their own."""
    before = _tree(real.zookeeper, "/")
    clean = real.preflight()
    assert (clean.exit_code, clean.outcome) == (ExitCode.DONE, "warn"), clean.blocking()
    assert clean.warned() == HONEST
    assert clean.phase == Phase.ZOOKEEPER
    assert clean.of("directory-ids").startswith("pass\n4 meta.properties")
    assert "orders: min.insync.replicas 2 of 2 replicas" in clean.of("min-insync-replicas")
    assert _tree(real.zookeeper, "/") == before, "preflight only reads"

    _what_conditions_ask_for_of_a_cluster_that_is_well(real.lab, real.target)

    path = real.lab.directory(1, 0)
    replicas = {one.name for one in path.iterdir() if one.is_dir()}
    alone = sorted(name for name in replicas if name.startswith("single-"))
    assert alone, "the lab places RF=1 replicas in both directories"
    real.lab.fail_directory(1, 0)
    assert real.lab.wait_directory_noticed(1, 0)
    failed = real.preflight()
    assert failed.exit_code == ExitCode.HAZARD
    assert {"log-dirs-online", "replicas-accounted", "one-directory-left"} <= failed.blocking()
    assert f"broker 1: {path} is offline (KAFKA_STORAGE_ERROR 56)" in failed.of("log-dirs-online")
    for name in alone:
        assert f"broker 1: {name}, the only copy ({path})" in failed.of("replicas-accounted")
    assert "would be recreated, empty" in failed.of("replicas-accounted")

    real.lab.kill("broker-2")
    down = real.preflight()
    assert down.exit_code == ExitCode.HAZARD
    assert down.of("brokers-reachable").startswith("unknown\n")
    assert "broker 2" in down.of("brokers-reachable")
    assert "brokers-reachable" in down.blocking()
    assert "unknown: the directories of broker 2" in down.of("log-dirs-online")
    _what_conditions_ask_for_without_a_broker(real.target)


def _what_conditions_ask_for_of_a_cluster_that_is_well(lab: Lab, target: Target) -> None:
    """By brokers in ZooKeeper mode, before there is a controller to ask."""
    begun_ms = now_ms()
    topics = ask_topics(target, now_ms)
    assert isinstance(topics, TopicsSeen), topics
    assert topics.at_ms >= begun_ms
    assert topics.partitions >= 8
    assert (topics.under_replicated, topics.missing, topics.leaderless) == (0, {}, 0)
    assert topics.reassigning == 0
    settings = ask_settings(target, now_ms)
    assert isinstance(settings, SettingsSeen), settings
    assert settings.modes == {1: Mode.ZOOKEEPER, 2: Mode.ZOOKEEPER}
    quorum = ask_quorum(target, now_ms)
    assert isinstance(quorum, QuorumSeen), quorum
    assert (quorum.leader, quorum.answering) == (None, 0)
    assert quorum.refused == (lab.controller_bootstrap,)
    checks = ask_checks(target, now_ms)
    assert isinstance(checks, PreflightSeen), checks
    assert checks.checks >= 30
    assert checks.blocking == ()
    other = ask_topics(replace(target, cluster_id="AAAAAAAAAAAAAAAAAAAAAA"), now_ms)
    assert isinstance(other, Unknown)
    assert f"the brokers belong to cluster {lab.cluster_id}" in other.why


def _what_conditions_ask_for_without_a_broker(target: Target) -> None:
    """Broker 2 was killed, and broker 1 lost a directory; Kafka notices when its session ends.

    It then shrinks the ISRs one after another: all four partitions of orders, in the end.
    """
    deadline_s = time.monotonic() + 180
    topics = ask_topics(target, now_ms)
    while isinstance(topics, TopicsSeen) and topics.under_replicated < 4:
        assert time.monotonic() < deadline_s, topics
        time.sleep(0.2)
        topics = ask_topics(target, now_ms)
    assert isinstance(topics, TopicsSeen), topics
    assert topics.missing[2] >= 1
    # Where broker 1 lost its replica, broker 2 stays the ISR's last one and leads no more.
    assert topics.leaderless >= 1
    assert topics.missing[1] >= 1
    assert any(line.startswith("orders-") for line in topics.named)
    settings = ask_settings(target, now_ms)
    assert isinstance(settings, SettingsSeen), settings
    assert settings.modes[1] is Mode.ZOOKEEPER
    assert 2 not in settings.modes
    checks = ask_checks(target, now_ms)
    assert isinstance(checks, PreflightSeen), checks
    assert "brokers-reachable" in {each.id for each in checks.blocking}


def test_controllers_that_fit_pass_every_check_of_theirs(real: Real) -> None:
    real.lab.start_controllers()
    try:
        told = real.preflight()
        quorum = ask_quorum(real.target, now_ms)
    finally:
        real.lab.stop("controller-3000")
        real.zookeeper.delete("/migration")
    assert told.phase in (Phase.PRE_MIGRATION, None), "None: another test has killed broker 2"
    assert told.of("quorum-reachable").startswith("pass\ncontroller 3000 leads")
    assert told.of("metadata-version").startswith("pass\n3.9-IV0")
    for id_ in ("quorum-rights", "controller-versions", "migration-enabled-everywhere",
                "inter-broker-listener", "controller-ids-distinct", "cluster-id-agrees",
                "migration-znode-stale"):  # fmt: skip
        assert told.of(id_).startswith("pass"), told.of(id_)
    assert told.of("quorum-redundancy").startswith("warn\nthe quorum has 1 voter")
    assert isinstance(quorum, QuorumSeen), quorum
    assert (quorum.leader, quorum.answering, quorum.refused, quorum.silent) == (3000, 1, (), {})
    (voter,) = quorum.voters
    assert voter.id == 3000
    assert voter.log_end_offset >= (quorum.high_watermark or 0) > 0
    assert voter.last_caught_up_ms is not None


def test_a_stale_migration_znode_blocks(real: Real) -> None:
    with real.znode("/migration", COPIED):
        told = real.preflight()
    assert told.exit_code == ExitCode.HAZARD
    assert told.phase in (Phase.ROLLED_BACK, None), "None: another test has killed broker 2"
    assert "migration-znode-stale" in told.blocking()
    assert "kraft_metadata_offset 283" in told.of("migration-znode-stale")
    assert "delete /migration" in told.of("migration-znode-stale")


def test_an_empty_migration_znode_blocks(real: Real) -> None:
    with real.znode("/migration", b""):
        told = real.preflight()
    assert "KAFKA-19480" in told.of("migration-znode-stale")


def test_payloads_that_are_not_json_are_reported_and_not_fatal(real: Real) -> None:
    with real.znode("/config/topics/odd", b"\xff{nope"), real.znode("/config/brokers/9", b""):
        told = real.preflight()
    said = told.of("znode-payloads")
    assert "/config/topics/odd: its content is not JSON" in said
    assert "/config/brokers/9: it is empty" in said
    assert told.of("zookeeper-reachable").startswith("pass")


def test_no_secret_that_was_set_dynamically_is_printed(real: Real) -> None:
    value = b'{"version":1,"config":{"listener.name.x.ssl.key.password":"TopSecret"}}'
    with real.znode("/config/brokers/8", value):
        told = real.preflight()
    assert "listener.name.x.ssl.key.password" in told.of("dynamic-secrets")
    assert "TopSecret" not in json.dumps(told.checks)


def _tree(client: KazooClient, path: str) -> dict[str, tuple[int, int]]:
    """Every znode with the transactions that last wrote it and its children."""
    data, stat = client.get(path)
    del data
    found = {path: (stat.mzxid, stat.pzxid)}
    for name in client.get_children(path):
        found |= _tree(client, f"{path.rstrip('/')}/{name}")
    return found

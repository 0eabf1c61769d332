"""Preflight against real brokers in ZooKeeper mode, with two log directories each."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from kazoo.client import KazooClient

from orchestrator.cli import main
from orchestrator.errors import ExitCode
from orchestrator.lab import Lab, LabSpec

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

    def preflight(self) -> Told:
        arguments = ["preflight", "--config", str(self.file), "--json"]
        result = CliRunner().invoke(main, arguments)
        assert result.stdout, result.stderr
        told = json.loads(result.stdout)
        return Told(result.exit_code, told["outcome"], {one["id"]: one for one in told["checks"]})

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
        client.start(timeout=15)
        try:
            yield Real(lab, file, client)
        finally:
            client.stop()
            client.close()


def test_a_clean_cluster_passes_then_a_failed_directory_blocks_then_a_dead_broker(
    real: Real,
) -> None:
    """One story: its states follow from each other and would each cost a cluster of their own."""
    before = _tree(real.zookeeper, "/")
    clean = real.preflight()
    assert (clean.exit_code, clean.outcome) == (ExitCode.DONE, "warn"), clean.blocking()
    assert clean.warned() == HONEST
    assert clean.of("directory-ids").startswith("pass\n4 meta.properties")
    assert "orders: min.insync.replicas 2 of 2 replicas" in clean.of("min-insync-replicas")
    assert _tree(real.zookeeper, "/") == before, "preflight only reads"

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
    assert "recreate these replicas empty" in failed.of("replicas-accounted")

    real.lab.kill("broker-2")
    down = real.preflight()
    assert down.exit_code == ExitCode.HAZARD
    assert down.of("brokers-reachable").startswith("unknown\n")
    assert "broker 2" in down.of("brokers-reachable")
    assert "brokers-reachable" in down.blocking()
    assert "not known: the directories of broker 2" in down.of("log-dirs-online")


def test_controllers_that_fit_pass_every_check_of_theirs(real: Real) -> None:
    real.lab.start_controllers()
    try:
        told = real.preflight()
    finally:
        real.lab.stop("controller-3000")
        real.zookeeper.delete("/migration")
    assert told.of("quorum-reachable").startswith("pass\ncontroller 3000 leads")
    assert told.of("metadata-version").startswith("pass\n3.9-IV0")
    for id_ in ("quorum-rights", "controller-versions", "migration-enabled-everywhere",
                "inter-broker-listener", "controller-ids-distinct", "cluster-id-agrees",
                "migration-znode-stale"):  # fmt: skip
        assert told.of(id_).startswith("pass"), told.of(id_)
    assert told.of("quorum-redundancy").startswith("warn\nthe quorum has 1 voter")


def test_a_stale_migration_znode_blocks(real: Real) -> None:
    with real.znode("/migration", COPIED):
        told = real.preflight()
    assert told.exit_code == ExitCode.HAZARD
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
    assert "/config/topics/odd: not JSON (6 bytes)" in said
    assert "/config/brokers/9: empty" in said
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

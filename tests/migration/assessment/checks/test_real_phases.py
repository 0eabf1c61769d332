"""Preflight of a real cluster before its migration, and in each phase of it.

One cluster for all: the lab's own migration reaches its end, and preflight determines the phase
from the cluster's answers, and gives no advice for another phase. A failed directory and a dead
broker are in tests/migration/what_if/test_real_cluster.py. A broker in migration mode halts as
what-if predicted. Meanwhile, and while the cluster is hybrid, log-dirs is compared with Kafka's
tool.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from kazoo.client import KazooClient

from migration.assessment.checks.phase import OVER, UNDER_WAY
from migration.assessment.conditions import PreflightSeen, QuorumSeen, SettingsSeen, TopicsSeen
from migration.image.summary import Mode, Phase
from migration.observed.probed import Unknown
from orchestrator.cli.program import main
from orchestrator.config.load import load_config
from orchestrator.errors import ExitCode
from orchestrator.lab import Lab, LabSpec
from orchestrator.runbook.hooks_file import load_hooks
from orchestrator.runbook.load import load
from orchestrator.runbook.places import everywhere
from streams.probe.conditions import ask_checks, ask_quorum, ask_settings, ask_topics
from tests.migration.assessment.checks.preflight import Told, configured, preflight, target
from tests.migration.what_if.predicting import Predicted, Real
from tests.support.cli import Done, kraftgate
from tests.support.lab_steps import add_partitions, reassign, wait_directory_noticed, watermarks
from tests.support.log_dirs import (
    MOVES_STAND_STILL,
    Listed,
    listed,
    moving,
    wait_absent,
    wait_as_kafkas_tool,
)
from tests.support.moves import planned
from tests.system.asking import directory_id

pytestmark = [pytest.mark.lab, pytest.mark.long(minutes=1)]

HONEST = {"replication-factor-one", "min-insync-replicas", "quorum-reachable"}
"""What a clean cluster is warned of: its topics are made so, and its controllers do not exist."""
COPIED = (
    b'{"version":0,"kraft_metadata_offset":283,"kraft_controller_id":3000,'
    b'"kraft_metadata_epoch":1,"kraft_controller_epoch":1}'
)
SECRET = b'{"version":1,"config":{"listener.name.x.ssl.key.password":"TopSecret"}}'
ZNODES = {
    "stale": {"/migration": COPIED},
    "empty": {"/migration": b""},
    "odd": {"/config/topics/odd": b"\xff{nope", "/config/brokers/9": b""},
    "secret": {"/config/brokers/8": SECRET},
}
"""What somebody left there, one after the other."""
CONTROLLERS = "restarting broker 1 with the migration"
MIGRATING = "restarting broker 2 with the migration"
HYBRID = "restarting broker 2 in KRaft"
PHASES = {
    "starting the controllers": Phase.ZOOKEEPER,
    CONTROLLERS: Phase.PRE_MIGRATION,
    "copied": Phase.HYBRID,
    HYBRID: Phase.HYBRID,
    "finalizing": Phase.DUAL_WRITE,
    "finalized": Phase.FINALIZED,
}
"""Where the cluster is when the lab says this, by how that begins."""

HOOK = """\
  enter-kraft: {argv: ["true", "--id={cluster_id}"], check: {argv: [echo, "{host}", "{broker}"]}}
  finalize: {argv: ["true", "{controller}"], check: {argv: [echo, "{host}", "{controllers}"]}}
"""

QUICK = {"replica.high.watermark.checkpoint.interval.ms": "500", **MOVES_STAND_STILL}
"""A failed directory is noticed sooner."""

CLUSTER_ID = "-4_lEiQYQs-boVSaKFufIw"
"""As one in 64 ids that Kafka gives to a cluster with ZooKeeper, it begins with a dash."""

PARTITIONS = 18

Tree = dict[str, tuple[int, int]]


@dataclass
class Migrated:
    """The output of the migration, and of preflight before it and in each phase."""

    lab: Lab
    config: Path
    said: list[str] = field(default_factory=list)
    told: dict[str, Told] = field(default_factory=dict)
    trees: list[Tree] = field(default_factory=list)
    quorum: QuorumSeen | Unknown | None = None
    prediction: Predicted | None = None
    halted: Listed | None = None
    hybrid: Listed | None = None
    initialized: dict[str, Result] = field(default_factory=dict)
    hooks: Done | None = None

    def _init(self, folder: str, below: str = "") -> None:
        """Write a configuration as a newcomer does, with nothing but ZooKeeper's address."""
        words = ["--zookeeper", self.lab.zookeeper_connect + below, "--name", "lab"]
        file = self.config.parent / folder / "kraftgate.yaml"
        file.parent.mkdir()
        done = CliRunner().invoke(main, ["init", *words, "--config", str(file)])
        self.initialized[folder] = done

    def look_before(self) -> None:
        client = KazooClient(hosts=self.lab.zookeeper_connect)
        client.start(timeout=60)
        try:
            self.trees.append(_tree(client, "/"))
            self._init("newcomer")
            self._init("mistyped", below="/other")
            self.told["clean"] = preflight(self.config)
            self.trees.append(_tree(client, "/"))
            for name, znodes in ZNODES.items():
                with _znodes(client, znodes):
                    self.told[name] = preflight(self.config)
        finally:
            client.stop()
            client.close()

    def progress(self, step: str) -> None:
        self.said.append(step)
        for begins in PHASES:
            if step.startswith(begins):
                self.lab.wait_in_sync()
                self.told[begins] = preflight(self.config)
        if step.startswith(CONTROLLERS):
            self.quorum = ask_quorum(target(self.config), now_ms)
        if step.startswith(MIGRATING):
            self.halt_a_broker()
        if step.startswith(HYBRID):
            self._init("latecomer")
            self.hooks = self.check_hooks()
            self.list_hybrid()
        if step.startswith("finalizing"):
            self._init("last")

    def check_hooks(self) -> Done:
        """Check the written hooks; one asks for the host, and nothing else."""
        folder = self.config.parent / "latecomer"
        config, hooks = folder / "kraftgate.yaml", folder / "hooks.yaml"
        text = hooks.read_text("utf-8") + HOOK
        hooks.write_text(text, "utf-8")
        return kraftgate(config, "hooks", "check", str(hooks), "--json")

    def halt_a_broker(self) -> None:
        """A directory of broker 1 fails, in migration mode; broker 2 is in ZooKeeper mode."""
        lab, d1, real = self.lab, self.lab.directory(1, 1), Real(self.lab, self.config)
        before = real.now(PARTITIONS)
        self.prediction = real.what_if(1, d1)
        assert set(self.prediction.lines) == {
            at for at, (replicas, _, _) in lab.isrs().items() if 1 in replicas
        }
        code, _, said = planned(self.config, "--broker", "1", "--drain", str(d1))
        assert code == ExitCode.HAZARD
        assert "broker 1 is in migration mode" in said
        lab.fail_directory(1, 1)
        assert not wait_directory_noticed(lab, 1, 1)
        real.wait_as_told(self.prediction, before, 1)
        self.halted = wait_absent(self.config, 1)
        wait_as_kafkas_tool(lab, self.config, ExitCode.NO_DATA)
        lab.heal_directory(1, 1)
        lab.start(1)
        lab.wait_in_sync()

    def list_hybrid(self) -> None:
        """List the directories while one of broker 1 is offline and a replica of broker 2 moves."""
        lab = self.lab
        lab.fail_directory(1, 1)
        assert wait_directory_noticed(lab, 1, 1)
        with moving(lab, self.config, 2, "placed", 1):
            wait_as_kafkas_tool(lab, self.config, ExitCode.DONE)
            self.hybrid = listed(self.config)
        lab.stop(1)
        lab.heal_directory(1, 1)
        lab.start(1)
        lab.wait_in_sync()


@contextmanager
def _znodes(client: KazooClient, znodes: dict[str, bytes]) -> Iterator[None]:
    """Put znodes there as long as the block lasts."""
    for path, data in znodes.items():
        client.create(path, data, makepath=True)
    try:
        yield
    finally:
        for path in znodes:
            client.delete(path)


def _name_cluster(zookeeper: str) -> None:
    """Create the id before a broker does."""
    client = KazooClient(hosts=zookeeper)
    client.start(timeout=60)
    try:
        content = json.dumps({"version": "1", "id": CLUSTER_ID})
        client.create("/cluster/id", content.encode(), makepath=True)
    finally:
        client.stop()
        client.close()


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Migrated]:
    spec = LabSpec(
        brokers=2,
        directories=2,
        zookeeper_chroot="/kafka",
        broker_properties=QUICK,
    )
    with Lab(spec) as lab:
        lab.start_zookeeper()
        _name_cluster(lab.zookeeper_connect)
        lab.start_brokers()
        lab.create_topic("orders", 4, 2, config={"min.insync.replicas": "2"})
        lab.create_topic("placed", assignments=[[1], [2]])
        lab.create_topic("one", 6, 1)
        lab.create_topic("two", 6, 2)
        lab.produce("placed", 0, 100)
        lab.wait_in_sync()
        made = Migrated(lab, configured(tmp_path_factory.mktemp("preflight"), lab))
        _what_conditions_ask_for(made)
        made.look_before()
        lab.migrate(made.progress)
        yield made
        home = lab.home
    assert not home.exists()


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def _what_conditions_ask_for(made: Migrated) -> None:
    """By brokers in ZooKeeper mode, before there is a controller to ask."""
    asked, begun_ms = target(made.config), now_ms()
    topics = ask_topics(asked, now_ms)
    assert isinstance(topics, TopicsSeen), topics
    assert topics.at_ms >= begun_ms
    assert topics.partitions == PARTITIONS
    assert (topics.under_replicated, topics.missing, topics.leaderless) == (0, {}, 0)
    assert topics.reassigning == 0
    settings = ask_settings(asked, now_ms)
    assert isinstance(settings, SettingsSeen), settings
    assert settings.modes == {1: Mode.ZOOKEEPER, 2: Mode.ZOOKEEPER}
    for each in settings.listeners.values():
        assert each["security.inter.broker.protocol"] == "PLAINTEXT"
        assert ":PLAINTEXT" in each["listener.security.protocol.map"]
    quorum = ask_quorum(asked, now_ms)
    assert isinstance(quorum, QuorumSeen), quorum
    assert (quorum.leader, quorum.answering) == (None, 0)
    assert quorum.refused == (made.lab.controller_bootstrap,)
    checks = ask_checks(asked, now_ms)
    assert isinstance(checks, PreflightSeen), checks
    assert checks.checks >= 30
    assert checks.blocking == ()
    other = ask_topics(replace(asked, cluster_id="AAAAAAAAAAAAAAAAAAAAAA"), now_ms)
    assert isinstance(other, Unknown)
    assert f"the brokers belong to cluster {made.lab.cluster_id}" in other.why


def test_init_writes_a_configuration_that_preflight_can_use(migrated: Migrated) -> None:
    done, folder = migrated.initialized["newcomer"], migrated.config.parent / "newcomer"
    assert done.exit_code == migrated.told["clean"].exit_code, done.output
    config = load_config(folder / "kraftgate.yaml")
    (entry,) = config.clusters
    (own,) = load_config(migrated.config).clusters
    assert entry.brokers is not None
    assert own.brokers is not None
    assert set(own.brokers.bootstrap) <= set(entry.brokers.bootstrap)
    assert entry.id == migrated.lab.cluster_id == CLUSTER_ID
    book = load("zk-to-kraft-jbod").runbook
    hooks = folder / "hooks.yaml"
    text = hooks.read_text("utf-8")
    lines = [
        line.replace("  # ", "  ", 1) if ": {argv" in line else line for line in text.splitlines()
    ]
    hooks.write_text("\n".join(lines), "utf-8")
    steps = {each.checkpoint.step.name for each in everywhere(book) if each.checkpoint.step}
    assert set(load_hooks(hooks, book).file.steps) == steps
    again = CliRunner().invoke(main, ["init", "--config", str(folder / "kraftgate.yaml")])
    assert "exists: rename it" in again.output


def test_init_finds_the_controllers_that_a_broker_in_migration_mode_names(
    migrated: Migrated,
) -> None:
    folder = migrated.config.parent / "latecomer"
    (entry,) = load_config(folder / "kraftgate.yaml").clusters
    assert entry.controllers is not None
    assert ",".join(map(str, entry.controllers.bootstrap)) == migrated.lab.controller_bootstrap
    text = (folder / "hooks.yaml").read_text("utf-8")
    assert f"# {{controllers}} is {migrated.lab.controller_bootstrap}\n" in text


def test_init_names_the_brokers_that_zookeeper_does_not_have(migrated: Migrated) -> None:
    """Those in KRaft mode: broker 1 first, at the end all of them."""
    late, last, mistyped = (
        migrated.initialized[each] for each in ("latecomer", "last", "mistyped")
    )
    for done in (last, mistyped):
        assert (done.exit_code, "nothing was written: " in done.output) == (ExitCode.NO_DATA, True)
    for done in (late, last):
        assert "brokers in KRaft mode are not in ZooKeeper: add them to `brokers`" in done.output
    assert "/kafka/other: there is no /brokers/ids: check the chroot" in mistyped.output


def test_the_hooks_are_checked_for_each_broker_and_controller(migrated: Migrated) -> None:
    assert migrated.hooks is not None
    assert migrated.hooks.returncode == ExitCode.DONE, migrated.hooks
    found = {each["id"]: each for each in json.loads(migrated.hooks.stdout)["hooks"]}
    assert set(found) == {"brokers-kraft[1]", "brokers-kraft[2]", "finalize[3000]"}
    assert found["brokers-kraft[2]"]["command"] == ["true", f"--id={CLUSTER_ID}"]
    host, _, _ = migrated.lab.broker_bootstrap.split(",")[0].rpartition(":")
    assert [each["output"] for each in found.values()] == [
        *([f"{host} {each}"] for each in (1, 2)),
        [f"{host} {migrated.lab.controller_bootstrap}"],
    ]


def test_a_clean_cluster_passes(migrated: Migrated) -> None:
    clean = migrated.told["clean"]
    assert (clean.exit_code, clean.outcome) == (ExitCode.DONE, "warn"), clean.blocking()
    assert clean.warned() == HONEST
    assert clean.phase == Phase.ZOOKEEPER
    assert clean.of("directory-ids").startswith("pass\n4 meta.properties")
    assert "orders: min.insync.replicas 2 of 2 replicas" in clean.of("min-insync-replicas")
    before, after = migrated.trees
    assert before == after, "preflight only reads"


def test_controllers_that_fit_pass_every_check_of_theirs(migrated: Migrated) -> None:
    told, quorum = migrated.told[CONTROLLERS], migrated.quorum
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
    (endpoint,) = migrated.lab.controller_bootstrap.split(",")
    assert quorum.settings["controller.quorum.voters"] == f"3000@{endpoint}"
    assert voter.log_end_offset >= (quorum.high_watermark or 0) > 0
    assert voter.last_caught_up_ms is not None


def test_a_stale_migration_znode_blocks(migrated: Migrated) -> None:
    told = migrated.told["stale"]
    assert told.exit_code == ExitCode.HAZARD
    assert told.phase == Phase.ROLLED_BACK
    assert "migration-znode-stale" in told.blocking()
    assert "kraft_metadata_offset 283" in told.of("migration-znode-stale")
    assert "delete /migration" in told.of("migration-znode-stale")


def test_an_empty_migration_znode_blocks(migrated: Migrated) -> None:
    assert "KAFKA-19480" in migrated.told["empty"].of("migration-znode-stale")


def test_payloads_that_are_not_json_are_reported_and_not_fatal(migrated: Migrated) -> None:
    told = migrated.told["odd"]
    said = told.of("znode-payloads")
    assert "/config/topics/odd: its content is not JSON" in said
    assert "/config/brokers/9: it is empty" in said
    assert told.of("zookeeper-reachable").startswith("pass")


def test_no_secret_that_was_set_dynamically_is_printed(migrated: Migrated) -> None:
    told = migrated.told["secret"]
    assert "listener.name.x.ssl.key.password" in told.of("dynamic-secrets")
    assert "TopSecret" not in json.dumps(told.checks)


@pytest.mark.parametrize(("at", "phase"), PHASES.items())
def test_each_phase_is_told_and_none_gets_the_advice_of_another(
    migrated: Migrated, at: str, phase: Phase
) -> None:
    told = migrated.told[at]
    assert told.phase == phase, told
    advice = [each["what_to_do"] or "" for each in told.checks.values()]
    if phase in UNDER_WAY:
        assert not [each for each in advice if "format" in each or "delete" in each], advice
    if phase in OVER:
        assert {each["summary"] for each in told.checks.values()} == {OVER[phase]}
        assert set(advice) == {""}
    if at not in (HYBRID, "finalizing"):
        assert told.exit_code == ExitCode.DONE, told


def test_in_migration_mode_a_directory_is_the_broker(migrated: Migrated) -> None:
    """KIP-858, "Migrating a cluster in ZK mode ...": it shuts down if any directory fails.

    KIP-113, "Scripts": Kafka's own script leaves this broker out without a word.
    """
    predicted, halted, d1 = migrated.prediction, migrated.halted, migrated.lab.directory(1, 1)
    assert predicted is not None
    assert halted is not None
    assert (predicted.answer["mode"], predicted.answer["halts"]) == ("migrating", True)
    assert (
        "in migration mode any directory's failure halts the broker" in predicted.answer["notes"][0]
    )
    for line in predicted.lines.values():
        if line["topic"] == "one":
            assert line["fate"] == ("lost" if line["path"] == str(d1) else "unavailable")
    assert predicted.fates("two") <= {"leader_moves", "under_replicated"}
    assert {broker for broker, _ in halted.log_dirs} == {2}


def test_log_dirs_of_a_hybrid_cluster(migrated: Migrated) -> None:
    """KIP-113, "Scripts": broker 1 in KRaft mode, broker 2 in migration mode."""
    lab, both = migrated.lab, migrated.hybrid
    assert both is not None
    assert both.state(1, lab.directory(1, 1)) == "offline"
    for at in ((1, 0), (2, 0), (2, 1)):
        path = lab.directory(*at)
        assert both.state(at[0], path) == "online"
        assert both.id(at[0], path) == (directory_id(path), "meta.properties")
    ((here, current),) = both.replicas(2, "placed", 1, future=False)
    ((there, future),) = both.replicas(2, "placed", 1, future=True)
    assert here != there
    assert future["bytes"] < current["bytes"]
    assert future["offset_lag"] > 0


def test_the_lab_goes_the_whole_way(migrated: Migrated) -> None:
    lab = migrated.lab
    assert migrated.said[-1] == "finalized"
    assert {lab.mode(name) for name in ("broker-1", "broker-2")} == {Mode.KRAFT}
    add_partitions(lab, "orders", 6)
    reassign(lab, {("placed", 1): [1]})
    lab.delete_topic("orders")
    assert watermarks(lab, "placed", 0) == (0, 100)
    shown = lab.dump_log(next(lab.metadata_log_dir("controller-3000").glob("*.log")))
    lines = [line for line in shown.splitlines() if "ZK_MIGRATION_STATE_RECORD" in line]
    states = [line.split('"zkMigrationState":')[1][0] for line in lines]
    assert states == ["2", "1", "3"]


def _tree(client: KazooClient, path: str) -> Tree:
    """Every znode with the transactions that last wrote it and its children."""
    _, stat = client.get(path)
    found = {path: (stat.mzxid, stat.pzxid)}
    for name in client.get_children(path):
        found |= _tree(client, f"{path.rstrip('/')}/{name}")
    return found

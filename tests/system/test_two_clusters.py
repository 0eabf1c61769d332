"""Two real clusters: one is followed, and the other one has the topic or answers in its place.

Published: events and transitions are in a topic of the other cluster, exactly once, as Spark reads
them. `kraftgate run` is killed with kill -9 while it publishes, and the topic's broker is
restarted. What Spark's Kafka source reads afterwards equals the store.

One name: addresses of both clusters. Without ALTER on CLUSTER a controller does not report its
cluster id, so the follower's FETCHes are sent without one; `run` ends all the same. Once no broker
of ours answers, no answer of the other cluster is used, also if `id` is not configured.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition

from migration.assessment.data_source import DataSource
from migration.observed.probed import Unknown
from migration.observed.source_status import SourceStatus
from orchestrator.config.load import load_config
from orchestrator.errors import ExitCode
from orchestrator.lab import Lab, LabSpec
from orchestrator.lab.machine.jars import JarSet, ensure_jars
from orchestrator.run import publishing
from orchestrator.run.identity import ask_controller
from orchestrator.run.probes.probes import polls_of
from streams.state.store import Store
from tests.support.cli import kraftgate
from tests.support.fake_store import write_status
from tests.support.granting import AUTHORIZED, grant
from tests.support.lab_steps import watermarks
from tests.support.polling import polls, until
from tests.support.secured_listener import of_controller
from tests.support.standalone import ARCHIVED, CLASSES
from tests.support.written import written
from tests.system.killing import CLUSTER, Killed

pytestmark = [pytest.mark.lab, pytest.mark.spark, pytest.mark.long(minutes=1.25)]

TOPIC = "kraftgate"
RIGHTS: Final = ("CLUSTER_ACTION", "DESCRIBE", "DESCRIBE_CONFIGS")
"""On CLUSTER: those of the table in runbooks/handbook/security.md."""
_SOURCE = JarSet(
    "spark-kafka-4.2.0",
    "spark_kafka.xml",
    "spark_kafka.sha256",
    Path(__file__).parents[1] / "support",
)


class Ours(NamedTuple):
    """A cluster with an authorizer; `secured`: where its controller wants a password."""

    lab: Lab
    secured: str


@pytest.fixture(scope="module")
def ours() -> Iterator[Ours]:
    properties = dict(AUTHORIZED)
    spec = LabSpec(brokers=1, broker_properties=AUTHORIZED, controller_properties=properties)
    with Lab(spec) as lab:
        secured, secured_properties = of_controller(lab, {"kraftgate": "secret"})
        properties |= secured_properties
        lab.start_kraft()
        grant(lab.broker_bootstrap, "kraftgate", RIGHTS)
        lab.create_topic("orders", 2, 1)
        yield Ours(lab, str(secured))


@pytest.fixture(scope="module")
def other() -> Iterator[Lab]:
    """A cluster in ZooKeeper mode, the cheapest one; broker and topics are named as in ours."""
    with Lab(LabSpec(brokers=1, directories=1)) as lab:
        lab.start_zookeeper()
        lab.start_brokers()
        lab.create_topic("orders", 2, 1)
        lab.create_topic(TOPIC, 2, 1)
        yield lab


def _publish(bootstrap: str) -> str:
    return f'publish: {{bootstrap: "{bootstrap}", topic: {TOPIC}}}\n'


def test_what_is_published_is_the_store_although_it_was_killed(
    ours: Ours, other: Lab, tmp_path: Path
) -> None:
    lab, publish = ours.lab, _publish(other.broker_bootstrap)
    with Killed(tmp_path, lab.controller_bootstrap, lab.cluster_id, publish) as run:
        run.start()
        lab.create_topic("first", 50, 1)
        run.wait_for(lambda now: now.partitions >= 50)
        _wait_published(run, other)
        for number in range(10):
            lab.create_topic(f"second-{number}", 20, 1)
        run.kill()
        other.restart("broker-1")
        lab.delete_topic("first")
        run.start()
        run.wait_for_event(lambda event: event.kind == "topic_deleted")
        _wait_published(run, other)
        assert run.interrupt() == 0
        events, transitions = _read_by_spark(other)
        with Store.open_readonly(run.state / "store.db") as store:
            stored = store.events(CLUSTER)
            query = store.query()
        assert {each["store"] for each in events + transitions} == {query}
        assert [each["sequence"] for each in events] == [sequence for sequence, _ in stored]
        assert [each["kind"] for each in events] == [event.kind for _, event in stored]
        rows = sorted(map(_row, transitions), key=repr)
        assert rows == written(run.state, CLUSTER)
        assert len(rows) > 2 * (50 + 200)


def test_the_followed_cluster_is_refused(ours: Ours, tmp_path: Path) -> None:
    """By its id: a store that exists is published at once, before a source has reported one."""
    lab = ours.lab
    lab.create_topic(TOPIC, 1, 1)
    with Killed(tmp_path, lab.controller_bootstrap, lab.cluster_id) as run:
        run.config.write_text(
            f"cluster: {{name: {CLUSTER}, id: {lab.cluster_id}}}\nstate_dir: {run.state}\n"
            + _publish(lab.broker_bootstrap)
        )
        run.state.mkdir(mode=0o700)
        with Store.open(run.state / "store.db") as store:
            store.claim("3f8a2d6e")
        run.start()
        code, errors = run.ended()
    assert code == ExitCode.FAILED
    assert "`publish` names a cluster that is followed" in errors
    assert watermarks(lab, TOPIC, 0) == (0, 0)


def test_controllers_of_another_cluster_end_run(ours: Ours, other: Lab, tmp_path: Path) -> None:
    (password := tmp_path / "password").write_text("secret")
    password.chmod(0o600)
    with Killed(tmp_path, ours.secured, "") as run:
        run.config.write_text(
            f"""
            cluster: {{name: lab}}
            controllers:
              bootstrap: "{ours.secured}"
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
        at, id_ = ours.secured, ours.lab.cluster_id
        until(lambda: ask_controller(entry, at, id_) is True)  # its first login takes longer
        run.start()
        code, errors = run.ended()
    assert code == ExitCode.USAGE
    both = f"the brokers: {other.cluster_id}, the controllers ({ours.secured}): another one"
    assert both in errors


@pytest.fixture
def mixed(ours: Ours, other: Lab, tmp_path: Path) -> Iterator[Path]:
    """The configuration of two clusters under one name; `run` has followed ours."""
    config = tmp_path / "kraftgate.yaml"
    both = f"{ours.lab.broker_bootstrap},{other.broker_bootstrap}"
    config.write_text(
        f"cluster: {{name: prod}}\nbrokers: {{bootstrap: {json.dumps(both)}}}\n"
        f"controllers: {{bootstrap: {json.dumps(ours.lab.controller_bootstrap)}}}\n"
    )
    followed = SourceStatus(observed_ms=1, last_reply_ms=1, cluster_id=ours.lab.cluster_id)
    write_status(tmp_path / "kraftgate-state", "prod", followed)
    yield config
    if not ours.lab.is_alive("broker-1"):
        ours.lab.start(1)


def test_no_answer_of_another_cluster_is_used(ours: Ours, other: Lab, mixed: Path) -> None:
    path = str(other.directory(1, 0))
    config = load_config(mixed)
    asking = polls_of(config, config.clusters[0], {DataSource.TOPICS, DataSource.SETTINGS})
    for poll in asking.values():
        until(lambda ask=poll: not isinstance(ask(), Unknown))  # type: ignore[misc]
    ours.lab.stop(1)
    why = f"the brokers belong to cluster {other.cluster_id}, not {ours.lab.cluster_id}"
    for poll in asking.values():
        until(lambda ask=poll: ask() == Unknown(why))  # type: ignore[misc]
    for command in (
        ("log-dirs",),
        ("what-if", "--broker", "1"),
        ("move", "plan", "--broker", "1", "--drain", path),
    ):
        done = kraftgate(mixed, *command)
        assert (done.returncode, done.stdout) == (ExitCode.USAGE, ""), done.stderr
        assert why in done.stderr


def _wait_published(run: Killed, other: Lab) -> None:
    """Wait until the position in the other cluster is the end of the store."""
    records = publishing.ClusterRecords(CLUSTER, run.state)
    for _ in polls(120.0):
        store = records.store()
        text = _position(other)
        if store is None or text is None:
            continue
        position = publishing.Position.of(text, store)
        if position.sequence and not records.after(position)[0]:
            return
    raise AssertionError("not published within 120 s")


def _position(other: Lab) -> str | None:
    consumer = Consumer(
        {
            "bootstrap.servers": other.broker_bootstrap,
            "group.id": f"kraftgate-publish-{CLUSTER}",
            "log_level": 0,
        }
    )
    try:
        (found,) = consumer.committed([TopicPartition(TOPIC, 0)], timeout=10)
    except KafkaException:  # the broker restarts, or a transaction is still open
        return None
    else:
        return found.metadata or None
    finally:
        consumer.close()


def _read_by_spark(other: Lab) -> tuple[list[Any], list[Any]]:
    """Return the committed events and transitions, each in the topic's order."""
    jars = ensure_jars(wanted=_SOURCE)
    settings = {
        "spark.jars": ",".join(str(jars.directory / name) for name in jars.names),
        "spark.driver.extraClassPath": CLASSES,
        "spark.driver.extraJavaOptions": ARCHIVED,
        "spark.ui.enabled": "false",
        "spark.sql.extensions.test.loadFromCp": "false",
    }
    command = [sys.executable, "-c", _READ, json.dumps(settings), other.broker_bootstrap, TOPIC]
    done = subprocess.run(command, capture_output=True, check=False, timeout=600, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    values = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return tuple([each for each in values if each["type"] == kind] for kind in KINDS)  # type: ignore[return-value]


KINDS = ("event", "transition")
_READ = """
import json
import sys
from pyspark.sql import SparkSession

settings, bootstrap, topic = sys.argv[1:]
spark = SparkSession.builder.master("local[1]").config(map=json.loads(settings)).getOrCreate()
topic = (
    spark.read.format("kafka")
    .option("kafka.bootstrap.servers", bootstrap)
    .option("subscribe", topic)
    .option("kafka.isolation.level", "read_committed")
    .load()
)
rows = topic.selectExpr("partition", "offset", "CAST(value AS STRING)").collect()
for row in sorted(rows, key=lambda row: (row.partition, row.offset)):
    print(row.value)
"""


def _row(each: dict[str, Any]) -> tuple[object, ...]:
    return (
        each["metadata_offset"],
        None if each["metadata_offset"] < 0 else each["timestamp_ms"],
        *(each[name] for name in ("topic_id", "topic", "partition", "broker")),
        (each["was"], each["was_directory"]),
        (each["now"], each["directory"]),
    )

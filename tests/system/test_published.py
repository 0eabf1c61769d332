"""Events and transitions in a topic of another cluster, exactly once, as Spark reads them.

`kraftgate run` is killed with kill -9 while it publishes, and the topic's broker is restarted. What
Spark's Kafka source reads afterwards equals the store.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition

from orchestrator.lab import Lab, LabSpec
from orchestrator.lab.machine.jars import JarSet, ensure_jars
from orchestrator.run import publishing
from streams.state.store import Store
from tests.support.lab_steps import watermarks
from tests.support.polling import polls
from tests.support.standalone import QUICK_JVM
from tests.support.written import written
from tests.system.killing import CLUSTER, Killed

pytestmark = [pytest.mark.lab, pytest.mark.spark, pytest.mark.long(minutes=1.5)]

TOPIC = "kraftgate"
_SOURCE = JarSet(
    "spark-kafka-4.2.0",
    "spark_kafka.xml",
    "spark_kafka.sha256",
    Path(__file__).parents[1] / "support",
)


@pytest.fixture(scope="module")
def followed() -> Iterator[Lab]:
    with Lab(LabSpec(brokers=1, directories=2, controllers=1)) as lab:
        lab.start_kraft()
        yield lab


@pytest.fixture(scope="module")
def other() -> Iterator[Lab]:
    with Lab(LabSpec(brokers=1, directories=1, controllers=1)) as lab:
        lab.start_kraft()
        lab.create_topic(TOPIC, 2, 1)
        yield lab


def _following(folder: Path, followed: Lab, bootstrap: str) -> Killed:
    publish = f'publish: {{bootstrap: "{bootstrap}", topic: {TOPIC}}}\n'
    return Killed(folder, followed.controller_bootstrap, followed.cluster_id, publish)


def test_what_is_published_is_the_store_although_it_was_killed(
    followed: Lab, other: Lab, tmp_path: Path
) -> None:
    with _following(tmp_path, followed, other.broker_bootstrap) as run:
        run.start()
        followed.create_topic("first", 50, 1)
        run.wait_for(lambda now: now.topics >= 1)
        _wait_published(run, other)
        for number in range(10):
            followed.create_topic(f"second-{number}", 20, 1)
        run.kill()
        other.restart("broker-1")
        followed.delete_topic("first")
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


def test_the_followed_cluster_is_refused(followed: Lab, tmp_path: Path) -> None:
    followed.create_topic(TOPIC, 1, 1)
    with _following(tmp_path, followed, followed.broker_bootstrap) as run:
        run.start()
        code, errors = run.ended()
    assert code == 1
    assert "`publish` names a cluster that is followed" in errors
    assert watermarks(followed, TOPIC, 0) == (0, 0)


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
    paths = ",".join(str(jars.directory / name) for name in jars.names)
    command = [sys.executable, "-c", _READ, paths, QUICK_JVM, other.broker_bootstrap, TOPIC]
    done = subprocess.run(command, capture_output=True, check=False, timeout=600, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    values = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return tuple([each for each in values if each["type"] == kind] for kind in KINDS)  # type: ignore[return-value]


KINDS = ("event", "transition")
_READ = """
import sys
from pyspark.sql import SparkSession

jars, java_options, bootstrap, topic = sys.argv[1:]
builder = SparkSession.builder.master("local[1]").config("spark.jars", jars)
spark = builder.config("spark.driver.extraJavaOptions", java_options).getOrCreate()
topic = (
    spark.read.format("kafka")
    .option("kafka.bootstrap.servers", bootstrap)
    .option("subscribe", topic)
    .option("kafka.isolation.level", "read_committed")
    .load()
)
rows = topic.selectExpr("offset", "partition", "CAST(value AS STRING)")
for row in rows.orderBy("partition", "offset").collect():
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

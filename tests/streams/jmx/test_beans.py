"""Which metric is of which bean, under the names that common jmx_exporter rules give."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration.observed.jmx_names import JmxName
from streams.jmx.beans import MAY_BE_KNOWN, METRIC_PATTERN, NAME_PATTERN, recognise

CONTROLLER = "kafka_controller_KafkaController_Value"
QUEUE = JmxName.QUEUED_REPLICA_TO_DIR_ASSIGNMENTS


@pytest.mark.parametrize(
    ("metric", "labels", "name"),
    [
        # No rules: JmxCollector's own format.
        (CONTROLLER, {"name": "ZkMigrationState"}, JmxName.ZK_MIGRATION_STATE),
        (CONTROLLER, {"name": "ZkWriteBehindLag"}, JmxName.ZK_WRITE_BEHIND_LAG),
        ("org_apache_kafka_server_AssignmentsManager_Value", {"name": QUEUE}, QUEUE),
        (
            "kafka_log_LogManager_Value",
            {"name": "OfflineLogDirectoryCount"},
            JmxName.OFFLINE_LOG_DIRECTORY_COUNT,
        ),
        # The same with lowercaseOutputName.
        (CONTROLLER.lower(), {"name": "ActiveControllerCount"}, JmxName.ACTIVE_CONTROLLER_COUNT),
        # Strimzi's, Grafana's and Confluent's `kafka.(\w+)<type=(.+), name=(.+)><>Value`.
        ("kafka_controller_kafkacontroller_zkmigrationstate", {}, JmxName.ZK_MIGRATION_STATE),
        ("kafka_server_assignmentsmanager_queuedreplicatodirassignments", {}, QUEUE),
        # With the attribute behind it.
        ("kafka_controller_kafkacontroller_zkmigrationstate_value", {}, JmxName.ZK_MIGRATION_STATE),
        (
            "kafka_controller_KafkaController_MigratingZkBrokerCount_Value",
            {},
            JmxName.MIGRATING_ZK_BROKER_COUNT,
        ),
        # In words, and with type and name as labels.
        ("kafka_controller_kafka_controller_zk_migration_state", {}, JmxName.ZK_MIGRATION_STATE),
        (
            "kafka_controller_value",
            {"type": "KafkaController", "name": "ZkMigrationState"},
            JmxName.ZK_MIGRATION_STATE,
        ),
        ("kafka_log_offlinelogdirectorycount", {"type": "LogManager"},
         JmxName.OFFLINE_LOG_DIRECTORY_COUNT),
        # What Prometheus adds does not matter.
        (
            CONTROLLER,
            {"name": "ZkMigrationState", "instance": "c1:7071", "job": "kafka"},
            JmxName.ZK_MIGRATION_STATE,
        ),
    ],
)  # fmt: skip
def test_the_common_names_are_known(metric: str, labels: dict[str, str], name: JmxName) -> None:
    assert recognise(metric, labels) is name


@pytest.mark.parametrize(
    ("metric", "labels"),
    [
        ("zkmigrationstate", {}),
        ("kafka_controller_zkmigrationstate", {}),
        (CONTROLLER, {}),
        (CONTROLLER, {"name": "ZkWriteSnapshotTimeMs"}),
        (CONTROLLER, {"name": "PreferredReplicaImbalanceCount"}),
        # KIP-858, "Metrics": the proposed bean, which no Kafka has.
        ("kafka_server_KafkaServer_Value", {"name": QUEUE}),
        ("kafka_log_LogManager_Value", {"name": "LogDirectoryOffline", "logDirectory": "/d0"}),
        ("kafka_controller_kafkacontroller_zkmigrationstate_total", {}),
        ("other_kafka_controller_kafkacontroller_zkmigrationstate", {}),
        ("kafka_server_LogManager_Value", {"name": "OfflineLogDirectoryCount"}),
    ],
)
def test_anything_else_is_not_known(metric: str, labels: dict[str, str]) -> None:
    assert recognise(metric, labels) is None


@given(st.text(), st.dictionaries(st.sampled_from(["name", "type", "x"]), st.text()))
def test_no_metric_breaks_it(metric: str, labels: dict[str, str]) -> None:
    recognise(metric, labels)


@given(
    st.sampled_from(list(JmxName)),
    st.sampled_from(["", "_value", "_Value"]),
    st.booleans(),
    st.booleans(),
)
def test_what_is_looked_for_is_found_by_the_patterns_too(
    name: JmxName, attribute: str, in_label: bool, lower: bool
) -> None:
    """What `recognise` knows passes the filters that stand before it."""
    bean = {
        QUEUE: "org_apache_kafka_server_AssignmentsManager",
        JmxName.OFFLINE_LOG_DIRECTORY_COUNT: "kafka_log_LogManager",
    }.get(name, "kafka_controller_KafkaController")
    metric = f"{bean}{attribute}" if in_label else f"{bean}_{name}{attribute}"
    metric = metric.lower() if lower else metric
    labels = {"name": str(name)} if in_label else {}
    assert recognise(metric, labels) is name
    assert MAY_BE_KNOWN.search(f"{metric} {labels} 1.0".encode())
    by_metric = re.fullmatch(METRIC_PATTERN, metric)
    by_name = re.fullmatch(NAME_PATTERN, labels.get("name", ""))
    assert by_metric or by_name

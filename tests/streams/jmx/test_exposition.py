"""From a node's text to the numbers: what is not there, or cannot be read, is not known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration.observed.jmx_names import JmxName
from streams.jmx.errors import NotMetrics
from streams.jmx.exposition import in_order, numbers_in, settled

CONTROLLER = b"""\
# HELP kafka_controller_KafkaController_Value Attribute exposed for management
# TYPE kafka_controller_KafkaController_Value untyped
kafka_controller_KafkaController_Value{name="ActiveControllerCount"} 1.0
kafka_controller_KafkaController_Value{name="GlobalTopicCount"} 4.0
kafka_controller_KafkaController_Value{name="MigratingZkBrokerCount"} 0.0
kafka_controller_KafkaController_Value{name="ZkMigrationState"} 1.0
kafka_controller_KafkaController_Value{name="ZkWriteBehindLag"} 0.0
jvm_threads_current 31.0
"""
"""As jmx_exporter 1.0.1 serves it for a 3.9.1 controller in dual write."""


def read(text: bytes) -> dict[JmxName, int]:
    return numbers_in(text.split(b"\n"), "here")


def test_a_controllers_numbers_are_read() -> None:
    found = read(CONTROLLER)
    assert found == {
        JmxName.ACTIVE_CONTROLLER_COUNT: 1,
        JmxName.MIGRATING_ZK_BROKER_COUNT: 0,
        JmxName.ZK_MIGRATION_STATE: 1,
        JmxName.ZK_WRITE_BEHIND_LAG: 0,
    }
    assert in_order(found)[0] == ("ZkMigrationState", 1)


@pytest.mark.parametrize(
    "value",
    ["NaN", "+Inf", "1.5", "1" + "0" * 400, "1e300", "-1e300", "9223372036854775808"],
)
def test_what_is_no_whole_number_of_its_type_is_not_known(value: str) -> None:
    text = CONTROLLER.decode().replace('"ZkWriteBehindLag"} 0.0', f'"ZkWriteBehindLag"}} {value}')
    found = read(text.encode())
    assert JmxName.ZK_WRITE_BEHIND_LAG not in found
    assert found[JmxName.ZK_MIGRATION_STATE] == 1


@given(value=st.floats())
def test_any_number_that_is_read_fits_its_type(value: float) -> None:
    for name, number in settled((each, value) for each in JmxName).items():
        bits = 64 if name is JmxName.ZK_WRITE_BEHIND_LAG else 32
        assert number == value
        assert -(2 ** (bits - 1)) <= number < 2 ** (bits - 1)


def test_a_number_that_is_told_in_two_ways_is_not_known() -> None:
    other = b'kafka_controller_kafkacontroller_value{name="ZkMigrationState"} 3.0\n'
    assert JmxName.ZK_MIGRATION_STATE not in read(CONTROLLER + other)
    same = other.replace(b"3.0", b"1.0")
    assert read(CONTROLLER + same) == read(CONTROLLER)


@pytest.mark.parametrize("text", [b"", b"<html>ZkMigrationState", b"jvm_threads_current 31.0\n"])
def test_what_serves_no_bean_is_named(text: bytes) -> None:
    with pytest.raises(NotMetrics, match=r"here (serves|does not serve)"):
        read(text)


def test_a_line_that_is_cut_is_not_guessed_at() -> None:
    with pytest.raises(NotMetrics, match="text format"):
        read(b'kafka_controller_KafkaController_Value{name="ZkMigrationState"}')

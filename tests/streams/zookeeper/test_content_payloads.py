"""Kafka's payloads are read, others are rejected, and no value appears in a message."""

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration.observed.znode_codec import broker_id_of, state_of, topic_of
from migration.values.digests import DIGEST_BYTES, digest
from migration.values.foreign import Unreadable
from migration.values.secret_settings import setting_digest
from streams.zookeeper.config_digests import config_of, quotas_of
from tests.streams.zookeeper.content import config_data, state_data, topic_data

BROKER_IDS = st.lists(st.integers(0, 2**31 - 1), max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
FIELDS = st.sampled_from(["topic_id", "partitions", "leader", "isr", "config", "version"])
GARBAGE = st.binary() | st.dictionaries(FIELDS, JSON).map(lambda each: json.dumps(each).encode())


@given(
    topic_id=st.binary(min_size=16, max_size=16),
    replicas=st.dictionaries(st.integers(0, 2**31 - 1), BROKER_IDS),
)
def test_a_topic_is_read_as_it_was_written(topic_id: bytes, replicas: dict[int, list[int]]) -> None:
    read = topic_of(topic_data(topic_id, replicas))
    assert read.topic_id == topic_id
    assert list(read.replicas.items()) == sorted((each, tuple(replicas[each])) for each in replicas)


@given(leader=st.integers(-1, 2**31 - 1), isr=BROKER_IDS)
def test_a_state_is_read_as_it_was_written(leader: int, isr: list[int]) -> None:
    assert state_of(state_data(leader, isr)) == (leader, tuple(isr))


def test_a_state_of_a_newer_kafka_is_read() -> None:
    data = b'{"version":1,"leader":1,"leader_epoch":1,"isr":[1],"leader_recovery_state":1}'
    assert state_of(data) == (1, (1,))


@given(entries=st.dictionaries(st.text(), st.text()))
def test_a_config_is_read_as_digests_by_key(entries: dict[str, str]) -> None:
    read = config_of(config_data(entries))
    assert [name for name, _ in read] == sorted(entries)
    assert dict(read) == {name: setting_digest(name, value) for name, value in entries.items()}


def test_a_digest_is_the_beginning_of_blake2b() -> None:
    assert digest("604800000") == hashlib.blake2b(b"604800000").digest()[:8]
    assert digest("ä") == hashlib.blake2b("ä".encode()).digest()[:8]


@given(data=GARBAGE)
def test_garbage_is_refused_or_read_into_what_a_journal_can_keep(data: bytes) -> None:
    for read in (topic_of, state_of, config_of):
        try:
            value: Any = read(data)
        except Unreadable:
            continue
        for number in _numbers(value):
            assert -1 <= number < 2**31


def _numbers(value: object) -> list[int]:
    if isinstance(value, dict):
        return [number for pair in value.items() for number in _numbers(pair)]
    if isinstance(value, tuple):
        return [number for each in value for number in _numbers(each)]
    return [value] if isinstance(value, int) else []


ID = '"topic_id":"AQEBAQEBAQEAAAAAAAAAAQ"'


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (None, "it is empty"),
        (b"", "it is empty"),
        (b"\xff\xfe", "its content is not JSON"),
        (b'{"version":3,', "its content is not JSON"),
        (b"[" * 100_000, "its content is nested deeper than 64"),
        (b"[]", "its content is not a JSON object"),
        (b'{"version":1,"partitions":{"0":[1]}}', "it has no topic_id"),
        (b'{"topic_id":7,"partitions":{}}', "its topic_id is no text"),
        (b'{"topic_id":"short","partitions":{}}', "its topic_id is not a Kafka id"),
        (f"{{{ID}}}".encode(), "it has no partitions"),
        (f'{{{ID},"partitions":{{"01":[1]}}}}'.encode(), "a partition's name is no number"),
        (f'{{{ID},"partitions":{{"²":[1]}}}}'.encode(), "a partition's name is no number"),
        (f'{{{ID},"partitions":{{"9999999999":[1]}}}}'.encode(), "a partition's name is no number"),
        (f'{{{ID},"partitions":{{"0":[true]}}}}'.encode(), "its replicas are no list of broker"),
        (f'{{{ID},"partitions":{{"0":[-1]}}}}'.encode(), "its replicas are no list of broker"),
        (f'{{{ID},"partitions":{{"0":7}}}}'.encode(), "its replicas are no list of broker ids"),
    ],
)
def test_a_topic_is_refused_with_a_reason(data: bytes | None, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        topic_of(data)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b'{"isr":[1]}', "its leader is no broker id"),
        (b'{"leader":-2,"isr":[1]}', "its leader is no broker id"),
        (b'{"leader":-1.0,"isr":[1]}', "its leader is no broker id"),
        (b'{"leader":4294967296,"isr":[1]}', "its leader is no broker id"),
        (b'{"leader":1}', "its isr are no list of broker ids"),
    ],
)
def test_a_state_is_refused_with_a_reason(data: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        state_of(data)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b'{"version":1}', "it has no config"),
        (b'{"config":["hunter2"]}', "it has no config"),
        (b'{"config":{"password":"hunter2","n":5}}', "a value of its config is not text"),
        (b'{"config":{"password":"hunter2\\ud800"}}', "a text of it is not Unicode"),
        (b'{"config":{"\\ud800":"hunter2"}}', "a text of it is not Unicode"),
        (b'{"config":{"password":"hunter2"}', "its content is not JSON"),
        (b"hunter2", "its content is not JSON"),
        (b"hunter2\xff", "its content is not JSON"),
    ],
)
def test_a_config_is_refused_without_telling_a_value(data: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=why) as refused:
        config_of(data)
    assert "hunter2" not in repr(refused.value)


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ({"producer_byte_rate": 1024}, "a value of its config is not text"),
        ({"SCRAM-SHA-256": None}, "a value of its config is not text"),
        *(
            ({"producer_byte_rate": each}, "a quota of it is not a number")
            for each in ("fast", "", "1_000", "inf", "nan", "NaNd", "1e", ".", "٣")
        ),
    ],
)
def test_quotas_are_refused_like_the_settings_that_kafka_cannot_parse(
    entries: dict[str, object], why: str
) -> None:
    with pytest.raises(Unreadable, match=why):
        quotas_of(config_data(entries))


@pytest.mark.parametrize("text", ["1024", "1024.0", "1024.", " 1024d\n", "1.024e3", "+1024F"])
def test_a_quota_is_the_number_that_java_reads(text: str) -> None:
    assert quotas_of(config_data({"producer_byte_rate": text})) == quotas_of(
        config_data({"producer_byte_rate": "1024.0"})
    )


@pytest.mark.parametrize("name", ["", "a", "-1", "01", "+1", "2147483648", "²"])
def test_a_broker_is_a_number(name: str) -> None:
    assert broker_id_of("12") == 12
    with pytest.raises(Unreadable, match="its name is no broker id"):
        broker_id_of(name)


def test_a_digest_keeps_its_size() -> None:
    assert len(digest("")) == DIGEST_BYTES

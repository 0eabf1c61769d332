"""Broker ids of the whole int32 range: a log says the same of a broker, whatever its number."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st
from kio.schema.types import BrokerId

from migration.image.summary import BrokerSummary
from migration.metadata.records import Unknown
from orchestrator.api.status import cluster_json
from streams.spark.shard_batch import pack_shard, unpack_shard
from streams.state.store import broker_json, read_summary, summary_json
from streams.wire.values import read_value
from tests.support.examples import examples
from tests.support.logs import BROKERS, Action, actions, values, write_segment
from tests.support.pipeline import Run
from tests.support.wire_writing import write_value

_IDS = st.sets(
    st.integers(0, 2**31 - 1) | st.sampled_from([2**23 - 1, 2**23, 2**24, 2**31 - 1]),
    min_size=BROKERS,
    max_size=BROKERS,
).map(sorted)
_ONE = ("broker_id", "leader")
_MANY = ("replicas", "isr", "adding_replicas", "removing_replicas")


def _renamed(value: bytes, ids: Mapping[int, int]) -> bytes:
    record: Any = read_value(value)
    assert not isinstance(record, Unknown)
    there = {each.name: getattr(record, each.name) for each in dataclasses.fields(record)}
    changes: dict[str, object] = {
        name: BrokerId(ids.get(there[name], there[name])) for name in _ONE if name in there
    }
    for name in _MANY:
        if there.get(name) is not None:
            changes[name] = tuple(BrokerId(ids[each]) for each in there[name])
    if there.get("resource_name") in {str(each) for each in ids}:
        changes["resource_name"] = str(ids[int(there["resource_name"])])
    return write_value(dataclasses.replace(record, **changes))


def _run(made: list[bytes]) -> Run:
    with TemporaryDirectory() as folder:
        Path(folder, f"{0:020d}.log").write_bytes(write_segment(made, [3]))
        return Run().follow(Path(folder), 700)


def _without_id(broker: BrokerSummary) -> BrokerSummary:
    return dataclasses.replace(broker, id=0)


@examples(60, suppress=[HealthCheck.too_slow])
@given(actions, _IDS)
@example([(9, 0, 0, 1), (0, 0, 0, 0), (3, 0, 0, 3), (5, 0, 0, 0)], [0, 2**23, 2**31 - 1])
def test_what_is_told_of_a_broker_does_not_depend_on_its_number(
    drawn: list[Action], numbers: list[int]
) -> None:
    ids = dict(zip(range(1, BROKERS + 1), numbers, strict=True))
    made = values(drawn)
    small, large = _run(made), _run([_renamed(each, ids) for each in made])
    assert [(each.kind, each.offset) for each in large.events] == [
        (each.kind, each.offset) for each in small.events
    ]
    assert [each.broker for each in large.events] == [
        None if each.broker is None else ids[each.broker] for each in small.events
    ]
    assert [each.id for each in large.summary.brokers] == [
        ids[each.id] for each in small.summary.brokers
    ]
    assert list(map(_without_id, large.summary.brokers)) == list(
        map(_without_id, small.summary.brokers)
    )
    for packed in large.states.values():
        assert pack_shard(*unpack_shard(packed)) == packed
    summary = large.summary
    kept = read_summary(summary_json(summary), [broker_json(each) for each in summary.brokers])
    assert kept == summary
    assert cluster_json(kept, large.events)["brokers"] == cluster_json(summary, ())["brokers"]

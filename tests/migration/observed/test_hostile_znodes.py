"""Znodes of strangers: whatever they hold is taken in or named, and what follows can be kept."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration.image.cluster import ClusterImage, summarize
from migration.image.observe import observe
from migration.image.summary import ClusterSummary
from migration.metadata.events import Event
from migration.observed.facts import FactQuarantined, JmxSeen, Observation, ZnodeGone, ZnodeSeen
from orchestrator.api.status import cluster_json
from orchestrator.output.formatting import event_fields, pairs
from streams.state.store import (
    BatchResult,
    Store,
    broker_json,
    pack_image,
    read_summary,
    summary_json,
    unpack_image,
)
from tests.streams.zookeeper.beats import is_heartbeat
from tests.streams.zookeeper.hostile import HOSTILE

_PATHS = st.sampled_from([*HOSTILE, "/admin/delete_topics/t", "/admin/reassign_partitions"])
_NUMBERS = (
    st.integers()
    | st.integers(-(2**31) - 1, 2**31)
    | st.sampled_from([2**31, 2**40, 2**63 - 1, 2**63, 2**64, -(2**63), -(2**63) - 1])
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | _NUMBERS | _NUMBERS.map(str) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
_FIELDS = st.sampled_from(
    ["brokerid", "timestamp", "kraftControllerEpoch", "kraft_metadata_offset", "broker", "host",
     "kraft_controller_id", "kraft_metadata_epoch", "kraft_controller_epoch", "rack", "partitions"]
)  # fmt: skip
_DATA = (
    st.binary(max_size=30)
    | _NUMBERS.map(lambda number: str(number).encode())
    | st.dictionaries(_FIELDS, _VALUES).map(lambda each: json.dumps(each).encode())
    | st.sampled_from([data for data, _ in HOSTILE.values()])
)
_STAMPS = st.integers(-(2**63), 2**63 - 1)
_FACTS: st.SearchStrategy[Observation] = st.builds(
    ZnodeSeen, st.integers(0, 2**42), _PATHS, _DATA, st.integers(0, 9), _STAMPS, _STAMPS, _STAMPS
) | st.builds(ZnodeGone, st.integers(0, 2**42), _PATHS)


def _kept(image: ClusterImage, events: tuple[Event, ...]) -> ClusterSummary:
    """All that is made of an image, written and read."""
    assert unpack_image(pack_image(image)) == image
    summary = summarize("c", image)
    told = read_summary(summary_json(summary), [broker_json(each) for each in summary.brokers])
    assert told == summary
    json.dumps(cluster_json(summary, events), ensure_ascii=False).encode()
    for each in events:
        pairs(event_fields(each)).encode()
    return summary


def _seen(path: str, data: bytes) -> ZnodeSeen:
    return ZnodeSeen(1_000, path, data, 0, 7, 900, 0)


@given(st.lists(_FACTS, max_size=6))
def test_any_znodes_can_be_taken_in_and_kept(facts: list[Observation]) -> None:
    _kept(*observe(ClusterImage(), facts))


@given(st.lists(_FACTS, min_size=1, max_size=3))
def test_their_events_can_be_stored(facts: list[Observation]) -> None:
    image, events = observe(ClusterImage(), facts)
    with TemporaryDirectory() as folder, Store.open(Path(folder, "store.db")) as store:
        summary = summarize("c", image)
        outcome = BatchResult(
            cluster="c", image=image, summary=summary, brokers=summary.brokers, gone=(),
            place={}, events=events, files=(),
        )  # fmt: skip
        store.commit(0, [outcome], 1)
        assert store.image("c") == image
        assert store.summary("c") == summary
        assert [(each.kind, dict(each.fields)) for _, each in store.events("c")] == [
            (each.kind, json.loads(json.dumps(dict(each.fields)))) for each in events
        ]


@given(_DATA, _DATA)
def test_any_data_of_the_beacon_is_a_beat_or_not(before: bytes, now: bytes) -> None:
    assert is_heartbeat(before, now) in {True, False}


@pytest.mark.parametrize("path", HOSTILE)
def test_a_hostile_znode_is_named_and_changes_nothing(path: str) -> None:
    data, why = HOSTILE[path]
    image, events = observe(ClusterImage(), [_seen(path, data)])
    assert [(each.kind, dict(each.fields)) for each in events] == [
        ("znode_unreadable", {"path": path, "reason": why})
    ]
    assert image.zookeeper is not None
    assert image.zookeeper.unreadable == {path: why}
    _kept(image, events)


def test_numbers_that_zookeeper_cannot_give_make_a_znode_unreadable() -> None:
    fact = _seen("/controller_epoch", b"7")._replace(mzxid=2**64 - 1)
    image, (event,) = observe(ClusterImage(), [fact])
    assert (event.kind, event.fields["path"]) == ("znode_unreadable", "/controller_epoch")
    assert image.zookeeper is not None
    assert image.zookeeper.controller_epoch is None


def test_a_fact_of_before_that_cannot_be_kept_is_named_and_left_out() -> None:
    fact = JmxSeen(5, 1, "b1:7071", 4, (("ZkMigrationState", 2**64 - 1),))
    image, (event,) = observe(ClusterImage(), [fact])
    assert (event.kind, dict(event.fields)) == (
        "fact_quarantined",
        {"fact": "JmxSeen", "subject": "node 1", "reason": "a number of it has more than 64 bits"},
    )
    assert image == ClusterImage()


def test_what_was_kept_in_place_of_a_fact_is_told() -> None:
    fact = FactQuarantined(5, "log_dirs", "DisksSeen", "broker 1", "why")
    _, (event,) = observe(ClusterImage(), [fact])
    assert (event.kind, str(event.source), event.seen_ms) == ("fact_quarantined", "log_dirs", 5)

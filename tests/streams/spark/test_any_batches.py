"""Records cut into any batches give the same state, the same events and the same transitions."""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, assume, example, given
from hypothesis import strategies as st

from migration.image.cluster import ClusterImage
from migration.image.summary import Mode
from migration.metadata.directory_ids import is_reserved
from migration.metadata.partitions import classify
from migration.metadata.records import BeginTransaction, Config, RemoveTopic, Topic
from migration.metadata.replica_state import ReplicaState
from streams.spark.shard_batch import unpack_shard
from streams.state.store import unpack_image
from streams.wire.records import read_record
from tests.support.examples import examples
from tests.support.logs import PARTITIONS, TOPICS, Action, actions, values, write_segment
from tests.support.pipeline import Run

_WHOLE = 2**40
_quick = examples(100, suppress=[HealthCheck.too_slow])


def _run(segment: bytes, max_bytes: int) -> Run:
    with TemporaryDirectory() as folder:
        Path(folder, f"{0:020d}.log").write_bytes(segment)
        return Run().follow(Path(folder), max_bytes)


_REGISTERED_IN_IT: list[Action] = [
    (0, 0, 0, 0),
    (14, 0, 0, 0),
    (9, 0, 0, 0),
    (2, 0, 0, 0),
    (14, 0, 0, 1),
]
"""A broker registers in a transaction, before a partition of it is made."""


@_quick
@given(actions, st.lists(st.integers(1, 5), min_size=1), st.integers(1, 2000))
@example(_REGISTERED_IN_IT, [1], _WHOLE)
def test_any_cut_of_the_stream_and_any_slices_give_the_same(
    drawn: list[Action], sizes: list[int], max_bytes: int
) -> None:
    """Neither the ends of the batches nor those of their slices show."""
    segment = write_segment(values(drawn), sizes)
    whole, cut = _run(segment, _WHOLE), _run(segment, max_bytes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streams.metadata.plan.SLICE_BYTES", 1)
        sliced = _run(segment, _WHOLE)
    for other in (cut, sliced):
        assert other.summary == whole.summary
        assert unpack_image(other.image) == unpack_image(whole.image)
        assert other.events == whole.events
        assert sorted(other.transitions, key=repr) == sorted(whole.transitions, key=repr)
        assert _settings(other) == _settings(whole)


def _settings(run: Run) -> dict[tuple[int, str], dict[str, bytes]]:
    """What all shards keep of settings; each resource in one shard only."""
    found: dict[tuple[int, str], dict[str, bytes]] = {}
    for packed in run.states.values():
        shard, _ = unpack_shard(packed)
        assert not found.keys() & shard.configs.keys()
        found |= shard.configs
    return found


@_quick
@given(actions)
def test_settings_are_the_last_ones_and_go_with_their_topic(drawn: list[Action]) -> None:
    made = values(drawn)
    run = _run(write_segment(made, [1]), _WHOLE)
    # What a transaction comes to is the other tests' part.
    assume(not any(isinstance(read_record(each), BeginTransaction) for each in made))
    expected: dict[tuple[int, str], dict[str, bytes]] = {}
    names: dict[bytes, str] = {}
    for each in made:
        match read_record(each):
            case Topic(name, topic_id):
                names[topic_id] = name
            case RemoveTopic(topic_id):
                expected.pop((2, names.pop(topic_id, "")), None)
            case Config(kind, name, key, None):
                expected.get((kind, name), {}).pop(key, None)
            case Config(kind, name, key, bytes(digest)):
                expected.setdefault((kind, name), {})[key] = digest
    assert _settings(run) == {of: some for of, some in expected.items() if some}


@_quick
@given(actions, st.lists(st.integers(1, 5), min_size=1))
def test_any_size_of_the_controllers_batches_gives_the_same(
    drawn: list[Action], sizes: list[int]
) -> None:
    # One timestamp a batch is the controller's doing, so times may differ; nothing else may.
    made = values(drawn)
    singles, batched = _run(write_segment(made, [1]), _WHOLE), _run(write_segment(made, sizes), 1)
    counts = [
        [
            (
                each.id,
                each.replicas,
                each.held,
                each.fenced,
                each.unfenced_offset,
                each.assignments_complete_offset,
            )
            for each in run.summary.brokers
        ]
        for run in (singles, batched)
    ]
    assert counts[0] == counts[1]
    assert singles.summary.phase is batched.summary.phase
    assert [(each.offset, each.kind, each.broker) for each in singles.events] == [
        (each.offset, each.kind, each.broker) for each in batched.events
    ]


_ONLY_RESTATED: list[Action] = [(0, 0, 0, 0), (4, 0, 0, 3), (9, 0, 1, 2), (11, 0, 7, 1)]
"""The last batch moves no replica, and yet changes a state: its directory goes."""


@_quick
@given(actions, st.integers(1, 2000))
@example(_ONLY_RESTATED, 1)
def test_counts_are_those_of_the_replicas(drawn: list[Action], max_bytes: int) -> None:
    run = _run(write_segment(values(drawn), [3]), max_bytes)
    image = unpack_image(run.image)
    recounted: dict[tuple[int, ReplicaState], int] = {}
    partitions = 0
    for shard, packed in run.states.items():
        state, _ = unpack_shard(packed)
        ids = state.numbers.ids()
        pending: dict[int, int] = {}
        for topic in state.logged().values():
            partitions += len(topic.partitions)
            for replicas in topic.partitions.values():
                for broker, number in zip(*replicas[:2], strict=True):
                    directory = ids[number]
                    known = image.brokers.get(broker)
                    online = frozenset(known.log_dirs) if known else frozenset()
                    key = broker, classify(directory, online)
                    recounted[key] = recounted.get(key, 0) + 1
                    if is_reserved(directory):
                        pending[broker] = pending.get(broker, 0) + 1
        assert state.pending == pending
        for broker in image.pending_shards:
            assert (shard in image.pending_shards[broker]) == (broker in pending)
    assert image.partitions == partitions
    for known_broker in run.summary.brokers:
        assert known_broker.replicas == {
            state: recounted.get((known_broker.id, state), 0) for state in ReplicaState
        }
        if known_broker.mode is Mode.KRAFT and not known_broker.held:
            assert known_broker.assignments_complete_offset is not None
        assert not (known_broker.held and not known_broker.pending)


_A_CLUSTER: list[Action] = [
    *((0, topic, 0, 0) for topic in range(TOPICS)),
    *((4, topic, partition, 3) for topic in range(TOPICS) for partition in range(PARTITIONS)),
]
"""Every topic and partition there is, so that what is drawn then happens to them."""
_REMOVED: list[Action] = [(15, 0, 3, 1), (13, 0, 0, 0)]
"""A topic that goes with a partition out of its ISR and in a reassignment."""
_REPLACED: list[Action] = [(8, 0, 0, 1)]
"""Other replicas, and the ISR as it was."""


@pytest.mark.slow
@_quick
@given(actions, st.integers(1, 2000))
@example(_REMOVED, 1)
@example(_REPLACED, 1)
def test_counts_of_isr_leaders_and_reassignments_are_those_of_the_partitions(
    drawn: list[Action], max_bytes: int
) -> None:
    run = _run(write_segment(values([*_A_CLUSTER, *drawn]), [3]), max_bytes)
    partitions = [
        replicas
        for packed in run.states.values()
        for topic in unpack_shard(packed)[0].logged().values()
        for replicas in topic.partitions.values()
    ]
    out = Counter(
        broker for each in partitions for broker in each.brokers if broker not in each.isr
    )
    summary = run.summary
    assert summary.under_replicated == sum(
        not set(each.brokers) <= set(each.isr) for each in partitions
    )
    assert summary.leaderless == sum(each.leader < 0 for each in partitions)
    assert summary.reassigning == sum(each.moving > 0 for each in partitions)
    assert unpack_image(run.image).replication.missing == out
    assert {each.id: each.under_replicated for each in summary.brokers} == {
        each.id: out[each.id] for each in summary.brokers
    }


def test_the_empty_log_is_the_empty_image() -> None:
    assert unpack_image(Run().image) == ClusterImage()

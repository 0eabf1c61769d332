"""Invariants of every prediction, for any cluster."""

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from migration.image.summary import Mode
from migration.metadata.replica_state import ReplicaState
from migration.observed.probed import Broker, LogDir, Maybe, Partition, TopicPartition, Unknown
from migration.what_if import (
    SERIOUS,
    Assignment,
    Fate,
    Prediction,
    Situation,
    if_broker_fails,
    if_directory_fails,
)
from tests.migration.what_if.situations import (
    D0,
    D1,
    ID0,
    ID1,
    META,
    WHY,
    assigned,
    broker,
    pending,
    situation,
)

ASSIGNMENTS = st.sampled_from(
    [assigned(ID0), assigned(ID1), pending(), pending(ReplicaState.UNASSIGNED), None]
)


@st.composite
def parts(draw: st.DrawFn) -> tuple[Partition, ...]:
    """Partitions with a leader that is in sync, or none."""
    made = []
    for number in range(draw(st.integers(1, 5))):
        replicas = draw(st.permutations([1, 2, 3]))[: draw(st.integers(1, 3))]
        isr = draw(st.lists(st.sampled_from(replicas), min_size=1, unique=True))
        leader = draw(st.sampled_from([*isr, None]))
        at = TopicPartition("t", number)
        made.append(Partition(at=at, replicas=tuple(replicas), isr=tuple(isr), leader=leader))
    return tuple(made)


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    """Any cluster of three brokers; each input can be missing."""
    made = draw(parts())
    ours = [each.at for each in made if 1 in each.replicas]
    places = {at: draw(st.sampled_from([D0, D0, D1, D1, None])) for at in ours}
    disks = broker(
        1,
        d0=[at for at, path in places.items() if path == D0],
        d1=[at for at, path in places.items() if path == D1],
        bad=draw(st.sampled_from([[], [], [D1]])),
        meta=draw(st.sampled_from([META, None])),
    )
    known = {at: draw(ASSIGNMENTS) for at in ours}
    log: Maybe[Mapping[TopicPartition, Assignment]] = WHY
    if draw(st.booleans()):
        log = {at: each for at, each in known.items() if each is not None}
    return situation(
        *made,
        brokers={1: disks, 2: draw(_others(2, made)), 3: draw(_others(3, made))},
        mode=draw(st.sampled_from([*Mode, None])),
        metadata_dir=draw(st.sampled_from([D0, D1, "/elsewhere", WHY])),
        min_isr=draw(st.sampled_from([1, 2, 3, WHY])),
        alive=draw(st.sampled_from([{1, 2, 3}, {1, 2, 3}, {1, 2}, {2, 3}])),
        assignments=log,
        no_election=draw(st.sampled_from([None, None, WHY.why])),
    )


def _others(id_: int, made: tuple[Partition, ...]) -> st.SearchStrategy[Broker]:
    ours = [each.at for each in made if id_ in each.replicas]
    return st.sampled_from([broker(id_, d0=ours), broker(id_, bad=[D0]), broker(id_, unknown=WHY)])


def fates(prediction: Prediction) -> dict[TopicPartition, Fate]:
    return {each.at: each.fate for each in prediction.lines}


def directories(now: Situation) -> tuple[LogDir, ...]:
    return () if isinstance(now.log_dirs, Unknown) else now.log_dirs


@given(situations(), st.data())
def test_no_fate_improves_when_a_sound_replica_leaves_the_isr(
    now: Situation, data: st.DataObject
) -> None:
    one = data.draw(st.sampled_from(now.topics.partitions))
    removable = [
        each
        for each in one.isr
        if each not in (1, one.leader)
        and (each, one.at) not in now.broken
        and each not in now.doubtful
    ]
    if not removable:
        return
    gone = data.draw(st.sampled_from(removable))
    less = replace(one, isr=tuple(each for each in one.isr if each != gone))
    worse = _with(now, tuple(less if each is one else each for each in now.topics.partitions))
    for before, after in _answers(now, worse):
        was, became = fates(before).get(one.at), fates(after).get(one.at)
        if was is not None and Fate.UNKNOWN not in (was, became):
            assert became is not None
            assert became.rank <= was.rank
        if was in SERIOUS:
            assert became in SERIOUS


@given(situations())
def test_a_brokers_failure_concerns_all_that_its_directories_do(now: Situation) -> None:
    concerned = fates(if_broker_fails(now)).keys()
    assert concerned >= {each.at for each in now.hosted}
    for each in directories(now):
        assert fates(if_directory_fails(now, each.path)).keys() <= concerned


@given(situations())
def test_what_a_directory_loses_its_broker_loses(now: Situation) -> None:
    whole = fates(if_broker_fails(now))
    for each in directories(now):
        for at, fate in fates(if_directory_fails(now, each.path)).items():
            if fate is Fate.LOST:
                assert whole[at] is Fate.LOST
            if fate is Fate.UNAVAILABLE:
                assert whole[at] in {Fate.UNAVAILABLE, Fate.LOST}


@given(situations())
def test_the_only_replica_is_in_danger_wherever_it_lies(now: Situation) -> None:
    for each in directories(now):
        prediction = fates(if_directory_fails(now, each.path))
        for part in now.hosted:
            if len(part.replicas) == 1 and now.places.get(part.at) == each.path:
                assert prediction[part.at] is Fate.LOST


@given(situations())
def test_what_is_known_less_of_is_never_less_serious(now: Situation) -> None:
    """Removing every optional input removes no reported danger."""
    blind = Situation(
        broker=1,
        topics=now.topics,
        brokers=now.brokers,
        mode=None,
        metadata_dir=WHY,
        assignments=WHY,
    )
    for each in directories(now):
        seen, unseen = if_directory_fails(now, each.path), if_directory_fails(blind, each.path)
        for line in seen.lines:
            # Replicas that only the metadata log places there are missing; a note reports that.
            if line.fate in SERIOUS and line.path == each.path:
                assert fates(unseen)[line.at] in SERIOUS, line


@given(situations())
def test_who_leads_next_is_an_in_sync_replica_that_is_alive(now: Situation) -> None:
    prediction = [if_broker_fails(now)]
    prediction += [if_directory_fails(now, each.path) for each in directories(now)]
    for line in (line for each in prediction for line in each.lines):
        if line.fate in {Fate.LOST, Fate.UNKNOWN} or line.leader_after is None:
            continue
        assert line.leader_after in line.isr
        stays = line.fate is Fate.LEADER_NOT_MOVED
        assert line.leader_after in ({1} if stays else now.alive)


def _with(now: Situation, changed: tuple[Partition, ...]) -> Situation:
    return replace(now, topics=replace(now.topics, partitions=changed))


def _answers(now: Situation, other: Situation) -> list[tuple[Prediction, Prediction]]:
    found = [(if_broker_fails(now), if_broker_fails(other))]
    for each in directories(now):
        found.append((if_directory_fails(now, each.path), if_directory_fails(other, each.path)))
    return found

"""Conclusions from a broker's answer and the stored facts about the broker."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration.observed.facts import (
    CutOffEnd,
    DiskFact,
    DisksSeen,
    DisksUnreachable,
    FutureSeen,
    ReplicasBack,
    ReplicasCutOff,
    ReplicaSeen,
)
from streams.kafka.broker_values import LogDirAnswer
from streams.log_dirs.compare import Compared, Hosted, answered, unanswered
from streams.log_dirs.remembered import NOTHING, KnownBroker, KnownPartition, LocalDir
from tests.streams.log_dirs.world import BAD_FILE, NOT_OURS, OURS, A, B, inputs, log_dir, place

HERE = {A: OURS, B: OURS}
GONE = {A: OURS, B: NOT_OURS}
BAD = {A: OURS, B: BAD_FILE}
EMPTIED = {A: OURS, B: BAD_FILE._replace(folders=frozenset({"t-2", "lost+found"}))}
OFFLINE = log_dir(B, error=56)


def partitions_of(facts: Sequence[DiskFact]) -> list[list[int]]:
    return [[r.partition for r in f.replicas] for f in facts if isinstance(f, ReplicasCutOff)]


@pytest.fixture
def well() -> KnownBroker:
    """Partitions 0 and 1 in A, 2 and 3 in B, on this host."""
    answer = [log_dir(A, 0, 1), log_dir(B, 2, 3)]
    return answered(NOTHING, answer, inputs(local_dirs=HERE)).known


def test_an_answer_is_told_directory_by_directory() -> None:
    answer = [log_dir(B, 2, futures=[0]), log_dir(A, 0, 1)]
    disks = answered(NOTHING, answer, inputs(local_dirs={A: OURS})).disks
    assert isinstance(disks, DisksSeen)
    first, second = disks.log_dirs
    assert (first.path, first.replicas, first.bytes, first.readable) == (A, 2, 20, True)
    assert first.directory_id == OURS.directory_id
    assert (second.path, second.replicas, second.bytes, second.futures) == (B, 1, 10, 1)
    assert second.moving == (FutureSeen("t", 0, 10, 0),)
    assert (second.directory_id, second.readable) == (None, None)


def test_the_first_answer_concludes_nothing() -> None:
    found = answered(NOTHING, [log_dir(A, 0), OFFLINE], inputs())
    assert found.facts == ()
    assert not found.known.cut_off


def test_error_56_cuts_off_what_lay_there(well: KnownBroker) -> None:
    """KIP-113, "Create DescribeLogDirsResponse": an error of the directory."""
    partitions = {("t", 2): KnownPartition(3, "id", 70)}
    found = answered(well, [log_dir(A, 0, 1), OFFLINE], inputs(2000, partitions=partitions))
    cut = ReplicasCutOff(
        2000, 2, B, (ReplicaSeen("t", 2, 10, 70, 3), ReplicaSeen("t", 3, 10, None, 0))
    )
    assert found.facts == (cut,)
    assert isinstance(found.disks, DisksSeen)
    assert found.disks.log_dirs[1].error == 56


def test_it_is_told_once(well: KnownBroker) -> None:
    answer = [log_dir(A, 0, 1), OFFLINE]
    first = answered(well, answer, inputs(2000))
    assert answered(first.known, answer, inputs(3000)).facts == ()


def test_a_path_that_vanishes_is_cut_off(well: KnownBroker) -> None:
    found = answered(well, [log_dir(A, 0, 1)], inputs(2000))
    assert partitions_of(found.facts) == [[2, 3]]
    assert answered(found.known, [log_dir(A, 0, 1)], inputs(3000)).facts == ()


def test_a_path_that_vanishes_empty_is_forgotten() -> None:
    before = answered(NOTHING, [log_dir(A, 0), log_dir(B)], inputs()).known
    found = answered(before, [log_dir(A, 0)], inputs())
    assert found.facts == ()
    assert found.known.log_dirs.keys() == {A}


def test_an_empty_answer_says_nothing_of_paths(well: KnownBroker) -> None:
    """KIP-113, "How to retrieve information ...": without a filter all log directories answer."""
    assert answered(well, [], inputs()).known == well


def test_unreadable_on_this_host_is_cut_off_before_the_broker_notices(well: KnownBroker) -> None:
    answer = [log_dir(A, 0, 1), log_dir(B, 2, 3)]
    found = answered(well, answer, inputs(local_dirs=GONE))
    assert partitions_of(found.facts) == [[2, 3]]
    noticed = answered(found.known, [log_dir(A, 0, 1), OFFLINE], inputs(local_dirs=GONE))
    assert noticed.facts == ()


def test_a_directory_whose_file_is_bad_is_not_cut_off(well: KnownBroker) -> None:
    """The broker reads meta.properties only when it starts."""
    answer = [log_dir(A, 0, 1), log_dir(B, 2)]
    serves = answered(well, answer, inputs(local_dirs=BAD))
    down = unanswered(serves.known, "refused", inputs(local_dirs=BAD))
    for found in (serves, down):
        assert found.facts == ()
        shown = found.disks.log_dirs[1]
        assert (shown.readable, shown.directory_id) == (True, None)
        assert shown.trouble == BAD_FILE.trouble
    back = answered(down.known, answer, inputs(local_dirs=HERE)).disks.log_dirs[1]
    assert (back.directory_id, back.trouble) == (OURS.directory_id, None)
    unverified = answered(NOTHING, answer, inputs(local_dirs=BAD)).disks.log_dirs[1]
    assert (unverified.readable, unverified.trouble) == (None, None)


def test_the_version_of_a_file_is_that_on_the_host(well: KnownBroker) -> None:
    """Also when the file changed after the broker had stopped."""
    newer = {A: OURS._replace(version=0), B: OURS._replace(version=1)}
    down = unanswered(well, "refused", inputs(local_dirs=newer))
    assert [each.version for each in down.disks.log_dirs] == [0, 1]
    serves = answered(well, [log_dir(A, 0, 1), log_dir(B, 2, 3)], inputs())
    assert [each.version for each in serves.disks.log_dirs] == [None, None]


def test_a_mount_point_without_the_replicas_is_cut_off(well: KnownBroker) -> None:
    answer = [log_dir(A, 0, 1), log_dir(B, 2, 3)]
    serves = answered(well, answer, inputs(local_dirs=EMPTIED))
    down = unanswered(well, "refused", inputs(local_dirs=EMPTIED))
    for found in (serves, down):
        assert partitions_of(found.facts) == [[2, 3]]
        shown = found.disks.log_dirs[1]
        assert (shown.readable, shown.trouble) == (False, None)
        assert shown.directory_id == OURS.directory_id
    still = unanswered(down.known, "refused", inputs(local_dirs=BAD))
    assert still.facts == ()
    assert answered(serves.known, answer, inputs(1000, local_dirs=BAD)).facts == (
        ReplicasBack(1000, 2, B, CutOffEnd.READABLE),
    )


def test_an_offline_directory_whose_file_is_bad_is_unreadable(well: KnownBroker) -> None:
    found = answered(well, [log_dir(A, 0, 1), OFFLINE], inputs(local_dirs=BAD))
    assert partitions_of(found.facts) == [[2, 3]]
    assert found.disks.log_dirs[1].readable is False


def test_never_unreadable_where_it_was_not_verified() -> None:
    known = answered(NOTHING, [log_dir(A, 0)], inputs(local_dirs={A: NOT_OURS})).known
    found = answered(known, [log_dir(A, 0)], inputs(local_dirs={A: NOT_OURS}))
    assert isinstance(found.disks, DisksSeen)
    assert found.disks.log_dirs[0].readable is None
    assert found.facts == ()


def test_another_error_changes_nothing(well: KnownBroker) -> None:
    found = answered(well, [log_dir(A, 0, 1), log_dir(B, error=-1)], inputs(local_dirs=HERE))
    assert found.facts == ()
    assert found.known.log_dirs[B].replicas == well.log_dirs[B].replicas
    assert isinstance(found.disks, DisksSeen)
    assert found.disks.log_dirs[1].error == -1


def test_answering_well_again_brings_it_back(well: KnownBroker) -> None:
    cut = answered(well, [log_dir(A, 0, 1), OFFLINE], inputs()).known
    found = answered(cut, [log_dir(A, 0, 1), log_dir(B, 2, 3)], inputs(4000))
    assert found.facts == (ReplicasBack(4000, 2, B, CutOffEnd.READABLE),)
    assert not found.known.cut_off


def test_replicas_seen_elsewhere_are_cut_off_no_more(well: KnownBroker) -> None:
    cut = answered(well, [log_dir(A, 0, 1), OFFLINE], inputs()).known
    one = answered(cut, [log_dir(A, 0, 1, 2), OFFLINE], inputs())
    assert partitions_of(one.facts) == [[3]]
    both = answered(one.known, [log_dir(A, 0, 1, 2, 3), OFFLINE], inputs(5000))
    assert both.facts == (ReplicasBack(5000, 2, B, CutOffEnd.RECREATED),)
    assert answered(both.known, [log_dir(A, 0, 1), OFFLINE], inputs()).facts == ()


SOLE = {("t", 2): KnownPartition(1, "id", 70), ("t", 3): KnownPartition(2, "id", 9)}
WAS_2, WAS_3 = ReplicaSeen("t", 2, 10, 70, 1), ReplicaSeen("t", 3, 10, 9, 2)


def without_b(*sizes: int) -> LogDirAnswer:
    """A, with partitions 2 and 3, in these sizes, of B, which the broker no longer lists."""
    moved = (place(number, size=size) for number, size in zip((2, 3), sizes, strict=True))
    return log_dir(A, 0, 1)._replace(replicas=(place(0), place(1), *moved))


@pytest.mark.parametrize(
    ("sizes", "recreated"),
    [((0, 9), (WAS_2, WAS_3)), ((0, 10), (WAS_2,)), ((10, 11), ())],
)
@pytest.mark.parametrize("failed", [False, True])
def test_replicas_that_are_smaller_without_their_directory_were_recreated(
    well: KnownBroker, sizes: tuple[int, int], recreated: tuple[ReplicaSeen, ...], *, failed: bool
) -> None:
    """A copy within the broker is complete (KIP-113, "Complete replica data movement")."""
    known = inputs(2000, partitions=SOLE)
    before = answered(well, [log_dir(A, 0, 1), OFFLINE], known).known if failed else well
    found = answered(before, [without_b(*sizes)], known)
    why = CutOffEnd.RECREATED if recreated else CutOffEnd.ELSEWHERE
    over = ReplicasBack(2000, 2, B, why, recreated, before.log_dirs[B].directory_id)
    assert found.facts == ((over,) if failed or recreated else ())
    assert not found.known.cut_off
    assert answered(found.known, [without_b(*sizes)], known).facts == ()


def test_replicas_that_were_recreated_one_after_the_other(well: KnownBroker) -> None:
    cut = answered(well, [without_b(0, 10)._replace(replicas=(place(2, size=0),))], inputs(2000))
    assert partitions_of(cut.facts) == [[3]]
    found = answered(cut.known, [without_b(0, 10)], inputs(3000))
    (over,) = found.facts
    assert isinstance(over, ReplicasBack)
    assert over.why is CutOffEnd.RECREATED


def test_the_id_of_the_directory_without_which_replicas_were_recreated(well: KnownBroker) -> None:
    found = answered(well, [without_b(0, 9)], inputs(2000, partitions=SOLE, local_dirs=GONE))
    (over,) = found.facts
    assert isinstance(over, ReplicasBack)
    assert (over.why, over.directory_id) == (CutOffEnd.RECREATED, OURS.directory_id)


def test_a_future_replica_is_no_replica_seen_elsewhere(well: KnownBroker) -> None:
    """KIP-113, "Problem statement": a broker may have two logs of one replica."""
    found = answered(well, [log_dir(A, 0, 1, futures=[2, 3]), OFFLINE], inputs())
    assert partitions_of(found.facts) == [[2, 3]]


LISTED = {("t", each): KnownPartition(2) for each in range(4)}


def test_replicas_moved_to_other_brokers_are_dropped_by_a_late_view_only(well: KnownBroker) -> None:
    answer = [log_dir(A, 0, 1), OFFLINE]
    cut = answered(well, answer, inputs(1000, partitions=LISTED)).known
    early = Hosted({("t", 0): (2,), ("t", 2): (1,)}, as_of_ms=2000)
    assert answered(cut, answer, inputs(3000, hosted=early)).facts == ()
    late = Hosted({("t", 0): (2,), ("t", 2): (1,), ("t", 3): (2,)}, as_of_ms=60_000)
    assert partitions_of(answered(cut, answer, inputs(61_000, hosted=late)).facts) == [[3]]
    deleted = Hosted({}, as_of_ms=60_000, deleted=frozenset({"t"}))
    found = answered(cut, answer, inputs(61_000, hosted=deleted))
    assert found.facts == (ReplicasBack(61_000, 2, B, CutOffEnd.NOT_HOSTED),)
    again = Hosted({("t", 0): (2,)}, as_of_ms=60_000)  # created again, with fewer partitions
    found = answered(cut, answer, inputs(61_000, hosted=again))
    assert found.facts == (ReplicasBack(61_000, 2, B, CutOffEnd.NOT_HOSTED),)


@pytest.mark.parametrize("partitions", [{}, LISTED], ids=["never listed", "listed before"])
def test_a_topic_that_is_not_listed_is_not_deleted(
    well: KnownBroker, partitions: dict[tuple[str, int], KnownPartition]
) -> None:
    """METADATA leaves out topics that the principal may not describe; DescribeLogDirs does not."""
    answer = [log_dir(A, 0, 1), OFFLINE]
    cut = answered(well, answer, inputs(1000, partitions=partitions)).known
    hidden = inputs(61_000, hosted=Hosted({}, as_of_ms=60_000), partitions=partitions)
    assert answered(cut, answer, hidden).facts == ()
    empty = answered(cut, [log_dir(A, 0, 1), log_dir(B)], hidden)
    assert empty.facts == (ReplicasBack(61_000, 2, B, CutOffEnd.EMPTY),)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ([log_dir(A, 0, 1), log_dir(B, 2, 3)], CutOffEnd.READABLE),
        ([log_dir(A, 0, 1), log_dir(B)], CutOffEnd.EMPTY),
        ([log_dir(A, 0, 1), log_dir(B, 2)], CutOffEnd.EMPTY),
        ([log_dir(A, 0, 1), log_dir(B, futures=[2, 3])], CutOffEnd.EMPTY),
        ([log_dir(A, 0, 1, 3), log_dir(B, 2)], CutOffEnd.RECREATED),
    ],
)
def test_why_replicas_are_cut_off_no_more(
    well: KnownBroker, answer: list[LogDirAnswer], why: CutOffEnd
) -> None:
    cut = answered(well, [log_dir(A, 0, 1), OFFLINE], inputs()).known
    assert answered(cut, answer, inputs(4000)).facts == (ReplicasBack(4000, 2, B, why),)


@pytest.mark.parametrize(
    ("left", "why"), [((2,), CutOffEnd.READABLE), ((), CutOffEnd.NOT_HOSTED)], ids=str
)
def test_deleted_replicas_are_not_missing_in_a_directory_that_is_back(
    well: KnownBroker, left: tuple[int, ...], why: CutOffEnd
) -> None:
    cut = answered(well, [log_dir(A, 0, 1), OFFLINE], inputs(1000, partitions=LISTED)).known
    hosted = Hosted({("t", each): (2,) for each in (0, 1, *left)}, as_of_ms=60_000)
    found = answered(cut, [log_dir(A, 0, 1), log_dir(B, *left)], inputs(61_000, hosted=hosted))
    assert found.facts == (ReplicasBack(61_000, 2, B, why),)


def test_a_broker_that_is_down_shows_its_local_disks(well: KnownBroker) -> None:
    found = unanswered(well, "refused", inputs(local_dirs=GONE))
    assert isinstance(found.disks, DisksUnreachable)
    assert [each.readable for each in found.disks.log_dirs] == [True, False]
    assert [each.directory_id for each in found.disks.log_dirs] == [OURS.directory_id] * 2
    assert partitions_of(found.facts) == [[2, 3]]
    healed = unanswered(found.known, "refused", inputs(7000, local_dirs=HERE))
    assert healed.facts == (ReplicasBack(7000, 2, B, CutOffEnd.READABLE),)


@pytest.mark.parametrize(
    "instead",
    [
        OURS._replace(folders=frozenset()),
        OURS._replace(folders=frozenset({"t-2", "lost+found"})),
        OURS._replace(folders=frozenset({"t-2", "t-3.0123-delete"})),
        OURS._replace(directory_id="AgICAgICAgICAgICAgICAg"),
        OURS._replace(directory_id=None),
    ],
)
def test_a_disk_without_its_replicas_is_not_back(well: KnownBroker, instead: LocalDir) -> None:
    """Formatted, restored in part, or after an fsck: the broker would create replicas, empty."""
    cut = unanswered(well, "refused", inputs(local_dirs=GONE)).known
    for _ in range(2):
        found = unanswered(cut, "refused", inputs(local_dirs={A: OURS, B: instead}))
        assert found.facts == ()
        assert [each.readable for each in found.disks.log_dirs] == [True, False]
        cut = found.known
    back = unanswered(cut, "refused", inputs(7000, local_dirs=HERE))
    assert back.facts == (ReplicasBack(7000, 2, B, CutOffEnd.READABLE),)


@pytest.mark.parametrize(("folders", "is_cut_off"), [((), True), (("t-2", "t-3"), False)])
def test_another_disk_in_place_of_a_healthy_one_cuts_off_its_replicas(
    well: KnownBroker, folders: tuple[str, ...], *, is_cut_off: bool
) -> None:
    """KIP-858, "Storage format command": an empty disk gets an id of its own."""
    other = OURS._replace(directory_id="AgICAgICAgICAgICAgICAg", folders=frozenset(folders))
    found = unanswered(well, "refused", inputs(local_dirs={A: OURS, B: other}))
    assert partitions_of(found.facts) == ([[2, 3]] if is_cut_off else [])
    assert [each.readable for each in found.disks.log_dirs] == [True, not is_cut_off]
    moved = OURS._replace(folders=frozenset({"t-2"}))
    assert not unanswered(well, "refused", inputs(local_dirs={A: OURS, B: moved})).facts


def test_an_offline_disk_that_lost_its_replicas_is_not_readable(well: KnownBroker) -> None:
    cut = answered(well, [log_dir(A, 0, 1), OFFLINE], inputs(local_dirs=HERE)).known
    empty = {A: OURS, B: OURS._replace(folders=frozenset())}
    found = unanswered(cut, "refused", inputs(local_dirs=empty))
    assert found.facts == ()
    assert [each.readable for each in found.disks.log_dirs] == [True, False]


def test_a_broker_that_is_down_elsewhere_shows_nothing(well: KnownBroker) -> None:
    found = unanswered(well, "refused", inputs())
    assert found.disks == DisksUnreachable(1000, 2, "refused", ())
    assert found.facts == ()
    assert found.known == well


def test_readable_is_not_back_when_it_was_never_unreadable(well: KnownBroker) -> None:
    """A file system that turned read-only stays readable."""
    cut = answered(well, [log_dir(A, 0, 1), OFFLINE], inputs(local_dirs=HERE)).known
    assert unanswered(cut, "refused", inputs(local_dirs=HERE)).facts == ()


def test_readable_is_not_back_while_the_broker_says_that_it_is_offline(well: KnownBroker) -> None:
    answer = [log_dir(A, 0, 1), OFFLINE]
    cut = answered(well, answer, inputs(local_dirs=GONE)).known
    assert answered(cut, answer, inputs(local_dirs=HERE)).facts == ()


PATHS = st.dictionaries(
    st.sampled_from([A, B, "/c"]),
    st.tuples(st.sampled_from([0, 0, 0, 56, -1]), st.sets(st.integers(0, 3))),
)
EMPTY = OURS._replace(folders=frozenset({"t-0"}))
LOOKS = st.dictionaries(
    st.sampled_from([A, B, "/c"]), st.sampled_from([OURS, OURS, EMPTY, NOT_OURS, BAD_FILE])
)


def one_place_each(drawn: dict[str, tuple[int, set[int]]]) -> tuple[LogDirAnswer, ...]:
    """A broker has a current replica in one directory only, and reports none in a failed one."""
    told, taken = [], set[int]()
    for path, (error, partitions) in drawn.items():
        fresh = set() if error else partitions - taken
        taken |= fresh
        told.append(log_dir(path, *sorted(fresh), error=error))
    return tuple(told)


POLLS = st.lists(st.tuples(st.none() | PATHS.map(one_place_each), LOOKS), max_size=8)


def poll(
    known: KnownBroker,
    answer: tuple[LogDirAnswer, ...] | None,
    local_dirs: dict[str, LocalDir],
    now_ms: int,
) -> Compared:
    if answer is None:
        return unanswered(known, "refused", inputs(now_ms, local_dirs=local_dirs))
    return answered(known, answer, inputs(now_ms, local_dirs=local_dirs))


@given(POLLS)
def test_the_facts_always_say_what_is_cut_off(
    polls: list[tuple[tuple[LogDirAnswer, ...] | None, dict[str, LocalDir]]],
) -> None:
    known, told = NOTHING, dict[str, ReplicasCutOff]()
    for now_ms, (answer, local_dirs) in enumerate(polls):
        found = poll(known, answer, local_dirs, now_ms)
        for fact in found.facts:
            if isinstance(fact, ReplicasCutOff):
                assert fact.replicas
                told[fact.path] = fact
            else:
                assert isinstance(fact, ReplicasBack)
                del told[fact.path]
        known = found.known
        assert told == {path: cut.fact for path, cut in known.cut_off.items()}
        verified = {path for path, each in known.log_dirs.items() if each.local}
        assert {e.path for e in found.disks.log_dirs if e.readable is False} <= verified


@given(POLLS)
def test_the_same_poll_again_concludes_nothing_new(
    polls: list[tuple[tuple[LogDirAnswer, ...] | None, dict[str, LocalDir]]],
) -> None:
    known = NOTHING
    for answer, local_dirs in polls:
        known = poll(known, answer, local_dirs, 1).known
        again = poll(known, answer, local_dirs, 1)
        assert again.facts == ()
        assert again.known == known
        known = again.known

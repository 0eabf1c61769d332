"""What lies in a directory that was offline at the very first look."""

from hypothesis import given
from hypothesis import strategies as st

from migration.observed.facts import CutOffEnd, DiskFact, ReplicasBack, ReplicasCutOff, ReplicaSeen
from streams.kafka.broker_values import LogDirAnswer
from streams.log_dirs.compare import Compared, Hosted, Inputs, answered, unanswered
from streams.log_dirs.remembered import NOTHING, KnownBroker, KnownPartition
from tests.streams.log_dirs.world import A, B, inputs, log_dir

C = "/c"
HOSTED = frozenset(("t", each) for each in range(4))
OFFLINE_B, OFFLINE_C = log_dir(B, error=56), log_dir(C, error=56)
B_OR_C = f"{B} or {C}"


def knowing(now_ms: int = 1000, *, hosted: Hosted | None = None) -> Inputs:
    return inputs(now_ms, hosted=hosted)._replace(listed=HOSTED)


def look(known: KnownBroker, *answer: LogDirAnswer, now_ms: int = 1000) -> Compared:
    return answered(known, answer, knowing(now_ms))


def cut_off(facts: tuple[DiskFact, ...]) -> dict[str, list[int]]:
    cuts = [each for each in facts if isinstance(each, ReplicasCutOff)]
    return {each.path: [r.partition for r in each.replicas] for each in cuts}


def test_what_the_other_directories_do_not_show_lies_in_it() -> None:
    partitions = {("t", 2): KnownPartition(3, "id", 70)}
    seen = knowing()._replace(partitions=partitions)
    found = answered(NOTHING, [log_dir(A, 0, 1), OFFLINE_B], seen)
    lies = (ReplicaSeen("t", 2, 0, 70, 3), ReplicaSeen("t", 3, 0, None, 0))
    assert found.facts == (ReplicasCutOff(1000, 2, B, lies),)


def test_nothing_is_concluded_without_metadata() -> None:
    first = answered(NOTHING, [log_dir(A, 0), OFFLINE_B], inputs())
    assert first.facts == ()
    assert cut_off(look(first.known, log_dir(A, 0), OFFLINE_B).facts) == {B: [1, 2, 3]}


def test_nothing_is_concluded_while_another_directory_could_not_be_told_of() -> None:
    assert look(NOTHING, log_dir(A, 0), OFFLINE_B, log_dir(C, error=-1)).facts == ()


def test_nothing_lies_there_when_all_is_elsewhere() -> None:
    found = look(NOTHING, log_dir(A, 0, 1, 2, 3), OFFLINE_B)
    assert found.facts == ()
    assert not found.known.cut_off


def test_a_future_replica_elsewhere_does_not_show_the_current_one() -> None:
    """KIP-113, "Complete replica data movement": a replica has two logs until the last step."""
    assert cut_off(look(NOTHING, log_dir(A, 0, 1, 2, futures=[3]), OFFLINE_B).facts) == {B: [3]}


def test_a_replica_that_is_new_is_not_concluded_to_lie_there() -> None:
    known = {("t", each): (2,) for each in range(3)} | {("t", 2): (1,)}
    hosted = Hosted(known, as_of_ms=500)
    found = answered(NOTHING, [log_dir(A, 0), OFFLINE_B], knowing(hosted=hosted))
    assert cut_off(found.facts) == {B: [1]}


def test_a_directory_that_was_seen_well_keeps_what_was_seen() -> None:
    before = look(NOTHING, log_dir(A, 0), log_dir(B, 1)).known
    assert cut_off(look(before, log_dir(A, 0), OFFLINE_B).facts) == {B: [1]}


def test_what_is_cut_off_in_another_directory_is_not_told_twice() -> None:
    before = look(NOTHING, log_dir(A, 0), log_dir(B, 1)).known
    found = look(before, log_dir(A, 0), OFFLINE_B, OFFLINE_C)
    assert cut_off(found.facts) == {B: [1], C: [2, 3]}


def test_it_is_back_when_the_directory_answers_well() -> None:
    cut = look(NOTHING, log_dir(A, 0, 1), OFFLINE_B).known
    assert unanswered(cut, "refused", inputs()).facts == ()
    found = look(cut, log_dir(A, 0, 1), log_dir(B, 2), now_ms=4000)
    assert found.facts == (ReplicasBack(4000, 2, B, CutOffEnd.READABLE),)


def test_replicas_seen_elsewhere_are_cut_off_no_more() -> None:
    cut = look(NOTHING, log_dir(A, 0, 1), OFFLINE_B).known
    assert cut_off(look(cut, log_dir(A, 0, 1, 2), OFFLINE_B).facts) == {B: [3]}


def test_of_several_directories_it_is_not_said_which_one() -> None:
    first = look(NOTHING, log_dir(A, 0), OFFLINE_B, OFFLINE_C)
    assert cut_off(first.facts) == {B_OR_C: [1, 2, 3]}
    assert look(first.known, log_dir(A, 0), OFFLINE_C, OFFLINE_B).facts == ()


def test_one_of_several_mended_leaves_the_rest_to_the_other() -> None:
    first = look(NOTHING, log_dir(A, 0), OFFLINE_B, OFFLINE_C).known
    found = look(first, log_dir(A, 0), log_dir(B, 1), OFFLINE_C, now_ms=4000)
    assert found.facts[0] == ReplicasBack(4000, 2, B_OR_C, CutOffEnd.READABLE)
    assert cut_off(found.facts) == {C: [2, 3]}
    both = look(found.known, log_dir(A, 0), log_dir(B, 1), log_dir(C, 2), now_ms=5000)
    assert both.facts == (ReplicasBack(5000, 2, C, CutOffEnd.READABLE),)


def test_all_of_several_mended_leaves_nothing() -> None:
    first = look(NOTHING, log_dir(A, 0), OFFLINE_B, OFFLINE_C).known
    found = look(first, log_dir(A, 0), log_dir(B, 1), log_dir(C, 2), now_ms=4000)
    assert found.facts == (ReplicasBack(4000, 2, B_OR_C, CutOffEnd.READABLE),)
    assert not found.known.cut_off


ERRORS = st.sampled_from([0, 56])
LYING = st.dictionaries(st.integers(0, 3), st.sampled_from([A, B, C]))
POLLS = st.lists(st.tuples(LYING, st.fixed_dictionaries(dict.fromkeys([A, B, C], ERRORS))))


def told_by(lying: dict[int, str], errors: dict[str, int]) -> list[LogDirAnswer]:
    return [
        log_dir(path, *sorted(p for p in lying if lying[p] == path and not error), error=error)
        for path, error in errors.items()
    ]


@given(POLLS)
def test_what_is_told_is_missing_once_and_where_something_is_offline(
    polls: list[tuple[dict[int, str], dict[str, int]]],
) -> None:
    known, told = NOTHING, dict[str, ReplicasCutOff]()
    for now_ms, (lying, errors) in enumerate(polls, 1):
        answer = told_by(lying, errors)
        found = look(known, *answer, now_ms=now_ms)
        for fact in found.facts:
            if isinstance(fact, ReplicasCutOff):
                told[fact.path] = fact
            else:
                assert isinstance(fact, ReplicasBack)
                del told[fact.path]
        known = found.known
        assert told == {path: cut.fact for path, cut in known.cut_off.items()}
        missing = [r.partition for cut in told.values() for r in cut.replicas]
        assert len(missing) == len(set(missing))
        here = {r.partition for each in answer for r in each.replicas}
        assert not here & set(missing)
        if now_ms == 1 and 56 in errors.values():
            assert here | set(missing) == {0, 1, 2, 3}
        # A place that was emptied by this look may be concluded about afresh by the next one.
        settled = look(known, *answer, now_ms=now_ms).known
        again = look(settled, *answer, now_ms=now_ms)
        assert again.facts == ()
        assert again.known == settled

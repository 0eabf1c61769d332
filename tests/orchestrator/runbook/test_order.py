"""The order of brokers: rack by rack, the controller last, completed brokers first."""

from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.runbook.instance_order import Leaders, Member, in_order
from orchestrator.runbook.model import OrderRule

RULES: tuple[OrderRule, ...] = ("rack", "zookeeper_controller_last")
CONTROLLERS: tuple[OrderRule, ...] = ("active_controller_last",)


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[Member], Leaders, frozenset[int]]:
    ids = draw(st.lists(st.integers(0, 30), unique=True, max_size=9))
    racks = st.sampled_from(["", "a", "b", "c"])
    members = [Member(id=id_, host=f"k{id_}", rack=draw(racks)) for id_ in ids]
    leader = draw(st.none() | st.sampled_from([*ids, 99]))
    done = draw(st.frozensets(st.sampled_from(ids))) if ids else frozenset[int]()
    return members, Leaders(zookeeper_controller=leader, active_controller=leader), done


def ids_of(*members: Member) -> list[int]:
    return [member.id for member in members]


@given(clusters())
def test_everybody_has_one_turn_and_who_is_done_comes_first(
    cluster: tuple[list[Member], Leaders, frozenset[int]],
) -> None:
    members, leaders, done = cluster
    found = in_order(members, RULES, leaders, done)
    assert sorted(ids_of(*found)) == sorted(ids_of(*members))
    assert ids_of(*found[: len(done)]) == sorted(done)


@given(clusters())
def test_who_leads_is_the_last_that_is_left(
    cluster: tuple[list[Member], Leaders, frozenset[int]],
) -> None:
    members, leaders, done = cluster
    for rules in (RULES, CONTROLLERS, RULES[1:]):
        left = in_order(members, rules, leaders, done)[len(done) :]
        leader = leaders.zookeeper_controller
        if leader in ids_of(*left):
            assert left[-1].id == leader


@given(clusters())
def test_racks_come_one_after_the_other_and_ids_rise_in_each(
    cluster: tuple[list[Member], Leaders, frozenset[int]],
) -> None:
    members, leaders, done = cluster
    left = [
        member
        for member in in_order(members, RULES, leaders, done)[len(done) :]
        if member.id != leaders.zookeeper_controller
    ]
    turns = [(rack, ids_of(*group)) for rack, group in groupby(left, lambda one: one.rack)]
    assert len({rack for rack, _ in turns}) == len(turns)
    assert all(ids == sorted(ids) for _, ids in turns)


@given(clusters())
def test_a_turn_that_is_taken_does_not_change_the_order_of_the_others(
    cluster: tuple[list[Member], Leaders, frozenset[int]],
) -> None:
    members, leaders, done = cluster
    left = in_order(members, RULES, leaders, done)[len(done) :]
    for taken in range(1, len(left) + 1):
        now_done = done | set(ids_of(*left[:taken]))
        assert in_order(members, RULES, leaders, now_done)[len(now_done) :] == left[taken:]


@given(clusters())
def test_it_does_not_matter_in_which_order_they_are_told(
    cluster: tuple[list[Member], Leaders, frozenset[int]],
) -> None:
    members, leaders, done = cluster
    other = sorted(members, key=lambda member: -member.id)
    assert in_order(other, RULES, leaders, done) == in_order(members, RULES, leaders, done)


A = [Member(id=id_, rack="a") for id_ in (1, 4)]
B = [Member(id=id_, rack="b") for id_ in (2, 5)]


def test_the_rack_of_the_controller_comes_last() -> None:
    found = in_order([*A, *B], RULES, Leaders(zookeeper_controller=1))
    assert ids_of(*found) == [2, 5, 4, 1]


def test_a_rack_that_was_begun_is_ended_first() -> None:
    found = in_order([*A, *B], RULES, Leaders(), done={2})
    assert ids_of(*found) == [2, 5, 1, 4]


def test_a_controller_that_moves_is_last_again() -> None:
    found = in_order([*A, *B], RULES, Leaders(zookeeper_controller=4), done={2, 5, 1})
    assert ids_of(*found) == [1, 2, 5, 4]
    moved = in_order([*A, *B], RULES, Leaders(zookeeper_controller=5), done={2})
    assert ids_of(*moved) == [2, 1, 4, 5]


def test_without_rules_it_goes_by_id() -> None:
    assert ids_of(*in_order([*B, *A], (), Leaders(zookeeper_controller=1))) == [1, 2, 4, 5]

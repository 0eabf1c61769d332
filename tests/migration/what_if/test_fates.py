"""The fate of one partition, rule by rule."""

from dataclasses import replace
from typing import Any

import pytest

from migration.image.summary import Mode
from migration.metadata.replica_state import ReplicaState
from migration.observed.probed import Partition, TopicPartition, Unknown
from migration.what_if import (
    Basis,
    Fate,
    if_broker_fails,
    if_directory_fails,
    metadata_dir,
    mode_of,
)
from tests.migration.what_if.situations import (
    D0,
    D1,
    ID0,
    ID1,
    META,
    WHY,
    T,
    assigned,
    broker,
    part,
    pending,
    situation,
)

AWAY = frozenset({1, 3})
"""Broker 2 is down."""
SILENT = {2: broker(2, unknown=WHY)}
BROKEN = {2: broker(2, bad=[D0])}
IN_ZOOKEEPER = {"mode": Mode.ZOOKEEPER}
NO_ELECTION = {"no_election": WHY.why}
LAST = {1: broker(1, d0=[T], bad=[D1])}


@pytest.mark.parametrize(
    ("one", "given", "fate", "leader"),
    [
        (part((1,)), {}, Fate.LOST, None),
        (part((1, 2), isr=(1,)), {}, Fate.UNAVAILABLE, None),
        (part((1, 2)), {"alive": AWAY}, Fate.UNAVAILABLE, None),
        (part((1, 2), leader=None), {}, Fate.UNAVAILABLE, None),
        (part((1, 2)), {"brokers": BROKEN}, Fate.UNAVAILABLE, None),
        (part((1, 2, 3)), {"brokers": BROKEN}, Fate.UNAVAILABLE, 2),
        (part((1, 3, 2)), {"brokers": BROKEN}, Fate.LEADER_MOVES, 3),
        (part((1, 2)), {"brokers": SILENT}, Fate.UNKNOWN, None),
        (part((1, 2, 3)), {"brokers": SILENT}, Fate.LEADER_MOVES, None),
        (part((1, 2, 3)), {"brokers": SILENT, "min_isr": 2}, Fate.UNKNOWN, None),
        (part((1, 2)), {"min_isr": 2}, Fate.UNDER_MIN_ISR, 2),
        (part((1, 2)), {"min_isr": 1}, Fate.LEADER_MOVES, 2),
        (part((1, 2)), {"min_isr": WHY}, Fate.UNKNOWN, 2),
        (part((1, 2), isr=(1,)), {"min_isr": WHY}, Fate.UNAVAILABLE, None),
        (part((1, 2, 3)), {"min_isr": 2}, Fate.LEADER_MOVES, 2),
        (part((1, 3, 2), isr=(1, 2)), {"min_isr": 2}, Fate.UNDER_MIN_ISR, 2),
        (part((2, 1, 3), leader=2), {"min_isr": 2}, Fate.UNDER_REPLICATED, 2),
        (part((2, 1), leader=2), {"min_isr": 9}, Fate.UNDER_MIN_ISR, 2),
        (part((3, 2, 1), leader=2), {}, Fate.UNDER_REPLICATED, 2),
        (part((1, 2)), NO_ELECTION, Fate.UNKNOWN, None),
        (part((1, 2)), NO_ELECTION | {"min_isr": 2}, Fate.UNKNOWN, None),
        (part((2, 1), leader=2), NO_ELECTION, Fate.UNKNOWN, None),
        (part((2, 1), isr=(2,), leader=2), NO_ELECTION, Fate.UNDER_REPLICATED, 2),
        (part((1, 2), isr=(1,)), NO_ELECTION, Fate.UNAVAILABLE, None),
    ],
)
def test_the_broker_fails(
    one: Partition, given: dict[str, Any], fate: Fate, leader: int | None
) -> None:
    for mode in (*Mode, None):
        (line,) = if_broker_fails(situation(one, mode=mode, **given)).lines
        assert (line.fate, line.leader_after) == (fate, leader), line.why
        assert line.basis is Basis.CLUSTER


@pytest.mark.parametrize(
    ("one", "unclean", "follows"),
    [
        (part((1, 2), isr=(1,)), {T.topic}, True),
        (part((1, 2), isr=(1,)), {"other"}, False),
        (part((1, 3), isr=(1,)), {T.topic}, False),
    ],
)
def test_the_topics_setting_shows_whether_an_unclean_election_follows(
    one: Partition, unclean: set[str], *, follows: bool
) -> None:
    """If another replica is alive; 3 is not."""
    now = situation(one, alive=frozenset({1, 2}), unclean=frozenset(unclean))
    (line,) = if_broker_fails(now).lines
    assert line.fate is Fate.UNAVAILABLE
    assert ("unclean.leader.election.enable=true: Kafka elects" in line.why) is follows


@pytest.mark.parametrize(
    ("one", "assignments", "fate", "basis"),
    [
        (part((1, 2)), {T: assigned()}, Fate.LEADER_MOVES, Basis.BOTH),
        (part((1,)), {T: assigned()}, Fate.LOST, Basis.BOTH),
        (part((1, 2)), {T: pending()}, Fate.LEADER_NOT_MOVED, Basis.DISKS),
        (part((1, 2)), {T: pending(ReplicaState.UNASSIGNED)}, Fate.LEADER_NOT_MOVED, Basis.DISKS),
        (part((1, 2)), {T: assigned(ID1)}, Fate.LEADER_NOT_MOVED, Basis.DISKS),
        (part((1, 2)), {}, Fate.UNKNOWN, Basis.DISKS),
        (part((1, 2)), WHY, Fate.UNKNOWN, Basis.DISKS),
        (part((2, 1), leader=2), {T: pending()}, Fate.UNDER_REPLICATED, Basis.DISKS),
        (part((2, 1), leader=2), WHY, Fate.UNDER_REPLICATED, Basis.DISKS),
        (part((1, 2), isr=(1,)), {T: pending()}, Fate.UNAVAILABLE, Basis.DISKS),
        (part((1, 2), isr=(1,)), WHY, Fate.UNAVAILABLE, Basis.DISKS),
        (part((1,)), {T: pending()}, Fate.LOST, Basis.DISKS),
        (part((1,)), WHY, Fate.LOST, Basis.DISKS),
    ],
)
def test_a_directory_fails_in_kraft_mode(
    one: Partition, assignments: Any, fate: Fate, basis: Basis
) -> None:
    """KIP-858, "Handling log directory failures": leaders of assigned replicas move."""
    prediction = if_directory_fails(situation(one, assignments=assignments), D0)
    assert [(each.fate, each.basis) for each in prediction.lines] == [(fate, basis)]
    assert prediction.halts is False


def test_a_leader_that_is_not_moved_stays_with_its_isr_and_the_way_out_is_said() -> None:
    """KIP-589, "Failure Modes": a leader that is not reported stays until the broker restarts."""
    prediction = if_directory_fails(situation(part((1, 2)), assignments={T: pending()}), D0)
    (line,) = prediction.lines
    assert (line.leader_after, line.isr_after) == (1, (1, 2))
    assert "the metadata log says migrating" in line.why
    assert "until it is stopped" in prediction.notes[0]


def test_without_the_metadata_log_leader_not_moved_is_said_not_to_be_excluded() -> None:
    prediction = if_directory_fails(situation(part((1, 2)), assignments=WHY), D0)
    assert "leader_not_moved at worst, leader_moves at best" in prediction.lines[0].why
    assert any("leader_not_moved cannot be excluded" in each for each in prediction.notes)
    assert prediction.is_serious


@pytest.mark.parametrize(
    ("one", "fate"),
    [(part((1, 2)), Fate.LEADER_MOVES), (part((1,)), Fate.UNAVAILABLE)],
)
def test_what_only_the_metadata_log_places_there_is_taken_off_too(
    one: Partition, fate: Fate
) -> None:
    now = situation(one, assignments={T: assigned(ID1)}, metadata_dir="/elsewhere")
    (line,) = if_directory_fails(now, D1).lines
    assert (line.fate, line.path, line.basis) == (fate, D0, Basis.METADATA_LOG)
    assert "its log is in /d0" in line.why


@pytest.mark.parametrize(("path", "fate"), [(D0, Fate.LOST), (D1, None)])
def test_in_zookeeper_mode_only_what_lies_there_is_concerned(path: str, fate: Fate | None) -> None:
    """KIP-113, "Test Plan": a bad log directory does not affect the good ones."""
    prediction = if_directory_fails(
        situation(part((1,)), mode=Mode.ZOOKEEPER, assignments=WHY), path
    )
    assert [each.fate for each in prediction.lines] == ([] if fate is None else [fate])
    assert prediction.halts is False
    (note,) = prediction.notes
    assert note.startswith(f"if {path} fails, restore its disk, and do not restart broker 1 before")


@pytest.mark.parametrize("assignments", [WHY, {T: pending()}])
def test_in_zookeeper_mode_leaders_move(assignments: Any) -> None:
    """KIP-589, "Motivation": the controller is notified, and elects leaders."""
    now = situation(part((1, 2)), mode=Mode.ZOOKEEPER, assignments=assignments)
    assert [each.fate for each in if_directory_fails(now, D0).lines] == [Fate.LEADER_MOVES]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"mode": Mode.MIGRATING}, "in migration mode any directory's failure halts the broker"),
        ({"metadata_dir": D0}, "its metadata log is in this directory"),
        ({"brokers": LAST}, "this is its last directory"),
        (
            {"brokers": {1: broker(1, d0=[T], bad=[D1])}} | IN_ZOOKEEPER,
            "this is its last directory",
        ),
    ],
)
def test_the_broker_halts_and_takes_all_its_replicas_along(given: dict[str, Any], why: str) -> None:
    """KIP-858, "Migrating a cluster in ZK mode ...": it shuts down if any directory fails."""
    prediction = if_directory_fails(
        situation(part((1, 2)), assignments={T: pending()}, **given), D0
    )
    assert prediction.halts is True
    assert prediction.notes[0] == f"broker 1 would halt, and all its replicas with it: {why}"
    assert [each.fate for each in prediction.lines] == [Fate.LEADER_MOVES], "the fence moves it"


def test_a_halt_leaves_the_other_directories_logs_intact() -> None:
    """KIP-858, "Migrating a cluster in ZK mode ...": the broker shuts down."""
    other = TopicPartition("t", 1)
    disks = broker(1, d0=[T], d1=[other])
    now = situation(part((1,)), part((1,), at=other), mode=Mode.MIGRATING, brokers={1: disks})
    prediction = {each.at: each.fate for each in if_directory_fails(now, D0).lines}
    assert prediction == {T: Fate.LOST, other: Fate.UNAVAILABLE}
    assert {each.fate for each in if_broker_fails(now).lines} == {Fate.LOST}


def test_at_a_halt_what_lies_in_no_directory_is_not_taken_for_intact_and_the_unlisted_is_told() -> (
    None
):
    hidden = TopicPartition("hidden", 0)
    now = situation(part((1,)), mode=Mode.MIGRATING, brokers={1: broker(1, d1=[hidden])})
    prediction = {each.at: each.fate for each in if_directory_fails(now, D0).lines}
    assert prediction == {T: Fate.LOST, hidden: Fate.UNKNOWN}


@pytest.mark.parametrize("unknown", [{"mode": None}, {"metadata_dir": WHY}])
def test_where_it_may_halt_what_then_differs_is_unknown(unknown: dict[str, Any]) -> None:
    """KIP-858, "Motivation": a node cannot run without its metadata log directory."""
    lies, elsewhere = part((1, 2)), part((1,), at=TopicPartition("t", 1))
    disks = broker(1, d0=[T], d1=[elsewhere.at], meta=META)
    prediction = if_directory_fails(
        situation(
            lies,
            elsewhere,
            brokers={1: disks},
            assignments={T: assigned(), elsewhere.at: assigned(ID1)},
            **unknown,
        ),
        D0,
    )
    assert prediction.halts is None
    assert {each.at: each.fate for each in prediction.lines} == {
        T: Fate.LEADER_MOVES,
        elsewhere.at: Fate.UNKNOWN,
    }
    assert prediction.lines[0].why.startswith("unavailable at worst, not concerned at best: ")


@pytest.mark.parametrize(
    ("bad", "sole", "why"),
    [
        ([D0], Fate.LOST, "the only replica"),
        ([D0, D1], Fate.UNKNOWN, "lost at worst, not concerned at best: "),
    ],
)
def test_what_only_a_directory_has_that_is_offline_already_comes_first(
    bad: list[str], sole: Fate, why: str
) -> None:
    """KIP-858, "Handling log directory failures". What no other directory has is in this one."""
    parts = [part((1, 2), (2,), 2), part((1,), leader=None, at=TopicPartition("z", 0))]
    now = situation(*parts, brokers={1: broker(1, bad=bad)})
    prediction = if_directory_fails(now, D0)
    assert [each.fate for each in prediction.lines] == [sole, Fate.UNDER_REPLICATED]
    assert prediction.lines[0].why.startswith(why)
    assert "/d0 is already offline" in prediction.notes[0]


def test_a_leader_in_a_directory_that_is_offline_already_has_not_moved() -> None:
    now = situation(part((1, 2)), brokers={1: broker(1, bad=[D0])})
    assert [each.fate for each in if_directory_fails(now, D0).lines] == [Fate.LEADER_NOT_MOVED]


def test_a_log_that_no_broker_lists_is_unknown_and_a_stray_is_only_noted() -> None:
    hidden, stray = TopicPartition("hidden", 0), TopicPartition("moved", 0)
    now = situation(
        part((2, 3), leader=2, at=stray), brokers={1: broker(1, d0=[hidden, stray], meta=META)}
    )
    for prediction in (if_directory_fails(now, D0), if_broker_fails(now)):
        assert [(each.at, each.fate) for each in prediction.lines] == [(hidden, Fate.UNKNOWN)]
        assert any("moved-0" in each and "stray" in each for each in prediction.notes)


@pytest.mark.parametrize(
    ("ids", "identity"),
    [
        ([ID0, ID0, ID1], (ID0, "replicas")),
        ([ID0, ID1], None),
        ([], None),
    ],
)
def test_a_path_is_known_by_the_majority_of_its_replicas(
    ids: list[str], identity: tuple[str, str] | None
) -> None:
    """KIP-858, "Future work": no request has the id of a path."""
    parts = [part((1, 2), at=TopicPartition("t", number)) for number in range(len(ids))]
    now = situation(
        *parts,
        brokers={1: broker(1, d0=[each.at for each in parts])},
        assignments={each.at: assigned(id_) for each, id_ in zip(parts, ids, strict=True)},
    )
    found = now.identities.get(D0)
    assert (found and (found.directory, found.by)) == identity


def test_two_paths_that_claim_one_id_have_none() -> None:
    other = TopicPartition("t", 1)
    now = situation(
        part((1, 2)), part((1, 2), at=other), brokers={1: broker(1, d0=[T], d1=[other])}
    )
    assert not now.identities
    assert {each.fate for each in if_directory_fails(now, D0).lines} == {Fate.UNKNOWN}


def test_meta_properties_decide_which_of_two_paths_has_an_id() -> None:
    other = TopicPartition("t", 1)
    one = broker(1, d0=[T], d1=[other], meta=META[:1])
    now = situation(part((1, 2)), part((1, 2), at=other), brokers={1: one})
    assert [(path, each.directory) for path, each in now.identities.items()] == [(D0, ID0)]


def test_a_directory_that_the_broker_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="describes no log directory /d9"):
        if_directory_fails(situation(part((1,))), "/d9")


@pytest.mark.parametrize(
    ("settings", "mode"),
    [
        ({"process.roles": "broker", "zookeeper.connect": "zk"}, Mode.KRAFT),
        ({"zookeeper.metadata.migration.enable": "true", "process.roles": ""}, Mode.MIGRATING),
        ({"zookeeper.metadata.migration.enable": "false"}, Mode.ZOOKEEPER),
        ({}, Mode.ZOOKEEPER),
    ],
)
def test_the_mode_is_read_from_the_settings(settings: dict[str, str], mode: Mode) -> None:
    assert mode_of(settings) is mode


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        ({"metadata.log.dir": "/m", "log.dirs": "/d0,/d1"}, "/m"),
        ({"metadata.log.dir": "", "log.dirs": "/d0//x/, /d1"}, "/d0/x"),
        ({"log.dirs": "", "log.dir": "/var/logs"}, "/var/logs"),
        ({"log.dirs": "data"}, None),
        ({}, None),
    ],
)
def test_the_metadata_log_is_in_its_own_or_the_first_directory(
    settings: dict[str, str], path: str | None
) -> None:
    """KIP-858, "Motivation": a node cannot run without its metadata log directory."""
    found = metadata_dir(settings)
    assert found == path if path else isinstance(found, Unknown)


def test_a_note_names_the_broker_whose_directories_are_unknown() -> None:
    prediction = if_broker_fails(situation(part((1, 2)), brokers=SILENT))
    assert prediction.lines[0].why.endswith("at best: the directories of broker 2 are unknown")
    (note,) = prediction.notes
    assert note == f"the directories of broker 2 are unknown, so it is not counted on: {WHY.why}"


HIDDEN = broker(3, d0=[TopicPartition("hidden", 0)])


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"brokers": {1: broker(1, unknown=WHY)}}, WHY.why),
        ({"brokers": {1: broker(1, unknown=WHY), 2: HIDDEN}}, WHY.why),
        ({"alive": AWAY - {1}, "brokers": {1: broker(1, unknown=WHY), 3: HIDDEN}}, "hidden-0"),
        (
            {
                "alive": frozenset({2, 3}),
                "brokers": {each: broker(each, unknown=WHY) for each in (1, 2, 3)},
            },
            WHY.why,
        ),
        ({"alive": frozenset({2, 3}), "brokers": {1: broker(1, unknown=WHY)}}, None),
        ({}, None),
    ],
)
def test_partitions_that_no_disk_shows_to_be_all_are_a_danger(
    given: dict[str, Any], why: str | None
) -> None:
    """Brokers omit topics that the principal may not describe, without an error."""
    prediction = if_broker_fails(situation(part((1, 2, 3), isr=(2, 3), leader=2), **given))
    assert prediction.is_serious is (why is not None)
    notes = [each for each in prediction.notes if each.startswith("partitions may be hidden")]
    assert [each.endswith(str(why)) for each in notes] == [True] * prediction.is_serious


def test_a_note_says_why_no_controller_is_known_to_elect_leaders() -> None:
    now = situation(part((1, 2)), **NO_ELECTION)
    for prediction in (if_broker_fails(now), if_directory_fails(now, D0)):
        assert f"no controller is known to elect leaders: {WHY.why}" in prediction.notes


def test_a_broker_that_is_down_is_told_from_what_the_others_say() -> None:
    now = situation(part((1, 2), isr=(2,), leader=2), alive=frozenset({2, 3}), mode=None)
    prediction = if_broker_fails(now)
    assert [each.fate for each in prediction.lines] == [Fate.UNDER_REPLICATED]
    assert "is not alive" in prediction.notes[0]


def test_log_dirs_that_are_not_told_leave_the_known_partitions_fate_known() -> None:
    whole = situation(part((1, 2)))
    now = replace(whole, brokers={2: whole.brokers[2]}, mode=None)
    prediction = if_broker_fails(now)
    assert [(each.fate, each.path) for each in prediction.lines] == [(Fate.LEADER_MOVES, None)]

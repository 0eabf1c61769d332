"""Hazards, alerts, their pages, the next action and what-if give one advice about one situation.

The sentence is made once, in the code: the first sentence of the hazard's way out. The table is
`tests.scenes.every_hazard`: one cluster for each hazard and for each of its ways out.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import pytest

from migration.assessment.alerts import Alert, alerts
from migration.assessment.conditions import Verdict, View, parse
from migration.assessment.failed_directories import Channel, failed_directories
from migration.assessment.hazards import Action, Hazard, HazardKind, due, hazards
from migration.assessment.next_action import NextAction, next_action
from migration.image.summary import ClusterSummary, Mode, Phase
from migration.metadata.replica_state import ReplicaState
from migration.observed.probed import TopicPartition
from migration.what_if import if_directory_fails
from orchestrator.output.manual import topics
from orchestrator.runbook.load import load, shipped
from tests.migration.assessment.conditions.views import view
from tests.migration.assessment.hazards.test_hazards import NOW, broker, cluster, counts
from tests.migration.what_if.situations import assigned, part, pending, situation
from tests.scenes.every_hazard import BAD, BROKER, CURRENT, HAZARDS

NO_RESTART: Final = re.compile(
    r"(do not|never|before you) (start or )?(restart|start)( (the|no|a|any))? broker"
    r"|leave the broker alone|restart no broker|must not be restarted|with the broker stopped",
    re.IGNORECASE,
)
"""Words with which a text forbids the restart of a broker."""
PAGES_WITHOUT_ALERT: Final[Mapping[str, str]] = {
    "metadata_version": "KraftgateBrokersNotRegistered",
}
"""A page that gives the advice of a hazard that raises no alert of its own, by the case."""
CASES: Final = sorted(HAZARDS)


def kind_of(case: str) -> HazardKind:
    return HazardKind(case.partition(" ")[0])


def found_in(summary: ClusterSummary) -> tuple[Hazard, ...]:
    return due(hazards(summary, NOW, CURRENT))


def the_hazard(case: str) -> Hazard:
    (one,) = (each for each in found_in(HAZARDS[case]) if each.kind is kind_of(case))
    return one


def seen(summary: ClusterSummary) -> View:
    known = replace(summary, metadata_offset=9, leader_epoch=1, active_controller=3000)
    given = replace(view(), summary=known, now_ms=NOW)
    return replace(given, hazards=hazards(known, NOW, CURRENT))


def forbids_restart(summary: ClusterSummary) -> bool:
    """Whether `kraftgate hazards --before restart --broker 3` exits with 5."""
    return any(
        each.forbids(Action.RESTART) for each in found_in(summary) if each.broker in (None, BROKER)
    )


def raised(case: str) -> Sequence[Alert]:
    """The alerts that are about the hazard of the case."""
    hazard = the_hazard(case)
    return [
        each
        for each in alerts(seen(HAZARDS[case]))
        if each.labels.get("hazard") == hazard.kind
        or (each.name == "KraftgateLogDirOffline" and hazard.text in each.details)
        or (each.name == "KraftgateBrokerUnfencedEarly" and hazard.kind == "unfenced_early")
    ]


def words(text: str) -> str:
    """The text without its line ends and code marks, to compare sentences."""
    return " ".join(text.replace("`", "").replace("**", "").split())


def page_text(name: str) -> str:
    return words(topics()[name].read_text("utf-8"))


def test_every_hazard_is_in_the_table() -> None:
    assert {kind_of(case) for case in CASES} == set(HazardKind)


@pytest.mark.parametrize("case", CASES)
def test_the_page_of_the_alert_gives_the_advice_of_the_hazard(case: str) -> None:
    hazard = the_hazard(case)
    names = {each.name for each in raised(case)}
    if case in PAGES_WITHOUT_ALERT:
        names.add(PAGES_WITHOUT_ALERT[case])
    for name in names:
        text = page_text(name)
        if hazard.kind is HazardKind.BROKER_SHUTS_DOWN:  # its first sentence names the time
            assert "restore the connection of the broker to the active controller by then" in text
        else:
            assert words(hazard.action) in text, f"{name} does not say: {hazard.action}"


@pytest.mark.parametrize("case", [each for each in CASES if each.endswith(" controller")])
def test_no_way_out_causes_an_election_that_would_end_the_migration(case: str) -> None:
    without = found_in(replace(HAZARDS[case], controllers=()))
    (way_out,) = (each.way_out for each in without if each.kind is kind_of(case))
    assert the_hazard(case).way_out == (
        "First restart controller 3000 with the migration enabled: the next election may finalize"
        f" the migration. {way_out}"
    )


def test_a_controller_that_ends_the_migration_is_no_danger_of_a_broker() -> None:
    (alert,) = raised("controller_ends_migration")
    assert alert.description.startswith("Stop or restart no controller of ")
    assert "lose data" not in alert.description


@pytest.mark.parametrize("case", CASES)
def test_the_alert_has_the_whole_way_out(case: str) -> None:
    hazard = the_hazard(case)
    for alert in raised(case):
        told = " ".join((alert.description, *alert.details))
        if alert.labels.get("hazard") is not None:
            assert hazard.way_out in told
        says_no = alert.description.startswith("Do not")
        assert not says_no or forbids_restart(HAZARDS[case])


@pytest.mark.parametrize("case", CASES)
def test_who_says_not_to_restart_agrees_with_the_exit_code(case: str) -> None:
    summary = HAZARDS[case]
    said = [each.way_out for each in found_in(summary)]
    now = next_action(seen(summary), None, (), None)
    said += [f"{now.text}. {now.why}"]
    said += [each.description for each in alerts(seen(summary))]
    says_no = [each for each in said if NO_RESTART.search(each)]
    assert bool(says_no) is forbids_restart(summary), says_no
    gate = parse(f"no_hazard(restart, {BROKER})").judge(seen(summary))
    if forbids_restart(summary):
        assert gate.verdict is not Verdict.SATISFIED
    else:
        assert gate.verdict in (Verdict.SATISFIED, Verdict.UNKNOWN)


@pytest.mark.parametrize("case", CASES)
def test_the_next_action_is_the_advice_of_a_hazard_or_of_the_directory(case: str) -> None:
    summary = HAZARDS[case]
    found = found_in(summary)
    now: NextAction = next_action(seen(summary), None, (), None)
    if now.topic == "hazards":
        assert (now.text, now.why) in {(each.action, each.text) for each in found}
    elif now.topic == "KraftgateLogDirOffline":
        restart = now.why[:1].upper() + now.why[1:]
        for each in found:
            if each.kind in (HazardKind.RESTART_LOSES_REPLICAS, HazardKind.ONE_DIRECTORY_LEFT):
                assert each.way_out.startswith(f"{now.text}. ")
                assert each.kind is HazardKind.RESTART_LOSES_REPLICAS or restart in each.way_out


def test_no_page_forbids_a_restart_that_no_hazard_forbids() -> None:
    """A page says "do not restart" about a hazard that does, or names the command that decides."""
    allowed = {
        each.name for case in CASES if forbids_restart(HAZARDS[case]) for each in raised(case)
    }
    for name, path in topics().items():
        if not name.startswith("Kraftgate") or name in allowed:
            continue
        for sentence in re.split(r"(?<=[.:]) (?=[A-Z*])", words(path.read_text("utf-8"))):
            if NO_RESTART.search(sentence):
                assert "kraftgate hazards" in sentence or "controller" in sentence, sentence


@pytest.mark.parametrize("name", shipped())
def test_the_page_of_a_violated_checkpoint_names_each_that_a_runbook_says_to_skip(
    name: str,
) -> None:
    book = load(name).runbook
    checkpoints = [*book.checkpoints, *(one for path in book.rollbacks for one in path.checkpoints)]
    page = page_text("KraftgateCheckpointViolated")
    for each in checkpoints:
        if "skip this checkpoint" in words(each.explain or "").lower():
            assert f"the checkpoint {each.id}" in page


MODES: Final = (Mode.ZOOKEEPER, Mode.MIGRATING, Mode.KRAFT)
STATES: Final[Mapping[str, tuple[ReplicaState, ...]]] = {
    "assigned": (ReplicaState.ASSIGNED,),
    "migrating": (ReplicaState.MIGRATING,),
    "unassigned": (ReplicaState.UNASSIGNED,),
    "both": (ReplicaState.MIGRATING, ReplicaState.UNASSIGNED),
}


@pytest.mark.parametrize("states", STATES)
@pytest.mark.parametrize("mode", MODES)
def test_what_if_warns_of_the_restart_exactly_where_the_hazard_would_block_it(
    mode: Mode, states: str
) -> None:
    parts = [
        part((1, 2), at=TopicPartition("t", number)) for number, _ in enumerate(STATES[states])
    ]
    found = {
        each.at: assigned() if state is ReplicaState.ASSIGNED else pending(state)
        for each, state in zip(parts, STATES[states], strict=True)
    }
    predicted = if_directory_fails(situation(*parts, mode=mode, assignments=found), "/d0")
    warns = [each for each in predicted.notes if "do not restart broker 1 before" in each]

    one = broker(mode, id=BROKER, replicas=counts(**{str(each): 1 for each in STATES[states]}))
    after = cluster(Phase.ZOOKEEPER if mode is Mode.ZOOKEEPER else Phase.HYBRID, one, disks=BAD)
    blocked = [each for each in found_in(after) if each.kind is HazardKind.RESTART_LOSES_REPLICAS]
    assert bool(warns) is bool(blocked)
    if warns:
        harms = warns[0].partition("its replicas there ")[2]
        assert harms
        assert harms in blocked[0].text
    (failed,) = failed_directories(after)
    assert failed.channels == (Channel.LOG_DIRS,)

"""A runbook that cannot be walked is refused, with the line and the reason: a text per mistake."""

import re
from dataclasses import replace
from typing import NamedTuple

import pytest

from migration.assessment.conditions import DataSource, Verdict
from migration.assessment.conditions import parse as parse_condition
from migration.image.summary import MetadataLost, Phase
from orchestrator.errors import RunbookError
from orchestrator.runbook.checks.final import MARKS, STEPS
from orchestrator.runbook.load import load, parse, shipped
from orchestrator.runbook.places import everywhere, forward, in_turn
from tests.migration.assessment.conditions.views import (
    SUMMARY,
    all_disks,
    disks,
    moves,
    seen,
    stale,
    view,
)
from tests.orchestrator.runbook.texts import PATH, RIGHT, changed


def refused(text: str) -> tuple[str, ...]:
    """Give what is said of a wrong runbook."""
    with pytest.raises(RunbookError) as error:
        parse(text, PATH)
    return error.value.problems


class Wrong(NamedTuple):
    """A part of the right text, what stands there instead, and what is said of it."""

    old: str
    new: str
    said: str


_ENTER = """    opens_when: ["assignments_complete(broker)"]
    rollback: back
"""
_AFTER_THE_END = """  - id: after
    title: After
    explain: Why.
    opens_when: [finalized]
    rollback: back
"""

CONDITIONS = [
    Wrong(
        "[quorum_healthy]",
        "[quorum_helthy]",
        "9: unknown condition `quorum_helthy`; did you mean `quorum_healthy`?",
    ),
    Wrong(
        "[quorum_healthy]",
        '["quorum healthy"]',
        "9: 'quorum healthy' is not a condition: write one like finalized or offset(1439)",
    ),
    Wrong(
        "opens_when: [finalized]",
        "opens_when: [finalised, quorum_healthy]",
        "30: unknown condition `finalised`; did you mean `finalized`?",
    ),
    Wrong(
        "broker_mode(broker, kraft)",
        "broker_mode(broker)",
        "16: the condition `broker_mode` needs 2 arguments: write broker_mode(3, kraft)",
    ),
    Wrong(
        "broker_mode(broker, kraft)",
        "broker_mode(broker, craft)",
        "16: `broker_mode` does not take 'craft'; did you mean `kraft`?",
    ),
    Wrong(
        "[quorum_healthy]",
        "['quorum_healthy(3)']",
        "9: the condition `quorum_healthy` takes no argument",
    ),
    Wrong(
        "[quorum_healthy]",
        "['isr_full(broker)']",
        "9: `broker` in isr_full(broker) has no meaning here: `ready` has no `for_each: broker`",
    ),
    Wrong(
        '["no_hazard(restart, broker)"]',
        '["controller_mode(controller, kraft)"]',
        "17: `controller` in controller_mode(controller, kraft) has no meaning here:"
        " `brokers` has"
        " no `for_each: controller`",
    ),
    Wrong(
        "[quorum_healthy]",
        "[quorum_healthy, isr_full, ' quorum_healthy ']",
        "9:  quorum_healthy  is listed twice (first in line 9)",
    ),
    Wrong(
        '["no_hazard(restart, broker)"]',
        "['soak(10m)']",
        "17: soak(10m) counts how long the other conditions of `needs` hold, and there are none",
    ),
    Wrong(
        'already: ["broker_mode(broker, kraft)"]',
        'already: ["broker_mode(broker, kraft)", soak(10m)]',
        "16: soak(10m) counts how long guards or a gate hold: write it in `needs` or `opens_when`",
    ),
    Wrong(
        "[quorum_healthy]",
        "['soak(10m)']",
        "9: soak(10m) counts how long the other conditions of `opens_when` hold, and there are"
        " none",
    ),
    Wrong(
        "[quorum_healthy]",
        "[isr_full, 'soak(10 apples)']",
        "9: `soak` does not take '10 apples': '10 apples' is not a duration: write it like"
        " 90s, 5m, 1h30m"
        " or PT5M",
    ),
    Wrong(
        'opens_when: ["assignments_complete(broker)"]',
        "opens_when: [nothing_held]",
        "21: `brokers` is done for each broker, but no condition in `opens_when` names `broker`, so"
        " `opens_when` would hold for every broker at once",
    ),
    Wrong(
        'already: ["broker_mode(broker, kraft)"]',
        "already: [nothing_held]",
        "16: `brokers` is done for each broker, but no condition in `already` names `broker`, so"
        " `already` would hold for every broker at once",
    ),
    Wrong(
        ", isr_full, lag-is-low]",
        ", isr_full]",
        "47: the condition `lag-is-low` is never used: remove it, or name it in a gate",
    ),
    Wrong(
        "isr_full, lag-is-low]",
        "isr_full, lag-is-high]",
        "45: unknown condition `lag-is-high`; did you mean `lag-is-low`?",
    ),
    Wrong(
        "isr_full, lag-is-low]",
        "isr_full, lag-is-low(3)]",
        "45: the condition `lag-is-low` takes no argument",
    ),
]

OWN = [
    Wrong(
        "  - name: lag-is-low\n",
        "  - name: finalized\n",
        "47: `finalized` is a built-in condition: choose another name",
    ),
    Wrong(
        "  - name: lag-is-low\n",
        "  - name: preflight\n",
        "47: `preflight` is the name of a source: choose another name",
    ),
    Wrong(
        '    shell: {argv: [/usr/local/bin/lag, --max, "100"], timeout: 5s}\n',
        "    explain: Lag.\n",
        "47: `lag-is-low` has neither `shell` nor `promql`: write one",
    ),
    Wrong(
        "timeout: 5s}\n",
        "timeout: 5s}\n    promql: {url: 'http://p:9090', query: up}\n",
        "47: `lag-is-low` has both `shell` and `promql`: keep one",
    ),
    Wrong(
        "timeout: 5s}\n",
        "timeout: 5s}\n  - name: lag-is-low\n    shell: {argv: [x]}\n",
        "49: the name `lag-is-low` is taken (line 47): choose another",
    ),
]

SHAPE = [
    Wrong(
        "    opens_when: [quorum_healthy]\n",
        "",
        "6: `ready` has neither a step nor a gate: write `step` or `opens_when`",
    ),
    Wrong(
        '    opens_when: ["assignments_complete(broker)"]\n',
        "",
        "12: the gate of `brokers` has no condition that shows that its step is done:"
        " write `opens_when`",
    ),
    Wrong(
        "opens_when: [finalized]",
        "opens_when: []",
        "30: the gate of `end` has no condition that shows that its step is done:"
        " write `opens_when`",
    ),
    Wrong("id: end", "id: ready", "23: the id `ready` is taken (line 6): choose another"),
    Wrong(
        "id: back-brokers", "id: brokers", "38: the id `brokers` is taken (line 12): choose another"
    ),
    Wrong(
        "Restart the controllers of {cluster}.",
        "Restart {controller} of {cluster}.",
        "29: {controller} exists only with `for_each: controller`",
    ),
    Wrong(
        "Restart the controllers of {cluster}.",
        "Restart {controler} of {cluster}.",
        "29: unknown field {controler}; did you mean `controllers`?",
    ),
    Wrong(
        "Restart the controllers of {cluster}.",
        "'{\"version\": 1}'",
        '29: {"version": 1} is not a field: write {host}, or {{ for a brace',
    ),
    Wrong(
        "Restart the controllers of {cluster}.",
        "'{cluster.__class__}'",
        "29: {cluster.__class__} is not a field: write {host}, or {{ for a brace",
    ),
    Wrong(
        "Restart the controllers of {cluster}.",
        "'{cluster!r}'",
        "29: {cluster!r} is not a field: write {host}, or {{ for a brace",
    ),
    Wrong(
        "Restart the controllers of {cluster}.",
        "Restart {cluster",
        "29: unmatched brace (expected '}' before end of string): write {{ or }}",
    ),
    Wrong(
        "    approval: {people: 2}\n",
        "",
        "31: `end` is irreversible and has no approval: add approval: {people: 2}",
    ),
    Wrong(
        "    opens_when: [quorum_healthy]\n",
        "    already: [isr_full]\n    opens_when: [isr_full]\n",
        "9: `ready` has `already` and no step that could be done already",
    ),
    Wrong(
        "    for_each: broker\n    already",
        "    for_each: broker\n    order: [active_controller_last]\n    already",
        "16: the order `active_controller_last` needs `for_each: controller`",
    ),
    Wrong(
        "    opens_when: [quorum_healthy]\n",
        "    order: [rack]\n    opens_when: [quorum_healthy]\n",
        "9: the order `rack` needs `for_each: broker`",
    ),
]

_FINAL_BACK = """        step:
          name: leave-kraft
          manual: On {host} restart broker {broker}.
        opens_when: ["broker_mode(broker, migrating)", isr_full, lag-is-low]
"""
_BARE = _FINAL_BACK.replace("leave-kraft", "delete-znodes")
_DESTRUCTIVE = _FINAL_BACK + "        destructive: true\n"
_OFF = """    irreversible: true
  - id: zk-off
    title: ZooKeeper off
    explain: Why.
    needs: [finalized]
    step: {name: decommission-zookeeper, manual: Stop it.}
    opens_when: [isr_full]
    approval: {people: 1}
    destructive: true
"""

FINAL = [
    Wrong(
        _FINAL_BACK,
        _BARE,
        "42: the step `delete-znodes` is destructive: add destructive: true",
    ),
    Wrong(
        "    approval: {people: 2}\n    irreversible: true\n",
        "",
        "27: the step `finalize` is irreversible: add irreversible: true",
    ),
    Wrong(
        _FINAL_BACK,
        _DESTRUCTIVE,
        "46: `back-brokers` is destructive and has no approval: add approval: {people: 1}",
    ),
    Wrong(
        _FINAL_BACK,
        _DESTRUCTIVE + "        approval: {people: 1}\n",
        "46: no soak precedes `back-brokers`, which is destructive: add soak(10m) to its"
        " `needs`, or to the gate of a checkpoint before it",
    ),
    Wrong(
        "    needs: [isr_full, soak(10m)]\n",
        "    needs: [isr_full]\n",
        "26: no soak precedes `end`, which is irreversible: add soak(10m) to its `needs`, or"
        " to the gate of a checkpoint before it",
    ),
    Wrong(
        "    irreversible: true\n",
        _OFF,
        "36: no soak precedes `zk-off`, which is destructive: add soak(10m) to its `needs`, or"
        " to the gate of a checkpoint before it",
    ),
    Wrong(
        "    approval: {people: 2}\n",
        "    approval: {people: 2, given_at: reddy}\n",
        "31: `given_at` names no checkpoint before this one: `reddy`; did you mean `ready`?",
    ),
    Wrong(
        "    approval: {people: 2}\n",
        "    approval: {people: 2, given_at: ready}\n",
        "31: `ready` does not give this approval: its own approval must be given once,"
        " by 2 or more people",
    ),
    Wrong(
        "    approval: {people: 2}\n",
        "    approval: {people: 2, given_at: brokers}\n",
        "31: `brokers` does not give this approval: its own approval must be given once,"
        " by 2 or more people",
    ),
]

ORDER = [
    Wrong(
        "    opens_when: [finalized]\n",
        "    after: [reddy]\n    opens_when: [finalized]\n",
        "30: `after` names no checkpoint of this path: `reddy`; did you mean `ready`?",
    ),
    Wrong(
        "    opens_when: [finalized]\n",
        "    after: [back-brokers]\n    opens_when: [finalized]\n",
        "30: `after` names no checkpoint of this path: `back-brokers`; did you mean `brokers`?",
    ),
    Wrong(
        "    opens_when: [quorum_healthy]\n",
        "    after: [ready]\n    opens_when: [isr_full]\n",
        "9: can never be reached: each waits for the next one: `ready` -> `ready`",
    ),
    Wrong(
        "    opens_when: [quorum_healthy]\n",
        "    after: [end]\n    opens_when: [isr_full]\n",
        "9: can never be reached: each waits for the next one: `ready` -> `end` -> `brokers` ->"
        " `ready`",
    ),
]

WAYS_BACK = [
    Wrong(
        "    rollback: back\n",
        "",
        "12: `brokers` has no rollback: name one with `rollback`, or write rollback: none with"
        " `rollback_reason`",
    ),
    Wrong(
        "    rollback_reason: nothing was changed yet\n",
        "",
        "10: `ready` has rollback: none without a `rollback_reason`: say why",
    ),
    Wrong(
        "rollback: back", "rollback: bak", "22: there is no rollback `bak`; did you mean `back`?"
    ),
    Wrong(
        _ENTER,
        _ENTER + "    rollback_reason: so\n",
        "23: `rollback_reason` belongs to rollback: none only: remove it",
    ),
    Wrong(
        "  - id: back\n",
        "  - id: none\n",
        "34: `none` is reserved: it means that a checkpoint has no rollback",
    ),
    Wrong(
        "    explain: When.\n",
        "    explain: When.\n    then: back\n",
        "37: `back` leads back to itself: `then` must not form a cycle",
    ),
    Wrong(
        "    explain: When.\n",
        "    explain: When.\n    then: bac\n",
        "37: there is no rollback `bac`; did you mean `back`?",
    ),
    Wrong(
        "    rollback: back\n",
        "    rollback: none\n    rollback_reason: so\n",
        "35: no checkpoint uses the rollback `back`: name it in a `rollback`, or remove it",
    ),
    Wrong(
        "    irreversible: true\n",
        "    irreversible: true\n" + _AFTER_THE_END,
        "37: `back` is also the rollback of `brokers`, and `end`, which comes between `brokers` and"
        " `after`, is irreversible: name a rollback that undoes only what follows `end`, or remove"
        " `rollback`",
    ),
    Wrong(
        "    irreversible: true\n",
        "    irreversible: true\n" + _AFTER_THE_END.replace(": back", ": far"),
        "37: there is no rollback `far`; known are `back`",
    ),
    Wrong(
        "conditions:\n  - name: lag",
        "  - id: back\n    title: B\n    explain: E\n    checkpoints:"
        "\n      - {id: b, title: b, explain: b, opens_when: [isr_full]}\nconditions:\n "
        " - name: lag",
        "46: the id `back` is taken (line 34): choose another",
    ),
]

PHASES = [
    Wrong(
        "[quorum_healthy]",
        "['phase(finalized)', 'phase_is(hybrid)']",
        "9: can never be reached: phase_is(hybrid) holds in hybrid only, and the phase is finalized"
        " once `ready` required phase(finalized)",
    ),
    Wrong(
        "opens_when: [finalized]",
        "opens_when: [copied, 'all_brokers(zookeeper)', finalized]",
        "30: can never be reached: all_brokers(zookeeper) holds in zookeeper, pre-migration or"
        " rolled-back only, and the phase is hybrid, dual-write or finalized once `end` required"
        " copied",
    ),
    Wrong(
        "isr_full, lag-is-low]",
        "isr_full, lag-is-low, finalized]",
        "45: can never be reached: finalized holds in finalized only, and the phase is"
        " pre-migration,"
        " copying or hybrid once `back-brokers` required broker_mode(broker, migrating)",
    ),
]


@pytest.mark.parametrize(
    "wrong",
    [*CONDITIONS, *OWN, *SHAPE, *FINAL, *ORDER, *WAYS_BACK, *PHASES],
    ids=lambda one: one.said,
)
def test_a_mistake_is_refused_with_line_and_reason(wrong: Wrong) -> None:
    assert f"night.yaml:{wrong.said}" in refused(changed(wrong.old, wrong.new))


def test_a_mistake_does_not_hide_another() -> None:
    text = changed("rollback: back", "rollback: bak").replace("[finalized]", "[finalised]")
    assert [said.split(": ")[0] for said in refused(text)] == [
        "night.yaml:22",
        "night.yaml:30",
        "night.yaml:34",
    ]


def test_a_phase_that_an_earlier_checkpoint_left_behind_never_comes_again() -> None:
    text = changed("[quorum_healthy]", "[finalized]").replace(
        '["no_hazard(restart, broker)"]', '["broker_mode(broker, migrating)"]'
    )
    (said,) = refused(text)
    assert said == (
        "night.yaml:17: can never be reached: broker_mode(broker, migrating) holds in"
        " pre-migration, copying or hybrid only, and the phase is finalized once `ready` required"
        " finalized"
    )


def test_a_cluster_that_is_kraft_alone_migrates_no_more() -> None:
    text = changed("[quorum_healthy]", "[kraft_only]").replace(
        "[finalized]", "['phase_is(hybrid)']"
    )
    (said,) = refused(text)
    assert "phase_is(hybrid) holds in hybrid only, and the phase is finalized or kraft" in said


def test_another_attempt_may_follow_a_way_back() -> None:
    parse(changed("[quorum_healthy]", "['phase_is(rolled-back)']"), PATH)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[quorum_healthy]", "[quorum_healthy, soak(10m)]"),
        ('["assignments_complete(broker)"]', '["assignments_complete(broker)", soak(10m)]'),
    ],
)
def test_a_gate_that_soaks_before_counts_for_what_cannot_be_undone(old: str, new: str) -> None:
    text = changed("needs: [isr_full, soak(10m)]", "needs: [isr_full]").replace(old, new)
    parse(text, PATH)


def test_one_approval_and_one_soak_are_for_two_steps_that_nothing_may_come_between() -> None:
    off = _OFF.replace("{people: 1}", "{people: 2, given_at: end}")
    parse(changed("    irreversible: true\n", off), PATH)


def test_the_steps_that_are_known_to_be_final_are_those_of_the_bundled_runbooks() -> None:
    found = {}
    for name in shipped():
        book = load(name).runbook
        for each in (place.checkpoint for place in everywhere(book)):
            mark = next((mark for mark in MARKS if getattr(each, mark)), None)
            if each.step is not None and mark is not None:
                found[each.step.name] = mark
    assert found == STEPS


@pytest.mark.parametrize("name", shipped())
def test_a_move_between_directories_keeps_every_broker_from_its_restart(name: str) -> None:
    """KIP-113, "Complete replica data movement"; KIP-858, "Intra-broker replica movement"."""
    places = [place.checkpoint for place in everywhere(load(name).runbook)]
    restarts = [each for each in places if each.for_each == "broker" and each.step is not None]
    assert restarts
    for each in restarts:
        (guard,) = [need for need in each.needs if need.startswith("no_directory_move")]
        condition = parse_condition(guard.replace("broker", "3"))
        assert condition.judge(view()).verdict is Verdict.SATISFIED
        moving = condition.judge(seen(disks=all_disks(disks(1), disks(2), moves(3))))
        assert (moving.verdict, moving.reason) == (
            Verdict.WAITING,
            "broker 3: 1 replica moving between log directories",
        )
        assert condition.judge(stale(DataSource.LOG_DIRS)).verdict is Verdict.UNKNOWN


def test_every_directory_is_checked_before_a_broker_gets_a_new_one() -> None:
    """`format` also formats the mount point of a disk that is not mounted: H2 at the next start."""
    found = []
    for name in shipped():
        for each in (place.checkpoint for place in everywhere(load(name).runbook)):
            text = "" if each.step is None else each.step.manual
            before, formats, after = text.partition("kafka-storage.sh format --ignore-formatted")
            if each.for_each != "broker" or not formats:
                continue
            found.append(each.step and each.step.name)
            assert "    kraftgate meta-properties {log_dirs} --mode kraft\n" in before
            printed = "prints one line `Formatting ...` for each directory that it formats"
            assert printed in " ".join(after.split())
    assert found == ["replace-disk", "add-log-dirs"]


_LOST = replace(
    SUMMARY, metadata_lost=MetadataLost(phase=Phase.KRAFT, topics=3, partitions=15, at_ms=5)
)


@pytest.mark.parametrize("name", shipped())
def test_no_broker_restarts_while_the_controllers_have_another_metadata_log(name: str) -> None:
    """It would rename all of its logs to -stray."""
    for each in (place.checkpoint for place in everywhere(load(name).runbook)):
        if each.for_each != "broker" or each.step is None:
            continue
        needs = [parse_condition(re.sub(r"\bbroker\b", "3", need)) for need in each.needs]
        keeps = [need for need in needs if need.judge(view(_LOST)).verdict is Verdict.VIOLATED]
        assert keeps, each.id
        assert any(need.judge(view()).verdict is Verdict.SATISFIED for need in keeps), each.id


def test_controllers_are_not_called_upgraded_while_they_have_another_metadata_log() -> None:
    (gate,) = [
        place.checkpoint.opens_when
        for place in everywhere(load("kraft-jbod").runbook)
        if place.checkpoint.id == "controllers-upgraded"
    ]
    found = {parse_condition(each).judge(view(_LOST)).verdict for each in gate}
    assert Verdict.VIOLATED in found


def test_the_right_one_is_right() -> None:
    assert [checkpoint.id for checkpoint in parse(RIGHT, PATH).runbook.rollback_path("back")] == [
        "back-brokers"
    ]


def after_the_end(then: str = "") -> str:
    """Give the right text with a checkpoint after the irreversible one, and its own rollback."""
    text = changed("    irreversible: true\n", "    irreversible: true\n" + _AFTER_THE_END)
    return text.replace("finalized]\n    rollback: back", "finalized]\n    rollback: far").replace(
        "conditions:\n  - name: lag",
        f"  - id: far\n    title: F\n    explain: E\n{then}    checkpoints:\n"
        "      - {id: f, title: f, explain: f, opens_when: [isr_full]}\nconditions:\n  - name: lag",
    )


def test_what_follows_an_irreversible_checkpoint_may_have_a_rollback_of_its_own() -> None:
    assert parse(after_the_end(), PATH).runbook.checkpoints[-1].rollback == "far"
    (said,) = refused(after_the_end("    then: back\n"))
    assert said.startswith("night.yaml:37: `back` is also the rollback of `brokers`, and `end`")


def test_what_comes_after_need_not_stand_below() -> None:
    text = changed(
        "    opens_when: [quorum_healthy]\n", "    after: [brokers]\n    opens_when: [isr_full]\n"
    )
    text = text.replace(
        "    for_each: broker\n    already", "    after: []\n    for_each: broker\n    already"
    )
    assert [place.checkpoint.id for place in in_turn(forward(parse(text, PATH).runbook))] == [
        "brokers",
        "ready",
        "end",
    ]


def test_ways_back_go_on_with_one_another() -> None:
    more = """  - id: far
    title: Far
    explain: When.
    then: back
    checkpoints:
      - {id: far-one, title: Far, explain: Why., opens_when: [isr_full]}
conditions:
"""
    text = changed("conditions:\n", more).replace("rollback: back", "rollback: far")
    book = parse(text, PATH).runbook
    assert [checkpoint.id for checkpoint in book.rollback_path("far")] == [
        "far-one",
        "back-brokers",
    ]


def test_a_rollback_is_in_the_order_of_the_file() -> None:
    """So it has no `after`, which would promise another order."""
    key = "        title: Brokers back\n"
    problems = refused(changed(key, f"{key}        after: [brokers]\n"))
    assert any("unknown key `after` in `rollbacks[0]" in each for each in problems)

"""The texts of the bundled runbooks name this cluster's id, controllers and directories."""

import re

import pytest

from orchestrator.runbook.cluster_facts import ClusterFacts
from orchestrator.runbook.instance_order import Leaders, Member
from orchestrator.runbook.load import load, shipped
from orchestrator.runbook.markdown import page
from orchestrator.runbook.places import everywhere
from orchestrator.runbook.plan import plan
from orchestrator.runbook.step_values import Answers, step_fields, step_values
from orchestrator.runbook.templates import complaint, fields_for, readable, render

ID = "4L6g3nShT-eMCtK--X86sw"
LISTENERS = {
    "inter.broker.listener.name": "INTERNAL",
    "listener.security.protocol.map": "INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT,CLIENT:SSL",
    "security.inter.broker.protocol": "PLAINTEXT",
}
PLANNED = Answers(
    cluster_id=ID,
    brokers=[LISTENERS, LISTENERS],
    planned=("c1:9093", "c2:9093"),
    taken={1, 2, 3},
    log_dirs={1: ("/data/d0", "/data/d 1")},
)
FACTS = ClusterFacts(
    cluster="prod",
    brokers=(Member(id=1, host="k1"),),
    controllers=(Member(id=3000, host="c1"),),
    leaders=Leaders(),
    addresses={"brokers": "k1:9092", "controllers": "c1:9093,c2:9093", "zookeeper": "zk:2181"},
    answers=PLANNED,
)
UNKNOWN = re.compile(r"<[a-z]|\b(?:CLUSTER_ID|LISTENER_MAP|LOG_DIRS|HOST|ID@|BROKERS?)\b")


def test_before_the_controllers_exist_their_ids_are_proposed() -> None:
    found = step_values(PLANNED)
    assert found["quorum_line"] == "controller.quorum.voters=3000@c1:9093,3001@c2:9093"
    assert found["controller_lines"].splitlines() == [
        "# on c1",
        "node.id=3000",
        "listeners=CONTROLLER://c1:9093",
        "# on c2",
        "node.id=3001",
        "listeners=CONTROLLER://c2:9093",
    ]


@pytest.mark.parametrize(("taken", "first"), [({3000}, 4000), ({2999}, 3000), ({5123}, 6000)])
def test_no_broker_has_a_proposed_id(taken: set[int], first: int) -> None:
    found = step_values(Answers(planned=("[::1]:9093",), taken=taken))
    assert found["quorum_line"] == f"controller.quorum.voters={first}@[::1]:9093"


@pytest.mark.parametrize(
    "line", ["controller.quorum.voters=7@c9:1", "controller.quorum.bootstrap.servers=c9:1"]
)
def test_what_the_controllers_have_comes_before_any_proposal(line: str) -> None:
    name, _, value = line.partition("=")
    found = step_values(
        Answers(
            controllers=[{}, {name: value}],
            brokers=[{"controller.quorum.voters": "8@c8:1"}],
            planned=("c1:9093",),
        )
    )
    assert found["quorum_line"] == line
    assert ("controller_lines" in found) is ("voters" in name)


def test_the_brokers_listeners_are_those_of_all_of_them() -> None:
    found = step_values(PLANNED)
    assert found["listener_map"] == "INTERNAL:PLAINTEXT,CLIENT:SSL"
    assert found["inter_broker_listener"] == "INTERNAL"
    plain = {**LISTENERS, "inter.broker.listener.name": ""}
    assert step_values(Answers(brokers=[plain]))["inter_broker_listener"] == "PLAINTEXT"
    assert "inter_broker_listener" not in step_values(Answers(brokers=[plain, LISTENERS]))


def test_kafka_reads_the_names_of_listeners_in_capitals() -> None:
    listeners = "Internal:PLAINTEXT, Controller:PLAINTEXT,CLIENT:SSL"
    odd = {"inter.broker.listener.name": "Internal", "listener.security.protocol.map": listeners}
    found = step_values(Answers(brokers=[odd]))
    assert found["listener_map"] == "Internal:PLAINTEXT,CLIENT:SSL"
    assert step_values(Answers(brokers=[odd, LISTENERS]))["inter_broker_listener"] == "INTERNAL"


def test_the_directories_are_words_of_a_command() -> None:
    assert step_values(PLANNED, 1)["log_dirs"] == "/data/d0 '/data/d 1'"
    assert "log_dirs" not in step_values(PLANNED, 2)


@pytest.mark.parametrize(
    ("kind", "member", "more"),
    [
        ("broker", None, {}),
        ("broker", Member(id=1), {"rack": ""}),
        ("broker", Member(id=1, host="k1", rack="a"), {"host": "k1", "rack": "a"}),
        ("controller", Member(id=1, host="c1"), {"host": "c1"}),
    ],
)
def test_a_host_or_rack_that_nothing_describes_is_left_out(
    kind: str, member: Member | None, more: dict[str, str]
) -> None:
    found = step_fields(
        cluster="prod",
        phase="HYBRID",
        addresses={},
        answers=Answers(),
        bind={kind: "1"},
        member=member,
    )
    assert found == {"cluster": "prod", "phase": "HYBRID", kind: "1", **more}


def test_the_lines_of_a_value_are_indented_like_its_field() -> None:
    assert render("a\n   {x}\nb {x}", {"x": "1\n2"}) == "a\n   1\n   2\nb 1\n2"


@pytest.mark.parametrize("name", sorted(shipped()))
def test_nothing_that_is_known_has_a_placeholder(name: str) -> None:
    made = plan(load(name), FACTS, None)
    stops = (*made.way, *(stop for _, stops in made.ways_back for stop in stops))
    texts = [stop.manual for stop in stops if stop.manual is not None]
    assert texts
    assert [found for text in texts if (found := UNKNOWN.search(text))] == []


@pytest.mark.parametrize("name", sorted(shipped()))
def test_a_text_without_a_cluster_can_be_read(name: str) -> None:
    book = load(name).runbook
    for place in everywhere(book):
        step = place.checkpoint.step
        for text in () if step is None else (step.manual, step.do or ""):
            shown = render(text, readable({}, place.checkpoint.for_each))
            assert "{" not in shown
            assert "<" not in shown
    for place in everywhere(book):
        assert "<" not in place.checkpoint.explain


def test_a_page_for_a_cluster_has_its_values() -> None:
    shown = page(load("zk-to-kraft-jbod").runbook, FACTS.values())
    assert f"kafka-storage.sh format --cluster-id={ID} -c controller.properties" in shown
    assert "       node.id=3000\n       listeners=CONTROLLER://c1:9093\n" in shown
    assert "CLUSTER_ID" not in shown


def test_parts_of_properties_files_are_no_words_of_a_command() -> None:
    assert complaint("{cluster_id}", None, ()) is None
    assert "quorum_line" in fields_for("broker")
    assert complaint("{quorum_line}", "broker") is None
    assert "unknown field {quorum_line}" in (complaint("{quorum_line}", "broker", ()) or "")

"""The plan prints everything that an execution would do on this cluster, and does nothing."""

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from migration.observed.probed import (
    Broker,
    Controller,
    Facts,
    Quorum,
    Topics,
    Unknown,
    ZooKeeper,
)
from orchestrator.config.load import parse_config
from orchestrator.errors import ConfigError
from orchestrator.runbook.cluster_facts import ClusterFacts, facts_of
from orchestrator.runbook.hooks_file import load_hooks
from orchestrator.runbook.instance_order import Leaders, Member
from orchestrator.runbook.load import load, parse, shipped
from orchestrator.runbook.plan import plan
from orchestrator.runbook.plan_formats import plan_json, plan_text
from orchestrator.runbook.step_values import Answers
from tests.orchestrator.runbook.texts import PATH, RIGHT

FACTS = ClusterFacts(
    cluster="prod",
    brokers=(
        Member(id=1, host="k1", rack="a"),
        Member(id=2, host="k2", rack="b"),
        Member(id=3, host="k3", rack="a"),
    ),
    controllers=(Member(id=3000, host="c1"), Member(id=3001, host="c2")),
    leaders=Leaders(zookeeper_controller=1, active_controller=3000),
    addresses={"brokers": "k1:9092", "controllers": "c1:9093,c2:9093", "zookeeper": "zk:2181"},
    not_known=("broker 4: it is down",),
)
HOOKS = """\
hooks: 1
explain: Nothing.
steps:
  enter-kraft: {argv: [do it, "{host}", "{broker}"], timeout: 90s}
"""
EXPECTED = """\
Plan for cluster prod: A night
{summary}
runbook night.yaml
hooks   {path}
broker 1 on k1, rack a, ZooKeeper's controller
broker 2 on k2, rack b
broker 3 on k3, rack a
controller 3000 on c1, active
controller 3001 on c2
not known: broker 4: it is down

This is the current order; it is determined again before each instance.

1 ready: Ready
    opens when  quorum_healthy

2.1 brokers[2] on k2, rack b: Brokers, one at a time
    done if     broker_mode(2, kraft)
    needs       no_hazard(restart, 2)
    runs        'do it' k2 2  (at most 1m30s)
    opens when  assignments_complete(2)
    rollback    back

2.2 brokers[3] on k3, rack a: Brokers, one at a time
    done if     broker_mode(3, kraft)
    needs       no_hazard(restart, 3)
    runs        'do it' k3 3  (at most 1m30s)
    opens when  assignments_complete(3)
    rollback    back

2.3 brokers[1] on k1, rack a: Brokers, one at a time
    done if     broker_mode(1, kraft)
    needs       no_hazard(restart, 1)
    runs        'do it' k1 1  (at most 1m30s)
    opens when  assignments_complete(1)
    rollback    back

3 end: The end
    needs       isr_full, soak(10m)
    approval    2 people: kraftgate approve end --reason "..." --confirm CLUSTER
                No rollback is possible once this has begun.
    by hand     step finalize:
        Restart the controllers of prod.
    opens when  finalized

ROLLBACK back: Back

B1.1 back-brokers[2] on k2, rack b: Brokers back
    by hand     step leave-kraft:
        On k2 restart broker 2.
    opens when  broker_mode(2, migrating), isr_full, lag-is-low

B1.2 back-brokers[3] on k3, rack a: Brokers back
    by hand     step leave-kraft:
        On k3 restart broker 3.
    opens when  broker_mode(3, migrating), isr_full, lag-is-low

B1.3 back-brokers[1] on k1, rack a: Brokers back
    by hand     step leave-kraft:
        On k1 restart broker 1.
    opens when  broker_mode(1, migrating), isr_full, lag-is-low
"""


def test_a_whole_plan(tmp_path: Path) -> None:
    loaded = parse(RIGHT, PATH)
    file = tmp_path / "hooks.yaml"
    file.write_text(HOOKS, "utf-8")
    hooks = load_hooks(file, loaded.runbook)
    made = plan(loaded, FACTS, hooks)
    expected = EXPECTED.format(summary=made.summary, path=file)
    assert plan_text(made) == expected


@pytest.mark.parametrize("facts", [FACTS, replace(FACTS, brokers=())])
def test_a_plan_shows_no_secret_of_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, facts: ClusterFacts
) -> None:
    """Neither one with its value in the environment, nor one that its flag shows."""
    monkeypatch.setenv("BMC", "hush-hush-123")
    loaded = parse(RIGHT, PATH)
    file = tmp_path / "hooks.yaml"
    argv = "[do, hush-hush-123, --password, plain-word, --user, me]"
    text = HOOKS.replace('[do it, "{host}", "{broker}"]', argv)
    file.write_text(text.replace("steps:", "secrets: [BMC]\nsteps:"), "utf-8")
    made = plan(loaded, facts, load_hooks(file, loaded.runbook))
    for shown in (plan_text(made), json.dumps(plan_json(made))):
        assert "--user" in shown
        assert "hush" not in shown
        assert "plain-word" not in shown


def test_the_first_line_sums_it_up() -> None:
    made = plan(load("zk-to-kraft-jbod"), FACTS, None)
    assert made.summary == (
        "9 checkpoints, 5 steps, 6 broker restarts, 2 controller restarts, 1 irreversible,"
        " 3 approvals, at least 2 h 10 min"
    )


def test_the_json_has_what_the_text_has(tmp_path: Path) -> None:
    loaded = parse(RIGHT, PATH)
    file = tmp_path / "hooks.yaml"
    file.write_text(HOOKS, "utf-8")
    hooks = load_hooks(file, loaded.runbook)
    made = plan(loaded, FACTS, hooks)
    found = json.loads(json.dumps(plan_json(made)))
    assert (found["cluster"], found["summary"]) == ("prod", made.summary)
    assert (found["runbook"]["sha256"], found["hooks"]["sha256"]) == (loaded.sha256, hooks.sha256)
    assert [each["id"] for each in found["checkpoints"]] == [each.id for each in made.way]
    (second,) = (each for each in found["checkpoints"] if each["id"] == "brokers[2]")
    assert (second["command"], second["timeout"]) == (["do it", "k2", "2"], "1m30s")
    assert [each["id"] for each in found["rollbacks"]] == ["back"]


@pytest.mark.parametrize("hooks_name", ["lab.yaml", "systemd-ssh.yaml", "ansible.yaml"])
def test_every_command_of_the_examples_can_be_made_and_pasted(hooks_name: str) -> None:
    loaded = load("zk-to-kraft-jbod")
    hooks = load_hooks(Path("runbooks/hooks") / hooks_name, loaded.runbook)
    made = plan(loaded, FACTS, hooks)
    assert made.problems == ()
    text = plan_text(made)
    commands = [
        line.partition("runs        ")[2].rpartition("  (at most")[0]
        for line in text.splitlines()
        if line.startswith("    runs ")
    ]
    by_hand = 0 if hooks_name == "lab.yaml" else 1  # ZooKeeper is switched off by a person
    assert len(commands) == 18 - by_hand
    assert all(shlex.split(command) for command in commands)


def test_every_broker_and_controller_has_its_turn_in_order() -> None:
    way = plan(load("zk-to-kraft-jbod"), FACTS, None).way
    ids = [stop.id for stop in way]
    at = ids.index("brokers-kraft[2]")
    assert ids[at : at + 3] == ["brokers-kraft[2]", "brokers-kraft[3]", "brokers-kraft[1]"]
    assert [one for one in ids if one.startswith("finalize[")] == [
        "finalize[3001]",
        "finalize[3000]",
    ]
    asked = {stop.id: stop.approval.people for stop in way if stop.approval}
    assert asked == {"finalize[3001]": 2, "zookeeper-off": 1}


def test_what_destroys_data_and_which_approval_covers_it_is_in_the_plan() -> None:
    loaded = load("zk-to-kraft-jbod")
    text = plan_text(plan(loaded, FACTS, None))
    off = text[text.index("zookeeper-off") : text.index("ROLLBACK")]
    assert "approve zookeeper-off --reason" in off
    assert "This destroys data, or the storage of data." in off
    znodes = text[text.index("back-znodes:") : text.index("back-brokers[")]
    assert "approval    given at back-controllers, also for this step" in znodes
    assert "This destroys data" in znodes


def test_before_the_controllers_exist_they_are_planned_for_as_a_kind() -> None:
    before = ClusterFacts(
        cluster="prod",
        brokers=FACTS.brokers,
        controllers=(),
        leaders=Leaders(zookeeper_controller=1),
        addresses=FACTS.addresses,
    )
    loaded = load("zk-to-kraft-jbod")
    hooks = load_hooks(Path("runbooks/hooks/systemd-ssh.yaml"), loaded.runbook)
    made = plan(loaded, before, hooks)
    (finalize,) = [stop for stop in made.way if stop.id.startswith("finalize[")]
    assert finalize.id == "finalize[each controller]"
    assert finalize.where == "which controllers there are is not known yet"
    assert "controller_mode(controller, kraft)" in finalize.opens_when
    assert finalize.command is not None
    assert made.problems == ()


def test_what_cannot_be_said_to_a_host_is_a_problem_of_the_plan() -> None:
    nobody = ClusterFacts(
        cluster="prod",
        brokers=(Member(id=1),),
        controllers=(),
        leaders=Leaders(),
        addresses={},
    )
    loaded = load("zk-to-kraft-jbod")
    hooks = load_hooks(Path("runbooks/hooks/systemd-ssh.yaml"), loaded.runbook)
    made = plan(loaded, nobody, hooks)
    said = "\n".join(made.problems)
    assert "brokers-kraft[1]: runbooks/hooks/systemd-ssh.yaml:" in said
    assert "{host} is unknown for this cluster now" in said
    assert "{controllers} is unknown for this cluster now" in said
    assert "These commands cannot be made now:" in plan_text(made)


@pytest.mark.parametrize("name", sorted(shipped()))
def test_every_shipped_runbook_can_be_planned_by_hand(name: str) -> None:
    loaded = load(name)
    made = plan(loaded, FACTS, None)
    text = plan_text(made)
    assert made.problems == ()
    assert "every step is done by hand" in text
    assert all(line == line.rstrip() for line in text.splitlines())


CONFIG = """\
cluster: {name: prod}
zookeeper: {connect: "zk1:2181/kafka"}
controllers: {bootstrap: "c1:9093"}
brokers: {bootstrap: "k1:9092"}
"""
HOLDER = b'{"version":2,"brokerid":2,"timestamp":"1","kraftControllerEpoch":-1}'
QUORUM = Quorum(leader=3000, epoch=1, high_watermark=9, voters=(3000,))


def test_the_facts_are_those_that_preflight_was_told() -> None:
    entry = parse_config(CONFIG, Path("kraftgate.yaml")).clusters[0]
    down = Unknown("it is down")
    asked = Facts(
        cluster="prod",
        zookeeper=ZooKeeper(
            controller=HOLDER, cluster_id=b'{"version":"1","id":"4L6g3nShT-eMCtK--X86sw"}'
        ),
        topics=down,
        brokers=(
            Broker(
                id=1,
                endpoint="k1:9092",
                rack="a",
                release=(3, 9),
                settings={"log.dirs": "/data/d0, /data/d1"},
            ),
            Broker(id=2, release=down),
        ),
        controllers=(
            Controller(endpoint="[::1]:9093", node_id=3000, quorum=QUORUM),
            Controller(endpoint="c2:9093", unreachable="refused"),
            Controller(endpoint="c3:9093", node_id=Unknown("it does not report its node id")),
        ),
    )
    assert facts_of(entry, asked) == ClusterFacts(
        cluster="prod",
        brokers=(Member(id=1, host="k1", rack="a"), Member(id=2)),
        controllers=(Member(id=3000, host="::1"),),
        nameless=2,
        leaders=Leaders(zookeeper_controller=2, active_controller=3000),
        addresses={"brokers": "k1:9092", "controllers": "c1:9093", "zookeeper": "zk1:2181/kafka"},
        answers=Answers(
            cluster_id="4L6g3nShT-eMCtK--X86sw",
            controllers=[],
            brokers=[{"log.dirs": "/data/d0, /data/d1"}],
            taken={1, 2},
            log_dirs={1: ("/data/d0", "/data/d1")},
        ),
        not_known=(
            "brokers: it is down",
            "broker 2: it is down",
            "controller at c2:9093: refused",
            "controller at c3:9093: it does not report its node id",
        ),
    )


def test_nothing_is_planned_of_another_cluster() -> None:
    entry = parse_config(CONFIG, Path("kraftgate.yaml")).clusters[0]
    topics = Topics(cluster_id="theirs", broker_ids=frozenset({1}), partitions=())
    ids = "configured or followed before: ours; the brokers: theirs"
    with pytest.raises(ConfigError, match=f"cluster prod: there are several cluster ids: {ids}"):
        facts_of(entry, Facts(cluster="prod", wanted_id="ours", topics=topics))


def test_a_leader_of_an_earlier_epoch_does_not_come_last() -> None:
    """A leader that lost contact to the others may still report its own epoch."""
    entry = parse_config(CONFIG, Path("kraftgate.yaml")).clusters[0]
    now = replace(QUORUM, leader=3001, epoch=QUORUM.epoch + 1)
    asked = Facts(
        cluster="prod",
        controllers=(
            Controller(endpoint="c1:9093", node_id=3000, quorum=QUORUM),
            Controller(endpoint="c2:9093", node_id=3001, quorum=now),
        ),
    )
    assert facts_of(entry, asked).leaders == Leaders(active_controller=3001)


def test_a_kraft_controller_is_no_broker_that_comes_last() -> None:
    entry = parse_config(CONFIG, Path("kraftgate.yaml")).clusters[0]
    claimed = ZooKeeper(controller=HOLDER.replace(b"-1", b"1"))
    asked = Facts(cluster="prod", zookeeper=claimed)
    assert facts_of(entry, asked).leaders == Leaders()

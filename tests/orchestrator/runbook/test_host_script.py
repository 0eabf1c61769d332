"""kraftgate-node, the example's script on a host: what it does, does not repeat, and refuses."""

import grp
import json
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.orchestrator.runbook.hosts import HOOKS, Host, host
from tests.support.polling import PATIENCE_S

pytestmark = pytest.mark.slow


@pytest.fixture
def here(tmp_path: Path) -> Host:
    return host(tmp_path)


def linked(here: Host, kind: str = "broker") -> str:
    return (here.etc / f"{kind}.properties").resolve().name


def test_a_broker_is_started_with_the_properties_of_its_mode(here: Host) -> None:
    done = here.node("switch", "broker", "1", "migration")
    assert (done.returncode, done.stderr) == (0, "")
    assert linked(here) == "broker.migration.properties"
    assert here.calls() == ["stop kafka", "start kafka"]


def test_what_is_done_is_not_done_again(here: Host) -> None:
    here.node("switch", "broker", "1", "kraft")
    again = here.node("switch", "broker", "1", "kraft")
    assert again.returncode == 0
    assert "already" in again.stdout
    assert here.calls() == ["stop kafka", "start kafka"]


@pytest.mark.parametrize("what", ["another start", "other properties", "it is down"])
def test_what_is_not_known_to_be_done_is_done(here: Host, what: str) -> None:
    here.node("switch", "broker", "1", "kraft")
    if what == "another start":
        here.call("systemctl", "stop", "kafka")
        here.call("systemctl", "start", "kafka")
    elif what == "it is down":
        here.call("systemctl", "stop", "kafka")
    else:
        file = here.etc / "broker.kraft.properties"
        file.write_text(file.read_text("utf-8") + "num.io.threads=9\n", "utf-8")
    before = len(here.calls())
    assert here.node("switch", "broker", "1", "kraft").returncode == 0
    assert here.calls()[before:] == ["stop kafka", "start kafka"]


def test_all_modes_there_and_back(here: Host) -> None:
    for mode in ("migration", "kraft", "migration", "zookeeper"):
        assert here.node("switch", "broker", "1", mode).returncode == 0
        assert linked(here) == f"broker.{mode}.properties"


REFUSED = {
    "no file of the mode": "broker.kraft.properties is not there or empty",
    "another host": "is of id '1', not of 2: is this the right host?",
    "a file of another mode": "is not for mode kraft: process.roles='',"
    " zookeeper.metadata.migration.enable='true'",
    "no disk": "is not there: is its disk mounted?",
    "no meta.properties": "d1 has no meta.properties that ",
    "other directories": "are not those that it runs with",
    "no link": "is no link: move it to",
    "another spelling": "data/d1/ and log.dirs names {data}/d1: Kafka compares the text",
    "a unit that restarts by itself": "kafka has Restart=on-failure: systemd may start the broker",
    "a unit that must not be started": "remove /etc/systemd/system/kafka.service.d/held.conf",
    "a unit that is masked": "kafka has LoadState=masked: systemd cannot start it",
    "no such unit": "kafka has LoadState=not-found: systemd cannot start it",
    "no such user": "kafka runs as 'kafkaa', and there is no such user",
    "no such group": "kafka has Group=kafkaa, and there is no such group",
}


SHOWN = {
    "a unit that restarts by itself": ("restart", "on-failure"),
    "a unit that must not be started": ("held", "yes"),
    "a unit that is masked": ("load", "masked"),
    "no such unit": ("load", "not-found"),
    "no such user": ("user", "kafkaa"),
    "no such group": ("group", "kafkaa"),
}
"""What systemd shows of the unit."""


@pytest.mark.parametrize("why", REFUSED)
def test_a_step_is_refused_before_the_broker_is_touched(here: Host, why: str) -> None:
    broker = "1"
    if why in SHOWN:
        name, value = SHOWN[why]
        (here.root / f"units.{name}").write_text(f"{value}\n", "utf-8")
    file = here.etc / "broker.kraft.properties"
    match why:
        case "no file of the mode":
            file.unlink()
        case "another host":
            broker = "2"
        case "a file of another mode":
            file.write_text((here.etc / "broker.migration.properties").read_text("utf-8"), "utf-8")
        case "no disk":
            (here.root / "data" / "d1").rename(here.root / "data" / "away")
        case "no meta.properties":
            (here.root / "data" / "d1" / "meta.properties").unlink()
        case "other directories":
            here.directory("d2")
            file.write_text(file.read_text("utf-8").replace("data/d1", "data/d2"), "utf-8")
        case "another spelling":  # MetaPropertiesEnsemble.verify: Duplicate directory ID
            metadata = f"metadata.log.dir={here.root}/data/d1/\n"
            file.write_text(file.read_text("utf-8") + metadata, "utf-8")
        case "no link":
            link = here.etc / "broker.properties"
            text = link.read_text("utf-8")
            link.unlink()
            link.write_text(text, "utf-8")
    checked = here.node("check", "broker", broker, "kraft")
    done = here.node("switch", "broker", broker, "kraft")
    assert done.returncode == checked.returncode == 1
    assert REFUSED[why].format(data=here.root / "data") in done.stderr
    assert checked.stderr == done.stderr
    assert here.calls() == []


@pytest.fixture
def unprivileged() -> Iterator[tuple[Host, str]]:
    """A host whose Kafka does not run as root, and its user."""
    with TemporaryDirectory() as root:
        there = host(Path(root))
        for path in (there.root, there.root / "data"):
            path.chmod(0o755)
        for directory in (there.root / "data").iterdir():
            (directory / ".lock").touch()
        user = (there.root / "units.user").read_text("utf-8").strip()
        if os.getuid() == 0:
            user = "nobody"
            (there.root / "units.user").write_text(f"{user}\n", "utf-8")
            for path in (there.root / "data").rglob("*"):
                shutil.chown(path, user)
        yield there, user


FOR_ROOT_ALONE = {
    "meta.properties": (0o000, "{data}/d1 has no meta.properties that {user} can read"),
    ".": (0o555, "{user} cannot write to {data}/d1: is its file system mounted read-only,"),
    ".lock": (0o444, "{user} cannot write to {data}/d1/.lock: is its file system mounted"),
}


@pytest.mark.parametrize("name", FOR_ROOT_ALONE)
def test_what_kafka_itself_cannot_use_is_refused(unprivileged: tuple[Host, str], name: str) -> None:
    """Kafka takes such a directory offline at its start, and H1 to H3 follow."""
    there, user = unprivileged
    assert there.node("check", "switch", "broker", "1", "kraft").returncode == 0
    mode, why = FOR_ROOT_ALONE[name]
    (there.root / "data" / "d1" / name).chmod(mode)
    for words in (("check", "switch"), ("switch",)):
        done = there.node(*words, "broker", "1", "kraft")
        assert done.returncode == 1
        assert f"refused: {why.format(data=there.root / 'data', user=user)}" in done.stderr
    assert there.calls() == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root can change the owner of a file")
def test_the_group_of_the_unit_is_kafka_s_group(unprivileged: tuple[Host, str]) -> None:
    """systemd starts it with this group instead of the user's own."""
    there, user = unprivileged
    own, other = grp.getgrgid(pwd.getpwnam(user).pw_gid).gr_name, grp.getgrnam("daemon").gr_name
    meta = there.root / "data" / "d1" / "meta.properties"
    meta.chmod(0o640)
    for group, owner in ((own, other), (other, own)):
        (there.root / "units.group").write_text(f"{group}\n", "utf-8")
        shutil.chown(meta, "root", group)
        assert there.node("check", "switch", "broker", "1", "kraft").returncode == 0
        shutil.chown(meta, "root", owner)
        done = there.node("check", "switch", "broker", "1", "kraft")
        assert done.returncode == 1
        assert f"has no meta.properties that {user} can read" in done.stderr


def test_without_a_user_in_the_unit_the_configured_one_runs_kafka(
    unprivileged: tuple[Host, str],
) -> None:
    there, user = unprivileged
    (there.root / "units.user").write_text("\n", "utf-8")
    (there.root / "data" / "d1" / "meta.properties").chmod(0o000)
    for named, why in (("kafkaa", "and there is no such user"), (user, f"that {user} can read")):
        with (there.root / "node.conf").open("a", encoding="utf-8") as conf:
            conf.write(f"KAFKA_USER={named}\n")
        done = there.node("check", "switch", "broker", "1", "kraft")
        assert done.returncode == 1
        assert why in done.stderr


@pytest.mark.parametrize("restart", ["always", "on-success", "on-abnormal", ""])
@pytest.mark.parametrize("mode", ["migration", "kraft", "jbod"])
def test_a_broker_that_halts_must_stay_down(here: Host, mode: str, restart: str) -> None:
    """systemd would start it again, with the failed disk, within seconds."""
    kraft = (here.etc / "broker.kraft.properties").read_text("utf-8")
    (here.etc / "broker.jbod.properties").write_text(kraft, "utf-8")
    (here.root / "units.restart").write_text(f"{restart}\n", "utf-8")
    done = here.node("check", "switch", "broker", "1", mode)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"refused: kafka has Restart={restart}: " in done.stderr


def test_an_unknown_restart_is_not_treated_as_none(here: Host) -> None:
    (here.root / "units.restart").unlink()
    done = here.node("check", "switch", "broker", "1", "migration")
    assert (done.returncode, done.stdout) == (1, "")
    assert "refused: kafka has Restart=: " in done.stderr


def test_what_loses_nothing_may_restart_by_itself(here: Host) -> None:
    controller(here)
    (here.root / "units.restart").write_text("always\n", "utf-8")
    assert here.node("switch", "broker", "1", "zookeeper").returncode == 0
    assert here.node("provision", "controller").returncode == 0


@pytest.mark.parametrize("version", ["version=1", "version = 1 "])
def test_a_disk_formatted_for_kraft_does_not_go_back_to_zookeeper(here: Host, version: str) -> None:
    """Kafka in ZooKeeper mode refuses it, after the controllers are gone."""
    meta = here.root / "data" / "d1" / "meta.properties"
    meta.write_text(f"{version}\nnode.id=1\n", "utf-8")
    for mode in ("migration", "kraft"):
        assert here.node("check", "switch", "broker", "1", mode).returncode == 0
    for words in (("check", "switch"), ("switch",)):
        done = here.node(*words, "broker", "1", "zookeeper")
        assert done.returncode == 1
        assert f"{meta} has version 1" in done.stderr
    assert here.calls() == []
    meta.write_text("version=0\nbroker.id=1\n", "utf-8")
    assert here.node("switch", "broker", "1", "zookeeper").returncode == 0


def test_zookeeper_mode_ignores_the_metadata_log_directory(here: Host) -> None:
    """And another text that is no other spelling is another directory."""
    for mode, path in (("kraft", "data/d1"), ("kraft", "data/d2"), ("zookeeper", "data/d1/")):
        file = here.etc / f"broker.{mode}.properties"
        metadata = f"metadata.log.dir={here.root}/{path}\n"
        file.write_text(file.read_text("utf-8") + metadata, "utf-8")
        done = here.node("check", "broker", "1", mode)
        assert (done.returncode, done.stderr) == (0, ""), path


def test_what_a_step_would_do_is_checked_and_not_done(here: Host) -> None:
    controller(here)
    znodes(here, controller=KRAFT)
    for command in (
        ("switch", "broker", "1", "kraft"),
        ("broker", "1", "kraft"),
        ("provision", "controller"),
        ("deprovision", "controller"),
        ("delete-znodes", "check-zk:2181/kafka"),
    ):
        done = here.node("check", *command)
        assert (done.returncode, done.stderr) == (0, ""), command
    assert "/controller is there\n/migration is not there\n" in done.stdout
    assert here.calls() == []
    assert linked(here) == "broker.zookeeper.properties"
    assert not (here.root / "data" / "metadata").exists()
    assert left(here) == ["/controller"]


def test_what_would_be_refused_is_said_by_the_check(here: Host) -> None:
    assert here.node("check", "provision", "controller").returncode == 1
    assert here.node("check", "deprovision", "controller").returncode == 1
    controller(here)
    (here.root / "bin" / "kafka-storage.sh").unlink()
    done = here.node("check", "provision", "controller")
    assert "kafka-storage.sh cannot be called" in done.stderr


def test_a_directory_that_goes_while_the_broker_stops_keeps_it_stopped(here: Host) -> None:
    systemctl = here.root / "bin" / "systemctl"
    gone = f'case "$*" in stop*) mv {here.root}/data/d1 {here.root}/data/away ;; esac\n'
    text = systemctl.read_text("utf-8").replace("set -eu\n", f"set -eu\n{gone}", 1)
    systemctl.write_text(text, "utf-8")
    done = here.node("switch", "broker", "1", "kraft")
    assert done.returncode == 1
    assert "kafka is stopped; it is started only if" in done.stdout
    assert here.calls() == ["stop kafka"]
    assert linked(here) == "broker.zookeeper.properties"


def test_a_connection_that_ends_during_the_stop_does_not_keep_the_broker_stopped(
    here: Host,
) -> None:
    """ssh drops: the next line that the script prints has no reader, and a terminal hangs up."""
    with here.stopping("kafka", "switch", "broker", "1", "kraft") as script:
        script.hang_up()
    assert script.returncode == 0
    assert here.calls() == ["stop kafka", "start kafka"]
    assert linked(here) == "broker.kraft.properties"


def test_a_connection_that_ends_does_not_leave_half_of_the_directories(here: Host) -> None:
    controller(here)
    file = here.etc / "controller.migration.properties"
    more = f"metadata.log.dir={here.root}/data/more\n"
    file.write_text(file.read_text("utf-8") + more, "utf-8")
    for name in ("metadata", "more"):
        here.directory(name, CONTROLLERS)
    with here.stopping("kafka-controller", "deprovision", "controller") as script:
        script.hang_up()
    assert script.returncode == 0
    kept = sorted(path.name for path in (here.root / "data").iterdir())
    assert kept == ["d0", "d1", "metadata.rolled-back.1", "more.rolled-back.1"]


def test_a_unit_that_does_not_come_up_is_a_failure_and_is_tried_again(here: Host) -> None:
    (here.root / "dies" / "kafka").touch()
    failed = here.node("switch", "broker", "1", "kraft")
    assert failed.returncode == 1
    assert "did not start: journalctl -u kafka" in failed.stderr
    (here.root / "dies" / "kafka").unlink()
    assert here.node("switch", "broker", "1", "kraft").returncode == 0


def test_more_directories_come_behind_those_that_there_are(here: Host) -> None:
    here.node("switch", "broker", "1", "kraft")
    data = here.root / "data"
    here.directory("d2")
    kraft = (here.etc / "broker.kraft.properties").read_text("utf-8")
    jbod = here.etc / "broker.jbod.properties"
    jbod.write_text(kraft.replace("log.dirs=", f"log.dirs={data}/d2,"), "utf-8")
    before = here.node("switch", "broker", "1", "jbod")
    assert before.returncode == 1
    assert "must begin with those that there are" in before.stderr
    jbod.write_text(kraft.replace("/d1", f"/d1,{data}/d2"), "utf-8")
    assert here.node("switch", "broker", "1", "jbod").returncode == 0


CONTROLLERS = "version=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\nnode.id=3000\n"


def controller(here: Host, quorum: str = "controller_quorum_voters") -> None:
    metadata = here.root / "data" / "metadata"
    for mode, more in (
        ("migration", {"zookeeper_metadata_migration_enable": "true"}),
        ("kraft", {}),
    ):
        here.properties(
            f"controller.{mode}",
            process_roles="controller",
            node_id="3000",
            log_dirs=str(metadata),
            **{quorum: "3000@c1:9093"},
            **more,
        )


def test_a_controller_is_provisioned_finalized_and_put_aside(here: Host) -> None:
    controller(here)
    for _ in range(2):
        done = here.node("provision", "controller")
        assert (done.returncode, done.stderr) == (0, "")
    assert here.calls().count("start kafka-controller") == 1
    assert "--release-version 3.9" in (here.root / "storage.log").read_text("utf-8")
    assert here.node("switch", "controller", "3000", "kraft").returncode == 0
    assert linked(here, "controller") == "controller.kraft.properties"
    for _ in range(2):
        assert here.node("deprovision", "controller").returncode == 0
    assert here.calls()[-1] == "disable --quiet --now kafka-controller"
    kept = sorted(path.name for path in (here.root / "data").iterdir())
    assert kept == ["d0", "d1", "metadata.rolled-back.1"]


def test_a_controller_does_not_continue_the_log_of_an_earlier_attempt(here: Host) -> None:
    controller(here)
    log = here.root / "data" / "metadata" / "__cluster_metadata-0"
    log.mkdir(parents=True)
    for words in (("check", "provision", "controller"), ("provision", "controller")):
        done = here.node(*words)
        assert done.returncode == 1
        assert (
            "has a metadata log. If an attempt that was rolled back wrote it, move" in done.stderr
        )
    assert here.calls().count("start kafka-controller") == 0
    log.rmdir()
    assert here.node("provision", "controller").returncode == 0
    log.mkdir()
    assert here.node("provision", "controller").returncode == 0, "it runs: this attempt's log"


def test_a_dynamic_quorum_is_formatted_with_all_its_controllers(here: Host) -> None:
    """Kafka's error suggests --standalone, which makes each controller a quorum of its own."""
    controller(here, quorum="controller_quorum_bootstrap_servers")
    for words in (("check", "provision"), ("provision",)):
        done = here.node(*words, "controller")
        assert done.returncode == 1
        assert "INITIAL_CONTROLLERS is not set in" in done.stderr
    assert here.calls() == []
    every = "3000@c1:9093:AAAAAAAAAAAAAAAAAAAAAQ,3001@c2:9093:AAAAAAAAAAAAAAAAAAAAAg"
    with (here.root / "node.conf").open("a", encoding="utf-8") as conf:
        conf.write(f"INITIAL_CONTROLLERS={every}\n")
    done = here.node("provision", "controller")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"--initial-controllers {every}" in (here.root / "storage.log").read_text("utf-8")


def test_every_directory_of_the_metadata_is_put_aside(here: Host) -> None:
    """The next attempt must not find the log of this one; a path may end with a slash."""
    data = here.root / "data"
    here.properties(
        "controller.migration",
        process_roles="controller",
        node_id="3000",
        log_dirs=f"{data}/logs/",
        metadata_log_dir=f"{data}/metadata",
        zookeeper_metadata_migration_enable="true",
    )
    for name in ("logs", "metadata"):
        here.directory(name, CONTROLLERS)
    done = here.node("deprovision", "controller")
    assert (done.returncode, done.stderr) == (0, "")
    kept = sorted(path.name for path in data.iterdir())
    assert kept == ["d0", "d1", "logs.rolled-back.1", "metadata.rolled-back.1"]


def test_a_mount_point_is_refused_before_the_controller_is_stopped(here: Host) -> None:
    """It cannot be renamed, and the znodes are deleted right after the stop."""
    controller(here)
    stand_in = here.root / "bin" / "mountpoint"
    stand_in.write_text('#!/bin/sh\n[ -e "$2/lost+found" ]\n', "utf-8")
    stand_in.chmod(0o755)
    (here.directory("metadata", CONTROLLERS) / "lost+found").mkdir()
    for words in (("check", "deprovision"), ("deprovision",)):
        done = here.node(*words, "controller")
        assert done.returncode == 1
        assert "is a mount point, which cannot be renamed" in done.stderr
    assert here.calls() == []


MADE_FROM_THE_BROKERS_FILE = {
    "log.dirs": ("log_dirs", "{data}/d0,{data}/d1", "d0 is not the controller's alone"),
    "a slash": ("log_dirs", "{data}/d1//", "d1 is not the controller's alone"),
    "another spelling": ("log_dirs", "{data}/../data/./d1", "d1 is not the controller's alone"),
    "metadata.log.dir": ("metadata_log_dir", "{data}/d1", "d1 is not the controller's alone"),
    "below": ("log_dirs", "{data}/d1/metadata", "metadata is in a log directory of a broker"),
    "above": ("log_dirs", "{data}", "data is not the controller's alone"),
    "no file of the broker": ("log_dirs", "{data}/d2", "d2 is of node '1', not of 3000"),
    "another controller": ("log_dirs", "{data}/d3", "d3 is of node '3001', not of 3000"),
    "no id": ("log_dirs", "{data}/d4", "d4 is of node '', not of 3000"),
}


@pytest.mark.parametrize("how", MADE_FROM_THE_BROKERS_FILE)
def test_a_directory_of_another_node_is_left(here: Host, how: str) -> None:
    """A controller's file that was made from the broker's still had the broker's log.dirs."""
    key, named, why = MADE_FROM_THE_BROKERS_FILE[how]
    cluster = "version=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\n"
    here.directory("d0", f"{cluster}node.id=1\n")
    here.directory("d1", f"{cluster}node.id=3000\n")  # even so, as the broker's file names it
    here.directory("d2", "version=0\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\nbroker.id=1\n")
    here.directory("d3", f"{cluster}node.id=3001\n")
    here.directory("d4", cluster)
    controller(here)
    file = here.etc / "controller.migration.properties"
    data = here.root / "data"
    line = f"{key.replace('_', '.')}={named.format(data=data)}\n"
    file.write_text(file.read_text("utf-8") + line, "utf-8")
    before = sorted(path.name for path in data.iterdir())
    for words in (
        ("check", "provision"),
        ("provision",),
        ("check", "deprovision"),
        ("deprovision",),
    ):
        done = here.node(*words, "controller")
        assert done.returncode == 1, words
        assert why in done.stderr
        assert str(file) in done.stderr
    assert sorted(path.name for path in data.iterdir()) == before
    assert here.calls() == []
    assert not (here.root / "storage.log").exists()


def test_a_controller_whose_unit_may_not_start_is_not_formatted(here: Host) -> None:
    controller(here)
    (here.root / "units.held").write_text("yes\n", "utf-8")
    for words in (("check", "provision"), ("provision",)):
        done = here.node(*words, "controller")
        assert done.returncode == 1
        assert "remove /etc/systemd/system/kafka-controller.service.d/held.conf" in done.stderr
    assert here.calls() == []
    assert not (here.root / "data" / "metadata").exists()


def test_a_directory_of_another_cluster_is_not_provisioned(here: Host) -> None:
    controller(here)
    here.directory("metadata", "version=1\ncluster.id=another\nnode.id=3000\n")
    done = here.node("provision", "controller")
    assert done.returncode == 1
    assert "was formatted for another cluster" in done.stderr
    assert here.calls() == []


SHELL = """#!/usr/bin/env python3
# Stands in for zookeeper-shell.sh: a tree in a file, and the real one's noise around its answers.
import json, pathlib, sys
file = pathlib.Path({root!r}) / "znodes.json"
tree = json.loads(file.read_text())
_, connect, command, path = sys.argv
print("Connecting to", connect, "\\n\\nWATCHER::\\n\\nWatchedEvent state:SyncConnected type:None")
if command == "ls":
    print([name.lstrip("/") for name in tree].__str__().replace("'", ""))
elif command == "getAcl":
    print((file.parent / "acl").read_text())
elif command == "get":
    print(tree[path])
else:
    del tree[path]
    file.write_text(json.dumps(tree))
"""
KRAFT = '{"version":2,"brokerid":3000,"timestamp":"1","kraftControllerEpoch":1}'
BROKER = '{"version":2,"brokerid":1,"timestamp":"1","kraftControllerEpoch":-1}'
MIGRATION = '{"version":0,"kraft_metadata_offset":283}'


def znodes(here: Host, **tree: str) -> None:
    shell = here.root / "bin" / "zookeeper-shell.sh"
    shell.write_text(SHELL.format(root=str(here.root)), "utf-8")
    shell.chmod(0o755)
    named = {f"/{name}": value for name, value in tree.items()}
    (here.root / "znodes.json").write_text(json.dumps(named), "utf-8")
    (here.root / "acl").write_text("'world,'anyone\n: cdrwa\n", "utf-8")


def left(here: Host) -> list[str]:
    return sorted(json.loads((here.root / "znodes.json").read_text("utf-8")))


def test_the_znodes_of_the_kraft_controllers_go(here: Host) -> None:
    znodes(here, controller=KRAFT, migration=MIGRATION, brokers="")
    done = here.node("delete-znodes", "zk1:2181,zk2:2181/kafka")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"/migration: {MIGRATION}" in done.stdout
    assert left(here) == ["/brokers"]
    assert here.node("delete-znodes", "zk1:2181,zk2:2181/kafka").returncode == 0


REFUSES = """
if command == "delete" and path == {path!r}:
    print("Insufficient permission :", path)
    sys.exit(1)
"""


@pytest.mark.parametrize("path", ["/controller", "/migration"])
def test_a_delete_that_zookeeper_refuses_is_printed(here: Host, path: str) -> None:
    """With ACLs, the shell needs the brokers' login; the KRaft controllers are stopped."""
    znodes(here, controller=KRAFT, migration=MIGRATION)
    shell = here.root / "bin" / "zookeeper-shell.sh"
    refuses = REFUSES.format(path=path)
    text = shell.read_text("utf-8").replace('\nif command == "ls"', f'{refuses}if command == "ls"')
    shell.write_text(text, "utf-8")
    done = here.node("delete-znodes", "zk1:2181")
    assert done.returncode == 1
    assert f"{path} is deleted" not in done.stdout
    assert f"refused: {path} is still there: Insufficient permission : {path}" in done.stderr
    assert path in left(here)


@pytest.mark.parametrize("acl", ["'sasl,'kafka\n: cdrwa\n'world,'anyone\n: r\n", ""])
def test_the_check_wants_the_login_that_may_delete(here: Host, acl: str) -> None:
    """`ls` and `get` need none: everybody may read what a broker with zookeeper.set.acl made."""
    znodes(here, controller=KRAFT, migration=MIGRATION)
    (here.root / "acl").write_text(acl, "utf-8")
    done = here.node("check", "delete-znodes", "zk1:2181")
    assert done.returncode == 1
    assert "not everybody may delete znodes in ZooKeeper at zk1:2181" in done.stderr
    for options, code in (
        ("-Djava.net.preferIPv4Stack=true", 1),
        ("-Xmx1g -Djava.security.auth.login.config=/etc/kafka/zk.jaas", 0),
        ("-Dzookeeper.ssl.keyStore.location=/etc/kafka/zk.p12", 0),
    ):
        with (here.root / "node.conf").open("a", encoding="utf-8") as conf:
            conf.write(f"export KAFKA_OPTS='{options}'\n")
        assert here.node("check", "delete-znodes", "zk1:2181").returncode == code, options


def test_a_znode_that_was_deleted_meanwhile_is_gone(here: Host) -> None:
    """Its owner's session may end between the read and the delete."""
    znodes(here, controller=KRAFT, migration=MIGRATION)
    shell = here.root / "bin" / "zookeeper-shell.sh"
    text = shell.read_text("utf-8") + "    print('Node does not exist:', path)\n    sys.exit(1)\n"
    shell.write_text(text, "utf-8")
    done = here.node("delete-znodes", "zk1:2181")
    assert (done.returncode, left(here)) == (0, [])


def test_a_broker_that_claims_at_once_is_left(here: Host) -> None:
    znodes(here, controller=KRAFT, migration=MIGRATION)
    shell = here.root / "bin" / "zookeeper-shell.sh"
    text = shell.read_text("utf-8")
    claims = f"    if path == '/controller': tree[path] = {BROKER!r}\n"
    shell.write_text(text.replace("    del tree[path]\n", f"    del tree[path]\n{claims}"), "utf-8")
    assert here.node("delete-znodes", "zk1:2181").returncode == 0
    assert left(here) == ["/controller"]


def test_the_claim_of_a_broker_stays(here: Host) -> None:
    znodes(here, controller=BROKER, migration=MIGRATION)
    assert here.node("delete-znodes", "zk1:2181").returncode == 0
    assert left(here) == ["/controller"]


def test_a_claim_that_nobody_can_read_is_left_to_a_person(here: Host) -> None:
    znodes(here, controller="?", migration=MIGRATION)
    done = here.node("delete-znodes", "zk1:2181")
    assert done.returncode == 1
    assert "delete it by hand" in done.stderr
    assert left(here) == ["/controller", "/migration"]


@pytest.mark.parametrize(
    "arguments",
    [(), ("switch",), ("switch", "broker", "x", "kraft"), ("switch", "topic", "1", "kraft"),
     ("provision", "broker"), ("delete-znodes", "a;b"), ("destroy", "all"), ("check",),
     ("check", "check", "provision", "controller"), ("check", "switch", "broker", "1"),
     ("check", "delete-znodes", "a;b")],
)  # fmt: skip
def test_a_call_that_is_none_changes_nothing(here: Host, arguments: tuple[str, ...]) -> None:
    done = here.node(*arguments)
    assert done.returncode == 1
    assert here.calls() == []


def ssh(here: Host, *arguments: str, dead: str = "", refuses: str = "") -> tuple[int, list[str]]:
    """Call kraftgate-ssh with a stand-in for ssh; give its code, and what it called where."""
    called = here.root / "ssh.log"
    stub = here.root / "bin" / "ssh"
    stub.write_text(
        f'#!/bin/sh\necho "$*" >> {called}\n'
        f'case "$1" in {dead or "-"}) exit 255 ;; {refuses or "-"}) exit 1 ;; esac\n',
        "utf-8",
    )
    stub.chmod(0o755)
    done = here.call(
        "sh", str(HOOKS / "kraftgate-ssh"), *arguments, KRAFTGATE_SSH="ssh", KRAFTGATE_NODE="node"
    )
    return done.returncode, called.read_text("utf-8").splitlines() if called.exists() else []


def test_ssh_goes_from_host_to_host(here: Host) -> None:
    code, called = ssh(here, "c1:9093,c2:9093", "provision", "controller")
    assert (code, called) == (0, ["c1 node provision controller", "c2 node provision controller"])


def test_ssh_goes_to_an_ipv6_address(here: Host) -> None:
    """The brackets of a word are quoted: the other side's shell takes them for a pattern."""
    code, called = ssh(
        here, "[fd00::1]:9093,fd00::2,[fd00::3]", "delete-znodes", "[fd00::4]:2181/k"
    )
    said = "node delete-znodes '[fd00::4]:2181/k'"
    assert (code, called) == (0, [f"fd00::{each} {said}" for each in (1, 2, 3)])


@pytest.mark.parametrize(
    "hosts", ["[]:9093", "k1:9092:9093", "[fd00::1", "fd00::1]", "k1[a]", "::x"]
)
def test_ssh_goes_to_no_odd_address(here: Host, hosts: str) -> None:
    assert ssh(here, hosts, "provision", "controller") == (2, [])


def test_a_host_that_is_down_does_not_keep_the_others_from_their_turn(here: Host) -> None:
    code, called = ssh(here, "c1:9093,c2:9093", "provision", "controller", dead="c1")
    assert code == 1
    assert len(called) == 2


def test_controllers_are_stopped_after_every_host_has_been_checked(here: Host) -> None:
    code, called = ssh(here, "c1:9093,c2:9093", "deprovision", "controller")
    hosts = ("c1", "c2")
    checks = [f"{each} node check deprovision controller" for each in hosts]
    assert (code, called) == (
        0,
        [*checks, *(f"{each} node deprovision controller" for each in hosts)],
    )


@pytest.mark.parametrize("kind", ["dead", "refuses"])
@pytest.mark.parametrize("host", ["c1", "c3"])
def test_one_host_that_refuses_keeps_every_controller_running(
    here: Host, kind: str, host: str
) -> None:
    """The controllers that are left would have no majority, and would keep /controller."""
    code, called = ssh(here, "c1:9093,c2:9093,c3:9093", "deprovision", "controller", **{kind: host})
    checks = [f"{each} node check deprovision controller" for each in ("c1", "c2", "c3")]
    assert (code, called) == (1, checks)


def test_the_first_that_can_be_reached_is_enough(here: Host) -> None:
    code, called = ssh(here, "--first", "c1,c2,c3", "delete-znodes", "zk:2181", dead="c1")
    assert (code, len(called)) == (0, 2)


@pytest.mark.parametrize("word", ["$(reboot)", "a b", "-x", "", "a;b"])
def test_nothing_odd_reaches_the_other_sides_shell(here: Host, word: str) -> None:
    assert ssh(here, "c1", "switch", word) == (2, [])
    assert ssh(here, word or "-", "switch", "broker")[1] == []


def test_shellcheck_has_nothing_to_say() -> None:
    entry_point = HOOKS.parent / "container" / "entrypoint"
    scripts = [str(HOOKS / "kraftgate-node"), str(HOOKS / "kraftgate-ssh"), str(entry_point)]
    found = subprocess.run(
        [Path(sys.executable).with_name("shellcheck"), *scripts],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert found.stdout + found.stderr == ""

"""The server properties of each mode: what the migration demands, and nothing else."""

from pathlib import Path

import pytest

from migration.image.summary import Mode
from orchestrator.lab.cluster import properties
from orchestrator.lab.cluster.layout import Layout
from orchestrator.lab.cluster.spec import LabSpec
from orchestrator.lab.errors import WrongStateError
from orchestrator.lab.machine.ports import Ports


def test_zookeeper_mode_has_no_word_of_kraft(layout: Layout) -> None:
    rendered = properties.broker_properties(layout, layout.broker(1), Mode.ZOOKEEPER)
    assert rendered["zookeeper.connect"] == layout.zookeeper_connect
    assert not {key for key in rendered if "controller" in key or "migration" in key}


def test_migrating_mode_adds_the_flag_and_the_quorum_only(layout: Layout) -> None:
    before = properties.broker_properties(layout, layout.broker(1), Mode.ZOOKEEPER)
    after = properties.broker_properties(layout, layout.broker(1), Mode.MIGRATING)
    assert set(after) - set(before) == {
        "zookeeper.metadata.migration.enable",
        "controller.quorum.voters",
        "controller.listener.names",
        "listener.security.protocol.map",
    }
    assert all(after[key] == value for key, value in before.items())
    assert after["inter.broker.protocol.version"] == "3.9"


def test_kraft_mode_has_no_word_of_zookeeper(layout: Layout) -> None:
    rendered = properties.broker_properties(layout, layout.broker(2), Mode.KRAFT)
    assert rendered["process.roles"] == "broker"
    assert rendered["node.id"] == "2"
    assert not {k for k in rendered if "zookeeper" in k or k == "inter.broker.protocol.version"}


def test_directories_and_address_never_change_with_the_mode(layout: Layout) -> None:
    rendered = [properties.broker_properties(layout, layout.broker(1), mode) for mode in Mode]
    for key in ("log.dirs", "listeners", "advertised.listeners"):
        assert len({one[key] for one in rendered}) == 1
    assert len(rendered[0]["log.dirs"].split(",")) == 2


def test_finalizing_removes_the_flag_and_zookeeper_from_a_controller(layout: Layout) -> None:
    node = layout.controller(3000)
    before = properties.controller_properties(layout, node, Mode.MIGRATING)
    after = properties.controller_properties(layout, node, Mode.KRAFT)
    assert set(before) - set(after) == {"zookeeper.metadata.migration.enable", "zookeeper.connect"}


def test_the_quorum_names_every_controller(layout: Layout) -> None:
    voters = properties.controller_properties(layout, layout.controller(3001), Mode.KRAFT)[
        "controller.quorum.voters"
    ].split(",")
    assert [voter.split("@")[0] for voter in voters] == ["3000", "3001", "3002"]
    assert [voter.split("@")[1] for voter in voters] == layout.controller_bootstrap.split(",")


def test_overrides_win_and_the_chroot_is_in_the_connect_string(tmp_path: Path) -> None:
    ports = Ports()
    spec = LabSpec(
        brokers=1,
        broker_properties={"num.io.threads": "1", "min.insync.replicas": "2"},
        controller_properties={"metadata.log.max.record.bytes.between.snapshots": "1000"},
        zookeeper_chroot="/kafka",
    )
    layout = Layout(spec, tmp_path, ports)
    ports.close()
    broker = properties.broker_properties(layout, layout.broker(1), Mode.ZOOKEEPER)
    controller = properties.controller_properties(layout, layout.controller(3000), Mode.KRAFT)
    assert (broker["num.io.threads"], broker["min.insync.replicas"]) == ("1", "2")
    assert broker["zookeeper.connect"].endswith("/kafka")
    assert controller["metadata.log.max.record.bytes.between.snapshots"] == "1000"


def test_one_zookeeper_knows_no_others(layout: Layout) -> None:
    (node,) = layout.zookeepers.values()
    assert (node.name, layout.zookeeper_connect) == ("zookeeper", node.address)
    rendered = properties.zookeeper_properties(layout, node)
    assert not {key for key in rendered if key.startswith("server.") or key == "initLimit"}


def test_each_zookeeper_of_several_names_all_and_listens_for_itself(tmp_path: Path) -> None:
    ports = Ports()
    layout = Layout(LabSpec(zookeepers=3, zookeeper_chroot="/kafka"), tmp_path, ports)
    ports.close()
    nodes = layout.zookeepers.values()
    assert [node.name for node in nodes] == ["zookeeper-1", "zookeeper-2", "zookeeper-3"]
    addresses = ",".join(node.address for node in nodes)
    assert layout.zookeeper_connect == f"{addresses}/kafka"
    rendered = [properties.zookeeper_properties(layout, node) for node in nodes]
    assert len({each["clientPort"] for each in rendered}) == 3
    peers = [{k: v for k, v in each.items() if k.startswith("server.")} for each in rendered]
    assert peers[0] == peers[1] == peers[2]
    assert sorted(peers[0]) == ["server.1", "server.2", "server.3"]
    listening = [port for peer in peers[0].values() for port in peer.split(":")[1:]]
    assert len({*listening, *(each["clientPort"] for each in rendered)}) == 9


def test_rendered_text_is_a_properties_file() -> None:
    assert properties.render({"a": "1", "b": "c\\d"}) == "a=1\nb=c\\\\d\n"
    assert properties.render({"a": "é\N{GRINNING FACE}"}) == "a=\\u00e9\\ud83d\\ude00\n"


def test_who_is_not_in_the_lab_is_told_who_is(layout: Layout) -> None:
    with pytest.raises(WrongStateError, match=r"no broker 9.*It has: 1, 2"):
        layout.broker(9)
    with pytest.raises(WrongStateError, match=r"no process broker-9.*controller-3000"):
        layout.named("broker-9")
    with pytest.raises(WrongStateError, match=r"no log directory 2.*It has: 0, 1"):
        layout.directory(1, 2)


def test_each_broker_and_controller_has_an_exporter_and_zookeeper_has_none(tmp_path: Path) -> None:
    ports = Ports()
    with_agents = Layout(LabSpec(brokers=2, controllers=1, jmx=True), tmp_path, ports)
    assert with_agents.jmx_exporters.keys() == {1, 2, 3000}
    assert len(set(with_agents.jmx_exporters.values())) == 3
    assert Layout(LabSpec(brokers=2), tmp_path, ports).jmx_exporters == {}
    ports.close()

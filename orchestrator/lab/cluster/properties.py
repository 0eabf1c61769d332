"""Server properties: one file per member and mode, rendered from the layout. Pure, except `write`.

A broker's three files differ only where the migration requires it, so that an operator can compare
them.
"""

import re
import struct
from collections.abc import Mapping
from pathlib import Path

from migration.image.summary import Mode
from orchestrator.lab.cluster.layout import Layout, Member

_IBP = "3.9"
_ZOOKEEPER_TICK_MS = "2000"
_IDLE_FETCH_MS = "2000"
"""Kafka's default is 500. New records end a fetch at once; an idle broker needs a third less
processor time."""
_CLEANER_BYTES = str(16 * 2**20)
"""Kafka's default is 128 MB, which it writes with zeros at each start."""

AGENT = """\
# jmx_exporter's own naming. It reads this file again whenever it changes.
includeObjectNames:
  - "kafka.controller:*"
  - "kafka.log:type=LogManager,*"
  - "kafka.server:type=KafkaServer,*"
  - "kafka.server:type=ReplicaManager,*"
  - "org.apache.kafka.server:*"
"""
"""The agent's configuration: all beans would cost a second of processor time at each poll."""


def zookeeper_properties(layout: Layout, member: Member) -> dict[str, str]:
    """Return one ZooKeeper server's configuration: loopback only, no admin server."""
    alone = {
        "dataDir": str(member.directories[0]),
        "clientPort": str(member.port),
        "clientPortAddress": "127.0.0.1",
        "tickTime": _ZOOKEEPER_TICK_MS,
        "maxClientCnxns": "0",
        "admin.enableServer": "false",
        "4lw.commands.whitelist": "srvr,ruok",
    }
    peers = {
        f"server.{number}": ":".join(("127.0.0.1", *map(str, each.peer_ports)))
        for number, each in layout.zookeepers.items()
        if each.peer_ports is not None
    }
    together = {"initLimit": "10", "syncLimit": "5"} | peers if peers else {}
    return alone | together | dict(layout.spec.zookeeper_properties)


def broker_properties(layout: Layout, member: Member, mode: Mode) -> dict[str, str]:
    replicas = str(min(3, layout.spec.brokers))
    listener = f"PLAINTEXT://{member.address}"
    common = {
        "listeners": listener,
        "advertised.listeners": listener,
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": ",".join(str(directory) for directory in member.directories),
        "num.network.threads": "2",
        "num.io.threads": "4",
        "replica.fetch.wait.max.ms": _IDLE_FETCH_MS,
        "log.cleaner.dedupe.buffer.size": _CLEANER_BYTES,
        "offsets.topic.replication.factor": replicas,
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "4",
        "group.initial.rebalance.delay.ms": "0",
        "auto.create.topics.enable": "false",
    }
    by_mode = {
        Mode.ZOOKEEPER: _zookeeper_part(layout, member),
        Mode.MIGRATING: _zookeeper_part(layout, member)
        | {"zookeeper.metadata.migration.enable": "true"}
        | _quorum_part(layout),
        Mode.KRAFT: {"process.roles": "broker", "node.id": str(member.id)} | _quorum_part(layout),
    }
    return by_mode[mode] | common | dict(layout.spec.broker_properties)


def controller_properties(layout: Layout, member: Member, mode: Mode) -> dict[str, str]:
    migration = {
        "zookeeper.metadata.migration.enable": "true",
        "zookeeper.connect": layout.zookeeper_connect,
    }
    return (
        {
            "process.roles": "controller",
            "node.id": str(member.id),
            "listeners": f"CONTROLLER://{member.address}",
            "log.dirs": str(member.directories[0]),
            "num.network.threads": "2",
            "num.io.threads": "2",
        }
        | _quorum_part(layout)
        | (migration if mode is Mode.MIGRATING else {})
        | dict(layout.spec.controller_properties)
    )


def render(properties: Mapping[str, str]) -> str:
    """Return the text of a Java properties file, which is ASCII (java.util.Properties)."""
    text = "".join(f"{key}={value}\n" for key, value in properties.items())
    escaped = text.replace("\\", "\\\\")
    return re.sub(r"[^\x00-\x7f]", lambda found: _units(found[0]), escaped)


def _units(character: str) -> str:
    """Return a character as Java's escapes: one for each of its UTF-16 units."""
    units = struct.iter_unpack(">H", character.encode("utf-16-be"))
    return "".join(f"\\u{unit:04x}" for (unit,) in units)


def write(path: Path, properties: Mapping[str, str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(properties), "ascii")
    return path


def _zookeeper_part(layout: Layout, member: Member) -> dict[str, str]:
    return {
        "broker.id": str(member.id),
        "zookeeper.connect": layout.zookeeper_connect,
        "inter.broker.protocol.version": _IBP,
    }


def _quorum_part(layout: Layout) -> dict[str, str]:
    return {
        "controller.quorum.voters": layout.voters,
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    }

"""The alerts' pages, and the commands that they name."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.orchestrator.notify.rules import RUNBOOKS

FOLDER: Final = RUNBOOKS / "alerts"
PAGES: Final = tuple(sorted(each for each in FOLDER.glob("*.md") if each.name != "README.md"))
EVERYTHING: Final = tuple(sorted(FOLDER.glob("*.md")))

TOOLS: Final = {
    "kafka-dump-log.sh": "kafka.tools.DumpLogSegments",
    "kafka-cluster.sh": "org.apache.kafka.tools.ClusterTool",
    "kafka-features.sh": "org.apache.kafka.tools.FeatureCommand",
    "kafka-get-offsets.sh": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-log-dirs.sh": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-metadata-quorum.sh": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-storage.sh": "kafka.tools.StorageTool",
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
}
"""Kafka's scripts and the class that each runs, by their text in Kafka 3.9; with options to check.

The scripts themselves are in the distribution and not in the jars that the lab fetches.
"""
ZOOKEEPER_SHELL: Final = "zookeeper-shell.sh"
"""Runs ZooKeeperMain, whose commands are words."""
LOGGED_BY: Final = {
    "AssignmentsManager": "org.apache.kafka.server.AssignmentsManager",
    "KRaftMigrationDriver": "org.apache.kafka.metadata.migration.KRaftMigrationDriver",
    "Loading producer state": "kafka.log.UnifiedLog$",
    "Migration ZNode failed": "org.apache.kafka.metadata.migration.KRaftMigrationDriver",
    "No space left on device": "org.apache.kafka.storage.internals.log.LogDirFailureChannel",
    "Shutdown broker because": "kafka.server.ReplicaManager",
    "Skipping creation of log": "kafka.cluster.Partition",
    "UNSUPPORTED_VERSION": "kafka.server.BrokerLifecycleManager",
    "Unable to register": "kafka.server.BrokerLifecycleManager",
    "zookeeper": "kafka.zookeeper.ZooKeeperClient",
}
"""What pages search for in Kafka's logs, and the logger that writes it, by Kafka 3.8 and 3.9.

KRaftMigrationDriver logs the exceptions of kafka.zk.KafkaZkClient.
"""
OWN_FILES: Final = {
    "kafka.authorizer.logger": "kafka-authorizer.log",
    "kafka.controller": "controller.log",
    "kafka.log.LogCleaner": "log-cleaner.log",
    "kafka.request.logger": "kafka-request.log",
    "org.apache.kafka.controller": "controller.log",
    "state.change.logger": "state-change.log",
}
"""The loggers with a file of their own in config/log4j.properties; all others: server.log."""
_LOOKING: Final = "cat curl df dmesg findmnt free grep journalctl jstack ls ps systemctl tail"
_FORBIDDEN: Final = "fsck kill"
SHELL: Final = frozenset(f"{_LOOKING} {_FORBIDDEN}".split())
"""What is on every host; some of it is named only to be forbidden."""


def commands(page: Path) -> Iterator[tuple[str, ...]]:
    """Each command of a page: lines of their own that are set in, and words in code."""
    text = page.read_text("utf-8")
    lines = re.findall(r"^ {4,}(\S.*)$", text, re.MULTILINE)
    words = re.findall(r"`([^`\n]+)`", text)
    for each in (*lines, *words):
        first = each.split()[0]
        if first == "kraftgate" or first.endswith(".sh") or first in SHELL:
            for part in each.split(" | "):
                yield tuple(shlex.split(re.sub(r" > \S+$", "", part)))


def every(first: str) -> list[tuple[str, ...]]:
    """The commands of all pages that begin with this word, each once."""
    found = {each for page in EVERYTHING for each in commands(page) if each[0] == first}
    return sorted(found)


def firsts() -> set[str]:
    """The words that commands begin with."""
    return {each[0] for page in EVERYTHING for each in commands(page)}

"""The sources that facts about a cluster come from."""

import enum
from collections.abc import Mapping
from typing import Final


class DataSource(enum.StrEnum):
    """Where a condition's or a hazard's facts come from.

    The first three are followed all the time, and JMX where it is configured. TOPICS (the brokers'
    own answer to Metadata), SETTINGS (their server properties), QUORUM (DescribeQuorum) and
    PREFLIGHT are asked for when a condition needs them.
    """

    METADATA_LOG = "metadata_log"
    ZOOKEEPER = "zookeeper"
    LOG_DIRS = "log_dirs"
    JMX = "jmx"
    TOPICS = "topics"
    SETTINGS = "settings"
    QUORUM = "quorum"
    PREFLIGHT = "preflight"
    EXTERNAL = "external"


SOURCE_WORDS: Final[Mapping[DataSource, str]] = {
    DataSource.METADATA_LOG: "the metadata log",
    DataSource.ZOOKEEPER: "ZooKeeper",
    DataSource.LOG_DIRS: "the brokers' log directories",
    DataSource.JMX: "the JMX numbers",
    DataSource.TOPICS: "the partition state",
    DataSource.SETTINGS: "the brokers' settings",
    DataSource.QUORUM: "the quorum of controllers",
    DataSource.PREFLIGHT: "the checks before the window",
    DataSource.EXTERNAL: "the users' own conditions",
}
"""How messages name each source."""

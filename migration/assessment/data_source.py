"""The sources of facts about a cluster."""

import enum
from collections.abc import Mapping
from typing import Final


class DataSource(enum.StrEnum):
    """The source of a condition's or a hazard's facts.

    TOPICS: the brokers' answers to Metadata; SETTINGS: their server properties; QUORUM:
    DescribeQuorum; EXTERNAL: the users' own conditions.
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


FOLLOWED: Final = (
    DataSource.METADATA_LOG,
    DataSource.ZOOKEEPER,
    DataSource.LOG_DIRS,
    DataSource.JMX,
)
"""The sources that the job follows all the time, if they are configured."""
JOURNALED: Final = FOLLOWED[1:]
"""The followed sources with a journal; the metadata log has the spool."""
POLLED: Final = (
    DataSource.TOPICS,
    DataSource.SETTINGS,
    DataSource.QUORUM,
    DataSource.PREFLIGHT,
)
"""The sources that are polled when a condition needs them."""

SOURCE_WORDS: Final[Mapping[DataSource, str]] = {
    DataSource.METADATA_LOG: "the metadata log",
    DataSource.ZOOKEEPER: "ZooKeeper",
    DataSource.LOG_DIRS: "the brokers' log directories",
    DataSource.JMX: "the JMX numbers",
    DataSource.TOPICS: "the partition state",
    DataSource.SETTINGS: "the brokers' settings",
    DataSource.QUORUM: "the quorum of controllers",
    DataSource.PREFLIGHT: "the preflight checks",
    DataSource.EXTERNAL: "the users' own conditions",
}
"""The name of each source in messages."""

"""Where the replicas of a broker lie, by what is remembered of its disks; for who only looks."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

from migration.observed.probed import Maybe, TopicPartition, Unknown

MEMORY_FILE: Final = Path("disks", "disks.db")
"""In the cluster's directory."""


def places_of(cluster_home: Path, broker: int) -> Maybe[Mapping[TopicPartition, str]]:
    """Give the path of each replica as the broker last told; future replicas are none yet.

    `cluster_home`: the cluster's directory in the state directory.
    """
    path = cluster_home / MEMORY_FILE
    if not path.is_file():
        return Unknown("nobody looked at the brokers' disks yet")
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            rows = db.execute(
                "SELECT topic, partition, path FROM replicas WHERE broker = ? AND future = 0",
                (broker,),
            )
            return {TopicPartition(topic, partition): where for topic, partition, where in rows}
    except sqlite3.Error as error:
        return Unknown(f"{path} cannot be read: {error}")

"""The paths of a broker's replicas according to the stored state; for readers only."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

from migration.observed.probed import Maybe, TopicPartition, Unknown
from streams.log_dirs.errors import MemoryUnusable
from streams.state.sqlite import connect_readonly, errors_as

MEMORY_FILE: Final = Path("disks", "disks.db")
"""In the cluster's directory."""


def places_of(cluster_home: Path, broker: int) -> Maybe[Mapping[TopicPartition, str]]:
    """Return the path of each replica as the broker last reported it, without future replicas.

    `cluster_home`: the cluster's directory in the state directory.
    """
    path = cluster_home / MEMORY_FILE
    if not path.is_file():
        return Unknown("no broker's disks were polled yet")
    try:
        with (
            errors_as(MemoryUnusable, f"{path} cannot be read"),
            closing(connect_readonly(path)) as db,
        ):
            rows = db.execute(
                "SELECT topic, partition, path FROM replicas WHERE broker = ? AND future = 0",
                (broker,),
            )
            return {TopicPartition(topic, partition): where for topic, partition, where in rows}
    except MemoryUnusable as error:
        return Unknown(str(error))

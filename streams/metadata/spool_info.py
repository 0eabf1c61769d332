"""`spool.json`: the cluster id of a spool, and the metadata logs of that cluster.

A cluster has more than one log if a migration was rolled back and restarted: the controllers were
provisioned again, and their log begins at offset 0 again (`batches.Mark`). The logs are numbered
from 1; the follower follows the last one. The files of the first log are in the directory of the
spool, those of each later log in a subdirectory, so that no file ever moves.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from migration.values.foreign import load_object
from streams.kafka.errors import WrongCluster
from streams.metadata import log_files
from streams.metadata.batches import Mark
from streams.metadata.errors import CommittedLogDiverged, SpoolDamaged
from streams.state.files import replace_file
from streams.wire.batches import HEADER

_VERSION: Final = 2


@dataclass(frozen=True, slots=True)
class SpoolInfo:
    """The content of `spool.json`.

    Attributes:
        cluster_id: The id of the cluster; None while unknown.
        heads: The mark of the beginning of each log; None while unknown.
    """

    cluster_id: str | None = None
    heads: tuple[Mark | None, ...] = (None,)

    @property
    def log(self) -> int:
        """The number of the current log, which the follower follows."""
        return len(self.heads)

    def bound(self, cluster_id: str, directory: Path) -> "SpoolInfo":
        """Return the content with a cluster id; it can be set only once.

        Raises:
            WrongCluster: the spool was made from another cluster.
        """
        if self.cluster_id not in {None, cluster_id}:
            raise WrongCluster(
                f"the spool {directory} was made from cluster {self.cluster_id}, not"
                f" {cluster_id}: give each cluster a spool directory of its own"
            )
        return replace(self, cluster_id=cluster_id)

    def headed(self, head: Mark) -> "SpoolInfo":
        return replace(self, heads=(*self.heads[:-1], head))

    def restarted(self, head: Mark, directory: Path) -> "SpoolInfo":
        """Return the content with the next log added.

        Raises:
            CommittedLogDiverged: the mark is that of a log of this spool.
        """
        if head in self.heads:
            raise CommittedLogDiverged(
                f"the metadata log number {self.heads.index(head) + 1} of {directory} answers again"
                f" although number {self.log} came after it: are there two quorums with one cluster"
                " id? Name only the controllers that count; to follow that log after all, keep the"
                " spool as evidence, set an empty `state_dir`, and start `kraftgate run`"
            )
        return replace(self, heads=(*self.heads, head))


def load(directory: Path) -> SpoolInfo:
    """Return the content of `spool.json`; without the file, that of a new spool.

    Raises:
        SpoolDamaged: the file cannot be read, or has another format.
    """
    path = directory / log_files.INFO_NAME
    try:
        stored = load_object(path.read_bytes())
        if stored["version"] != _VERSION:
            raise SpoolDamaged(
                f"{path} has format {stored['version']}, but this Kraftgate reads {_VERSION}:"
                " finish with the version that began, or set an empty `state_dir` and start"
                " `kraftgate run`"
            )
        return SpoolInfo(cluster_id=_text(stored["cluster_id"]), heads=_heads(stored["logs"]))
    except FileNotFoundError:
        return SpoolInfo()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SpoolDamaged(f"{path} cannot be read: {error!r}") from error


def began_ms(directory: Path, log: int) -> int:
    """Return when a log of the spool began, by its own timestamps, in ms since 1970; 0: unknown.

    Raises:
        SpoolDamaged: the file cannot be read.
    """
    head = load(directory).heads[log - 1]
    return 0 if head is None else head.timestamp_ms


def save(directory: Path, info: SpoolInfo) -> None:
    """Replace `spool.json` atomically and durably: a reader gets the old content or the new one.

    Raises:
        OSError: the disk is full or failing.
    """
    part = directory / (log_files.INFO_NAME + log_files.PART_SUFFIX)
    logs = [
        None if each is None else {"offset": each.offset, "header": each.header.hex()}
        for each in info.heads
    ]
    content = json.dumps({"version": _VERSION, "cluster_id": info.cluster_id, "logs": logs})
    # `Spool.recover` deletes the temporary file after a crash.
    replace_file(directory / log_files.INFO_NAME, content, fresh=part)


def _text(stored: object) -> str | None:
    if stored is not None and not isinstance(stored, str):
        raise ValueError("the cluster id is not text")
    return stored


def _heads(stored: Sequence[Mapping[str, Any] | None]) -> tuple[Mark | None, ...]:
    if not stored:
        raise ValueError("there is no log")
    return tuple(_head(each) for each in stored)


def _head(stored: Mapping[str, Any] | None) -> Mark | None:
    if stored is None:
        return None
    header = bytes.fromhex(stored["header"])
    if len(header) != HEADER.size:
        raise ValueError(f"a header of {len(header)} bytes")
    return Mark(int(stored["offset"]), header)

"""How far a move is: on the broker's disks, and in KRaft mode in the metadata log.

The states are those of `kafka-reassign-partitions.sh --verify` (LogDirMoveState), which reads the
disks alone. In KRaft mode the controller records the new directory before the broker promotes the
future replica (KIP-858, "Intra-broker replica movement").
"""

import enum
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from migration.comparison.result import Identity
from migration.image.summary import Mode
from migration.observed.probed import LogDir, Maybe, TopicPartition, Unknown
from migration.what_if.situation import Situation


class Progress(enum.StrEnum):
    """How far a move is."""

    COMPLETED = "completed"
    MOVING = "moving"
    MOVING_ELSEWHERE = "moving_elsewhere"  # another directory than the file's is its target
    NOT_MOVING = "not_moving"  # it was not started, or was cancelled
    MISSING = "missing"  # the broker has no such replica in an online directory
    NOT_RECORDED = "not_recorded"  # it is on the disk, and the metadata log has another directory
    UNKNOWN = "unknown"


class Verified(NamedTuple):
    """One replica, compared with the file.

    Attributes:
        path: its directory; None: unknown.
        future: the directory that a move fills; None: none.
        lag: of the future replica, in messages; None: unknown.
        directory: the target's id, if it is known.
        recorded: the directory id of the replica in the metadata log, if it is known.
        why: what is unknown, or wrong.
        target_error: Kafka's error code of the target directory; 0: it is online.
        is_offline: whether a directory of the broker is not online.
    """

    broker: int
    at: TopicPartition
    target: str
    progress: Progress
    path: str | None = None
    future: str | None = None
    lag: int | None = None
    directory: str | None = None
    recorded: str | None = None
    why: str | None = None
    target_error: int = 0
    is_offline: bool = False


def verify(targets: Mapping[TopicPartition, str], now: Situation) -> tuple[Verified, ...]:
    """Return how far the moves of the broker's replicas to their targets are.

    A moved replica is no evidence of the id of the directory that it is in.
    """
    recorded = now.assignments
    unmoved = (
        recorded
        if isinstance(recorded, Unknown)
        else {at: each for at, each in recorded.items() if at not in targets}
    )
    identities = replace(now, assignments=unmoved).identities
    return tuple(
        _recorded(each, now, identities.get(each.target))
        if each.progress is Progress.COMPLETED
        else each
        for each in on_disk(now.broker, targets, now.log_dirs)
    )


def on_disk(
    broker: int, targets: Mapping[TopicPartition, str], log_dirs: Maybe[tuple[LogDir, ...]]
) -> tuple[Verified, ...]:
    """Return how far the moves are by the broker's directories alone."""
    if isinstance(log_dirs, Unknown):
        unknown = Verified(broker, TopicPartition("", 0), "", Progress.UNKNOWN, why=log_dirs.why)
        return tuple(unknown._replace(at=at, target=to) for at, to in sorted(targets.items()))
    return tuple(_on_disk(broker, at, to, log_dirs) for at, to in sorted(targets.items()))


def _on_disk(
    broker: int, at: TopicPartition, target: str, log_dirs: tuple[LogDir, ...]
) -> Verified:
    here = next((each for each in log_dirs if not each.error and at in each.replicas), None)
    into = next((each for each in log_dirs if at in each.futures), None)
    found = Verified(
        broker,
        at,
        target,
        Progress.COMPLETED,
        path=None if here is None else here.path,
        future=None if into is None else into.path,
        lag=None if into is None else into.future_lags.get(at),
        target_error=next((each.error for each in log_dirs if each.path == target), 0),
        is_offline=any(each.error for each in log_dirs),
    )
    if found.path is None:
        errors = [f"{each.path} (error {each.error})" for each in log_dirs if each.error]
        offline = f"; not online: {', '.join(errors)}" if errors else ""
        why = f"it is in no online directory of broker {broker}{offline}"
        return found._replace(progress=Progress.MISSING, why=why)
    if found.future is not None:
        progress = Progress.MOVING if found.future == target else Progress.MOVING_ELSEWHERE
        return found._replace(progress=progress)
    if found.path == target:
        return found
    found = found._replace(progress=Progress.NOT_MOVING)
    if not found.target_error:
        return found
    why = (
        f"it does not move: {target} is not online (error {found.target_error}). A copy in it"
        " resumes when the broker starts with the directory online"
    )
    return found._replace(why=why)


def _recorded(found: Verified, now: Situation, identity: Identity | None) -> Verified:
    """Return a replica that is in its target, compared with the metadata log in KRaft mode."""
    if now.mode in (Mode.ZOOKEEPER, Mode.MIGRATING):
        return found
    found = found._replace(progress=Progress.UNKNOWN)
    if now.mode is None:
        return found._replace(why=f"the mode of broker {now.broker} is unknown")
    if isinstance(now.assignments, Unknown):
        return found._replace(why=f"its directory in the metadata log: {now.assignments.why}")
    assigned = now.assignments.get(found.at)
    if assigned is None or identity is None:
        what = (
            "the metadata log does not list it"
            if assigned is None
            else f"the id of {found.target} is not known here: verify on the broker's host"
        )
        return found._replace(why=what)
    found = found._replace(directory=identity.directory, recorded=assigned.directory)
    if identity.directory != assigned.directory:
        why = "the metadata log has another directory"
        return found._replace(progress=Progress.NOT_RECORDED, why=why)
    return found._replace(progress=Progress.COMPLETED)

"""Fails, heals and replaces a log directory without a container and as any user, including root.

The directory is renamed and an empty file takes its place, so that the next write below it is an
I/O error. ``chmod`` is not sufficient: it does not restrict root.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from migration.assessment.meta_properties import METADATA_LOG
from orchestrator.lab.errors import WrongStateError

_AWAY = ".failed"
_OLD = ".old"
_REPLICA = re.compile(r"(.+)-([0-9]+)")
"""Of a current replica: a future, deleted or stray one has another end."""


def away(directory: Path) -> Path:
    """Return the path of a failed directory's content."""
    return directory.with_name(directory.name + _AWAY)


def is_failed(directory: Path) -> bool:
    """Return whether the directory was failed by the lab and not healed yet."""
    return away(directory).exists()


def fail(directory: Path) -> None:
    """Make every later access below the directory an error.

    Raises:
        WrongStateError: It has already failed, or does not exist.
    """
    if is_failed(directory):
        raise WrongStateError(
            "the directory has failed already", where=str(directory), fix="Heal it first."
        )
    if not directory.is_dir():
        raise WrongStateError(
            "there is no such directory yet",
            where=str(directory),
            fix="Start its broker once; that creates it.",
        )
    directory.rename(away(directory))
    directory.touch()


def heal(directory: Path) -> None:
    """Restore the directory with its content at the time of the failure.

    Raises:
        WrongStateError: It has not failed, or something else exists in its place.
    """
    if not is_failed(directory):
        raise WrongStateError(
            "the directory has not failed", where=str(directory), fix="There is nothing to heal."
        )
    if directory.is_dir():
        raise WrongStateError(
            "something created a directory in the failed one's place",
            where=str(directory),
            fix=f"Look into it, remove it, and heal again; the content is in {away(directory)}.",
        )
    directory.unlink(missing_ok=True)
    away(directory).rename(directory)


def replace(directory: Path) -> None:
    """Put an empty directory in place of a failed one, and keep the content of that one.

    Raises:
        WrongStateError: It has not failed.
    """
    if not is_failed(directory):
        raise WrongStateError(
            "the directory has not failed", where=str(directory), fix="There is nothing to replace."
        )
    away(directory).rename(free_name(directory.with_name(directory.name + _OLD)))
    directory.unlink(missing_ok=True)
    directory.mkdir()


def free_name(path: Path) -> Path:
    """Return the first of the path with ``.1``, ``.2``, ... that is free."""
    number = 1
    while (free := path.with_name(f"{path.name}.{number}")).exists():
        number += 1
    return free


def replicas(directory: Path) -> Iterator[tuple[str, int]]:
    """Yield the (topic, partition) of each current replica in a broker's log directory."""
    for each in directory.iterdir():
        found = _REPLICA.fullmatch(each.name)
        if found is not None and each.name != METADATA_LOG:
            yield found[1], int(found[2])

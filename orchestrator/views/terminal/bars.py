"""A bar of a broker's replicas, with one letter per state, so that it needs no colour."""

from collections.abc import Mapping
from typing import Final

from rich.text import Text

from migration.metadata.replica_state import ReplicaState

LETTERS: Final = {
    ReplicaState.ASSIGNED: ("A", "black on green"),
    ReplicaState.MIGRATING: ("M", "black on yellow"),
    ReplicaState.UNASSIGNED: ("U", "black on bright_yellow"),
    ReplicaState.OFFLINE: ("O", "white on red"),
    ReplicaState.LOST: ("L", "white on bright_red"),
}
"""In the order of the bar: from the left, the replicas that have a directory."""


def cells(replicas: Mapping[ReplicaState, int], width: int) -> dict[ReplicaState, int]:
    """Return the number of cells of each state: in proportion, at least one if the state occurs.

    The sum is `width` if there is a replica. If `width` is below the number of states that occur,
    the last states are left out.
    """
    present = [state for state in LETTERS if replicas[state] > 0][:width]
    total = sum(replicas[state] for state in present)
    if not present or total == 0:
        return {}
    spare = width - len(present)
    shares = {state: replicas[state] * spare / total for state in present}
    given = {state: 1 + int(share) for state, share in shares.items()}
    by_rest = sorted(present, key=lambda state: shares[state] % 1, reverse=True)
    for state in by_rest[: width - sum(given.values())]:
        given[state] += 1
    return given


def bar(replicas: Mapping[ReplicaState, int], width: int) -> Text:
    """Return the bar; for a broker without replicas, the text `no replicas`."""
    drawn = Text(no_wrap=True)
    for state, count in cells(replicas, width).items():
        letter, style = LETTERS[state]
        drawn.append(letter * count, style=style)
    if not drawn:
        drawn.append("no replicas"[:width].ljust(width), style="dim")
    return drawn


def legend() -> Text:
    """Return the meanings of the letters."""
    told = Text()
    for state, (letter, style) in LETTERS.items():
        told.append(letter, style=style)
        told.append(f" {state}  ", style="dim")
    told.rstrip()
    return told

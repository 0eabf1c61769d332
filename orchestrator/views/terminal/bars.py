"""A broker's replicas as a bar: one letter per state, so that it reads without colour too."""

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
"""In the order of the bar: what has a directory grows from the left."""


def cells(replicas: Mapping[ReplicaState, int], width: int) -> dict[ReplicaState, int]:
    """Share out the bar's cells: in proportion, and at least one to every state that occurs.

    The sum is `width` whenever there is a replica. A width below the number of states that
    occur leaves out the states that come last.
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
    """Draw the bar; a broker without replicas has an empty one."""
    drawn = Text(no_wrap=True)
    for state, count in cells(replicas, width).items():
        letter, style = LETTERS[state]
        drawn.append(letter * count, style=style)
    if not drawn:
        drawn.append("no replicas"[:width].ljust(width), style="dim")
    return drawn


def legend() -> Text:
    """What the letters mean."""
    told = Text()
    for state, (letter, style) in LETTERS.items():
        told.append(letter, style=style)
        told.append(f" {state}  ", style="dim")
    told.rstrip()
    return told

"""Whether the numbers of a node require a new fact. Pure."""

from typing import Final, TypeAlias

from migration.observed.facts import JmxSeen, JmxUnreachable
from migration.observed.jmx_names import JmxName

AGAIN_MS: Final = 30_000
"""The maximum time between two facts of a node that answers.

Conclusions about a number that does not change (a queue that stays full) depend on these facts.
"""

Told: TypeAlias = JmxSeen | JmxUnreachable


def is_news(last: Told | None, now: Told) -> bool:
    """Return whether the fact differs from the last one of this node."""
    match last, now:
        case JmxSeen(), JmxSeen():
            # By the time of the reading: the same scrape is not a new fact.
            return now.read_ms - last.read_ms >= AGAIN_MS or _shape(last) != _shape(now)
        case JmxUnreachable(), JmxUnreachable():
            return now.why != last.why
        case _:
            return True


def _shape(fact: JmxSeen) -> tuple[object, ...]:
    """Return the values whose changes matter immediately.

    The lag changes with every record: only its order of magnitude counts.
    """
    return fact.endpoint, *(
        (name, len(str(value)) if name == JmxName.ZK_WRITE_BEHIND_LAG else value)
        for name, value in fact.numbers
    )

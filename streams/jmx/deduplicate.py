"""Whether what was read of a node is worth a fact again. Pure."""

from typing import Final, TypeAlias

from migration.observed.facts import JmxSeen, JmxUnreachable
from migration.observed.jmx_names import JmxName

AGAIN_MS: Final = 30_000
"""A node that answers is told of at least this often: what follows from a number that does not
change (a queue that stays full) is judged by these."""

Told: TypeAlias = JmxSeen | JmxUnreachable


def is_news(last: Told | None, now: Told) -> bool:
    """Whether the fact says what the last one of this node did not."""
    match last, now:
        case JmxSeen(), JmxSeen():
            # By the time of the reading: the same scrape once more says nothing again.
            return now.read_ms - last.read_ms >= AGAIN_MS or _shape(last) != _shape(now)
        case JmxUnreachable(), JmxUnreachable():
            return now.why != last.why
        case _:
            return True


def _shape(fact: JmxSeen) -> tuple[object, ...]:
    """What matters at once: of the lag, which moves with every record, its order of magnitude."""
    return fact.endpoint, *(
        (name, len(str(value)) if name == JmxName.ZK_WRITE_BEHIND_LAG else value)
        for name, value in fact.numbers
    )

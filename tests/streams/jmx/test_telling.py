"""Changed facts are reported at once, unchanged ones every half a minute."""

import pytest

from migration.observed.facts import JmxSeen, JmxUnreachable
from streams.jmx.poller import AGAIN_MS, NodeFact, is_news

SEEN = JmxSeen(1000, 1, "e", 1000, (("ZkMigrationState", 1), ("ZkWriteBehindLag", 3)))
GONE = JmxUnreachable(1000, 1, "refused")


def later(ms: int, **changes: object) -> JmxSeen:
    at = SEEN._replace(seen_ms=1000 + ms, read_ms=1000 + ms)
    return at._replace(**changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("last", "now", "told"),
    [
        (None, SEEN, True),
        (SEEN, later(10), False),
        (SEEN, later(AGAIN_MS), True),
        # In the next half minute (each begins at a multiple of it), together with all other nodes.
        (SEEN, later(AGAIN_MS - 1_001), False),
        (SEEN, later(AGAIN_MS - 1_000), True),
        (later(AGAIN_MS - 1_500), later(AGAIN_MS), False),
        (SEEN, later(10, numbers=(("ZkMigrationState", 3), ("ZkWriteBehindLag", 3))), True),
        (SEEN, later(10, numbers=(("ZkMigrationState", 1), ("ZkWriteBehindLag", 7))), False),
        (SEEN, later(10, numbers=(("ZkMigrationState", 1), ("ZkWriteBehindLag", 700))), True),
        (SEEN, later(10, numbers=(("ZkMigrationState", 1),)), True),
        # The clock was set back.
        (later(10 * AGAIN_MS), SEEN, True),
        # Prometheus gives the same scrape again.
        (SEEN, later(AGAIN_MS, read_ms=1000), False),
        (SEEN, GONE, True),
        (GONE, SEEN, True),
        (GONE, GONE._replace(seen_ms=10**6), False),
        (GONE, GONE._replace(why="timed out"), True),
    ],
)
def test_what_is_news(last: NodeFact | None, now: NodeFact, told: bool) -> None:
    assert is_news(last, now) is told

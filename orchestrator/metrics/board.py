"""The last look at every cluster: put there by the loop that shows them, read by scrapes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from migration.assessment.conditions import DataSource
from orchestrator.conditions.horizon import Horizons
from orchestrator.conditions.view import currency_of
from orchestrator.config import Config
from orchestrator.config_models import ClusterEntry
from orchestrator.following import Snapshot, Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One cluster at the last look.

    Attributes:
        unread: the sources of which something is yet to be read, and why.
        tally: its events so far.
    """

    entry: ClusterEntry
    snapshot: Snapshot
    unread: Mapping[DataSource, str] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """All clusters, in the configuration's order; `at_ms`: by the wall clock."""

    at_ms: int
    clusters: tuple[Seen, ...]


class Board:
    """Holds the last look.

    Attributes:
        last: None before the first. A look is never changed, so any thread may read it.
    """

    def __init__(self, config: Config) -> None:
        self._entries = {each.name: each for each in config.clusters}
        self._horizons = {name: Horizons() for name in self._entries}
        self.last: Look | None = None

    def put(self, snapshots: Sequence[Snapshot], tallies: Mapping[str, Tally], now_ms: int) -> Look:
        """Replace the last look; every look must come by here, or unread facts are not noticed."""
        clusters = []
        for one in snapshots:
            name = one.summary.cluster
            entry, unread = self._entries[name], self._horizons[name].unread(one, now_ms)
            clusters.append(
                Seen(
                    entry=entry,
                    snapshot=replace(one, currency=currency_of(one, entry, now_ms, unread)),
                    unread=unread,
                    tally=tallies.get(name, Tally()),
                )
            )
        self.last = look = Look(at_ms=now_ms, clusters=tuple(clusters))
        return look

"""What the sources of a cluster had received at a moment, and the state that includes it."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from migration.assessment.conditions import View
from migration.assessment.currency import UNREAD_FACTS, UNREAD_RECORDS
from migration.assessment.data_source import FOLLOWED, DataSource
from orchestrator.config.load import Config
from orchestrator.config.models import ClusterEntry
from orchestrator.run.assessed import Assessed, Assessor
from orchestrator.run.reader import Reader
from streams.process.clocks import wall_clock_ms

_CATCH_UP_S_MAX: Final = 15.0
"""Much longer than a batch of the job takes."""
_POLL_S: Final = 0.2


@dataclass(slots=True)
class Received:
    """The number of a cluster's metadata log and its sources' ends at the first assessment."""

    log: int | None = None
    ends: Mapping[DataSource, int] = field(default_factory=dict)

    def view(self, one: Assessed) -> View:
        """Return the view of an assessment; a source with an end that the store lacks is stale."""
        read, view = one.read, one.assessment.view
        if self.log != read.status.log:
            ends = {source: read.position(source)[0] for source in FOLLOWED}
            self.ends = {source: end for source, end in ends.items() if end is not None}
            self.log = read.status.log
        unread = {
            source: UNREAD_RECORDS if source is DataSource.METADATA_LOG else UNREAD_FACTS
            for source, end in self.ends.items()
            if read.position(source)[1] < end
        }
        return replace(view, not_current={**unread, **view.not_current})


def caught_up(
    config: Config, entries: Sequence[ClusterEntry], *, waits: bool = True
) -> Mapping[str, View]:
    """Return the views once the store has all that the sources had received; wait 15 s at most.

    It waits only for sources that answer; the views say which source is not current.

    Raises:
        FollowingError: the store cannot be read.
    """
    assessor = Assessor(config, Reader(config, newest=1))
    deadline_s = time.monotonic() + (_CATCH_UP_S_MAX if waits else 0)
    received = {each.name: Received() for each in entries}
    while True:
        tick = assessor.tick(wall_clock_ms())
        found = {one.entry.name: one for one in tick.clusters if one.entry.name in received}
        views = {name: received[name].view(one) for name, one in found.items()}
        behind = any(
            each.answers and source in views[name].not_current
            for name, one in found.items()
            for source, each in one.assessment.sources.items()
        )
        if not behind or time.monotonic() >= deadline_s:
            return views
        time.sleep(_POLL_S)

"""The state of a cluster that `kraftgate run` follows, up to the end of the metadata log."""

import time
from collections.abc import Mapping
from typing import Final, TypeAlias

from migration.assessment.currency import SourceState
from migration.image.summary import ClusterSummary
from migration.observed.probed import Maybe, TopicPartition, Unknown
from migration.what_if import Assignment
from orchestrator.config.load import Config
from orchestrator.config.models import ClusterEntry
from orchestrator.errors import FollowingError
from orchestrator.run.assessed import Assessed, Assessor
from orchestrator.run.reader import STORE_FILE, Reader
from streams.probe.assignments import assignments
from streams.process.clocks import wall_clock_ms

_CATCH_UP_S_MAX: Final = 15.0
"""Much longer than a batch of the job takes."""
_POLL_S: Final = 0.2

Followed: TypeAlias = tuple[ClusterSummary | None, Maybe[Mapping[TopicPartition, Assignment]]]
"""The summary, None unless it is current; a broker's assignments."""


def followed(config: Config, entry: ClusterEntry, broker: int) -> Followed:
    """Return the state in the metadata log, if `kraftgate run` follows it up to now."""
    if entry.controllers is None:
        return None, Unknown(f"{config.path.name} has no `controllers` for {entry.name}")
    try:
        one = caught_up(config, entry.name)
    except FollowingError as error:
        return None, Unknown(str(error))
    if one.summary.metadata_offset is None or one.assessment.log.state is not SourceState.CURRENT:
        why = "the metadata log is not followed up to now: start `kraftgate run`"
        return None, Unknown(why)
    return one.summary, assignments(config.state_dir / STORE_FILE, entry.name, broker)


def caught_up(config: Config, cluster: str) -> Assessed:
    """Return the assessment once the store has all committed records; wait 15 s at most.

    It waits only for a source that answers; the assessment says whether it is current.

    Raises:
        FollowingError: the store cannot be read.
    """
    assessor = Assessor(config, Reader(config, newest=1))
    deadline_s = time.monotonic() + _CATCH_UP_S_MAX
    while True:
        one = assessor.tick(wall_clock_ms()).cluster(cluster)
        log = one.assessment.log
        behind = log.answers and log.state is not SourceState.CURRENT
        if not behind or one.summary.metadata_offset is None or time.monotonic() > deadline_s:
            return one
        time.sleep(_POLL_S)

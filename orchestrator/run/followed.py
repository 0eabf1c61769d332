"""The state of a cluster that `kraftgate run` follows, up to the end of the metadata log."""

from collections.abc import Mapping
from typing import TypeAlias

from migration.assessment.data_source import DataSource
from migration.image.summary import ClusterSummary
from migration.observed.probed import Maybe, TopicPartition, Unknown
from migration.what_if import Assignment
from orchestrator.config.load import Config
from orchestrator.config.models import ClusterEntry
from orchestrator.errors import FollowingError
from orchestrator.run.caught_up import caught_up
from orchestrator.run.reader import STORE_FILE
from streams.probe.assignments import assignments

Followed: TypeAlias = tuple[ClusterSummary | None, Maybe[Mapping[TopicPartition, Assignment]]]
"""The summary, None unless it is current; a broker's assignments."""


def followed(config: Config, entry: ClusterEntry, broker: int) -> Followed:
    """Return the state in the metadata log, if `kraftgate run` follows it up to now."""
    if entry.controllers is None:
        return None, Unknown(f"{config.path.name} has no `controllers` for {entry.name}")
    try:
        view = caught_up(config, [entry])[entry.name]
    except FollowingError as error:
        return None, Unknown(str(error))
    if view.summary.metadata_offset is None or DataSource.METADATA_LOG in view.not_current:
        why = "the metadata log is not followed up to now: start `kraftgate run`"
        return None, Unknown(why)
    return view.summary, assignments(config.state_dir / STORE_FILE, entry.name, broker)

"""Selects, for one configured cluster, the function that polls each source."""

import time
from functools import partial
from typing import Final

from migration.assessment.conditions import DataSource
from migration.observed.probed import Unknown
from orchestrator.config.load import Config
from orchestrator.config.models import ClusterEntry
from orchestrator.execution.facts import FactFinder
from orchestrator.run.probes.background import Asking
from orchestrator.run.probes.probes import askers_of
from orchestrator.run.probes.user_conditions import own_askers
from orchestrator.runbook.model import Runbook

_LOOK_S: Final = 15.0


def finder_for(config: Config, entry: ClusterEntry, runbook: Runbook) -> FactFinder:
    """Return the finder that polls the sources of a runbook's conditions."""
    askers = dict(askers_of(entry, frozenset(DataSource)))
    if entry.brokers is not None:
        askers[DataSource.LOG_DIRS] = partial(_look, config, entry.name)
    own = own_askers(runbook.conditions, entry.name)
    return FactFinder(Asking(askers, own, clock_s=time.time))


def _look(config: Config, cluster: str) -> Unknown | None:
    from streams.spark.log_dirs_source import poll_disks

    if poll_disks(config.state_dir, cluster, None, "a checkpoint", _LOOK_S):
        return None
    return Unknown("the disks could not be looked at now")

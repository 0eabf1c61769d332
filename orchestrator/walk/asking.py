"""How each source that is asked for is asked, for one cluster as it is configured."""

import time
from functools import partial
from typing import Final

from migration.assessment.conditions import DataSource
from migration.observed.probed import Unknown
from orchestrator.conditions.askers import askers_of
from orchestrator.conditions.asking import Asking
from orchestrator.conditions.own import own_askers
from orchestrator.config import Config
from orchestrator.config_models import ClusterEntry
from orchestrator.runbook.model import Runbook
from orchestrator.walk.facts import FactFinder

_LOOK_S: Final = 15.0


def finder_for(config: Config, entry: ClusterEntry, runbook: Runbook) -> FactFinder:
    """Make the one that asks for what a runbook's conditions rest on."""
    askers = dict(askers_of(entry, frozenset(DataSource)))
    if entry.brokers is not None:
        askers[DataSource.LOG_DIRS] = partial(_look, config, entry.name)
    own = own_askers(runbook.conditions, entry.name)
    return FactFinder(Asking(askers, own, clock_s=time.time))


def _look(config: Config, cluster: str) -> Unknown | None:
    from streams.spark.log_dirs_poll import look_at_disks

    if look_at_disks(config.state_dir, cluster, None, "a checkpoint", _LOOK_S):
        return None
    return Unknown("the disks could not be looked at now")

"""Keeps the alerts of every tick of `kraftgate run`, for `status` and for the next run."""

import logging
from typing import Final

from orchestrator.alerts.kept import ALERTS_FILE, Keeper
from orchestrator.config import Config
from orchestrator.run.assessed import Tick

_log: Final = logging.getLogger(__name__)


class AlertFiles:
    """A file for each configured cluster."""

    def __init__(self, config: Config) -> None:
        self._keepers = {
            each.name: Keeper(config.state_dir / "clusters" / each.name / ALERTS_FILE)
            for each in config.clusters
        }

    def keep(self, tick: Tick) -> None:
        """Write what changed."""
        for one in tick.clusters:
            try:
                self._keepers[one.entry.name].keep(one.assessment.alerts)
            except OSError as error:
                # The file ages, which is what its readers are to see when it cannot be written.
                _log.warning("the alerts of %s cannot be kept: %s", one.name, error)

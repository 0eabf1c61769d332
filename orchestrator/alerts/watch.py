"""Judges at the looks of `kraftgate run` which alerts stand, and keeps it for `status`."""

import logging
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from migration.assessment.alerts import NOTHING_STANDS, Standings, advance
from orchestrator.alerts import kept
from orchestrator.alerts.kept import ALERTS_FILE, Keeper
from orchestrator.alerts.scene_of import scene_of
from orchestrator.conditions.view import view_of
from orchestrator.config import Config
from orchestrator.metrics.board import Look, Seen

_EVERY_MS: Final = 1_000
_log: Final = logging.getLogger(__name__)


class Watch:
    """The alerts of all configured clusters; what stood when the last run ended stands still.

    Attributes:
        last: by the cluster's name, as of the last judgement. It is never changed, only replaced,
            so any thread may read it.
    """

    def __init__(self, config: Config) -> None:
        self._stall_after_ms = config.stall_after_ms
        files = {
            each.name: config.state_dir / "clusters" / each.name / ALERTS_FILE
            for each in config.clusters
        }
        self._keepers = {name: Keeper(file) for name, file in files.items()}
        self.last: Mapping[str, Standings] = MappingProxyType(
            {name: kept.read(file) for name, file in files.items()}
        )
        self._at_ms: int | None = None

    def look(self, look: Look, *, last: bool = False) -> bool:
        """Judge a look, once a second at most unless it is the last; whether it was judged."""
        early = self._at_ms is not None and 0 <= look.at_ms - self._at_ms < _EVERY_MS
        if early and not last:
            return False
        self._at_ms = look.at_ms
        self.last = MappingProxyType(
            {seen.entry.name: self._judged(seen, look.at_ms) for seen in look.clusters}
        )
        return True

    def _judged(self, seen: Seen, at_ms: int) -> Standings:
        name = seen.entry.name
        view = view_of(
            seen.snapshot,
            seen.entry,
            at_ms,
            stall_after_ms=self._stall_after_ms,
            unread=seen.unread,
        )
        scene = scene_of(seen.snapshot, seen.entry, view, seen.tally)
        now = advance(self.last.get(name, NOTHING_STANDS), scene)
        try:
            self._keepers[name].keep(now)
        except OSError as error:
            # What is kept ages, which is what its readers are to see when it cannot be written.
            _log.warning("the alerts of %s cannot be kept: %s", name, error)
        return now

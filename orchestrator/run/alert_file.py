"""Stores the alert states of each cluster in `clusters/NAME/alerts.json`, next to the store.

`kraftgate run` writes the files; `status` and the next run read them. Active alerts stay active
until current data resolves them; pending alerts continue if the gap between the runs is short. The
next run reads the active alerts from the audit trail if the file was lost.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from migration.assessment.alerts import Alert, AlertState, AlertStates
from orchestrator.audit import Entry
from orchestrator.audit.run_spans import AlertSpan, periods
from orchestrator.config.load import Config
from streams.state.files import make_parents, replace_file

ALERTS_FILE: Final = "alerts.json"
WRITE_EVERY_MS: Final = 10_000
_log: Final = logging.getLogger(__name__)


class _StoredAlert(BaseModel):
    """One alert in the file; the aliases are the keys that every version has written."""

    model_config = ConfigDict(extra="ignore", validate_by_name=True, from_attributes=True)
    alert: Alert
    found_ms: int
    active_since_ms: Annotated[int | None, Field(alias="stands_ms")]
    is_known: bool = True
    held_ms: int | None = None


class _StoredStates(BaseModel):
    model_config = ConfigDict(extra="ignore", from_attributes=True)
    at_ms: int | None = None
    all: dict[str, _StoredAlert] = {}


class _Stored(BaseModel):
    model_config = ConfigDict(extra="ignore")
    standings: _StoredStates


class AlertFiles:
    """The alert files of all configured clusters."""

    def __init__(self, config: Config) -> None:
        self._files = {each.name: AlertFile(file_of(config, each.name)) for each in config.clusters}
        self._failing: dict[str, str] = {}

    def keep(self, alerts: Mapping[str, AlertStates]) -> None:
        """Write the files whose states have changed or that are due for a refresh; by cluster."""
        for name, states in alerts.items():
            try:
                self._files[name].keep(states)
            except OSError as error:
                # The age of the file then shows its readers that it is out of date.
                if self._failing.get(name) != str(error):
                    _log.warning("the alerts of %s cannot be saved: %s", name, error)
                self._failing[name] = str(error)
            else:
                self._failing.pop(name, None)


class AlertFile:
    """The alert file of one cluster.

    It is written on every change, and often enough that its age shows whether `kraftgate run` is
    running.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last: AlertStates | None = None

    def keep(self, now: AlertStates) -> None:
        """Write the states, unless the file already contains the same ones and is recent.

        Raises:
            OSError: the file cannot be written.
        """
        last = self._last
        if last is not None and _outline(last) == _outline(now):
            age_ms = abs((now.at_ms or 0) - (last.at_ms or 0))
            if age_ms < WRITE_EVERY_MS:
                return
        whole = _Stored(standings=_StoredStates.model_validate(now))
        make_parents(self._path, 2)
        replace_file(self._path, whole.model_dump_json(by_alias=True))
        self._last = now


def file_of(config: Config, cluster: str) -> Path:
    return config.state_dir / "clusters" / cluster / ALERTS_FILE


def read(path: Path, entries: Callable[[], Iterable[Entry]] = tuple) -> AlertStates:
    """Return the stored states; if there are none, the active alerts of the audit trail.

    Args:
        path: of the file, which may be missing or have another format.
        entries: returns the cluster's entries of the audit trail.
    """
    try:
        stored = _Stored.model_validate_json(path.read_bytes()).standings
    except (FileNotFoundError, ValidationError):
        began = map(_began, periods(entries()).active_alerts())
        return AlertStates(all={each.alert.fingerprint: each for each in began})
    return AlertStates(
        at_ms=stored.at_ms,
        all={fingerprint: AlertState(**dict(each)) for fingerprint, each in stored.all.items()},
    )


def _began(span: AlertSpan) -> AlertState:
    """Return an alert that the audit trail has as active; it may have been resolved since."""
    alert = Alert(
        name=span.alert.alert,
        labels=span.alert.labels,
        summary=span.alert.summary,
        description=span.alert.description,
        since_ms=span.alert.since_ms,
    )
    return AlertState(
        alert=alert, found_ms=span.began_ms, active_since_ms=span.began_ms, is_known=False
    )


def _outline(states: AlertStates) -> set[tuple[str, int | None, bool]]:
    """Return the states without their text, because the text contains ages."""
    return {(each, one.active_since_ms, one.is_known) for each, one in states.all.items()}

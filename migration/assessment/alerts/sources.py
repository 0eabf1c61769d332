"""Kraftgate's own sources: the rules' group `kraftgate-itself`.

That nobody watches (`KraftgateOrchestratorDown`) is nothing that whoever watches can tell; for that
there is a heartbeat, whose end somebody else notices.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from migration.assessment.alerts.alert import Found, Rule, Severity
from migration.assessment.alerts.scene import Scene
from migration.assessment.conditions import DataSource
from migration.assessment.conditions.authority import knows_phase
from migration.image.summary import Phase
from migration.observed.source_status import SourceStatus

_MINUTE_MS: Final = 60_000


def _answered_once(status: SourceStatus) -> bool:
    """Whether a source answered once, or cannot be followed at all.

    Before the controllers exist they do not answer, and that is a phase.
    """
    return (status.last_reply_ms or 0) > 0 or status.error is not None


def _stale(scene: Scene) -> Iterator[DataSource]:
    for source, status in scene.sources.items():
        if scene.is_current(source) is False and _answered_once(status):
            yield source


def _log_stale(scene: Scene) -> Iterator[Found]:
    gone = knows_phase(scene.view) and scene.summary.phase is Phase.ROLLED_BACK
    if DataSource.METADATA_LOG not in _stale(scene) or gone:
        return
    yield _found(
        scene,
        DataSource.METADATA_LOG,
        f"What Kraftgate knows of {scene.cluster} from the metadata log is not the present. Take no"
        " step until it is.",
    )


def _beside_stale(scene: Scene) -> Iterator[Found]:
    for source in _stale(scene):
        if source is not DataSource.METADATA_LOG:
            yield _found(
                scene,
                source,
                f"What Kraftgate knows of {scene.cluster} from the source {source} is not the"
                " present: hazards may stand that it does not show.",
            )


def _found(scene: Scene, source: DataSource, description: str) -> Found:
    return Found(
        labels={"source": str(source)},
        description=description,
        details=(scene.view.not_current[source],),
        since_ms=scene.sources[source].last_reply_ms,
    )


def _is_over(scene: Scene, labels: Mapping[str, str]) -> bool:
    """Whether it shows the present again, or is not needed any more."""
    if scene.is_current(DataSource(labels["source"])) is not False:
        return True
    return knows_phase(scene.view) and scene.summary.phase is Phase.ROLLED_BACK


RULES: Final = (
    Rule(
        name="KraftgateStreamStale",
        severity=Severity.CRITICAL,
        for_ms=2 * _MINUTE_MS,
        summary="The migration is not seen.",
        find=_log_stale,
        is_over=_is_over,
    ),
    Rule(
        name="KraftgateStreamStale",
        severity=Severity.WARNING,
        for_ms=2 * _MINUTE_MS,
        summary="A part of the migration is not seen.",
        find=_beside_stale,
        is_over=_is_over,
    ),
)

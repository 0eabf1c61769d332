"""Why the printed data is not current: one rule for `status` and `alerts list`."""

from migration.assessment.assess import Assessment
from migration.assessment.conditions.authority import was_read
from migration.assessment.currency import SourceState
from migration.assessment.data_source import DataSource
from migration.image.summary import Phase
from orchestrator.run.assessed import Assessed


def why_not_current(one: Assessed) -> str | None:
    """Return why the data of a cluster is not current; None: it is.

    Where no controller writes a metadata log, ZooKeeper decides.
    """
    assessment, log = one.assessment, one.assessment.log
    has_data = was_read(assessment.view, DataSource.METADATA_LOG)
    if not _is_shown_by_zookeeper(assessment) and not (has_data and log.answers):
        waiting = f", waiting for {one.assessment.waits[0].text}" if one.assessment.waits else ""
        if not waiting and not has_data:
            is_asked = log.state is not SourceState.NOT_CONFIGURED
            why = "no controller has answered yet" if is_asked else log.why
            waiting = f" of the metadata log: {why}"
        return f"{'stale' if has_data else 'no'} data{waiting}"
    is_over = log.state is SourceState.OVER
    stale = [
        each
        for each, is_current in assessment.current.items()
        if is_current is False and not (is_over and each is DataSource.METADATA_LOG)
    ]
    whys = [f"{each} is not current: {assessment.currency.not_current[each]}" for each in stale]
    return "; ".join(whys) or None


def _is_shown_by_zookeeper(assessment: Assessment) -> bool:
    """Return whether the cluster has no metadata log: not yet, or not any more.

    ZooKeeper itself may still be stale. Whether the controllers only do not answer is part of
    `Assessment.current`: the log is in use unless ZooKeeper shows that there is none.
    """
    if assessment.current[DataSource.ZOOKEEPER] is None:
        return False
    match assessment.log.state:
        case SourceState.OVER:
            return True
        case SourceState.NOT_CONFIGURED | SourceState.UNANSWERED:
            return assessment.summary.known_phase is Phase.ZOOKEEPER
    return False

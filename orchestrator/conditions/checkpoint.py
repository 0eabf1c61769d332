"""A checkpoint as a condition: it holds once the audit log says that it is passed."""

from migration.conditions import Condition, Finding, Verdict, external
from orchestrator.audit import AUDIT_FILE, AuditLog
from orchestrator.config import Config
from orchestrator.errors import KraftgateError, NoDataError
from orchestrator.runbook.load import load
from orchestrator.walk.route import checkpoints
from orchestrator.walk.state import Walk
from orchestrator.walk.trail import Trail


def checkpoint_condition(checkpoint: str) -> Condition:
    """A condition that is asked by `passed`."""
    return external(f"checkpoint({checkpoint})")


def passed(config: Config, cluster: str, checkpoint: str) -> Finding:
    """Look up how far a cluster's walk is.

    Raises:
        KraftgateError: no walk can have such a checkpoint.
        RunbookError: the runbook cannot be used.
        AuditError: the audit log cannot be read.
    """
    runbook = next(each.runbook for each in config.clusters if each.name == cluster)
    if runbook is None:
        raise KraftgateError(f"{config.path}: {cluster} has no `runbook` to pass a checkpoint of")
    book = load(runbook.file).runbook
    known = {each.id for each in checkpoints(book, None)}
    known |= {each.id for way in book.rollbacks for each in way.checkpoints}
    if checkpoint.partition("[")[0] not in known:
        raise KraftgateError(
            f"the runbook {book.name} has no checkpoint {checkpoint}, but: {', '.join(known)}"
        )
    verdict, reason = _told(_walk(config, cluster), checkpoint)
    name = checkpoint_condition(checkpoint).name
    return Finding(condition=name, verdict=verdict, reason=reason)


def _walk(config: Config, cluster: str) -> Walk | None:
    try:
        with AuditLog.open_readonly(config.state_dir / AUDIT_FILE) as log:
            return Trail(log, cluster).walk()
    except NoDataError:
        return None


def _told(walk: Walk | None, checkpoint: str) -> tuple[Verdict, str]:
    if walk is None:
        return Verdict.UNKNOWN, "no walk has begun: does `kraftgate run` run?"
    place = walk.place(checkpoint)
    if walk.passed(checkpoint):
        return Verdict.SATISFIED, f"it is {place.stage}"
    if walk.outcome is not None:
        return Verdict.VIOLATED, f"the walk ended before it: {walk.outcome}"
    current = walk.current
    stands = "between two checkpoints" if current is None else f"at {current.id} ({current.stage})"
    return Verdict.WAITING, f"the walk stands {stands}"

"""The audit trail's entries about one checkpoint: verdicts, decisions and steps."""

from contextlib import closing
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from orchestrator.api.console.answers import Decision, GateEvidence, GateVerdict
from orchestrator.audit import AUDIT_FILE, Entry
from orchestrator.audit.execution.entries import Evaluated
from orchestrator.audit.kinds import EntryKind
from orchestrator.audit.sentences import author, sentence
from orchestrator.audit.window import AuditWindow
from orchestrator.errors import AuditError
from orchestrator.runbook.loaded import Loaded
from orchestrator.runbook.model import Checkpoint

_ENTRIES_MAX: Final = 500


def gate_evidence(
    state_dir: Path, cluster: str, checkpoint: str, loaded: Loaded | None
) -> GateEvidence:
    """Return the entries of a checkpoint and its instances, the newest first.

    Raises:
        NoDataError: there is no audit trail yet.
        AuditError: it cannot be read, or was written by another version.
    """
    with closing(AuditWindow(state_dir / AUDIT_FILE)) as audit:
        found = audit.about(cluster, checkpoint, _ENTRIES_MAX + 1)
    shown = found[:_ENTRIES_MAX]
    known = None if loaded is None else _checkpoint(loaded, checkpoint.partition("[")[0])
    return GateEvidence(
        checkpoint=checkpoint,
        title=None if known is None else known.title,
        explain=None if known is None else known.explain,
        judgements=tuple(_verdict(each) for each in shown if each.kind == EntryKind.JUDGED),
        decisions=tuple(_decision(each) for each in shown if each.kind != EntryKind.JUDGED),
        older=len(found) > _ENTRIES_MAX,
    )


def _verdict(entry: Entry) -> GateVerdict:
    try:
        body = Evaluated.model_validate(entry.body)
    except ValidationError as error:
        raise AuditError(f"audit entry {entry.sequence} is of another version") from error
    return GateVerdict.from_facts(body, id=f"a{entry.sequence}", at_ms=entry.at_ms, hash=entry.hash)


def _decision(entry: Entry) -> Decision:
    reason, checkpoint = entry.body.get("reason"), entry.body.get("checkpoint")
    return Decision(
        id=f"a{entry.sequence}",
        at_ms=entry.at_ms,
        checkpoint=str(checkpoint),
        kind=entry.kind,
        by=author(entry),
        reason=reason if isinstance(reason, str) else None,
        text=sentence(entry),
        hash=entry.hash,
    )


def _checkpoint(loaded: Loaded, name: str) -> Checkpoint | None:
    book = loaded.runbook
    every = (*book.checkpoints, *(each for way in book.rollbacks for each in way.checkpoints))
    return next((each for each in every if each.id == name), None)

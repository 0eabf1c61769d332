"""Entries of an execution, short to write."""

from typing import Literal

from migration.assessment.conditions import Verdict
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import RecordedFinding

Judgement = tuple[str, str, str]
"""A condition that does not hold, its verdict, its reason."""


def judged(
    checkpoint: str, part: Literal["already", "needs", "opens_when"], *unmet: Judgement
) -> entries.Evaluated:
    """Guards or gate; none unmet: satisfied."""
    findings = tuple(
        RecordedFinding(condition=condition, verdict=Verdict(verdict), reason=reason)
        for condition, verdict, reason in unmet
    )
    held = RecordedFinding(condition="quorum_healthy", verdict=Verdict.SATISFIED, reason="it is")
    verdict = findings[0].verdict if findings else Verdict.SATISFIED
    return entries.Evaluated(
        checkpoint=checkpoint, part=part, verdict=verdict, findings=(held, *findings), facts={}
    )


def entered(checkpoint: str) -> entries.CheckpointEntered:
    return entries.CheckpointEntered(checkpoint=checkpoint)


def passed(
    checkpoint: str, how: Literal["opened", "already"] = "opened"
) -> entries.CheckpointPassed:
    return entries.CheckpointPassed(checkpoint=checkpoint, how=how, facts={})


def started(checkpoint: str, attempt: int = 1, *argv: str) -> entries.StepStarted:
    return entries.StepStarted(
        checkpoint=checkpoint,
        run=f"1-{checkpoint}-{attempt}",
        attempt=attempt,
        argv=argv or ("ssh", "host", "restart"),
        token=7,
        open_before=False,
        facts={},
    )


def shown(checkpoint: str, text: str = "Restart it.") -> entries.StepShown:
    return entries.StepShown(checkpoint=checkpoint, text=text, open_before=False, facts={})


def ended(
    checkpoint: str, exit_code: int = 0, output: str = "", took_ms: int = 5_000
) -> entries.StepEnded:
    return entries.StepEnded(
        checkpoint=checkpoint,
        run=f"1-{checkpoint}-1",
        succeeded=exit_code == 0,
        how=f"ended with exit code {exit_code}",
        exit_code=exit_code,
        signal=None,
        took_ms=took_ms,
        output=output,
        output_bytes=len(output),
        output_sha256="ab" * 32,
        still_running=(),
    )

"""One timeline of the events, the operators' decisions and Kraftgate's own entries."""

from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Final

from migration.metadata.events import Source, timed
from orchestrator.api.report.execution import Decision
from orchestrator.api.report.report import Happening, Lane
from orchestrator.audit import Entry, move_entries, run_entries
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Body, Person
from orchestrator.audit.kinds import EntryBody
from orchestrator.audit.sentences import checked_text, folded
from orchestrator.output.event_text import sentence, weight_of
from orchestrator.run.reader import ClusterRead
from orchestrator.views.report.accounts.executions import RecordedExecution

_LANES: Final[Mapping[Source, Lane]] = {
    Source.KRAFT_METADATA: "metadata",
    Source.ZOOKEEPER: "zookeeper",
    Source.LOG_DIRS: "disks",
    Source.JMX: "jmx",
}


def happened(
    one: ClusterRead, found: Iterable[Entry], executions: Iterable[RecordedExecution]
) -> list[Happening]:
    """Return all of it by time of occurrence; the events as `timed` orders them."""
    found = tuple(found)
    own = [
        *_executed(executions),
        *(_entry(entry, "kraftgate", body) for entry, body in run_entries.Body.read(found)),
        *(
            _entry(entry, "people" if hasattr(body, "by") else "kraftgate", body)
            for entry, body in move_entries.Body.read(found)
        ),
    ]
    keyed = [*_events(one), *((each.at or 0, each) for each in own)]
    return [each for _, each in sorted(keyed, key=itemgetter(0))]


def decisions(executions: Iterable[RecordedExecution]) -> Iterator[Decision]:
    """Yield the operators' decisions, and approvals that expired."""
    for execution in executions:
        for entry, body in execution.entries:
            by: Person | None = getattr(body, "by", None)
            if by is None and not isinstance(body, entries.ApprovalsExpired):
                continue
            basis: Mapping[str, str] = getattr(body, "basis", {})
            yield Decision(
                at=entry.at_ms,
                walk=execution.number,
                kind=body.kind,
                checkpoint=getattr(body, "checkpoint", getattr(body, "at", None)),
                who=None if by is None else by.who,
                login=None if by is None else by.login,
                host=None if by is None else by.host,
                reason=_reason(body),
                basis=basis,
                entry=entry.sequence,
                hash=entry.hash,
            )


def _reason(body: Body) -> str:
    match body:
        case entries.ApprovalsExpired():
            return f"the state that it was given for has changed: {'; '.join(body.changed)}"
        case entries.StepDecided():
            return f"{body.decision}: {body.reason}"
        case entries.RollbackBegan():
            return f"by {body.path}: {body.reason}"
    return str(getattr(body, "reason", ""))


def _events(one: ClusterRead) -> Iterator[tuple[int, Happening]]:
    for at_ms, event in timed(event for _, event in one.events):
        happening = Happening(
            # Of a record without a time, the moment at which Kraftgate read it says nothing.
            at=None if event.offset is not None and event.timestamp_ms is None else event.moment_ms,
            lane=_LANES[event.source],
            kind=event.kind,
            text=sentence(event),
            broker=event.broker,
            offset=event.offset,
            entry=None,
            weight=weight_of(event.kind),
        )
        yield at_ms, happening


def _executed(executions: Iterable[RecordedExecution]) -> Iterator[Happening]:
    for execution in executions:
        bodies = {entry.sequence: body for entry, body in execution.entries}
        for entry, times in folded(entry for entry, _ in execution.entries):
            body = bodies[entry.sequence]
            lane: Lane = "walk" if getattr(body, "by", None) is None else "people"
            yield _entry(entry, lane, body, times)


def _entry(entry: Entry, lane: Lane, body: EntryBody, times: int = 1) -> Happening:
    return Happening(
        at=entry.at_ms,
        lane=lane,
        kind=entry.kind,
        text=body.sentence() + checked_text(times),
        broker=getattr(body, "broker", None),
        offset=None,
        entry=entry.sequence,
        weight=body.weight,
    )

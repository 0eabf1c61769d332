"""One timeline of the events, the operators' decisions and Kraftgate's own entries."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal, TypeAlias

from migration.metadata.event_kinds import Weight
from orchestrator.api.report.execution import Decision
from orchestrator.api.report.report import Happening
from orchestrator.audit import Entry
from orchestrator.audit import run_entries as stood
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Body, Person
from orchestrator.audit.run_entries import bodies
from orchestrator.run.cluster_read import ClusterRead
from orchestrator.views.report.accounts.event_sentences import LANES, sentence, weight_of
from orchestrator.views.report.accounts.executions import Walked

Lane: TypeAlias = Literal["walk", "people", "kraftgate"]


def happened(one: ClusterRead, found: Iterable[Entry], walks: Iterable[Walked]) -> list[Happening]:
    """Return all of it by time of occurrence; an item without a time comes first."""
    told = [
        *_events(one),
        *_walked(walks),
        *_stood(found),
    ]
    return sorted(told, key=lambda each: each.at or 0)


def decisions(walks: Iterable[Walked]) -> Iterator[Decision]:
    """Yield the operators' decisions, and approvals that expired."""
    for walk in walks:
        for entry, body in walk.entries:
            by: Person | None = getattr(body, "by", None)
            if by is None and not isinstance(body, entries.ApprovalsExpired):
                continue
            basis: Mapping[str, str] = getattr(body, "basis", {})
            yield Decision(
                at=entry.at_ms,
                walk=walk.number,
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
            return f"the state that it was given for is no more: {'; '.join(body.changed)}"
        case entries.StepDecided():
            return f"{body.decision}: {body.reason}"
        case entries.RollbackBegan():
            return f"by {body.path}: {body.reason}"
    return str(getattr(body, "reason", ""))


def _events(one: ClusterRead) -> Iterator[Happening]:
    for _, event in one.events:
        yield Happening(
            at=event.moment_ms,
            lane=LANES[event.source],
            kind=event.kind,
            text=sentence(event),
            broker=event.broker,
            offset=event.offset,
            entry=None,
            weight=weight_of(event.kind),
        )


def _walked(walks: Iterable[Walked]) -> Iterator[Happening]:
    for walk in walks:
        for entry, body in walk.entries:
            if isinstance(body, entries.Evaluated):
                continue  # the report lists what held, and for how long, with the checkpoint
            lane: Lane = "walk" if getattr(body, "by", None) is None else "people"
            yield _entry(entry, lane, _said(body), _weight(body), getattr(body, "broker", None))


def _stood(found: Iterable[Entry]) -> Iterator[Happening]:  # noqa: C901  # a case an entry
    for entry, body in bodies(found):
        broker = getattr(body, "broker", None)
        match body:
            case stood.HazardBegan():
                text, weight = f"hazard {body.hazard}: {body.text}", "bad"
            case stood.HazardChanged():
                forbids = "" if body.blocks is None else f", forbids {body.blocks}"
                text, weight = f"hazard {body.hazard} is {body.severity}{forbids}", "bad"
            case stood.HazardEnded():
                text, weight = f"hazard {body.hazard} is over", "notable"
            case stood.AlertBegan():
                text, weight = f"alert {body.alert}: {body.description}", "bad"
            case stood.AlertEnded():
                text, weight = f"alert {body.alert} is over", "notable"
            case stood.SourceLost():
                text, weight = f"{_words(body.source)} not current: {body.why}", "bad"
            case stood.SourceSeen():
                text, weight = f"{_words(body.source)} current", "notable"
            case stood.FollowBegan():
                text, weight = f"kraftgate {body.version} follows: {body.owner}", "notable"
            case stood.FollowEnded():
                text, weight = "kraftgate run ended", "notable"
        yield _entry(entry, "kraftgate", text, _WEIGHTS[weight], broker)


_WEIGHTS: Final[Mapping[str, Weight]] = {"bad": "bad", "notable": "notable"}
_SOURCES: Final = {
    "metadata_log": "the metadata log is",
    "zookeeper": "ZooKeeper is",
    "log_dirs": "the brokers' log directories are",
    "jmx": "the JMX numbers are",
}


def _words(source: str) -> str:
    return _SOURCES.get(source, f"{source} is")


def _entry(entry: Entry, lane: Lane, text: str, weight: Weight, broker: int | None) -> Happening:
    return Happening(
        at=entry.at_ms,
        lane=lane,
        kind=entry.kind,
        text=text,
        broker=broker,
        offset=None,
        entry=entry.sequence,
        weight=weight,
    )


def _weight(body: Body) -> Weight:
    match body:
        case entries.StepEnded():
            return "notable" if body.succeeded else "bad"
        case (
            entries.StepUnknown()
            | entries.StepElsewhere()
            | entries.LockLost()
            | entries.UnexpectedChange()
            | entries.ApprovalsExpired()
        ):
            return "bad"
        case entries.OrchestratorStarted() | entries.OrchestratorEnded() | entries.LockAcquired():
            return "plain"
    return "notable"


def _said(body: Body) -> str:  # noqa: C901  # a case an entry
    match body:
        case entries.ExecutionBegan():
            return f"{body.by.who} began a walk through {body.runbook}: {body.reason}"
        case entries.OrchestratorStarted():
            return f"an orchestrator takes the walk up: {body.owner}"
        case entries.OrchestratorEnded():
            return f"it ended: {body.reason}"
        case entries.LockLost():
            return f"the lock is lost: {body.reason}"
        case entries.LockAcquired():
            return "the lock is held"
        case entries.CheckpointEntered():
            return f"the walk comes to {body.checkpoint}"
        case entries.CheckpointPassed():
            how = "" if body.how == "opened" else ", which had nothing to do"
            return f"the walk passes {body.checkpoint}{how}"
        case entries.StepShown():
            return f"the step of {body.checkpoint} is shown, to be done by hand"
        case entries.StepStarted():
            return f"the command of {body.checkpoint} is started, attempt {body.attempt}"
        case entries.StepEnded():
            return f"the command of {body.checkpoint} {body.how}"
        case entries.StepNotStarted():
            return f"the command of {body.checkpoint} was not started after all"
        case entries.StepUnknown():
            return f"how the command of {body.checkpoint} ended is not known: {body.why}"
        case entries.StepElsewhere():
            return f"{body.step.words()}, is another orchestrator's: no step is begun"
        case entries.UnexpectedChange():
            return body.text
        case entries.ExecutionEnded():
            return f"the walk is {body.outcome}"
        case entries.ApprovalsExpired():
            return f"the approval of {body.checkpoint} expires: {'; '.join(body.changed)}"
        case entries.Evaluated():
            return f"{body.part} of {body.checkpoint} is {body.verdict}"
    return _decided(body)


_DECISIONS: Final[Mapping[entries.Decision, str]] = {
    "done": "done",
    "repeat": "to be repeated",
    "execute": "to be done by its hook",
}


def _decided(body: Body) -> str:
    match body:
        case entries.Approved():
            return f"{body.by.who} approved {body.checkpoint}: {body.reason}"
        case entries.StepDecided():
            what = _DECISIONS[body.decision]
            return f"{body.by.who} said that {body.checkpoint} is {what}: {body.reason}"
        case entries.StepElsewhereEnded():
            who = "" if body.by is None else f"{body.by.who} decided: "
            return f"{who}{body.step.words()}, has ended: {body.reason}"
        case entries.CheckpointSkipped():
            return f"{body.by.who} skipped {body.checkpoint}: {body.reason}"
        case entries.Paused():
            return f"{body.by.who} paused the walk: {body.reason}"
        case entries.Resumed():
            return f"{body.by.who} resumed the walk: {body.reason}"
        case entries.RollbackBegan():
            return f"{body.by.who} turned back at {body.at}, by {body.path}: {body.reason}"
        case entries.Aborted():
            return f"{body.by.who} ended the walk: {body.reason}"
    return body.kind

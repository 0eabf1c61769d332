"""The next action: what an operator must do now, or what the migration waits for, and why.

One rule for all screens, in the order of importance: what Kraftgate needs to see anything, a step
that failed, a hazard that announces something, recreated replicas and other failed log
directories, a hazard that blocks an action, the checkpoint of the runbook, the migration itself,
unless a hazard forbids its step, and partitions without a leader.
"""

import enum
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from migration.assessment.conditions.authority import (
    hazards_not_known,
    is_log_current,
    not_known,
    znodes_not_known,
)
from migration.assessment.conditions.condition import ConditionError
from migration.assessment.conditions.parse import parse
from migration.assessment.conditions.view import STEP_NEEDS_DECISION, Execution, View
from migration.assessment.data_source import SOURCE_WORDS, DataSource
from migration.assessment.eta import Eta, NoEstimate
from migration.assessment.failed_directories import Channel, advice, danger, why_kept
from migration.assessment.finding import Finding, Verdict
from migration.assessment.hazards import Action, Hazard, HazardKind
from migration.assessment.waits import ADD_KEY, BLIND, DOWN, Wait, WaitKind, source_error
from migration.image.summary import WITHOUT_ZOOKEEPER, ClusterSummary, Phase
from migration.values.durations import duration_text
from migration.values.evidence import capitalized, count
from migration.values.severity import Severity


class Need(enum.StrEnum):
    """Who must act."""

    NOTHING = "nothing"
    """The migration is over or rolled back, or there is none."""
    WAITING = "waiting"
    """Nobody: the cluster or a hook is at work."""
    YOUR_TURN = "your_turn"
    """An operator: a step, an approval, or the end of a pause."""
    WRONG = "wrong"
    """An operator: something failed, and waiting does not repair it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NextAction:
    """The next action.

    Attributes:
        text: a whole sentence: an instruction if an operator must act, else what is waited for.
        why: the cause, or the consequence; "": `text` says it.
        commands: those that it needs, complete, the most likely first. If an operator must act,
            there is one, unless there are instructions.
        instructions: for the step by hand that `text` names; None: it names none.
        topic: the page of the manual about it: `kraftgate help TOPIC`.
        place: where the execution is, "checkpoint 6 of 9, broker 2 of 3"; "": nowhere.
        broker: the broker that it concerns, if any.
        since_ms: since when, if that is known.
    """

    need: Need
    text: str
    why: str = ""
    commands: tuple[str, ...] = ()
    instructions: str | None = None
    topic: str
    place: str = ""
    broker: int | None = None
    since_ms: int | None = None

    @property
    def headline(self) -> str:
        """The sentence and the place."""
        return f"{self.text} ({self.place})" if self.place else self.text


_NIGHT: Final = "migration-night"
_ROLLBACK: Final = "rollback"
_HAZARDS: Final = "hazards"

_HELD: Final = frozenset({WaitKind.BROKER_HELD, WaitKind.REPLICAS_PENDING})
_HELD_OR_STALLED: Final = frozenset({WaitKind.BROKER_HELD, WaitKind.BROKER_STALLED})
_OF_HELD: Final = ("assignments_complete", "nothing_held")
"""The conditions that wait for a held broker."""
_NEXT: Final = "Waiting for the next checkpoint"
_ROLLED_BACK: Final = "Nothing to do: the rollback is complete"
_NEXT_ATTEMPT: Final = (
    "To migrate later, format the controllers again and begin with the first step of the runbook"
)
_STEPS: Final = "kraftgate runbook show zk-to-kraft-jbod"
"""Prints each step by hand; it needs no configuration."""
_RUN: Final = "kraftgate run"
_KEYS: Final[Mapping[DataSource, tuple[DataSource, str]]] = {
    DataSource.METADATA_LOG: (DataSource.METADATA_LOG, "controllers.bootstrap"),
    DataSource.QUORUM: (DataSource.METADATA_LOG, "controllers.bootstrap"),
    DataSource.ZOOKEEPER: (DataSource.ZOOKEEPER, "zookeeper.connect"),
    DataSource.LOG_DIRS: (DataSource.LOG_DIRS, "brokers.bootstrap"),
}
"""The sources that need a key of the configuration: the followed source of the key, and the key."""
_OF_WAITS: Final[Mapping[WaitKind, str]] = {
    **dict.fromkeys(BLIND, "kraftgate preflight"),
    WaitKind.NOT_RUNNING: _RUN,
}
"""The commands of the waits that concern no broker; those of the next step: `_STEPS`."""

_TOPICS: Final[Mapping[WaitKind, str]] = {
    **dict.fromkeys(BLIND, "KraftgateStreamStale"),
    WaitKind.NOT_RUNNING: "KraftgateOrchestratorDown",
    WaitKind.BROKER_STALLED: "KraftgateAssignmentStalled",
    WaitKind.BROKER_HELD: "KraftgateBrokerHeldTooLong",
    WaitKind.REPLICAS_OFFLINE: "KraftgateLogDirOffline",
    WaitKind.ROLLING_BACK: _ROLLBACK,
    WaitKind.ROLLED_BACK: _ROLLBACK,
}
"""The manual's pages about these waits; the page of the night explains the others."""


def next_action(
    view: View,
    execution: Execution | None,
    waits: Sequence[Wait],
    eta: Eta | None,
    options: str = "",
) -> NextAction:
    """Return the next action of a cluster.

    Args:
        view: the cluster.
        execution: in progress, or with a hook that still runs; None: none is. Its commands are
            complete.
        waits: of the migration, most important first.
        eta: until no broker is held.
        options: that a command needs to find the configuration; "": none.
    """
    found = _found(view, execution, waits, eta)
    if not options or (execution is not None and found.commands == execution.commands):
        return found
    complete = (each if each == _STEPS else f"{each} {options}" for each in found.commands)
    return replace(found, commands=tuple(complete))


def _found(
    view: View, execution: Execution | None, waits: Sequence[Wait], eta: Eta | None
) -> NextAction:
    first = waits[0] if waits else None
    if first is not None and first.kind in BLIND and first.needs_person:
        return _of_wait(first, view.summary, eta)
    # Without a checkpoint, the orchestrator has another runbook, and no step is in progress.
    at = None if execution is None or execution.outcome is not None else execution.checkpoint
    if execution is not None and at is not None and execution.asks is not None:
        return _decision(execution)
    found = _announced(view) or _failed_directory(view, execution) or _blocking(view)
    if found is not None:
        return _at(found, execution)
    damage = next((e for e in view.due_hazards if e.severity is Severity.CRITICAL), None)
    if execution is not None:
        if first is not None and first.kind is WaitKind.CATCHING_UP and execution.turn:
            return _at(_of_wait(first, view.summary, eta), execution)
        return _of_execution(execution, view, waits, eta, damage)
    if damage is not None and not _starts_first(view, waits):
        return _of_hazard(damage, view)
    if first is not None:
        return (
            _forbidden(first, view)
            or _unknown_finalize(first, view)
            or _of_wait(first, view.summary, eta)
        )
    return _without_wait(view)


def _without_wait(view: View) -> NextAction:
    """Return what is left to do while nothing is waited for."""
    left = next((each for each in view.due_hazards if each.kind not in _LATER), None)
    if left is not None:
        return _of_hazard(left, view)
    if view.summary.leaderless:
        leaderless = count(view.summary.leaderless, "partition")
        return NextAction(
            need=Need.WRONG,
            text=f"Find the cause of {leaderless} without a leader",
            why="no client can read or write there",
            commands=(_until("isr_full", view.cluster),),
            topic=_NIGHT,
        )
    text = "Nothing to do: the migration is finalized"
    if view.summary.phase is Phase.KRAFT:
        text = "Nothing to do: this cluster is in KRaft mode and does not migrate"
    return NextAction(need=Need.NOTHING, text=text, topic=_NIGHT)


def _at(found: NextAction, execution: Execution | None) -> NextAction:
    return found if execution is None else replace(found, place=execution.place)


def _decision(execution: Execution) -> NextAction:
    return NextAction(
        need=Need.WRONG,
        text=execution.turn or f"Decide about checkpoint {execution.checkpoint}",
        why=execution.asks or "",
        commands=execution.commands,
        topic=STEP_NEEDS_DECISION,
        place=execution.place,
    )


def _failed_directory(view: View, execution: Execution | None) -> NextAction | None:
    """Return what to do about the first failed directory; None: nothing, or the step comes first.

    A directory whose replicas were recreated comes first: its disk may have the only records.
    After the migration only a runbook replaces a disk, once its loss is approved: its steps have
    allowed for the directory, so they come first unless a restart would do harm.
    """
    is_handled = (
        execution is not None and execution.turn and view.summary.phase in WITHOUT_ZOOKEEPER
    )
    found = [
        each
        for each in view.failed
        if not each.is_inferred and not (is_handled and _loses_nothing(view, each.broker))
    ]
    brokers = {each.broker for each in found}
    for hazard in view.due_hazards:
        if hazard.kind is HazardKind.REPLICAS_RECREATED and hazard.broker in brokers:
            return _of_hazard(hazard, view)
    if not found:
        return None
    first = found[0]
    text, why = advice(
        first, view.summary, log_is_current=is_log_current(view), rolls_back=view.rolls_back
    )
    return NextAction(
        need=Need.WRONG,
        text=text,
        why=why,
        commands=(_hazards(view.cluster, first.broker, "--before", "restart"),),
        topic="KraftgateLogDirOffline",
        broker=first.broker,
        since_ms=first.since_ms,
    )


_LATER: Final = frozenset({HazardKind.FINALIZE_TOO_EARLY, HazardKind.UNFENCED_EARLY})
"""They end by themselves, and forbid only a step that no checkpoint has reached."""


def _announced(view: View) -> NextAction | None:
    """Return the first hazard with a deadline: only seconds may be left."""
    found = (each for each in view.due_hazards if each.deadline_ms is not None)
    return next((_of_hazard(each, view) for each in found), None)


def _loses_nothing(view: View, broker: int | None) -> bool:
    """Return whether a restart of a broker with a failed directory does no harm."""
    phase, rolls_back = view.summary.phase, view.rolls_back
    return danger(view.summary.broker(broker), phase, rolls_back=rolls_back) is None


def _blocking(view: View) -> NextAction | None:
    """Return the first critical hazard that blocks an action."""
    for each in view.due_hazards:
        grave = each.severity is Severity.CRITICAL and each.blocks is not None
        if grave and each.kind not in _LATER:
            return _of_hazard(each, view)
    return None


def _starts_first(view: View, waits: Sequence[Wait]) -> bool:
    """Return whether a broker must be started: harm that was done does not end, and can wait.

    A broker with recreated replicas must not be started: clients would write to its new logs. After
    an unclean election no broker is: one of the earlier ISR truncates what only it has.
    """
    if view.summary.unclean:
        return False
    found = view.due_hazards
    stopped = {each.broker for each in found if each.kind is HazardKind.REPLICAS_RECREATED}
    return any(e.kind in DOWN and e.action and e.broker not in stopped for e in waits)


_STEPS_OF: Final[Mapping[WaitKind, Action]] = {
    **dict.fromkeys((*DOWN, WaitKind.BROKER_IN_ZOOKEEPER_MODE), Action.RESTART),
    WaitKind.FINALIZE: Action.FINALIZE,
}
"""The waits for a step of an operator that a hazard may forbid although it is only a warning."""


def _forbidden(wait: Wait, view: View) -> NextAction | None:
    """Return the first hazard that forbids the step that is waited for."""
    step = _STEPS_OF.get(wait.kind)
    for each in view.due_hazards:
        concerns = wait.broker is None or each.broker in (None, wait.broker)
        if step is not None and concerns and each.forbids(step):
            return _of_hazard(each, view)
    return None


_SHOW_CONTENT: Final = frozenset({DataSource.ZOOKEEPER, DataSource.LOG_DIRS})


def _unknown_finalize(wait: Wait, view: View) -> NextAction | None:
    """Return what has to be known before the step that cannot be undone; None: nothing.

    A replay, and a process that follows only the metadata log, cannot know it.
    """
    if wait.kind is not WaitKind.FINALIZE or not view.configured >= _SHOW_CONTENT:
        return None
    unknown = hazards_not_known(view, Action.FINALIZE)
    if not unknown:
        return None
    unread = view.summary.content.unreadable or unknown[0] in znodes_not_known(view)
    lasts = unread or not_known(view, *_SHOW_CONTENT)
    return NextAction(
        need=Need.WRONG if lasts else Need.WAITING,
        text=f"{'Do not' if lasts else 'Waiting to'} finalize the migration: {unknown[0]}",
        why="what would forbid it is unknown, and it cannot be undone",
        commands=(_hazards(view.cluster, None, "--before", "finalize"),),
        topic=_HAZARDS,
    )


def _hazards(cluster: str, broker: int | None, *words: str) -> str:
    """Return the command that prints the whole remedy, and whether a restart loses data."""
    of = () if broker is None else ("--broker", str(broker))
    return shlex.join(("kraftgate", "hazards", *words, *of, "--cluster", cluster))


def _of_hazard(hazard: Hazard, view: View) -> NextAction:
    return NextAction(
        need=Need.WRONG,
        text=hazard.action,
        why=hazard.text,
        commands=(_hazards(view.cluster, hazard.broker),),
        topic=_HAZARDS,
        broker=hazard.broker,
        since_ms=hazard.since_ms,
    )


def _of_execution(
    execution: Execution,
    view: View,
    waits: Sequence[Wait],
    eta: Eta | None,
    damage: Hazard | None,
) -> NextAction:
    """Return what the current checkpoint needs; `damage`: a hazard that blocks no step."""
    base = NextAction(
        need=Need.YOUR_TURN if execution.turn else Need.WAITING,
        text="",
        topic=_NIGHT if execution.path is None else _ROLLBACK,
        place=execution.place,
        commands=execution.commands,
    )
    findings = [each for each in execution.findings if not _is_repaired(each, view)]
    violated = next((e for e in findings if e.verdict is Verdict.VIOLATED), None)
    if violated is not None:
        return replace(
            base,
            need=Need.WRONG,
            text=capitalized(violated.reason),
            why=f"{violated.condition} is violated, and an operator must act",
            commands=(_until(violated.condition, view.cluster),),
            topic="KraftgateCheckpointViolated",
            broker=violated.broker,
        )
    if execution.turn:
        harm = "" if damage is None else damage.text
        why = "; ".join(filter(None, (execution.why, harm, _why_kept(view))))
        return replace(base, text=execution.turn, why=why, instructions=execution.shown)
    if damage is not None and not _starts_first(view, waits):
        return _at(_of_hazard(damage, view), execution)
    for each in findings:
        if (lacks := _without_source(each, view, base)) is not None:
            return lacks
    closed = next((e for e in findings if e.verdict is not Verdict.SATISFIED), None)
    down = next((each for each in waits if each.kind in DOWN and each.action), None)
    if closed is not None and down is not None:
        found = _forbidden(down, view) or _of_wait(down, view.summary, eta)
        return _at(found, execution)
    held = next((each for each in waits if each.kind in _HELD_OR_STALLED), None)
    if closed is not None and held is not None and closed.condition.startswith(_OF_HELD):
        return replace(_of_wait(held, view.summary, eta), place=execution.place)
    if closed is not None:
        unknown = " is unknown" if closed.verdict is Verdict.UNKNOWN else " does not hold yet"
        return replace(base, text=f"Waiting: {closed.reason}", why=f"{closed.condition}{unknown}")
    if execution.holds:
        return replace(base, text=f"Waiting for {execution.holds[0]}")
    return replace(base, text=_NEXT)


def _why_kept(view: View) -> str:
    """Return why the disk of a failed directory must be kept, whatever the step is; "": no reason.

    The broker's own answer shows one that its runbook may replace next.
    """
    log_is_current = is_log_current(view)
    for each in view.failed:
        reason = why_kept(each, view.summary, log_is_current=log_is_current)
        if reason and Channel.LOG_DIRS in each.channels:
            return f"the disk of broker {each.broker} ({each.path}): {reason}"
    return ""


def _without_source(found: Finding, view: View, base: NextAction) -> NextAction | None:
    """Return how a condition gets its source; None: it is known, or unknown for another reason."""
    if found.verdict is not Verdict.UNKNOWN:
        return None
    lacking = [each for each in DataSource if f"{SOURCE_WORDS[each]}: " in found.reason]
    for source in lacking:
        error = view.status(source).error
        if error is not None:
            return replace(_of_wait(source_error(error), view.summary, None), place=base.place)
    for source, (followed, key) in _KEYS.items():
        if source is DataSource.ZOOKEEPER and view.summary.known_phase in (
            None,
            *WITHOUT_ZOOKEEPER,
        ):
            continue
        if followed not in view.configured and source in lacking:
            return replace(
                base,
                need=Need.WRONG,
                text=ADD_KEY.format(key),
                why=found.reason,
                commands=(_RUN,),
                topic="preflight",
            )
    return None


def _is_repaired(found: Finding, view: View) -> bool:
    """Return whether a condition that was violated at the execution's last tick holds now."""
    if found.verdict is not Verdict.VIOLATED:
        return False
    try:
        return parse(found.condition).judge(view).verdict is Verdict.SATISFIED
    except ConditionError:  # an operator's own condition
        return False


def _until(condition: str, cluster: str) -> str:
    """Return the command that prints the evidence of a condition, and ends when it holds."""
    try:
        parse(condition)
    except ConditionError:  # an operator's own condition, which `kraftgate wait` does not know
        return shlex.join(("kraftgate", "status", "--cluster", cluster))
    return shlex.join(("kraftgate", "wait", "--condition", condition, "--cluster", cluster))


def _of_wait(wait: Wait, summary: ClusterSummary, eta: Eta | None) -> NextAction:
    """Return the action of a wait, or what is waited for."""
    need, text, why = Need.WAITING, f"Waiting for {wait.text}", ""
    commands: tuple[str, ...] = ()
    if wait.kind in _HELD:
        text = _held_text(wait, summary, eta)
        why = wait.text
    elif wait.kind is WaitKind.ROLLED_BACK and not wait.action:
        need, text, commands = Need.NOTHING, _ROLLED_BACK, (_STEPS,)
        why = f"{wait.cause}. {_NEXT_ATTEMPT}"
    elif wait.action:
        need = Need.WRONG if wait.is_wrong else Need.YOUR_TURN
        text, why = wait.action, wait.cause
        of_broker = _hazards(summary.cluster, wait.broker) if wait.is_wrong else _STEPS
        if wait.kind in DOWN:
            of_broker = _hazards(summary.cluster, wait.broker, "--before", "restart")
        commands = (_OF_WAITS.get(wait.kind, of_broker),)
    return NextAction(
        need=need,
        text=text,
        why=why,
        commands=commands,
        topic=_TOPICS.get(wait.kind, _NIGHT),
        broker=wait.broker,
        since_ms=wait.since_ms,
    )


def _held_text(wait: Wait, summary: ClusterSummary, eta: Eta | None) -> str:
    broker = next(each for each in summary.brokers if each.id == wait.broker)
    total = sum(broker.replicas.values())
    about = ""
    if eta is not None and not isinstance(eta, NoEstimate):
        about = f", about {duration_text(max(1000, round(eta.seconds * 1000)))}"
    return (
        f"Waiting for broker {broker.id}: {broker.pending} of {total} replicas have no"
        f" directory{about}"
    )

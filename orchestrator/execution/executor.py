"""Executes a runbook on one cluster: one tick at a time, one checkpoint at a time.

Every tick reads the entries that other processes appended to the audit trail (approvals, pauses),
evaluates the conditions of the current checkpoint, and does at most one thing. It records an action
in the trail before it does it, with the orchestrator's fence, so that of two processes only the one
that took the fence last can act.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from migration.assessment.assess import in_zookeeper_mode
from migration.assessment.conditions import (
    SOAK,
    STEP_NEEDS_DECISION,
    Condition,
    DataSource,
    Finding,
    Verdict,
    View,
    judge_all,
    parse,
)
from migration.assessment.conditions.authority import (
    is_zookeeper_authoritative,
    reasons_not_known,
    zookeeper_of,
)
from migration.image.summary import BrokerSummary
from migration.values.durations import duration_text
from migration.values.evidence import capitalized
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.concern import concern
from orchestrator.audit.execution.entries import Body, JsonFacts, RecordedFinding
from orchestrator.audit.execution.state import CheckpointState, ExecutionState, Stage
from orchestrator.audit.execution.trail import ExecutionTrail
from orchestrator.errors import ExecutionError, HookError
from orchestrator.execution.allowed import OfCheckpoint, Place, allowed, refusal
from orchestrator.execution.approvals import basis, changed
from orchestrator.execution.commands import Commands
from orchestrator.execution.evaluation import PartEvaluator, PartResult
from orchestrator.execution.facts import FactFinder
from orchestrator.execution.kept_runbook import kept_runbook, restore_words, set_words
from orchestrator.execution.route import (
    AllPassed,
    CheckpointInstance,
    UnknownInstance,
    approvals_needed,
    approved_at,
    behind_cluster,
    checkpoints,
    controllers_stop,
    finalize_is_in_progress,
    finalize_is_near,
    next_checkpoint,
    place_of,
    stops_controllers,
    was_begun,
)
from orchestrator.execution.steps import Hold, Steps, sources_of_text
from orchestrator.run.execution_status import IF_BEGUN, CheckpointStatus, ExecutionStatus, Turn
from orchestrator.runbook.loaded import Loaded, has_hash
from orchestrator.runbook.model import Part, Step

_SAY_DONE: Final = (
    "an operator's decision that the step is done, because the gate already held, or was unknown,"
    " before the step: {}"
)
_HAND_OVER: Final = "an operator to do its step by hand; to hand the step to its hook: {}"
_POLL_GATE: Final = (
    "a poll of the sources of its gate, to know whether the gate holds before the step"
)
_END_WITH_CONTROLLERS: Final = frozenset({DataSource.METADATA_LOG, DataSource.JMX})
How = Literal["opened", "already"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tick:
    """The data of one tick, passed from rule to rule."""

    execution: ExecutionState
    instance: CheckpointInstance
    view: View
    facts: JsonFacts

    @property
    def state(self) -> CheckpointState:
        return self.execution.checkpoint(self.instance.id)


class Executor:
    """Executes a runbook on one cluster; not thread-safe.

    Args:
        steps: makes the steps, given the function that appends to the trail.
        fence: the value that `AuditLog.take_fence` returned.
        commands: for the cluster.
        state_dir: holds the copies of executed runbooks.
    """

    def __init__(
        self,
        *,
        loaded: Loaded,
        trail: ExecutionTrail,
        fence: int,
        facts: FactFinder,
        steps: Callable[[Callable[[Body], None]], Steps],
        commands: Commands,
        state_dir: Path,
    ) -> None:
        self._loaded = loaded
        self._trail = trail
        self._fence = fence
        self._commands = commands
        self._state_dir = state_dir
        self._facts = facts
        self._evaluator = PartEvaluator(facts)
        self._own = frozenset(each.name for each in loaded.runbook.conditions)
        self._conditions: dict[tuple[str, Part], Sequence[Condition]] = {}
        self._steps = steps(self._record)
        self._brokers: dict[int, BrokerSummary] = {}
        self._place: Place | None = None
        self._now_ms = 0
        self._in_zookeeper_mode: Mapping[int, int] = {}
        self._evaluating: tuple[str, Stage] | None = None
        self._evaluating_since_ms = 0

    def tick(self, view: View, facts: JsonFacts) -> ExecutionStatus | None:
        """Evaluate one tick, and do what is due; None: no execution has begun.

        Raises:
            AuditError: another orchestrator took over, or the trail cannot be written; nothing is
                done without it.
            HookError: the state of a hook cannot be read.
        """
        self._now_ms, self._in_zookeeper_mode = view.now_ms, in_zookeeper_mode(view)
        self._evaluator.begin_tick()
        self._place = None
        try:
            return self._tick(view, facts)
        except ExecutionError as error:  # an operator decided otherwise during this tick
            return self._status(None, (str(error),))

    def failed(self, error: HookError) -> ExecutionStatus:
        """Return the status while the state of a hook cannot be read, so that nothing is done."""
        why = str(error)
        return self._held(None, Hold(why, Turn(text="Repair the files of the hook", why=why)))

    def _tick(self, view: View, facts: JsonFacts) -> ExecutionStatus | None:
        execution = self._trail.state()
        if execution is None:
            return None
        self._steps.settle(execution, view)
        if execution.outcome is not None:
            return self._leftover(execution)
        if execution.sha256 != self._loaded.sha256:
            return self._other_runbook(execution)
        if execution.left_running is not None:
            return self._leftover(execution)
        instance = next_checkpoint(execution, self._loaded.runbook, view)
        match instance:
            case UnknownInstance():
                self._evaluating = None
                self._facts.keep_sources(instance.polls)
                return self._status(instance, (instance.why,), view=view)
            case AllPassed():
                return self._pass(instance.id, "opened", facts)
            case None:
                outcome = "completed" if execution.path is None else "rolled-back"
                self._record(entries.ExecutionEnded.model_validate({"outcome": outcome}))
                return self._status(None)
        self._record_restarts(execution, instance, view)
        at = _Tick(execution=execution, instance=instance, view=view, facts=facts)
        set_back = view.now_ms < self._evaluating_since_ms
        if (instance.id, at.state.stage) != self._evaluating or set_back:
            # What held before a step, or while it was not evaluated, does not count.
            self._evaluator.forget()
            self._evaluating = (instance.id, at.state.stage)
            self._evaluating_since_ms = view.now_ms
        return self._or_skip(at, self._continue(at))

    def _or_skip(self, at: _Tick, found: ExecutionStatus) -> ExecutionStatus:
        """Return the status, with the turn of an operator to skip what the cluster has passed."""
        why = behind_cluster(at.execution, at.instance, self._loaded.runbook, at.view)
        if why is None or found.checkpoint != at.instance.id or "skip" not in found.can:
            return found
        update = {
            "turn": f"Skip {at.instance.id}: the cluster has passed its step",
            "why": why,
            "commands": self._choices(at, "skip", "rollback")[0],
            "shown": None,
        }
        return found.model_copy(update=update)

    def _leftover(self, execution: ExecutionState) -> ExecutionStatus:
        """Wait for the hook that an aborted execution left running, if there is one."""
        left = execution.left_running
        hold = None if left is None else self._steps.poll_leftover(left, self._now_ms)
        if hold is not None:
            hold = hold._replace(text=f"{hold.text}: an aborted execution started it")
        return self._held(None, hold)

    def _other_runbook(self, execution: ExecutionState) -> ExecutionStatus:
        """Ask for the text of the runbook with which the execution began.

        The hook that it started needs no runbook to end.
        """
        at, hook = execution.current, None
        if at is not None and at.stage is Stage.RUNNING:
            hook = self._steps.poll(at.id, str(at.run), self._now_ms)
            at = (self._trail.state() or execution).current
        if hook is not None and hook.turn is not None:
            return self._held(None, hook)
        text, turn = self._restore(execution)
        if at is not None and at.asks is not None:
            turn = replace(turn, why=f"{turn.why}; {at.id} needs a decision, since {at.asks}")
        elif at is not None and hook is not None:
            turn = replace(turn, why=f"{turn.why}; the hook of {at.id} runs")
        return self._held(None, Hold(text, turn))

    def _restore(self, execution: ExecutionState) -> tuple[str, Turn]:
        """Return why nothing is executed with this runbook, and what an operator must do."""
        file = self._loaded.path
        if has_hash(file, execution.sha256):
            text = "End `kraftgate run` and start it again"
            why = f"it has the text of {file} from its start; the execution began with another"
            return f"{text}: {why}", Turn(text=text, why=why)
        kept = kept_runbook(self._state_dir, execution.sha256)
        if (name := self._loaded.runbook.name) != execution.runbook:
            why = f"`kraftgate run` has the runbook {name}; the execution is of {execution.runbook}"
            text = (
                f"If the configuration names {execution.runbook}, end `kraftgate run` and start it"
                f" again; else {set_words(execution.runbook, kept)} first"
            )
            return f"{why}. {text}", Turn(text=text, why=why)
        restore = restore_words(file, name, kept)
        why = f"{file} was changed since this execution began"
        text = (
            f"{why}: {restore}, and start `kraftgate run` again; or abort (kraftgate abort) and"
            " begin a new execution (kraftgate begin)"
        )
        turn = Turn(
            text=f"{capitalized(restore)}; or abort and begin a new execution",
            why=why,
            commands=("kraftgate help state-and-backup", self._commands.make("abort")),
        )
        return text, turn

    def _continue(self, at: _Tick) -> ExecutionStatus:
        match at.state.stage:
            case Stage.AHEAD:
                id_ = at.instance.id
                place = place_of(at.execution, self._loaded.runbook, at.view, id_)
                self._record(entries.CheckpointEntered(checkpoint=id_, place=place))
                return self._status(at.instance, view=at.view)
            case Stage.ENTERED:
                return self._before_step(at)
            case Stage.RUNNING:
                return self._running(at)
            case Stage.ASKS:
                return self._asking(at)
            case Stage.SHOWN:
                return self._shown(at)
            case _:
                return self._gate(at, "opened")

    def _running(self, at: _Tick) -> ExecutionStatus:
        """Wait for the hook; if it has failed now, ask for the decision at once."""
        hold = self._steps.poll(at.instance.id, str(at.state.run), self._now_ms)
        polled = replace(at, execution=self._trail.state() or at.execution)
        if polled.state.stage is Stage.ASKS:
            return self._asks(polled)
        return self._held(at, hold)

    def _held(self, at: _Tick | None, hold: Hold | None) -> ExecutionStatus:
        """Return the status; if an operator must act, the alert that pages them is raised, too."""
        instance, view = (None, None) if at is None else (at.instance, at.view)
        if hold is None:
            return self._status(instance, view=view)
        found = self._status(instance, (hold.text,), view=view, turn=hold.turn)
        return found if hold.turn is None else found.model_copy(update={"asks": hold.turn.why})

    def _shown(self, at: _Tick) -> ExecutionStatus:
        """Wait for an operator who does the step, or hands it to its hook."""
        done = self._commands.make("done", at.instance.id)
        if at.state.open_before:
            result = self._status(at.instance, (_SAY_DONE.format(done),), view=at.view)
        else:
            result = self._gate(at, "opened")
        step = at.instance.checkpoint.step
        if result.checkpoint is None or step is None:
            return result
        action = self._steps.action(at.instance, at.view)
        has_effect = self._has_effect(at.instance, result.findings)
        unmet = () if has_effect else self._unmet_since(at)
        not_now = () if has_effect else (*_paused(at.execution), *map(_words, unmet))
        holds = result.holds
        if not_now:
            begun = f"{action}: complete it if it was begun, and do not begin it now"
            holds = tuple(dict.fromkeys((begun, *not_now, *holds)))
        if at.state.open_before:
            why = (
                "the gate held, or was unknown, before the step, so it does not show that the step"
                " is done"
            )
            turn = Turn(text=action, why=why, commands=(done,))
        else:
            why = f"step {step.name} is done by hand; the gate shows when it is done"
            turn = Turn(text=action, why=why)
        if unmet:
            why = f"do not begin it now: {'; '.join(map(_words, unmet))}"
            turn = replace(turn, text=f"{IF_BEGUN}{action}", why=why)
        # Nothing shows whether such a step has begun, so its instructions stay.
        is_kept = not at.instance.checkpoint.irreversible and (
            at.instance.broker is None or _is_absent(at)
        )
        is_asked = not has_effect and (not unmet or is_kept)
        if (resume := self._resume(at)) is not None:
            turn, is_asked = resume, False
        elif not is_asked:
            turn = Turn()
        if "execute" in result.can:
            hand_over = self._commands.make("decide", at.instance.id, "--execute")
            holds = (*holds, _HAND_OVER.format(hand_over))
        # A headline that named the gate first would ask for the step. An absent broker was mostly
        # stopped by the operator: its step stays in the headline, and `why` has what is unmet.
        first = () if _is_absent(at) else map(RecordedFinding.of, unmet)
        findings = dict.fromkeys((*first, *result.findings))
        update = {
            "holds": holds,
            "findings": tuple(findings),
            "has_effect": has_effect,
            "turn": turn.text,
            "why": turn.why + (_down(at) if is_asked else ""),
            "commands": turn.commands,
            "shown": result.shown if is_asked else None,
        }
        return result.model_copy(update=update)

    def _unmet_since(self, at: _Tick) -> tuple[Finding, ...]:
        """Return the guards that forbid a shown step now; empty: none, or its broker has begun it.

        The guards held when it was shown, which may be hours ago; their soak is over.
        """
        if _restarts(at) and not _may_have_crashed(at):
            return ()
        unmet = self._evaluate(at, "needs").holding_back
        return tuple(each for each in unmet if not each.condition.startswith(f"{SOAK}("))

    def _before_step(self, at: _Tick) -> ExecutionStatus:
        if at.instance.checkpoint.already and self._evaluate(at, "already").holds:
            return self._gate(at, "already")
        if (
            was_begun(at.state)
            and not at.state.open_before
            and self._evaluate(at, "opens_when").holds
        ):
            return self._gate(at, "opened")  # the step was done, although its hook failed
        gate_is_polled = self._facts.is_polled(
            self._bound(at.instance, "opens_when"), self._evaluating_since_ms
        )
        step = at.instance.checkpoint.step
        self._facts.keep_sources(sources_of_text(step))
        needs = self._evaluate(at, "needs")
        holds = [_words(each) for each in needs.holding_back]
        elsewhere = self._steps.waits(at.execution, at.view)
        if elsewhere is not None:
            holds.insert(0, elsewhere)
        holds[:0] = _paused(at.execution)
        turn = self._end_elsewhere(at.execution) or self._resume(at)
        waits = self._approval(at)
        if waits is not None:
            if not holds:
                turn = self._approve(at)
            holds.append(waits)
        if not needs.holds and not holds:
            holds.append("another poll, to confirm that the guards hold")
        if holds:
            return self._status(at.instance, tuple(holds), needs.findings, view=at.view, turn=turn)
        if step is None:
            return self._gate(at, "opened")
        if not gate_is_polled:
            return self._status(at.instance, (_POLL_GATE,), needs.findings, view=at.view)
        return self._take(at, step)

    def _take(self, at: _Tick, step: Step) -> ExecutionStatus:
        hold = self._steps.take(
            at.execution, at.instance, step, at.view, at.facts, lambda: self._is_open(at)
        )
        return self._held(at, hold)

    def _resume(self, at: _Tick) -> Turn | None:
        """Return the turn of an operator to end the pause; None: the execution is not paused."""
        paused = at.execution.paused
        if paused is None:
            return None
        return Turn(
            text="Resume the execution when it may continue",
            why=f"{paused.by.who} paused it: {paused.reason}",
            commands=(self._commands.make("resume"),),
        )

    def _end_elsewhere(self, execution: ExecutionState) -> Turn | None:
        """Return the decision about a step that another orchestrator began; None: not now."""
        step = execution.elsewhere
        if step is None or execution.outcome is not None:
            return None
        return Turn(
            text=f"Find out on {step.host} whether the hook of {step.checkpoint} has ended",
            commands=(self._commands.make("decide", step.checkpoint, "--ended"),),
        )

    def _approve(self, at: _Tick) -> Turn:
        checkpoint, given = at.instance.checkpoint, at.state.approvals
        people = approvals_needed(at.execution, at.instance)
        facts = ["it cannot be undone"] if checkpoint.cannot_be_undone else []
        if checkpoint.for_each is not None:
            facts.append(f"one approval is for every {checkpoint.for_each}")
        if people > 1:
            names = ", ".join(sorted(each.by.words() for each in given)) or "nobody"
            facts.append(f"{len(given)} of {people} people approved it: {names}")
        return Turn(
            text=f"Approve: {self._steps.action(at.instance, at.view) or checkpoint.title}",
            why="; ".join(facts),
            commands=(
                self._commands.make("approve", at.instance.id, confirm=checkpoint.cannot_be_undone),
            ),
        )

    def _approval(self, at: _Tick) -> str | None:
        """Return what the approvals lack; None: nothing. Expires those whose state has changed."""
        wanted = at.instance.checkpoint.approval
        if wanted is None or at.instance.begun:
            return None
        expired = None
        for state in approved_at(at.execution, at.state, wanted):
            enough = len(state.approvals) >= wanted.people
            if enough and state.id != at.instance.id and was_begun(state):
                return None
            lines = self._differs(at, state)
            if lines:
                self._record(entries.ApprovalsExpired(checkpoint=state.id, changed=lines))
                expired = f"approval: the one given has expired, {lines[0]}"
            elif enough:
                return None
        if expired is not None:
            return expired
        names = sorted(each.by.words() for each in at.state.approvals)
        so_far = f" ({', '.join(names)} did)" if names else ""
        people = "a person" if wanted.people == 1 else f"{wanted.people} people"
        return f"approval by {people}{so_far}: {self._approve(at).commands[0]}"

    def _differs(self, at: _Tick, state: CheckpointState) -> tuple[str, ...]:
        """Return what has changed since the approvals of a place, a line each."""
        now = self._basis(at.view)
        lines = (line for each in state.approvals for line in changed(each.basis, now))
        return tuple(dict.fromkeys(lines))

    def _basis(self, view: View) -> dict[str, str]:
        return basis(view.summary, view.hazards, self._loaded.sha256)

    def _asking(self, at: _Tick) -> ExecutionStatus:
        """Wait for a decision, unless the cluster shows that a step of unknown outcome was done.

        While processes of its hook run, it is not done: they may change the broker again.
        """
        if at.state.outcome_unknown and not at.state.open_before:
            place = self._tick_place(at.execution, at.instance, at.view)
            has_ended = place is not None and not place.hook_runs
            if has_ended and self._evaluate(at, "opens_when").holds:
                return self._pass(at.instance.id, "opened", at.facts)
        return self._asks(at)

    def _asks(self, at: _Tick) -> ExecutionStatus:
        commands, refused = self._choices(at, "repeat", "done", "rollback")
        asks = "; ".join(filter(None, (at.state.asks, refused)))
        hold = f"a decision, since {asks}"
        if refused is None:
            repeat = self._commands.make("decide", at.instance.id, "--repeat")
            hold += f". Check the host, then: {repeat}, or --done instead if the step is done"
        else:  # first one that does nothing: the headline names the first one as what to run
            commands = (f"kraftgate help {STEP_NEEDS_DECISION}", *commands)
        action = self._steps.action(at.instance, at.view)
        turn = Turn(text=f"Decide about the failed step: {action}", commands=commands)
        found = self._status(at.instance, (hold,), view=at.view, turn=turn)
        return found.model_copy(update={"asks": asks})

    def _choices(self, at: _Tick, *actions: OfCheckpoint) -> tuple[tuple[str, ...], str | None]:
        """Return the commands of an abort and of the allowed actions; why the first is refused."""
        execution, id_ = self._trail.state() or at.execution, at.instance.id
        place = self._tick_place(execution, at.instance, at.view)
        refused = ["" if place is None else refusal(each, place) for each in actions]
        words: dict[str, tuple[str, ...]] = {"skip": ("skip", id_), "rollback": ("rollback",)}
        able = [each for each, why in zip(actions, refused, strict=True) if why is None]
        commands = (words.get(each, ("decide", id_, f"--{each}")) for each in able)
        return tuple(self._commands.make(*each) for each in (*commands, ("abort",))), refused[0]

    def _tick_place(
        self, execution: ExecutionState, instance: CheckpointInstance | None, view: View | None
    ) -> Place | None:
        """Return the place of this tick, which searches once for the processes of a hook.

        It is made again after an entry in the trail, which makes another `execution`.
        """
        if instance is None or view is None:
            return None
        if self._place is None or self._place.execution is not execution:
            self._place = self._steps.place(execution, self._loaded, instance, view)
        return self._place

    def _gate(self, at: _Tick, how: How) -> ExecutionStatus:
        answer = self._evaluate(at, "opens_when")
        if answer.holds:
            return self._pass(at.instance.id, how, at.facts)
        holds = [_words(each) for each in answer.holding_back]
        if not holds:
            holds.append("another poll, to confirm that the gate holds")
        turn = self._repeat(at, answer.findings)
        found = self._status(at.instance, tuple(holds), answer.findings, view=at.view, turn=turn)
        # A person has to decide, so the alert that pages them is raised, too.
        return found if turn is None else found.model_copy(update={"asks": turn.why})

    def _repeat(self, at: _Tick, findings: Sequence[Finding]) -> Turn | None:
        """Return the turn of an operator to repeat a step without effect; None: not now.

        A broker that restarts, or that assigns its replicas, shows an effect; one that stays down
        for twice the time does not.
        """
        one, after_ms = at.view.summary.broker(at.instance.broker), at.view.stall_after_ms
        waited_ms = at.view.now_ms - self._evaluating_since_ms
        effects = self._effects(at.instance)
        lacks = [e for e in findings if e.condition in effects and e.verdict is Verdict.WAITING]
        if _restarts(at):
            after_ms *= 2
        shows_effect = not lacks or (one is not None and one.held and not one.fenced)
        if at.state.stage is not Stage.STEP_DONE or waited_ms < after_ms or shows_effect:
            return None
        commands, refused = self._choices(at, "repeat", "rollback")
        why = f"it ended over {duration_text(after_ms)} ago, and {lacks[0].reason}"
        return Turn(
            text=f"Do the step by hand, or repeat it: {self._steps.action(at.instance, at.view)}",
            why=f"{why}; {refused}" if refused else why,
            commands=commands,
        )

    def _pass(self, id_: str, how: How, facts: JsonFacts) -> ExecutionStatus:
        self._record(entries.CheckpointPassed(checkpoint=id_, how=how, facts=facts))
        return self._status(None)

    def _evaluate(self, at: _Tick, part: Part) -> PartResult:
        bound, awaited = self._bound(at.instance, part), frozenset[str]()
        if part == "needs" and at.state.stage is Stage.ENTERED:
            bound = self._guards(at)
        if part == "opens_when" and at.state.stage is Stage.SHOWN:
            # The step ends these violations, as a replaced disk does; not one that began later.
            awaited = self._effects(at.instance) & at.state.violated_before
        answer = self._evaluator.evaluate(at.state, part, bound, at.view, at.facts, awaited)
        if answer.entry is not None:
            self._record(answer.entry)
        return answer

    def _guards(self, at: _Tick) -> Sequence[Condition]:
        """Return the guards of a step, without those that it has made unknown itself.

        A step that stops the controllers ends the metadata log. Half done, it must be possible to
        repeat it, although what only the log shows is unknown from then on. All other data must be
        known: the next step needs it, too.
        """
        guards, view = self._bound(at.instance, "needs"), at.view
        begun = was_begun(at.state) and stops_controllers(at.instance.checkpoint)
        seen = zookeeper_of(view)
        unread = seen is None or seen.unreadable or view.summary.content.unreadable
        if not begun or DataSource.METADATA_LOG not in view.not_current or unread:
            return guards

        (log,) = reasons_not_known(view, [DataSource.METADATA_LOG])

        def is_of_the_log(guard: Condition, now: Finding) -> bool:
            is_unknown = now.verdict is Verdict.UNKNOWN and log in now.reason
            return is_unknown and not reasons_not_known(view, guard.needs - _END_WITH_CONTROLLERS)

        found = zip(guards, judge_all(guards, view), strict=True)
        return [
            guard for guard, now in found if guard.name != SOAK and not is_of_the_log(guard, now)
        ]

    def _is_open(self, at: _Tick) -> bool:
        """Return whether the gate, without its soak, holds or may hold.

        Such a gate cannot show that the step is done. The soak is left out: it passes by itself.
        """
        conditions = self._bound(at.instance, "opens_when")
        findings = self._evaluate(at, "opens_when").findings
        return all(
            found.verdict in (Verdict.SATISFIED, Verdict.UNKNOWN)
            for each, found in zip(conditions, findings, strict=True)
            if each.name != SOAK
        )

    def _bound(self, instance: CheckpointInstance, part: Part) -> Sequence[Condition]:
        key = (instance.id, part)
        if key not in self._conditions:  # the runbook was checked: all can be parsed
            texts: Sequence[str] = getattr(instance.checkpoint, part)
            found = [parse(each, bind=instance.bind, own=self._own) for each in texts]
            self._conditions[key] = found
        return self._conditions[key]

    def _has_effect(
        self, instance: CheckpointInstance, findings: Sequence[RecordedFinding]
    ) -> bool:
        """Return whether the gate shows the step's effect: what would make it superfluous."""
        satisfied = {e.condition for e in findings if e.verdict is Verdict.SATISFIED}
        effects = self._effects(instance)
        return bool(effects) and effects <= satisfied

    def _effects(self, instance: CheckpointInstance) -> frozenset[str]:
        return frozenset(each.text for each in self._bound(instance, "already"))

    def _record_restarts(
        self, execution: ExecutionState, instance: CheckpointInstance, view: View
    ) -> None:
        """Record brokers that registered again while the checkpoint is not about them.

        Without a registration that counts, as after a rollback, only a change of mode shows that.
        """
        for broker in view.summary.brokers:
            before = self._brokers.get(broker.id, broker)
            self._brokers[broker.id] = broker
            both = before.epoch is not None and broker.epoch is not None
            again = before.epoch != broker.epoch if both else before.mode is not broker.mode
            if not again or instance.broker == broker.id:
                continue
            offset = broker.registered_offset  # of a registration with the controllers
            where = "" if offset is None else f" at offset {offset}"
            text = (
                f"broker {broker.id} registered again in {broker.mode} mode{where},"
                f" while the current checkpoint was {instance.id}"
                f" ({place_of(execution, self._loaded.runbook, view, instance.id)})"
            )
            self._record(entries.UnexpectedChange(text=text, broker=broker.id))

    def _record(self, body: Body) -> None:
        unmoved = (lambda one: one.position) if isinstance(body, _MOVES) else None
        self._trail.append(body, self._now_ms, self._fence, unmoved=unmoved)

    def _status(
        self,
        instance: CheckpointInstance | UnknownInstance | None,
        holds: tuple[str, ...] = (),
        findings: tuple[Finding, ...] = (),
        *,
        view: View | None = None,
        turn: Turn | None = None,
    ) -> ExecutionStatus:
        """Return the status, with what the tick recorded; None: no checkpoint is current."""
        execution = self._trail.state()
        if execution is None:
            raise AssertionError("the execution with a status has not begun")
        names = [each.id for each in checkpoints(self._loaded.runbook, execution.path)]
        if instance is not None and instance.id.partition("[")[0] not in names:
            return self._status(None)  # an operator began a rollback during this tick
        id_ = None if instance is None else instance.id
        known = instance if isinstance(instance, CheckpointInstance) else None
        people = 0 if known is None else approvals_needed(execution, known)
        at = None if id_ is None else execution.checkpoint(id_)
        asks = None if at is None else at.asks
        if asks is None and execution.elsewhere is not None:
            asks = execution.elsewhere.words()
        paused, turn = execution.paused, turn or self._end_elsewhere(execution) or Turn()
        can = tuple(allowed(execution, self._tick_place(execution, known, view)))
        return ExecutionStatus(
            at_ms=self._now_ms,
            runbook=execution.runbook,
            checkpoint=id_,
            title=None if known is None else known.checkpoint.title,
            stage=None if at is None else at.stage,
            holds=holds,
            findings=tuple(RecordedFinding.of(each) for each in findings),
            shown=None if at is None or at.stage is not Stage.SHOWN else at.shown,
            path=execution.path,
            paused=None if paused is None else f"{paused.by.who}: {paused.reason}",
            outcome=execution.outcome,
            execute=execution.execute,
            asks=asks,
            places=tuple(map(CheckpointStatus.model_validate, execution.checkpoints.values())),
            unexpected=execution.unexpected,
            people=people,
            basis=self._basis(view) if people and view is not None else None,
            approved_by=tuple(sorted(each.by.words() for each in at.approvals) if at else ()),
            finalize_is_near=finalize_is_near(self._loaded.runbook, execution.path, id_),
            finalize_is_in_progress=finalize_is_in_progress(
                self._loaded.runbook, execution.path, id_
            ),
            controllers_stop=controllers_stop(self._loaded.runbook, execution),
            place="" if view is None else place_of(execution, self._loaded.runbook, view, id_),
            turn=turn.text,
            why=turn.why,
            commands=turn.commands,
            output=() if at is None or at.stage is not Stage.ASKS else at.output,
            can=can,
            at={each: concern(each, execution) for each in can},
            in_zookeeper_mode=self._in_zookeeper_mode,
        )


_MOVES: Final = (
    entries.CheckpointEntered,
    entries.CheckpointPassed,
    entries.ExecutionEnded,
    entries.StepShown,
    entries.StepStarted,
)
"""Entries for the execution as the tick found it; an operator may have moved it meanwhile."""


def _restarts(at: _Tick) -> bool:
    """Return whether the broker of a checkpoint has begun its restart, or is down."""
    if at.instance.broker is None:
        return False
    one = at.view.summary.broker(at.instance.broker)
    return one is None or one.fenced or one.in_controlled_shutdown or _is_absent(at)


def _is_absent(at: _Tick) -> bool:
    """Return whether the broker is down by /brokers/ids: no controller may be left to fence it."""
    id_, zookeeper = at.instance.broker, zookeeper_of(at.view)
    if id_ is None or zookeeper is None or not is_zookeeper_authoritative(at.view):
        return False
    return not zookeeper.lists(id_)


def _down(at: _Tick) -> str:
    """Return what to add to the reason of a shown step whose broker is down; "": it is not.

    Nothing shows who stopped a broker in ZooKeeper mode.
    """
    if not _restarts(at):
        return ""
    return "; the broker is down: if you did not stop it for this, check its log directories first"


def _may_have_crashed(at: _Tick) -> bool:
    """Return whether a registered broker is down, and no controlled shutdown shows who stopped it.

    A failed log directory halts a broker in migration mode; a host that lost its power may come
    back without a disk.
    """
    one = at.view.summary.broker(at.instance.broker)
    if one is None or one.in_controlled_shutdown:
        return False
    return one.fenced or _is_absent(at)


def _paused(execution: ExecutionState) -> tuple[str, ...]:
    """Return a reason not to continue if the execution is paused."""
    paused = execution.paused
    return () if paused is None else (f"paused by {paused.by.who}: {paused.reason}",)


def _words(finding: Finding) -> str:
    mark = "" if finding.verdict is Verdict.WAITING else f" ({finding.verdict})"
    return f"{finding.condition}{mark}: {finding.reason}"

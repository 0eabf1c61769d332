"""Applies and cancels a plan of moves between the log directories of brokers (KIP-113).

Each request is recorded in the audit trail before it is sent, with the throttle that was set
before. After a kill, the brokers' directories show what is left, and the trail shows which
throttles must be restored.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from migration.moves.steps import (
    STRIKES_MAX,
    Copies,
    Measured,
    Moving,
    Replica,
    Step,
    copies,
    measured,
    next_step,
)
from migration.moves.verify import Progress, Verified, on_disk
from migration.observed.facts import FutureSeen
from migration.observed.log_dirs import NOT_CLEANED, behind, name
from migration.observed.probed import Broker, LogDir, Maybe, TopicPartition, Unknown
from migration.values.evidence import bounded, count, joined, named
from orchestrator.audit import AuditLog
from orchestrator.audit.execution.trail import ExecutionTrail
from orchestrator.audit.move_entries import (
    Body,
    Command,
    MoveBegan,
    MoveEnded,
    MoveSent,
    MoveThrottled,
    MoveUnthrottled,
    Sent,
    after_change,
    left_throttled,
)
from orchestrator.config.load import Config
from orchestrator.config.models import ClusterEntry
from orchestrator.errors import (
    AuditError,
    HazardError,
    KraftgateError,
    LockError,
    LockHeld,
    MoveError,
    NoDataError,
)
from orchestrator.execution.approvals import this_person
from orchestrator.execution.commands import Commands
from orchestrator.execution.locks.cluster_lock import ClusterLock
from orchestrator.execution.locks.store_lock import NotHeld
from orchestrator.hooks.runs import HookRuns
from orchestrator.output.formatting import short_age
from orchestrator.process.owner import Owner
from streams.kafka.errors import NotAuthorized, RequestRefused
from streams.kafka.throttle import Throttle, Throttles
from streams.net.endpoint import Endpoint
from streams.net.errors import LiveError
from streams.net.security import Security
from streams.probe.asking import in_parallel
from streams.probe.brokers import alter_log_dirs, broker_log_dirs, with_absent
from streams.process.clocks import wall_clock_ms

_POLL_S: Final = 1.0
_SILENT_S_MAX: Final = 300.0
"""A broker that restarts answers again within this time."""
_STILL_S_MAX: Final = 60.0
"""Copies that do not go on for longer are named; they may go on later, so the run waits."""
_THROTTLED_S_MAX: Final = 15.0
_STILL_NAMED_MAX: Final = 3
_NAMED_MAX: Final = 20
_RECORDED_MAX: Final = 50
"""Replicas in one entry of the audit trail, whose size is limited."""
_CANCELLED_POLLS_MAX: Final = 30
_COMPLETED: Final = Progress.COMPLETED


class Requests:
    """The requests to the brokers of a cluster.

    Args:
        brokers: as they were queried before, by id; no other address is used, because a configured
            one may be of another cluster.
    """

    def __init__(self, brokers: Mapping[int, Broker], security: Security) -> None:
        self._brokers = brokers
        self._security = security

    def log_dirs(self, brokers: Collection[int]) -> Mapping[int, Broker]:
        """Return the brokers with their log directories as they are now; any id may be asked."""

        def ask(id_: int) -> Broker:
            one = self._brokers.get(id_) or with_absent((), (id_,))[0]
            return replace(one, log_dirs=broker_log_dirs(one, self._security))

        return {one.id: one for one in in_parallel(ask, sorted(brokers))}

    def alter(
        self, broker: int, targets: Mapping[TopicPartition, str]
    ) -> Maybe[Mapping[TopicPartition, str]]:
        """Move replicas; return why the broker refuses some."""
        return alter_log_dirs(self._brokers[broker], self._security, targets)

    def throttle(self, broker: int) -> Throttle:
        return self._throttles.read(broker)

    def set_throttle(self, broker: int, value: str | None) -> None:
        """Set the throttle of a broker; None: delete it."""
        self._throttles.write(broker, value)

    @cached_property
    def _throttles(self) -> Throttles:
        alive = ",".join(one.endpoint for one in self._brokers.values() if one.endpoint)
        return Throttles(Endpoint.parse_list(alive), self._security)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The moves of a file.

    Attributes:
        targets: the directory of each replica to move, by broker.
        throttles: bytes per second while a broker moves replicas; without one it keeps what it has.
    """

    file: Path
    sha256: str
    targets: Mapping[int, Mapping[TopicPartition, str]]
    throttles: Mapping[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Orchestrating:
    """The cluster's lock, held, and its audit trail."""

    cluster: str
    commands: Commands
    log: AuditLog
    fence: int
    lock: ClusterLock

    def record(self, body: Body) -> None:
        self.log.append(self.cluster, body.kind, body.as_json(), wall_clock_ms(), fence=self.fence)

    def require_lock(self) -> None:
        """Raise LockError unless this process still holds the lock."""
        found = self.lock.check(has_zookeeper=True)
        if isinstance(found, NotHeld):
            raise LockError(f"{self.cluster}: the lock was lost: {found.why}")


@contextmanager
def orchestrating(config: Config, entry: ClusterEntry, log: AuditLog) -> Iterator[Orchestrating]:
    """Hold the lock that `run --execute` holds, until the block ends.

    Raises:
        LockHeld: another orchestrator has it, or a hook of an earlier one still runs.
        LockError: it cannot be taken.
        AuditError: the audit trail cannot be written.
    """
    owner = Owner.myself(wall_clock_ms())
    with closing(ClusterLock.of(config, entry, log, owner)) as lock:
        try:
            fence = lock.acquire()
        except LockHeld as error:
            raise LockHeld(
                f"{error}. A `kraftgate run` with a `runbook` holds the lock, also without"
                " --execute: until the moves have ended, run one without `runbook` and with the"
                " same state directory"
            ) from error
        commands = Commands.of(config, entry.name)
        _require_no_hook(config, commands, log, lock)
        yield Orchestrating(cluster=entry.name, commands=commands, log=log, fence=fence, lock=lock)


def _require_no_hook(config: Config, commands: Commands, log: AuditLog, lock: ClusterLock) -> None:
    step = lock.running(has_zookeeper=True)
    if step is not None:
        raise LockHeld(
            f"{commands.cluster}: wait for the end of {step.words()}. If its hook has ended, start"
            " `kraftgate run` there with the same state directory; if that is lost, `kraftgate run"
            f" --execute` here, and then: {commands.make('decide', step.checkpoint, '--ended')}"
        )
    execution = ExecutionTrail(log, commands.cluster).state()
    if execution is None:
        return
    hooks = HookRuns(config.state_dir)
    started = [each.run for each in execution.checkpoints.values() if each.may_run]
    started += [execution.left_running.run] if execution.left_running is not None else []
    for run in started:
        if run is not None and hooks.runs(run):
            raise LockHeld(
                f"{commands.cluster}: the hook {run} of the runbook still runs: wait for it"
            )


class MoveRun:
    """One run of `move apply` or `move cancel`.

    Args:
        plan: the moves.
        held: the lock and the audit trail.
        requests: to the brokers.
        wait: sleeps for some seconds; returns whether the operator ended the run.
        warn: prints one line to the operator; raises no error.
    """

    def __init__(
        self,
        plan: Plan,
        held: Orchestrating,
        requests: Requests,
        wait: Callable[[float], bool],
        warn: Callable[[str], None],
    ) -> None:
        self._plan = plan
        self._held = held
        self._requests = requests
        self._wait = wait
        self._warn = warn
        self._command: Command = "apply"
        self._throttled = dict(left_throttled(held.log.entries(held.cluster)))
        self._unsent: Counter[int] = Counter()
        self._silent_since_s: dict[int, float] = {}
        self._copies: Mapping[int, Copies] = {}
        self._answered: Mapping[int, Broker] = {}
        """The brokers of the plan as they answered last: one that is silent keeps its progress."""

    def apply(
        self,
        at_once: int,
        require_allowed: Callable[[Collection[int], Mapping[int, Broker]], None],
        show: Callable[[Measured, Step, Sequence[str]], None],
    ) -> None:
        """Start what is left of the plan, and wait for its end.

        Args:
            at_once: how many replicas of one broker may move at the same time.
            require_allowed: raises HazardError or NoDataError if moves on brokers, whose log
                directories it gets as they are now, may not begin.
            show: shows how much is done, and which copies do not go on.

        Raises:
            HazardError: no further move may begin; those that ran have ended.
            NoDataError: whether one may is unknown, or a broker does not answer.
            MoveError: a move failed, a throttle cannot be changed, the audit trail cannot be
                written, or the operator ended the run.
            LockError: another orchestrator has the lock.
            AuditError: the audit trail cannot be written at the beginning.
        """
        self._begin("apply")
        run, _, found, _ = self._polled(Moving(), at_once)
        kind: type[KraftgateError] = MoveError
        why: list[str] = []
        try:
            self._throttle(each.broker for each in found if each.progress is not _COMPLETED)
            while True:
                run, brokers, found, step = self._polled(run, 0 if why else at_once, show)
                if step.is_end:
                    break
                try:
                    if step.send:
                        require_allowed(step.send.keys(), brokers)
                except (HazardError, NoDataError) as error:
                    kind, why = type(error), [str(error)]
                else:
                    run = self._send(run, step)
                self._pause(step)
        except (AuditError, LiveError, _Ended) as error:
            kind = NoDataError if isinstance(error, _Ended) and error.is_silence else kind
            why.append(str(error))
            found = _newer(found, self._poll())
        self._end(run, found, kind, why)

    def cancel(self) -> None:
        """Assign to each replica that moves its current directory again, so that it stays there.

        Warns that Kafka no longer cleans these replicas.

        If a replica arrives before its request, the request moves it back to its source: then a
        second request assigns the directory in which it arrived.

        Raises:
            NoDataError: a broker does not answer.
            MoveError: a move cannot be cancelled, or a throttle cannot be restored.
            LockError: another orchestrator has the lock.
            AuditError: the audit trail cannot be written.
        """
        self._begin("cancel")
        found = self._poll()
        run = Moving()
        kept: dict[Replica, str] = {}
        for _ in range(_CANCELLED_POLLS_MAX):
            for broker in sorted({each.broker for each in found if _is_own_move(each, run, kept)}):
                run = self._keep(run, broker, kept)
            found = self._poll()
            if not any(_is_own_move(each, run, kept) for each in found) or self._wait(_POLL_S):
                break
        silent = [each.why or "" for each in found if each.progress is Progress.UNKNOWN]
        kind = NoDataError if silent else MoveError
        # A request without an answer may have arrived.
        run = run.accepted(kept.keys() - run.failed.keys())
        self._end(run, found, kind, list(dict.fromkeys(silent)))

    def _require_lock(self) -> None:
        """Raise a LockError with what is left: without the lock nothing may be restored."""
        try:
            self._held.require_lock()
        except LockError as error:
            throttles = [f"broker {id_} keeps the throttle" for id_ in sorted(self._throttled)]
            left = "; ".join(["replicas that are being moved go on", *throttles])
            raise LockError(f"{error}. {left}. {self._next()}") from error

    def _next(self, *, has_left: bool = True) -> str:
        """Return the commands to call next; `has_left`: whether replicas that can move are left."""
        make, file = self._held.commands.without_reason, str(self._plan.file)
        cancel = make("move", "cancel", file)
        if self._throttled and not has_left:
            return f"To restore the throttle, as soon as the broker moves no replica: {cancel}"
        resume = f"To resume: {make('move', self._command, file)}"
        return resume + f"; to end: {cancel}" * (self._command == "apply")

    def _keep(self, run: Moving, broker: int, kept: dict[Replica, str]) -> Moving:
        """Assign to the replicas of a broker that move the directories that they have now.

        They are added to `kept`, the directories that this cancellation assigned.
        """
        moves = [each for each in self._poll((broker,)) if _is_own_move(each, run, kept)]
        here = {each.at: each.path for each in moves if each.path is not None}
        if not here:
            return run
        kept.update({(broker, at): path for at, path in here.items()})
        return self._ask(run, broker, moves, here)

    def _polled(
        self,
        run: Moving,
        at_once: int,
        show: Callable[[Measured, Step, Sequence[str]], None] | None = None,
    ) -> tuple[Moving, Mapping[int, Broker], tuple[Verified, ...], Step]:
        brokers = self._requests.log_dirs(self._plan.targets.keys())
        found = _found(self._plan, brokers)
        run, step = next_step(run, found, at_once)
        if show is not None:
            known = {id_: b for id_, b in brokers.items() if not isinstance(b.log_dirs, Unknown)}
            self._answered = {**brokers, **self._answered, **known}
            now = _found(self._plan, self._answered)
            done = measured(now, self._answered, self._rates())
            show(done, step, tuple(self._stalled(step, brokers)))
        return run, brokers, found, step

    def _stalled(self, step: Step, brokers: Mapping[int, Broker]) -> Iterator[str]:
        """Yield the brokers whose copies have not gone on for a minute, and what to do."""
        now_s = time.monotonic()
        self._copies = copies(self._copies, step.waits, brokers, now_s)
        make = self._held.commands.without_reason
        cancel = make("move", "cancel", str(self._plan.file))
        for id_, found in sorted(self._copies.items()):
            still_s = now_s - found.since_s
            if still_s >= _STILL_S_MAX:
                replicas = [f"{name(each)} ({_why_still(each)})" for each in found.seen.values()]
                yield (
                    f"broker {id_} makes no progress for {short_age(1000 * still_s)}:"
                    f" {named(replicas, _STILL_NAMED_MAX)}: see {make('hazards')}; to end: {cancel}"
                )

    def _poll(self, brokers: Collection[int] | None = None) -> tuple[Verified, ...]:
        """Return how far the moves of some brokers are; None: of all brokers of the plan."""
        asked = self._plan.targets.keys() if brokers is None else brokers
        return _found(self._plan, self._requests.log_dirs(asked))

    def _pause(self, step: Step) -> None:
        """Wait until the next poll.

        Raises:
            _Ended: the operator ended the run, or a broker was silent for too long.
        """
        now_s = time.monotonic()
        since_s = {id_: self._silent_since_s.get(id_, now_s) for id_ in step.silent}
        self._silent_since_s = since_s
        gone = [step.silent[id_] for id_, at_s in since_s.items() if now_s - at_s > _SILENT_S_MAX]
        if gone:
            raise _Ended("; ".join(gone), is_silence=True)
        if self._wait(_POLL_S):
            raise _Ended("interrupted")

    def _send(self, run: Moving, step: Step) -> Moving:
        for broker, moves in step.send.items():
            run = self._ask(run, broker, moves, {each.at: each.target for each in moves})
        return run

    def _ask(
        self,
        run: Moving,
        broker: int,
        moves: Iterable[Verified],
        targets: Mapping[TopicPartition, str],
    ) -> Moving:
        """Record and send one request; return the run with what the broker accepts and refuses."""
        self._require_lock()
        sent = tuple(
            Sent(topic=each.at.topic, partition=each.at.number, source=each.path, to=to)
            for each in moves
            if each.path is not None and (to := targets.get(each.at)) is not None
        )
        for at in range(0, len(sent), _RECORDED_MAX):
            self._held.record(MoveSent(broker=broker, replicas=sent[at : at + _RECORDED_MAX]))
        refused = self._requests.alter(broker, targets)
        if isinstance(refused, Unknown):  # whether it arrived is shown by the next poll
            self._unsent[broker] += 1
            if self._unsent[broker] < STRIKES_MAX:
                return run
            refused = dict.fromkeys(targets, refused.why)
        else:
            self._unsent[broker] = 0
        run = run.refused({(broker, at): why for at, why in refused.items()})
        return run.accepted((broker, at) for at in targets if at not in refused)

    def _throttle(self, moving: Iterable[int]) -> None:
        """Set the throttles of the plan, and restore what an earlier run left on brokers at rest.

        A broker without a throttle in the plan keeps that of the earlier run while it moves
        replicas: the command that resumes a run does not name it.

        Raises:
            LiveError: a throttle cannot be read or set.
            _Ended: a broker does not apply it.
        """
        rates = self._rates()
        wanted = {id_: str(rates[id_]) for id_ in moving if id_ in rates}
        for id_ in _at_rest(self._throttled_without(wanted)):
            self._restore(id_)
        for id_, value in sorted(wanted.items()):
            now = self._requests.throttle(id_)
            left = self._throttled.get(id_)
            if now.effective == value and (left is None or left.last.value == value):
                continue
            if id_ not in self._plan.throttles and self._is_from_another_client(id_, now.own):
                continue
            is_ours = left is not None and now.own in left.values
            previous = left.last.previous if left is not None and is_ours else now.own
            intent = MoveThrottled(broker=id_, previous=previous, value=value)
            self._require_lock()
            self._held.record(intent)
            self._throttled[id_] = after_change(left, intent)
            try:
                self._requests.set_throttle(id_, value)
            except (NotAuthorized, RequestRefused):
                # An earlier run's throttle, if there is one, still has to be restored.
                if left is None and self._requests.throttle(id_) == now:
                    self._held.record(MoveUnthrottled(broker=id_, value=previous, kept=False))
                    del self._throttled[id_]
                raise
            if self._await_throttle(id_, value):
                raise _Ended("interrupted")

    def _await_throttle(self, broker: int, value: str | None) -> bool:
        """Wait until a throttle takes effect; return whether the operator ended the run before.

        Raises:
            LiveError: the throttle cannot be read.
            _Ended: the broker does not apply it.
        """
        deadline_s = time.monotonic() + _THROTTLED_S_MAX
        while self._requests.throttle(broker).own != value:
            if time.monotonic() > deadline_s:
                change = "deletion of its throttle" if value is None else f"throttle {value}"
                raise _Ended(f"broker {broker} does not apply the {change}")
            if self._wait(_POLL_S / 5):
                return True
        return False

    def _rates(self) -> Mapping[int, int]:
        """Return the throttles of the plan, or else of the interrupted run that is resumed."""
        left = {id_: int(each.last.value) for id_, each in self._throttled.items()}
        return {**left, **self._plan.throttles}

    def _throttled_without(self, moving: Collection[int]) -> Mapping[int, Broker]:
        """Return the brokers with a throttle of this state directory, except `moving`, as now."""
        others = self._throttled.keys() - set(moving)
        return self._requests.log_dirs(others) if others else {}

    def _restore(self, broker: int) -> None:
        """Set the throttle of a broker to what it was, unless another client has changed it.

        What a broker describes may be older than a change just before a kill: the earlier value is
        written even if the broker already describes it.

        Raises:
            LiveError: it cannot be read or set.
            _Ended: the broker does not apply it.
            AuditError: it was restored, which cannot be recorded.
        """
        left = self._throttled[broker]
        previous = left.last.previous
        own = self._requests.throttle(broker).own
        kept = self._is_from_another_client(broker, own)
        self._require_lock()
        if not kept:
            self._requests.set_throttle(broker, previous)
            self._await_throttle(broker, previous)
        value = own if kept else previous
        self._held.record(MoveUnthrottled(broker=broker, value=value, kept=kept))
        del self._throttled[broker]
        if own in left.values:
            return
        state = "no throttle" if own is None else f"the throttle {own}"
        if not kept:
            changed = f"another client changed the throttle {left.last.value}"
            why = f": {changed}, or it never took effect"
        elif own is None:
            why = ": another client deleted it"
        else:
            why = ", which another client set: it stays"
        self._warn(f"{self._held.cluster}: broker {broker} has {state}{why}")

    def _is_from_another_client(self, broker: int, own: str | None) -> bool:
        """Return whether another client set `own`, the throttle that a broker has."""
        left = self._throttled[broker]
        return own not in {*left.values, left.last.previous}

    def _begin(self, command: Command) -> None:
        self._command = command
        began = MoveBegan(
            command=command,
            by=this_person(),
            plan=str(self._plan.file),
            sha256=self._plan.sha256,
            replicas=sum(map(len, self._plan.targets.values())),
        )
        self._held.record(began)

    def _end(
        self, run: Moving, found: Iterable[Verified], kind: type[KraftgateError], why: list[str]
    ) -> None:
        """Restore the throttles of the brokers at rest, record the end, and report what is left.

        Raises:
            KraftgateError: of this kind, if a replica or a throttle is left.
        """
        found = tuple(found)
        moving = {
            each.broker for each in found if each.progress in (Progress.MOVING, Progress.UNKNOWN)
        }
        done = [each for each in found if each.progress is _COMPLETED]
        if self._command == "cancel":
            done += [each for each in found if _is_at_rest(each)]
        left = [each for each in found if each not in done]
        reasons = _by_reason(left, run)
        self._warn_of_dropped_copies(run, found)
        others = self._throttled_without(moving)
        at_rest = _at_rest(others)
        for id_ in at_rest:
            try:
                self._restore(id_)
            except (LiveError, _Ended) as error:
                why.append(f"the throttle of broker {id_} is not restored: {error}")
            except AuditError as error:
                why.append(f"the restored throttle of broker {id_} is not recorded: {error}")
        silent = {each.broker for each in found if each.progress is Progress.UNKNOWN}
        silent |= {id_ for id_, one in others.items() if isinstance(one.log_dirs, Unknown)}
        why += [
            f"broker {id_} keeps the throttle: it"
            + (" does not answer" if id_ in silent else " moves replicas")
            for id_ in sorted(self._throttled.keys() - set(at_rest))
        ]
        ended = MoveEnded(
            command=self._command, done=len(done), left=len(left), why=bounded([*why, *reasons])
        )
        try:
            self._held.record(ended)
        except AuditError as error:
            why.append(f"the end of the run is not recorded: {error}")
        if left or why:
            lines = [joined(reasons, _NAMED_MAX)] if left else []
            is_apply = self._command == "apply"
            state = "in their target" if is_apply else "without a move"
            gone = [
                each
                for each in left
                if is_apply and each.progress is Progress.MISSING and not each.is_offline
            ]
            if gone:
                lines.append(
                    "if a topic was deleted or a partition was reassigned, plan again (kraftgate"
                    " move plan)"
                )
            text = (
                f"{self._held.cluster}: {len(done)} of {len(found)} replicas are {state}."
                f" {'; '.join([*why, *lines])}."
            )
            has_left = len(left) > len(gone)
            if has_left or self._throttled or not left:
                text += f" {self._next(has_left=has_left)}"
            raise kind(text)

    def _warn_of_dropped_copies(self, run: Moving, found: Iterable[Verified]) -> None:
        """Print how many replicas of each broker are no longer cleaned: no API of Kafka shows it.

        A cancelled replica in its target arrived before its request, which began a move back.
        """
        ended = {Progress.NOT_MOVING, Progress.MOVING_ELSEWHERE}
        ended |= {_COMPLETED} if self._command == "cancel" else set()
        dropped = Counter(
            each.broker
            for each in found
            if each.progress in ended and (each.broker, each.at) in run.started
        )
        for id_, number in sorted(dropped.items()):
            hazards = self._held.commands.without_reason(
                "hazards", "--before", "restart", "--broker", str(id_)
            )
            self._warn(
                f"{self._held.cluster}: broker {id_}: the copy of {count(number, 'replica')} was"
                f" dropped: {NOT_CLEANED}. Restart it once this exits with 0: {hazards}"
            )


class _Ended(Exception):
    """The run ends before the moves; `is_silence`: a broker does not answer."""

    def __init__(self, why: str, *, is_silence: bool = False) -> None:
        super().__init__(why)
        self.is_silence = is_silence


def _why_still(replica: FutureSeen) -> str:
    confirms = ": in KRaft mode a controller confirms the target first"
    return behind(replica.lag) + confirms * (replica.lag == 0)


def _found(plan: Plan, brokers: Mapping[int, Broker]) -> tuple[Verified, ...]:
    return tuple(
        each
        for id_, one in sorted(brokers.items())
        for each in on_disk(id_, plan.targets[id_], one.log_dirs)
    )


def _newer(before: Sequence[Verified], now: Sequence[Verified]) -> tuple[Verified, ...]:
    """Return how far moves are now; one that was completed before stays so if this is unknown."""
    return tuple(
        old if new.progress is Progress.UNKNOWN and old.progress is _COMPLETED else new
        for old, new in zip(before, now, strict=True)
    )


def _is_own_move(each: Verified, run: Moving, kept: Mapping[Replica, str]) -> bool:
    """Return whether a cancellation has to end a move: one of the plan, or one that it began.

    A move that the broker refuses to end is left; `kept`: the directories that it assigned.
    """
    at = (each.broker, each.at)
    is_back = each.path == each.target and each.future is not None and each.future == kept.get(at)
    return (each.progress is Progress.MOVING or is_back) and at not in run.failed


def _at_rest(brokers: Mapping[int, Broker]) -> list[int]:
    """Return the brokers that copy no replica.

    An interrupted plan goes on under its throttle, and a broker that is down holds up no other.
    """
    return sorted(id_ for id_, one in brokers.items() if _is_without_copies(one.log_dirs))


def _is_without_copies(log_dirs: Maybe[tuple[LogDir, ...]]) -> bool:
    """Return whether a broker copies no replica; it copies none whose source is not online."""
    if isinstance(log_dirs, Unknown):
        return False
    online = {at for one in log_dirs if not one.error for at in one.replicas}
    return online.isdisjoint(at for one in log_dirs for at in one.futures)


def _is_at_rest(each: Verified) -> bool:
    """Return whether the replica is where it was, without a copy elsewhere.

    A copy in a directory that is not online is unknown to its broker, and resumes later.
    """
    is_missing = each.progress is Progress.MISSING and each.future is None
    return not each.target_error and (is_missing or each.progress is Progress.NOT_MOVING)


def _by_reason(left: Iterable[Verified], run: Moving) -> list[str]:
    """Return the replicas that are left, with each reason once."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for each in left:
        why = run.failed.get((each.broker, each.at)) or each.why
        why = why or str(each.progress).replace("_", " ")
        found[why].append(f"{each.at} on broker {each.broker}")
    return [f"{named(names, _NAMED_MAX)}: {why}" for why, names in found.items()]

"""What a person says to a walk: begin, approve, pause, resume, skip, decide, roll back, abort.

Each appends one entry to the audit trail; the orchestrator (`kraftgate run`) reads it at its next
look. None of them touches the cluster.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from migration.conditions import DataSource
from migration.conditions.standing import brokers_not_known, not_known
from orchestrator.audit.opening import open_to_say
from orchestrator.commands.reading import Reader
from orchestrator.conditions.view import view_of
from orchestrator.config import Config, load_config
from orchestrator.config_models import ClusterEntry
from orchestrator.errors import NoDataError, WalkError
from orchestrator.runbook.load import Loaded, load
from orchestrator.runbook.model import NO_ROLLBACK, Runbook
from orchestrator.terminal import echo
from orchestrator.walk import entries
from orchestrator.walk.approvals import basis, this_person
from orchestrator.walk.entries import Body, Person
from orchestrator.walk.route import checkpoint_of, step_begun
from orchestrator.walk.state import Place, Stage, Walk
from orchestrator.walk.trail import Trail


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Who says it, to which cluster's walk, and why.

    Attributes:
        by: who it is, where that is not whoever runs this process; then `who` is of no account.
        say: tells what was done.
    """

    config_path: Path
    cluster: str | None
    who: str | None
    reason: str
    by: Person | None = None
    say: Callable[[str], None] = echo


@dataclass(frozen=True, slots=True, kw_only=True)
class _Open:
    config: Config
    entry: ClusterEntry
    trail: Trail
    by: Person
    now_ms: int
    say: Callable[[str], None]

    def walk(self) -> Walk:
        """The walk that goes on.

        Raises:
            WalkError: none has begun, or it has ended.
        """
        walk = self.trail.walk()
        if walk is None:
            raise WalkError(f"no walk has begun for {self.entry.name}: start kraftgate run")
        if walk.outcome is not None:
            raise WalkError(
                f"the walk of {self.entry.name} has ended ({walk.outcome}): kraftgate begin"
                " begins a new one"
            )
        return walk

    def current(self, checkpoint: str | None) -> tuple[Walk, Place]:
        """The checkpoint at which it stands; `checkpoint`, when given, must be that one.

        Raises:
            WalkError: it stands nowhere, or somewhere else.
        """
        walk = self.walk()
        place = walk.current
        if place is None:
            raise WalkError(f"the walk of {self.entry.name} is between two checkpoints: once more")
        if checkpoint is not None and place.id != checkpoint:
            raise WalkError(f"the walk of {self.entry.name} stands at {place.id}, not {checkpoint}")
        return walk, place

    def tell(self, body: Body, words: str) -> None:
        """Append the entry, and say so."""
        self.trail.tell(body, self.now_ms)
        self.say(f"{self.entry.name}: {words}")


@contextmanager
def _opened(said: Said) -> Iterator[_Open]:
    config = load_config(said.config_path)
    entry = _entry(config, said.cluster)
    if not said.reason.strip():
        raise WalkError("a reason is needed: --reason '...', it stands in the audit trail")
    with open_to_say(config) as log:
        yield _Open(
            config=config,
            entry=entry,
            trail=Trail(log, entry.name),
            by=said.by or this_person(said.who),
            now_ms=time.time_ns() // 1_000_000,
            say=said.say,
        )


def _entry(config: Config, name: str | None) -> ClusterEntry:
    found = [each for each in config.clusters if name in (None, each.name)]
    if len(found) != 1:
        names = ", ".join(each.name for each in config.clusters)
        raise WalkError(f"say of which cluster with --cluster: {names}")
    return found[0]


def _runbook(entry: ClusterEntry, walk: Walk | None) -> Loaded:
    """The cluster's runbook; it must be the one that is walked.

    Raises:
        WalkError: none is configured, or it was changed since the walk began.
        RunbookError: it cannot be used.
    """
    if entry.runbook is None:
        raise WalkError(f"no `runbook` is configured for {entry.name}")
    loaded = load(entry.runbook.file)
    if walk is not None and loaded.sha256 != walk.sha256:
        raise WalkError(
            f"{loaded.path} was changed since this walk began with it: put it back, or end the walk"
            " (kraftgate abort) and begin anew (kraftgate begin); gates that hold open again"
        )
    return loaded


def approve(said: Said, checkpoint: str) -> None:
    """Approve the step of the checkpoint at which the walk stands, in the state that is seen now.

    Raises:
        WalkError: it stands elsewhere, or asks for no approval.
        NoDataError: what is known is not current, so nobody knows what would be approved.
    """
    with _opened(said) as at:
        walk, place = at.current(checkpoint)
        loaded = _runbook(at.entry, walk)
        wanted = checkpoint_of(loaded.runbook, walk.path, place.id).approval
        if wanted is None:
            raise WalkError(f"{place.id} needs no approval")
        begun = step_begun(walk, place.id.partition("[")[0])
        if begun or place.stage is not Stage.ENTERED:
            raise WalkError(f"{place.id} needs no approval any more: it is {place.stage}")
        body = entries.Approved(
            checkpoint=place.id,
            by=at.by,
            reason=said.reason,
            basis=_basis(at, loaded.sha256),
        )
        at.tell(body, f"{place.id} approved by {at.by.who}")
        given = {each.by.who for each in place.approvals} | {at.by.who}
        if len(given) < wanted.people:
            at.say(f"{wanted.people} people must approve, {len(given)} did")


def _basis(at: _Open, sha256: str) -> dict[str, str]:
    snapshots = Reader(at.config, newest=1).look(at.now_ms)
    one = next(each for each in snapshots if each.summary.cluster == at.entry.name)
    view = view_of(one, at.entry, at.now_ms, stall_after_ms=at.config.stall_after_ms)
    unseen = brokers_not_known(view)
    if unseen is None and at.entry.brokers is not None:
        unseen = not_known(view, DataSource.LOG_DIRS)
    if unseen is not None:
        raise NoDataError(f"{at.entry.name}: nobody knows what would be approved: {unseen.reason}")
    return basis(view.summary, view.hazards, sha256)


def pause(said: Said) -> None:
    """Let no further step begin; the one under way goes on."""
    with _opened(said) as at:
        walk = at.walk()
        if walk.paused is not None:
            raise WalkError(f"it is paused already, by {walk.paused.by.who}")
        at.tell(entries.Paused(by=at.by, reason=said.reason), "paused: no further step is begun")


def resume(said: Said) -> None:
    """Let steps begin again."""
    with _opened(said) as at:
        if at.walk().paused is None:
            raise WalkError("it is not paused")
        at.tell(entries.Resumed(by=at.by, reason=said.reason), "resumed")


def abort(said: Said) -> None:
    """End the walk where it stands; nothing is taken back."""
    with _opened(said) as at:
        at.walk()
        at.tell(entries.Aborted(by=at.by, reason=said.reason), "aborted; nothing was taken back")


def skip(said: Said, checkpoint: str) -> None:
    """Go on without the checkpoint at which the walk stands.

    Raises:
        WalkError: it stands elsewhere, cannot be skipped, or its hook runs.
    """
    with _opened(said) as at:
        walk, place = at.current(checkpoint)
        runbook = _runbook(at.entry, walk).runbook
        if checkpoint_of(runbook, walk.path, place.id).irreversible:
            raise WalkError(f"{place.id} is irreversible: it is never skipped")
        if place.stage is Stage.RUNNING:
            raise WalkError(f"the hook of {place.id} runs: wait for its end")
        body = entries.CheckpointSkipped(checkpoint=place.id, by=at.by, reason=said.reason)
        at.tell(body, f"{place.id} skipped: neither its step nor its gate was waited for")


def decide(said: Said, checkpoint: str, decision: Literal["done", "repeat"]) -> None:
    """Say of a step that failed, or whose end nobody knows, that it is done, or to repeat it.

    Raises:
        WalkError: nothing is asked.
    """
    with _opened(said) as at:
        _, place = at.current(checkpoint)
        if place.stage is not Stage.ASKS and not (
            place.stage is Stage.SHOWN and decision == "done"
        ):
            raise WalkError(f"{place.id} asks for no decision: it is {place.stage}")
        body = entries.StepDecided(
            checkpoint=place.id, decision=decision, by=at.by, reason=said.reason
        )
        after = "its gate is waited for" if decision == "done" else "its guards are judged anew"
        at.tell(body, f"the step of {place.id}: {decision}; {after}")


def rollback(said: Said) -> None:
    """Turn to the way back that leads from where the walk stands.

    Raises:
        WalkError: there is none.
    """
    with _opened(said) as at:
        walk, place = at.current(None)
        if walk.path is not None:
            raise WalkError(f"it is on a way back already: {walk.path}")
        if place.stage is Stage.RUNNING:
            raise WalkError(f"the hook of {place.id} runs: wait for its end")
        loaded = _runbook(at.entry, walk)
        path = way_back(loaded.runbook, walk, place.id)
        at.tell(
            entries.RollbackBegan(path=path, at=place.id, by=at.by, reason=said.reason),
            f"rolling back from {place.id} by {path}: kraftgate runbook show has its steps",
        )


def way_back(runbook: Runbook, walk: Walk, id_: str) -> str:
    """Which path leads back from a checkpoint of the way ahead.

    Raises:
        WalkError: none does, with the runbook's reason.
    """
    name = id_.partition("[")[0]
    at = next(each for each in runbook.checkpoints if each.id == name)
    if at.rollback == NO_ROLLBACK:
        raise WalkError(f"no way back leads from {at.id}: {at.rollback_reason}")
    if at.rollback is None or (at.irreversible and step_begun(walk, at.id)):
        raise WalkError(f"no way back leads from {at.id}: what was begun cannot be taken back")
    return at.rollback


def begin(said: Said) -> None:
    """Begin a new walk at the runbook's first checkpoint; what holds already opens at once.

    Raises:
        WalkError: one goes on.
    """
    with _opened(said) as at:
        walk = at.trail.walk()
        if walk is not None and walk.outcome is None:
            raise WalkError(f"a walk goes on at {at.entry.name}: abort it first, or let it end")
        loaded = _runbook(at.entry, None)
        body = entries.WalkBegan(
            runbook=loaded.runbook.name, sha256=loaded.sha256, by=at.by, reason=said.reason
        )
        at.tell(body, f"a new walk through {loaded.runbook.name} begins")

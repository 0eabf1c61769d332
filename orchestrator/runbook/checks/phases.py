"""Checks that no checkpoint requires a phase that is already past or cannot be reached yet.

Phases have one direction: forward in an execution, backward in a rollback. So each condition that
restricts the phase narrows the phases that are possible after it.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from migration.assessment.conditions import Call, call_of
from migration.image.summary import WAY, WITHOUT_ZOOKEEPER, Phase
from orchestrator.runbook.model import Checkpoint, Runbook
from orchestrator.runbook.places import Place, Wrong, forward, in_turn, rollback_paths

_ALL: Final = frozenset(Phase)
_BEFORE_COPY: Final = frozenset({Phase.ZOOKEEPER, Phase.ROLLED_BACK, Phase.PRE_MIGRATION})
_NO_QUORUM: Final = frozenset({Phase.ZOOKEEPER, Phase.ROLLED_BACK})
_TWO_WAY: Final = frozenset({Phase.HYBRID, Phase.DUAL_WRITE})
_MODES: Final = {
    "zookeeper": _BEFORE_COPY,
    "migrating": frozenset({Phase.PRE_MIGRATION, Phase.COPYING, Phase.HYBRID}),
    "kraft": frozenset({Phase.HYBRID, Phase.DUAL_WRITE, Phase.FINALIZED, Phase.KRAFT}),
}
_ALWAYS_IN: Final = {
    Call("copied"): frozenset({*_TWO_WAY, Phase.FINALIZED}),
    Call("no_zookeeper_broker"): frozenset({Phase.DUAL_WRITE, Phase.FINALIZED, Phase.KRAFT}),
    Call("kraft_only"): frozenset({Phase.FINALIZED, Phase.KRAFT}),
    Call("dual_write_alive"): _TWO_WAY,
    Call("content_equal"): _TWO_WAY,
    Call("controllers_stopped"): _NO_QUORUM,
    Call("no_migration_znode"): _NO_QUORUM | {Phase.FINALIZED},
    Call("zk_controller", ("zookeeper",)): _BEFORE_COPY,
    Call("zk_controller", ("kraft",)): frozenset({Phase.COPYING, *_TWO_WAY, Phase.FINALIZED}),
    Call("all_brokers", ("zookeeper",)): _BEFORE_COPY,
    Call("all_brokers", ("migrating",)): _MODES["migrating"],
    Call("all_brokers", ("kraft",)): frozenset({Phase.DUAL_WRITE, Phase.FINALIZED, Phase.KRAFT}),
}
"""The phases in which a condition can be satisfied. A rollback leaves the phase only at its end, so
what the controllers leave behind counts as `zookeeper`."""


def phases(book: Runbook) -> Iterator[Wrong]:
    """Yield the first condition of each path that cannot hold at its checkpoint."""
    yield from _one_way(forward(book), _ALL, back=False)
    undoable = _ALL - {*WITHOUT_ZOOKEEPER}
    for places in rollback_paths(book):
        yield from _one_way(places, undoable, back=True)


def need_zookeeper(checkpoints: Iterable[Checkpoint]) -> bool:
    """Return whether one of the checkpoints can be passed only while the cluster uses ZooKeeper."""
    return any(each.isdisjoint(WITHOUT_ZOOKEEPER) for each in _restrictions(checkpoints))


def passable_path(book: Runbook, id_: str, phase: Phase) -> str:
    """Return the first path that a phase permits: of a rollback path and those that continue it.

    If the copy never comes, no gate that waits for dual write opens.
    """
    ways = {way.id: way for way in book.rollbacks}
    possible = _from_there(frozenset({phase}), back=True)
    while (then := ways[id_].then) is not None and any(
        each.isdisjoint(possible) for each in _restrictions(ways[id_].checkpoints)
    ):
        id_ = then
    return id_


def _restrictions(checkpoints: Iterable[Checkpoint]) -> Iterator[frozenset[Phase]]:
    """Yield the phases in which each condition that restricts the phase can hold."""
    for checkpoint in checkpoints:
        for text in (*checkpoint.needs, *checkpoint.opens_when):
            if (allowed := _allowed(text)) is not None:
                yield allowed


def _one_way(places: Sequence[Place], start: frozenset[Phase], *, back: bool) -> Iterator[Wrong]:
    left: dict[str, frozenset[Phase]] = {}
    narrowed_by: dict[str, tuple[str, str]] = {}
    for place in in_turn(places):
        id_ = place.checkpoint.id
        possible, blame = start, ("", "")
        for before in place.before:
            if before in left:
                narrower = possible & _from_there(left[before], back=back)
                if narrower != possible:
                    possible, blame = narrower, narrowed_by[before]
        for role in ("needs", "opens_when"):
            if role == "opens_when":
                possible = _from_there(possible, back=back)
            for position, text in enumerate(getattr(place.checkpoint, role)):
                allowed = _allowed(text)
                if allowed is None or possible <= allowed:
                    continue
                if not possible & allowed:
                    what = _conflict(text, allowed, possible, blame)
                    yield (*place.path, role, position), what
                    continue
                possible, blame = possible & allowed, (text, id_)
        left[id_], narrowed_by[id_] = possible, blame


def _from_there(phases_: frozenset[Phase], *, back: bool) -> frozenset[Phase]:
    """Return the phases that can follow these, and these themselves."""
    if back:
        ranks = [WAY.index(phase) for phase in phases_ if phase in WAY]
        return phases_ | frozenset(WAY[: max(ranks, default=-1) + 1]) | {Phase.ROLLED_BACK}
    found = set(phases_)
    for phase in phases_:
        if phase in WAY:
            found.update(WAY[WAY.index(phase) :])
        elif phase is Phase.ROLLED_BACK:
            found.update(WAY[1:])  # another attempt
    return frozenset(found)


def _allowed(text: str) -> frozenset[Phase] | None:
    """Return the phases in which a condition can hold; None: in any."""
    call = call_of(text)
    if call is None:
        return None
    if call.name == "broker_mode" and len(call.arguments) == 2:
        return _MODES.get(call.arguments[1])
    phase = call.arguments[0] if call.arguments else call.name
    if call.name == "phase_is" and phase in set(Phase):
        return frozenset({Phase(phase)})
    if (call.name == "phase" or call.name == phase) and phase in set(Phase):
        wanted = Phase(phase)
        return frozenset(WAY[WAY.index(wanted) :]) if wanted in WAY else frozenset({wanted})
    return _ALWAYS_IN.get(call)


def _conflict(
    text: str, allowed: frozenset[Phase], possible: frozenset[Phase], blame: tuple[str, str]
) -> str:
    because = f" once `{blame[1]}` required {blame[0]}" if blame[1] else " on this path"
    return (
        f"can never be reached: {text} holds in {_names(allowed)} only, and the phase is"
        f" {_names(possible)}{because}"
    )


def _names(phases_: frozenset[Phase]) -> str:
    names = [str(phase) for phase in Phase if phase in phases_]
    return " or ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else "".join(names)

"""Conditions on log directories: assignments of replicas, held brokers, directories online."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from migration.assessment.conditions.authority import (
    brokers_not_known,
    is_log_current,
    not_known,
    undescribed,
)
from migration.assessment.conditions.kind import BROKER, COUNT, kind
from migration.assessment.conditions.view import View
from migration.assessment.data_source import DataSource
from migration.assessment.finding import Finding, Verdict, satisfied, unknown, violated, waiting
from migration.image.known_ids import ids
from migration.image.summary import BrokerSummary, Mode
from migration.metadata.replica_state import PENDING_STATES, ReplicaState
from migration.observed.log_dirs import BrokerDisks, is_bad, name
from migration.values.evidence import count

_LOG: Final = DataSource.METADATA_LOG
_DISKS: Final = DataSource.LOG_DIRS
_GONE: Final = (ReplicaState.OFFLINE, ReplicaState.LOST)


@kind(
    "The broker is in KRaft mode and each of its replicas has a real directory id.",
    requires=(_LOG,),
    parameters=(BROKER,),
)
def assignments_complete(view: View, broker: int) -> Finding:
    found = view.summary.broker(broker)
    if found is None:
        return waiting(f"broker {broker} is not registered")
    if found.mode is not Mode.KRAFT:
        return waiting(f"broker {broker} is still in ZooKeeper mode", f"its mode: {found.mode}")
    if lost := found.replicas[ReplicaState.LOST]:
        return violated(f"broker {broker} has {count(lost, 'replica')} in a lost directory")
    if found.held or found.pending:
        return _pending(view, found)
    reason = f"every replica of broker {broker} has a directory"
    return satisfied(reason, count(sum(found.replicas.values()), "replica"), *_gone(found))


def _pending(view: View, broker: BrokerSummary) -> Finding:
    evidence = [
        f"{broker.replicas[each]} {each}" for each in PENDING_STATES if broker.replicas[each]
    ]
    reason = f"broker {broker.id} has {count(broker.pending, 'replica')} without a directory"
    if broker.id in view.stalled:
        return violated(f"{reason}, and makes no progress", *evidence)
    return waiting(reason, *evidence)


def _gone(broker: BrokerSummary) -> list[str]:
    return [
        f"broker {broker.id}: {count(broker.replicas[each], 'replica')} {each}"
        for each in _GONE
        if broker.replicas[each]
    ]


@kind("No broker is held.", may_use=frozenset({_LOG}))
def nothing_held(view: View) -> Finding:
    return _not_held(view, None)


@kind("No broker except this one is held.", may_use=frozenset({_LOG}), parameters=(BROKER,))
def nothing_held_but(view: View, broker: int) -> Finding:
    return _not_held(view, broker)


def _not_held(view: View, but: int | None) -> Finding:
    if (stale := not_known(view, _LOG)) is not None:
        return stale
    if not view.summary.brokers:
        return waiting("no broker yet")
    held = [each for each in view.summary.brokers if each.held and each.id != but]
    other = "" if but is None else f" but broker {but}"
    if not held:
        return satisfied(f"no broker{other} is held")
    found = [_pending(view, each) for each in held]
    lines = [each.reason for each in found]
    named = f"held{other}: {', '.join(str(each.id) for each in held)}"
    stalled = any(each.verdict is Verdict.VIOLATED for each in found)
    return violated(named, *lines) if stalled else waiting(named, *lines)


@kind(
    "Every log directory of the broker, or of all brokers, is online.",
    may_use=frozenset({_DISKS, _LOG, DataSource.ZOOKEEPER}),
    parameters=(BROKER,),
    optional=1,
)
def log_dirs_online(view: View, broker: int | None = None) -> Finding:
    """Report bad directories even if other data is unknown; good ones need current data."""
    described = view.summary.broker_disks
    asked = _asked(view, broker)
    bad = [line for each in asked for line in _bad(view, each)]
    if bad:
        return violated(bad[0], *bad)
    for each in view.failed:
        if each.broker is None and (broker is None or broker in each.among):
            return unknown(
                "a log directory failed, its broker is unknown",
                f"log directories not described since: {ids(each.among)}",
            )
    if (stale := not_known(view, _DISKS)) is not None:
        return stale
    if broker is None and (stale := brokers_not_known(view)) is not None:
        return stale
    if not asked:
        return waiting("no broker is known yet")
    silent = [line for each in asked for line in undescribed(each, described.get(each))]
    if silent:
        return unknown(silent[0], *silent)
    paths = [
        f"broker {each}: {', '.join(one.path for one in described[each].log_dirs)}"
        for each in asked
    ]
    total = sum(len(described[each].log_dirs) for each in asked)
    online = count(total, "log directory", "log directories")
    return satisfied(f"{online} online, of {ids(asked)}", *paths)


def _asked(view: View, broker: int | None) -> list[int]:
    if broker is not None:
        return [broker]
    return sorted({*(each.id for each in view.summary.brokers), *view.summary.broker_disks})


def _bad(view: View, id_: int) -> Iterator[str]:
    for each in view.failed:
        if each.broker == id_ and not each.is_inferred:
            yield f"broker {id_}: {each.path or each.name} is {each.how}"
    broker = view.summary.broker(id_)
    if broker is not None:
        yield from _gone(broker)


@kind(
    "No replica of the broker, or of any broker, moves between log directories"
    " (KIP-113). A fenced broker that does not answer counts as it last answered.",
    requires=(_DISKS,),
    may_use=frozenset({_LOG, DataSource.ZOOKEEPER}),
    parameters=(BROKER,),
    optional=1,
)
def no_directory_move(view: View, broker: int | None = None) -> Finding:
    if broker is None and (stale := brokers_not_known(view)) is not None:
        return stale
    described = view.summary.broker_disks
    asked = _asked(view, broker)
    moving = [described[each] for each in asked if each in described and described[each].futures]
    if moving:
        lines = [
            f"broker {each.id}: {count(each.futures, 'replica')} moving between log directories"
            for each in moving
        ]
        named = [
            f"broker {one.id}: {name(each.replica)} moves to {each.path}"
            for one in moving
            for each in one.moves
        ]
        answer = violated if any(each.stuck for each in moving) else waiting
        total = len(lines) + sum(each.futures for each in moving)
        return answer(lines[0], *lines[1:], *named, counted=total - 1)
    known = {each.id: each for each in view.summary.brokers}
    silent = [
        line
        for each in asked
        if not _is_down(view, known.get(each), described.get(each))
        for line in (*undescribed(each, described.get(each)), *_all_bad(each, described.get(each)))
    ]
    if silent:
        return unknown(silent[0], *silent)
    if not asked:
        return waiting("no broker is known yet")
    return satisfied(f"no replica moves between log directories, of {ids(asked)}")


def _all_bad(broker: int, disks: BrokerDisks | None) -> Iterator[str]:
    """Yield a reason if a broker describes no usable directory: its answer then shows no moves."""
    if disks is not None and disks.log_dirs and all(map(is_bad, disks.log_dirs)):
        yield f"broker {broker} reports no usable log directory"


def _is_down(view: View, broker: BrokerSummary | None, disks: BrokerDisks | None) -> bool:
    """Return whether a broker that answered before is known to be down: it moves nothing."""
    if broker is None or disks is None or disks.answered_ms is None:
        return False
    return disks.unreachable is not None and bool(broker.fenced) and is_log_current(view)


@kind(
    "The broker's registration names at least N log directories, and not more than MAX.",
    requires=(_LOG,),
    parameters=(BROKER, COUNT, replace(COUNT, name="MAX")),
    optional=1,
)
def log_dirs_registered(view: View, broker: int, least: int, most: int | None = None) -> Finding:
    found = view.summary.broker(broker)
    if found is None or found.epoch is None:
        return waiting(f"broker {broker} is not registered with the controllers")
    reason = f"broker {broker} registered {count(len(found.log_dirs), 'directory id')}"
    fits = least <= len(found.log_dirs) and (most is None or len(found.log_dirs) <= most)
    return satisfied(reason, *found.log_dirs) if fits else waiting(reason, *found.log_dirs)

"""The waits for one broker: held or stalled, replicas offline, fenced, pending replicas."""

from collections.abc import Collection, Iterator

from migration.assessment.waits.wait import Wait, WaitKind
from migration.image.holds import last_progress_ms
from migration.image.summary import BrokerSummary, Mode
from migration.metadata.replica_state import ReplicaState
from migration.values.durations import duration_text


def broker_waits(broker: BrokerSummary, now_ms: int, stalled: Collection[int]) -> Iterator[Wait]:
    """Yield the waits for one broker."""
    who = f"broker {broker.id}"
    if broker.held:
        yield _held(broker, now_ms, stalled)
    if gone := broker.replicas[ReplicaState.OFFLINE] + broker.replicas[ReplicaState.LOST]:
        text = f"{who} has {_replicas(gone)} in an offline log directory: restore it"
        yield Wait(kind=WaitKind.REPLICAS_OFFLINE, text=text, broker=broker.id)
    if broker.fenced and not broker.held and broker.mode is not Mode.ZOOKEEPER:
        yield Wait(kind=WaitKind.BROKER_FENCED, text=_fenced_text(broker), broker=broker.id)
    if broker.mode is Mode.KRAFT and broker.pending and not broker.held:
        text = f"{who} has {_replicas(broker.pending)} without a directory ({_by_state(broker)})"
        yield Wait(kind=WaitKind.REPLICAS_PENDING, text=text, broker=broker.id)


def _held(broker: BrokerSummary, now_ms: int, stalled: Collection[int]) -> Wait:
    total = sum(broker.replicas.values())
    count = f"{broker.pending} of {total} replicas without a directory ({_by_state(broker)})"
    since = last_progress_ms(broker)
    age = None if since is None else duration_text(now_ms - since)
    if broker.id in stalled:
        text = f"broker {broker.id} is held and stalled: {count}, no progress for {age}"
        return Wait(kind=WaitKind.BROKER_STALLED, text=text, broker=broker.id, since_ms=since)
    if broker.progress is not None:
        last = f"last progress {age} ago"
    elif age is not None:
        last = f"registered {age} ago, no progress yet"
    else:
        last = "no progress yet"
    text = f"broker {broker.id} is held: {count}, {last}"
    since = broker.registered_ms
    return Wait(kind=WaitKind.BROKER_HELD, text=text, broker=broker.id, since_ms=since)


def _by_state(broker: BrokerSummary) -> str:
    states = (ReplicaState.MIGRATING, ReplicaState.UNASSIGNED)
    return ", ".join(f"{broker.replicas[s]} {s}" for s in states if broker.replicas[s])


def _fenced_text(broker: BrokerSummary) -> str:
    who = f"broker {broker.id}"
    if broker.in_controlled_shutdown:
        return f"{who} to restart: it shut down and is fenced"
    if (
        broker.mode is Mode.MIGRATING
    ):  # a directory that fails in this mode halts the broker (KAFKA-16431)
        return f"{who} to be unfenced: check its log directories before any restart"
    return f"{who} to be unfenced: it is down, or has not caught up with the metadata log"


def _replicas(count: int) -> str:
    return "1 replica" if count == 1 else f"{count} replicas"

"""A window of a large cluster: every broker registers, is held, and gets its directories."""

from pathlib import Path

from migration.metadata.replica_state import ReplicaState
from orchestrator.audit.execution import entries
from tests.orchestrator.views.report.making import Made, finalized
from tests.orchestrator.views.report.night import (
    began,
    follow,
    keep_runbook,
    orchestrator,
    registered,
)
from tests.orchestrator.views.report.said import ended, entered, passed, started
from tests.scenes.night import kraft

STEP_MS = 60_000


def big(folder: Path, brokers: int, replicas: int) -> Made:
    """So many brokers with so many replicas each, one after the other in KRaft mode."""
    made = Made(folder)
    keep_runbook(made)
    made.say(0, follow(1), began(), orchestrator(1))
    made.tell("phase_changed", 1_000, offset=4, was="zookeeper", now="pre-migration")
    made.tell("phase_changed", 2_000, offset=9, was="pre-migration", now="hybrid")
    offset = 100
    for broker in range(1, brokers + 1):
        copied = (100, 2_000, broker, None, ReplicaState.MIGRATING)
        made.moves += [copied for _ in range(replicas)]
    for broker in range(1, brokers + 1):
        offset += 10 * replicas
        _in_kraft_mode(made, broker, offset, replicas)
    end_ms = (brokers + 1) * STEP_MS
    made.tell("phase_changed", end_ms, offset=offset + 1_000, was="hybrid", now="finalized")
    made.say(end_ms, entries.ExecutionEnded(outcome="completed"))
    made.summary = finalized(*(kraft(broker) for broker in range(1, brokers + 1)))
    made.store()
    return made


def _in_kraft_mode(made: Made, broker: int, offset: int, replicas: int) -> None:
    at_ms, id_ = broker * STEP_MS, f"brokers-kraft[{broker}]"
    made.say(at_ms, entered(id_), started(id_))
    made.say(at_ms + 20_000, ended(id_))
    made.say(at_ms + 50_000, passed(id_))
    registered(made, at_ms + 10_000, broker, offset, pending=replicas)
    made.tell("broker_unfenced", at_ms + 10_100, broker, offset=offset + 1)
    if broker % 3 == 0:
        made.tell("broker_unfenced_early", at_ms + 10_100, broker, offset=offset + 1, pending=9)
    for number in range(replicas):
        done = (offset + 2 + number, at_ms + 10_200 + 5 * number, broker)
        made.moves.append((*done, ReplicaState.MIGRATING, ReplicaState.ASSIGNED))
    complete_ms = at_ms + 10_200 + 5 * (replicas - 1)
    made.tell("assignments_complete", complete_ms, broker, offset=offset + 1 + replicas)

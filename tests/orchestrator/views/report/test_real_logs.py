"""On the logs of real clusters the report's figures are those of kafka-dump-log and a slow recount.

The whole way is taken: the wire, the job's own functions, the events, the report.
"""

from dataclasses import dataclass

import numpy as np
import pytest

from migration.metadata.replica_state import ReplicaState
from migration.shard.transitions import ABSENT, STATES
from orchestrator.views.report.accounts.assignments import Assigned
from orchestrator.views.report.accounts.incarnations import Registration, registrations
from streams.spark.transition_files import TransitionColumns
from tests.oracle.fixtures import DATA, dump_of, unpack
from tests.orchestrator.views.report.witness import Span, Witnessed, witnessed
from tests.support.pipeline import Run

CASES = sorted(each.name for each in DATA.iterdir() if each.is_dir())


@dataclass(frozen=True)
class Both:
    """One log, by the product and by the witness."""

    registrations: list[Registration]
    assigned: Assigned
    witnessed: list[Witnessed]


@pytest.fixture(scope="module", params=CASES)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Both:
    directory = unpack(request.param, tmp_path_factory.mktemp("log") / "log")
    dump = dump_of(request.param)
    run = Run().follow(directory, 64 * 1024)
    found = registrations(run.events, run.summary.brokers)
    return Both(
        registrations=[each for of in found.values() for each in of],
        assigned=Assigned(_columns(run)),
        witnessed=witnessed(dump(segment) for segment in sorted(directory.glob("*.log"))),
    )


def _columns(run: Run) -> TransitionColumns:
    def number(place: object) -> int:
        return ABSENT if place is None else STATES.index(place[1])  # type: ignore[index]

    rows = [
        (offset, at_ms, broker, number(was), number(now))
        for offset, at_ms, _, _, broker, was, now in run.transitions
    ]
    table = np.array(sorted(rows), dtype=np.int64).reshape(-1, 5)
    return TransitionColumns(
        logs=np.ones(len(table), dtype=np.int64),
        offsets=table[:, 0],
        at_ms=table[:, 1],
        brokers=table[:, 2],
        was=table[:, 3],
        now=table[:, 4],
    )


def test_there_are_migrations_among_them() -> None:
    assert len(CASES) >= 3
    assert ReplicaState.MIGRATING in STATES


def test_registrations_and_their_spans_are_the_witness_s(both: Both) -> None:
    ours = {(each.broker, each.registered_offset): each for each in both.registrations}
    assert ours.keys() == {(each.broker, each.registered_offset) for each in both.witnessed}
    assert ours
    for theirs in both.witnessed:
        reg = ours[theirs.broker, theirs.registered_offset]
        assert (reg.registered_at, reg.mode) == (
            theirs.registered_ms,
            theirs.mode,
        )
        held = [] if reg.held is None else [(reg.held.began_ms, reg.held.ended_ms)]
        assert held == theirs.held
        assert _spans(reg, "fenced") == theirs.fenced
        assert _spans(reg, "exposed") == theirs.exposed
        if theirs.completed_offset is not None:
            assert reg.completed_offset == theirs.completed_offset


def test_as_many_replicas_were_assigned_as_the_witness_counts(both: Both) -> None:
    for theirs in both.witnessed:
        (reg,) = (
            each
            for each in both.registrations
            if (each.broker, each.registered_offset) == (theirs.broker, theirs.registered_offset)
        )
        assert reg.registered_offset is not None
        found = both.assigned.of(reg.broker, 1, reg.registered_offset, reg.ended_offset)
        assert (0 if found is None else found.assigned) == theirs.assigned


def _spans(reg: Registration, of: str) -> list[Span]:
    return [(each.began_ms, each.ended_ms) for each in getattr(reg, of)]

"""Turns a tick into the state of a cluster: each part as JSON, made once for all pages.

Rows whose facts did not change are not made again: in a cluster of 300 brokers, one row is made
when one broker makes progress. Only one thread builds.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel

from orchestrator.config.alerts import RUNBOOK_URL
from orchestrator.run.assessed import Assessed
from orchestrator.run.execution_status import ExecutionStatus
from orchestrator.runbook.loaded import Loaded
from orchestrator.views.console.access.redaction import RedactedJson
from orchestrator.views.console.state.approvable import ShownBases
from orchestrator.views.console.state.disks import disk_facts, disks_row
from orchestrator.views.console.state.head import head
from orchestrator.views.console.state.rows import (
    BrokerFacts,
    Estimates,
    alerts,
    broker_state,
    checkpoint_states,
    execution_state,
    hazards,
    sources,
    waits,
)

F = TypeVar("F")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterParts:
    """The state of one cluster as JSON.

    Attributes:
        parts: by the key of `ClusterState`.
        rows: by key (`brokers`, `disks`) and broker.
    """

    parts: Mapping[str, bytes]
    rows: Mapping[str, Mapping[int, bytes]]


class _Rows(Generic[F]):
    """Rows by broker; a row is made again when its facts changed."""

    def __init__(self, make: Callable[[F], BaseModel], cleaner: RedactedJson) -> None:
        self._make = make
        self._json = cleaner.json
        self._made: dict[int, tuple[F, bytes]] = {}

    def of(self, facts: Iterable[tuple[int, F]]) -> dict[int, bytes]:
        """Return the rows for the facts of each broker."""
        before, self._made = self._made, {}
        for id_, each in facts:
            known = before.get(id_)
            if known is None or known[0] != each:
                known = (each, self._json(self._make(each)))
            self._made[id_] = known
        return {id_: row for id_, (_, row) in self._made.items()}


class StateBuilder:
    """Makes the state of one cluster."""

    def __init__(
        self,
        cleaner: RedactedJson,
        loaded: Loaded | None,
        runbook_url: str = RUNBOOK_URL,
        bases: ShownBases | None = None,
    ) -> None:
        """Start with no state; `loaded`: the configured runbook; `bases`: keeps the shown ones."""
        self._json = cleaner.json
        self._bases = ShownBases() if bases is None else bases
        self._loaded = loaded
        self._runbook_url = runbook_url
        self._way: tuple[object, bytes] = (None, b"[]")
        self._estimates = Estimates()
        self._brokers = _Rows(broker_state, cleaner)
        self._disks = _Rows(disks_row, cleaner)

    def state(self, one: Assessed) -> ClusterParts:
        self._estimates.take(one.summary, one.assessment.etas, one.now_ms)
        return ClusterParts(
            parts=dict(self._parts(one)),
            rows={
                "brokers": self._brokers.of(self._broker_facts(one)),
                "disks": self._disks.of((each.disks.id, each) for each in disk_facts(one)),
            },
        )

    def _parts(self, one: Assessed) -> Iterator[tuple[str, bytes]]:
        walk = one.read.execution
        yield "head", self._json(head(one, self._estimates.of_all(one.summary)))
        yield "sources", self._list(sources(one))
        yield "walk", b"null" if walk is None else self._json(execution_state(walk, self._bases))
        yield "checkpoints", self._checkpoints(walk)
        yield "waits", self._list(waits(one.assessment.waits))
        yield "hazards", self._list(hazards(one.assessment.hazards))
        yield "alerts", self._list(alerts(one.assessment.alerts, self._runbook_url))

    def _checkpoints(self, walk: ExecutionStatus | None) -> bytes:
        facts = None if walk is None else (walk.places, walk.path)
        if walk is None or self._loaded is None:
            return b"[]"
        if self._way[0] != facts:
            self._way = (facts, self._list(checkpoint_states(walk, self._loaded)))
        return self._way[1]

    def _list(self, models: Iterable[BaseModel]) -> bytes:
        return b"[" + b",".join(map(self._json, models)) + b"]"

    def _broker_facts(self, one: Assessed) -> Iterator[tuple[int, BrokerFacts]]:
        counts, stalled = one.assessment.counts, one.assessment.stalled
        failed = one.assessment.failed_by_broker
        for each in one.summary.brokers:
            disks, eta = one.summary.replicas_on_disk(each.id), self._estimates.of(each)
            is_stalled, has_failed = each.id in stalled, each.id in failed
            yield each.id, BrokerFacts(each, counts(each), disks, eta, is_stalled, has_failed)

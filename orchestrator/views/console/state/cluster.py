"""Turns a tick into the changes of a cluster: each part as JSON, made once for all pages.

Unchanged parts are not made again: in a cluster of 300 brokers, one row is made when one broker
makes progress. Only one thread builds.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, NamedTuple, TypeVar

from pydantic import BaseModel

from migration.comparison.result import Identity
from migration.image.broker_replicas import log_counts, on_disk
from migration.image.summary import BrokerSummary, ClusterSummary
from migration.observed.log_dirs import BrokerDisks, DisksImage
from orchestrator.api.rows import broker_row
from orchestrator.run.assessed import Assessed
from orchestrator.run.execution_status import ExecutionStatus
from orchestrator.runbook.loaded import Loaded
from orchestrator.views.console.access.redaction import RedactedJson
from orchestrator.views.console.state.disks import disks_row
from orchestrator.views.console.state.head import head
from orchestrator.views.console.state.rows import (
    Estimated,
    Estimates,
    broker_state,
    checkpoint_states,
    execution_state,
    hazards,
    sources,
    waits,
)

NULL: Final = b"null"

F = TypeVar("F")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterChanges:
    """The changes of one cluster.

    Attributes:
        parts: JSON by the key of `ClusterState`.
        rows: JSON by key (`brokers`, `disks`) and broker.
        gone: brokers that no longer exist, by the same keys.
    """

    cluster: str
    parts: Mapping[str, bytes] = field(default_factory=dict)
    rows: Mapping[str, Mapping[int, bytes]] = field(default_factory=dict)
    gone: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @property
    def is_none(self) -> bool:
        """Whether nothing changed."""
        return not (self.parts or any(self.rows.values()) or any(self.gone.values()))


class _Broker(NamedTuple):
    """The facts of one broker's row; `eta`: for a held broker."""

    broker: BrokerSummary
    replicas_known: bool
    on_disk: int | None
    eta: Estimated | None
    stalled: bool


class _Dirs(NamedTuple):
    """The facts of one broker's row in the heat map."""

    id: int
    broker: BrokerSummary | None
    disks: BrokerDisks | None
    identities: tuple[Identity, ...]
    knows_partitions: bool


class _Rows(Generic[F]):
    """Rows by broker; a row is made again when its facts changed."""

    def __init__(self, make: Callable[[F], bytes]) -> None:
        self._make = make
        self._made: dict[int, tuple[F, bytes]] = {}

    def take(self, facts: Mapping[int, F]) -> tuple[dict[int, bytes], list[int]]:
        """Return the changed rows, and the brokers whose row is gone."""
        changed: dict[int, bytes] = {}
        for id_, each in facts.items():
            before = self._made.get(id_)
            if before is not None and before[0] == each:
                continue
            made = self._make(each)
            self._made[id_] = (each, made)
            if before is None or before[1] != made:
                changed[id_] = made
        gone = sorted(self._made.keys() - facts.keys())
        for id_ in gone:
            del self._made[id_]
        return changed, gone


class StateBuilder:
    """Makes the state of one cluster."""

    def __init__(self, cleaner: RedactedJson, loaded: Loaded | None) -> None:
        """Start with no state; `loaded`: the configured runbook."""
        self._json = cleaner.json
        self._loaded = loaded
        self._parts: dict[str, bytes] = {}
        self._way: tuple[object, bytes] = (None, b"[]")
        self._estimates = Estimates()
        self._brokers = _Rows(self._broker)
        self._disks = _Rows(self._dirs)

    def changes(self, one: Assessed) -> ClusterChanges:
        """Return the changes since the previous tick."""
        self._estimates.take(one.summary, one.assessment.etas, one.now_ms)
        fresh = dict(self._fresh_parts(one))
        parts = {key: each for key, each in fresh.items() if self._parts.get(key) != each}
        self._parts = fresh
        brokers, brokers_gone = self._brokers.take(dict(self._broker_facts(one)))
        disks, disks_gone = self._disks.take(
            _dirs_facts(one.summary, knows_partitions=one.assessment.knows_partitions)
        )
        return ClusterChanges(
            cluster=one.name,
            parts=parts,
            rows={"brokers": brokers, "disks": disks},
            gone={"brokers": brokers_gone, "disks": disks_gone},
        )

    def _fresh_parts(self, one: Assessed) -> Iterator[tuple[str, bytes]]:
        yield "head", self._json(head(one, self._estimates.of_all(one.summary)))
        yield "sources", self._list(sources(one))
        yield "waits", self._list(waits(one.waits))
        yield "hazards", self._list(hazards(one.hazards))
        yield "walk", NULL if one.execution is None else self._json(execution_state(one.execution))
        yield "checkpoints", self._checkpoints(one.execution)

    def _checkpoints(self, walk: ExecutionStatus | None) -> bytes:
        facts = None if walk is None else (walk.places, walk.path)
        if walk is None or self._loaded is None:
            return b"[]"
        if self._way[0] != facts:
            self._way = (facts, self._list(checkpoint_states(walk, self._loaded)))
        return self._way[1]

    def _list(self, models: Iterable[BaseModel]) -> bytes:
        return b"[" + b",".join(map(self._json, models)) + b"]"

    def _broker_facts(self, one: Assessed) -> Iterator[tuple[int, _Broker]]:
        summary = one.summary
        for each in summary.brokers:
            yield (
                each.id,
                _Broker(
                    broker=each,
                    replicas_known=log_counts(summary, each),
                    on_disk=on_disk(summary, each.id),
                    eta=self._estimates.of(each),
                    stalled=each.id in one.assessment.stalled,
                ),
            )

    def _broker(self, facts: _Broker) -> bytes:
        row = broker_row(
            facts.broker,
            replicas_known=facts.replicas_known,
            replicas_on_disk=facts.on_disk,
        )
        return self._json(broker_state(row, facts.broker, facts.eta, stalled=facts.stalled))

    def _dirs(self, facts: _Dirs) -> bytes:
        row = disks_row(
            facts.id,
            facts.broker,
            facts.disks,
            facts.identities,
            knows_partitions=facts.knows_partitions,
        )
        return self._json(row)


def _dirs_facts(summary: ClusterSummary, *, knows_partitions: bool) -> dict[int, _Dirs]:
    brokers = {each.id: each for each in summary.brokers}
    disks = (summary.disks or DisksImage()).brokers
    identities: dict[int, list[Identity]] = {}
    for each in summary.places.identities:
        identities.setdefault(each.broker, []).append(each)
    return {
        id_: _Dirs(
            id_, brokers.get(id_), disks.get(id_), tuple(identities.get(id_, ())), knows_partitions
        )
        for id_ in sorted(brokers.keys() | disks.keys())
    }

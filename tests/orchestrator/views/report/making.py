"""A state directory made by hand, with the real store, trail and transitions behind it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from migration.image.cluster import ClusterImage
from migration.image.summary import BrokerSummary, ClusterSummary, Phase
from migration.metadata.directory_ids import MIGRATING, UNASSIGNED, DirectoryId
from migration.metadata.events import Event, Source
from migration.metadata.replica_state import ReplicaState
from migration.observed.source_status import SourceStatus
from migration.shard.transitions import ABSENT, STATES, place
from orchestrator.audit import AUDIT_FILE, AuditLog
from orchestrator.audit import run_entries as chronicle
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Person
from streams.spark.transition_files import write_transitions
from streams.state.source_status import write_status
from streams.state.store import BatchResult, Store, TransitionFile
from tests.scenes.night import cluster, kraft

T = 1_795_311_000_000
"""2026-11-22 01:30:00 UTC: when the window begins, in ms."""
CLUSTER = "prod"
ANNA = Person(who="anna", login="anna.a", host="ops1")
BORIS = Person(who="boris", login="boris.b", host="ops2")
DIRECTORY = DirectoryId(bytes(range(16)))
CONFIG = """cluster: {name: prod}
zookeeper: {connect: 'zk1:2181'}
controllers: {bootstrap: 'c1:9093'}
brokers: {bootstrap: 'b1:9092'}
state_dir: state
"""

Body = entries.Body | chronicle.Body
Move = tuple[int, int, int, ReplicaState | None, ReplicaState | None]
"""Metadata offset, ms since T, broker, state before and after; None: the replica is not there."""


class Made:
    """What a `kraftgate run` would have left; `ms` count from T.

    Attributes:
        events: in the order in which they were reported.
        summary: at the end; None: nothing was ever read.
    """

    def __init__(self, folder: Path, config: str = CONFIG) -> None:
        self.config = folder / "kraftgate.yaml"
        self.config.write_text(config)
        self.state = folder / "state"
        self.state.mkdir()
        self.cluster = CLUSTER
        self.events: list[Event] = []
        self.moves: list[Move] = []
        self.summary: ClusterSummary | None = finalized(kraft(1), kraft(2))

    def tell(
        self,
        kind: str,
        ms: int,
        broker: int | None = None,
        *,
        offset: int | None = None,
        seen: int | None = None,
        **fields: object,
    ) -> None:
        """An event of the metadata log, where it has an offset."""
        source = Source.KRAFT_METADATA if offset is not None else _source(kind)
        event = Event(
            offset=offset,
            timestamp_ms=T + ms,
            kind=kind,
            broker=broker,
            fields=fields,
            source=source,
            seen_ms=T + (ms if seen is None else seen),
        )
        self.events.append(event)

    def say(self, ms: int, *bodies: Body) -> None:
        """Entries of the audit trail."""
        with AuditLog.open(self.state / AUDIT_FILE) as log:
            for body in bodies:
                log.append(self.cluster, body.kind, body.as_json(), T + ms)

    def store(self) -> None:
        """Write the events, the transitions and the summary; several clusters one by one."""
        summary = self.summary
        assert summary is not None
        with Store.open(self.state / "store.db") as store:
            files = [] if not self.moves else [self._transitions(self.moves)]
            outcome = BatchResult(
                cluster=self.cluster,
                image=ClusterImage(),
                summary=replace(summary, cluster=self.cluster),
                brokers=summary.brokers,
                gone=(),
                place={},
                events=self.events,
                files=files,
            )
            store.commit(len(store.clusters()) + 1, [outcome], T)
        self.events, self.moves = [], []

    def status(self, file: str, ms: int, **said: object) -> None:
        """What a source last said."""
        told = SourceStatus(observed_ms=T + ms, last_reply_ms=T + ms, **said)  # type: ignore[arg-type]
        path = self.state / "clusters" / self.cluster / file
        write_status(path, told)

    def _transitions(self, moves: Sequence[Move]) -> TransitionFile:
        table = np.array(
            [
                (offset, T + ms, 0, number, broker, _place(was), _place(now))
                for number, (offset, ms, broker, was, now) in enumerate(moves)
            ],
            dtype=np.int64,
        )
        until = (1, int(table[:, 0].max()))
        folder = self.state / "transitions"
        ids = [MIGRATING, UNASSIGNED, DIRECTORY]
        named = [(bytes(16), "orders")]
        path = write_transitions(folder, self.cluster, 0, until, table, named, ids)
        return TransitionFile(path=str(path.relative_to(folder)), rows=len(table))


def finalized(*brokers: BrokerSummary) -> ClusterSummary:
    """The end of a migration, with brokers that no event is needed for."""
    whole = tuple(replace(each, registered_offset=None, registered_ms=None) for each in brokers)
    return replace(cluster(Phase.FINALIZED, *whole), observed_ms=T + 900_000)


def now(broker: int, epoch: int, **changes: object) -> BrokerSummary:
    """A broker at the end, as its registration events report it."""
    return kraft(broker, epoch=epoch, registered_offset=epoch, **changes)


def _place(state: ReplicaState | None) -> int:
    if state is None:
        return ABSENT
    directory = {ReplicaState.MIGRATING: 0, ReplicaState.UNASSIGNED: 1}.get(state, 2)
    return place(directory, STATES.index(state))


def _source(kind: str) -> Source:
    if kind.startswith("jmx"):
        return Source.JMX
    disks = ("log_dir", "disks", "replicas", "records")
    return Source.LOG_DIRS if kind.startswith(disks) else Source.ZOOKEEPER

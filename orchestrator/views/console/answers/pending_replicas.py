"""The replicas of one broker by state: those without a directory, and their paths on disk."""

from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Annotated, Final

from pydantic import BeforeValidator

from migration.image.summary import BrokerSummary
from migration.metadata.replica_state import PENDING_STATES, ReplicaState
from migration.observed.probed import TopicPartition, Unknown
from migration.what_if import Assignment
from orchestrator.api.console.answers import PendingPage, PendingReplica
from orchestrator.errors import NoDataError
from orchestrator.run.reader import STORE_FILE
from orchestrator.views.console.answers.query import Limit, Number, Query, bounded
from streams.log_dirs.memory import places_of
from streams.probe.assignments import assignments
from streams.state.store import Store, StoreError

_KEPT_MAX: Final = 4

Assignments = Mapping[TopicPartition, Assignment]


def partition_of(text: str) -> TopicPartition:
    """Return the partition of a cursor, which is its name.

    Raises:
        ValueError: the text is not a cursor.
    """
    topic, _, number = text.rpartition("-")
    return TopicPartition(topic, bounded(number))


class ReplicaQuery(Query):
    """A request for a page of a broker's replicas.

    Attributes:
        cursor: the partition behind which the page begins; None: at the start.
    """

    broker: Number
    state: frozenset[ReplicaState] = frozenset(PENDING_STATES)
    limit: Limit = 200
    cursor: Annotated[TopicPartition | None, BeforeValidator(partition_of)] = None


class Replicas:
    """Reads replica transitions, one page at a time: a million partitions take a second.

    The result stays cached for the last requested brokers until a batch adds transitions.
    """

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir
        self._one_at_a_time = Lock()
        self._kept: dict[tuple[str, int], tuple[list[str], Assignments]] = {}

    def page(self, cluster: str, broker: BrokerSummary, asked: ReplicaQuery) -> PendingPage:
        """Return a page of the broker's replicas in the requested states, by topic and partition.

        Raises:
            NoDataError: the transitions cannot be read.
        """
        known = self._assignments(cluster, broker.id)
        found = sorted(at for at, each in known.items() if each.state in asked.state)
        behind = asked.cursor
        rest = found if behind is None else [each for each in found if each > behind]
        shown = rest[: asked.limit]
        places = places_of(self._state_dir / "clusters" / cluster, broker.id)
        lie_in = {} if isinstance(places, Unknown) else places
        return PendingPage(
            broker=broker.id,
            total=len(found),
            expected=sum(broker.replicas[each] for each in asked.state),
            replicas=tuple(_pending_replica(at, known[at], lie_in.get(at)) for at in shown),
            next=str(shown[-1]) if len(rest) > asked.limit else None,
            note=places.why if isinstance(places, Unknown) else None,
        )

    def _assignments(self, cluster: str, broker: int) -> Assignments:
        store = self._state_dir / STORE_FILE
        with self._one_at_a_time:
            files = _files(store, cluster)
            kept = self._kept.pop((cluster, broker), None)
            if kept is None or kept[0] != files:
                read = assignments(store, cluster, broker)
                if isinstance(read, Unknown):
                    raise NoDataError(read.why)
                kept = (files, read)
            self._kept[cluster, broker] = kept  # the last requested one is evicted last
            while len(self._kept) > _KEPT_MAX:
                del self._kept[next(iter(self._kept))]
            return kept[1]


def _files(store: Path, cluster: str) -> list[str]:
    try:
        with Store.open_readonly(store) as opened:
            return [each.path for each in opened.transition_files(cluster)]
    except StoreError as error:
        raise NoDataError(str(error)) from error


def _pending_replica(at: TopicPartition, known: Assignment, path: str | None) -> PendingReplica:
    return PendingReplica(
        topic=at.topic,
        partition=at.number,
        state=known.state,
        directory=known.directory if known.is_real else None,
        path=path,
    )

"""The cluster as its brokers report it: the view to use, its age, the brokers of each partition.

A view is one broker's metadata cache, and may lag. It is requested from the broker itself when that
has just started or was requested, and once an interval from any one broker for all others.
"""

from streams.kafka.broker_values import ClusterView
from streams.kafka.errors import WrongCluster
from streams.log_dirs import log_ends
from streams.log_dirs.compare import Hosted
from streams.log_dirs.memory import Memory


class Views:
    """The latest view, and the stored data of all views. Used by the poller's thread."""

    def __init__(self, memory: Memory, cluster_id: str | None) -> None:
        """Start without a view; `cluster_id` is the only one to accept, None: any."""
        self._memory = memory
        self._cluster_id = cluster_id
        self._taken_s = float("-inf")
        self._asked: int | None = None
        self.latest: ClusterView | None = None
        self.hosted: Hosted | None = None

    @property
    def cluster_id(self) -> str | None:
        """The cluster id; None while it is unknown."""
        return self._memory.cluster_id or self._cluster_id

    def age_s(self, now_s: float) -> float:
        return now_s - self._taken_s

    def expire(self) -> None:
        """Expire the latest view: the next polled broker reports its own."""
        self._taken_s = float("-inf")

    def begin(self, broker: int, now_s: float, interval_s: float) -> bool:
        """Return whether this broker, which is to be polled next, reports its own view for all."""
        if self._asked is not None or self.age_s(now_s) < interval_s:
            return False
        self._asked = broker
        return True

    def end(self, broker: int) -> None:
        if self._asked == broker:
            self._asked = None

    def take(self, view: ClusterView, now_s: float) -> bool:
        """Use this view from now on; False: its broker has just started and has no cluster yet.

        Raises:
            WrongCluster: it is of another cluster.
            MemoryUnusable: it cannot be stored.
        """
        if not view.brokers or not view.cluster_id:
            return False
        if self._cluster_id not in (None, view.cluster_id):
            raise WrongCluster(
                f"the brokers belong to cluster {view.cluster_id}, not {self._cluster_id}"
            )
        self._memory.claim(view.cluster_id)
        self._memory.keep_addresses(view.brokers)
        changed = log_ends.count_replicas(self._memory.partition, view.partitions.values())
        if changed:
            self._memory.commit((), {}, changed)
        self.latest, self._taken_s = view, now_s
        return True

    def note_hosted(self, view: ClusterView, now_ms: int) -> None:
        """Record the brokers of each partition, by the view of a broker that is up for a while.

        Raises:
            MemoryUnusable: old partitions cannot be dropped from it.
        """
        if self.hosted is None:
            self._memory.prune(view.partitions, now_ms)
        replicas = {key: each.replicas for key, each in view.partitions.items()}
        self.hosted = Hosted(replicas, now_ms, view.deleted)

    def with_leaders(self, broker: int) -> set[int]:
        """Return the broker and the leaders of its partitions, which report their offsets."""
        hosted = self.latest.hosted_by(broker) if self.latest else ()
        return {broker, *(each.leader for each in hosted if each.leader is not None)}

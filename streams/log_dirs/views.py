"""The cluster as its brokers tell it: which view to go by, how old it is, who hosts what.

A view is one broker's metadata cache, and may lag. It is taken from the broker itself when that has
just come or was asked for, and from any one broker once an interval for all the others.
"""

from streams.kafka.broker_values import ClusterView
from streams.kafka.errors import WrongCluster
from streams.log_dirs import log_ends
from streams.log_dirs.compare import Hosted
from streams.log_dirs.memory import Memory


class Views:
    """The latest view, and what the memory keeps of all of them. Of the poller's thread."""

    def __init__(self, memory: Memory, cluster_id: str | None) -> None:
        """Start without a view; `cluster_id` is the only one to accept, None accepts any first."""
        self._memory = memory
        self._cluster_id = cluster_id
        self._taken_s = float("-inf")
        self._asked: int | None = None
        self.latest: ClusterView | None = None
        self.hosted: Hosted | None = None

    @property
    def cluster_id(self) -> str | None:
        """The cluster that is followed, as far as it is known."""
        return self._memory.cluster_id or self._cluster_id

    def age_s(self, now_s: float) -> float:
        """How old the latest view is."""
        return now_s - self._taken_s

    def expire(self) -> None:
        """Let the next broker that is asked tell its own."""
        self._taken_s = float("-inf")

    def begin(self, broker: int, now_s: float, interval_s: float) -> bool:
        """Whether this broker, which is about to be asked, is to tell its own view for all."""
        if self._asked is not None or self.age_s(now_s) < interval_s:
            return False
        self._asked = broker
        return True

    def end(self, broker: int) -> None:
        """The broker was asked, whatever came of it."""
        if self._asked == broker:
            self._asked = None

    def take(self, view: ClusterView, now_s: float) -> bool:
        """Go by this view from now on; False: its broker has just started and knows nobody yet.

        Raises:
            WrongCluster: it is of another cluster.
            MemoryUnusable: it cannot be kept.
        """
        if not view.brokers or not view.cluster_id:
            return False
        if self._cluster_id not in (None, view.cluster_id):
            raise WrongCluster(
                f"the brokers are of cluster {view.cluster_id}, not {self._cluster_id}"
            )
        self._memory.claim(view.cluster_id)
        self._memory.keep_addresses(view.brokers)
        changed = log_ends.count_replicas(self._memory.partition, view.partitions.values())
        if changed:
            self._memory.commit((), {}, changed)
        self.latest, self._taken_s = view, now_s
        return True

    def note_hosted(self, view: ClusterView, now_ms: int) -> None:
        """Keep who hosts what; the view is of a broker that has been up for a while.

        Raises:
            MemoryUnusable: what left long ago cannot be dropped from it.
        """
        if self.hosted is None:
            self._memory.prune(view.partitions, now_ms)
        replicas = {key: each.replicas for key, each in view.partitions.items()}
        self.hosted = Hosted(replicas, now_ms)

    def concerned(self, broker: int) -> set[int]:
        """The broker and the leaders of what it hosts: who tells of its partitions' offsets."""
        hosted = self.latest.hosted_by(broker) if self.latest else ()
        return {broker, *(each.leader for each in hosted if each.leader is not None)}

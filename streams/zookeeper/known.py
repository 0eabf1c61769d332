"""The state that results from the facts so far, from which a watcher resumes. Pure."""

from collections.abc import Iterable
from typing import Self, TypeAlias

from migration.observed.facts import (
    NotificationsMissed,
    Observation,
    ZnodeGone,
    ZnodeSeen,
    ZooKeeperBlind,
    ZooKeeperSeen,
)
from migration.observed.topic_facts import ZkConfigSeen, ZkTopicFact, ZkTopicsFound
from migration.observed.znode_codec import cluster_id_of
from migration.observed.znodes import CLUSTER_ID, NOTIFICATIONS, parent
from streams.zookeeper.errors import AnotherCluster
from streams.zookeeper.sequence import notification_number

Znode: TypeAlias = ZnodeSeen | ZkConfigSeen
"""The stored state of a znode: its data, or only digests of them."""


class Known:
    """The last state of every znode, and the next notification number to account for.

    The last fact of each kind of subject alone has the same result as all of them: of each path; of
    the session; of the topics; and of notifications, where the number of the last one, of any type,
    shows that all before it are counted.

    Attributes:
        topics_found: whether all topics were read at least once.
        next_notification: the first number not accounted for; None before notifications were ever
            read.
        latest_ms: when the latest fact was learned; None before the first.
    """

    def __init__(self, facts: Iterable[Observation] = ()) -> None:
        # By parent: there may be tens of thousands of topics, and only their own listing reads
        # them.
        self._znodes: dict[str, dict[str, Znode]] = {}
        self.next_notification: int | None = None
        self._seen: ZooKeeperSeen | None = None
        self._blind: ZooKeeperBlind | None = None
        self.topics_found = False
        self.latest_ms: int | None = None
        for fact in facts:
            self.take(fact)

    def take(self, fact: Observation) -> Self:
        """Apply a fact, in the order of emission; those of other sources change nothing."""
        match fact:
            case ZnodeSeen() | ZkConfigSeen():
                self._znodes.setdefault(parent(fact.path), {})[fact.path] = fact
                self._account_for(fact.path)
            case ZnodeGone():
                self._znodes.get(parent(fact.path), {}).pop(fact.path, None)
                self._account_for(fact.path)
                if fact.path == NOTIFICATIONS:
                    # A parent that is created again counts its children from 0.
                    self.next_notification = 0
            case NotificationsMissed():
                if fact.number == 0:
                    # None missed: the fact only records the next number.
                    self.next_notification = fact.first
                self._account_up_to(fact.first + fact.number)
            case ZooKeeperBlind():
                self._blind = self._blind or fact
            case ZooKeeperSeen():
                self._seen, self._blind = fact, None
            case ZkTopicsFound():
                self.topics_found = True
            case _ if isinstance(fact, ZkTopicFact):
                pass  # a change of a topic; the facts of its znodes have its state
            case _:
                return self
        self.latest_ms = max(fact.seen_ms, self.latest_ms or fact.seen_ms)
        return self

    def _account_for(self, path: str) -> None:
        number = notification_number(path)
        if number is not None:
            self._account_up_to(number + 1)

    def _account_up_to(self, number: int) -> None:
        self.next_notification = max(number, self.next_notification or number)

    def kept(self, path: str) -> Znode | None:
        """Return the last emitted state of a znode; None: none was emitted, or it is gone."""
        return self._znodes.get(parent(path), {}).get(path)

    def znode(self, path: str) -> ZnodeSeen | None:
        """Return the last emitted state of a znode with its data, or None as `kept` does."""
        kept = self.kept(path)
        return kept if isinstance(kept, ZnodeSeen) else None

    def below(self, path: str) -> set[str]:
        """Return the paths of the znodes directly below that were emitted."""
        return set(self._znodes.get(path, ()))

    @property
    def cluster_id(self) -> str | None:
        """The id in `/cluster/id` as last emitted; None: none, or it is unreadable."""
        znode = self.znode(CLUSTER_ID)
        return None if znode is None else cluster_id_of(znode.data)

    def require_cluster(self, data: bytes | None) -> None:
        """Raise `AnotherCluster` if this content of `/cluster/id` has another id."""
        followed, found = self.cluster_id, cluster_id_of(data)
        if followed is not None and found is not None and found != followed:
            raise AnotherCluster(found, followed)

    @property
    def sees(self) -> bool:
        """Whether, according to the facts, the watcher receives every change."""
        return self.sees_since_ms is not None

    @property
    def sees_since_ms(self) -> int | None:
        """Since when it receives every change without a break; None while it does not."""
        return self._seen.seen_ms if self._seen is not None and self._blind is None else None

    @property
    def blind_since_ms(self) -> int | None:
        """When the view was lost; None while it is current, or when there never was one."""
        return None if self._blind is None else self._blind.seen_ms

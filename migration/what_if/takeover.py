"""Predicts the fate of one partition when the broker's replica of it fails.

Kafka's rules, the same in ZooKeeper and KRaft mode (PartitionLeaderElectionAlgorithms.
offlinePartitionLeaderElection, PartitionChangeBuilder.electAnyLeader): a leader that is in sync and
alive stays; else the first replica, in order of preference, that is both leads next. The failed one
leaves the ISR unless it is the last in it. Only a controller changes leader and ISR. A leader takes
acks=all while its ISR has at least min.insync.replicas; a value above the number of replicas counts
as that number (Partition.effectiveMinIsr).
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from migration.observed.probed import UNCLEAN, Partition, Unknown
from migration.what_if.situation import Situation
from migration.what_if.values import HARMLESS, Fate


class After(NamedTuple):
    """A fate, with the leader and the ISR after it; None: not known, or no leader."""

    fate: Fate
    leader: int | None
    isr: tuple[int, ...] | None
    why: str


def min_isr(now: Situation, part: Partition) -> int | None:
    """`min.insync.replicas` of the partition's topic; None: not known."""
    known = now.topics.min_isr
    return None if isinstance(known, Unknown) else known.get(part.at.topic)


def without_broker(now: Situation, part: Partition, *, data_gone: bool) -> After:
    """Predict the fate if the controller learns that the broker's replica is not available.

    `data_gone`: its log is lost; else its log is intact, but no broker serves it.
    """
    if not set(part.replicas) - {now.broker}:
        if data_gone:
            return After(Fate.LOST, None, (), "the only replica")
        why = "the only replica; its log is intact, but nobody serves it"
        return After(Fate.UNAVAILABLE, None, (), why)
    doubtful = now.doubtful.keys() & set(part.isr)
    best = _elected(now, part, now.alive)
    if not doubtful:
        return best
    named = ", ".join(map(str, sorted(doubtful)))
    doubt = f"the directories of broker {named} are unknown"
    worst = _elected(now, part, now.alive - doubtful)
    return settled([best, worst], [doubt]) or best


def unnoticed(now: Situation, part: Partition, why: str) -> After:
    """Predict the fate if the broker cannot serve its replica and the controller is not notified.

    A follower falls behind, and its leader removes it from the ISR (replica.lag.time.max.ms). A
    leader stays leader: only the controller can elect another one.
    """
    noticed = without_broker(now, part, data_gone=True)
    led_by_it = part.leader == now.broker
    if not led_by_it or noticed.fate in {Fate.LOST, Fate.UNAVAILABLE}:
        return noticed
    return After(Fate.LEADER_NOT_MOVED, now.broker, part.isr, why)


def settled(worlds: Iterable[After | None], doubts: Collection[str]) -> After | None:
    """Combine all possible results; None means "not affected". Different results give unknown.

    If all results are harmless, the worst of them is the answer.
    """
    found = list(worlds)
    known = sorted((each for each in found if each is not None), key=lambda each: each.fate.rank)
    if not known:
        return None
    worst, best = known[0], known[-1]
    concerned = None not in found
    if concerned and worst.fate is best.fate:
        same = all(each[:3] == worst[:3] for each in known)
        return worst if same else After(worst.fate, None, None, worst.why)
    if worst.fate in HARMLESS:
        return worst
    least = str(best.fate) if concerned else "not concerned"
    why = f"{worst.fate} at worst, {least} at best: {'; '.join(doubts)}"
    return After(Fate.UNKNOWN, None, None, why)


def _elected(now: Situation, part: Partition, alive: frozenset[int]) -> After:
    left = tuple(each for each in part.isr if each in alive)
    able = tuple(each for each in left if (each, part.at) not in now.broken)
    if part.leader is None:
        return After(Fate.UNAVAILABLE, None, able, "it already has no leader")
    if not able:
        why = "no other replica is in sync"
        if part.at.topic in now.topics.unclean and alive & {*part.replicas}:
            why += f", and {UNCLEAN}=true: Kafka elects one that lacks acknowledged records"
        return After(Fate.UNAVAILABLE, None, (), why)
    leader = part.leader if part.leader in left else next(r for r in part.replicas if r in left)
    if leader not in able:
        why = f"broker {leader} leads, but its directory with this replica is offline"
        return After(Fate.UNAVAILABLE, leader, able, why)
    if now.no_election is not None and (leader != part.leader or now.broker in part.isr):
        return After(Fate.UNKNOWN, None, None, "no controller is known to change leader and ISR")
    return _serving(now, part, leader, able)


def _serving(now: Situation, part: Partition, leader: int, isr: tuple[int, ...]) -> After:
    wanted = min_isr(now, part)
    if wanted is None:
        why = "min.insync.replicas of its topic is not known"
        return After(Fate.UNKNOWN, leader, isr, why)
    if len(isr) < wanted:  # min.insync.replicas is limited by the number of replicas
        why = f"{len(isr)} left in sync, min.insync.replicas is {wanted}"
        return After(Fate.UNDER_MIN_ISR, leader, isr, why)
    if leader != part.leader:
        return After(Fate.LEADER_MOVES, leader, isr, f"broker {leader} takes over")
    return After(Fate.UNDER_REPLICATED, leader, isr, "one replica less")

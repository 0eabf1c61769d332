"""Conditions on partitions: full ISRs, and no reassignment in progress.

Before the copy the metadata log has no topics, so only the brokers' answers count; ZooKeeper
shows whether they cover all partitions. After it both must agree: each may lag behind the other.
"""

from collections.abc import Iterator
from typing import Final

from migration.assessment.conditions.authority import (
    authority_not_known,
    brokers_alone_not_known,
    brokers_not_known,
    is_zookeeper_authoritative,
    log_has_topics,
    not_known,
    why_not_read,
    zookeeper_of,
)
from migration.assessment.conditions.kind import BROKER, kind
from migration.assessment.conditions.view import TopicsSeen, View
from migration.assessment.data_source import DataSource
from migration.assessment.finding import Finding, satisfied, unknown, waiting
from migration.observed.znodes import REASSIGN_PARTITIONS
from migration.values.evidence import count

_LOG: Final = DataSource.METADATA_LOG
_ZOOKEEPER: Final = DataSource.ZOOKEEPER
_TOPICS: Final = DataSource.TOPICS


@kind(
    "Every partition has a leader, and the broker, or every replica, is in the ISR, as"
    " the brokers report and, after the copy, also as the metadata log says.",
    may_use=frozenset({_TOPICS, _LOG, _ZOOKEEPER}),
    parameters=(BROKER,),
    optional=1,
)
def isr_full(view: View, broker: int | None = None) -> Finding:
    logged = log_has_topics(view)
    topics = _topics_of(view, logged=logged)
    if isinstance(topics, Finding):
        return topics
    if broker is not None:
        if (stale := brokers_not_known(view)) is not None:
            return stale
        if view.summary.broker(broker) is None:
            return waiting(f"broker {broker} is not known")
    if (missing := _lack(view, topics, broker, logged=logged)) is not None:
        return missing
    behind = [*_by_the_log(view, broker)] if logged else []
    behind += _by_the_brokers(topics, broker)
    if behind:
        # A partition without replicas out of the ISR may be the only one on a broker that is down.
        first = topics.named[:1] if topics.leaderless == topics.odd else ()
        reason = ": ".join((behind[0], *first))
        return waiting(reason, *behind, *topics.named, counted=len(behind) + topics.odd)
    whose = "every partition has" if broker is None else f"broker {broker} is in"
    isr = "all its replicas in the ISR" if broker is None else "the ISR of all its partitions"
    who = ["the brokers"] + (["the metadata log"] if logged else [])
    return satisfied(f"{whose} {isr}", f"{topics.partitions} partitions, by {' and '.join(who)}")


@kind(
    "Of each partition with several replicas, another replica than the broker's is in the ISR, as"
    " the brokers report: an empty disk on the broker would truncate the others, and while it is"
    " down the partition has no leader.",
    may_use=frozenset({_TOPICS, _LOG, _ZOOKEEPER}),
    parameters=(BROKER,),
)
def in_sync_elsewhere(view: View, broker: int) -> Finding:
    logged, summary = log_has_topics(view), view.summary
    topics = _topics_of(view, logged=logged)
    if isinstance(topics, Finding):
        return topics
    if (missing := _lack(view, topics, None, logged=logged)) is not None:
        return missing
    more = (summary.under_replicated or 0) > topics.under_replicated
    if logged and (more or (summary.leaderless or 0) > topics.leaderless):
        return unknown(
            f"the brokers' answer is outdated: {_under_replicated(topics.under_replicated)}, and"
            f" {summary.under_replicated} by the metadata log"
        )
    if alone := topics.alone.get(broker):
        reason = f"broker {broker} has the only in-sync replica of {count(alone, 'partition')}"
        return waiting(reason, *topics.named, counted=topics.odd)
    return satisfied(f"broker {broker} has the only in-sync replica of no partition with others")


def _topics_of(view: View, *, logged: bool) -> TopicsSeen | Finding:
    """Return the brokers' answer, or why it does not count now.

    `logged`: the metadata log is authoritative for partitions, so it must be current, too.
    """
    stale = authority_not_known(view) or (None if logged else brokers_alone_not_known(view))
    stale = stale or not_known(view, _TOPICS, *((_LOG,) if logged else ()))
    if stale is not None or view.topics is None:
        return stale or unknown("the partition state: not polled from the brokers yet")
    return view.topics


def _lack(view: View, topics: TopicsSeen, broker: int | None, *, logged: bool) -> Finding | None:
    """Return why the data does not suffice to evaluate the ISRs; None: it does."""
    summary = view.summary
    if logged:
        counted = summary.under_replicated is not None and summary.leaderless is not None
        found = summary.broker(broker)
        if not counted or (found is not None and found.epoch and found.under_replicated is None):
            return unknown("the partitions of the metadata log were not counted yet")
        there = summary.partitions
    else:
        if (outdated := _by_another_controller(view, topics)) is not None:
            return outdated
        seen = zookeeper_of(view)
        if seen is None or seen.partitions is None:
            return unknown("the partitions in ZooKeeper were not counted yet")
        there = seen.partitions
    if topics.partitions < there:
        return unknown(
            f"the brokers return {topics.partitions} of {there} partitions",
            "either they have not caught up, or a topic is being deleted, or DESCRIBE on all topics"
            " is missing",
        )
    return None


def _by_another_controller(view: View, topics: TopicsSeen) -> Finding | None:
    """Return a finding if the brokers' answer names another controller than ZooKeeper does.

    A broker that cannot reach ZooKeeper learns of no change: it still answers as the controller,
    with full ISRs, after another broker has taken over.
    """
    seen = zookeeper_of(view)
    if seen is None or seen.controller is None or seen.controller.id == topics.controller:
        return None
    holder = f"broker {seen.controller.id} holds /controller"
    named = "none" if topics.controller is None else f"broker {topics.controller}"
    return unknown(f"the brokers' answer is outdated: it names {named} as controller, and {holder}")


def _by_the_log(view: View, broker: int | None) -> Iterator[str]:
    summary = view.summary
    found = view.summary.broker(broker)
    # A replica that is being added counts: it is not in the ISR yet.
    moving = f"; {_reassigned(summary.reassigning)}" if summary.reassigning else ""
    if found is not None and found.under_replicated:
        yield f"{_out_of_isr(found.id, found.under_replicated)}{moving}"
    if broker is None and summary.under_replicated:
        yield f"{_under_replicated(summary.under_replicated)}, by the metadata log{moving}"
        for each in summary.brokers:
            if each.under_replicated:
                yield _out_of_isr(each.id, each.under_replicated)
    if summary.leaderless:
        yield f"{_leaderless(summary.leaderless)}, by the metadata log"


def _by_the_brokers(topics: TopicsSeen, broker: int | None) -> Iterator[str]:
    if broker is not None and topics.missing.get(broker):
        yield f"{_out_of_isr(broker, topics.missing[broker])}, by the brokers"
    if broker is None and topics.under_replicated:
        yield f"{_under_replicated(topics.under_replicated)}, by the brokers"
        for each, number in sorted(topics.missing.items()):
            yield f"{_out_of_isr(each, number)}, by the brokers"
    if topics.leaderless:
        yield f"{_leaderless(topics.leaderless)}, by the brokers"


def _under_replicated(number: int) -> str:
    return f"{count(number, 'partition')} under-replicated"


def _leaderless(number: int) -> str:
    return f"{count(number, 'partition')} without a leader"


def _reassigned(number: int) -> str:
    return f"{count(number, 'partition')} being reassigned"


def _out_of_isr(broker: int, number: int) -> str:
    return f"broker {broker} is not in the ISR of {count(number, 'partition')}"


@kind(
    "No reassignment of partitions is in progress.", may_use=frozenset({_LOG, _TOPICS, _ZOOKEEPER})
)
def no_reassignment(view: View) -> Finding:
    if (stale := authority_not_known(view)) is not None:
        return stale
    if log_has_topics(view):
        if (stale := not_known(view, _LOG)) is not None:
            return stale
        open_ones = view.summary.reassigning
        if open_ones is None:
            return unknown("the partitions of the metadata log were not counted yet")
        who = "by the metadata log"
    else:
        reported = _reported_by_the_controller(view)
        if isinstance(reported, Finding):
            return reported
        open_ones, who = reported, "by the controller"
    if open_ones:
        named, odd = ((), 0) if view.topics is None else (view.topics.named, view.topics.odd)
        reason = f"{_reassigned(open_ones)}, {who}"
        return waiting(reason, *named, counted=odd)
    return satisfied(f"no partition is being reassigned, {who}")


def _reported_by_the_controller(view: View) -> int | Finding:
    """Return the number of reassignments that ZooKeeper's controller knows; or why it is not."""
    topics = _topics_of(view, logged=False)
    if isinstance(topics, Finding):
        return topics
    if (outdated := _by_another_controller(view, topics)) is not None:
        return outdated
    if topics.reassigning is None:
        return unknown("the ZooKeeper controller did not report open reassignments")
    zookeeper = zookeeper_of(view)
    if not topics.reassigning and is_zookeeper_authoritative(view) and zookeeper is not None:
        if (why := why_not_read(zookeeper, REASSIGN_PARTITIONS)) is not None:
            return unknown(f"{why}; delete the znode (zookeeper-shell) unless a tool writes it now")
        if zookeeper.reassigning:
            return waiting(f"{count(zookeeper.reassigning, 'partition')} in {REASSIGN_PARTITIONS}")
    return topics.reassigning

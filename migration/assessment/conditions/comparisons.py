"""Conditions on the comparisons of the metadata log with ZooKeeper and with the disks."""

from collections.abc import Iterator
from typing import Final

from migration.assessment.conditions.authority import (
    comparison_not_known,
    undescribed,
    unread,
)
from migration.assessment.conditions.kind import kind
from migration.assessment.conditions.view import View
from migration.assessment.data_source import DataSource
from migration.assessment.finding import Finding, Verdict, satisfied, unknown, violated, waiting
from migration.comparison.differences import Difference
from migration.comparison.result import Compared
from migration.image.known_ids import ids, member_brokers
from migration.observed.log_dirs import BrokerDisks, is_bad
from migration.values.evidence import count

_CLOSED: Final = {"quotas": "quotas of users, clients and IPs"}
_LOG: Final = DataSource.METADATA_LOG
_ZOOKEEPER: Final = DataSource.ZOOKEEPER
_DISKS: Final = DataSource.LOG_DIRS
_ANSWER_MS: Final = 20_000
"""A comparison may include an answer of this age: two intervals of `LogDirsConfig`."""


@kind(
    "The last comparison of ZooKeeper's content with the metadata log found no difference.",
    requires=(_LOG, _ZOOKEEPER),
)
def content_equal(view: View) -> Finding:
    failed = view.status(_ZOOKEEPER).waiting
    return _equal(view, view.summary.content, "ZooKeeper's content", *filter(None, (failed,)))


@kind(
    "The last comparison of the disks with the metadata log found no difference, and"
    " includes each broker since its last registration.",
    requires=(_LOG, _DISKS),
)
def disks_agree(view: View) -> Finding:
    """Report differences at once; agreement needs each broker, as it runs now."""
    places = view.summary.places
    found = _equal(view, places, "the content of the disks")
    if found.verdict is not Verdict.SATISFIED:
        return found
    described = view.summary.broker_disks
    members = sorted(member_brokers(view.summary))
    unseen = [line for each in members for line in _not_read(each, described.get(each))]
    unseen += [
        f"broker {each}: the directory id of {path} is not known: several ids or paths match"
        for each, path in places.unclear
    ]
    if unseen:
        return unknown(unseen[0], *unseen)
    # By the controllers' clock, as the times of the registrations.
    since_ms = (places.at_ms or 0) + view.log_now_ms - view.now_ms - _ANSWER_MS
    registered = {each.id: each.registered_ms or 0 for each in view.summary.brokers}
    left_out = [
        each for each in members if each not in places.brokers or registered.get(each, 0) > since_ms
    ]
    if left_out:
        return waiting(
            f"the last comparison has no answer of {ids(left_out)} since the last registration"
        )
    return found


def _not_read(broker: int, disks: BrokerDisks | None) -> Iterator[str]:
    yield from undescribed(broker, disks)
    for each in disks.log_dirs if disks is not None else ():
        if is_bad(each):
            yield f"broker {broker}: {each.path} is not readable, so its logs are not compared"
    described = {each.path for each in disks.log_dirs} if disks is not None else set()
    for path in sorted(disks.cut_off.keys() - described) if disks is not None else ():
        yield f"broker {broker}: {path} has replicas, but the broker does not report it any more"


def _equal(view: View, compared: Compared, what: str, *pending: str) -> Finding:
    """Return whether a comparison is recent and equal; `pending`: what its source awaits."""
    if (why := comparison_not_known(compared, view.now_ms, what)) is not None:
        return unknown(why, *pending)
    if compared.lasting:
        kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(compared.lasting.items()))
        lines = [_line(each) for each in compared.named]
        counted = sum(compared.lasting.values())
        return violated(f"{what} and the metadata log differ: {kinds}", *lines, counted=counted)
    if pending:
        return unknown(f"{what} may differ by now; pending: {pending[0]}")
    if compared.unreadable:
        reason = count(compared.unreadable, "znode")
        why = f"{reason} cannot be read, so {what} is not fully compared"
        return unknown(why, *unread(compared), counted=compared.unreadable)
    if compared.unlisted:
        lines = [
            f"topic {each} has no id in METADATA: DESCRIBE on it is missing, or it is being deleted"
            for each in compared.unlisted
        ]
        return unknown(lines[0], *lines)
    if compared.differing:
        reason = count(compared.differing, "difference")
        return waiting(f"{reason}, which the next comparison must confirm")
    closed = [
        f"not compared, because access is denied: {_CLOSED.get(each, f'settings of {each}')}"
        for each in compared.closed
    ]
    return satisfied(f"{what} matches the metadata log", f"{compared.compared} compared", *closed)


def _line(each: Difference) -> str:
    where = f" on broker {each.broker} in {each.path}" if each.path else ""
    return f"{each.kind} of {each.subject}{where}: {each.seen or 'none'}, logged {each.logged}"

"""Orders the brokers or controllers of a checkpoint. Pure; evaluated again before every instance.

The controller may move and an operator may do a broker by hand, so no state is stored: the order
follows from the members, those that are done, and the current leaders. While these are the same, so
is the order.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Self

from migration.observed.znode_codec import ZkController
from orchestrator.runbook.model import Checkpoint, Each, OrderRule

RULES: Final[Mapping[Each, tuple[OrderRule, ...]]] = {
    "broker": ("rack", "zookeeper_controller_last"),
    "controller": ("active_controller_last",),
}
"""The rules that can order the instances of each kind; a file that names none uses all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A broker or a controller.

    Attributes:
        host: as the cluster reports it; "": unknown.
        rack: "": it has none.
    """

    id: int
    host: str = ""
    rack: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaders:
    """The current leaders; None: there is none, or it is unknown.

    Attributes:
        zookeeper_controller: the broker that holds /controller.
        active_controller: the leader of the quorum.
    """

    zookeeper_controller: int | None = None
    active_controller: int | None = None

    @classmethod
    def of(cls, holder: ZkController | None, active: int | None) -> Self:
        """Return the leaders, given the znode /controller, which a KRaft controller may hold."""
        broker = None if holder is None or holder.is_kraft else holder.id
        return cls(zookeeper_controller=broker, active_controller=active)


def rules_of(checkpoint: Checkpoint) -> tuple[OrderRule, ...]:
    if checkpoint.for_each is None:
        return ()
    return RULES[checkpoint.for_each] if checkpoint.order is None else checkpoint.order


def in_order(
    members: Iterable[Member],
    rules: Collection[OrderRule],
    leaders: Leaders,
    done: Collection[int] = (),
) -> tuple[Member, ...]:
    """Return the members in order: those that are done, then the others in order of execution.

    With `rack`, racks are processed one after the other, a rack that was begun first. The leader is
    the last of all members that are not done, and its rack is the last rack. Otherwise the order is
    by id.
    """
    everybody = sorted(members, key=lambda member: member.id)
    last = _last(rules, leaders)
    racks = {member.rack for member in everybody if member.id == last}
    begun = {member.rack for member in everybody if member.id in done}

    def turn(member: Member) -> tuple[bool, bool, bool, bool, str]:
        waits = member.id not in done
        if "rack" not in rules or not waits:
            return waits, waits and member.id == last, False, False, ""
        rack = member.rack
        return waits, member.id == last, rack not in begun, rack in racks, rack

    return tuple(sorted(everybody, key=turn))


def _last(rules: Collection[OrderRule], leaders: Leaders) -> int | None:
    if "zookeeper_controller_last" in rules:
        return leaders.zookeeper_controller
    return leaders.active_controller if "active_controller_last" in rules else None

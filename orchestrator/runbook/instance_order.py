"""In which order brokers or controllers have their turn. Pure; asked again before every turn.

The controller may move and an operator may do a broker himself, so nothing is remembered: the order
follows from who there is, who is done and who leads now. While these stay, so does the order.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from orchestrator.runbook.model import OrderRule


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A broker or a controller.

    Attributes:
        host: as the cluster names it; "" when it is not known.
        rack: "" when it has none.
    """

    id: int
    host: str = ""
    rack: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaders:
    """Who leads now; None: nobody, or it is not known.

    Attributes:
        zookeeper_controller: the broker that holds /controller.
        active_controller: the leader of the quorum.
    """

    zookeeper_controller: int | None = None
    active_controller: int | None = None


def in_order(
    members: Iterable[Member],
    rules: Collection[OrderRule],
    leaders: Leaders,
    done: Collection[int] = (),
) -> tuple[Member, ...]:
    """Put members in order: those that are done, then the others as they have their turn.

    With `rack`, racks come one after the other, a rack that was begun first. Whoever leads comes
    last of all that are not done, and its rack last. Otherwise by id.
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

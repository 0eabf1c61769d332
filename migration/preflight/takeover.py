"""Who has the controller in ZooKeeper, and whether an earlier attempt lies in wait there."""

import json
from collections.abc import Mapping
from typing import Final

from migration.preflight.facts import Facts, Quorum, Unknown, ZooKeeper
from migration.preflight.quorum import quorum_of
from migration.preflight.result import (
    SEE_ZOOKEEPER,
    Check,
    Finding,
    failed,
    passed,
    unknown,
    warned,
)

_CLEAR: Final = (
    "stop the controllers, see that no broker needs the old quorum any more, and delete /migration"
    " (zookeeper-shell: delete /migration) before a fresh quorum starts"
)
_AWAITED: Final = (
    "bring the controllers of that quorum up again, with their own disks, and go on with"
    " `kraftgate run`. Start no fresh quorum on this ZooKeeper: it would skip the copy and wipe it"
)


def controller_elected(facts: Facts) -> Finding:
    """A broker is ZooKeeper's controller, and /controller and /controller_epoch can be read."""
    if isinstance(facts.zookeeper, Unknown):
        return unknown([facts.zookeeper.why], SEE_ZOOKEEPER)
    holder = _json(facts.zookeeper.controller)
    epoch = facts.zookeeper.controller_epoch
    if holder is None or not isinstance(holder.get("brokerid"), int):
        shown = [f"/controller: {_shown(facts.zookeeper.controller)}"]
        return failed(
            "there is no controller that can be read",
            shown,
            "see that the brokers are up and connected to ZooKeeper",
        )
    if epoch is None or not epoch.isdigit() or int(epoch) == 0:
        return failed(
            "there is no controller epoch",
            [f"/controller_epoch: {_shown(epoch)}"],
            "the takeover checks this znode: look at what wrote it",
        )
    id_ = holder["brokerid"]
    if holder_is_kraft(holder):
        lines = [f"/controller: KRaft controller {id_}, epoch {epoch.decode()}"]
        mend = (
            "go on with `kraftgate run`: the KRaft controllers have taken over, this is no cluster"
            " before its window"
        )
        return warned("the migration has begun", lines, mend)
    if id_ not in facts.zookeeper.broker_ids:
        return failed(
            "the controller is no broker that lives",
            [f"/controller names broker {id_}, which is not in /brokers/ids"],
            "wait for an election, or look at why there is none",
        )
    return passed(f"broker {id_}, controller epoch {epoch.decode()}")


def holder_is_kraft(holder: Mapping[str, object]) -> bool:
    """Whether the content of /controller is a KRaft controller's."""
    epoch = holder.get("kraftControllerEpoch", -1)
    return isinstance(epoch, int) and epoch >= 0


def migration_znode_stale(facts: Facts) -> Finding:
    """No /migration of an earlier attempt is left.

    With an offset above 0 a fresh quorum believes that the copy was made: it skips it and writes
    its own emptiness over ZooKeeper's topics (strimzi#11262).
    """
    if isinstance(facts.zookeeper, Unknown):
        return unknown([facts.zookeeper.why], SEE_ZOOKEEPER)
    raw = facts.zookeeper.migration
    if raw is None:
        return passed("there is no /migration")
    state = _json(raw)
    offset = None if state is None else state.get("kraft_metadata_offset")
    if not isinstance(offset, int) or isinstance(offset, bool):
        mend = (
            "the controllers' migration driver hangs on such content (KAFKA-19480; the null one"
            f" comes from zookeeper-security-migration): {_CLEAR}"
        )
        return failed("/migration is not what Kafka writes", [f"/migration: {_shown(raw)}"], mend)
    if offset <= 0:
        return passed(f"/migration is there and says that nothing was copied (offset {offset})")
    return _copied_before(facts, facts.zookeeper, offset, state or {})


def _copied_before(
    facts: Facts, zookeeper: ZooKeeper, offset: int, state: Mapping[str, object]
) -> Finding:
    by, holder = state.get("kraft_controller_id"), _json(zookeeper.controller)
    evidence = [f"/migration: kraft_metadata_offset {offset}, by controller {by}"]
    quorum = quorum_of(facts)
    if quorum is not None and holder is not None and holder_is_kraft(holder):
        if _is_its_own(quorum, offset, by):
            evidence.append(f"the quorum's log reaches to {quorum.high_watermark}")
            return warned(
                "the copy was made, by the quorum that runs now",
                evidence,
                "go on with `kraftgate run`; do not replace that quorum",
            )
        evidence.append(
            f"the quorum that runs ends at {quorum.high_watermark},"
            f" voters {', '.join(map(str, quorum.voters))}"
        )
    elif holder is not None and holder_is_kraft(holder):
        evidence.append(f"/controller: KRaft controller {holder.get('brokerid')}, and none leads")
        return failed(
            "a migration is under way, and its quorum does not answer", evidence, _AWAITED
        )
    else:
        evidence.append("/controller is a broker's, so no quorum leads this cluster")
    return failed(
        "an earlier attempt is left in ZooKeeper",
        evidence,
        "a fresh quorum would skip the copy and wipe ZooKeeper's topics with its own emptiness:"
        f" {_CLEAR}",
    )


def _is_its_own(quorum: Quorum, offset: int, by: object) -> bool:
    return quorum.high_watermark >= offset and by in quorum.voters


def _json(raw: bytes | None) -> Mapping[str, object] | None:
    try:
        found = json.loads(raw or b"")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _shown(raw: bytes | None) -> str:
    if raw is None:
        return "there is none"
    return f"{raw[:60]!r}" + (f" and {len(raw) - 60} bytes more" if len(raw) > 60 else "")


CHECKS: Final = (
    Check(
        "migration-znode-stale",
        "No earlier attempt is left in /migration",
        True,
        migration_znode_stale,
    ),
    Check("controller-elected", "ZooKeeper has a controller", True, controller_elected),
)

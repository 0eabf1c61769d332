"""Controllers from registrations: the reported events, and the facts that snapshots lack."""

from migration.image.cluster import Controller
from migration.image.summary import ControllerSummary
from migration.metadata.events import Moment

AT = Moment(offset=5, timestamp_ms=1000)
LATER = Moment(offset=900, timestamp_ms=9000)


def started(id_: int, incarnation: int, at: Moment, *, ready: bool = True) -> Controller:
    return Controller(
        id=id_, incarnation=bytes([incarnation]) * 16, zk_migration_ready=ready, registered=at
    )


def test_a_registration_is_told_with_its_place() -> None:
    assert started(3000, 1, AT).summary() == ControllerSummary(
        id=3000, zk_migration_ready=True, registered_offset=5, registered_ms=1000
    )


def test_a_snapshot_keeps_the_place_of_a_registration_that_was_seen_and_of_no_other() -> None:
    known = {3000: started(3000, 1, AT), 3001: started(3001, 1, AT)}
    loaded = {
        3000: started(3000, 1, LATER),
        3001: started(3001, 2, LATER, ready=False),
        3002: started(3002, 1, LATER),
    }
    kept = {id_: each.in_snapshot(known.get(id_)) for id_, each in loaded.items()}
    assert kept[3000].registered == AT
    assert kept[3001].registered is None
    assert not kept[3001].zk_migration_ready
    assert kept[3002].summary().registered_offset is None

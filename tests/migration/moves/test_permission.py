"""What forbids a move: migration mode, hold, and hazards; unknown permits nothing."""

from dataclasses import replace

import pytest

from migration.assessment.hazards import Hazard, HazardKind
from migration.image.cluster import ClusterImage, summarize
from migration.image.summary import BrokerSummary, ClusterSummary, Mode
from migration.metadata.replica_state import ReplicaState
from migration.moves.permission import WORSENED, permission
from migration.observed.probed import Unknown


def summary(mode: Mode = Mode.KRAFT, *, held: bool = False) -> ClusterSummary:
    one = BrokerSummary(
        id=1,
        mode=mode,
        fenced=False,
        in_controlled_shutdown=False,
        held=held,
        replicas=dict.fromkeys(ReplicaState, 0),
    )
    return replace(summarize("prod", ClusterImage()), brokers=(one,))


def hazard(kind: HazardKind, broker: int | None = 1) -> Hazard:
    return Hazard(
        kind=kind,
        broker=broker,
        text="it is so",
        evidence=(),
        way_out="",
    )


def test_a_broker_without_any_reason_may_move() -> None:
    found = permission(1, Mode.KRAFT, summary(), (), ())
    assert (found.forbidden, found.unknown) == ((), ())
    in_zookeeper = permission(2, Mode.ZOOKEEPER, summary(), (), ())
    assert (in_zookeeper.forbidden, in_zookeeper.unknown) == ((), ())


def test_a_held_broker_may_not() -> None:
    """KIP-858, "Broker registration": its replicas have no recorded directory yet."""
    (why,) = permission(1, Mode.KRAFT, summary(held=True), (), ()).forbidden
    assert why.startswith("broker 1 is held")


@pytest.mark.parametrize(
    ("registered", "mode"),
    [
        (Mode.MIGRATING, Mode.MIGRATING),
        (Mode.ZOOKEEPER, Mode.MIGRATING),
        (Mode.MIGRATING, Mode.KRAFT),
    ],
)
def test_a_broker_in_migration_mode_may_not(registered: Mode, mode: Mode) -> None:
    """KIP-858, "Migrating a cluster in ZK mode ...": by its registration or its own settings."""
    (why,) = permission(1, mode, summary(registered), (), ()).forbidden
    assert "broker 1 is in migration mode" in why


def test_each_kind_of_hazard_is_decided() -> None:
    assert WORSENED.keys() == set(HazardKind)


@pytest.mark.parametrize("kind", HazardKind)
def test_a_hazard_that_a_move_would_worsen_forbids_it(kind: HazardKind) -> None:
    forbids = WORSENED[kind] is not None
    for broker in (1, None):
        found = permission(1, Mode.KRAFT, summary(), [hazard(kind, broker)], ())
        assert bool(found.forbidden) is forbids
        assert all(f"hazard {kind}: it is so" in each for each in found.forbidden)
    elsewhere = permission(1, Mode.KRAFT, summary(), [hazard(kind, 2)], ())
    assert not elsewhere.forbidden


def test_draining_with_one_directory_left_stays_allowed() -> None:
    assert WORSENED[HazardKind.ONE_DIRECTORY_LEFT] is None
    assert WORSENED[HazardKind.RESTART_LOSES_REPLICAS] is None


def test_unknown_permits_nothing() -> None:
    assert permission(1, Unknown("refused"), summary(), (), ()).unknown == (
        "the mode of broker 1: refused",
    )
    assert permission(1, Mode.KRAFT, summary(), (), ["the disks"]).unknown == ("the disks",)
    assert permission(2, Mode.KRAFT, summary(), (), ()).unknown
    assert permission(1, Mode.KRAFT, None, (), ()).unknown

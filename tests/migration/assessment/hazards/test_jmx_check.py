"""JMX numbers against the metadata log and the disks: what contradicts, and the traps."""

from dataclasses import replace

import pytest

from migration.assessment.currency import CURRENT
from migration.assessment.hazards import Action, HazardKind, hazards
from migration.image.cluster import Broker, ClusterImage, Provenance, summarize
from migration.image.observe import observe
from migration.image.phases import MigrationState
from migration.image.summary import Mode
from migration.metadata.events import Event, Moment
from migration.observed.facts import JmxSeen, LogDirSeen
from migration.observed.jmx_names import JmxName
from migration.observed.log_dirs import BrokerDisks, DisksImage
from migration.values.severity import Severity

NOW = 1_000_000
STATE = str(JmxName.ZK_MIGRATION_STATE)
MIGRATING = str(JmxName.MIGRATING_ZK_BROKER_COUNT)
OFFLINE = str(JmxName.OFFLINE_LOG_DIRECTORY_COUNT)


def broker(id_: int, mode: Mode, *, fenced: bool = False) -> Broker:
    return Broker(
        id=id_,
        epoch=5,
        incarnation=bytes(16),
        mode=mode,
        fenced=fenced,
        in_controlled_shutdown=False,
        log_dirs=(),
        registered=Moment(offset=5, timestamp_ms=100),
        held=False,
    )


def cluster(state: int | None, *brokers: Broker, at_ms: int = NOW) -> ClusterImage:
    return ClusterImage(
        provenance=Provenance(offset=9, epoch=1, timestamp_ms=at_ms),
        migration_state=MigrationState(value=state, since_ms=50),
        active_controller=3000,
        brokers={each.id: each for each in brokers},
    )


def reading(node: int, at_ms: int, **numbers: int) -> JmxSeen:
    return JmxSeen(at_ms, node, "e", at_ms, tuple(numbers.items()))


def after(image: ClusterImage, *facts: JmxSeen) -> tuple[ClusterImage, tuple[Event, ...]]:
    return observe(image, facts)


def lasting(image: ClusterImage) -> list[tuple[int, str, int, int]]:
    found = image.jmx.contradictions if image.jmx is not None else ()
    return [(each.node, each.name, each.reads, each.expected) for each in found if each.lasting]


HYBRID = cluster(1, broker(1, Mode.KRAFT), broker(2, Mode.MIGRATING, fenced=True))


def twice(image: ClusterImage, node: int, **numbers: int) -> ClusterImage:
    return after(image, reading(node, NOW, **numbers), reading(node, NOW + 30_000, **numbers))[0]


def test_what_agrees_is_no_contradiction() -> None:
    image = twice(HYBRID, 3000, **{STATE: 1, MIGRATING: 1})
    assert image.jmx is not None
    assert image.jmx.contradictions == ()


def test_two_readings_make_one() -> None:
    once, events = after(HYBRID, reading(3000, NOW, **{STATE: 3}))
    assert lasting(once) == []
    assert not events
    # The same scrape once more, from Prometheus, is no second reading.
    again, events = after(once, reading(3000, NOW, **{STATE: 3}))
    assert lasting(again) == []
    second, events = after(once, reading(3000, NOW + 10_000, **{STATE: 3}))
    assert lasting(second) == [(3000, STATE, 3, 1)]
    assert [each.kind for each in events] == ["jmx_contradicts"]
    over, events = after(second, reading(3000, NOW + 20_000, **{STATE: 1}))
    assert over.jmx is not None
    assert over.jmx.contradictions == ()
    assert [each.kind for each in events] == ["jmx_changed", "jmx_agrees_again"]


def test_what_moves_on_is_none() -> None:
    """The number is ahead of the metadata log, which then follows."""
    once, _ = after(HYBRID, reading(3000, NOW, **{STATE: 3}))
    finalized = replace(once, migration_state=MigrationState(value=3, since_ms=60))
    image, _ = after(finalized, reading(3000, NOW + 10_000, **{STATE: 3}))
    assert image.jmx is not None
    assert image.jmx.contradictions == ()


@pytest.mark.parametrize(
    ("image", "node", "number"),
    [
        # A broker in ZooKeeper or migration mode reads 4 always.
        (HYBRID, 2, {STATE: 4}),
        (cluster(2), 1, {STATE: 4}),
        # Nothing was published yet.
        (HYBRID, 3000, {STATE: -1}),
        # Registrations are counted, those of dead brokers too.
        (HYBRID, 3000, {MIGRATING: 1}),
        # Without the metadata log, or with one that is old, there is nothing to compare with.
        (ClusterImage(), 3000, {STATE: 1}),
        (replace(HYBRID, provenance=Provenance(offset=9, epoch=1, timestamp_ms=NOW - 90_000)), 3000,
         {STATE: 3}),
    ],
)  # fmt: skip
def test_the_known_traps_are_none(image: ClusterImage, node: int, number: dict[str, int]) -> None:
    assert lasting(twice(image, node, **number)) == []


@pytest.mark.parametrize(
    ("node", "name", "reads", "expected", "words", "blocks"),
    [
        (3000, STATE, 2, 1, ("PRE_MIGRATION (2)", "MIGRATION (1)"), Action.FINALIZE),
        # The address of a broker in ZooKeeper mode was configured for the controller.
        (3000, STATE, 4, 1, ("ZK (4)", "MIGRATION (1)"), Action.FINALIZE),
        # The metadata log has the broker in KRaft mode, and it runs in ZooKeeper mode.
        (1, STATE, 4, 1, ("ZK (4)", "MIGRATION (1)"), Action.FINALIZE),
        (3000, MIGRATING, 0, 1, ("0", "1"), Action.FINALIZE),
    ],
)
def test_a_contradiction_is_a_hazard(
    node: int, name: str, reads: int, expected: int, words: tuple[str, str], blocks: Action
) -> None:
    image = twice(HYBRID, node, **{name: reads})
    assert lasting(image) == [(node, name, reads, expected)]
    (found,) = (
        each
        for each in hazards(summarize("c", image), NOW, CURRENT)
        if each.kind is HazardKind.JMX_CONTRADICTS
    )
    assert (found.severity, found.blocks) == (Severity.WARNING, blocks)
    assert found.broker == (None if node == 3000 else node)
    it_is, should_be = words
    assert found.evidence == (f"it is {it_is}; by the metadata log it should be {should_be}",)


def log_dir(path: str, error: int, readable: bool | None = None) -> LogDirSeen:
    return LogDirSeen(path, error, None, None, 1, 1, 0, 0, None, readable)


def with_disks(*log_dirs: LogDirSeen, **changes: object) -> ClusterImage:
    one = BrokerDisks(id=1, answered_ms=NOW, log_dirs=log_dirs)
    disks = DisksImage(brokers={1: replace(one, **changes)})  # type: ignore[arg-type]
    return replace(HYBRID, disks=disks)


def test_a_directory_that_only_one_of_the_two_calls_offline() -> None:
    image = with_disks(log_dir("/d0", 0), log_dir("/d1", 56))
    assert lasting(twice(image, 1, **{OFFLINE: 1})) == []
    contradicting = twice(image, 1, **{OFFLINE: 0})
    assert lasting(contradicting) == [(1, OFFLINE, 0, 1)]
    (found,) = (
        each
        for each in hazards(summarize("c", contradicting), NOW, CURRENT)
        if each.kind is HazardKind.JMX_CONTRADICTS
    )
    assert (found.blocks, found.broker) == (Action.RESTART, 1)


@pytest.mark.parametrize(
    "image",
    [
        # Kraftgate sees on the host what the broker has not noticed yet.
        with_disks(log_dir("/d0", 0), log_dir("/d1", 0, readable=False)),
        with_disks(log_dir("/d1", 56), unreachable="refused"),
        with_disks(log_dir("/d1", 56), answered_ms=NOW - 300_000),
    ],
)
def test_disks_that_cannot_be_compared_are_none(image: ClusterImage) -> None:
    assert lasting(twice(image, 1, **{OFFLINE: 0})) == []


def test_what_cannot_be_looked_at_again_stands() -> None:
    found = twice(HYBRID, 3000, **{STATE: 3})
    stale = replace(found, provenance=Provenance(offset=9, epoch=1, timestamp_ms=NOW - 10**6))
    assert lasting(after(stale, reading(3000, NOW + 60_000, **{STATE: 3}))[0])


def test_a_number_that_is_missing_agrees_with_nothing() -> None:
    """NaN, or a bean that a broker that restarts does not have yet."""
    image = twice(with_disks(log_dir("/d0", 0), log_dir("/d1", 0)), 1, **{OFFLINE: 1})
    assert lasting(image) == [(1, OFFLINE, 1, 0)]
    silent, events = after(image, reading(1, NOW + 40_000, **{STATE: -1}))
    assert lasting(silent) == [(1, OFFLINE, 1, 0)]
    assert "jmx_agrees_again" not in {each.kind for each in events}


def test_after_a_roll_back_there_is_nothing_to_compare_with() -> None:
    found = twice(HYBRID, 3000, **{STATE: 3})
    back = replace(found, migration_state=MigrationState())
    assert not lasting(after(back, reading(3000, NOW + 60_000, **{STATE: 3}))[0])

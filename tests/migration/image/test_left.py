"""A broker that an operator unregistered because its disk failed: it no longer holds the others."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from migration.assessment.currency import CURRENT
from migration.assessment.failed_directories import failed_directories
from migration.assessment.hazards import HazardKind, hazards
from migration.comparison.differences import Placed, ShardComparison
from migration.image.advance import Batch, advance
from migration.image.cluster import ClusterImage, Gone, Provenance, summarize
from migration.image.known_ids import member_brokers
from migration.image.observe import compare, observe
from migration.image.phases import MIGRATION, MigrationState
from migration.image.summary import Phase
from migration.metadata.directory_ids import MIGRATING, UNASSIGNED, DirectoryId, to_text
from migration.metadata.events import Moment, Source
from migration.metadata.records import (
    Record,
    RegisterBroker,
    Stamped,
    UnfenceBroker,
    UnregisterBroker,
)
from migration.metadata.transactions import Admission
from migration.observed.facts import (
    DisksSeen,
    DisksUnreachable,
    LogDirSeen,
    ZnodeGone,
    ZooKeeperBlind,
)
from migration.observed.log_dirs import STORAGE_ERROR
from migration.observed.znode_codec import ZkController
from migration.observed.zookeeper import ZooKeeperImage
from migration.shard.report import ShardReport
from tests.migration.observed.test_zookeeper import znode

HYBRID = ClusterImage(
    migration_state=MigrationState().now(MIGRATION, 5000),
    provenance=Provenance(offset=9, epoch=1, timestamp_ms=5000),
)
ONLINE = LogDirSeen("/d0", 0, None, None, 2, 20, 0, 0, None, None)
FAILED = ONLINE._replace(path="/d1", error=STORAGE_ERROR)
DOWN = DisksUnreachable(8000, 1, "connection refused", ())
UNREGISTERED = UnregisterBroker(1, 7)


ONE, TWO, THREE = (DirectoryId(bytes([each]) * 16) for each in (1, 2, 3))
EMPTY = ONLINE._replace(path="/d1", replicas=0, bytes=0, directory_id=to_text(TWO))
AT = Moment(offset=8, timestamp_ms=4000)


def registration(
    id_: int, epoch: int = 7, log_dirs: tuple[DirectoryId, ...] = (), *, migrating: bool = False
) -> RegisterBroker:
    return RegisterBroker(id_, migrating, bytes([epoch]) * 16, epoch, None, False, False, log_dirs)


def after(image: ClusterImage, *records: Record, snapshot: bool = False) -> ClusterImage:
    start = (image.provenance.offset if image.provenance else 0) + 1
    end = Provenance(offset=start + len(records), epoch=1, timestamp_ms=7000)
    stamped: Sequence[tuple[Stamped, Admission]] = [
        (Stamped(end.offset if snapshot else at, 7000, record), Admission.NOW)
        for at, record in enumerate(records, start)
    ]
    batch = Batch(log=1, start=start, end=end, records=stamped, reports={}, snapshot=snapshot)
    return advance(image, batch)[0]


def failed() -> ClusterImage:
    """Broker 1 with a failed directory, and broker 2."""
    image = after(HYBRID, registration(1), registration(2))
    return observe(image, [DisksSeen(6000, 1, (ONLINE, FAILED)), DisksSeen(6000, 2, (ONLINE,))])[0]


def gone() -> ClusterImage:
    return observe(after(failed(), UNREGISTERED), [DOWN])[0]


def is_reported(image: ClusterImage) -> bool:
    summary = summarize("c", image)
    named = {each.broker for each in failed_directories(summary)}
    named |= {each.broker for each in hazards(summary, 9000, CURRENT)}
    member = 1 in member_brokers(summary)
    assert (1 in named) is member
    return member


def test_a_broker_that_left_and_does_not_answer_is_reported_no_more() -> None:
    assert is_reported(failed())
    assert not is_reported(gone())
    assert 2 in member_brokers(summarize("c", gone()))


def test_one_that_still_answers_or_is_only_down_is() -> None:
    assert is_reported(after(failed(), UNREGISTERED))
    assert is_reported(observe(failed(), [DOWN])[0])


def test_one_that_registers_again_is() -> None:
    assert is_reported(after(gone(), registration(1, 12)))


@pytest.mark.parametrize("snapshot", [False, True])
def test_that_it_was_unregistered_does_not_hide_the_directory_that_it_lost(snapshot: bool) -> None:
    """Unregistering a broker reassigns none of its replicas."""
    image = after(HYBRID, registration(1, log_dirs=(ONE, TWO)))
    image = replace(image, directories={1: {UNASSIGNED: 5}}, pending_shards={1: frozenset({0})})
    back = registration(1, 12, log_dirs=(ONE,))
    if snapshot:
        without_it = after(image, snapshot=True)
        image = after(without_it, back, snapshot=True)
    else:
        image = after(image, UNREGISTERED, back)
    (summary,) = summarize("c", image).brokers
    assert summary.held
    assert summary.gone is not None
    assert (summary.gone.directories, summary.gone.pending) == ((to_text(TWO),), 5)
    assert not image.departed


@pytest.mark.parametrize("snapshot", [False, True])
def test_a_new_machine_with_the_id_of_one_that_left_does_not_inherit_its_harm(
    snapshot: bool,
) -> None:
    """All its replicas were reassigned before: its later ones are correct copies."""
    lost = Gone(directories=(TWO,), pending=5, at=AT)
    image = after(HYBRID, registration(1, log_dirs=(ONE,)))
    image = replace(image, brokers={1: replace(image.brokers[1], gone=lost)})
    left = after(image, UNREGISTERED)
    new = after(left, registration(1, 12, log_dirs=(THREE,)), snapshot=snapshot)
    (summary,) = summarize("c", new).brokers
    assert summary.gone is None
    assert not summary.unregistered
    kept = replace(left, directories={1: {ONE: 1}})
    (summary,) = summarize("c", after(kept, registration(1, 12, log_dirs=(ONE,)))).brokers
    assert summary.gone is not None


def test_after_the_copy_a_drained_broker_may_start_without_its_dead_directory() -> None:
    """The log has all replicas then: a broker without any loses nothing."""
    image = after(HYBRID, registration(1, log_dirs=(ONE, TWO), migrating=True))
    image = after(image, registration(1, 12, log_dirs=(ONE,), migrating=True))
    assert image.brokers[1].gone is None
    assert not failed_directories(summarize("c", image))


@pytest.mark.parametrize(("migrating", "is_kept"), [(0, True), (2, True), (5, False)])
def test_a_later_start_does_not_undo_what_the_first_one_may_have_recreated(
    migrating: int, is_kept: bool
) -> None:
    """H1, H2. H3 recreates nothing: the replicas may have been moved to other brokers."""
    lost = Gone(directories=(TWO,), pending=5, at=AT, migrating=migrating)
    image = after(HYBRID, registration(1, log_dirs=(ONE,)))
    image = replace(image, brokers={1: replace(image.brokers[1], gone=lost)})
    for snapshot in (False, True):
        again = after(image, registration(1, 12, log_dirs=(ONE,)), snapshot=snapshot)
        assert again.brokers[1].gone == (lost if is_kept else None)
        # Its disk may be replaced by now: no gate waits for the old directory.
        assert not failed_directories(summarize("c", again))
    for at in (AT, Moment(offset=10, timestamp_ms=7000)):
        since = replace(image.brokers[1], gone=replace(lost, at=at))
        found = failed_directories(summarize("c", replace(image, brokers={1: since})))
        assert [each.directory for each in found] == [to_text(TWO)] * (at != AT)


@pytest.mark.parametrize("snapshot", [False, True])
@pytest.mark.parametrize("at_once", [True, False])
def test_a_disk_that_was_replaced_before_the_copy_is_not_missed(
    snapshot: bool, at_once: bool
) -> None:
    """The broker copies its replicas from their leaders, as in ZooKeeper mode."""
    image = ClusterImage(provenance=HYBRID.provenance)
    image = after(image, registration(1, log_dirs=(ONE, TWO), migrating=True))
    if not at_once:
        lost = registration(1, 12, log_dirs=(ONE,), migrating=True)
        image = after(image, lost, snapshot=snapshot)
        (found,) = failed_directories(summarize("c", image))
        assert found.directory == to_text(TWO)
    replaced = registration(1, 15, log_dirs=(ONE, THREE), migrating=True)
    image = after(image, replaced, snapshot=snapshot)
    assert not failed_directories(summarize("c", image))
    image = replace(image, directories={1: {MIGRATING: 5}}, pending_shards={1: frozenset({0})})
    again = registration(1, 20, log_dirs=(ONE, THREE), migrating=True)
    assert summarize("c", after(image, again, snapshot=snapshot)).brokers[0].gone is None


def test_a_start_without_replicas_does_not_undo_what_an_earlier_one_recreated() -> None:
    lost = Gone(directories=(TWO,), pending=5, at=AT)
    image = after(HYBRID, registration(1, log_dirs=(ONE,), migrating=True))
    image = replace(image, brokers={1: replace(image.brokers[1], gone=lost)})
    again = after(image, registration(1, 12, log_dirs=(ONE,), migrating=True))
    assert again.brokers[1].gone == lost


@pytest.mark.parametrize("snapshot", [False, True])
@pytest.mark.parametrize("migrating", [True, False])
def test_a_start_in_migration_mode_recreates_also_what_has_a_known_directory(
    snapshot: bool, migrating: bool
) -> None:
    """H1 in a rollback: after the migration every replica has its directory id."""
    image = after(HYBRID, registration(1, log_dirs=(ONE, TWO)))
    image = replace(image, directories={1: {ONE: 16, TWO: 16}})
    image = after(
        image, registration(1, 12, log_dirs=(ONE,), migrating=migrating), snapshot=snapshot
    )
    (summary,) = summarize("c", image).brokers
    found = {each.kind for each in hazards(summarize("c", image), 7000, CURRENT)}
    assert (HazardKind.REPLICAS_RECREATED in found) is migrating
    if migrating:
        assert summary.gone is not None
        assert (summary.gone.directories, summary.gone.pending) == ((to_text(TWO),), 16)


@pytest.mark.parametrize("snapshot", [False, True])
def test_a_lost_directory_is_back_once_the_broker_is_unfenced_with_it(snapshot: bool) -> None:
    """A broker in KRaft mode registers first, and may then find two logs of one partition."""
    lost = Gone(directories=(TWO,), pending=5, at=AT)
    image = after(HYBRID, registration(1, log_dirs=(ONE,)))
    image = replace(image, brokers={1: replace(image.brokers[1], gone=lost)})
    back = registration(1, 12, log_dirs=(TWO, ONE))
    fenced = after(image, back._replace(fenced=True), snapshot=snapshot)
    assert fenced.brokers[1].gone == lost
    if snapshot:
        assert after(image, back, snapshot=True).brokers[1].gone is None
        assert after(fenced, back, snapshot=True).brokers[1].gone is None
    else:
        assert after(fenced, UnfenceBroker(1, 12)).brokers[1].gone is None


@pytest.mark.parametrize(
    ("last", "hosted", "is_lost"),
    [
        (EMPTY, UNASSIGNED, False),
        (EMPTY, TWO, True),  # by the metadata log
        (EMPTY._replace(replicas=1), UNASSIGNED, True),
        (EMPTY._replace(directory_id=None), UNASSIGNED, True),
        (None, UNASSIGNED, True),
    ],
)
def test_a_directory_that_had_no_replica_is_not_lost(
    last: LogDirSeen | None, hosted: DirectoryId, is_lost: bool
) -> None:
    """H1, H2: nothing of it can be recreated."""
    image = after(HYBRID, registration(1, log_dirs=(ONE, TWO)))
    image = replace(image, directories={1: {UNASSIGNED: 5, hosted: 5}})
    image = observe(image, [DisksSeen(6000, 1, (ONLINE, last))] if last else [])[0]
    back = after(image, registration(1, 12, log_dirs=(ONE,)))
    for now in (back, observe(back, [DisksSeen(8000, 1, (ONLINE,))] if last else [])[0]):
        summary = summarize("c", now)
        kinds = {each.kind for each in hazards(summary, 9000, CURRENT)}
        assert (HazardKind.REPLICAS_RECREATED in kinds) is is_lost
        assert any(each.directory for each in failed_directories(summary)) is is_lost


def test_the_record_of_another_registration_does_not_count() -> None:
    image = after(failed(), registration(1, 12), UNREGISTERED)
    assert is_reported(observe(image, [DOWN])[0])


def test_a_snapshot_without_it_says_the_same() -> None:
    image = observe(failed(), [DOWN])[0]
    assert not is_reported(after(image, registration(2), snapshot=True))
    assert is_reported(after(image, registration(1), registration(2), snapshot=True))
    assert is_reported(after(gone(), registration(1), registration(2), snapshot=True))


def zookeeper(left: frozenset[int] = frozenset({1}), **changes: object) -> ClusterImage:
    image = replace(ZooKeeperImage(seen_ms=8000), notified={1: 6000})
    return replace(gone(), left=left, zookeeper=replace(image, **changes))  # type: ignore[arg-type]


def test_zookeeper_must_be_read_and_not_list_it() -> None:
    assert not is_reported(zookeeper())
    assert is_reported(zookeeper(seen_ms=None))
    assert is_reported(zookeeper(blind_since_ms=8500))
    listed = observe(zookeeper(), [znode("/brokers/ids/1", {"host": "h1"})])[0]
    assert is_reported(listed)


def test_one_whose_znode_cannot_be_parsed_is_listed() -> None:
    listed = observe(zookeeper(left=frozenset()), [znode("/brokers/ids/1", b"{")])[0]
    listed = replace(listed, left=frozenset({1}))
    assert is_reported(listed)
    assert not is_reported(observe(listed, [ZnodeGone(8600, "/brokers/ids/1")])[0])


@pytest.mark.parametrize("content", [{"host": "h1"}, b"{"], ids=str)
def test_one_that_came_back_in_zookeeper_mode_is_reported_when_it_is_down_again(
    content: object,
) -> None:
    back = observe(zookeeper(), [znode("/brokers/ids/1", content)])[0]
    assert is_reported(observe(back, [ZnodeGone(8600, "/brokers/ids/1")])[0])


def test_a_znode_that_outlives_the_registration_is_no_return() -> None:
    there = observe(zookeeper(left=frozenset()), [znode("/brokers/ids/1", {"host": "h1"})])[0]
    there = replace(there, left=frozenset({1}))
    assert is_reported(there)
    reread = observe(there, [znode("/brokers/ids/1", {"host": "h1"})])[0]
    assert not is_reported(observe(reread, [ZnodeGone(8600, "/brokers/ids/1")])[0])


def test_its_misplaced_replicas_stay_no_longer_than_it() -> None:
    def compared(image: ClusterImage, comparison: int, *paths: Placed) -> ClusterImage:
        part = ShardComparison(
            of=Source.LOG_DIRS,
            comparison=comparison,
            seen_ms=6000 + comparison,
            whole_ms=6000 + comparison,
            placed=paths,
        )
        return compare(image, {0: ShardReport(comparisons=[part])}, (), shards=1)[0]

    def misplaced(image: ClusterImage) -> bool:
        found = hazards(summarize("c", image), 9000, CURRENT)
        return HazardKind.REPLICA_MISPLACED in {each.kind for each in found}

    most = Placed(1, "/d0", DirectoryId(bytes([8] * 16)), 2, ("t-0", "t-1"))
    both = (most, Placed(1, "/d0", DirectoryId(bytes([9] * 16)), 1, ("t-2",)))
    image = compared(compared(failed(), 1, *both), 2, *both)
    assert misplaced(image)
    down = observe(image, [DOWN])[0]
    assert misplaced(compared(down, 3))
    assert not misplaced(compared(after(down, UNREGISTERED), 3))


def test_zookeeper_counts_no_more_after_the_end() -> None:
    image = observe(zookeeper(), [ZooKeeperBlind(8500, "it is switched off")])[0]
    assert is_reported(image)
    image = replace(image, migration_state=image.migration_state.now(3, 8600))
    assert image.phase is Phase.FINALIZED
    assert not is_reported(image)


def test_a_rollback_keeps_it_away_until_it_is_back_in_zookeeper() -> None:
    image = zookeeper(held_by=ZkController(id=2, kraft_epoch=-1, claimed_ms=9000))
    assert image.phase is Phase.ROLLED_BACK
    assert not is_reported(image)
    assert is_reported(observe(image, [ZooKeeperBlind(9100, "lost")])[0])
    back = observe(image, [znode("/brokers/ids/1", {"host": "h1"})])[0]
    assert is_reported(back)
    assert is_reported(observe(back, [ZnodeGone(9200, "/brokers/ids/1")])[0])


def test_another_metadata_log_knows_nothing_of_it() -> None:
    end = Provenance(offset=-1, epoch=1, timestamp_ms=9000)
    image, _ = advance(gone(), Batch(log=2, start=15, end=end, records=[], reports={}))
    assert image.left == frozenset()


@pytest.mark.parametrize(
    ("fact", "reported"),
    [
        (DOWN, False),
        (DisksSeen(8000, 1, (ONLINE, FAILED)), True),
    ],
    ids=["silent", "answers"],
)
def test_one_that_was_replaced_before_it_registered_is_reported_only_while_it_answers(
    fact: DisksSeen | DisksUnreachable, *, reported: bool
) -> None:
    """It failed in ZooKeeper mode, and a broker with another id replaced it before the copy."""
    image = observe(
        ClusterImage(zookeeper=ZooKeeperImage(seen_ms=5000, notified={1: 4000})), [fact]
    )
    copied = replace(image[0], migration_state=HYBRID.migration_state, provenance=HYBRID.provenance)
    assert is_reported(after(copied, registration(2), registration(4))) is reported


def test_before_the_copy_a_broker_that_never_registered_is_reported() -> None:
    image, _ = observe(ClusterImage(), [DisksSeen(6000, 1, (ONLINE, FAILED)), DOWN])
    assert is_reported(image)

"""What disks say: directories that go and come, what was cut off, what was lost."""

import pytest

from migration.observed.facts import (
    CutOffEnd,
    DiskFact,
    DisksSeen,
    DisksUnreachable,
    FutureSeen,
    LogDirSeen,
    OffsetsFell,
    ReplicasBack,
    ReplicasCutOff,
    ReplicaSeen,
)
from migration.observed.log_dirs import NAMED_MAX, DisksImage, observe


def log_dir(path: str = "/d0", error: int = 0, *, readable: bool | None = None) -> LogDirSeen:
    return LogDirSeen(path, error, 100, 50, 3, 30, 0, 0, None, readable)


def observed(*facts: DiskFact, image: DisksImage | None = None) -> tuple[DisksImage, list[str]]:
    image = image or DisksImage()
    kinds = []
    for fact in facts:
        image, events = observe(image, fact)
        kinds += [f"{event.kind} {event.fields.get('path', '')}".strip() for event in events]
    return image, kinds


def test_a_directory_goes_offline_and_comes_back() -> None:
    """KIP-113, "Create DescribeLogDirsResponse": an error of the directory."""
    _, kinds = observed(
        DisksSeen(1, 1, (log_dir(), log_dir("/d1"))),
        DisksSeen(2, 1, (log_dir(error=56), log_dir("/d1"))),
        DisksSeen(3, 1, (log_dir(error=56), log_dir("/d1"))),
        DisksSeen(4, 1, (log_dir(), log_dir("/d1"))),
    )
    assert kinds == ["log_dir_offline /d0", "log_dir_online /d0"]


def test_directories_vanish_and_appear() -> None:
    _, kinds = observed(DisksSeen(1, 1, (log_dir(),)), DisksSeen(2, 1, (log_dir("/d1"),)))
    assert kinds == ["log_dir_appeared /d1", "log_dir_vanished /d0"]


EMPTY = log_dir("/d1")._replace(directory_id="x", replicas=0, bytes=0)
REMOVED = DisksSeen(20_000, 1, (log_dir(),))
UNREACHABLE = DisksUnreachable(15_000, 1, "refused", ())


@pytest.mark.parametrize(
    ("facts", "is_empty"),
    [
        ([], True),
        ([REMOVED], True),
        ([REMOVED, DisksSeen(30_000, 1, (log_dir()._replace(replicas=9),))], True),
        ([DisksUnreachable(15_000, 1, "refused", ()), REMOVED._replace(seen_ms=999_000)], True),
        ([DisksSeen(20_000, 1, (log_dir(), EMPTY._replace(error=56)))], False),
        ([DisksSeen(20_000, 1, (log_dir(), EMPTY._replace(replicas=1)))], False),
        ([DisksSeen(20_000, 1, (log_dir(), EMPTY._replace(futures=1)))], False),
        # A replica may have come into it since its last answer, and may have been recreated.
        ([DisksSeen(20_000, 1, (log_dir()._replace(replicas=4),))], False),
        ([REMOVED._replace(seen_ms=61_001)], False),
        ([DisksUnreachable(61_001, 1, "refused", ()), REMOVED._replace(seen_ms=70_000)], False),
    ],
)
def test_a_directory_without_a_replica_at_its_last_answer(
    facts: list[DiskFact], *, is_empty: bool
) -> None:
    image, _ = observed(DisksSeen(1000, 1, (log_dir(), EMPTY)), *facts)
    assert (image.brokers[1].empty == {"x"}) is is_empty


def test_a_broker_that_is_down_keeps_its_directories_as_they_were_told() -> None:
    image, kinds = observed(
        DisksSeen(1, 1, (log_dir(), log_dir("/d1", 56))),
        DisksUnreachable(2, 1, "refused", ()),
        DisksUnreachable(3, 1, "timed out", ()),
    )
    broker = image.brokers[1]
    assert kinds == ["log_dir_offline /d1", "disks_unreachable"]
    assert [each.error for each in broker.log_dirs] == [0, 56]
    assert (broker.unreachable, broker.unreachable_since_ms) == ("timed out", 2)


def test_a_look_on_the_host_finds_what_broke_and_what_was_mended() -> None:
    image, kinds = observed(
        DisksSeen(1, 1, (log_dir(), log_dir("/d1", 56))),
        DisksUnreachable(2, 1, "refused", (log_dir(readable=False), log_dir("/d1", readable=True))),
    )
    assert kinds == [
        "log_dir_offline /d1",
        "disks_unreachable",
        "log_dir_offline /d0",
        "log_dir_online /d1",
    ]
    _, kinds = observed(DisksSeen(9, 1, (log_dir(), log_dir("/d1"))), image=image)
    assert kinds == ["disks_answer_again", "log_dir_online /d0"]


@pytest.mark.parametrize(("was", "is_now"), [(True, None), (None, None), (False, False)])
def test_a_directory_that_is_no_longer_read_is_not_known_to_be_readable(
    *, was: bool | None, is_now: bool | None
) -> None:
    image, _ = observed(
        DisksUnreachable(1, 1, "refused", (log_dir(readable=was),)),
        DisksUnreachable(2, 1, "refused", ()),
    )
    assert image.brokers[1].log_dirs[0].readable is is_now


def test_what_a_look_on_the_host_shows_of_an_id_is_what_counts() -> None:
    with_id = log_dir(readable=True)._replace(directory_id="a")

    def id_then(now: LogDirSeen) -> str | None:
        image, _ = observed(DisksSeen(1, 1, (with_id,)), DisksUnreachable(2, 1, "refused", (now,)))
        return image.brokers[1].log_dirs[0].directory_id

    assert id_then(log_dir(readable=True)) is None
    assert id_then(log_dir(readable=False)) == "a"
    assert id_then(log_dir(readable=None)) == "a"


def test_the_fault_of_a_file_begins_and_ends_while_the_broker_is_down() -> None:
    good = log_dir(readable=True)._replace(version=0)
    bad = good._replace(trouble="/d0: bad", version=1)
    for was, now in ((good, bad), (bad, good)):
        down = DisksUnreachable(2, 1, "refused", (now,))
        image, _ = observed(DisksSeen(1, 1, (was,)), down, DisksUnreachable(3, 1, "refused", ()))
        found = image.brokers[1].log_dirs[0]
        assert (found.trouble, found.version) == (now.trouble, now.version)


def replicas(count: int) -> tuple[ReplicaSeen, ...]:
    return tuple(ReplicaSeen("t", number, 10, None, 1 + number % 2) for number in range(count))


def test_what_was_cut_off_is_counted_and_the_sole_replicas_come_first() -> None:
    many = NAMED_MAX + 50
    image, _ = observed(ReplicasCutOff(5, 1, "/d0", replicas(many)))
    cut_off = image.brokers[1].cut_off["/d0"]
    assert (cut_off.replicas, cut_off.sole, cut_off.bytes) == (many, many // 2, many * 10)
    assert len(cut_off.named) == NAMED_MAX
    assert cut_off.sole_names() == tuple(f"t-{number}" for number in range(0, many, 2))


@pytest.mark.parametrize(
    ("why", "kind"),
    [
        (CutOffEnd.READABLE, "replicas_reachable_again"),
        (CutOffEnd.EMPTY, "replicas_not_back"),
        (CutOffEnd.RECREATED, "replicas_given_up"),
        (CutOffEnd.ELSEWHERE, "replicas_elsewhere"),
        (CutOffEnd.NOT_HOSTED, "replicas_not_hosted"),
    ],
)
@pytest.mark.parametrize("error", [0, 56])
def test_why_replicas_are_no_longer_cut_off(why: CutOffEnd, kind: str, error: int) -> None:
    cut_off = ReplicasCutOff(5, 1, "/d0", replicas(2))
    back = ReplicasBack(7, 1, "/d0", why)
    image, kinds = observed(cut_off, DisksSeen(6, 1, (log_dir(error=error),)), back)
    assert kinds[-1] == f"{kind} /d0"
    assert image.brokers[1].cut_off == {}


@pytest.mark.parametrize(
    ("facts", "is_kept"),
    [
        ([REMOVED], True),
        ([REMOVED, REMOVED._replace(seen_ms=30_000)], True),
        ([REMOVED, UNREACHABLE], True),
        # Another disk at its path.
        ([REMOVED, DisksSeen(30_000, 1, (log_dir(), EMPTY))], True),
        ([REMOVED, DisksSeen(30_000, 1, (log_dir(), EMPTY._replace(replicas=1)))], True),
        ([REMOVED, DisksSeen(30_000, 1, (log_dir(), log_dir("/d1", 56)))], True),
        ([DisksSeen(20_000, 1, (log_dir(), log_dir("/d1", 56)))], False),
    ],
)
def test_what_was_recreated_without_its_directory(facts: list[DiskFact], *, is_kept: bool) -> None:
    back = ReplicasBack(25_000, 1, "/d1", CutOffEnd.RECREATED, replicas(3))
    listed = DisksSeen(1000, 1, (log_dir(), log_dir("/d1")))
    image, kinds = observed(listed, facts[0], back, back, *facts[1:])
    assert kinds.count("replicas_given_up /d1") == is_kept
    found = image.brokers[1].recreated
    assert {path: (e.since_ms, e.replicas, e.sole) for path, e in found.items()} == (
        {"/d1": (25_000, 3, 2)} if is_kept else {}
    )
    image, _ = observed(DisksSeen(40_000, 1, (log_dir(), log_dir("/d1"))), image=image)
    assert not image.brokers[1].recreated


@pytest.mark.parametrize(
    ("back_as", "is_kept"),
    [
        (log_dir("/d1b")._replace(directory_id="x"), False),
        (log_dir("/d1b")._replace(directory_id="x", replicas=1), True),
        (log_dir("/d1b", 56)._replace(directory_id="x"), True),
        (log_dir("/d1b")._replace(directory_id="y"), True),
        (log_dir("/d1b"), True),
    ],
)
@pytest.mark.parametrize("id_", ["x", None])
def test_a_missing_directory_is_known_by_its_id_at_another_path(
    back_as: LogDirSeen, id_: str | None, *, is_kept: bool
) -> None:
    """KIP-858, "Broker lifecycle management": the id stays when the path changes."""
    back = ReplicasBack(25_000, 1, "/d1", CutOffEnd.RECREATED, replicas(3), id_)
    found = DisksSeen(30_000, 1, (log_dir(), back_as))
    image, _ = observed(DisksSeen(1000, 1, (log_dir(), log_dir("/d1"))), REMOVED, back, found)
    assert bool(image.brokers[1].recreated) is (is_kept or id_ is None)


def test_what_an_earlier_release_recorded_without_a_reason() -> None:
    cut_off = ReplicasCutOff(5, 1, "/d0", replicas(2))
    back = ReplicasBack(7, 1, "/d0")
    image, kinds = observed(cut_off, DisksSeen(6, 1, (log_dir(),)), back)
    assert kinds[-1] == "replicas_reachable_again /d0"
    assert image.brokers[1].cut_off == {}
    _, kinds = observed(cut_off, DisksSeen(6, 1, (log_dir(error=56),)), back)
    assert kinds[-1] == "replicas_given_up /d0"
    assert observed(back)[1] == []


def test_a_loss_is_told_with_its_offsets() -> None:
    image, (event,) = observe(DisksImage(), OffsetsFell(9, "t", 5, 1, 100, 8, 0, 40))
    assert event.fields == {
        "topic": "t",
        "partition": 5,
        "first_lost_offset": 40,
        "last_lost_offset": 99,
        "start_offset_now": 0,
        "end_offset_seen_ms": 8,
    }
    assert [(loss.topic, loss.was_end, loss.now_end) for loss in image.losses] == [("t", 100, 40)]


def test_many_losses_of_one_broker_hide_none_of_another() -> None:
    """Each broker's hazard, and its page, stays."""
    first = OffsetsFell(9, "t", 0, 1, 100, 8, 0, 40)
    many = (OffsetsFell(9, "t", number, 2, 100, 8, 0, 40) for number in range(1, 2 * NAMED_MAX))
    image, _ = observed(first, *many)
    assert len(image.losses) == NAMED_MAX
    assert {loss.broker for loss in image.losses} == {1, 2}


def test_an_incident_that_is_delivered_again_is_the_same_one() -> None:
    """A kill between the append and the emptying of the outbox repeats its facts."""
    cut_off = ReplicasCutOff(5, 1, "/d0", replicas(2))
    fell = OffsetsFell(9, "t", 5, 1, 100, 8, 0, 40)
    once, kinds = observed(cut_off, fell)
    assert observed(cut_off, fell, cut_off, fell) == (once, kinds)
    again, kinds = observed(cut_off, fell, cut_off._replace(seen_ms=6), fell._replace(seen_ms=10))
    assert [kind.split()[0] for kind in kinds] == ["replicas_cut_off", "records_lost"] * 2
    assert len(again.losses) == 2


def moving(at_s: int, *futures: tuple[int, int], error: int = 0) -> DisksSeen:
    """What broker 1 answers; each future replica has a lag and a size."""
    seen = tuple(FutureSeen("t", number, size, lag) for number, (lag, size) in enumerate(futures))
    target = log_dir("/d1")._replace(futures=len(seen), moving=seen)
    return DisksSeen(at_s * 1_000, 1, (log_dir(error=error), target))


@pytest.mark.parametrize(
    ("facts", "stuck"),
    [
        ([], False),
        ([moving(10, (50, 1)), moving(20, (50, 1))], False),
        ([moving(10, (50, 1)), moving(20, (50, 1)), moving(30, (50, 1))], True),
        ([moving(10, (50, 1)), moving(20, (40, 2)), moving(30, (40, 2))], False),
        ([moving(10, (50, 1)), moving(20, (40, 2)), moving(30, (30, 3))], False),
        # Caught up and not promoted, also while records are produced.
        ([moving(10, (0, 1)), moving(20, (0, 1)), moving(30, (0, 1))], True),
        ([moving(10, (0, 1)), moving(20, (0, 2)), moving(30, (0, 3))], True),
        # It copies nothing, while records are produced.
        ([moving(10, (50, 1)), moving(20, (60, 1)), moving(30, (70, 1))], True),
        # A broker that has just started is polled every second.
        ([moving(second, (50, 1)) for second in range(10, 20)], False),
        ([moving(second, (50, 1)) for second in range(10, 26)], True),
        # What was not observed proves nothing.
        ([moving(10, (50, 1)), moving(20, (50, 1)), moving(81, (50, 1))], False),
        ([moving(10, (50, 1)), UNREACHABLE, moving(20, (50, 1)), moving(30, (50, 1))], False),
        # It remains known while the broker does not answer, and ends with the move.
        ([*(moving(second, (5, 1)) for second in (10, 20, 30)), UNREACHABLE], True),
        ([*(moving(second, (5, 1)) for second in (10, 20, 30)), moving(40)], False),
        # It waits until another one is copied.
        ([moving(second, (50, 0), (500 - second, second)) for second in (10, 20, 30)], False),
        ([moving(10, (9, 0), (5, 1)), moving(20, (9, 0)), moving(30, (9, 0))], False),
        # An empty one, which has nothing to catch up with, waits for its turn, too.
        ([moving(second, (0, 0), (500 - second, second)) for second in (10, 20, 30)], False),
        ([moving(second, (0, 0)) for second in (10, 20, 30)], True),
        ([moving(second, (0, 5), (500 - second, second)) for second in (10, 20, 30)], True),
        ([moving(second, (9, 0), (5, 1)) for second in (10, 20, 30)], True),
    ],
)
def test_a_move_is_stuck_after_three_polls_without_progress(
    facts: list[DiskFact], *, stuck: bool
) -> None:
    """KIP-113, "Create DescribeLogDirsResponse": a future replica's lag and size."""
    image, _ = observed(moving(0), *facts)
    assert bool(image.brokers[1].stuck) is stuck


def test_a_move_from_a_failed_directory_is_none() -> None:
    """KIP-113, "Complete replica data movement": it stops with its source (KAFKA-16082)."""
    image, _ = observed(moving(0, (-1, 1), (5, 1)))
    assert image.brokers[1].futures == 2
    image, _ = observed(moving(10, (-1, 1), (5, 1), error=56), image=image)
    assert image.brokers[1].futures == 1

"""What the screens say: at every width and height, and always what is being waited for."""

import io
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console, RenderableType

from migration.assessment.waits import nothing_seen
from migration.image.summary import BrokerSummary, Mode, Phase, UnfencedEarly
from migration.metadata.events import Event, Source, in_time_order
from migration.metadata.replica_state import ReplicaState
from migration.observed.facts import LogDirSeen
from migration.observed.log_dirs import BrokerDisks, DisksImage
from migration.observed.source_status import NO_STATUS
from migration.observed.zookeeper import ZooKeeperImage
from orchestrator.output.event_text import sentence
from orchestrator.output.formatting import pairs, quoted, short_age, short_rate
from orchestrator.run.reader import ClusterRead
from orchestrator.views.terminal.closing import closing, event_line
from orchestrator.views.terminal.lines import changes
from orchestrator.views.terminal.live import picture
from orchestrator.views.terminal.table import LETTERS, bar, cells, save_svg
from tests.orchestrator.views.terminal.scenes import SHOWN, WALK
from tests.scenes.night import (
    EVENTS,
    FRESH,
    HYBRID,
    NOW_MS,
    WATCHED,
    cluster,
    held,
    kraft,
    migrating,
    progress,
    replicas,
)
from tests.support.assessing import assessed, entry
from tests.support.examples import examples


def drawn(renderable: RenderableType, width: int = 80) -> list[str]:
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(renderable)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def screen(one: ClusterRead, width: int = 80, height: int | None = None) -> list[str]:
    return drawn(picture(assessed(one, NOW_MS), width, height), width)


def test_the_screen_of_the_night() -> None:
    assert [line.rstrip() for line in screen(HYBRID)] == [
        "prod  phase hybrid  data 400ms old",
        "zookeeper > pre-migration > copying > [hybrid] > dual-write > finalized",
        "metadata offset 1439  active controller 3000  epoch 7  topics 4  partitions 32",
        "",
        "id mode      state          hold pending  rate ETA last replicas",
        " 1 kraft     unfenced       -       0/32     -   -    - AAAAAAAAAAAAAAAAAAAAAAAA",
        " 2 migrating unfenced       -      32/32     -   -    - MMMMMMMMMMMMMMMMMMMMMMMM",
        " 3 kraft     unfenced early HELD   12/64 2.0/s  9s   4s AAAAAAAAAAAAAAAAAAMMMMUU",
        "A assigned  M migrating  U unassigned  O offline  L lost  R reserved",
        "unfenced early: broker 1 for 70 ms",
        "latest events, UTC",
        "14:11:50 the phase is hybrid, after copying",
        "14:12:20 broker 1 registered in kraft mode, with 2 log directories and 32 repli…",
        "14:12:20 broker 1 is held: 32 replicas have no known directory",
        "14:12:20 broker 1 serves while 32 of its replicas have no known directory (unfe…",
        "14:12:20 broker 1 is complete: every replica has a directory",
        "",
        "1 hazard (unfenced_early): kraftgate hazards",
        "now: Waiting for broker 3: 12 of 64 replicas have no directory, about 9 s",
        "  why: broker 3 is held: 12 of 64 replicas without a directory (8 migrating, 4",
        "unassigned), last progress 4 s ago",
        "also: broker 2 is still in ZooKeeper mode: restart it in KRaft mode, once",
        "nothing is pending for broker 3",
    ]


def test_with_room_an_estimate_stands_with_its_interval() -> None:
    (row,) = (line for line in screen(HYBRID, 110) if line.startswith(" 3 kraft "))
    assert " 2.0/s 9s (1s-1m11s)   4s " in row


def test_what_a_source_does_not_see_stands_above_what_is_waited_for() -> None:
    lines = screen(replace(WATCHED, zookeeper=replace(FRESH, limits=("topics are polled",))))
    limit = next(at for at, line in enumerate(lines) if line.startswith("LIMIT topics are polled"))
    assert lines[limit + 1].startswith("now: ")


def test_jmx_that_left_the_configuration_is_not_waited_for() -> None:
    read = replace(WATCHED, jmx=replace(FRESH, last_reply_ms=None))
    without = assessed(read, NOW_MS, of=entry("controllers", "zookeeper", "brokers"))
    assert "JMX no answer yet" in " ".join(screen(read))
    assert "JMX" not in " ".join(drawn(picture(without, 80, None)))


def test_nothing_known_is_a_screen_too() -> None:
    lines = screen(ClusterRead(summary=nothing_seen("prod"), events=(), status=NO_STATUS))
    assert lines[0].startswith("prod  phase unknown  no data yet")
    assert lines[1].startswith("zookeeper > pre-migration")
    assert "now:  WRONG  Start kraftgate run: nothing has been observed yet" in lines


def test_stale_data_is_marked() -> None:
    lines = screen(replace(HYBRID, status=replace(FRESH, last_reply_ms=NOW_MS - 42_000)))
    assert "STALE: data 42s old" in lines[0]
    assert any("WRONG  Restore a majority of the controllers" in line for line in lines)


def test_known_data_is_stale_until_a_controller_answers_after_a_restart() -> None:
    lines = screen(replace(HYBRID, status=replace(FRESH, last_reply_ms=None)))
    assert lines[0].rstrip() == "prod  phase hybrid  STALE: no answer yet"


def test_a_source_that_cannot_go_on_is_marked() -> None:
    lines = screen(replace(HYBRID, status=replace(FRESH, error="byte 9: damaged", finished=True)))
    assert lines[0].rstrip() == "prod  phase hybrid  SOURCE ERROR"
    assert "now:  WRONG  Repair the source: byte 9: damaged" in lines


def test_a_finalized_cluster_waits_for_nothing() -> None:
    done = ClusterRead(summary=cluster(Phase.FINALIZED, kraft(1)), events=EVENTS, status=FRESH)
    assert screen(done)[-1] == "now: Nothing to do: the migration is finalized"


def test_a_phase_off_the_usual_order_is_shown_alone() -> None:
    back = ClusterRead(summary=cluster(Phase.ROLLED_BACK), events=(), status=FRESH)
    assert screen(back)[1] == "[rolled-back]"


counts = st.integers(0, 2_000_000)
brokers = st.builds(
    lambda i, shape, fenced, a, m, u, o, early: shape(
        i,
        fenced=fenced,
        replicas=replicas(assigned=a, migrating=m, unassigned=u, offline=o),
        unfenced_early=UnfencedEarly(pending=m, duration_ms=None) if early else None,
        progress=progress((10_000, a or 1), (9_500, 1 + m % 7), (7_000, 3)),
    ),
    st.integers(0, 2**31 - 1),
    st.sampled_from([kraft, held, migrating]),
    st.booleans(),
    counts,
    counts,
    counts,
    counts,
    st.booleans(),
)
snapshots = st.builds(
    lambda phase, found, status: ClusterRead(
        summary=cluster(phase, *found, offset=2**40), events=EVENTS, status=status
    ),
    st.sampled_from(Phase),
    st.lists(brokers, max_size=30, unique_by=lambda b: b.id),
    st.sampled_from([FRESH, NO_STATUS, replace(FRESH, error="the log of another cluster")]),
)


@examples(60)
@given(snapshots, st.integers(60, 200))
def test_no_line_is_wider_than_the_screen(one: ClusterRead, width: int) -> None:
    lines = screen(one, width)
    assert all(cell_len(line) <= width for line in lines)
    assert sum(line.startswith("now: ") for line in lines) == 1


@pytest.mark.parametrize("width", [40, 44, 50, 60, 75])
def test_a_narrow_table_names_each_broker_and_its_hold(width: int) -> None:
    many = cluster(Phase.HYBRID, kraft(1), held(1003), migrating(2000000002))
    lines = screen(replace(HYBRID, summary=many), width)
    assert any(line.split()[0] == "1003" and "HELD" in line.split() for line in lines if line)
    assert any(line.startswith("2000000002 ") for line in lines)
    assert not any(line.startswith("\N{HORIZONTAL ELLIPSIS}") for line in lines)


@examples(60)
@given(snapshots, st.integers(76, 200), st.integers(8, 60))
def test_the_wait_is_on_the_screen_at_every_height(
    one: ClusterRead, width: int, height: int
) -> None:
    lines = screen(one, width, height)
    assert len(lines) <= height
    assert any(line.startswith("now: ") for line in lines)


def test_a_printed_command_is_one_line_however_long_its_path_is() -> None:
    path = f"/srv/{'kraftgate/' * 12}kraftgate.yaml"
    turn = "Approve: Finalize the migration"
    commands = (f"kraftgate approve finalize --config {path}",)
    execution = WALK.model_copy(update={"turn": turn, "commands": commands, "findings": ()})
    one = assessed(replace(HYBRID, execution=execution), NOW_MS)
    console = Console(width=80, file=io.StringIO(), color_system=None)
    console.print(picture(one, 80), crop=False)
    assert isinstance(console.file, io.StringIO)
    assert f"  run: kraftgate approve finalize --config {path}\n" in console.file.getvalue()
    assert all(cell_len(line) <= 80 for line in drawn(picture(one, 80, 24)))


def test_a_printed_code_line_of_a_step_is_not_broken() -> None:
    code = f"    kafka-storage.sh format --ignore-formatted -t {'x' * 22} -c server.properties"
    shown = SHOWN.model_copy(update={"shown": f"On its host:\n\n{code}\n"})
    one = assessed(replace(HYBRID, execution=shown), NOW_MS)
    console = Console(width=80, file=io.StringIO(), color_system=None)
    console.print(picture(one, 80), crop=False)
    assert isinstance(console.file, io.StringIO)
    assert f"{code}\n" in console.file.getvalue()
    assert all(cell_len(line) <= 80 for line in drawn(picture(one, 80, 24)))


@pytest.mark.parametrize(("entered_ms", "shown"), [(NOW_MS - 40_000, True), (NOW_MS, False)])
def test_an_unexpected_change_is_shown_until_its_checkpoint_has_passed(
    entered_ms: int, shown: bool
) -> None:
    current = WALK.places[0].model_copy(update={"id": WALK.checkpoint, "entered_ms": entered_ms})
    execution = WALK.model_copy(update={"places": (*WALK.places, current)})
    lines = screen(replace(HYBRID, execution=execution), 200)
    assert any(line.startswith("unexpected at ") for line in lines) == shown


def test_brokers_in_trouble_are_shown_when_not_all_fit() -> None:
    many = [kraft(i) for i in range(1, 100)]
    one = ClusterRead(summary=cluster(Phase.HYBRID, *many, held(100)), events=EVENTS, status=FRESH)
    lines = screen(one, 80, 24)
    assert len(lines) <= 24
    assert any(" HELD " in line for line in lines)
    assert any(line.startswith("and ") and line.endswith("none more urgent") for line in lines)


replica_counts = st.fixed_dictionaries({state: st.integers(0, 10**6) for state in ReplicaState})


@given(replica_counts, st.integers(len(ReplicaState), 100))
def test_a_bar_is_full_and_shows_every_state_that_occurs(
    found: dict[ReplicaState, int], width: int
) -> None:
    shares = cells(found, width)
    present = {state for state, count in found.items() if count}
    assert set(shares) == present
    assert sum(shares.values()) == (width if present else 0)
    letters = {LETTERS[state][0] for state in present}
    assert not present or set(bar(found, width).plain) == letters


@given(st.integers(-10, 10**15))
def test_an_age_takes_six_cells(age_ms: int) -> None:
    assert len(short_age(age_ms)) <= 6


@given(st.none() | st.floats(0, 1e12))
def test_a_rate_takes_six_cells(rate: float | None) -> None:
    assert len(short_rate(rate)) <= 6


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (True, "true"),
        (7, "7"),
        ("plain", "plain"),
        ("two words", '"two words"'),
        ("a=b", '"a=b"'),
        ("", '""'),
        (["x", "y"], "x,y"),
        ({"a": 1}, '{"a":1}'),
    ],
)
def test_a_value_is_quoted_when_it_must_be(value: object, text: str) -> None:
    assert quoted(value) == text
    assert pairs({"key": value}) == f"key={text}"


def lines_of(before: ClusterRead | None, after: ClusterRead) -> list[str]:
    was = None if before is None else assessed(before, NOW_MS)
    lines = changes(was, assessed(after, NOW_MS))
    head = "2026-09-21T14:13:20.000Z cluster=prod "
    assert all(line.startswith(head) for line in lines)
    return [line.removeprefix(head) for line in lines]


def with_brokers(*found: BrokerSummary, phase: Phase = Phase.HYBRID) -> ClusterRead:
    return ClusterRead(summary=cluster(phase, *found), events=(), status=FRESH)


def test_unfenced_early_is_in_the_present_only_while_it_lasts() -> None:
    early = UnfencedEarly(pending=32, duration_ms=79)
    shown = "\n".join(screen(with_brokers(kraft(1, unfenced_early=early)), 120))
    assert "unfenced!" not in shown
    assert "unfenced early: broker 1 for 79 ms" in shown
    (line,) = lines_of(with_brokers(held(1)), with_brokers(kraft(1, unfenced_early=early)))[:1]
    assert "unfenced_early=false" in line


def zookeeper_broker(**changes: object) -> ClusterRead:
    """One broker that only ZooKeeper knows, before the metadata log has a topic."""
    one = kraft(1, mode=Mode.ZOOKEEPER, epoch=None, replicas=Counter(), **changes)
    summary = cluster(Phase.ZOOKEEPER, one)
    return replace(HYBRID, summary=replace(summary, topics=0, partitions=0))


def test_a_zookeeper_broker_has_the_replicas_that_its_disks_have() -> None:
    at = LogDirSeen("/d", 0, None, None, 99, 0, 0, 0, None, None)
    disks = DisksImage(brokers={1: BrokerDisks(id=1, answered_ms=NOW_MS, log_dirs=(at,))})
    one = zookeeper_broker()
    one = replace(one, summary=replace(one.summary, disks=disks))
    shown = "\n".join(screen(one, 120))
    assert "?/99" in shown
    assert "99 on disk" in shown
    (line,) = [each for each in lines_of(HYBRID, one) if "change=broker broker=1" in each]
    assert "pending=- total=99 migrating=-" in line


def test_a_broker_whose_replicas_no_source_counts_is_unknown() -> None:
    shown = "\n".join(screen(zookeeper_broker(), 120))
    assert "0/0" not in shown
    assert "no replicas" not in shown
    assert "unknown" in shown


@pytest.mark.parametrize(
    ("phase", "said"),
    [(Phase.HYBRID, "ZooKeeper UNREACHABLE since"), (Phase.FINALIZED, "not in use")],
)
def test_zookeeper_that_is_switched_off_after_the_end_is_not_missed(
    phase: Phase, said: str
) -> None:
    blind = ZooKeeperImage(seen_ms=NOW_MS - 90_000, blind_since_ms=NOW_MS - 60_000)
    one = replace(HYBRID, summary=replace(HYBRID.summary, phase=phase, zookeeper=blind),
                  zookeeper=replace(FRESH, last_reply_ms=NOW_MS - 60_000))  # fmt: skip
    shown = "\n".join(screen(one, 120))
    assert said in shown
    assert ("UNREACHABLE" in shown) is (phase is Phase.HYBRID)


def test_events_of_several_sources_are_in_the_order_of_their_cluster_time() -> None:
    """ZooKeeper reported the claim after the log's records were read, and it was before them."""
    claim = Event(offset=None, timestamp_ms=NOW_MS - 95_000, kind="zk_controller_changed",
                  source=Source.ZOOKEEPER, seen_ms=NOW_MS)  # fmt: skip
    both = replace(HYBRID, events=(*EVENTS[:3], (9, claim)))
    shown = [line[9:].rstrip() for line in screen(both, 120) if line.startswith("14:1")]
    in_order = [claim, *(each for _, each in EVENTS[:3])]
    assert shown == [sentence(each) for each in in_order]
    lines = lines_of(replace(HYBRID, events=()), both)
    kinds = [line.split("kind=")[1].split()[0] for line in lines[:4]]
    assert kinds == [each.kind for each in in_order]


def test_the_log_s_own_order_stays_where_a_leader_s_clock_is_behind() -> None:
    later = Event(offset=500, timestamp_ms=NOW_MS - 99_000, kind="controller_elected")
    events = [event for _, event in EVENTS[:1]] + [later]
    assert in_time_order(events) == events


def test_the_deletion_of_a_znode_stays_before_its_next_write() -> None:
    """Kraftgate's clock has the time of a deletion, ZooKeeper's that of a write."""
    events = [
        Event(offset=None, timestamp_ms=at_ms, kind=kind, source=Source.ZOOKEEPER, seen_ms=NOW_MS)
        for kind, at_ms in (("zk_controller_gone", None), ("zk_controller_changed", NOW_MS - 155))
    ]
    assert in_time_order(events) == events


def test_no_change_makes_no_line() -> None:
    assert lines_of(HYBRID, HYBRID) == []


def test_only_a_controller_that_leads_makes_a_line() -> None:
    def elected(leader: int | None, epoch: int) -> ClusterRead:
        return replace(HYBRID, status=replace(FRESH, active_controller=leader, leader_epoch=epoch))

    assert not any("change=controller" in each for each in lines_of(HYBRID, elected(None, 8)))
    (line,) = (
        each for each in lines_of(elected(None, 8), elected(3001, 9)) if "=controller" in each
    )
    assert line.endswith("change=controller controller=3001 epoch=9")


def test_ages_make_no_line() -> None:
    before = assessed(HYBRID, NOW_MS)
    later = assessed(HYBRID, NOW_MS + 5_000)
    assert before.assessment.waits != later.assessment.waits
    assert changes(before, later) == []


def test_each_change_is_one_line_with_stable_fields() -> None:
    assert lines_of(with_brokers(held(3)), with_brokers(kraft(3), phase=Phase.DUAL_WRITE)) == [
        "change=phase phase=dual-write was=hybrid offset=1439",
        (
            "change=broker broker=3 mode=kraft fenced=false held=false pending=0 total=32"
            " migrating=0 unassigned=0 assigned=32 offline=0 lost=0 reserved=0 rate=-"
            " eta_seconds=- unfenced_early=false eta_low_seconds=- eta_high_seconds=- offset=1439"
        ),
        "change=hazard hazard=unfenced_early broker=3 over=true",
        (
            'change=next need=your_turn broker=- text="Finalize the migration: restart the'
            ' controllers without zookeeper.metadata.migration.enable" why=""'
            ' command="kraftgate runbook show zk-to-kraft-jbod"'
        ),
        (
            'change=waiting reason=finalize broker=- more=0 text="the migration to be finalized:'
            ' restart the controllers without zookeeper.metadata.migration.enable"'
        ),
    ]


def test_a_broker_that_is_gone_is_said() -> None:
    lines = lines_of(with_brokers(kraft(1), migrating(2)), with_brokers(migrating(2)))
    assert lines == ["change=broker broker=1 gone=true offset=1439"]


def test_each_event_makes_one_line() -> None:
    lines = lines_of(replace(HYBRID, events=EVENTS[:4]), HYBRID)
    assert lines == [
        ("change=event at=2026-09-21T14:12:20.140Z offset=680 kind=assignments_complete broker=1")
    ]


def test_the_closing_table_tells_how_long_each_was_held() -> None:
    lines = [line.rstrip() for line in drawn(closing(HYBRID.summary), 110)]
    assert lines == [
        (
            "prod  phase hybrid  metadata offset 1439  topics 4  partitions 32"
            "  at 2026-09-21 14:13:19 UTC  times in UTC"
        ),
        "",
        ("id registered        unfenced          complete          unfenced early       held for"),
        (" 1 14:12:20.000 @645 14:12:20.070 @648 14:12:20.140 @680 32 pending for 70 ms 140 ms"),
        " 2 14:12:20.000 @645 14:12:20.070 @648 -                 no                   -",
        (
            " 3 14:12:50.000 @645 14:12:50.100 @648 -                 64 pending, still    "
            "still held"
        ),
    ]
    assert event_line(EVENTS[4][1]) == (
        "2026-09-21 14:12:20 UTC  @680  broker 1 is complete: every replica has a directory"
    )


def test_the_screen_can_be_kept_as_a_picture(tmp_path: Path) -> None:
    file = tmp_path / "run.svg"
    save_svg(picture(assessed(HYBRID, NOW_MS), 100), file)
    assert "HELD" in file.read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["run.svg"]


def test_two_failed_directories_of_a_broker_are_printed_once() -> None:
    def failed(*paths: str) -> ClusterRead:
        dirs = [LogDirSeen(f"/d{n}", 0, None, None, 0, 0, 0, 0, None, None) for n in range(3)]
        seen = [each._replace(error=56) if each.path in paths else each for each in dirs]
        disks = DisksImage(brokers={1: BrokerDisks(id=1, answered_ms=1, log_dirs=tuple(seen))})
        summary = replace(cluster(Phase.HYBRID, migrating(1)), disks=disks)
        return replace(HYBRID, summary=summary)

    one, two = assessed(failed("/d0"), NOW_MS), assessed(failed("/d0", "/d1"), NOW_MS)
    printed = [each for each in changes(one, two) if "hazard=restart_loses_replicas" in each]
    assert [path in line for path, line in zip(("/d0", "/d1"), printed, strict=True)] == [True] * 2
    assert changes(two, assessed(failed("/d0", "/d1"), NOW_MS + 250)) == []

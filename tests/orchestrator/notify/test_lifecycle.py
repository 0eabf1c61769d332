"""When an alert is active, tick by tick: pending first, resolved only when that is known."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration.assessment.alerts import NO_ALERTS, AlertStates, advance
from migration.assessment.alerts.lifecycle import GAP_MS_MAX
from migration.assessment.alerts.phases import COPY_MS, HYBRID_MS, UNREGISTERED_MS
from migration.assessment.conditions import DataSource, Execution, Finding, Verdict, View
from migration.assessment.currency import CURRENT
from migration.assessment.hazards import HazardKind, hazards
from migration.image.summary import Mode, Phase, Progress
from migration.observed.log_dirs import Loss
from migration.values.severity import Severity
from orchestrator.run.alert_file import WRITE_EVERY_MS, AlertFile, read
from tests.migration.assessment.conditions.views import (
    NOW,
    STALL_MS,
    all_disks,
    broker,
    counts,
    directory,
    disks,
    seen,
    stale,
    view,
    views,
    zookeeper,
)
from tests.orchestrator.notify.scenes import (
    MINUTE_MS,
    SOURCES,
    STALE,
    hazard,
    looked,
    names,
    only,
    scene,
    with_hazards,
)

STUCK = with_hazards(hazard())
"""Its rule's time is a minute."""


def held(**changes: object) -> View:
    one = broker(3, held=True, fenced=True, replicas=counts(assigned=20, unassigned=12))
    return replace(seen(replace(one, **changes)), hazards=())  # type: ignore[arg-type]


def at(of: View, *, every_ms: int, until_ms: int) -> AlertStates:
    return looked(*(scene(of, at_ms=ms) for ms in range(0, until_ms + 1, every_ms)))


def test_it_is_pending_for_its_rules_time() -> None:
    assert names(at(STUCK, every_ms=1000, until_ms=MINUTE_MS - 1000)) == []
    found = only(at(STUCK, every_ms=1000, until_ms=MINUTE_MS))
    assert (found.found_ms, found.active_since_ms, found.is_known) == (NOW, NOW + MINUTE_MS, True)


@pytest.mark.parametrize(
    "kind",
    [
        HazardKind.RESTART_LOSES_REPLICAS,
        HazardKind.DIRECTORY_FAILED_UNDER_PENDING,
        HazardKind.DIRECTORY_IDS,
        HazardKind.METADATA_LOST,
        HazardKind.ZOOKEEPER_WIPED,
    ],
)
def test_an_alert_that_blocks_a_restart_is_active_at_once(kind: HazardKind) -> None:
    """A service manager restarts a halted broker within seconds."""
    found = only(looked(scene(with_hazards(hazard(kind)))))
    assert (found.alert.name, found.alert.severity, found.active_since_ms) == (
        "KraftgateHazardBlocksRestart",
        Severity.CRITICAL,
        NOW,
    )


def test_what_comes_and_goes_while_it_is_pending_begins_anew() -> None:
    on, off = scene(STUCK, at_ms=30_000), scene(at_ms=40_000)
    found = looked(scene(STUCK), on, off, scene(STUCK, at_ms=60_000))
    assert only(found).found_ms == NOW + 60_000


@pytest.mark.parametrize("gap_ms", [GAP_MS_MAX + 1, -1])
def test_what_nobody_looked_at_does_not_count_as_time(gap_ms: int) -> None:
    found = looked(scene(STUCK), scene(STUCK, at_ms=gap_ms))
    assert only(found).found_ms == NOW + gap_ms
    began = at(STUCK, every_ms=1000, until_ms=MINUTE_MS)
    later = advance(began, scene(STUCK, at_ms=MINUTE_MS + gap_ms))
    assert only(later).active_since_ms == NOW + MINUTE_MS, "an active alert stays active"


def test_a_hazard_is_over_only_when_everything_is_known_that_would_show_it() -> None:
    began = at(STUCK, every_ms=1000, until_ms=MINUTE_MS)
    for source in SOURCES:
        unseen = scene(stale(source), at_ms=MINUTE_MS)
        (left,) = advance(began, unseen).active()
        assert (left.active_since_ms, left.is_known) == (NOW + MINUTE_MS, False)
    assert advance(began, scene(at_ms=MINUTE_MS)).all == {}


def test_jmx_delays_the_end_only_of_hazards_that_it_shows() -> None:
    silent = replace(
        stale(DataSource.JMX), configured=frozenset({*SOURCES, DataSource.JMX}), hazards=()
    )
    for kind, stays in (
        (HazardKind.RESTART_LOSES_REPLICAS, False),
        (HazardKind.JMX_CONTRADICTS, True),
        (HazardKind.ASSIGNMENT_QUEUE_FLAT, True),
    ):
        of = with_hazards(hazard(kind))
        began = at(of, every_ms=MINUTE_MS, until_ms=15 * MINUTE_MS)
        assert began.active()
        assert bool(advance(began, scene(silent, at_ms=15 * MINUTE_MS)).active()) is stays


def test_a_violated_checkpoint_is_over_only_when_its_conditions_are_known() -> None:
    """Also after a restart, when nothing is known before the sources answer."""

    def execution(verdict: Verdict, at_ms: int, checkpoint: str = "copied") -> View:
        found = Finding(condition="nothing_held", verdict=verdict, reason="broker 3 is held")
        violated = ("nothing_held",) if verdict is Verdict.VIOLATED else ()
        now = Execution(
            at_ms=NOW + at_ms, checkpoint=checkpoint, violated=violated, findings=(found,)
        )
        return scene(at_ms=at_ms, execution=now)

    found = looked(*(execution(Verdict.VIOLATED, each) for each in range(0, 120_001, 10_000)))
    assert names(found) == ["CheckpointViolated"]
    blind = advance(found, execution(Verdict.UNKNOWN, 130_000))
    assert [each.is_known for each in blind.active()] == [False]
    assert advance(blind, execution(Verdict.WAITING, 140_000)).all == {}
    assert advance(blind, execution(Verdict.UNKNOWN, 140_000, "soak")).all == {}


def test_what_is_found_again_after_it_was_not_known_goes_on() -> None:
    began = at(STUCK, every_ms=1000, until_ms=MINUTE_MS)
    blind = advance(began, scene(not_current=STALE, at_ms=MINUTE_MS + 1))
    again = advance(blind, scene(STUCK, at_ms=MINUTE_MS + 2))
    assert only(again).active_since_ms == NOW + MINUTE_MS
    assert only(again).is_known


@given(views(), views())
def test_nothing_is_over_while_nothing_is_known(before: View, after: View) -> None:
    """Whatever stood, and whatever was last read: stale data ends no alert but of sources."""
    stood = looked(scene(before, phase_began_ms=NOW - 10**9))
    stood = replace(
        stood, all={k: replace(each, active_since_ms=NOW) for k, each in stood.all.items()}
    )
    unseen = scene(after, not_current=STALE, at_ms=MINUTE_MS)
    left = {
        each.alert.name for key, each in stood.all.items() if key not in advance(stood, unseen).all
    }
    assert left <= {"KraftgateStreamStale"}


@given(views(), st.sets(st.sampled_from(SOURCES)))
def test_what_is_pending_is_not_known_to_stand(of: View, gone: set[DataSource]) -> None:
    found = looked(scene(of, not_current=dict.fromkeys(gone, "it is stale")))
    assert all(each.is_known for each in found.all.values())
    assert {each.alert.fingerprint for each in found.all.values()} == set(found.all)


def test_a_stall_counts_from_the_last_progress() -> None:
    """Slow is not stopped."""
    last = Progress(assigned=20, first_ms=NOW - 10**6, last_ms=NOW - STALL_MS)
    slow = held(registered_ms=NOW - 10**6, progress=last)
    assert names(looked(scene(slow))) == []
    assert names(looked(scene(slow, at_ms=1))) == ["AssignmentStalled"]
    assert names(looked(scene(slow, at_ms=2 * STALL_MS + 1))) == ["AssignmentStalled"] * 2


def test_a_stall_is_as_long_as_it_is_configured() -> None:
    slow = replace(held(registered_ms=NOW - 150_000), stall_after_ms=140_000)
    found = looked(scene(slow))
    assert names(found) == ["AssignmentStalled"]
    assert only(found).alert.severity is Severity.WARNING
    assert names(looked(scene(slow, at_ms=280_000)))[:2] == ["AssignmentStalled"] * 2


def test_a_broker_without_times_stalls_as_long_as_it_is_seen_so() -> None:
    timeless = held(registered_ms=None)
    assert names(at(timeless, every_ms=30_000, until_ms=STALL_MS - 30_000)) == []
    stalled = at(timeless, every_ms=30_000, until_ms=STALL_MS)
    assert names(stalled) == ["AssignmentStalled"]
    assert "for at least 5m 0s." in stalled.active()[0].alert.description
    late = at(timeless, every_ms=30_000, until_ms=30 * MINUTE_MS)
    assert names(late) == ["AssignmentStalled", "AssignmentStalled", "BrokerHeldTooLong"]
    going = held(registered_ms=None, progress=Progress(assigned=1, first_ms=NOW, last_ms=NOW))
    assert names(advance(stalled, scene(going, at_ms=STALL_MS))) == []


@pytest.mark.parametrize(
    ("phase", "limit_ms", "name"),
    [
        (Phase.PRE_MIGRATION, UNREGISTERED_MS, "BrokersNotRegistered"),
        (Phase.COPYING, COPY_MS, "CopyTooLong"),
        (Phase.HYBRID, HYBRID_MS, "HybridTooLong"),
    ],
)
def test_a_phase_that_only_a_snapshot_shows_lasts_as_long_as_it_is_seen(
    phase: Phase, limit_ms: int, name: str
) -> None:
    timeless = replace(seen(phase=phase, brokers=()), hazards=())

    def look(at_ms: int, of: View = timeless) -> View:
        return scene(of, at_ms=at_ms, phase_began_ms=None)

    times = range(0, limit_ms + 1, MINUTE_MS)
    pending = looked(*map(look, times[:-1]))
    assert names(pending) == []
    assert "since before Kraftgate first saw it." in only(pending).alert.description
    late = looked(*map(look, times))
    assert names(late) == [name]
    unseen = scene(timeless, at_ms=limit_ms + 1, phase_began_ms=None, not_current=STALE)
    assert names(advance(late, unseen)) == [name]
    registered = broker(1, Mode.MIGRATING, registered_ms=NOW + limit_ms)
    over = seen(registered, phase=phase) if phase is Phase.PRE_MIGRATION else seen()
    assert advance(late, look(limit_ms + 1, replace(over, hazards=()))).all == {}


@pytest.mark.parametrize(
    ("phase", "limit_ms", "age"),
    [
        (Phase.PRE_MIGRATION, UNREGISTERED_MS, "1h 0m 1s"),
        (Phase.COPYING, COPY_MS, "15m 1s"),
        (Phase.HYBRID, HYBRID_MS, "1d 0h 0m 1s"),
    ],
)
def test_a_phase_lasts_at_least_since_the_snapshot_that_shows_it(
    phase: Phase, limit_ms: int, age: str
) -> None:
    """A restart, or a tick with a stale log, does not restart the time."""
    timeless = replace(seen(phase=phase, brokers=()), hazards=(), phase_seen_ms=NOW - limit_ms)
    assert looked(scene(timeless, phase_began_ms=None)).all == {}
    stale_tick = scene(timeless, at_ms=500, phase_began_ms=None, not_current=STALE)
    late = looked(stale_tick, scene(timeless, at_ms=1000, phase_began_ms=None))
    assert len(names(late)) == 1
    assert f" for at least {age}." in only(late).alert.description
    assert (only(late).alert.since_ms, only(late).alert.bound_ms) == (None, NOW - limit_ms)
    assert looked(scene(timeless, at_ms=1000, phase_began_ms=NOW)).all == {}


@pytest.mark.parametrize("phase", [Phase.HYBRID, Phase.COPYING, Phase.PRE_MIGRATION])
def test_a_new_store_does_not_resolve_an_alert_that_a_phase_lasts(phase: Phase) -> None:
    """It knows only the quorum's latest snapshot, and not when the phase began."""
    view = replace(seen(phase=phase, brokers=()), hazards=())
    began = looked(scene(view, phase_began_ms=NOW - 2 * 86_400_000))
    assert len(names(began)) == 1
    new = scene(view, at_ms=1000, phase_began_ms=None)
    left = advance(began, replace(new, phase_seen_ms=NOW - 1000))
    assert names(left) == names(began)
    assert not only(left).is_known
    assert names(advance(left, scene(view, at_ms=2000, phase_began_ms=NOW))) == []


UNREAD_DISKS = frozenset({DataSource.METADATA_LOG, DataSource.ZOOKEEPER})
"""The configuration has no `brokers:` any more: nothing shows the directory by its path."""


def test_a_directory_of_a_silent_broker_is_not_known_to_be_back() -> None:
    broken = disks(3, directory("/d1", error=56), directory("/d2"))
    began = looked(
        *(scene(seen(disks=all_disks(broken)), at_ms=ms) for ms in range(0, 31_000, 1000))
    )
    assert "LogDirOffline" in names(began)
    well = replace(broken, log_dirs=(directory("/d1"), directory("/d2")))
    silent = replace(well, unreachable="it does not answer")
    for now, left in (
        (scene(seen(disks=all_disks(silent)), at_ms=31_000), True),
        (scene(seen(disks=all_disks(well)), at_ms=31_000), False),
        (scene(seen(broker(1), disks=all_disks(silent)), at_ms=31_000), False),
        (scene(stale(DataSource.LOG_DIRS), at_ms=31_000), True),
        (replace(scene(stale(DataSource.LOG_DIRS), at_ms=31_000), configured=UNREAD_DISKS), False),
    ):
        assert ("LogDirOffline" in names(advance(began, now))) is left


NO_BROKERS = {DataSource.LOG_DIRS: "`brokers` is not configured"}
ID = "AQEBAQEBAQEBAQEBAQEBAQ"
MIGRATING = broker(3, Mode.MIGRATING)


@pytest.mark.parametrize(
    ("bad", "well", "source"),
    [
        (
            seen(MIGRATING, disks=None, zookeeper=zookeeper(kraft=False, notified={3: NOW})),
            seen(MIGRATING, disks=None, zookeeper=zookeeper(kraft=False)),
            DataSource.ZOOKEEPER,
        ),
        (
            seen(MIGRATING, disks=None, zookeeper=zookeeper(kraft=False, missed_ms=NOW)),
            seen(MIGRATING, disks=None, zookeeper=zookeeper(kraft=False)),
            DataSource.ZOOKEEPER,
        ),
        (
            seen(broker(3, unregistered={ID: NOW}), disks=None),
            seen(broker(3), disks=None),
            DataSource.METADATA_LOG,
        ),
    ],
)
def test_without_brokers_it_fires_after_ten_seconds_and_ends_on_current_data(
    bad: View, well: View, source: DataSource
) -> None:
    """KIP-858, "Handling log directory failures": no request to the broker is needed."""
    ticks = [scene(bad, at_ms=ms, not_current=NO_BROKERS) for ms in range(0, 11_000, 1000)]
    assert "LogDirOffline" not in names(looked(*ticks[:-1]))
    began = looked(*ticks)
    assert "LogDirOffline" in names(began)
    silent = {**NO_BROKERS, source: "it does not answer"}
    stale_ = scene(well, at_ms=12_000, not_current=silent)
    assert "LogDirOffline" in names(advance(began, stale_))
    ended = scene(well, at_ms=12_000, not_current=NO_BROKERS)
    assert "LogDirOffline" not in names(advance(began, ended))


def test_without_brokers_the_alert_of_its_hazard_ends_too() -> None:
    """A source that is not configured did not raise it; a stale one may hide it."""
    of = {"phase": Phase.ZOOKEEPER, "disks": None}
    three = broker(3, Mode.ZOOKEEPER)
    bad = seen(three, **of, zookeeper=zookeeper(kraft=False, notified={3: NOW}))
    followed = frozenset({DataSource.METADATA_LOG, DataSource.ZOOKEEPER})
    began = looked(scene(replace(bad, configured=followed), not_current=NO_BROKERS))
    assert names(began) == ["HazardBlocksRestart"]
    well = replace(seen(three, **of, zookeeper=zookeeper(kraft=False)), configured=followed)
    silent = {**NO_BROKERS, DataSource.ZOOKEEPER: "it does not answer"}
    assert names(advance(began, scene(well, at_ms=1000, not_current=silent))) == names(began)
    assert names(advance(began, scene(well, at_ms=1000, not_current=NO_BROKERS))) == []


def test_once_the_path_is_known_only_the_alert_with_the_path_is_sent() -> None:
    """DescribeLogDirs is polled every 10 s."""
    reported = seen(broker(3, unregistered={ID: NOW}), disks=all_disks(disks(3)))
    named = seen(
        broker(3, unregistered={ID: NOW}),
        disks=all_disks(disks(3, directory("/d1", error=56), directory("/d2"))),
    )
    found = looked(
        *(scene(reported if ms < 9000 else named, at_ms=ms) for ms in range(0, 21_000, 1000))
    )
    (one,) = (each.alert for each in found.active() if each.alert.name == "KraftgateLogDirOffline")
    assert (one.labels["log_dir"], one.since_ms) == ("/d1", NOW)


def test_once_zookeeper_rules_again_nobody_is_held() -> None:
    began = looked(scene(held(registered_ms=NOW - STALL_MS - 1)))
    assert names(began) == ["AssignmentStalled"]
    back = seen(zookeeper=zookeeper(kraft=False), phase=Phase.ROLLED_BACK)
    gone = {DataSource.METADATA_LOG: "no controller answers"}
    assert names(advance(began, scene(back, not_current=gone))) == []
    assert names(advance(began, scene(not_current=gone))) == ["AssignmentStalled"]


def test_a_walk_that_says_nothing_any_more_still_needs_its_decision() -> None:
    asks = Execution(at_ms=NOW + 30_000, checkpoint="copied", asks="the hook ended with 1")
    began = looked(*(scene(execution=asks, at_ms=ms) for ms in range(0, 31_000, 1000)))
    assert names(began) == ["StepNeedsDecision"]
    silent = Execution(at_ms=NOW, checkpoint="copied")
    assert names(advance(began, scene(execution=silent, at_ms=40_000))) == ["StepNeedsDecision"]
    reported = Execution(at_ms=NOW + 40_000, checkpoint="copied")
    assert names(advance(began, scene(execution=reported, at_ms=40_000))) == []
    # Of a changed runbook it is not known where the execution is.
    nowhere = Execution(at_ms=NOW + 40_000, checkpoint=None)
    left = advance(began, scene(execution=nowhere, at_ms=40_000))
    assert (names(left), only(left).is_known) == (["StepNeedsDecision"], False)
    ended = replace(nowhere, outcome="aborted")
    assert names(advance(left, scene(execution=ended, at_ms=40_000))) == []


def test_each_broker_that_lost_records_is_an_alert_of_its_own() -> None:
    """A receiver would take a second one under the same labels for the first one again."""

    def losses(*brokers: int) -> View:
        lost = [
            Loss(topic="t", partition=each, was_end=9, now_end=3, seen_ms=NOW, broker=each)
            for each in brokers
        ]
        now = seen(disks=replace(all_disks(), losses=tuple(lost)))
        return replace(now, hazards=hazards(now.summary, NOW, CURRENT))

    once = at(losses(1), every_ms=1000, until_ms=MINUTE_MS)
    assert names(once) == ["HarmDone"]
    twice = looked(*(scene(losses(1, 2), at_ms=ms) for ms in (61_000, 121_000)), before=once)
    assert {each.alert.labels["broker"] for each in twice.active()} == {"1", "2"}


DAMAGE = (
    HazardKind.RECORDS_LOST,
    HazardKind.METADATA_LOST,
    HazardKind.ZOOKEEPER_WIPED,
    HazardKind.REPLICAS_RECREATED,
    HazardKind.FINALIZED_TOO_EARLY,
)


@pytest.mark.parametrize("kind", DAMAGE)
@pytest.mark.parametrize("since_ms", [None, NOW + MINUTE_MS + 1])
def test_a_new_store_does_not_end_past_damage(kind: HazardKind, since_ms: int | None) -> None:
    """Only the store that was moved away had the fact; all sources are current."""
    began = at(with_hazards(hazard(kind)), every_ms=1000, until_ms=MINUTE_MS)
    new = scene(replace(view(), store_since_ms=since_ms), at_ms=2 * MINUTE_MS)
    (left,) = advance(began, new).active()
    assert not left.is_known
    assert advance(began, scene(at_ms=2 * MINUTE_MS)).all == {}, "the store that recorded it"


def test_past_damage_that_the_new_store_found_too_ends(tmp_path: Path) -> None:
    began = at(
        with_hazards(hazard(HazardKind.REPLICAS_RECREATED)), every_ms=1000, until_ms=MINUTE_MS
    )
    new = replace(view(), store_since_ms=NOW + 2 * MINUTE_MS)
    absent = advance(began, scene(new, at_ms=2 * MINUTE_MS))
    again = replace(new, hazards=(hazard(HazardKind.REPLICAS_RECREATED),))
    found = advance(absent, scene(again, at_ms=3 * MINUTE_MS))
    AlertFile(tmp_path / "alerts.json").keep(found)
    for states in (found, read(tmp_path / "alerts.json")):
        assert advance(states, scene(new, at_ms=3 * MINUTE_MS + 1)).all == {}


def test_the_most_urgent_come_first() -> None:
    found = looked(
        scene(
            replace(
                held(registered_ms=NOW - 10**7),
                hazards=(hazard(HazardKind.RECORDS_LOST), hazard()),
            )
        )
    )
    every = replace(found, all={k: replace(v, active_since_ms=NOW) for k, v in found.all.items()})
    severities = [each.alert.severity for each in every.active()]
    assert severities == sorted(severities)
    assert names(every)[0] == "AssignmentStalled"


def test_a_fingerprint_is_of_name_and_labels_alone() -> None:
    early = only(looked(scene(held(registered_ms=NOW - STALL_MS - 1)))).alert
    later = only(looked(scene(held(registered_ms=NOW - STALL_MS - 5000)))).alert
    assert early.description != later.description
    assert early.fingerprint == later.fingerprint
    assert replace(early, labels={**early.labels, "broker": "4"}).fingerprint != early.fingerprint
    assert replace(early, name="KraftgateX").fingerprint != early.fingerprint


@given(views(), views(), st.booleans())
def test_the_next_run_goes_on_where_the_last_one_was(
    tmp_path_factory: pytest.TempPathFactory, first: View, second: View, stood: bool
) -> None:
    file = tmp_path_factory.mktemp("kept") / "alerts.json"
    before = looked(scene(first))
    if stood:
        every = {key: replace(each, active_since_ms=NOW) for key, each in before.all.items()}
        before = replace(before, all=every)
    AlertFile(file).keep(before)
    assert read(file) == before
    assert advance(read(file), scene(second)) == advance(before, scene(second))


def test_what_is_kept_is_written_when_it_changes_and_now_and_then(tmp_path: Path) -> None:
    file = tmp_path / "alerts.json"
    keeper = AlertFile(file)
    first = looked(scene(STUCK))
    keeper.keep(first)
    keeper.keep(advance(first, scene(STUCK, at_ms=1000)))
    assert read(file) == first
    later = advance(first, scene(STUCK, at_ms=WRITE_EVERY_MS))
    keeper.keep(later)
    assert read(file) == later
    over = advance(later, scene(at_ms=WRITE_EVERY_MS + 1000))
    keeper.keep(over)
    assert read(file) == over


@pytest.mark.parametrize("text", ["", "{", '{"standings": 3}', '{"standings": {"all": {"x": {}}}}'])
def test_what_cannot_be_read_was_never_sent(tmp_path: Path, text: str) -> None:
    (tmp_path / "alerts.json").write_text(text)
    assert read(tmp_path / "alerts.json") == NO_ALERTS
    assert read(tmp_path / "none.json") == NO_ALERTS


def test_nothing_is_active_where_nothing_is_wrong() -> None:
    assert looked(scene(view())).all == {}

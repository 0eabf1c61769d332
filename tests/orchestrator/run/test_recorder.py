"""What stood is kept from its beginning to its end, over restarts and kills, each of it once."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from migration.assessment.alerts import NO_ALERTS, Alert, AlertState, AlertStates
from migration.assessment.hazards import Action, Hazard, HazardKind, hazards
from migration.image.summary import ClusterSummary, Phase
from migration.metadata.event_kinds import EventKind
from migration.metadata.events import Event
from migration.observed.log_dirs import DisksImage, Loss
from migration.observed.source_status import SourceStatus
from migration.observed.zookeeper import ZooKeeperImage
from migration.values.severity import Severity
from orchestrator.audit import AuditLog
from orchestrator.audit.run_spans import NOT_RUNNING, Periods, periods
from orchestrator.config.load import Config, parse_config
from orchestrator.run.assessed import Assessor
from orchestrator.run.reader import Reader
from orchestrator.run.recorder import SETTLE_MS, AuditRecorder
from tests.migration.assessment.conditions.views import zk_brokers
from tests.scenes.night import FRESH, NOW_MS, cluster, held, kraft, migrating, replicas
from tests.support.fake_store import FakeStore, write_status

EARLY = cluster(Phase.DUAL_WRITE, kraft(1), held(3))
WELL = cluster(Phase.DUAL_WRITE, kraft(1), kraft(3))
EARLY_OF_3 = ("unfenced_early", 3)


class Following:
    """A process that follows `prod`, tick by tick; its metadata log is current at each tick."""

    def __init__(self, folder: Path) -> None:
        self.config: Config = parse_config(
            "cluster: {name: prod}\ncontrollers: {bootstrap: 'c1:9093'}\nstate_dir: state\n",
            folder / "kraftgate.yaml",
        )
        self.log = AuditLog.open(folder / "state" / "audit.db")
        self._store = FakeStore()
        reader = Reader(self.config, newest=1, opener=lambda _: self._store)
        reader.follow_from_here()
        self._assessor = Assessor(self.config, reader)
        self.recorder = AuditRecorder(self.config, self.log)

    def look(
        self,
        summary: ClusterSummary,
        at_ms: int,
        *,
        current: bool = True,
        alerts: AlertStates = NO_ALERTS,
    ) -> None:
        said = SourceStatus(observed_ms=at_ms, waiting="no controller reachable")
        status = replace(FRESH, observed_ms=at_ms, last_reply_ms=at_ms) if current else said
        write_status(self.config.state_dir, "prod", status)
        self.tick(summary, at_ms, alerts)

    def tick(self, summary: ClusterSummary, at_ms: int, alerts: AlertStates = NO_ALERTS) -> None:
        """Tick on what the source has reported so far."""
        self._store.summaries["prod"] = summary
        tick = self._assessor.tick(at_ms)
        (one,) = tick.clusters
        one = replace(one, assessment=replace(one.assessment, alerts=alerts))
        self.recorder.tick(replace(tick, clusters=(one,)))

    def store_began(self, at_ms: int) -> None:
        """The store's first event was seen at this time."""
        first = Event(offset=1, timestamp_ms=at_ms, kind=EventKind.TOPIC_CREATED, seen_ms=at_ms)
        self._store.told["prod"] = [(1, first)]

    def kinds(self) -> list[str]:
        return [each.kind for each in self.log.entries("prod")]

    def periods(self) -> Periods:
        return periods(self.log.entries("prod"))


@pytest.fixture
def following(tmp_path: Path) -> Iterator[Following]:
    made = Following(tmp_path)
    yield made
    made.log.close()


def test_a_hazard_is_kept_from_its_beginning_to_its_end(following: Following) -> None:
    following.look(WELL, NOW_MS)
    following.look(EARLY, NOW_MS + 250)
    following.look(EARLY, NOW_MS + 500)
    following.look(WELL, NOW_MS + 750)
    (span,) = (each for each in following.periods().hazards if each.key == EARLY_OF_3)
    assert (span.began_ms, span.last_seen_ms, span.ended_ms) == (
        NOW_MS + 250,
        NOW_MS + 500,
        NOW_MS + 750,
    )
    assert span.first.severity == Severity.WARNING
    assert "broker 3" in span.first.text
    assert span.first.evidence
    assert span.first.way_out
    assert len(span.entries) == 2


def test_words_that_change_make_no_entry_and_the_last_ones_are_kept(following: Following) -> None:
    fewer = held(3, replicas=replicas(assigned=62, migrating=2))
    following.look(EARLY, NOW_MS)
    for at in range(1, 20):
        following.look(replace(EARLY, brokers=(EARLY.brokers[0], fewer)), NOW_MS + at * 1000)
    assert following.kinds().count("hazard_began") == len(following.periods().hazards)
    assert "hazard_changed" not in following.kinds()
    following.look(WELL, NOW_MS + 30_000)
    (span,) = (each for each in following.periods().hazards if each.key == EARLY_OF_3)
    assert "12 of its replicas" in span.first.text
    assert "2 of its replicas" in span.last_text


def test_what_a_hazard_forbids_is_kept_when_it_changes(
    following: Following, monkeypatch: pytest.MonkeyPatch
) -> None:
    following.look(EARLY, NOW_MS)

    def others(*given: Any, **named: Any) -> tuple[Hazard, ...]:
        return tuple(replace(e, actions=(Action.FINALIZE,)) for e in hazards(*given, **named))

    monkeypatch.setattr("migration.assessment.assess.hazards", others)
    following.look(EARLY, NOW_MS + 250)
    following.look(EARLY, NOW_MS + 500)
    (span,) = (each for each in following.periods().hazards if each.key == EARLY_OF_3)
    assert (span.first.blocks, span.latest.blocks) == ("restart", "finalize")
    assert len(span.entries) == 2


def test_a_hazard_that_outlives_its_process_is_told_once(
    following: Following, tmp_path: Path
) -> None:
    following.look(EARLY, NOW_MS)
    following.recorder.close()
    again = Following(tmp_path)
    again.look(EARLY, NOW_MS + 60_000)
    again.look(EARLY, NOW_MS + 60_250)
    assert again.kinds().count("hazard_began") == len(again.periods().hazards)
    again.look(WELL, NOW_MS + 61_000)
    (span,) = (each for each in again.periods().hazards if each.key == EARLY_OF_3)
    assert span.last_seen_ms == NOW_MS + 60_250


def test_of_one_that_ended_while_nobody_looked_only_the_bounds_are_known(
    following: Following, tmp_path: Path
) -> None:
    following.look(EARLY, NOW_MS)
    following.look(EARLY, NOW_MS + 1_000)  # and then it is killed
    again = Following(tmp_path)
    again.look(WELL, NOW_MS + 90_000)
    told = again.periods()
    (span,) = (each for each in told.hazards if each.key == EARLY_OF_3)
    assert (span.last_seen_ms, span.ended_ms) == (NOW_MS + 1_000, NOW_MS + 90_000)
    first, second = told.runs
    assert (first.ended_ms, first.last_seen_ms) == (None, NOW_MS + 1_000)
    assert (second.ended_ms, second.last_seen_ms) == (None, None)


def test_what_the_process_before_left_is_not_judged_before_its_sources_are_current(
    following: Following, tmp_path: Path
) -> None:
    """The assessment would combine old facts with a new time."""
    following.look(WELL, NOW_MS)
    following.recorder.close()
    again = Following(tmp_path)
    again.look(EARLY, NOW_MS + 60_000, current=False)
    again.look(EARLY, NOW_MS + 70_000, current=False)
    assert again.kinds().count("hazard_began") == 0
    again.look(WELL, NOW_MS + 71_000)
    assert again.kinds().count("hazard_began") == 0


def test_a_source_that_stays_away_does_not_keep_hazards_from_being_kept(
    following: Following, tmp_path: Path
) -> None:
    following.look(WELL, NOW_MS)
    following.recorder.close()
    again = Following(tmp_path)
    for at_ms in (0, SETTLE_MS - 1, SETTLE_MS):
        assert "hazard_began" not in again.kinds()
        again.look(EARLY, NOW_MS + 60_000 + at_ms, current=False)
    assert "hazard_began" in again.kinds()


def test_a_source_is_lost_since_it_last_answered_and_seen_again(following: Following) -> None:
    following.look(WELL, NOW_MS)
    following.look(WELL, NOW_MS + 250)
    following.look(WELL, NOW_MS + 20_000, current=False)
    following.look(WELL, NOW_MS + 21_000, current=False)
    following.look(WELL, NOW_MS + 30_000)
    (unseen,) = following.periods().gaps
    assert (unseen.source, unseen.began_ms, unseen.ended_ms) == (
        "metadata_log",
        NOW_MS + 250,
        NOW_MS + 30_000,
    )
    assert unseen.why == "no controller reachable"
    assert following.kinds() == ["follow_began", "source_seen", "source_lost", "source_seen"]


def test_a_source_that_was_never_seen_is_not_lost(following: Following) -> None:
    """Before the controllers exist that is a phase, not an error."""
    following.look(WELL, NOW_MS, current=False)
    following.look(WELL, NOW_MS + 1_000, current=False)
    assert following.kinds() == ["follow_began"]


@pytest.mark.parametrize("killed", [True, False])
def test_between_two_processes_nothing_was_seen(
    following: Following, tmp_path: Path, *, killed: bool
) -> None:
    following.look(WELL, NOW_MS)
    if not killed:
        following.recorder.close()
    ended_ms = following.periods().runs[0].ended_ms
    again = Following(tmp_path)
    again.look(WELL, NOW_MS + 50_000)
    (unseen,) = again.periods().gaps
    assert unseen.why == NOT_RUNNING
    assert unseen.began_ms == (NOW_MS if killed else ended_ms)
    assert (ended_ms is None) is killed
    assert unseen.ended_ms == NOW_MS + 50_000


def test_what_the_process_before_said_of_a_source_does_not_make_it_current(
    following: Following, tmp_path: Path
) -> None:
    """It is restarted within the time in which its last word still counts as the present."""
    following.look(WELL, NOW_MS)
    again = Following(tmp_path)
    again.tick(WELL, NOW_MS + 2_000)
    assert again.kinds()[-1] == "follow_began"
    again.look(WELL, NOW_MS + 5_000)
    assert again.kinds()[-1] == "source_seen"


def test_who_is_refused_before_the_first_look_leaves_nothing(following: Following) -> None:
    following.recorder.close()
    assert following.kinds() == []


LOST = replace(
    WELL,
    disks=DisksImage(
        losses=(Loss(topic="t", partition=1, was_end=9, now_end=3, seen_ms=NOW_MS, broker=3),)
    ),
)


@pytest.mark.parametrize("is_new", [True, False])
def test_a_hazard_of_past_damage_ends_only_in_the_store_that_recorded_it(
    following: Following, tmp_path: Path, *, is_new: bool
) -> None:
    """All sources are current again after the store was replaced, as the handbook describes."""
    following.store_began(NOW_MS)
    following.look(LOST, NOW_MS + 1_000)
    assert following.kinds().count("hazard_began") == 1
    following.recorder.close()
    again = Following(tmp_path)
    again.store_began(NOW_MS + 60_000 if is_new else NOW_MS)
    again.look(WELL, NOW_MS + 61_000)
    again.look(WELL, NOW_MS + 62_000)
    assert ("hazard_ended" not in again.kinds()) is is_new


def test_several_of_one_kind_and_broker_are_one(following: Following) -> None:
    following.look(EARLY, NOW_MS)
    which = [each.key for each in following.periods().hazards]
    assert len(which) == len(set(which))
    assert {name for name, _ in which} <= {str(kind) for kind in HazardKind}


def test_an_end_without_a_beginning_is_left_out(following: Following) -> None:
    following.look(EARLY, NOW_MS)
    following.look(WELL, NOW_MS + 250)
    left = [each for each in following.log.entries("prod") if each.kind != "hazard_began"]
    assert periods(left).hazards == []
    assert periods([each for each in left if each.kind != "follow_began"]).runs == []


def standings(at_ms: int, *brokers: int, pending: bool = False) -> AlertStates:
    """A stall of each of these brokers, active since this tick."""
    found = [
        Alert(
            name="KraftgateAssignmentStalled",
            labels={"severity": "warning", "cluster": "prod", "broker": str(broker)},
            summary="No replica gets its directory",
            description=f"Broker {broker} makes no progress",
            since_ms=at_ms - 300_000,
        )
        for broker in brokers
    ]
    since_ms = None if pending else at_ms
    return AlertStates(
        at_ms=at_ms,
        all={
            each.fingerprint: AlertState(alert=each, found_ms=at_ms, active_since_ms=since_ms)
            for each in found
        },
    )


def test_an_alert_is_kept_from_its_beginning_to_its_end(following: Following) -> None:
    following.look(WELL, NOW_MS)
    following.look(WELL, NOW_MS + 1_000, alerts=standings(NOW_MS, 2, pending=True))
    following.look(WELL, NOW_MS + 2_000, alerts=standings(NOW_MS, 2))
    following.look(WELL, NOW_MS + 3_000, alerts=standings(NOW_MS, 2, 3))
    following.look(WELL, NOW_MS + 4_000, alerts=standings(NOW_MS, 3))
    two, three = following.periods().alerts
    assert (two.began_ms, two.ended_ms) == (NOW_MS + 2_000, NOW_MS + 4_000)
    assert (three.began_ms, three.ended_ms) == (NOW_MS + 3_000, None)
    assert two.alert.description == "Broker 2 makes no progress"
    assert two.alert.labels["broker"] == "2"
    assert len(two.entries) == 2


def test_an_alert_that_outlives_its_process_is_told_once(
    following: Following, tmp_path: Path
) -> None:
    following.look(WELL, NOW_MS, alerts=standings(NOW_MS, 2))
    following.recorder.close()
    again = Following(tmp_path)
    again.look(WELL, NOW_MS + 60_000, alerts=standings(NOW_MS + 60_000, 2))
    assert again.kinds().count("alert_began") == 1
    again.look(WELL, NOW_MS + 61_000)
    assert [each.ended_ms for each in again.periods().alerts] == [NOW_MS + 61_000]


def test_a_hazard_ends_although_a_source_that_would_show_it_too_is_not_configured(
    following: Following,
) -> None:
    away = ZooKeeperImage(seen_ms=1, ever=frozenset({1}))
    back = replace(away, brokers=zk_brokers(1))
    well = replace(cluster(Phase.HYBRID, migrating(1)), zookeeper=back)
    down = replace(cluster(Phase.HYBRID, migrating(1, fenced=True)), zookeeper=away)
    for at, each in enumerate((well, down, well, well)):
        following.look(each, NOW_MS + at * 60_000)
    (span,) = following.periods().hazards
    assert span.ended_ms is not None

"""No screen, number, alert or record derives a hazard from what a source said before a restart."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from migration.assessment.conditions import DataSource, Verdict, parse
from migration.assessment.hazards import HazardKind
from migration.image.summary import ClusterSummary, Phase
from migration.observed.log_dirs import DisksImage
from migration.observed.source_status import SourceStatus
from migration.observed.znodes import MIGRATION
from migration.observed.zookeeper import BEACON_STALE_MS, ZooKeeperImage
from orchestrator.api.status import status_json
from orchestrator.audit import AuditLog
from orchestrator.audit.run_spans import periods
from orchestrator.config.load import Config, parse_config
from orchestrator.run.assessed import Assessed, Assessor, Tick
from orchestrator.run.reader import ClusterRead, Reader
from orchestrator.run.recorder import SETTLE_MS, AuditRecorder
from orchestrator.views.terminal.lines import changes
from orchestrator.views.terminal.live import picture
from streams.state.source_status import write_status
from tests.migration.assessment.conditions.views import directory, disks, migration, zookeeper
from tests.orchestrator.views.metrics.scraping import scrape
from tests.scenes.night import FRESH, NOW_MS, cluster, kraft, migrating
from tests.support.assessing import assessed, entry
from tests.support.fake_store import FakeStore

STUCK = str(HazardKind.DUAL_WRITE_STUCK)
KILLED_MS = NOW_MS - 600_000
CONFIG = """cluster: {name: prod}
zookeeper: {connect: 'z1:2181'}
controllers: {bootstrap: 'c1:9093'}
brokers: {bootstrap: 'b1:9092'}
state_dir: state
"""
LIVE = SourceStatus(observed_ms=NOW_MS - 200, last_reply_ms=NOW_MS - 400)
LOG = replace(FRESH, dual_write_due=1_500)
BEFORE = zookeeper(seen_ms=KILLED_MS - 3_600_000, migration=migration(written_ms=KILLED_MS - 2_000))
"""As the process that was killed left it in the store."""


def dual_write(seen: ZooKeeperImage) -> ClusterSummary:
    at_work = cluster(Phase.DUAL_WRITE, kraft(1))
    return replace(at_work, zookeeper=seen, disks=DisksImage(brokers={1: disks(1)}))


class Restarted:
    """A process that follows `prod` again; the store has what the one before left there."""

    def __init__(self, folder: Path, seen: ZooKeeperImage) -> None:
        self.config: Config = parse_config(CONFIG, folder / "kraftgate.yaml")
        self._store = FakeStore()
        self._store.summaries["prod"] = dual_write(seen)
        self.log = AuditLog.open(self.config.state_dir / "audit.db")
        reader = Reader(self.config, newest=1, opener=lambda _: self._store)
        self._assessor = Assessor(self.config, reader)
        self.recorder = AuditRecorder(self.config, self.log)

    def look(
        self, zookeeper: SourceStatus, at_ms: int = NOW_MS, *, log: SourceStatus = LOG
    ) -> Assessed:
        """Assess everything as each command does."""
        ago_ms = at_ms - NOW_MS
        for name, status in (("source", log), ("zookeeper", zookeeper), ("log_dirs", LIVE)):
            replied_ms = status.last_reply_ms
            now = replace(
                status,
                observed_ms=status.observed_ms + ago_ms,
                last_reply_ms=None if replied_ms is None else replied_ms + ago_ms,
            )
            file = self.config.state_dir / "clusters" / "prod" / f"{name}.json"
            write_status(file, now)
        (one,) = self._assessor.tick(at_ms).clusters
        return one

    def texts(self, one: Assessed) -> Mapping[str, str]:
        """What each consumer says, as text."""
        for at_ms in (one.now_ms, one.now_ms + SETTLE_MS):
            self.record(one, at_ms)
        console = Console(width=120)
        with console.capture() as screen:
            console.print(picture(one, 120))
        lines = changes(None, one)
        scraped = scrape(one)
        return {
            "view": " ".join(each.kind for each in one.assessment.hazards),
            "terminal": screen.get(),
            "lines": "\n".join(lines),
            "status": json.dumps(status_json(one)),
            "metrics": str(
                [labels for labels, value in scraped["kraftgate_hazard"].items() if value]
                if "kraftgate_hazard" in scraped
                else []
            ),
            "alerts": str([e.alert.name for e in one.assessment.alerts.all.values()]),
            "audit trail": str([each.key for each in periods(self.log.entries("prod")).hazards]),
        }

    def record(self, one: Assessed, at_ms: int) -> None:
        """Hand a tick to the audit trail, at another time."""
        assessment = replace(
            one.assessment, snapshot=replace(one.assessment.snapshot, now_ms=at_ms)
        )
        tick = Tick(at_ms=at_ms, clusters=(replace(one, assessment=assessment),))
        self.recorder.tick(tick)


@pytest.fixture
def restarted(tmp_path: Path) -> Iterator[Restarted]:
    made = Restarted(tmp_path, BEFORE)
    yield made
    made.log.close()


def naming_stuck(texts: Mapping[str, str]) -> list[str]:
    words = (STUCK, "has not been written", "KraftgateDualWriteStuck")
    return [who for who, text in texts.items() if any(each in text for each in words)]


NOT_CURRENT = {
    "it has not connected yet": replace(LIVE, last_reply_ms=None, waiting="no server answers"),
    "it reads everything": replace(LIVE, whole_since_ms=NOW_MS - 200),
    "what it read is not in the store yet": replace(LIVE, whole_since_ms=NOW_MS - 8_000),
}


@pytest.mark.parametrize("why", NOT_CURRENT)
def test_what_was_written_before_a_kill_is_no_silence_after_it(
    restarted: Restarted, why: str
) -> None:
    one = restarted.look(NOT_CURRENT[why])
    assert DataSource.ZOOKEEPER in one.assessment.currency.not_current
    assert naming_stuck(restarted.texts(one)) == []
    for text in ("no_hazard(finalize)", "dual_write_alive"):
        assert parse(text).judge(one.assessment.view).verdict is Verdict.UNKNOWN


def test_zookeeper_is_watched_for_the_whole_time_before_it_counts_as_silent(
    tmp_path: Path,
) -> None:
    connected_ms = NOW_MS - BEACON_STALE_MS
    again = Restarted(tmp_path, replace(BEFORE, seen_ms=connected_ms))
    status = replace(LIVE, whole_since_ms=connected_ms)
    one = again.look(status)
    followed = (DataSource.METADATA_LOG, DataSource.ZOOKEEPER, DataSource.LOG_DIRS)
    assert not one.assessment.currency.not_current.keys() & set(followed)
    assert naming_stuck(again.texts(one)) == []
    for text in ("no_hazard(finalize)", "no_hazard(dual_write_stuck)", "dual_write_alive"):
        found = parse(text).judge(one.assessment.view)
        assert found.verdict is Verdict.UNKNOWN
        assert "observed for less than 30 s" in found.reason
    again.log.close()


def test_silence_that_was_watched_is_a_hazard_to_everybody(tmp_path: Path) -> None:
    connected_ms = NOW_MS - BEACON_STALE_MS - 1
    again = Restarted(tmp_path, replace(BEFORE, seen_ms=connected_ms))
    one = again.look(replace(LIVE, whole_since_ms=connected_ms))
    texts = again.texts(one)
    assert naming_stuck(texts) == [*texts]
    assert parse("dual_write_alive").judge(one.assessment.view).verdict is Verdict.VIOLATED
    again.log.close()


def test_a_log_without_a_new_record_is_no_silence_to_anybody(tmp_path: Path) -> None:
    """With metadata.max.idle.interval.ms=0 an idle cluster writes nothing, for hours."""
    connected_ms = NOW_MS - 600_000
    again = Restarted(tmp_path, replace(BEFORE, seen_ms=connected_ms))
    idle = replace(LOG, dual_write_due=migration().offset)
    one = again.look(replace(LIVE, whole_since_ms=connected_ms), log=idle)
    assert naming_stuck(again.texts(one)) == []
    assert parse("dual_write_alive").judge(one.assessment.view).verdict is Verdict.SATISFIED
    again.log.close()


@pytest.mark.parametrize("led_ms", [BEACON_STALE_MS, BEACON_STALE_MS + 1])
def test_nobody_had_to_write_while_no_controller_led(tmp_path: Path, led_ms: int) -> None:
    watched_ms = NOW_MS - 600_000
    again = Restarted(tmp_path, replace(BEFORE, seen_ms=watched_ms))
    led = replace(LOG, led_since_ms=NOW_MS - led_ms)
    one = again.look(replace(LIVE, whole_since_ms=watched_ms), log=led)
    if led_ms > BEACON_STALE_MS:
        assert naming_stuck(again.texts(one))
    else:
        assert naming_stuck(again.texts(one)) == []
        for text in ("no_hazard(finalize)", "dual_write_alive"):
            found = parse(text).judge(one.assessment.view)
            assert found.verdict is Verdict.UNKNOWN
            assert "the controller that leads was elected less than 30 s ago" in found.reason
    again.log.close()


def test_a_reported_heartbeat_is_a_write_to_everybody(tmp_path: Path) -> None:
    """A heartbeat becomes a fact twice a minute; until then only the source's status has it."""
    watched_ms = NOW_MS - 600_000
    again = Restarted(tmp_path, replace(BEFORE, seen_ms=watched_ms, versions={MIGRATION: (3, 70)}))
    beating = replace(
        LIVE,
        whole_since_ms=watched_ms,
        migration_mzxid=71,
        migration_version=4,
        migration_offset=2_000,
        migration_written_ms=NOW_MS - 700,
    )
    (silent,) = again.look(replace(beating, migration_mzxid=69)).assessment.hazards
    assert silent.kind is HazardKind.DUAL_WRITE_STUCK
    one = again.look(beating)
    assert naming_stuck(again.texts(one)) == []
    found = parse("dual_write_alive").judge(one.assessment.view)
    assert found.verdict is Verdict.SATISFIED
    assert "metadata offset 2000" in str(found.evidence)
    again.log.close()


def test_no_ops_move_the_offset_and_its_time_together(tmp_path: Path) -> None:
    again = Restarted(tmp_path, BEFORE)
    offset = again.look(LIVE).summary.metadata_offset
    assert offset is not None
    end = offset + 11
    idle = replace(
        FRESH, high_watermark=end, next_offset=end, busy_until=offset + 1, record_ms=NOW_MS - 300
    )
    later = again.look(LIVE, log=idle).summary
    assert (later.metadata_offset, later.observed_ms) == (end - 1, NOW_MS - 300)
    another = again.look(LIVE, log=replace(idle, log=2)).summary
    assert another.metadata_offset == offset
    again.log.close()


def test_a_recorded_fact_remains_a_hazard_and_says_how_old_it_is(tmp_path: Path) -> None:
    gone = replace(BEFORE, migration=None, migration_copied=migration())
    again = Restarted(tmp_path, gone)
    one = again.look(NOT_CURRENT["it has not connected yet"])
    (hazard,) = one.assessment.hazards
    assert hazard.kind is HazardKind.DUAL_WRITE_STUCK
    assert "/migration is gone" in hazard.text
    assert hazard.evidence[0] == "not current, as last known: ZooKeeper (no server answers)"
    assert parse("no_hazard(finalize)").judge(one.assessment.view).verdict is Verdict.VIOLATED
    again.log.close()


def test_a_hazard_of_a_source_that_is_no_longer_configured_remains_as_last_known() -> None:
    """Only a newer fact ends it, and without `brokers:` none comes: the restart stays blocked."""
    failed = disks(1, directory("/d1", error=56), directory("/d2"))
    summary = cluster(Phase.HYBRID, migrating(1))
    read = ClusterRead(
        summary=replace(summary, disks=DisksImage(brokers={1: failed})), events=(), status=LOG
    )
    one = assessed(read, NOW_MS, of=entry("controllers", "zookeeper")).assessment
    (hazard,) = (e for e in one.hazards if e.kind is HazardKind.RESTART_LOSES_REPLICAS)
    assert hazard.evidence[0] == (
        "not current, as last known: the brokers' log directories (`brokers` is not configured)"
    )
    assert parse("no_hazard(restart)").judge(one.view).verdict is Verdict.VIOLATED


def test_a_hazard_whose_source_is_lost_has_no_recorded_end(tmp_path: Path) -> None:
    connected_ms = NOW_MS - BEACON_STALE_MS - 1
    again = Restarted(tmp_path, replace(BEFORE, seen_ms=connected_ms))
    whole = replace(LIVE, whole_since_ms=connected_ms)
    again.texts(again.look(whole))
    lost = again.look(NOT_CURRENT["it has not connected yet"], NOW_MS + 2 * SETTLE_MS)
    again.record(lost, NOW_MS + 2 * SETTLE_MS)
    (span,) = periods(again.log.entries("prod")).hazards
    assert (span.key[0], span.ended_ms) == (STUCK, None)
    again.log.close()


def test_a_hazard_was_last_seen_before_its_source_was_lost(tmp_path: Path) -> None:
    connected_ms = NOW_MS - BEACON_STALE_MS - 1
    seen = replace(BEFORE, seen_ms=connected_ms, versions={MIGRATION: (3, 70)})
    again = Restarted(tmp_path, seen)
    again.texts(again.look(replace(LIVE, whole_since_ms=connected_ms)))
    lost_ms = NOW_MS + 2 * SETTLE_MS
    for at_ms in (lost_ms, lost_ms + 1_000):
        again.record(again.look(NOT_CURRENT["it has not connected yet"], at_ms), at_ms)
    back_ms = lost_ms + 1_800_000
    beating = replace(
        LIVE,
        whole_since_ms=connected_ms,
        migration_mzxid=71,
        migration_version=4,
        migration_offset=2_000,
        migration_written_ms=back_ms,
    )
    again.record(again.look(beating, back_ms), back_ms)
    (span,) = periods(again.log.entries("prod")).hazards
    assert (span.last_seen_ms, span.ended_ms) == (NOW_MS + SETTLE_MS, back_ms)
    again.log.close()

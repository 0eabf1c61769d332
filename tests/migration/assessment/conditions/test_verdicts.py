"""Each condition with a case for each of its possible verdicts."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings

from migration.assessment.conditions import (
    CheckSeen,
    DataSource,
    PreflightSeen,
    SettingsSeen,
    TopicsSeen,
    Verdict,
    View,
    judge_all,
    known,
    parse,
    verdict_of,
)
from migration.assessment.conditions.authority import is_hazard_over
from migration.assessment.currency import CURRENT
from migration.assessment.data_source import FOLLOWED
from migration.assessment.hazards import hazards
from migration.comparison.result import Compared
from migration.image.summary import Mode, Phase, Progress, UnfencedEarly
from migration.observed.jmx import JmxImage
from migration.observed.log_dirs import CutOff
from migration.observed.source_status import SourceStatus
from migration.observed.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    MIGRATION,
    REASSIGN_PARTITIONS,
)
from tests.migration.assessment.conditions.views import (
    ALL_STALE,
    BROKERS,
    COMPARED,
    DIFFERENT,
    NOW,
    STALL_MS,
    SUMMARY,
    UNREAD,
    ZOOKEEPER_TIME,
    all_disks,
    broker,
    controller,
    counts,
    directory,
    disks,
    in_zookeeper_time,
    migration,
    moves,
    quorum,
    seen,
    stale,
    view,
    views,
    zk_brokers,
    zookeeper,
)

SATISFIED, WAITING = Verdict.SATISFIED, Verdict.WAITING
VIOLATED, UNKNOWN = Verdict.VIOLATED, Verdict.UNKNOWN
LOG, ZOOKEEPER, DISKS = DataSource.METADATA_LOG, DataSource.ZOOKEEPER, DataSource.LOG_DIRS
TOPICS, QUORUM, SETTINGS = DataSource.TOPICS, DataSource.QUORUM, DataSource.SETTINGS


def missed(ms_ago: int, **changes: object) -> View:
    """One notification was missed. Broker 3 may have sent it, for it is in ZooKeeper mode."""
    image = zookeeper(migration=migration(), missed=1, missed_ms=NOW - ms_ago)
    return seen(*BROKERS[:2], broker(3, Mode.ZOOKEEPER), zookeeper=image, **changes)


UNDESCRIBED = all_disks(disks(1), disks(2), disks(3, directory("/d1", error=-1), directory("/d2")))
"""Broker 3 cannot describe a directory, for another reason than error 56."""
OF_THE_FUTURE = migration(written_ms=NOW + 60_000)
"""It was written before the clock was set back."""


def silent(due: int | None, end: int | None = None) -> View:
    """/migration is older than 30 s, and has offset 1439; `end`: of the metadata log."""
    image = zookeeper(migration=migration(written_ms=NOW - 30_001))
    log = SourceStatus(observed_ms=NOW, dual_write_due=due, high_watermark=end)
    return replace(seen(zookeeper=image), sources={LOG: log})


class Case(NamedTuple):
    text: str
    verdict: Verdict
    view: View


COMPARED_LONG_AGO = replace(COMPARED, at_ms=NOW - 200_000)
STOPPED = quorum(leader=None, voters=(), answering=0, refused=("c1:9093",))


def never_caught_up(led_ms: int, leader_epoch: int = 7) -> View:
    """Controller 3002 led before controller 3000, which does not know when it last caught up."""
    log = SourceStatus(
        observed_ms=NOW,
        active_controller=3000,
        leader_epoch=leader_epoch,
        led_since_ms=NOW - led_ms,
    )
    return view(quorum=quorum(100, None), sources={LOG: log})


def log_of_stopped(observed_ms: int = NOW - 500, **status: Any) -> View:
    """No configured controller listens, and this is the status of the metadata log's source."""
    found = {LOG: SourceStatus(observed_ms=observed_ms, **status)}
    return view(quorum=STOPPED, configured=frozenset({LOG}), sources=found, not_current={LOG: "x"})


HELD = broker(
    3,
    held=True,
    replicas=counts(assigned=30, migrating=2),
    progress=Progress(assigned=30, first_ms=NOW - 5000, last_ms=NOW - 1000),
)
STALLED = replace(HELD, progress=Progress(assigned=30, first_ms=0, last_ms=NOW - STALL_MS - 1))
SERVES_EARLY = replace(HELD, unfenced_early=UnfencedEarly(pending=2, duration_ms=None))
DOWN = all_disks(disks(1), disks(2), disks(3, unreachable="refused", answered_ms=NOW - 90_000))
READ = (
    directory("/d1", readable=True, directory_id=BROKERS[2].log_dirs[0]),
    directory("/d2", readable=True, directory_id=BROKERS[2].log_dirs[1]),
)
DOWN_AND_READ = all_disks(disks(1), disks(2), disks(3, *READ, unreachable="refused"))
NOT_READ = zookeeper(migration=migration(), unreadable={MIGRATION: "its content is not JSON"})
CUT_OFF = CutOff(since_ms=NOW, replicas=3, sole=0, bytes=30, named=())
FAILED = all_disks(disks(1), disks(2), disks(3, directory("/d1"), directory("/d2", error=56)))
VANISHED = all_disks(disks(1), disks(2), disks(3, directory("/d1"), cut_off={"/d2": CUT_OFF}))
SILENT = all_disks(disks(1), disks(2), disks(3, unreachable="it does not answer"))
NEVER = all_disks(disks(1), disks(2), disks(3, unreachable="refused", answered_ms=None))
MOVES = all_disks(disks(1), disks(2), moves(3))
STUCK = all_disks(disks(1), disks(2), moves(3, polls=3))
ABANDONED = all_disks(moves(3, lag=-1, polls=3, error=56))
FENCED = broker(3, fenced=True)
DOUBTFUL = directory("/d1", error=41)
DOWN_IN_A_MOVE = all_disks(replace(moves(3), unreachable="refused"))
ROLLED_BACK = seen(phase=Phase.ROLLED_BACK, zookeeper=zookeeper(kraft=False))
WITHOUT_3 = ZOOKEEPER_TIME.brokers[:2]
BROKER_NOT_READ = {"/brokers/ids/3": "its content is not JSON"}
DUAL_WRITE_UNREAD = zookeeper(migration=migration(), unreadable=BROKER_NOT_READ)
BROKER_UNREAD = {
    each: zookeeper(unreadable={f"/brokers/ids/{each}": "its content is not JSON"})
    for each in (3, 7)
}
REPORTED = TopicsSeen(at_ms=NOW, partitions=32, reassigning=0, controller=1)
BEHIND = replace(REPORTED, under_replicated=4, missing={3: 4})
ALONE = replace(BEHIND, alone={2: 4})
MOVING = replace(REPORTED, reassigning=1)
KRAFT_CONTROLLER = controller(3000, ready=False)
ZK_MODES = SettingsSeen(at_ms=NOW, modes=dict.fromkeys((1, 2, 3), Mode.ZOOKEEPER))
ZK_TIME = in_zookeeper_time(zookeeper=zookeeper(kraft=False, brokers=zk_brokers(1, 2, 3)))
ZK_TIME_UNREAD = in_zookeeper_time(
    zookeeper=zookeeper(kraft=False, brokers=zk_brokers(1, 2, 3), unreadable=BROKER_NOT_READ)
)
ZK_CLOCK_AHEAD = in_zookeeper_time(
    zookeeper=zookeeper(
        kraft=False, brokers=zk_brokers(1, 2, 3, since_ms=NOW + 3_600_000, read_ms=NOW)
    )
)

WITH_4_DOWN = in_zookeeper_time(
    zookeeper=zookeeper(kraft=False, brokers=zk_brokers(1, 2, 3)),
    disks=all_disks(*(disks(each) for each in (1, 2, 3)), disks(4, unreachable="refused")),
)
NOBODY = replace(
    SUMMARY,
    phase=Phase.PRE_MIGRATION,
    zookeeper=zookeeper(kraft=False),
    brokers=tuple(broker(each, Mode.ZOOKEEPER, epoch=None) for each in (1, 2, 3)),
)

BEFORE_THE_COPY = {"phase": Phase.PRE_MIGRATION, "partitions": 0}
PRE_MIGRATION_UNSEEN = seen(**BEFORE_THE_COPY, zookeeper=None)
PRE_MIGRATION_NOT_CONFIGURED = replace(
    PRE_MIGRATION_UNSEEN, not_current={ZOOKEEPER: "`zookeeper` is not configured"}
)
PRE_MIGRATION_RULED_BY_A_BROKER = seen(**BEFORE_THE_COPY, zookeeper=zookeeper(kraft=False))
NEVER_LED = seen(**BEFORE_THE_COPY, zookeeper=zookeeper(kraft=False, migration=migration(-1)))
LEFT_BEHIND = seen(**BEFORE_THE_COPY, zookeeper=zookeeper(kraft=False, migration=migration()))
TAKEN_OVER = seen(**BEFORE_THE_COPY, zookeeper=zookeeper(migration=migration(-1)))
PRE_MIGRATION_TAKEN_OVER = seen(**BEFORE_THE_COPY, zookeeper=zookeeper())

OVERTAKEN = zookeeper(
    migration=migration(),
    controller_epoch_ms=NOW - 60_000,
    versions={CONTROLLER: (0, 88), CONTROLLER_EPOCH: (4, 99)},
)
"""Somebody wrote /controller_epoch after the controller took over; /migration goes on."""


def rolling_back(**changes: object) -> View:
    """A rollback, in which broker 1 is in migration mode again, and 2 and 3 are not yet."""
    brokers = (broker(1, Mode.MIGRATING, reverted=True), *BROKERS[1:])
    now = seen(*brokers, phase=Phase.HYBRID, **changes)
    found = hazards(now.summary, NOW, CURRENT, rolls_back=True)
    return replace(now, rolls_back=True, hazards=found)


def registered(ago_ms: int, ahead_ms: int) -> View:
    """Broker 3 registered; the controllers' clock is ahead of Kraftgate's."""
    log = SourceStatus(observed_ms=NOW, record_ms=NOW + ahead_ms - 400, record_seen_ms=NOW - 400)
    their_now = NOW + ahead_ms
    others = (replace(each, registered_ms=their_now - 900_000) for each in BROKERS[:2])
    now = seen(*others, broker(3, registered_ms=their_now - ago_ms))
    return replace(now, sources={LOG: log})


def limited(*limits: str) -> SourceStatus:
    return SourceStatus(observed_ms=NOW, limits=limits)


CASES = (
    Case("phase(hybrid)", SATISFIED, seen(phase=Phase.HYBRID)),
    Case("phase(hybrid)", SATISFIED, seen(phase=Phase.FINALIZED)),
    Case("phase(hybrid)", WAITING, seen(phase=Phase.COPYING)),
    Case("phase(hybrid)", VIOLATED, ROLLED_BACK),
    Case("phase_is(pre-migration)", WAITING, ROLLED_BACK),
    Case("phase(hybrid)", VIOLATED, seen(phase=Phase.KRAFT)),
    Case("phase(hybrid)", UNKNOWN, stale(LOG)),
    Case("phase(hybrid)", UNKNOWN, seen(metadata_offset=None)),
    Case("phase(rolled-back)", SATISFIED, ROLLED_BACK),
    Case("phase(rolled-back)", SATISFIED, stale(LOG, of=ROLLED_BACK)),
    Case("phase(rolled-back)", UNKNOWN, stale(ZOOKEEPER, of=ROLLED_BACK)),
    Case("phase(rolled-back)", WAITING, seen(phase=Phase.HYBRID)),
    Case("phase(rolled-back)", VIOLATED, seen(phase=Phase.FINALIZED)),
    Case("phase_is(hybrid)", SATISFIED, seen(phase=Phase.HYBRID)),
    Case("phase_is(hybrid)", WAITING, seen(phase=Phase.COPYING)),
    Case("phase_is(hybrid)", VIOLATED, seen(phase=Phase.FINALIZED)),
    Case("phase_is(hybrid)", UNKNOWN, stale(LOG)),
    Case("phase_is(pre-migration)", WAITING, in_zookeeper_time()),
    Case("phase_is(pre-migration)", WAITING, PRE_MIGRATION_RULED_BY_A_BROKER),
    Case(
        "phase_is(pre-migration)",
        SATISFIED,
        seen(**BEFORE_THE_COPY, zookeeper=zookeeper(kraft=False, migration=migration(-1))),
    ),
    Case("copied", SATISFIED, view()),
    Case("copied", SATISFIED, stale(ZOOKEEPER, of=seen(phase=Phase.FINALIZED))),
    Case("copied", WAITING, seen(phase=Phase.COPYING)),
    Case("copied", WAITING, seen(zookeeper=zookeeper(migration=migration(-1)))),
    Case("copied", VIOLATED, ROLLED_BACK),
    Case("copied", VIOLATED, seen(zookeeper=zookeeper())),
    Case("copied", UNKNOWN, stale(LOG)),
    Case("copied", UNKNOWN, stale(ZOOKEEPER)),
    Case("kraft_only", SATISFIED, seen(phase=Phase.KRAFT)),
    Case("kraft_only", SATISFIED, seen(phase=Phase.FINALIZED)),
    Case("kraft_only", WAITING, view()),
    Case("kraft_only", UNKNOWN, stale(LOG)),
    Case("offset(1439)", SATISFIED, view()),
    Case("offset(1440)", WAITING, view()),
    Case("offset(0)", UNKNOWN, stale(LOG)),
    Case("metadata_version(3.7-IV2)", SATISFIED, view()),
    Case("metadata_version(3.7-IV2)", WAITING, seen(metadata_version=16)),
    Case("metadata_version(3.7-IV2)", WAITING, seen(metadata_version=None)),
    Case("metadata_version(3.7-IV2)", UNKNOWN, stale(LOG)),
    Case("broker_mode(3, kraft)", SATISFIED, view()),
    Case("broker_mode(3, kraft)", WAITING, seen(broker(3, Mode.MIGRATING))),
    Case("broker_mode(4, kraft)", WAITING, view()),
    Case("broker_mode(3, kraft)", UNKNOWN, stale(LOG)),
    Case("broker_mode(3, zookeeper)", SATISFIED, replace(ZK_TIME, settings=ZK_MODES)),
    Case("broker_mode(3, zookeeper)", WAITING, replace(view(), settings=ZK_MODES)),
    Case(
        "broker_mode(3, zookeeper)",
        WAITING,
        replace(ZK_TIME, settings=SettingsSeen(at_ms=NOW, modes={3: Mode.MIGRATING})),
    ),
    Case(
        "broker_mode(3, zookeeper)",
        UNKNOWN,
        replace(ZK_TIME, settings=SettingsSeen(at_ms=NOW, modes={}, silent={3: "refused"})),
    ),
    Case("broker_mode(3, zookeeper)", UNKNOWN, stale(SETTINGS, of=ZK_TIME)),
    Case(
        "broker_mode(3, zookeeper)",
        UNKNOWN,
        replace(ZK_TIME, settings=replace(ZK_MODES, at_ms=NOW - 1)),
    ),
    Case("broker_mode(3, zookeeper)", SATISFIED, replace(ZK_CLOCK_AHEAD, settings=ZK_MODES)),
    Case(
        "broker_mode(3, zookeeper)",
        UNKNOWN,
        replace(ZK_CLOCK_AHEAD, settings=replace(ZK_MODES, at_ms=NOW - 1)),
    ),
    Case("all_brokers(kraft)", SATISFIED, view()),
    Case("all_brokers(kraft)", WAITING, seen(broker(1), broker(2, Mode.MIGRATING))),
    Case("all_brokers(kraft)", WAITING, view(replace(SUMMARY, brokers=()))),
    Case("all_brokers(kraft)", UNKNOWN, stale(ZOOKEEPER)),
    Case("all_brokers(zookeeper)", SATISFIED, replace(ZK_TIME, settings=ZK_MODES)),
    Case("all_brokers(zookeeper)", WAITING, WITH_4_DOWN),
    Case("broker_supports(3, 3.7-IV2)", SATISFIED, seen(broker(3, supports=21))),
    Case("broker_supports(3, 3.7-IV2)", WAITING, seen(broker(3, supports=14))),
    Case("broker_supports(4, 3.7-IV2)", WAITING, view()),
    Case("broker_supports(3, 3.7-IV2)", UNKNOWN, seen(broker(3, supports=None))),
    Case("broker_supports(3, 3.7-IV2)", UNKNOWN, stale(LOG, of=seen(broker(3, supports=21)))),
    Case("no_kraft_broker", WAITING, stale(LOG, of=view(settings=ZK_MODES))),
    Case("no_kraft_broker", SATISFIED, replace(ZK_TIME, settings=ZK_MODES)),
    Case("no_kraft_broker", SATISFIED, seen(broker(1, Mode.MIGRATING), broker(2, Mode.MIGRATING))),
    Case("no_kraft_broker", WAITING, view()),
    Case("no_kraft_broker", WAITING, replace(view(), settings=ZK_MODES)),
    Case("no_kraft_broker", WAITING, stale(LOG)),
    Case("no_kraft_broker", UNKNOWN, stale(SETTINGS)),
    Case(
        "no_kraft_broker",
        UNKNOWN,
        replace(ZK_TIME, settings=SettingsSeen(at_ms=NOW, modes={1: Mode.MIGRATING})),
    ),
    Case("no_zookeeper_broker", SATISFIED, view()),
    Case("no_zookeeper_broker", SATISFIED, stale(ZOOKEEPER, of=seen(phase=Phase.FINALIZED))),
    Case("no_zookeeper_broker", WAITING, seen(broker(1), broker(2, Mode.MIGRATING))),
    Case("no_zookeeper_broker", WAITING, seen(zookeeper=zookeeper(brokers=zk_brokers(2)))),
    Case(
        "no_zookeeper_broker",
        WAITING,
        stale(
            ZOOKEEPER,
            of=seen(phase=Phase.FINALIZED, zookeeper=zookeeper(brokers=zk_brokers(2))),
        ),
    ),
    Case(
        "no_zookeeper_broker",
        SATISFIED,
        stale(
            ZOOKEEPER,
            of=seen(
                broker(1, registered_ms=NOW + 1),
                phase=Phase.FINALIZED,
                zookeeper=zookeeper(brokers=zk_brokers(1)),
            ),
        ),
    ),
    Case("no_zookeeper_broker", WAITING, view(replace(SUMMARY, brokers=()))),
    Case("no_zookeeper_broker", UNKNOWN, stale(ZOOKEEPER)),
    Case("broker_unfenced(3)", SATISFIED, view()),
    Case("broker_unfenced(3)", WAITING, seen(broker(3, fenced=True))),
    Case("broker_unfenced(3)", WAITING, seen(broker(3, in_controlled_shutdown=True))),
    Case("broker_unfenced(3)", WAITING, seen(broker(3, Mode.ZOOKEEPER, epoch=None))),
    Case("broker_unfenced(3)", UNKNOWN, stale(LOG)),
    Case("broker_unfenced(3)", SATISFIED, ZK_TIME),
    Case("broker_unfenced(4)", WAITING, ZK_TIME),
    Case("broker_unfenced(3)", UNKNOWN, stale(LOG, ZOOKEEPER, of=ZK_TIME)),
    Case("no_broker_fenced", SATISFIED, view()),
    Case("no_broker_fenced", WAITING, seen(broker(1), broker(3, fenced=True))),
    Case("no_broker_fenced", WAITING, view(replace(SUMMARY, brokers=()))),
    Case("no_broker_fenced", SATISFIED, replace(PRE_MIGRATION_RULED_BY_A_BROKER, summary=NOBODY)),
    Case("no_broker_fenced", WAITING, replace(view(), summary=replace(NOBODY, phase=Phase.HYBRID))),
    Case("no_broker_fenced", UNKNOWN, stale(LOG)),
    Case("assignments_complete(3)", SATISFIED, view()),
    Case("assignments_complete(3)", WAITING, seen(HELD)),
    Case("assignments_complete(3)", WAITING, seen(broker(3, Mode.MIGRATING))),
    Case("assignments_complete(3)", WAITING, seen(broker(1))),
    Case("assignments_complete(3)", VIOLATED, seen(STALLED)),
    Case("assignments_complete(3)", VIOLATED, seen(broker(3, replicas=counts(lost=1)))),
    Case("assignments_complete(3)", UNKNOWN, stale(LOG)),
    Case("nothing_held", SATISFIED, view()),
    Case("nothing_held", WAITING, seen(broker(1), HELD)),
    Case("nothing_held", WAITING, seen(replace(HELD, replicas=counts(lost=1)))),
    Case("nothing_held", WAITING, view(replace(SUMMARY, brokers=()))),
    Case("nothing_held", VIOLATED, seen(broker(1), STALLED)),
    Case("nothing_held", UNKNOWN, stale(LOG)),
    Case("nothing_held_but(3)", SATISFIED, seen(broker(1), STALLED)),
    Case("nothing_held_but(1)", WAITING, seen(broker(1), HELD)),
    Case("nothing_held_but(1)", VIOLATED, seen(broker(1), STALLED)),
    Case("nothing_held_but(1)", UNKNOWN, stale(LOG)),
    Case("log_dirs_online", SATISFIED, view()),
    Case("log_dirs_online", SATISFIED, in_zookeeper_time()),
    Case("log_dirs_online", WAITING, view(replace(SUMMARY, brokers=(), disks=all_disks()))),
    Case("log_dirs_online", VIOLATED, seen(disks=FAILED)),
    Case("log_dirs_online", UNKNOWN, seen(disks=SILENT)),
    Case("log_dirs_online", UNKNOWN, seen(disks=all_disks(disks(1), disks(2)))),
    Case("log_dirs_online", UNKNOWN, stale(DISKS)),
    Case("log_dirs_online", UNKNOWN, stale(ZOOKEEPER, of=in_zookeeper_time())),
    Case("log_dirs_online(1)", SATISFIED, seen(disks=SILENT)),
    Case("log_dirs_online(3)", VIOLATED, stale(DISKS, of=seen(disks=FAILED))),
    Case("log_dirs_online(3)", VIOLATED, seen(broker(3, replicas=counts(offline=2)))),
    Case("no_directory_move", SATISFIED, view()),
    Case("no_directory_move", SATISFIED, in_zookeeper_time()),
    Case("no_directory_move", WAITING, view(replace(SUMMARY, brokers=(), disks=all_disks()))),
    Case(
        "no_directory_move",
        UNKNOWN,
        seen(disks=all_disks(disks(1), disks(2), disks(3, directory("/d1", error=56)))),
    ),
    Case("no_directory_move", WAITING, seen(disks=MOVES)),
    Case("no_directory_move", WAITING, in_zookeeper_time(disks=MOVES)),
    Case("no_directory_move", VIOLATED, seen(disks=STUCK)),
    Case("no_directory_move", UNKNOWN, seen(disks=SILENT)),
    Case("no_directory_move", UNKNOWN, seen(disks=all_disks(disks(1), disks(2)))),
    Case("no_directory_move", UNKNOWN, stale(DISKS)),
    Case("no_directory_move", UNKNOWN, stale(DISKS, of=seen(disks=MOVES))),
    Case("no_directory_move", UNKNOWN, stale(ZOOKEEPER, of=in_zookeeper_time())),
    Case("no_directory_move", UNKNOWN, stale(LOG)),
    Case("no_directory_move(1)", SATISFIED, seen(disks=MOVES)),
    Case("no_directory_move(3)", WAITING, seen(disks=MOVES)),
    Case("no_directory_move(3)", VIOLATED, seen(disks=STUCK)),
    # A failed directory does not hide moves; what had its source there does not move any more.
    Case("no_directory_move(3)", SATISFIED, seen(disks=FAILED)),
    Case("no_directory_move(3)", SATISFIED, seen(disks=ABANDONED)),
    Case("no_directory_move(3)", UNKNOWN, seen(disks=all_disks(disks(3, DOUBTFUL)))),
    # A broker that is down moves nothing, but continues with its moves at its next start.
    Case("no_directory_move(3)", UNKNOWN, seen(disks=SILENT)),
    Case("no_directory_move(3)", SATISFIED, seen(FENCED, disks=SILENT)),
    Case("no_directory_move(3)", UNKNOWN, stale(LOG, of=seen(FENCED, disks=SILENT))),
    Case("no_directory_move(3)", UNKNOWN, seen(FENCED, disks=NEVER)),
    Case("no_directory_move(3)", UNKNOWN, seen(FENCED, disks=all_disks(disks(3, DOUBTFUL)))),
    Case("no_directory_move(3)", WAITING, seen(FENCED, disks=DOWN_IN_A_MOVE)),
    Case("log_dirs_registered(3, 2)", SATISFIED, view()),
    Case("log_dirs_registered(3, 3)", WAITING, view()),
    Case("log_dirs_registered(4, 1)", WAITING, view()),
    Case("log_dirs_registered(3, 1, 2)", SATISFIED, view()),
    Case("log_dirs_registered(3, 1, 1)", WAITING, view()),
    Case("log_dirs_registered(4, 0, 1)", WAITING, view()),
    Case("log_dirs_registered(3, 2)", UNKNOWN, stale(LOG)),
    Case("isr_full", SATISFIED, view()),
    Case("isr_full", SATISFIED, in_zookeeper_time()),
    Case("isr_full", WAITING, view(topics=BEHIND)),
    Case("isr_full", WAITING, seen(under_replicated=4)),
    Case("isr_full", WAITING, seen(leaderless=1)),
    Case("isr_full", UNKNOWN, stale(TOPICS)),
    Case("isr_full", UNKNOWN, stale(LOG)),
    Case("isr_full", UNKNOWN, seen(under_replicated=None)),
    Case("isr_full", UNKNOWN, view(topics=replace(REPORTED, partitions=31))),
    Case("isr_full", UNKNOWN, replace(ZK_TIME, topics=replace(REPORTED, partitions=31))),
    Case("isr_full(3)", UNKNOWN, replace(ZK_TIME, topics=replace(REPORTED, partitions=31))),
    Case("isr_full", SATISFIED, replace(ZK_TIME, topics=replace(REPORTED, partitions=33))),
    Case("isr_full", UNKNOWN, replace(ZK_TIME, topics=replace(REPORTED, controller=2))),
    Case("isr_full(3)", UNKNOWN, replace(ZK_TIME, topics=replace(REPORTED, controller=None))),
    Case("no_reassignment", UNKNOWN, replace(ZK_TIME, topics=replace(REPORTED, controller=2))),
    Case("isr_full", SATISFIED, view(topics=replace(REPORTED, controller=2))),
    Case(
        "isr_full",
        UNKNOWN,
        in_zookeeper_time(zookeeper=zookeeper(kraft=False, partitions=None)),
    ),
    Case("isr_full", UNKNOWN, stale(LOG, ZOOKEEPER, of=ZK_TIME)),
    Case("isr_full", UNKNOWN, stale(ZOOKEEPER, of=ZK_TIME)),
    Case("isr_full", UNKNOWN, PRE_MIGRATION_UNSEEN),
    Case("isr_full(1)", UNKNOWN, PRE_MIGRATION_UNSEEN),
    Case("no_reassignment", UNKNOWN, PRE_MIGRATION_UNSEEN),
    Case("isr_full", UNKNOWN, PRE_MIGRATION_NOT_CONFIGURED),
    Case("no_reassignment", UNKNOWN, PRE_MIGRATION_NOT_CONFIGURED),
    Case("isr_full", SATISFIED, PRE_MIGRATION_RULED_BY_A_BROKER),
    Case("no_reassignment", SATISFIED, PRE_MIGRATION_RULED_BY_A_BROKER),
    Case("isr_full", UNKNOWN, PRE_MIGRATION_TAKEN_OVER),
    Case("isr_full(1)", SATISFIED, view(topics=BEHIND)),
    Case("isr_full(3)", WAITING, view(topics=BEHIND)),
    Case("isr_full(3)", WAITING, seen(broker(3, under_replicated=1), under_replicated=1)),
    Case("isr_full(4)", WAITING, view()),
    Case("isr_full(3)", UNKNOWN, seen(broker(3, under_replicated=None))),
    Case("in_sync_elsewhere(2)", SATISFIED, view()),
    Case("in_sync_elsewhere(3)", SATISFIED, view(topics=ALONE)),
    Case("in_sync_elsewhere(2)", WAITING, view(topics=ALONE)),
    Case("in_sync_elsewhere(2)", WAITING, replace(ZK_TIME, topics=ALONE)),
    Case("in_sync_elsewhere(2)", UNKNOWN, replace(ZK_TIME, topics=replace(ALONE, controller=2))),
    Case("in_sync_elsewhere(2)", UNKNOWN, view(topics=replace(REPORTED, partitions=31))),
    Case("in_sync_elsewhere(2)", UNKNOWN, seen(under_replicated=4)),
    Case("in_sync_elsewhere(2)", UNKNOWN, seen(leaderless=1)),
    Case("in_sync_elsewhere(2)", SATISFIED, view(topics=BEHIND)),
    Case("in_sync_elsewhere(2)", UNKNOWN, stale(TOPICS)),
    Case("in_sync_elsewhere(2)", UNKNOWN, stale(LOG)),
    Case("in_sync_elsewhere(2)", UNKNOWN, stale(ZOOKEEPER, of=ZK_TIME)),
    Case("no_zookeeper_broker", UNKNOWN, seen(zookeeper=BROKER_UNREAD[3])),
    Case("all_brokers(kraft)", UNKNOWN, seen(zookeeper=BROKER_UNREAD[3])),
    Case("no_hazard(finalize)", UNKNOWN, seen(zookeeper=DUAL_WRITE_UNREAD)),
    Case("no_hazard(restart)", SATISFIED, seen(zookeeper=DUAL_WRITE_UNREAD)),
    Case("broker_unfenced(3)", UNKNOWN, ZK_TIME_UNREAD),
    Case(
        "no_zookeeper_broker",
        WAITING,
        stale(
            ZOOKEEPER,
            of=seen(broker(3, fenced=True), phase=Phase.FINALIZED, zookeeper=BROKER_UNREAD[3]),
        ),
    ),
    Case(
        "no_zookeeper_broker",
        SATISFIED,
        stale(ZOOKEEPER, of=seen(phase=Phase.FINALIZED, zookeeper=BROKER_UNREAD[3])),
    ),
    Case(
        "no_zookeeper_broker",
        WAITING,
        stale(ZOOKEEPER, of=seen(phase=Phase.FINALIZED, zookeeper=BROKER_UNREAD[7])),
    ),
    Case("all_brokers(zookeeper)", UNKNOWN, replace(ZK_TIME_UNREAD, settings=ZK_MODES)),
    Case("broker_mode(1, zookeeper)", SATISFIED, replace(ZK_TIME_UNREAD, settings=ZK_MODES)),
    Case("broker_mode(3, zookeeper)", UNKNOWN, replace(ZK_TIME_UNREAD, settings=ZK_MODES)),
    Case("no_reassignment", SATISFIED, view()),
    Case("no_reassignment", SATISFIED, in_zookeeper_time()),
    Case("no_reassignment", WAITING, seen(reassigning=1)),
    Case("no_reassignment", WAITING, replace(ZK_TIME, topics=MOVING)),
    Case(
        "no_reassignment",
        WAITING,
        in_zookeeper_time(zookeeper=zookeeper(kraft=False, reassigning=2)),
    ),
    Case(
        "no_reassignment",
        UNKNOWN,
        in_zookeeper_time(
            zookeeper=zookeeper(
                kraft=False,
                reassigning=0,
                unreadable={REASSIGN_PARTITIONS: "its content is not JSON"},
            )
        ),
    ),
    Case(
        "no_reassignment",
        WAITING,
        replace(
            in_zookeeper_time(
                zookeeper=zookeeper(kraft=False, unreadable={REASSIGN_PARTITIONS: "it is empty"})
            ),
            topics=MOVING,
        ),
    ),
    Case("no_reassignment", UNKNOWN, stale(LOG)),
    Case("no_reassignment", UNKNOWN, seen(reassigning=None)),
    Case("no_reassignment", UNKNOWN, stale(ZOOKEEPER, of=ROLLED_BACK)),
    Case("isr_full", UNKNOWN, stale(ZOOKEEPER, of=ROLLED_BACK)),
    Case("broker_unfenced(3)", UNKNOWN, stale(ZOOKEEPER, of=ROLLED_BACK)),
    Case("no_reassignment", SATISFIED, stale(ZOOKEEPER)),
    Case("no_reassignment", UNKNOWN, replace(ZK_TIME, topics=replace(REPORTED, reassigning=None))),
    Case("quorum_healthy", SATISFIED, view()),
    Case("quorum_healthy", WAITING, view(quorum=quorum(100, 60_000))),
    Case("quorum_healthy", VIOLATED, view(quorum=quorum(100, 60_001))),
    Case("quorum_healthy", WAITING, view(quorum=quorum(100, None))),
    Case("quorum_healthy", WAITING, never_caught_up(led_ms=60_000)),
    Case("quorum_healthy", VIOLATED, never_caught_up(led_ms=60_001)),
    Case("quorum_healthy", WAITING, never_caught_up(led_ms=60_001, leader_epoch=6)),
    Case("quorum_healthy", WAITING, view(quorum=quorum(100, answering=3))),
    Case("quorum_healthy", WAITING, view(quorum=quorum(leader=None, voters=()))),
    Case("quorum_healthy", WAITING, view(quorum=quorum(silent={"c3:9093": "timed out"}))),
    Case("quorum_healthy", UNKNOWN, stale(QUORUM)),
    Case("quorum_healthy", UNKNOWN, view(quorum=None)),
    Case("controllers_answer", SATISFIED, view()),
    Case("controllers_answer", SATISFIED, view(quorum=STOPPED)),
    Case("controllers_answer", WAITING, view(quorum=quorum(silent={"c3:9093": "timed out"}))),
    Case("controllers_answer", UNKNOWN, view(quorum=replace(STOPPED, refused=()))),
    Case("controllers_answer", UNKNOWN, stale(QUORUM)),
    Case("controllers_stopped", WAITING, view()),
    Case("controllers_stopped", SATISFIED, view(quorum=STOPPED, configured=frozenset())),
    Case("controllers_stopped", SATISFIED, log_of_stopped(last_reply_ms=NOW - 15_001)),
    Case("controllers_stopped", SATISFIED, log_of_stopped(waiting="c1:9093 refused")),
    Case("controllers_stopped", WAITING, log_of_stopped(last_reply_ms=NOW - 15_000)),
    Case("controllers_stopped", UNKNOWN, log_of_stopped()),  # it has just started
    Case(
        "controllers_stopped",
        UNKNOWN,
        log_of_stopped(observed_ms=NOW - 20_000, last_reply_ms=NOW - 20_000),
    ),
    Case(
        "controllers_stopped",
        UNKNOWN,
        view(quorum=quorum(leader=None, voters=(), answering=0, silent={"c1:9093": "timed out"})),
    ),
    Case("controllers_registered(3)", SATISFIED, view()),
    Case("controllers_registered(4)", WAITING, view()),
    Case("controllers_registered(3)", UNKNOWN, seen(controllers=None)),
    Case("controllers_registered(3)", UNKNOWN, stale(LOG)),
    Case("controllers_registered(3)", UNKNOWN, stale(QUORUM)),
    Case("controllers_registered(3)", UNKNOWN, view(quorum=quorum(leader=None, voters=()))),
    Case(  # 3002 is registered and left the quorum
        "controllers_registered(3)", WAITING, view(quorum=quorum(100))
    ),
    Case("controller_mode(3000, migration)", SATISFIED, view()),
    Case("controller_mode(3000, kraft)", WAITING, view()),
    Case("controller_mode(3000, kraft)", SATISFIED, seen(controllers=(KRAFT_CONTROLLER,))),
    Case("controller_mode(3005, kraft)", WAITING, view()),
    Case("controller_mode(3000, kraft)", UNKNOWN, seen(controllers=None)),
    Case("controller_caught_up(3001)", SATISFIED, view()),
    Case("controller_caught_up(3001)", WAITING, view(quorum=quorum(60_000))),
    Case("controller_caught_up(3005)", VIOLATED, view()),
    Case("controller_caught_up(3001)", UNKNOWN, stale(QUORUM)),
    Case("zookeeper_seen", SATISFIED, view()),
    Case("zookeeper_seen", UNKNOWN, seen(zookeeper=zookeeper(blind_since_ms=NOW))),
    Case("zookeeper_seen", UNKNOWN, stale(ZOOKEEPER)),
    Case("zookeeper_seen", UNKNOWN, view(sources={ZOOKEEPER: limited("topics are polled")})),
    Case("zookeeper_seen", SATISFIED, view(sources={LOG: limited("x"), ZOOKEEPER: limited()})),
    Case("zookeeper_seen", UNKNOWN, missed(1000)),
    Case("zookeeper_seen", SATISFIED, missed(1001)),
    Case("zookeeper_seen", UNKNOWN, stale(DISKS, of=missed(60_000))),
    Case("zk_controller(kraft)", SATISFIED, view()),
    Case("zk_controller(zookeeper)", WAITING, view()),
    Case("zk_controller(zookeeper)", SATISFIED, in_zookeeper_time()),
    Case("zk_controller(kraft)", WAITING, seen(zookeeper=zookeeper(controller=None))),
    Case(
        "zk_controller(kraft)",
        UNKNOWN,
        seen(zookeeper=zookeeper(unreadable={"/controller": "it is empty"})),
    ),
    Case("no_migration_znode", SATISFIED, in_zookeeper_time()),
    Case("no_migration_znode", WAITING, view()),
    Case(
        "no_migration_znode",
        WAITING,
        seen(zookeeper=zookeeper(unreadable={"/migration": "it is empty"})),
    ),
    Case("no_migration_znode", UNKNOWN, stale(ZOOKEEPER)),
    Case("dual_write_alive", SATISFIED, view()),
    Case("dual_write_alive", UNKNOWN, seen(zookeeper=zookeeper(migration=OF_THE_FUTURE))),
    Case("no_hazard(finalize)", UNKNOWN, seen(zookeeper=zookeeper(migration=OF_THE_FUTURE))),
    Case("no_hazard(finalize)", UNKNOWN, seen(content=Compared())),
    Case("no_hazard(content_differs)", UNKNOWN, seen(content=Compared())),
    Case("no_hazard(finalize)", UNKNOWN, seen(places=Compared())),
    Case("no_hazard(replica_not_on_disk)", UNKNOWN, seen(places=Compared())),
    Case("no_hazard(replica_misplaced)", UNKNOWN, seen(places=COMPARED_LONG_AGO)),
    Case("no_hazard(replica_not_in_metadata)", UNKNOWN, seen(places=COMPARED_LONG_AGO)),
    Case("no_hazard(restart)", SATISFIED, seen(places=Compared())),
    Case("no_hazard(finalize)", UNKNOWN, seen(content=COMPARED_LONG_AGO)),
    Case("dual_write_alive", WAITING, seen(phase=Phase.COPYING)),
    Case("dual_write_alive", VIOLATED, seen(phase=Phase.FINALIZED)),
    Case("dual_write_alive", VIOLATED, silent(due=1440)),
    Case("dual_write_alive", SATISFIED, silent(due=1439)),
    Case("dual_write_alive", VIOLATED, silent(due=1430, end=1439)),
    Case("dual_write_alive", SATISFIED, silent(due=1430, end=1440)),
    Case("dual_write_alive", UNKNOWN, silent(due=None)),
    Case("no_hazard(dual_write_stuck)", UNKNOWN, silent(due=None)),
    Case("dual_write_alive", UNKNOWN, stale(LOG, of=silent(due=1439))),
    Case("dual_write_alive", VIOLATED, seen(zookeeper=OVERTAKEN)),
    Case("dual_write_alive", UNKNOWN, stale(ZOOKEEPER)),
    Case("content_equal", SATISFIED, view()),
    Case("content_equal", SATISFIED, seen(content=replace(COMPARED, closed=("brokers",)))),
    Case("content_equal", WAITING, seen(content=replace(COMPARED, differing=2))),
    Case("content_equal", VIOLATED, seen(content=DIFFERENT)),
    Case("content_equal", UNKNOWN, seen(content=Compared())),
    Case("content_equal", UNKNOWN, seen(content=UNREAD)),
    Case("content_equal", VIOLATED, seen(content=replace(UNREAD, lasting=DIFFERENT.lasting))),
    Case("content_equal", UNKNOWN, seen(content=COMPARED_LONG_AGO)),
    Case("content_equal", UNKNOWN, seen(content=replace(COMPARED, at_ms=NOW + 200_000))),
    Case("content_equal", UNKNOWN, stale(ZOOKEEPER)),
    Case("disks_agree", SATISFIED, view()),
    Case("disks_agree", WAITING, seen(places=replace(COMPARED, differing=2))),
    Case("disks_agree", UNKNOWN, seen(places=replace(COMPARED, differing=2, unlisted=("t",)))),
    Case("disks_agree", VIOLATED, seen(places=replace(DIFFERENT, unlisted=("t",)))),
    Case("disks_agree", VIOLATED, seen(places=DIFFERENT)),
    Case("disks_agree", UNKNOWN, stale(DISKS)),
    Case("disks_agree", UNKNOWN, seen(disks=SILENT)),
    Case("disks_agree", UNKNOWN, seen(disks=NEVER)),
    Case("disks_agree", UNKNOWN, seen(disks=UNDESCRIBED)),
    Case("disks_agree", UNKNOWN, seen(disks=FAILED)),
    Case("disks_agree", UNKNOWN, seen(disks=VANISHED)),
    Case("disks_agree", UNKNOWN, seen(disks=all_disks(disks(1), disks(2)))),
    Case("disks_agree", UNKNOWN, seen(places=replace(COMPARED, unclear=((3, "/d2"),)))),
    Case("disks_agree", VIOLATED, seen(places=replace(DIFFERENT, unclear=((3, "/d2"),)))),
    Case("disks_agree", WAITING, seen(places=replace(COMPARED, brokers=(1, 2)))),
    Case("disks_agree", WAITING, seen(*BROKERS[:2], broker(3, registered_ms=NOW - 10_000))),
    Case("disks_agree", WAITING, seen(*BROKERS[:2], broker(3, registered_ms=NOW - 39_000))),
    Case("disks_agree", SATISFIED, seen(*BROKERS[:2], broker(3, registered_ms=NOW - 40_000))),
    Case("disks_agree", SATISFIED, seen(*BROKERS[:2], disks=all_disks(disks(1), disks(2)))),
    *(
        Case("disks_agree", verdict, registered(ago_ms, ahead_ms=ahead_ms))
        for verdict, ago_ms in ((WAITING, 39_000), (SATISFIED, 40_000))
        for ahead_ms in (3_600_000, -3_600_000)
    ),
    Case("no_hazard(restart, 3)", SATISFIED, view()),
    Case("no_hazard(restart, 3)", SATISFIED, in_zookeeper_time()),
    Case("no_hazard(restart, 3)", WAITING, seen(SERVES_EARLY)),
    Case("no_hazard(restart, 3)", UNKNOWN, seen(*BROKERS, disks=UNDESCRIBED)),
    Case("no_hazard(restart, 2)", SATISFIED, seen(*BROKERS, disks=UNDESCRIBED)),
    Case("no_hazard(restart, 3)", VIOLATED, seen(*BROKERS[:2], HELD, disks=FAILED)),
    Case("no_hazard(restart, 3)", VIOLATED, stale(DISKS, of=seen(HELD, disks=FAILED))),
    Case("no_hazard(restart, 1)", SATISFIED, seen(*BROKERS[:2], HELD, disks=FAILED)),
    Case("no_hazard(restart)", VIOLATED, seen(*BROKERS[:2], HELD, disks=FAILED)),
    Case("no_hazard(restart, 3)", UNKNOWN, stale(DISKS)),
    Case("no_hazard(restart, 3)", UNKNOWN, stale(LOG)),
    Case("no_hazard(restart, 3)", UNKNOWN, seen(disks=None)),
    Case("no_hazard(restart, 3)", SATISFIED, seen(disks=MOVES)),
    Case("no_hazard(restart, 3)", UNKNOWN, seen(disks=MOVES, places=Compared())),
    Case("no_hazard(restart, 1)", SATISFIED, seen(disks=MOVES, places=Compared())),
    Case("no_hazard(restart, 3)", UNKNOWN, seen(*BROKERS[:2], HELD, disks=DOWN)),
    Case("no_hazard(restart, 1)", SATISFIED, seen(*BROKERS[:2], HELD, disks=DOWN)),
    Case("no_hazard(restart, 3)", SATISFIED, seen(disks=DOWN)),
    Case("no_hazard(restart, 3)", SATISFIED, seen(*BROKERS[:2], HELD, disks=DOWN_AND_READ)),
    Case("no_hazard(restart, 3)", UNKNOWN, rolling_back(disks=DOWN)),
    Case("no_hazard(restart, 1)", SATISFIED, rolling_back(disks=DOWN)),
    Case("no_hazard(restart, 3)", SATISFIED, rolling_back(disks=DOWN_AND_READ)),
    Case("no_hazard(restart, 3)", UNKNOWN, in_zookeeper_time(disks=DOWN)),
    Case("no_hazard(restart, 3)", UNKNOWN, in_zookeeper_time(brokers=WITHOUT_3, disks=DOWN)),
    Case("no_hazard(restart, 1)", SATISFIED, in_zookeeper_time(disks=DOWN)),
    Case("no_hazard(restart, 3)", SATISFIED, in_zookeeper_time(disks=DOWN_AND_READ)),
    Case("no_hazard(restart, 3)", UNKNOWN, missed(60_000, disks=DOWN)),
    Case("no_hazard(restart, 1)", SATISFIED, missed(60_000, disks=DOWN)),
    Case("no_hazard(migrate)", UNKNOWN, seen(zookeeper=NOT_READ)),
    Case("no_hazard(restart, 3)", UNKNOWN, seen(zookeeper=NOT_READ)),
    Case("no_hazard(dual_write_stuck)", UNKNOWN, seen(zookeeper=NOT_READ)),
    Case("no_hazard(records_lost)", SATISFIED, seen(zookeeper=NOT_READ)),
    *(
        Case(f"no_hazard({subject})", verdict, then)
        for subject in ("stale_migration_znode", "dual_write_stuck", "content_differs")
        for verdict, then in (
            (SATISFIED, stale(LOG, of=NEVER_LED)),  # whatever the log has, nothing was copied
            (UNKNOWN, stale(LOG, ZOOKEEPER, of=NEVER_LED)),
            (UNKNOWN, stale(LOG, of=TAKEN_OVER)),
        )
    ),
    Case("no_hazard(migrate)", UNKNOWN, stale(LOG, of=NEVER_LED)),
    Case("no_hazard(stale_migration_znode)", VIOLATED, stale(LOG, of=LEFT_BEHIND)),
    Case("no_hazard(dual_write_stuck)", UNKNOWN, stale(LOG, of=LEFT_BEHIND)),
    Case("no_hazard(restart, 3)", SATISFIED, seen(jmx=JmxImage())),
    Case("no_hazard(restart, 3)", UNKNOWN, stale(DataSource.JMX, of=seen(jmx=JmxImage()))),
    Case("no_hazard(restart, 3)", UNKNOWN, stale(DataSource.JMX)),
    Case("no_hazard(finalize)", WAITING, seen(broker(1), broker(2, Mode.MIGRATING))),
    Case("no_hazard(content_differs)", VIOLATED, seen(content=DIFFERENT)),
    Case("no_hazard(content_differs)", UNKNOWN, seen(content=UNREAD)),
    Case("no_hazard(finalize)", UNKNOWN, seen(content=UNREAD)),
    Case("no_hazard(restart)", SATISFIED, seen(content=UNREAD)),
    Case("preflight_passed", SATISFIED, view()),
    Case(
        "preflight_passed",
        VIOLATED,
        view(
            preflight=PreflightSeen(
                at_ms=NOW, checks=40, blocking=(CheckSeen(id="isr", text="not full"),)
            )
        ),
    ),
    Case("preflight_passed", UNKNOWN, view(preflight=None)),
    Case("soak(10m)", SATISFIED, view()),
    Case("soak(10m)", WAITING, view(satisfied_since_ms=NOW - 599_999)),
    Case("soak(10m)", WAITING, view(satisfied_since_ms=None)),
    Case("soak(10m)", UNKNOWN, view(not_current=ALL_STALE)),
)  # fmt: skip

CONDITIONS = [parse(text) for text in sorted({case.text for case in CASES})]
_JUDGED = [(parse(case.text).name, case.verdict) for case in CASES]
CAN: Mapping[str, frozenset[Verdict]] = {
    doc.name: frozenset(verdict for name, verdict in _JUDGED if name == doc.name) for doc in known()
}


WARNED = PreflightSeen(at_ms=NOW, checks=40, warning=(CheckSeen(id="isr", text="not full"),))


UNANSWERED = CheckSeen(id="brokers-reachable", text="data is missing: refused", is_unknown=True)


@pytest.mark.parametrize(
    ("blocking", "verdict"),
    [
        ((UNANSWERED, UNANSWERED), UNKNOWN),
        ((UNANSWERED, CheckSeen(id="isr", text="not full")), VIOLATED),
    ],
)
def test_checks_that_are_only_unknown_violate_nothing(
    blocking: tuple[CheckSeen, ...], verdict: Verdict
) -> None:
    seen = PreflightSeen(at_ms=NOW, checks=40, blocking=blocking)
    found = parse("preflight_passed").judge(view(preflight=seen))
    assert found.verdict is verdict
    assert "brokers-reachable: data is missing: refused" in found.evidence
    if verdict is UNKNOWN:
        assert found.reason == "brokers-reachable: data is missing: refused"


def test_a_gate_that_preflight_opens_names_what_it_warns_of() -> None:
    found = parse("preflight_passed").judge(view(preflight=WARNED))
    assert found.verdict is SATISFIED
    assert "isr" in found.reason
    assert found.evidence == ("isr: not full",)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.text}-{case.verdict}")
def test_a_condition_is_judged(case: Case) -> None:
    found = parse(case.text).judge(case.view)
    assert found.verdict is case.verdict, found
    assert found.condition == parse(case.text).text
    assert found.reason


@pytest.mark.parametrize("name", sorted(CAN))
def test_every_condition_has_a_case_for_satisfied_and_unknown(name: str) -> None:
    assert {SATISFIED, UNKNOWN} <= CAN[name]


@settings(deadline=None)
@given(views())
def test_no_condition_gives_a_verdict_that_has_no_case(any_view: View) -> None:
    for condition in CONDITIONS:
        found = condition.judge(any_view)
        assert found.verdict in CAN[condition.name], found


def test_a_reason_names_brokers_numbers_and_the_source_that_is_missing() -> None:
    def reason(text: str, of: View) -> str:
        return parse(text).judge(of).reason

    assert reason("nothing_held", seen(broker(1), HELD)) == "held: 3"
    assert (
        reason("assignments_complete(3)", seen(STALLED))
        == "broker 3 has 2 replicas without a directory, and makes no progress"
    )
    assert reason("log_dirs_online(3)", seen(disks=FAILED)) == "broker 3: /d2 is offline"
    assert (
        reason("isr_full", view(topics=BEHIND)) == "4 partitions under-replicated, by the brokers"
    )
    assert reason("isr_full", seen(under_replicated=1, reassigning=2)) == (
        "1 partition under-replicated, by the metadata log; 2 partitions being reassigned"
    )
    for name in ("controllers_answer", "controllers_stopped"):
        # The last address cannot be removed: without one, nothing would show that it is stopped.
        off = quorum(leader=None, voters=(), answering=0, silent={"c1:9093": "timed out"})
        assert "`controllers.bootstrap` must keep an address" in reason(name, view(quorum=off))
        others = replace(off, refused=("c2:9093",))
        assert "remove its address from `controllers.bootstrap`" in reason(
            name, view(quorum=others)
        )
    assert reason("isr_full", stale(TOPICS)) == "the partition state: no answer was received"
    assert reason("no_hazard(restart, 3)", seen(HELD, disks=FAILED)).startswith(
        "broker 3 must not be restarted: its log directory /d2 is offline"
    )


def test_the_reason_names_a_partition_that_only_lacks_a_leader() -> None:
    named = ("orders-3: no leader, replicas [2], ISR [2]",)
    lost = replace(REPORTED, leaderless=1, odd=1, named=named)
    found = parse("isr_full").judge(view(topics=lost))
    assert found.reason == f"1 partition without a leader, by the brokers: {named[0]}"


def test_the_worst_verdict_of_several_counts() -> None:
    conditions = [parse(each) for each in ("finalized", "nothing_held", "isr_full")]
    assert verdict_of(judge_all(conditions, seen(phase=Phase.FINALIZED))) is SATISFIED
    assert verdict_of(judge_all(conditions, view())) is WAITING
    assert verdict_of(judge_all(conditions, stale(TOPICS))) is UNKNOWN
    assert verdict_of(judge_all(conditions, stale(TOPICS, of=seen(STALLED)))) is VIOLATED
    assert verdict_of([]) is UNKNOWN


def test_what_is_closed_to_us_does_not_close_the_gate_and_is_named() -> None:
    closed = seen(content=replace(COMPARED, closed=("brokers",)))
    found = parse("content_equal").judge(closed)
    assert found.verdict is SATISFIED
    assert "not compared, because access is denied: settings of brokers" in found.evidence


@pytest.mark.parametrize(
    ("content", "verdict"),
    [(COMPARED_LONG_AGO, UNKNOWN), (COMPARED, UNKNOWN), (DIFFERENT, VIOLATED)],
)
def test_a_reading_that_failed_makes_the_comparison_before_it_unknown(
    content: Compared, verdict: Verdict
) -> None:
    """Such as one that an ACL refuses: what the controller writes since then is not compared."""
    failed = replace(limited(), waiting="the next reading; the last one failed: NoAuth")
    before = replace(seen(content=content), sources={ZOOKEEPER: failed})
    found = parse("content_equal").judge(before)
    assert found.verdict is verdict
    if verdict is UNKNOWN:
        assert str(failed.waiting) in f"{found.reason} {found.evidence}"


def test_a_directory_that_can_no_longer_be_described_does_not_end_its_hazard() -> None:
    now = replace(seen(*BROKERS[:2], HELD, disks=UNDESCRIBED), configured=frozenset(FOLLOWED))
    assert not is_hazard_over(now, "restart_loses_replicas", 3, NOW)
    assert is_hazard_over(now, "restart_loses_replicas", 2, NOW)

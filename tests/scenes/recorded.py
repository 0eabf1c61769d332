"""The recorded scenes, by name: each is a moment of a migration that an operator can meet."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from migration.assessment.conditions import Verdict
from migration.image.summary import BrokerSummary, ClusterSummary, Mode, Phase
from migration.metadata.events import Event
from migration.observed.log_dirs import STORAGE_ERROR, BrokerDisks, CutOff, DisksImage
from migration.observed.source_status import SourceStatus
from orchestrator.audit.execution.entries import RecordedFinding
from orchestrator.audit.execution.state import Stage
from orchestrator.run.execution_status import CheckpointStatus, ExecutionStatus
from tests.migration.assessment.conditions.views import (
    COMPARED,
    ZOOKEEPER_TIME,
    all_disks,
    controller,
    directory,
    disks,
    migration,
    moves,
    zk_brokers,
    zookeeper,
)
from tests.orchestrator.views.console import sample
from tests.orchestrator.views.metrics.test_walk import WALK_TOLD, place
from tests.orchestrator.views.report.making import T
from tests.orchestrator.views.report.night import night
from tests.scenes.night import (
    FRESH,
    NOW_MS,
    cluster,
    held,
    kraft,
    migrating,
    progress,
    replicas,
)
from tests.scenes.state_directory import ClusterScene, Scene, Written, write

MINUTE_MS: Final = 60_000
CONFIGURED: Final[Mapping[str, str]] = {
    "zookeeper": "{connect: 'zk1:2181'}",
    "controllers": "{bootstrap: 'c1:9093'}",
    "brokers": "{bootstrap: 'b1:9092'}",
}
_NO_BROKERS: Final = {each: text for each, text in CONFIGURED.items() if each != "brokers"}
RUNBOOK: Final = {**CONFIGURED, "runbook": "{file: zk-to-kraft-jbod}"}
JMX: Final = {**RUNBOOK, "jmx": "{exporters: {'3000': 'http://c1:7071/metrics'}}"}
ANSWERS: Final = SourceStatus(observed_ms=NOW_MS - 200, last_reply_ms=NOW_MS - 400)
STATUSES: Final[Mapping[str, SourceStatus]] = {
    "source": FRESH,
    "zookeeper": ANSWERS,
    "log_dirs": ANSWERS,
}
_SEEN_MS: Final = 30 * MINUTE_MS


def summary(phase: Phase, *brokers: BrokerSummary, **changes: object) -> ClusterSummary:
    """A cluster of which every source is known."""
    in_order = replace(
        cluster(phase, *brokers),
        zookeeper=zookeeper(migration=migration()),
        disks=all_disks(*(disks(each.id) for each in brokers)),
        content=COMPARED,
        places=COMPARED,
        under_replicated=0,
        leaderless=0,
        reassigning=0,
        controllers=(controller(3000), controller(3001), controller(3002)),
    )
    return replace(in_order, **changes)  # type: ignore[arg-type]


def one(of: ClusterSummary | None, *, watched_ms: int = 20_000, **changes: object) -> Scene:
    """A scene of one cluster, with every source current unless `changes` says otherwise."""
    events = () if of is None or of.metadata_offset is None else (_phase(of.phase),)
    well = ClusterScene(
        name="prod", configured=RUNBOOK, summary=of, events=events, statuses=STATUSES
    )
    changed = replace(well, **changes)  # type: ignore[arg-type]
    return Scene(clusters=(changed,), now_ms=NOW_MS, watched_ms=watched_ms)


def _phase(phase: Phase, before_ms: int = _SEEN_MS) -> Event:
    return Event(
        offset=412,
        timestamp_ms=NOW_MS - before_ms,
        kind="phase_changed",
        fields={"was": "copying", "now": str(phase)},
        seen_ms=NOW_MS - before_ms + 100,
    )


def _failed(id_: int, replicas_: int = 16) -> BrokerDisks:
    """The directories of a broker of which the first has failed."""
    lost = CutOff(since_ms=NOW_MS - 10 * MINUTE_MS, replicas=replicas_, sole=2, bytes=0, named=())
    bad = directory("/d1", error=STORAGE_ERROR, replicas=0)
    return disks(id_, bad, directory("/d2"), cut_off={"/d1": lost})


def _disks(failed: int, *ids: int) -> DisksImage:
    return all_disks(*(_failed(each) if each == failed else disks(each) for each in ids))


def _unreported(failed: int, *ids: int) -> DisksImage:
    """A directory failed 12 s ago, and no controller knows it."""
    since_ms, image = NOW_MS - 12_000, _disks(failed, *ids)
    one = image.brokers[failed]
    offline = {path: replace(each, since_ms=since_ms) for path, each in one.cut_off.items()}
    changed = replace(
        one,
        cut_off=offline,
        offline_since_ms=dict.fromkeys(offline, since_ms),
        failure_timeout_ms=30_000,
    )
    return replace(image, brokers={**image.brokers, failed: changed})


SETTLED: Final = {"registered_ms": NOW_MS - _SEEN_MS}
"""Of brokers that were restarted long before the scene."""
HELD: Final = summary(Phase.HYBRID, kraft(1, **SETTLED), migrating(2, **SETTLED), held(3))
STALLED: Final = held(
    3,
    registered_ms=NOW_MS - 20 * MINUTE_MS,
    unfenced_ms=NOW_MS - 20 * MINUTE_MS + 100,
    progress=progress((1_190_000, 22), (900_000, 30)),
)
DUAL_WRITE: Final = summary(Phase.DUAL_WRITE, kraft(1, **SETTLED), kraft(2, **SETTLED))
FINALIZED: Final = summary(
    Phase.FINALIZED,
    kraft(1, **SETTLED),
    kraft(2, **SETTLED),
    zookeeper=zookeeper(migration=migration(-1)),
)
REVERTED: Final = summary(
    Phase.HYBRID,
    kraft(1, **SETTLED),
    migrating(2, reverted=True),
    migrating(3, reverted=True),
)


def _found(
    verdict: Verdict, condition: str, reason: str, broker: int | None = None
) -> RecordedFinding:
    return RecordedFinding(condition=condition, verdict=verdict, reason=reason, broker=broker)


def _at(checkpoint: str, stage: Stage, title: str, **changes: object) -> ExecutionStatus:
    """An execution at a checkpoint of the bundled runbook, with one pending condition."""
    passed = CheckpointStatus(
        id="copied",
        stage=Stage.PASSED,
        how="opened",
        entered_ms=NOW_MS - 20 * MINUTE_MS,
        ended_ms=NOW_MS - 15 * MINUTE_MS,
    )
    here = place(checkpoint, NOW_MS - 5 * MINUTE_MS).model_copy(update={"stage": stage})
    pending = (
        _found(Verdict.WAITING, "nothing_held", "broker 3 is held", 3),
        _found(Verdict.SATISFIED, "isr_full", "every ISR is full"),
    )
    given: dict[str, object] = {
        "checkpoint": checkpoint,
        "stage": stage,
        "title": title,
        "places": (passed, here),
        "findings": pending,
        "holds": ("nothing_held: broker 3 is held",),
        "finalize_is_near": False,
        "place": "checkpoint 5 of 9, broker 3 of 3",
        "can": ("skip", "rollback", "pause", "abort"),
    }
    return WALK_TOLD.model_copy(update={**given, **changes})


def _two_clusters() -> Scene:
    (prod,) = one(HELD).clusters
    (done,) = one(FINALIZED, configured=CONFIGURED).clusters
    return Scene(clusters=(prod, replace(done, name="analytics")), now_ms=NOW_MS, watched_ms=20_000)


def _statuses(**changed: SourceStatus) -> Mapping[str, SourceStatus]:
    return {**STATUSES, **changed}


def _silent(by_ms: int) -> Mapping[str, SourceStatus]:
    return {
        name: replace(each, observed_ms=NOW_MS - by_ms, last_reply_ms=NOW_MS - by_ms)
        for name, each in STATUSES.items()
    }


def _sample() -> Scene:
    """The console's sample: racks, hosts, JMX and a directory that failed."""
    moment = sample.Moment(
        now_ms=NOW_MS,
        began_ms=NOW_MS - 40 * MINUTE_MS,
        moving=3,
        registered_ms=NOW_MS - 40_000,
    )
    shape = replace(sample.SMALL, offline=frozenset({2}), silent=frozenset({4}))
    statuses = _statuses(jmx=ANSWERS)
    return one(sample.cluster(shape, moment), configured=JMX, statuses=statuses)


_BLIND: Final = zookeeper(migration=migration(), blind_since_ms=NOW_MS - 2 * MINUTE_MS)
_SOAK: Final = _at(
    "soak",
    Stage.ENTERED,
    "Soak in dual write",
    findings=(_found(Verdict.WAITING, "soak(7d)", "held for 5 min of 7 d"),),
    holds=("soak(7d): held for 5 min of 7 d",),
)
_SCENES: Final[Mapping[str, Callable[[], Scene]]] = {
    "held": lambda: one(HELD),
    "held_stalled": lambda: one(
        summary(Phase.HYBRID, kraft(1, **SETTLED), migrating(2, **SETTLED), STALLED),
        watched_ms=10 * MINUTE_MS,
    ),
    "sample": _sample,
    "failed_directory_zookeeper": lambda: one(
        replace(ZOOKEEPER_TIME, disks=_disks(2, 1, 2, 3)),
        watched_ms=5 * MINUTE_MS,
        statuses=_statuses(source=SourceStatus(observed_ms=NOW_MS, waiting="c1:9093: refused")),
    ),
    "failed_directory_migrating": lambda: one(
        summary(
            Phase.HYBRID,
            kraft(1, **SETTLED),
            migrating(2, log_dirs=("AQEBAQEBAQEBAQEBAQEBAQ",), **SETTLED),
            disks=_disks(2, 1, 2),
        ),
        watched_ms=5 * MINUTE_MS,
    ),
    "failed_directory_held": lambda: one(
        summary(
            Phase.HYBRID,
            kraft(1, **SETTLED),
            held(3, log_dirs=("AQEBAQEBAQEBAQEBAQEBAQ",)),
            disks=_disks(3, 1, 3),
        ),
    ),
    "failed_directory_kraft": lambda: one(
        summary(
            Phase.KRAFT,
            kraft(1, **SETTLED),
            kraft(
                2,
                log_dirs=("AQEBAQEBAQEBAQEBAQEBAQ",),
                replicas=replicas(assigned=16, offline=16),
                unregistered={"AgICAgICAgICAgICAgICAg": NOW_MS - 11 * MINUTE_MS},
                under_replicated=16,
                **SETTLED,
            ),
            disks=_disks(2, 1, 2),
            zookeeper=None,
            under_replicated=16,
        ),
        watched_ms=5 * MINUTE_MS,
    ),
    "failed_directory_notified": lambda: one(
        replace(
            ZOOKEEPER_TIME,
            disks=None,
            zookeeper=zookeeper(
                kraft=False,
                brokers=zk_brokers(1, 3),
                notified={2: NOW_MS - 5 * MINUTE_MS},
                missed_ms=NOW_MS,
            ),
        ),
        watched_ms=5 * MINUTE_MS,
        configured=_NO_BROKERS,
        statuses={
            "source": SourceStatus(observed_ms=NOW_MS, waiting="c1:9093: refused"),
            "zookeeper": ANSWERS,
        },
    ),
    "failed_directory_unregistered": lambda: one(
        summary(
            Phase.KRAFT,
            kraft(1, **SETTLED),
            kraft(
                2,
                log_dirs=("AQEBAQEBAQEBAQEBAQEBAQ",),
                replicas=replicas(assigned=16, offline=16),
                directories={"AQEBAQEBAQEBAQEBAQEBAQ": 16, "AgICAgICAgICAgICAgICAg": 16},
                unregistered={"AgICAgICAgICAgICAgICAg": NOW_MS - 5 * MINUTE_MS},
                under_replicated=16,
                **SETTLED,
            ),
            disks=None,
            zookeeper=None,
            under_replicated=16,
        ),
        watched_ms=5 * MINUTE_MS,
        configured={"controllers": CONFIGURED["controllers"]},
        statuses={"source": FRESH},
    ),
    "failed_directory_unreported": lambda: one(
        summary(
            Phase.KRAFT,
            kraft(1, **SETTLED),
            kraft(2, log_dirs=("AQEBAQEBAQEBAQEBAQEBAQ", "AgICAgICAgICAgICAgICAg"), **SETTLED),
            disks=_unreported(2, 1, 2),
            zookeeper=None,
        ),
        watched_ms=5 * MINUTE_MS,
    ),
    "directory_move_stuck": lambda: one(
        summary(
            Phase.KRAFT,
            kraft(1, **SETTLED),
            kraft(2, **SETTLED),
            disks=all_disks(disks(1), moves(2, polls=3)),
            zookeeper=None,
        ),
        watched_ms=5 * MINUTE_MS,
    ),
    "unknown_nothing_seen": lambda: one(None, statuses={}),
    "unknown_not_configured": lambda: one(
        replace(HELD, zookeeper=None, disks=None),
        configured={"controllers": CONFIGURED["controllers"]},
        statuses={"source": FRESH},
    ),
    "unknown_no_controllers": lambda: one(
        ZOOKEEPER_TIME,
        configured={key: CONFIGURED[key] for key in ("zookeeper", "brokers")},
        statuses={"zookeeper": ANSWERS, "log_dirs": ANSWERS},
    ),
    "stale_controller": lambda: one(
        HELD,
        watched_ms=5 * MINUTE_MS,
        statuses=_statuses(
            source=replace(FRESH, last_reply_ms=NOW_MS - 42_000, waiting="c1:9093: timeout")
        ),
    ),
    "stale_zookeeper_blind": lambda: one(
        replace(DUAL_WRITE, zookeeper=_BLIND),
        watched_ms=5 * MINUTE_MS,
        statuses=_statuses(
            zookeeper=replace(ANSWERS, last_reply_ms=NOW_MS - 120_000, waiting="zk1:2181: refused")
        ),
    ),
    "stale_run_silent": lambda: one(HELD, watched_ms=5 * MINUTE_MS, statuses=_silent(MINUTE_MS)),
    "stale_journal_behind": lambda: one(
        DUAL_WRITE, watched_ms=2 * MINUTE_MS, unread_ms={"zookeeper": NOW_MS - 5 * MINUTE_MS}
    ),
    "stale_log_behind": lambda: one(
        HELD,
        watched_ms=5 * MINUTE_MS,
        statuses=_statuses(source=replace(FRESH, high_watermark=1_500, due_offset=1_500)),
    ),
    "stale_run_hangs": lambda: one(
        HELD,
        watched_ms=5 * MINUTE_MS,
        statuses=_statuses(source=replace(FRESH, high_watermark=2_027, due_offset=2_000)),
        execution=_at(
            "brokers-kraft[2]",
            Stage.SHOWN,
            "Brokers into KRaft mode",
            at_ms=NOW_MS - 3 * MINUTE_MS,
            shown="On b2: restart broker 2 in KRaft mode.",
            turn="Restart broker 2 on b2 in KRaft mode",
            can=("done", "skip", "rollback", "pause", "abort"),
            findings=(),
            holds=(),
        ),
    ),
    "rollback_hybrid": lambda: one(REVERTED),
    "rollback_executed": lambda: one(
        REVERTED,
        execution=_at(
            "back-to-migration[1]",
            Stage.SHOWN,
            "Brokers back to migration mode",
            path="from-kraft",
            place="rollback from-kraft, checkpoint 1 of 7, broker 1 of 3",
            shown="On b1: restart broker 1 in migration mode.",
            turn="Restart broker 1 on b1 in migration mode again",
            why="step leave-kraft is done by hand; the gate shows when it is done",
            can=("done", "skip", "pause", "abort"),
            findings=(),
            holds=(),
        ),
    ),
    "rolled_back": lambda: one(
        summary(
            Phase.ROLLED_BACK,
            kraft(1, mode=Mode.ZOOKEEPER, epoch=None, replicas=replicas(), reverted=True),
            zookeeper=zookeeper(kraft=False),
        )
    ),
    "dual_write": lambda: one(DUAL_WRITE),
    "finalized": lambda: one(FINALIZED),
    "pure_kraft": lambda: one(
        summary(Phase.KRAFT, kraft(1, **SETTLED), kraft(2, **SETTLED), zookeeper=None),
        configured={key: CONFIGURED[key] for key in ("controllers", "brokers")},
        statuses={"source": FRESH, "log_dirs": ANSWERS},
    ),
    "two_clusters": _two_clusters,
    "execution_waiting": lambda: one(
        HELD, execution=_at("brokers-kraft[3]", Stage.ENTERED, "Brokers into KRaft mode")
    ),
    "execution_hook_running": lambda: one(
        HELD,
        execution=_at(
            "brokers-kraft[3]",
            Stage.RUNNING,
            "Brokers into KRaft mode",
            execute=True,
            findings=(),
            holds=("the hook of brokers-kraft[3] to end",),
            can=("pause", "abort"),
        ),
    ),
    "execution_needs_a_person": lambda: one(
        HELD,
        watched_ms=5 * MINUTE_MS,
        execution=_at(
            "brokers-kraft[3]",
            Stage.ASKS,
            "Brokers into KRaft mode",
            execute=True,
            asks="the hook ended with 1",
            findings=(),
            holds=("a decision, since the hook ended with 1: look at the host, then decide",),
            turn="Decide about the failed step: Restart broker 3 on b3 in KRaft mode",
            commands=(
                "kraftgate decide 'brokers-kraft[3]' --repeat --reason WHY",
                "kraftgate decide 'brokers-kraft[3]' --done --reason WHY",
                "kraftgate rollback --reason WHY",
                "kraftgate abort --reason WHY",
            ),
            output=("ssh: connect to host b3 port 22: No route to host",),
            can=("repeat", "done", "skip", "rollback", "pause", "abort"),
        ),
    ),
    "execution_soak": lambda: one(DUAL_WRITE, execution=_SOAK),
    "execution_finalize_near": lambda: one(
        replace(DUAL_WRITE, content=replace(COMPARED, at_ms=NOW_MS - 10 * MINUTE_MS)),
        execution=_at(
            "finalize[3001]",
            Stage.ENTERED,
            "Finalize",
            findings=(_found(Verdict.SATISFIED, "isr_full", "every ISR is full"),),
            holds=("approval by 2 people: kraftgate approve 'finalize[3001]' --reason ...",),
            people=2,
            approved_by=("anna (anna.a@ops1)",),
            place="checkpoint 7 of 9, controller 2 of 3",
            turn="Approve: Restart controller 3001 on c2 without the migration",
            why="it cannot be undone; 1 of 2 people approved it: anna (anna.a@ops1)",
            commands=("kraftgate approve 'finalize[3001]' --reason WHY --confirm prod",),
            can=("approve", "rollback", "pause", "abort"),
            finalize_is_near=True,
        ),
    ),
}


def _night(folder: Path) -> Written:
    """A whole window with its events, transitions and audit trail."""
    made = night(folder)
    return Written(config=made.config, polls_ms=(T + 900_400,), move=lambda _: None)


def _written(scene: Callable[[], Scene]) -> Callable[[Path], Written]:
    return lambda folder: write(scene(), folder)


SCENES: Final[Mapping[str, Callable[[Path], Written]]] = {
    **{name: _written(scene) for name, scene in _SCENES.items()},
    "night": _night,
}
"""Each writes its state directory below a folder."""

"""A state directory of a made-up cluster: the real store, trail, transitions and status files.

`advance` lets a little of the night pass; what reads the directory is the real thing.
"""

import json
import random
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from migration.assessment.conditions import Verdict, View
from migration.image.cluster import ClusterImage
from migration.image.summary import ClusterSummary, Phase
from migration.metadata.directory_ids import MIGRATING, DirectoryId
from migration.metadata.events import Event, Source
from migration.observed.source_status import SourceStatus
from migration.shard.report import Step
from migration.shard.transitions import ABSENT, ASSIGNED_STATE, MIGRATING_STATE, place
from orchestrator.audit import AUDIT_FILE, AuditLog
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.concern import concern
from orchestrator.audit.execution.state import Stage
from orchestrator.audit.execution.trail import ExecutionTrail
from orchestrator.config.load import Config, load_config
from orchestrator.execution.allowed import Place, allowed
from orchestrator.execution.approvals import basis
from orchestrator.hooks.runs import HookRuns
from orchestrator.run import execution_status
from orchestrator.run.assessed import Assessor
from orchestrator.run.execution_status import CheckpointStatus, ExecutionStatus, Turn
from orchestrator.run.reader import Reader
from streams.log_dirs import memory
from streams.log_dirs.memory import MEMORY_FILE
from streams.spark.transition_files import write_transitions
from streams.state.source_status import write_status
from streams.state.store import BatchResult, Store, TransitionFile
from tests.orchestrator.views.console import sample, scenes
from tests.orchestrator.views.console.sample import Shape
from tests.orchestrator.views.console.scenes import ANNA, BORIS, Scene

CLUSTER = """cluster: {name: prod}
zookeeper: {connect: 'zk1:2181/kafka'}
controllers: {bootstrap: 'controller-3000:9093'}
brokers: {bootstrap: 'kafka-001:9092'}
jmx: {exporters: {'3000': 'http://controller-3000:7071/metrics'}}
runbook: {file: zk-to-kraft-jbod}
"""


class World:
    """One cluster's night, from `now_ms` on; 40 minutes of it are behind.

    Attributes:
        config: of a file in `folder`.
    """

    def __init__(
        self,
        folder: Path,
        now_ms: int,
        *,
        shape: Shape = sample.SMALL,
        scene: Scene = "night",
        events: int = 60,
        console: str = "{listen: '127.0.0.1:0'}",
        clusters: str = CLUSTER,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "kraftgate.yaml"
        file.write_text(f"{clusters}state_dir: state\nconsole: {console}\n")
        self.config: Config = load_config(file)
        self._shape = shape
        self._home = self.config.state_dir / "clusters" / "prod"
        self._home.mkdir(parents=True)
        self.store = Store.open(self.config.state_dir / "store.db")
        self._batch = 0
        self._written: ClusterSummary | None = None
        self._unwritten: list[tuple[int, entries.Body]] | None = []
        self.log = AuditLog.open(self.config.state_dir / AUDIT_FILE)
        self.trail = ExecutionTrail(self.log, "prod")
        self.become(scene, now_ms)
        self._remember_disks()
        self._commit([*_history(events, self.at.began_ms, now_ms, shape)], self._transitions())

    def become(self, scene: Scene, now_ms: int) -> None:
        """Another cluster of that name, with an execution of its own; the past stays."""
        self.scene = scene
        self.shape = scenes.shape_of(scene, self._shape)
        self.at = scenes.moment_of(scene, self.shape, now_ms)
        self._unwritten = []
        self._begin_walk()
        self._write_walk()
        self._commit([])
        self.tell()

    def begin_another(self) -> None:
        """Boris aborts the execution and begins another one."""
        self._say(self.at.now_ms, entries.Aborted(by=BORIS, reason="new text"))
        runbook = scenes.RUNBOOK
        began = entries.ExecutionBegan(
            runbook=runbook.runbook.name, sha256=runbook.sha256, by=BORIS, reason="new text"
        )
        self._say(self.at.now_ms, began)
        self._say(self.at.now_ms, entries.CheckpointEntered(checkpoint="preflight"))

    def fail_again(self) -> None:
        """Boris has the failed step repeated, and it fails again."""
        id_ = f"brokers-kraft[{self.at.moving}]"
        repeat = entries.StepDecided(checkpoint=id_, decision="repeat", by=BORIS, reason="again")
        for body in (repeat, *scenes.failed(id_, self.at.moving, attempt=2)):
            self._say(self.at.now_ms, body)

    def lose_disks(self) -> None:
        """The log directories' source does not report any more."""
        file = self._home / "log_dirs.json"
        old = {"observed_ms": self.at.now_ms - 600_000, "last_reply_ms": self.at.now_ms - 600_000}
        file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | old), encoding="utf-8")

    def fail_disk(self) -> None:
        """A log directory of broker 1 fails."""
        self.shape = replace(self.shape, offline=frozenset({1}))

    def close(self) -> None:
        self.store.close()
        self.log.close()

    def advance(self, now_ms: int, share: float = 0.05) -> None:
        """The held broker gets some more directories; when it has all, the next one restarts."""
        shape, at = self.shape, self.at
        events: list[Event] = []
        offset = at.offset + 3
        at = replace(at, now_ms=now_ms, offset=offset)
        if at.moving <= shape.brokers and share:
            more = min(shape.each - at.assigned, max(1, round(shape.each * share)))
            at = replace(at, steps=(*at.steps, Step(now_ms, more)))
        if at.moving <= shape.brokers and at.assigned >= shape.each:
            events.append(_event(offset, now_ms, "assignments_complete", at.moving))
            at = replace(at, moving=at.moving + 1, registered_ms=now_ms, steps=())
            if at.moving <= shape.brokers:
                events.append(_event(offset, now_ms, "broker_registered", at.moving, mode="kraft"))
                events.append(_event(offset, now_ms, "broker_held", at.moving, pending=shape.each))
            else:
                at = replace(at, phase=Phase.DUAL_WRITE)
                fields = {"was": "hybrid", "now": "dual-write"}
                events.append(_event(offset, now_ms, "phase_changed", None, **fields))
        self.at = at
        self._commit(events)
        self.tell()

    def tell(self, *, stale_ms: int = 0) -> None:
        """The status of the sources and of the execution."""
        now_ms = self.at.now_ms
        end = self.at.offset + 1
        status = SourceStatus(
            observed_ms=now_ms - stale_ms,
            last_reply_ms=now_ms - stale_ms,
            next_offset=end,
            high_watermark=end,
            active_controller=3000,
            leader_epoch=7,
            endpoint="controller-3000:9093",
        )
        for name in ("source", "zookeeper", "log_dirs", "jmx"):
            write_status(self._home / f"{name}.json", status)
        self._tell_walk()

    def _commit(self, events: Sequence[Event], files: Sequence[TransitionFile] = ()) -> None:
        summary = sample.cluster(self.shape, self.at)
        before = {} if self._written is None else {b.id: b for b in self._written.brokers}
        self._written = summary
        self._batch += 1
        outcome = BatchResult(
            cluster="prod",
            image=ClusterImage(),
            summary=summary,
            brokers=[each for each in summary.brokers if before.get(each.id) != each],
            gone=[],
            place={"kraft_metadata": self.at.offset},
            events=events,
            files=files,
        )
        self.store.commit(self._batch, [outcome], self.at.now_ms)

    def _begin_walk(self) -> None:
        loaded = scenes.RUNBOOK
        at_ms = self.at.began_ms
        brokers = range(1, self.shape.brokers + 1)
        self._say(
            at_ms,
            entries.ExecutionBegan(
                runbook=loaded.runbook.name, sha256=loaded.sha256, by=ANNA, reason="CHG-1234"
            ),
        )
        self._say(at_ms, scenes.started(self.scene))
        for name in ("preflight", "controllers"):
            self._pass(name, at_ms)
        for each in brokers:
            self._pass(f"brokers-migration[{each}]", at_ms + each * 1_000)
        self._pass("brokers-migration", at_ms)
        self._pass("copied", at_ms)
        for each in range(1, self.at.moving):
            self._pass(f"brokers-kraft[{each}]", at_ms + each * 20_000)
        if self.at.moving > self.shape.brokers:
            self._pass("brokers-kraft", at_ms)
            self._pass("soak", at_ms)
        scenes.entries_of(self.scene, self.at, self._say, self._pass)

    def _pass(self, checkpoint: str, at_ms: int) -> None:
        self._say(at_ms, entries.CheckpointEntered(checkpoint=checkpoint))
        self._say(at_ms + 10, self._judged(checkpoint, satisfied=True))
        passed = entries.CheckpointPassed(checkpoint=checkpoint, how="opened", facts={})
        self._say(at_ms + 20, passed)

    def _judged(self, checkpoint: str, *, satisfied: bool) -> entries.Evaluated:
        verdict = Verdict.SATISFIED if satisfied else Verdict.WAITING
        return entries.Evaluated(
            checkpoint=checkpoint,
            part="opens_when",
            verdict=verdict,
            findings=tuple(scenes.findings(self.at, self.shape, verdict)),
            facts={"metadata_offset": self.at.offset},
        )

    def _say(self, at_ms: int, body: entries.Body) -> None:
        if self._unwritten is None:
            self.trail.append(body, at_ms)
        else:
            self._unwritten.append((at_ms, body))

    def _write_walk(self) -> None:
        """The beginning in one transaction: one for each of two thousand entries takes a minute."""
        unwritten, self._unwritten = self._unwritten or [], None
        with self.log._mutex:
            with self.log._writing():
                for at_ms, body in unwritten:
                    self.log._add("prod", body.kind, body.as_json(), at_ms)
            self.log._keep_head()

    def _tell_walk(self) -> None:
        """The execution of the audit trail, with the decisions that a page sends."""
        id_ = f"brokers-kraft[{self.at.moving}]"
        walk = self.trail.state()
        if walk is None:
            return
        current = walk.current
        if self.scene == "night" and current is None and walk.outcome is None:
            self._say(self.at.now_ms, entries.CheckpointEntered(checkpoint=id_))
            shown = f"On {sample.host(self.at.moving)}: restart the broker in KRaft mode."
            step = entries.StepShown(checkpoint=id_, text=shown, open_before=False, facts={})
            self._say(self.at.now_ms, step)
        elif self.scene == "night" and current is not None and current.id != id_:
            passed = entries.CheckpointPassed(checkpoint=current.id, how="opened", facts={})
            self._say(self.at.now_ms, passed)
        walk = self.trail.state()
        if walk is None:
            return
        current = walk.current
        approved = 0 if current is None else len(current.approvals)
        drawn = scenes.told(self.scene, self.at, self.shape, approved)
        holds, place, title = list(drawn.holds), None, None
        if walk.paused is not None:
            holds.insert(0, f"paused by {walk.paused.by.who}: {walk.paused.reason}")
        if current is not None:
            place = Place(
                execution=walk,
                state=current,
                loaded=scenes.RUNBOOK,
                view=self._view,
                runs=HookRuns(self.config.state_dir),
                hooks=None,
                has_hook=lambda _: False,
            )
            title = place.checkpoint.title
        paused, turn, can = walk.paused, drawn.turn or Turn(), tuple(allowed(walk, place))
        said = ExecutionStatus(
            at_ms=self.at.now_ms,
            runbook=walk.runbook,
            checkpoint=None if current is None else current.id,
            title=title,
            stage=None if current is None else current.stage,
            holds=() if walk.outcome else tuple(holds),
            findings=drawn.findings,
            shown=current.shown if current and current.stage is Stage.SHOWN else None,
            path=walk.path,
            paused=None if paused is None else f"{paused.by.who}: {paused.reason}",
            outcome=walk.outcome,
            execute=walk.execute,
            asks=None if current is None else current.asks,
            places=tuple(map(CheckpointStatus.model_validate, walk.checkpoints.values())),
            unexpected=walk.unexpected,
            people=drawn.people,
            basis=self._basis() if drawn.people else None,
            approved_by=tuple(sorted(e.by.words() for e in current.approvals) if current else ()),
            place=drawn.place,
            turn=turn.text,
            why=turn.why,
            commands=turn.commands,
            output=current.output if current and current.stage is Stage.ASKS else (),
            can=can,
            at={each: concern(each, walk) for each in can},
        )
        execution_status.write(self._home / execution_status.EXECUTION_FILE, said)

    def _basis(self) -> Mapping[str, str]:
        """Return what an approval would be given for, as the executor finds it."""
        assessor = Assessor(self.config, Reader(self.config, newest=1))
        view = assessor.tick(self.at.now_ms).cluster("prod").assessment.view
        return basis(view.summary, view.hazards, scenes.RUNBOOK.sha256)

    def _view(self) -> View:
        return View(
            summary=sample.cluster(self.shape, self.at),
            now_ms=self.at.now_ms,
            stall_after_ms=300_000,
            not_current={},
        )

    def _transitions(self) -> list[TransitionFile]:
        """Every replica of the broker that is held, as the job writes them."""
        id_, each = min(self.at.moving, self.shape.brokers), self.shape.each
        topics = [(number.to_bytes(16, "big"), f"orders-{number:04d}") for number in range(1, 5)]
        ids = [MIGRATING, DirectoryId(bytes([7, id_ >> 8, id_ & 255, 1]) + bytes(12))]
        rows_ = [
            (700, self.at.began_ms, number % 4, number // 4, id_, ABSENT, place(0, MIGRATING_STATE))
            for number in range(each)
        ]
        rows_ += [
            (
                701,
                self.at.began_ms,
                number % 4,
                number // 4,
                id_,
                place(0, MIGRATING_STATE),
                place(1, ASSIGNED_STATE),
            )
            for number in range(each // 8)
        ]
        folder = self.config.state_dir / "transitions"
        table = np.array(rows_, dtype=np.int64)
        file = write_transitions(folder, "prod", 0, (1, 702), table, topics, ids)
        return [TransitionFile(path=str(file.relative_to(folder)), rows=len(rows_))]

    def _remember_disks(self) -> None:
        id_, room = min(self.at.moving, self.shape.brokers), self.shape.each
        file = self._home / MEMORY_FILE
        file.parent.mkdir(parents=True)
        with closing(sqlite3.connect(file)) as db:
            db.executescript(memory._SCHEMA)
            db.executemany(
                "INSERT INTO replicas VALUES (?, ?, ?, ?, 1, 0, 0)",
                [
                    (id_, sample.path(1 + n % 2), f"orders-{n % 4 + 1:04d}", n // 4)
                    for n in range(room)
                ],
            )
            db.commit()


def _event(
    offset: int | None, at_ms: int, kind: str, broker: int | None, **fields: object
) -> Event:
    return Event(
        offset=offset, timestamp_ms=at_ms, kind=kind, broker=broker, fields=fields, seen_ms=at_ms
    )


_FACTS: Final[Mapping[str, Mapping[str, object]]] = {
    "broker_registered": {"mode": "migrating", "log_dirs": ["1", "2"], "pending": 64},
    "broker_unfenced_early": {"pending": 64},
    "log_dir_identified": {"path": sample.path(1), "directory": sample.directory_id(1, 1)},
    "disks_answer_again": {"silent_ms": 61_000},
    "jmx_changed": {"name": "ZkMigrationState", "node": 3000, "was": 2, "now": 1},
}
"""Of the events that need some for their sentence."""


def _history(count: int, began_ms: int, now_ms: int, shape: Shape) -> Iterator[Event]:
    """Events of every source, spread over the night; the same ones each time."""
    dice = random.Random(858)  # noqa: S311  # nothing depends on it
    kinds = (
        (Source.KRAFT_METADATA, "broker_registered"),
        (Source.KRAFT_METADATA, "assignments_complete"),
        (Source.KRAFT_METADATA, "broker_unfenced_early"),
        (Source.ZOOKEEPER, "zk_broker_gone"),
        (Source.ZOOKEEPER, "zk_partitions_written"),
        (Source.LOG_DIRS, "log_dir_identified"),
        (Source.LOG_DIRS, "disks_answer_again"),
        (Source.JMX, "jmx_changed"),
    )
    moments = sorted(dice.randrange(began_ms, now_ms) for _ in range(count))
    first = {"was": "copying", "now": "hybrid"}
    yield _event(412, began_ms + 1, "phase_changed", None, **first)
    for number, moment in enumerate(moments):
        source, kind = dice.choice(kinds)
        from_log = source is Source.KRAFT_METADATA
        yield Event(
            offset=413 + number if from_log else None,
            timestamp_ms=moment if from_log else None,
            kind=kind,
            broker=dice.randint(1, shape.brokers),
            fields=_FACTS.get(kind, {"number": number}),
            source=source,
            seen_ms=moment + dice.randint(20, 300),
        )

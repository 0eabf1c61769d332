"""A state directory of a made-up cluster: the real store, trail, transitions and status files.

`advance` lets a little of the night pass; what reads the directory is the real thing.
"""

import json
import random
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from migration.image.cluster import ClusterImage
from migration.image.summary import ClusterSummary, Phase
from migration.metadata.directory_ids import MIGRATING, DirectoryId
from migration.metadata.events import Event, Source
from migration.observed.source_status import SourceStatus, to_json
from migration.shard.report import Step
from migration.shard.transitions import ABSENT, ASSIGNED_STATE, MIGRATING_STATE, place
from orchestrator.audit import AUDIT_FILE, AuditLog
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Person, RecordedFinding
from orchestrator.audit.execution.trail import ExecutionTrail
from orchestrator.config.load import Config, load_config
from orchestrator.execution.allowed import allowed
from orchestrator.execution.route import CheckpointInstance, checkpoint_of
from orchestrator.run import execution_status
from orchestrator.run.execution_status import Turn
from orchestrator.runbook.load import load
from streams.log_dirs import memory
from streams.log_dirs.memory import MEMORY_FILE
from streams.spark.transition_files import write_transitions
from streams.state.store import BatchResult, Store, TransitionFile
from tests.orchestrator.views.console import sample
from tests.orchestrator.views.console.sample import Moment, Shape

Scene = Literal["night", "approve"]

ANNA = Person(who="anna", login="anna", host="desk")
MINUTE_MS = 60_000
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
        self.shape, self.scene = shape, scene
        began_ms = now_ms - 40 * MINUTE_MS
        done = scene == "approve"
        self.at = Moment(
            now_ms=now_ms,
            began_ms=began_ms,
            moving=shape.brokers + 1 if done else shape.brokers // 2,
            registered_ms=now_ms - 4_000,
            phase=Phase.DUAL_WRITE if done else Phase.HYBRID,
        )
        self._home = self.config.state_dir / "clusters" / "prod"
        self._home.mkdir(parents=True)
        self.store = Store.open(self.config.state_dir / "store.db")
        self._batch = 0
        self._written: ClusterSummary | None = None
        self._unwritten: list[tuple[int, entries.Body]] | None = []
        self.log = AuditLog.open(self.config.state_dir / AUDIT_FILE)
        self.trail = ExecutionTrail(self.log, "prod")
        self._begin_walk()
        self._write_walk()
        self._remember_disks()
        self._commit([*_history(events, began_ms, now_ms, shape)], self._transitions())
        self.tell()

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
            text = json.dumps(to_json(status))
            (self._home / f"{name}.json").write_text(text, encoding="utf-8")
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
        loaded = load("zk-to-kraft-jbod")
        at_ms = self.at.began_ms
        brokers = range(1, self.shape.brokers + 1)
        self._say(
            at_ms,
            entries.ExecutionBegan(
                runbook=loaded.runbook.name, sha256=loaded.sha256, by=ANNA, reason="CHG-1234"
            ),
        )
        for name in ("preflight", "controllers"):
            self._pass(name, at_ms)
        for each in brokers:
            self._pass(f"brokers-migration[{each}]", at_ms + each * 1_000)
        self._pass("brokers-migration", at_ms)
        self._pass("copied", at_ms)
        done = self.scene == "approve"
        for each in brokers if done else range(1, self.at.moving):
            self._pass(f"brokers-kraft[{each}]", at_ms + each * 20_000)
        if done:
            self._pass("brokers-kraft", at_ms)
            self._pass("soak", at_ms)
            self._say(at_ms, entries.CheckpointEntered(checkpoint="finalize[3001]"))

    def _pass(self, checkpoint: str, at_ms: int) -> None:
        self._say(at_ms, entries.CheckpointEntered(checkpoint=checkpoint))
        self._say(at_ms + 10, self._judged(checkpoint, satisfied=True))
        passed = entries.CheckpointPassed(checkpoint=checkpoint, how="opened", facts={})
        self._say(at_ms + 20, passed)

    def _judged(self, checkpoint: str, *, satisfied: bool) -> entries.Evaluated:
        verdict = "satisfied" if satisfied else "waiting"
        return entries.Evaluated.model_validate(
            {
                "checkpoint": checkpoint,
                "part": "opens_when",
                "verdict": verdict,
                "findings": [each.model_dump() for each in self._findings(verdict)],
                "facts": {"metadata_offset": self.at.offset},
            }
        )

    def _findings(self, verdict: str) -> list[RecordedFinding]:
        id_ = self.at.moving
        return [
            RecordedFinding.model_validate(
                {
                    "condition": f"assignments_complete({id_})",
                    "verdict": verdict,
                    "reason": f"broker {id_} has replicas without a directory",
                    "evidence": [f"{self.shape.each - self.at.assigned} migrating"],
                    "broker": id_,
                }
            )
        ]

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
        people = 2 if current is not None and current.id.startswith("finalize") else 0
        title = None if current is None else load("zk-to-kraft-jbod").runbook.checkpoints[4].title
        findings = tuple(self._findings("waiting")) if self.scene == "night" else ()
        holds = [f"{each.condition}: {each.reason}" for each in findings]
        if people and current is not None and len(current.approvals) < people:
            holds.append(
                f"approval by {people} people: kraftgate approve '{current.id}' --reason ..."
            )
        if walk.paused is not None:
            holds.insert(0, f"paused by {walk.paused.by.who}: {walk.paused.reason}")
        runbook = load("zk-to-kraft-jbod").runbook
        instance = turn = None
        if current is not None:
            checkpoint = checkpoint_of(runbook, walk.path, current.id)
            instance = CheckpointInstance(id=current.id, checkpoint=checkpoint, bind={})
            if people:
                turn = Turn(
                    text="Approve: Restart controller 3001 on c2 without the migration",
                    why="it cannot be undone; 0 of 2 people approved it: nobody",
                    commands=("kraftgate approve 'finalize[3001]' --reason WHY --confirm prod",),
                )
        said = execution_status.status_of(
            walk,
            self.at.now_ms,
            checkpoint=None if current is None else current.id,
            title=title,
            holds=() if walk.outcome else tuple(holds),
            findings=findings,
            people=people,
            place="checkpoint 5 of 9",
            turn=turn,
            can=tuple(allowed(walk, runbook, instance, has_hook=False)),
        )
        execution_status.write(self._home / execution_status.EXECUTION_FILE, said)

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
            fields={"number": number},
            source=source,
            seen_ms=moment + dice.randint(20, 300),
        )

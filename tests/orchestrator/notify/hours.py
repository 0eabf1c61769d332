"""Hours of a cluster on which anything may happen: the same ones for the rules and for Kraftgate.

Every tick is one sample, 15 s after the last; the clock begins at zero, as promtool's does. Hazards
are taken from a table instead of from the facts that make them: which facts make them has its own
tests, and here all of them are to come and go.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import pytest

from migration.assessment.conditions import Verdict
from migration.assessment.hazards import Hazard, HazardKind
from migration.image.summary import BrokerSummary, ClusterSummary, Phase, Progress, UnfencedEarly
from migration.metadata.event_kinds import EventKind
from migration.metadata.events import Event
from migration.observed.facts import LogDirSeen
from migration.observed.log_dirs import BrokerDisks, DisksImage
from migration.observed.source_status import SourceStatus
from orchestrator.audit.execution.entries import RecordedFinding
from orchestrator.config.load import parse_config
from orchestrator.run.execution_status import ExecutionStatus
from orchestrator.run.reader import ClusterRead, Tally
from tests.migration.assessment.conditions.views import migration, zookeeper
from tests.orchestrator.views.metrics.test_walk import WALK_TOLD
from tests.scenes.night import cluster, held, kraft

STEP_S: Final = 15
STEPS: Final = 300
STEP_MS: Final = STEP_S * 1000
DAY_MS: Final = 86_400_000
CONFIG: Final = parse_config(
    """cluster: {name: prod}
zookeeper: {connect: 'z1:2181'}
controllers: {bootstrap: 'c1:9093'}
brokers: {bootstrap: 'b1:9092'}
runbook: {file: zk-to-kraft-jbod}
""",
    Path("kraftgate.yaml"),
)
ENTRY: Final = CONFIG.clusters[0]
BROKERS: Final = (1, 2)
DANGERS: Final = (
    (HazardKind.RECORDS_LOST, None),
    (HazardKind.REPLICAS_RECREATED, 2),
    (HazardKind.FINALIZED_TOO_EARLY, None),
    (HazardKind.RESTART_LOSES_REPLICAS, 1),
    (HazardKind.ZOOKEEPER_WIPED, None),
    (HazardKind.HALTED_IN_MIGRATION, 2),
    (HazardKind.BROKER_SHUTS_DOWN, 1),
    (HazardKind.JMX_CONTRADICTS, None),
    (HazardKind.UNFENCED_EARLY, 1),
    (HazardKind.STALE_MIGRATION_ZNODE, None),
    (HazardKind.METADATA_VERSION, None),
    (HazardKind.DUAL_WRITE_STUCK, None),
    (HazardKind.CONTENT_DIFFERS, None),
    (HazardKind.ASSIGNMENT_QUEUE_FLAT, 2),
    (HazardKind.LOG_DIRS_NOT_REGISTERED, 2),
    (HazardKind.FINALIZE_TOO_EARLY, None),
    (HazardKind.ONE_DIRECTORY_LEFT, 1),
)
"""Each as `migration.assessment.hazards` gives it: severity, what it forbids, broker."""


@dataclass
class _Broker:
    summary: BrokerSummary
    pace: float = 0.0


@dataclass
class Hours:
    """Everything that can change, and does so by a seed."""

    seed: int
    now_ms: int = 0
    hazards: dict[int, tuple[Hazard, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)  # noqa: S311  # hours, not keys
        # In some, everything changes often; in others little does, so that what takes long comes.
        self._often = self._random.choice((0.15, 0.5, 1.0))
        self._standing = [self._random.random() < 0.3 for _ in DANGERS]
        self._phase = self._random.choice((Phase.HYBRID, Phase.PRE_MIGRATION, Phase.DUAL_WRITE))
        self._phase_ms = self._random.choice((-DAY_MS + 900_000, -3_000_000, 0))
        self._brokers = {id_: _Broker(self._broker(id_)) for id_ in BROKERS}
        self._there = dict.fromkeys(BROKERS, True)
        self._bad = {(id_, path): False for id_ in BROKERS for path in ("/d1", "/d2")}
        self._reports = random.Random(f"{self.seed} reports")  # noqa: S311
        self._notified: dict[int, int] = {}
        self._unregistered = dict.fromkeys(BROKERS, False)
        self._missed_ms: int | None = None
        self._silent = dict.fromkeys(BROKERS, False)
        self._answers = dict.fromkeys(("log", "zookeeper", "log_dirs"), True)
        self._replied_ms = dict.fromkeys(self._answers, 1)
        self._error = False
        self._kraft_rules = True
        self._checkpoint, self._asks, self._violated = "copied", False, 0

    def looks(self) -> Iterator[tuple[int, ClusterRead]]:
        """Every tick, with its time in seconds."""
        for step in range(STEPS):
            self.now_ms = step * STEP_MS
            if step:
                self._change()
                self._change_reports()
            self.hazards[self.now_ms] = tuple(self._dangers())
            yield step * STEP_S, self._seen()

    def _happens(self, once_in: int) -> bool:
        return self._random.random() < self._often / once_in

    def _change(self) -> None:
        for at in range(len(DANGERS)):
            self._standing[at] ^= self._happens(50)
        if self._happens(120):
            self._phase, self._phase_ms = self._random.choice(list(Phase)), self.now_ms
        for id_, one in self._brokers.items():
            self._there[id_] ^= self._happens(400 if self._there[id_] else 10)
            self._silent[id_] ^= self._happens(60)
            self._change_broker(id_, one)
        for where in self._bad:
            self._bad[where] ^= self._happens(50)
        for source, answers in self._answers.items():
            self._answers[source] ^= self._happens(80 if answers else 15)
            if self._answers[source]:
                self._replied_ms[source] = self.now_ms - 400
        self._error ^= self._happens(20 if self._error else 200)
        self._kraft_rules ^= self._happens(200 if self._kraft_rules else 20)
        if self._happens(60):
            self._checkpoint = self._random.choice(("copied", "finalize"))
        self._asks ^= self._happens(40)
        if self._happens(40):
            self._violated = self._random.choice((0, 0, 1, 2))

    def _change_reports(self) -> None:
        """Let brokers report failures without a path, in numbers of their own."""
        for id_ in BROKERS:
            self._unregistered[id_] ^= self._reports.random() < 1 / 60
            if self._reports.random() < 1 / 60 and self._notified.pop(id_, None) is None:
                self._notified[id_] = self.now_ms
        if self._reports.random() < 1 / 100:
            self._missed_ms = None if self._missed_ms else self.now_ms + 60_000

    def _broker(self, id_: int) -> BrokerSummary:
        return kraft(id_, registered_ms=self.now_ms - self._random.choice((0, 900, 3300)) * 1000)

    def _change_broker(self, id_: int, one: _Broker) -> None:
        if self._happens(60):
            settled = self._broker(id_)
            if one.summary.held:
                one.summary = settled
                return
            early = self._random.choice((None, UnfencedEarly(pending=12, duration_ms=None)))
            one.summary = held(
                id_, registered_ms=settled.registered_ms, unfenced_early=early, progress=None
            )
            one.pace = self._random.choice((0.0, 0.02, 0.06))
        elif one.summary.held and self._random.random() < one.pace:
            one.summary = replace(
                one.summary, progress=Progress(assigned=3, first_ms=0, last_ms=self.now_ms)
            )
        if self._happens(60):
            one.summary = replace(one.summary, fenced=not one.summary.fenced)

    def _dangers(self) -> Iterator[Hazard]:
        for is_active, (kind, broker) in zip(self._standing, DANGERS, strict=True):
            if is_active:
                yield Hazard(
                    kind=kind,
                    broker=broker,
                    text=f"{kind} it is",
                    evidence=("it was seen",),
                    way_out="Out.",
                )

    def _seen(self) -> ClusterRead:
        changed = Event(
            offset=1,
            timestamp_ms=self._phase_ms,
            kind=EventKind.PHASE_CHANGED,
            fields={"now": str(self._phase)},
        )
        return ClusterRead(
            summary=self._summary(),
            events=(),
            status=self._status("log", error="refused" if self._error else None),
            zookeeper=self._status("zookeeper"),
            log_dirs=self._status("log_dirs"),
            execution=self._walk(),
            tally=Tally(phase=changed, since_ms=0),
        )

    def _summary(self) -> ClusterSummary:
        lost = {
            id_: dict.fromkeys(["AQEBAQEBAQEBAQEBAQEBAQ"] * bad, 1)
            for id_, bad in self._unregistered.items()
        }
        there = [
            replace(each.summary, unregistered=lost[id_])
            for id_, each in self._brokers.items()
            if self._there[id_]
        ]
        znode = migration(written_ms=self.now_ms) if self._kraft_rules else None
        return replace(
            cluster(self._phase, *there),
            zookeeper=zookeeper(
                kraft=self._kraft_rules,
                migration=znode,
                notified=self._notified,
                missed_ms=self._missed_ms,
            ),
            disks=DisksImage(brokers={id_: self._disks(id_) for id_ in BROKERS}),
        )

    def _disks(self, id_: int) -> BrokerDisks:
        return BrokerDisks(
            id=id_,
            answered_ms=self.now_ms,
            unreachable="it does not answer" if self._silent[id_] else None,
            log_dirs=tuple(
                LogDirSeen(path, 56 if bad else 0, 1000, 900, 16, 100, 0, 0, None, None)
                for (of, path), bad in self._bad.items()
                if of == id_
            ),
        )

    def _status(self, source: str, **more: str | None) -> SourceStatus:
        return SourceStatus(
            observed_ms=self.now_ms,
            last_reply_ms=self._replied_ms[source],
            due_offset=0,
            **more,  # type: ignore[arg-type]
        )

    def _walk(self) -> ExecutionStatus:
        broken = RecordedFinding(
            condition="nothing_held", verdict=Verdict.VIOLATED, reason="broker 3 is"
        )
        return WALK_TOLD.model_copy(
            update={
                "at_ms": self.now_ms,
                "checkpoint": self._checkpoint,
                "asks": "the hook ended with 1" if self._asks else None,
                "findings": (broken,) * self._violated,
            }
        )


def from_the_table(hours: Mapping[int, tuple[Hazard, ...]], patch: pytest.MonkeyPatch) -> None:
    """From now on the hazards of a moment are those of the table."""
    patch.setattr(
        "migration.assessment.assess.hazards", lambda _, now_ms, *__, **___: hours[now_ms]
    )

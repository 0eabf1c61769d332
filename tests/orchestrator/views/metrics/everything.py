"""A tick in which every metric has a value, and its active alerts."""

from dataclasses import replace
from typing import Final

from migration.assessment.alerts import AlertStates
from migration.assessment.assess import Journal
from migration.assessment.data_source import DataSource
from migration.comparison.result import Compared
from migration.metadata.events import Event
from migration.observed.facts import LogDirSeen
from migration.observed.jmx import Contradiction, JmxImage, JmxNode
from migration.observed.jmx_names import JmxName
from migration.observed.log_dirs import BrokerDisks, DisksImage
from migration.observed.source_status import SourceStatus
from orchestrator.notify.sender import SenderStats
from orchestrator.run.assessed import Assessed
from orchestrator.run.reader import Tally
from tests.migration.assessment.conditions.views import migration, zookeeper
from tests.orchestrator.views.metrics.scraping import seen, with_summary
from tests.orchestrator.views.metrics.test_alerts import standing
from tests.orchestrator.views.metrics.test_walk import WALK_TOLD, WITH_RUNBOOK
from tests.scenes.night import FRESH, HYBRID, NOW_MS, kraft

STANDING: Final = AlertStates(at_ms=NOW_MS, all={"a": standing("1", is_active=True)})
RECEIVERS: Final = {"slack": SenderStats(sent=1, success_ms=NOW_MS)}
LIVE: Final = SourceStatus(observed_ms=NOW_MS - 200, last_reply_ms=NOW_MS - 400)
ALL_SEEN: Final = replace(
    with_summary(
        HYBRID,
        zookeeper=zookeeper(migration=migration(written_ms=NOW_MS - 500)),
        disks=DisksImage(
            brokers={id_: BrokerDisks(id=id_, answered_ms=NOW_MS) for id_ in (1, 2, 3)}
        ),
    ),
    zookeeper=LIVE,
    log_dirs=LIVE,
)


def on_disk(path: str, **changes: object) -> LogDirSeen:
    well = LogDirSeen(path, 0, 1000, 900, 16, 100, 0, 0, None, None)
    return well._replace(**changes)  # type: ignore[arg-type]


JMX: Final = JmxImage(
    nodes={
        3000: JmxNode(id=3000, read_ms=NOW_MS - 5_000, numbers={"ZkWriteBehindLag": 7}),
        1: JmxNode(id=1, read_ms=NOW_MS - 5_000, numbers={"ZkMigrationState": 4}),
        2: JmxNode(
            id=2,
            read_ms=NOW_MS - 90_000,
            numbers={"ZkMigrationState": 4},
            unreachable="refused",
            unreachable_since_ms=NOW_MS - 80_000,
        ),
    },
    contradictions=(
        Contradiction(
            node=1,
            name="ZkMigrationState",
            reads=4,
            expected=1,
            against="metadata log",
            since_ms=NOW_MS,
            lasting=True,
        ),
    ),
)


def everything(events: int = 1) -> Assessed:
    """All sources report, some of them problems; `events`: how many phases have changed so far."""
    disks = DisksImage(
        brokers={
            1: BrokerDisks(id=1, answered_ms=NOW_MS, log_dirs=(on_disk("/d1"),)),
            2: BrokerDisks(
                id=2, answered_ms=NOW_MS, log_dirs=(on_disk("/d1"), on_disk("/d2", error=56))
            ),
            3: BrokerDisks(id=3, unreachable="no", unreachable_since_ms=NOW_MS),
        }
    )
    all_numbers = JmxNode(id=4, read_ms=NOW_MS, numbers=dict.fromkeys(map(str, JmxName), 1))
    one = replace(
        with_summary(
            ALL_SEEN,
            disks=disks,
            content=Compared(at_ms=NOW_MS, lasting={"isr": 2}),
            jmx=replace(JMX, nodes={**JMX.nodes, 4: all_numbers}),
            under_replicated=0,
            leaderless=0,
            reassigning=0,
            brokers=(*HYBRID.summary.brokers, kraft(4, under_replicated=2)),
        ),
        journals={DataSource.ZOOKEEPER: Journal(last=12, read=10)},
        jmx=LIVE,
        status=replace(FRESH, cluster_id="4L6g3nShT-eMCtK--X86sw"),
        execution=WALK_TOLD,
    )
    changed = Event(offset=1, timestamp_ms=NOW_MS, kind="phase_changed", fields={"now": "hybrid"})
    tally = Tally(last=events, counts={"phase_changed": events}, phase=changed)
    jmx = "jmx: {exporters: {'1': 'http://b1:7071/metrics'}}\n"
    found = seen(one, WITH_RUNBOOK + jmx, tally=tally)
    return replace(found, assessment=replace(found.assessment, alerts=STANDING))

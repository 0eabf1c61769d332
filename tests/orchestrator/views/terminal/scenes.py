"""A cluster on a terminal: `python -m tests.orchestrator.views.terminal.scenes NAME`."""

import sys
import time
from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console

from migration.assessment.conditions import Verdict
from migration.image.summary import Phase
from migration.observed.zookeeper import ZooKeeperImage
from orchestrator.audit.execution.entries import RecordedFinding
from orchestrator.audit.execution.state import Stage, Unexpected
from orchestrator.run.execution_status import CheckpointStatus, ExecutionStatus
from orchestrator.run.reader import ClusterRead
from orchestrator.views.terminal.live import LineView, Stop, TableView, View, drive, is_terminal
from tests.scenes.night import (
    EVENTS,
    FRESH,
    HYBRID,
    NOW_MS,
    cluster,
    held,
    kraft,
    migrating,
)
from tests.support.assessing import tick

APPROVE = "kraftgate approve 'brokers-kraft[3]' --reason ..."
DANGER = (
    "no_hazard(restart, 3) (violated): broker 3 must not be restarted: its log directory"
    " /var/lib/kafka/data-disk-0007/kafka-logs is offline and the controller does not know where"
    " 12 of its replicas were, of which 3 are the only ones: they would be made anew, empty"
)
BY_HAND = """On kafka-3.example.com:

1. Stop the broker and wait until its process has ended:
   systemctl stop kafka
2. In /etc/kafka/server.properties set process.roles=broker and node.id=3, remove \
zookeeper.connect and zookeeper.metadata.migration.enable, keep log.dirs as it is
3. systemctl start kafka
"""
WALK = ExecutionStatus(
    at_ms=NOW_MS,
    runbook="zk-to-kraft-jbod",
    checkpoint="brokers-kraft[3]",
    title="Brokers into KRaft mode, one at a time",
    stage=Stage.ENTERED,
    holds=(
        f"approval by 2 people (anna did): {APPROVE}",
        DANGER,
        "isr_full: 12 partitions under-replicated, by the brokers and by the metadata log",
    ),
    findings=(
        RecordedFinding(
            condition="no_hazard(restart, 3)",
            verdict=Verdict.VIOLATED,
            reason=DANGER.partition(": ")[2],
        ),
        RecordedFinding(condition="isr_full", verdict=Verdict.WAITING, reason="12 partitions"),
    ),
    shown=None,
    path=None,
    paused=None,
    outcome=None,
    execute=True,
    asks=None,
    places=(
        CheckpointStatus(
            id="preflight", stage=Stage.PASSED, how="opened", entered_ms=1, ended_ms=2
        ),
    ),
    unexpected=(
        Unexpected(NOW_MS - 30_000, "broker 2 registered again while the checkpoint was soak"),
    ),
)
SHOWN = WALK.model_copy(
    update={
        "stage": Stage.SHOWN,
        "shown": BY_HAND,
        "holds": ("broker_mode(3, kraft): not yet",),
        "findings": (),
        "turn": "Restart broker 3 in KRaft mode",
        "place": "checkpoint 5 of 9",
    }
)


def _named(name: str, one: ClusterRead = HYBRID) -> ClusterRead:
    return replace(one, summary=replace(one.summary, cluster=name))


_SEEN = ZooKeeperImage(seen_ms=NOW_MS - 60_000, server="z1:2181")
_LARGE = [kraft(i) for i in range(1, 290)] + [held(i) for i in range(290, 295)]
MANY = ClusterRead(
    summary=replace(
        cluster(Phase.HYBRID, *_LARGE, *(migrating(i) for i in range(295, 301))), zookeeper=_SEEN
    ),
    events=EVENTS,
    status=FRESH,
    zookeeper=FRESH,
    log_dirs=replace(FRESH, last_reply_ms=NOW_MS - 42_000),
    execution=WALK,
)
SCENES: dict[str, Sequence[ClusterRead]] = {
    "night": [HYBRID],
    "walk": [
        replace(
            HYBRID,
            summary=replace(HYBRID.summary, zookeeper=_SEEN),
            execution=WALK,
            zookeeper=FRESH,
            log_dirs=FRESH,
        )
    ],
    "by-hand": [replace(HYBRID, execution=SHOWN)],
    "many": [MANY],
    "two": [_named("prod", replace(HYBRID, execution=WALK)), _named("other")],
    "five": [_named(f"cluster-{number}") for number in range(5)],
    "twenty": [_named(f"cluster-{number}") for number in range(20)],
    "last": [
        *(_named(f"cluster-{number}") for number in range(19)),
        _named("urgent", replace(HYBRID, execution=SHOWN)),
    ],
}


def main(name: str) -> None:
    """Show a scene as `kraftgate run` does."""
    view: View = LineView(sys.stdout)
    if is_terminal():
        view = TableView(Console(), lambda: None)
    with Stop() as stop:
        drive(
            view,
            # A second passes, and comes again: so it is drawn each second, and nothing ages.
            lambda: tick(SCENES[name], NOW_MS + time.monotonic_ns() // 1_000_000 % 2000),
            stop,
            lambda _: False,
        )


if __name__ == "__main__":
    main(sys.argv[1])

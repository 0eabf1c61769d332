"""One window from its beginning to its end, small enough to read and with most that can happen.

Two brokers go into KRaft mode, the second unfenced early; a command fails once; ZooKeeper is away
for a while; kraftgate is killed once; two people approve the end.
"""

import hashlib
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

from migration.image.summary import BrokerSummary
from migration.metadata.replica_state import ReplicaState
from orchestrator.audit import run_entries as chronicle
from orchestrator.audit.execution import entries
from tests.orchestrator.views.report.making import ANNA, BORIS, Made, finalized
from tests.orchestrator.views.report.said import ended, entered, judged, passed, started
from tests.scenes.night import kraft

SECOND: Final = 1_000
MIGRATING, ASSIGNED = ReplicaState.MIGRATING, ReplicaState.ASSIGNED
RUNBOOK: Final = """runbook: 1
name: small
title: A small one
explain: For tests.
checkpoints:
  - id: preflight
    title: Ready for the window
    explain: Nothing is done.
    opens_when: [isr_full]
    rollback: none
    rollback_reason: Nothing was done.
  - id: brokers-kraft
    title: Brokers into KRaft mode
    explain: One at a time.
    for_each: broker
    needs: [nothing_held]
    step: {name: enter-kraft, manual: "On {host}: restart broker {broker}."}
    opens_when: ["broker_mode(broker, kraft)", "assignments_complete(broker)"]
    rollback: back
  - id: finalize
    title: Finalize
    explain: No way back.
    step: {name: finalize, manual: Finalize now.}
    opens_when: [finalized]
    approval: {people: 2}
    irreversible: true
    rollback: back
rollbacks:
  - id: back
    title: Back
    explain: To migration mode.
    checkpoints:
      - id: brokers-back
        title: Brokers back
        explain: One at a time.
        for_each: broker
        step: {name: leave-kraft, manual: "On {host}: take broker {broker} back."}
        opens_when: ["broker_mode(broker, migrating)"]
"""
SHA256: Final = hashlib.sha256(RUNBOOK.encode()).hexdigest()
HEAD: Final = {"phase": "dual-write", "hazards": "none"}


def night(folder: Path) -> Made:
    """The window, in a state directory below `folder`."""
    made = Made(folder)
    made.summary = finalized(_now(1, 645), _now(2, 700))
    for path, content in _state().items():
        (made.state / path).parent.mkdir(parents=True, exist_ok=True)
        (made.state / path).write_bytes(content)
    return made


@cache
def _state() -> dict[Path, bytes]:
    """The files of the state directory, of which many tests damage one of their own."""
    with tempfile.TemporaryDirectory() as folder:
        made = Made(Path(folder))
        keep_runbook(made)
        _seen(made)
        _decided(made)
        made.summary = finalized(_now(1, 645), _now(2, 700))
        made.store()
        made.status(
            "source.json", 900 * SECOND, cluster_id="uSLaubyUxZGsRKrz8FtoCw", limits=("it",)
        )
        files = [each for each in made.state.rglob("*") if each.is_file()]
        return {each.relative_to(made.state): each.read_bytes() for each in files}


def keep_runbook(made: Made) -> None:
    """As the conductor keeps it."""
    (made.state / "runbooks").mkdir(exist_ok=True)
    (made.state / "runbooks" / f"{SHA256}.yaml").write_text(RUNBOOK)


def began(reason: str = "kraftgate run") -> entries.ExecutionBegan:
    return entries.ExecutionBegan(runbook="small", sha256=SHA256, by=ANNA, reason=reason)


def orchestrator(number: int, *, execute: bool = True) -> entries.OrchestratorStarted:
    return entries.OrchestratorStarted(
        owner=f"process {number} of kafka on ops1",
        version="0.1.0",
        execute=execute,
        hooks_sha256="cd" * 32 if execute else None,
        fence=number,
    )


def follow(number: int, last_seen_ms: int | None = None) -> chronicle.FollowBegan:
    return chronicle.FollowBegan(
        owner=f"process {number} of kafka on ops1", version="0.1.0", last_seen_ms=last_seen_ms
    )


def _now(broker: int, epoch: int) -> BrokerSummary:
    return kraft(broker, epoch=epoch, registered_offset=epoch, host=f"b{broker}", rack="r1")


def _seen(made: Made) -> None:
    """The reports of the sources."""
    tell = made.tell
    tell("zookeeper_seen", 5 * SECOND, server="zk1:2181")
    tell("phase_changed", 60_000, offset=4, seen=61_000, was="zookeeper", now="pre-migration")
    tell("phase_changed", 120_000, offset=374, seen=120_300, was="pre-migration", now="copying")
    tell("phase_changed", 120_400, offset=413, seen=120_800, was="copying", now="hybrid")
    registered(made, 200 * SECOND, 1, 645, pending=4)
    tell("assignments_complete", 201_100, 1, offset=680, held_ms=1_100, unfenced_early_ms=None)
    tell("broker_unfenced", 201_300, 1, offset=681)
    tell("zookeeper_blind", 230 * SECOND, reason="the connection to zk1:2181 was lost")
    tell("zookeeper_seen_again", 291 * SECOND, server="zk1:2181", blind_ms=61_000,
         blind_since_ms=made_ms(230 * SECOND), session_expired=True)  # fmt: skip
    tell("disks_unreachable", 398 * SECOND, 2, reason="b2:9092 refused")
    registered(made, 400 * SECOND, 2, 700, pending=4)
    tell("broker_unfenced", 400_500, 2, offset=702)
    tell("broker_unfenced_early", 400_500, 2, offset=702, pending=4)
    tell("assignments_complete", 400_541, 2, offset=740, held_ms=541, unfenced_early_ms=41)
    tell("phase_changed", 400_541, offset=740, was="hybrid", now="dual-write")
    tell("disks_answer_again", 404 * SECOND, 2, silent_ms=6_000)
    tell("phase_changed", 800 * SECOND, offset=1439, was="dual-write", now="finalized")
    made.moves += [(400 + n, 120_400, b, None, MIGRATING) for b in (1, 2) for n in range(4)]
    made.moves += [(670 + n, 200_300 + 200 * n, 1, MIGRATING, ASSIGNED) for n in range(4)]
    made.moves += [(730 + n, 400_511 + 10 * n, 2, MIGRATING, ASSIGNED) for n in range(4)]


def registered(made: Made, ms: int, broker: int, offset: int, pending: int) -> None:
    """A registration in KRaft mode, of two directories."""
    made.tell("broker_registered", ms, broker, offset=offset, epoch=offset, mode="kraft",
              fenced=True, pending=pending, log_dirs=["a", "b"])  # fmt: skip
    if pending:
        made.tell("broker_held", ms, broker, offset=offset, pending=pending)


def made_ms(ms: int) -> int:
    from tests.orchestrator.views.report.making import T

    return T + ms


def _decided(made: Made) -> None:
    """What the audit trail has."""
    say = made.say
    say(0, follow(1), began("CHG-1234"), orchestrator(1), entered("preflight"))
    say(SECOND, judged("preflight", "opens_when", ("isr_full", "unknown", "it was not asked for")))
    say(4 * SECOND, chronicle.SourceSeen(source="zookeeper"))
    say(5 * SECOND, judged("preflight", "opens_when"))
    say(9 * SECOND, passed("preflight"))
    say(10 * SECOND, entered("brokers-kraft[1]"))
    say(62 * SECOND, chronicle.SourceSeen(source="metadata_log"))
    say(180 * SECOND, judged("brokers-kraft[1]", "needs"))
    say(190 * SECOND, started("brokers-kraft[1]"))
    say(195 * SECOND, ended("brokers-kraft[1]", exit_code=1, output="ssh: no route to b1\n"))
    say(196 * SECOND, _decision("brokers-kraft[1]", "the route is back"))
    say(197 * SECOND, started("brokers-kraft[1]", 2))
    say(205 * SECOND, ended("brokers-kraft[1]", output="restarted\n", took_ms=8_000))
    say(206 * SECOND, judged("brokers-kraft[1]", "opens_when"))
    say(210 * SECOND, passed("brokers-kraft[1]"), entered("brokers-kraft[2]"))
    lost_ms = made_ms(230 * SECOND)
    why = "no ZooKeeper reachable"
    say(232 * SECOND, chronicle.SourceLost(source="zookeeper", why=why, last_seen_ms=lost_ms))
    say(240 * SECOND, hazard())
    say(241 * SECOND, ALERT)
    say(250 * SECOND, entries.Paused(by=BORIS, reason="ZooKeeper is down"))
    say(291 * SECOND, chronicle.SourceSeen(source="zookeeper"))
    say(292 * SECOND, chronicle.HazardEnded(
        hazard="dual_write_stuck", broker=None, text="ZooKeeper has not been written for 51 s",
        evidence=("/migration: last written up to metadata offset 690",),
        last_seen_ms=made_ms(291_750)))  # fmt: skip
    over = chronicle.AlertEnded(alert=ALERT.alert, fingerprint=ALERT.fingerprint)
    say(292 * SECOND, over)
    say(300 * SECOND, entries.Resumed(by=BORIS, reason="it is back"))
    # and then kraftgate is killed
    say(340 * SECOND, follow(2, made_ms(310 * SECOND)), orchestrator(2))
    say(345 * SECOND, chronicle.SourceSeen(source="metadata_log"))
    say(346 * SECOND, chronicle.SourceSeen(source="zookeeper"))
    say(390 * SECOND, started("brokers-kraft[2]"))
    say(402 * SECOND, ended("brokers-kraft[2]", output="restarted\n", took_ms=12_000))
    say(403 * SECOND, judged("brokers-kraft[2]", "opens_when", _SILENT), judged(
        "brokers-kraft[2]", "needs"))  # fmt: skip
    say(405 * SECOND, judged("brokers-kraft[2]", "opens_when"))
    say(410 * SECOND, passed("brokers-kraft[2]"), passed("brokers-kraft"), entered("finalize"))
    say(500 * SECOND, entries.Approved(checkpoint="finalize", by=ANNA, reason="soaked", basis=HEAD))
    say(520 * SECOND, entries.ApprovalsExpired(
        checkpoint="finalize", changed=("broker 2: was fenced, is unfenced",)))  # fmt: skip
    say(700 * SECOND, entries.Approved(checkpoint="finalize", by=ANNA, reason="again", basis=HEAD))
    say(760 * SECOND, entries.Approved(
        checkpoint="finalize", by=BORIS, reason="CHG-1234", basis=HEAD))  # fmt: skip
    say(770 * SECOND, started("finalize"))
    say(795 * SECOND, ended("finalize", took_ms=25_000))
    say(801 * SECOND, passed("finalize"), entries.ExecutionEnded(outcome="completed"))
    say(900 * SECOND, entries.OrchestratorEnded(owner="process 2", reason="it was stopped"))
    say(900 * SECOND, chronicle.FollowEnded(owner="process 2"))


_SILENT: Final = ("log_dirs_online(2)", "unknown", "broker 2 does not describe its directories")


ALERT: Final = chronicle.AlertBegan(
    alert="KraftgateDualWriteStuck",
    fingerprint="0123456789abcdef",
    labels={"severity": "critical", "cluster": "prod", "hazard": "dual_write_stuck"},
    summary="ZooKeeper is not written",
    description="Nothing of prod reaches ZooKeeper since 01:33:29",
    since_ms=None,
)


def _decision(checkpoint: str, reason: str) -> entries.StepDecided:
    return entries.StepDecided(checkpoint=checkpoint, decision="repeat", by=ANNA, reason=reason)


def hazard(name: str = "dual_write_stuck", **changes: object) -> chronicle.HazardBegan:
    fields: dict[str, object] = {
        "hazard": name,
        "broker": None,
        "severity": "critical",
        "blocks": "finalize",
        "text": "ZooKeeper has not been written for 31 s",
        "evidence": ("/migration: last written up to metadata offset 690",),
        "way_out": "Restart the active controller.",
        "since_ms": made_ms(209 * SECOND),
    }
    return chronicle.HazardBegan.model_validate(fields | changes)

"""The moments of the made-up night that an operator meets: the cluster, and the execution at it.

What the execution says is written here as the executor words it; the entries of the trail, the
step's text and all else that a page shows of it are made from these by the real parts.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from migration.assessment.conditions import Verdict
from migration.image.summary import Phase
from migration.shard.report import Step
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Body, Person, RecordedFinding
from orchestrator.run.execution_status import Turn
from orchestrator.runbook.load import load
from orchestrator.runbook.step_values import Answers, step_values
from orchestrator.runbook.templates import readable, render
from tests.orchestrator.views.console import sample
from tests.orchestrator.views.console.sample import Moment, Shape

Scene = Literal[
    "night", "by-hand", "failed-directory", "failed-step", "approve", "finalized", "rolled-back"
]
"""In `night` a broker is held, and gets its directories as time is let pass."""

ANNA: Final = Person(who="anna", login="anna", host="desk")
BORIS: Final = Person(who="boris", login="boris", host="desk")
MINUTE_MS: Final = 60_000
RUNBOOK: Final = load("zk-to-kraft-jbod")
ANSWERS: Final = Answers(
    controllers=[
        {
            "controller.quorum.voters": ",".join(
                f"{each}@controller-{each}.example.com:9093" for each in (3000, 3001, 3002)
            )
        }
    ]
)
_PHASES: Final[Mapping[Scene, Phase]] = {
    "approve": Phase.DUAL_WRITE,
    "finalized": Phase.FINALIZED,
    "rolled-back": Phase.ROLLED_BACK,
}
_DONE: Final = ("approve", "finalized")
_BEFORE_THE_RESTART: Final = ("by-hand", "failed-step", "rolled-back")
_OUTPUT: Final = """\
kafka-002: stopping kafka.service with a controlled shutdown
kafka-002: stopped after 41 s
kafka-002: server.properties replaced by server.kraft.properties
kafka-002: starting kafka.service
kafka-002: no answer on 9092 within 300 s
kafka-002: ERROR Exiting Kafka due to fatal exception (kafka.Kafka$)
kafka-002: org.apache.kafka.common.config.ConfigException: If using process.roles, \
controller.quorum.voters must contain a parseable set of voters.
restart-broker: kafka.service on kafka-002 is in state failed
"""


@dataclass(frozen=True, kw_only=True)
class Told:
    """What the execution says at a scene.

    Attributes:
        place: as of the executor.
    """

    place: str = ""
    holds: tuple[str, ...] = ()
    findings: tuple[RecordedFinding, ...] = ()
    people: int = 0
    turn: Turn | None = None


def shape_of(scene: Scene, shape: Shape) -> Shape:
    """Return what is wrong in a scene: a directory of the first broker, and one has no answer."""
    if scene != "failed-directory":
        return shape
    return replace(shape, offline=frozenset({1}), undescribed=frozenset({shape.brokers // 2}))


def moment_of(scene: Scene, shape: Shape, now_ms: int) -> Moment:
    some = Step(now_ms - 1_000, shape.each * 5 // 8) if scene == "failed-directory" else None
    return Moment(
        now_ms=now_ms,
        began_ms=now_ms - 40 * MINUTE_MS,
        moving=shape.brokers + 1 if scene in _DONE else shape.brokers // 2,
        registered_ms=now_ms - 4_000,
        phase=_PHASES.get(scene, Phase.HYBRID),
        restarted=scene not in _BEFORE_THE_RESTART,
        steps=() if some is None else (some,),
    )


def started(scene: Scene) -> Body:
    """Return the start of the orchestrator; it runs hooks where one has failed."""
    return entries.OrchestratorStarted(
        owner="ops1", version="1", execute=scene == "failed-step", hooks_sha256=None, fence=1
    )


def entries_of(
    scene: Scene, at: Moment, say: Callable[[int, Body], None], passed: Callable[[str, int], None]
) -> None:
    """Say the entries of a scene that follow the last broker in KRaft mode."""
    now_ms, id_ = at.now_ms, f"brokers-kraft[{at.moving}]"
    if scene == "approve":
        say(at.began_ms, entries.CheckpointEntered(checkpoint="finalize[3001]"))
    elif scene == "finalized":
        for each in ("finalize[3001]", "finalize[3002]", "finalize[3000]", "finalize"):
            passed(each, now_ms - 5 * MINUTE_MS)
        for each in ("finalized", "zookeeper-off"):
            passed(each, now_ms - MINUTE_MS)
        say(now_ms - MINUTE_MS, entries.ExecutionEnded(outcome="completed"))
    elif scene in ("by-hand", "failed-directory"):
        say(now_ms - 2 * MINUTE_MS, entries.CheckpointEntered(checkpoint=id_))
        say(now_ms - 2 * MINUTE_MS, _shown(id_, at.moving))
    elif scene == "failed-step":
        say(now_ms - 7 * MINUTE_MS, entries.CheckpointEntered(checkpoint=id_))
        for body in failed(id_, at.moving):
            say(now_ms - MINUTE_MS, body)
    elif scene == "rolled-back":
        say(now_ms - 20 * MINUTE_MS, entries.CheckpointEntered(checkpoint=id_))
        began = entries.RollbackBegan(path="from-kraft", at=id_, by=ANNA, reason="disk of broker 3")
        say(now_ms - 19 * MINUTE_MS, began)
        for checkpoint in RUNBOOK.runbook.rollback_path("from-kraft"):
            passed(checkpoint.id, now_ms - MINUTE_MS)
        say(now_ms - MINUTE_MS, entries.ExecutionEnded(outcome="rolled-back"))


def _shown(id_: str, broker: int) -> Body:
    checkpoint = RUNBOOK.runbook.checkpoints[4]
    assert checkpoint.step is not None
    known = {"broker": str(broker), "host": sample.host(broker), **step_values(ANSWERS, broker)}
    text = render(checkpoint.step.manual, readable(known, checkpoint.for_each))
    return entries.StepShown(checkpoint=id_, text=text, open_before=False, facts={})


def failed(id_: str, broker: int, attempt: int = 1) -> tuple[Body, ...]:
    """Return the entries of a hook that begins and fails."""
    run = f"1-{id_}-{attempt}"
    argv = ("ssh", sample.host(broker), "sudo", "restart-broker", "--mode", "kraft", str(broker))
    return (
        entries.StepStarted(
            checkpoint=id_,
            run=run,
            attempt=attempt,
            argv=argv,
            token=1,
            open_before=False,
            facts={},
        ),
        entries.StepEnded(
            checkpoint=id_,
            run=run,
            succeeded=False,
            how="ended with exit code 1",
            exit_code=1,
            signal=None,
            took_ms=6 * MINUTE_MS,
            output=_OUTPUT,
            output_bytes=len(_OUTPUT),
            output_sha256="sha256:0",
            still_running=(),
        ),
    )


def told(scene: Scene, at: Moment, shape: Shape, approved: int) -> Told:
    """Return what the execution says; `approved`: by how many people."""
    id_, host = f"brokers-kraft[{at.moving}]", sample.host(at.moving)
    restart = f"Restart broker {at.moving} on {host} in KRaft mode"
    place = f"checkpoint 5 of 9, broker {at.moving} of {shape.brokers}"
    if scene == "by-hand":
        why = "step enter-kraft is done by hand; the gate shows when it is done"
        mode = _found(f"broker_mode({at.moving}, kraft)", "the broker is in migrating mode")
        return _at(place, mode, turn=Turn(text=restart, why=why))
    if scene == "failed-directory":
        bad = f"broker 1: {sample.path(1)} is offline"
        lost = _found("log_dirs_online(1)", bad, verdict=Verdict.VIOLATED, broker=1)
        return _at(place, lost, *findings(at, shape))
    if scene == "failed-step":
        decide = f"decide '{id_}'"
        ways = (f"{decide} --repeat", f"{decide} --done", "rollback", "abort")
        commands = tuple(f"kraftgate {each} --reason WHY" for each in ways)
        asks = "a decision, since the hook ended with exit code 1. Check the host"
        turn = Turn(text=f"Decide about the failed step: {restart}", commands=commands)
        return Told(place=place, holds=(asks,), turn=turn)
    if scene == "approve":
        return _approval(approved)
    if scene == "night":
        return _at(place, *findings(at, shape))
    return Told()


def _approval(approved: int) -> Told:
    command = "kraftgate approve 'finalize[3001]' --reason WHY --confirm prod"
    turn = Turn(
        text="Approve: Restart controller 3001 on c2 without the migration",
        why=f"it cannot be undone; {approved} of 2 people approved it",
        commands=(command,),
    )
    holds = (f"approval by 2 people: {command}",) if approved < 2 else ()
    place = "checkpoint 7 of 9, controller 1 of 3"
    return Told(place=place, holds=holds, people=2, turn=turn)


def findings(at: Moment, shape: Shape, verdict: Verdict = Verdict.WAITING) -> list[RecordedFinding]:
    """Return those of the broker that is held."""
    evidence = (f"{shape.each - at.assigned} migrating",)
    reason = f"broker {at.moving} has replicas without a directory"
    condition = f"assignments_complete({at.moving})"
    return [_found(condition, reason, verdict=verdict, evidence=evidence, broker=at.moving)]


def _found(
    condition: str,
    reason: str,
    *,
    verdict: Verdict = Verdict.WAITING,
    evidence: tuple[str, ...] = (),
    broker: int | None = None,
) -> RecordedFinding:
    return RecordedFinding(
        condition=condition, verdict=verdict, reason=reason, evidence=evidence, broker=broker
    )


def _at(place: str, *found: RecordedFinding, turn: Turn | None = None) -> Told:
    holds = tuple(f"{each.condition}: {each.reason}" for each in found)
    return Told(place=place, holds=holds, findings=found, turn=turn)

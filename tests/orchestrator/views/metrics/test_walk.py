"""The execution's position, as it is scraped."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from migration.assessment.conditions import Verdict
from orchestrator.audit.execution.entries import RecordedFinding
from orchestrator.audit.execution.state import Stage
from orchestrator.config.load import parse_config
from orchestrator.run import execution_status as walk_file
from orchestrator.run.execution_status import CheckpointStatus, ExecutionStatus
from orchestrator.run.reader import Reader
from orchestrator.views.metrics.cluster import CLUSTER
from tests.orchestrator.views.metrics.scraping import CONFIG, Samples, scraped
from tests.scenes.night import HYBRID, NOW_MS

AT: Final = "brokers-kraft[3]"
WITH_RUNBOOK: Final = CONFIG + "runbook: {file: zk-to-kraft-jbod}\n"


def found(verdict: Verdict) -> RecordedFinding:
    return RecordedFinding(condition="nothing_held", verdict=verdict, reason="broker 3 is held")


def place(id_: str, entered_ms: int) -> CheckpointStatus:
    return CheckpointStatus(
        id=id_, stage=Stage.ENTERED, how=None, entered_ms=entered_ms, ended_ms=None
    )


WALK_TOLD: Final = ExecutionStatus(
    at_ms=NOW_MS,
    runbook="zk-to-kraft-jbod",
    checkpoint=AT,
    title="Brokers into KRaft mode",
    stage=Stage.ENTERED,
    holds=(),
    findings=(found(Verdict.WAITING), found(Verdict.SATISFIED)),
    shown=None,
    path=None,
    paused=None,
    outcome=None,
    execute=False,
    asks=None,
    places=(place("copied", NOW_MS - 90_000), place(AT, NOW_MS - 5_000)),
    unexpected=(),
)


def told(config: str = WITH_RUNBOOK, **changes: object) -> Samples:
    walk = WALK_TOLD.model_copy(update=changes)
    return scraped(replace(HYBRID, execution=walk), config)


def test_the_checkpoint_is_told_with_its_conditions() -> None:
    scrape = told()
    of_execution = ("kraftgate_checkpoint", "kraftgate_step", "kraftgate_walk")
    declared = {each.name for each in CLUSTER.metrics if each.name.startswith(of_execution)}
    assert len(declared) == 7
    assert declared <= scrape.keys()
    assert scrape["kraftgate_checkpoint"] == {(AT, "entered"): 1}
    assert scrape["kraftgate_checkpoint_entered_timestamp_seconds"] == {(AT,): 1789999995.0}
    assert scrape["kraftgate_checkpoint_conditions"] == {
        (AT, "satisfied"): 1,
        (AT, "waiting"): 1,
        (AT, "violated"): 0,
        (AT, "unknown"): 0,
    }
    assert scrape["kraftgate_step_needs_decision"] == {(AT,): 0}


def test_what_needs_a_person_is_told() -> None:
    scrape = told(
        stage=Stage.ASKS,
        asks="the hook ended with 1",
        paused="ann: coffee",
        findings=(found(Verdict.VIOLATED),),
    )
    assert scrape["kraftgate_checkpoint"] == {(AT, "asks"): 1}
    assert scrape["kraftgate_step_needs_decision"] == {(AT,): 1}
    assert scrape["kraftgate_checkpoint_conditions"][AT, "violated"] == 1
    assert scrape["kraftgate_walk_paused"] == {(): 1}


def test_a_walk_that_has_ended_stands_nowhere() -> None:
    scrape = told(checkpoint=None, stage=None)
    assert not [name for name in scrape if name.startswith("kraftgate_checkpoint")]
    assert "kraftgate_step_needs_decision" not in scrape
    assert scrape["kraftgate_walk_paused"] == {(): 0}


def test_what_an_earlier_run_left_is_not_read_where_no_runbook_is_configured(
    tmp_path: Path,
) -> None:
    config = parse_config(f"{CONFIG}state_dir: state\n", tmp_path / "kraftgate.yaml")
    file = config.state_dir / "clusters" / "prod" / walk_file.EXECUTION_FILE
    file.parent.mkdir(parents=True)
    walk_file.write(file, WALK_TOLD)
    (one,) = Reader(config, newest=1).read(NOW_MS)
    assert one.execution is None
    with_runbook = parse_config(f"{WITH_RUNBOOK}state_dir: state\n", tmp_path / "kraftgate.yaml")
    (one,) = Reader(with_runbook, newest=1).read(NOW_MS)
    assert one.execution == WALK_TOLD

"""`kraftgate wait`: exit codes and output, on a real store; only the job that fills it is faked."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from migration.image.cluster import ClusterImage
from migration.image.summary import ClusterSummary, Phase
from migration.observed.source_status import STALE_AFTER_MS
from orchestrator.cli import wait as command
from orchestrator.cli.program import main
from orchestrator.errors import ExitCode
from orchestrator.run.waiting import Findings
from streams.log_dirs.poll_requests import REQUESTS
from streams.state import source_status
from streams.state.claim import claimed
from streams.state.store import BatchResult, Store
from tests.migration.assessment.conditions.views import all_disks, directory, disks
from tests.scenes.night import FRESH, cluster, held, kraft
from tests.support.fake_store import write_status

CONFIG = "cluster: {name: prod}\ncontrollers: {bootstrap: 'c1:9093'}\nstate_dir: state\n"
DONE = cluster(Phase.FINALIZED, kraft(3))
HELD = cluster(Phase.HYBRID, kraft(1), held(3, progress=None, registered_ms=None))


class Job:
    """What a `kraftgate run` leaves in a state directory."""

    def __init__(self, state: Path) -> None:
        self._state = state
        state.mkdir(exist_ok=True)
        self._store = Store.open(state / "store.db")
        self._batch = 0

    def write(self, summary: ClusterSummary, age_ms: int = 0) -> None:
        """Commit a batch, and let the source say that it is current, or was so long ago."""
        outcome = BatchResult(
            cluster=summary.cluster,
            image=ClusterImage(),
            summary=summary,
            brokers=summary.brokers,
            gone=[],
            place={},
            events=[],
            files=[],
        )
        self._store.commit(self._batch, [outcome], 0)
        self._batch += 1
        at_ms = time.time_ns() // 1_000_000 - age_ms
        live = replace(FRESH, observed_ms=at_ms, last_reply_ms=at_ms)
        write_status(self._state, summary.cluster, live)

    def close(self) -> None:
        self._store.close()


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    (tmp_path / "kraftgate.yaml").write_text(CONFIG)
    with closing(Job(tmp_path / "state")) as job:
        yield job


def wait(tmp_path: Path, *arguments: str) -> Result:
    config = str(tmp_path / "kraftgate.yaml")
    return CliRunner().invoke(main, ["wait", "--config", config, *arguments])


def test_it_names_why_the_log_directories_could_not_be_polled(tmp_path: Path, job: Job) -> None:
    file = tmp_path / "kraftgate.yaml"
    file.write_text(f"{CONFIG}brokers: {{bootstrap: 'b1:9092'}}\n")
    described = disks(3, directory("/d1"))
    job.write(replace(DONE, disks=all_disks(described)))
    requests = tmp_path / "state" / "clusters" / "prod" / REQUESTS
    requests.parent.mkdir(parents=True)
    requests.write_bytes(b"damaged" * 1000)
    now_ms = time.time_ns() // 1_000_000
    live = replace(FRESH, observed_ms=now_ms, last_reply_ms=now_ms)
    source_status.write_status(requests.parent.with_name("log_dirs.json"), live)
    with claimed(tmp_path / "state"):
        outcome = wait(tmp_path, "--condition", "log_dirs_online(3)", "--timeout", "1s")
    assert outcome.exit_code == ExitCode.NO_DATA
    why = f"could not be polled now: {requests} cannot be opened: file is not a database"
    assert f"log_dirs_online(3): unknown: the log directories {why}\n" in outcome.stderr


@pytest.mark.slow
def test_a_condition_that_polls_nothing_needs_no_client_of_kafka(tmp_path: Path, job: Job) -> None:
    job.write(DONE)
    code = (
        "import sys; from orchestrator.cli.program import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "print([m for m in ('pyspark', 'kafka', 'kio', 'kazoo.client') if m in sys.modules])"
    )
    config = ("--config", str(tmp_path / "kraftgate.yaml"))
    done = subprocess.run(
        [sys.executable, "-c", code, "wait", *config, "--condition", "finalized"],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1:] == ["[]"], done.stderr


def test_what_holds_ends_with_0(tmp_path: Path, job: Job) -> None:
    job.write(DONE)
    result = wait(tmp_path, "--condition", "assignments_complete(3)", "--condition", "finalized")
    assert result.exit_code == ExitCode.DONE, result.stderr
    assert result.stdout.splitlines() == [
        "prod: assignments_complete(3): satisfied: every replica of broker 3 has a directory",
        "prod: phase(finalized): satisfied: the phase is finalized",
    ]


def test_what_comes_to_hold_meanwhile_ends_with_0(
    tmp_path: Path, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    say = command._print_pending

    def and_then_it_goes_on(found: Findings) -> None:
        say(found)
        job.write(DONE)

    monkeypatch.setattr(command, "_print_pending", and_then_it_goes_on)
    job.write(HELD)
    result = wait(tmp_path, "--condition", "nothing_held", "--timeout", "60s")
    assert result.exit_code == ExitCode.DONE, result.stderr
    assert result.stderr.splitlines() == [
        "kraftgate: prod: nothing_held: waiting: held: 3",
        "kraftgate: prod: nothing_held: satisfied: no broker is held",
    ]


def test_what_does_not_hold_in_time_ends_with_3(tmp_path: Path, job: Job) -> None:
    job.write(HELD)
    result = wait(tmp_path, "--condition", "finalized", "--timeout", "10ms")
    assert result.exit_code == ExitCode.GATE_NOT_MET
    assert result.stderr.splitlines()[-1] == (
        "kraftgate: not within 10ms: prod: phase(finalized): the phase is hybrid"
    )


def test_data_that_is_stale_ends_with_4(tmp_path: Path, job: Job) -> None:
    job.write(DONE, age_ms=STALE_AFTER_MS + 1)
    result = wait(tmp_path, "--condition", "finalized", "--timeout", "10ms")
    assert result.exit_code == ExitCode.NO_DATA
    assert "`kraftgate run` no longer reports: is it running?" in result.stderr


def test_a_state_directory_without_a_store_ends_with_4(tmp_path: Path) -> None:
    (tmp_path / "kraftgate.yaml").write_text(CONFIG)
    result = wait(tmp_path, "--condition", "finalized", "--timeout", "10ms")
    assert result.exit_code == ExitCode.NO_DATA
    assert "nothing was observed yet: is `kraftgate run` running?" in result.stderr


def test_a_hazard_that_forbids_ends_with_5(tmp_path: Path, job: Job) -> None:
    early = cluster(Phase.FINALIZED, kraft(1), held(3))
    job.write(early)
    result = wait(tmp_path, "--condition", "no_hazard(finalized_too_early)", "--timeout", "10ms")
    assert result.exit_code == ExitCode.HAZARD
    assert "the migration was finalized although" in result.stderr


def test_with_fail_fast_it_does_not_wait_for_a_person(tmp_path: Path, job: Job) -> None:
    job.write(cluster(Phase.ROLLED_BACK, kraft(3)))
    result = wait(tmp_path, "--condition", "finalized", "--fail-fast")  # within 30 minutes
    assert result.exit_code == ExitCode.HAZARD
    last = result.stderr.splitlines()[-1]
    assert re.match(r"kraftgate: after \d+ m?s: prod: phase\(finalized\): ", last), last


def test_as_json_it_tells_every_condition(tmp_path: Path, job: Job) -> None:
    job.write(HELD)
    result = wait(
        tmp_path,
        *("--condition", "hybrid", "--condition", "assignments_complete(3)"),
        *("--timeout", "10ms", "--json"),
    )
    assert result.exit_code == ExitCode.GATE_NOT_MET
    told = json.loads(result.stdout)
    assert (told["satisfied"], told["verdict"], told["cluster"]) == (False, "waiting", "prod")
    assert told["findings"] == [
        {
            "condition": "phase(hybrid)",
            "verdict": "satisfied",
            "reason": "the phase is hybrid",
            "evidence": [],
            "broker": None,
            "evidence_total": 0,
        },
        {
            "condition": "assignments_complete(3)",
            "verdict": "waiting",
            "reason": "broker 3 has 12 replicas without a directory",
            "evidence": ["8 migrating", "4 unassigned"],
            "broker": 3,
            "evidence_total": 2,
        },
    ]


def test_one_of_several_clusters_can_be_waited_for(tmp_path: Path, job: Job) -> None:
    (tmp_path / "kraftgate.yaml").write_text(
        "clusters:\n"
        "  - {name: prod, controllers: {bootstrap: 'c1:9093'}}\n"
        "  - {name: test, controllers: {bootstrap: 'd1:9093'}}\n"
        "state_dir: state\n"
    )
    job.write(DONE)
    job.write(replace(HELD, cluster="test"))
    of_all = wait(tmp_path, "--condition", "finalized", "--timeout", "10ms", "--json")
    assert of_all.exit_code == ExitCode.GATE_NOT_MET
    assert [each["cluster"] for each in json.loads(of_all.stdout)["clusters"]] == ["prod", "test"]
    of_one = wait(tmp_path, "--condition", "finalized", "--cluster", "prod")
    assert of_one.exit_code == ExitCode.DONE
    of_none = wait(tmp_path, "--condition", "finalized", "--cluster", "other")
    assert of_none.exit_code == ExitCode.USAGE
    assert "has no cluster other. Configured clusters: prod, test" in of_none.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "nothing to wait for: add --condition or --checkpoint"),
        (("--condition", "isr_ful"), "did you mean `isr_full`?"),
        (("--condition", "soak(10m)"), "soak counts from when the other conditions hold"),
    ],
)
def test_what_cannot_be_waited_for_ends_with_2(
    tmp_path: Path, job: Job, arguments: tuple[str, ...], said: str
) -> None:
    del job
    result = wait(tmp_path, *arguments)
    assert result.exit_code == ExitCode.USAGE
    assert said in result.stderr


def test_a_checkpoint_of_a_cluster_without_a_runbook_is_refused(tmp_path: Path, job: Job) -> None:
    job.write(DONE)
    result = wait(tmp_path, "--checkpoint", "copied")
    assert result.exit_code == ExitCode.USAGE
    assert "prod has no `runbook` to pass a checkpoint of" in result.stderr

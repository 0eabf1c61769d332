"""The job on a Spark standalone cluster: a master and two workers, of which one is killed.

The executors' Python has no package of its own, and their environment none of the driver's paths:
everything comes from the archive. Five clusters, which are one real cluster under five ids, are
followed from `spark-submit`, then from `kraftgate run`; so many are observed in a process of their
own. What they wrote is compared row by row with what one machine makes of the controller's log, and
that with what the oracle makes of what Kafka prints of this log.
"""

import json
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pyspark
import pytest

import orchestrator.__main__ as program
from migration.image.summary import ClusterSummary
from migration.metadata.events import Event, Source
from orchestrator.errors import ExitCode
from orchestrator.lab import Lab, LabSpec
from orchestrator.lab.machine.ports import LOOPBACK
from streams.spark.executors import PACKAGES
from streams.spark.feeds import CLUSTERS_HERE_MAX
from streams.state.store import Store
from tests.oracle.compare import differences
from tests.oracle.projection import project
from tests.support.lab_steps import wait_directory_noticed
from tests.support.polling import until
from tests.support.renamed_cluster import RenamedCluster, another_id
from tests.support.standalone import ARCHIVED, BARE_PYTHON, CLASSES, StandaloneCluster
from tests.support.written import picture, written
from tests.system.killing import CLUSTER, Killed

pytestmark = [pytest.mark.lab, pytest.mark.spark, pytest.mark.long(minutes=4)]

JVM_INTERRUPTED = 130
NAMES = (CLUSTER, "b", "c", "d", "e")
SETTINGS = {
    "spark.driver.host": LOOPBACK,
    "spark.driver.bindAddress": LOOPBACK,
    "spark.pyspark.python": str(BARE_PYTHON),
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.driver.extraJavaOptions": ARCHIVED,
    "spark.driver.extraClassPath": CLASSES,
    "spark.executor.extraJavaOptions": ARCHIVED,
    "spark.executor.extraClassPath": CLASSES,
}

SHORT = """
from orchestrator.cli.program import main
from streams.spark import executors
executors.START_S_MAX = 0
main()
"""


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab(LabSpec(brokers=2, directories=2, controllers=1)) as lab:
        lab.start_kraft()
        yield lab


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    with StandaloneCluster(tmp_path_factory.mktemp("spark"), workers=2) as cluster:
        yield cluster


@pytest.fixture
def run(lab: Lab, tmp_path: Path) -> Iterator[Killed]:
    with Killed(tmp_path, lab.controller_bootstrap, lab.cluster_id) as run:
        yield run


@pytest.fixture
def entries(lab: Lab) -> Iterator[list[dict[str, object]]]:
    """The configuration of each cluster."""
    with ExitStack() as stack:

        def entry(name: str) -> dict[str, object]:
            if name == CLUSTER:
                id_, address = lab.cluster_id, lab.controller_bootstrap
            else:
                id_ = another_id()
                shown = RenamedCluster(lab.controller_bootstrap, lab.cluster_id, id_)
                address = stack.enter_context(shown).address
            return {"name": name, "id": id_, "controllers": {"bootstrap": address}}

        yield [entry(name) for name in NAMES]


def _configure(run: Killed, entries: list[dict[str, object]], spark: dict[str, object]) -> None:
    content = {
        "clusters": entries,
        "state_dir": str(run.state),
        "run": {"spark": spark},
    }
    run.config.write_text(json.dumps(content), encoding="utf-8")


def _submit(cluster: StandaloneCluster) -> tuple[str, ...]:
    """The command line of spark-submit; its driver's workers find the packages by PYTHONPATH."""
    house = Path(program.__file__).parents[1]
    paths = f"{house}:{Path(pyspark.__file__).parents[1]}"
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    settings = [f"{key}={value}" for key, value in SETTINGS.items()]
    return (
        *("env", f"PYTHONPATH={paths}", "PYSPARK_PIN_THREAD=false"),
        *(str(submit), "--master", cluster.master, "--properties-file", str(cluster.settings)),
        *(each for setting in settings for each in ("--conf", setting)),
        program.__file__,
    )


def test_a_worker_is_killed_and_nothing_is_lost_or_doubled(
    lab: Lab,
    entries: list[dict[str, object]],
    cluster: StandaloneCluster,
    run: Killed,
    tmp_path: Path,
) -> None:
    _configure(run, entries, {})
    run.program = _submit(cluster)
    run.start()
    lab.create_topic("first", 40, 2)
    _wait_for_topics(run, 1)
    cluster.kill_worker(0)
    for number in range(20):
        lab.create_topic(f"more-{number}", 5, 2)
    _wait_for_topics(run, 21)
    run.interrupt_group()
    # Spark prints what it wants: its output is not Kraftgate's here.
    assert run.exit_code() == JVM_INTERRUPTED

    cluster.add_worker()
    run.program = (sys.executable, "-m", "orchestrator")
    settings = {"master": cluster.master, "secret_file": str(cluster.secret_file)}
    _configure(run, entries, {**settings, "settings": SETTINGS})
    lab.delete_topic("first")
    lab.fail_directory(2, 1)
    wait_directory_noticed(lab, 2, 1)
    lab.kill("broker-1")
    lab.start_broker(1)
    run.start()
    _wait_for_topics(run, 20)
    assert run.interrupt() == 0

    for number in range(3):
        unpacked = [each / PACKAGES / "streams" for each in cluster.executors(number)]
        assert any(each.is_dir() for each in unpacked), number
    assert len(NAMES) > CLUSTERS_HERE_MAX
    _is_what_one_machine_writes(lab, run, tmp_path)


def test_without_a_worker_it_ends_by_itself_and_at_the_first_signal(tmp_path: Path) -> None:
    with StandaloneCluster(tmp_path, workers=0) as cluster, _alone(tmp_path, cluster) as run:
        run.start("--until", "finalized", "--timeout", "1s")
        code, errors = run.ended()
        assert code == ExitCode.GATE_NOT_MET
        assert "phase(finalized) did not hold in time: Spark has not started yet" in errors

        run.start()
        until((run.state / "executors" / "driver").exists)
        assert run.interrupt() == ExitCode.DONE

        run.program = (sys.executable, "-c", SHORT)
        run.start()
        code, errors = run.ended()
        assert code == ExitCode.FAILED
        assert f"no executor of {cluster.master} has started within 0 s: check that" in errors
        assert not (run.state / "executors").exists()


def test_a_program_that_the_executors_do_not_have_is_named_with_the_fix(
    cluster: StandaloneCluster, tmp_path: Path
) -> None:
    with _alone(tmp_path, cluster, **{"spark.pyspark.python": "/no/such/python"}) as run:
        run.start()
        code, errors = run.ended()
    assert code == ExitCode.FAILED
    assert "the executors cannot run the job: " in errors
    assert '"/no/such/python"' in errors
    assert f"Check `spark.pyspark.python` (it must be Python {BARE_PYTHON.name[6:]}), " in errors
    assert not (run.state / "executors").exists()


def _alone(folder: Path, cluster: StandaloneCluster, **settings: str) -> Killed:
    """A run whose Kafka does not answer; its executors need none of the packages, 300 MB."""
    with tarfile.open(folder / "none.tar", "w"):
        settings["spark.archives"] = str(folder / "none.tar")
    spark = {"master": cluster.master, "secret_file": str(cluster.secret_file)}
    more = json.dumps({"spark": {**spark, "settings": SETTINGS | settings}})
    return Killed(folder, f"{LOOPBACK}:1", "AAAAAAAAAAAAAAAAAAAAAA", f"run: {more}")


def _wait_for_topics(run: Killed, topics: int) -> None:
    for name in NAMES:
        run.wait_for(lambda now: now.topics == topics, cluster=name)


def _is_what_one_machine_writes(lab: Lab, run: Killed, folder: Path) -> None:
    log = run.state / "clusters" / CLUSTER / "__cluster_metadata-0"
    alone = folder / "alone"
    command = [sys.executable, "-m", "orchestrator", "replay", str(log), "--state-dir", str(alone)]
    replayed = subprocess.run([*command, "--json"], check=True, capture_output=True, timeout=600)
    oracle = project(log, lab.dump_log)
    assert {event["kind"] for event in oracle["events"]} > {"log_dirs_lost", "broker_fenced"}
    assert differences(json.loads(replayed.stdout), oracle) == []
    expected = written(alone / "state", "replay")
    assert len(expected) > 2 * (40 + 20 * 5)
    for name in NAMES:
        assert written(run.state, name) == expected
        assert _events(run.state, name) == _events(alone / "state", "replay")
        assert _picture(run.state, name) == _picture(alone / "state", "replay")


def _events(state: Path, cluster: str) -> list[Event]:
    with Store.open_readonly(state / "store.db") as store:
        events = [event for _, event in store.events(cluster)]
    return [
        replace(event, seen_ms=None) for event in events if event.source is Source.KRAFT_METADATA
    ]


def _picture(state: Path, cluster: str) -> tuple[object, ...]:
    with Store.open_readonly(state / "store.db") as store:
        now = store.summary(cluster)
    assert isinstance(now, ClusterSummary)
    return picture(now)

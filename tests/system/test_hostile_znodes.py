"""Hostile znodes in a real ZooKeeper: `run` names them, goes on, and starts again over them.

Between its two starts, its JVM does not answer while `run` ends.
"""

import sys
from pathlib import Path

import pytest

from migration.image.summary import ClusterSummary
from migration.observed.facts import ZnodeSeen
from migration.observed.znodes import CLUSTER_ID, CONTROLLER_EPOCH, NOTIFICATIONS, parent
from orchestrator.lab import Lab, LabSpec
from streams.state.journal import Journal
from tests.streams.zookeeper.hostile import HOSTILE
from tests.streams.zookeeper.watching import Writer
from tests.system.killing import CLUSTER, Killed

pytestmark = [pytest.mark.lab, pytest.mark.spark, pytest.mark.long(minutes=0.5)]

ID = "q1Sh-9_ISia_zwGINzRvyQ"
JOURNALED = "/controller", "/migration"
"""Kept by an earlier version, which read them as Kafka's."""


_IMPATIENT = """
from orchestrator.cli.program import main
from orchestrator.views.terminal import live
live._END_S_MAX = 1
main()
"""


def _named(run: Killed) -> dict[object, object]:
    told = [each for each in run.events() if each.kind == "znode_unreadable"]
    return {each.fields["path"]: each.fields["reason"] for each in told}


def test_run_survives_hostile_znodes_and_its_own_journal_of_them(tmp_path: Path) -> None:
    with Lab(LabSpec(brokers=0)) as lab:
        lab.start_zookeeper()
        sources = f'zookeeper: {{connect: "{lab.zookeeper_connect}"}}\n'
        kafka = Writer(lab.zookeeper_connect)
        kafka.create(CLUSTER_ID, b'{"version":"1","id":"%s"}' % ID.encode())
        run = Killed(tmp_path, "127.0.0.1:1", ID, sources)
        run.state.mkdir(mode=0o700)
        folder = run.state / "clusters" / CLUSTER
        folder.mkdir(parents=True, mode=0o700)
        journal = Journal(folder / "zookeeper.db")
        journal.append([ZnodeSeen(1, path, HOSTILE[path][0], 0, 1, 1, 0) for path in JOURNALED])
        journal.close()
        with run:
            in_time, run.program = run.program, (sys.executable, "-c", _IMPATIENT)
            run.start()
            run.wait_for(
                lambda now: now.zookeeper is not None and now.zookeeper.seen_ms is not None
            )
            assert _named(run) == {path: HOSTILE[path][1] for path in JOURNALED}
            for path, (data, _) in HOSTILE.items():
                if parent(path) == NOTIFICATIONS:
                    assert kafka.notify(data) == path
                else:
                    kafka.create(path, data)
            run.wait_for(lambda _: len(_named(run)) == len(HOSTILE))
            assert _named(run) == {path: why for path, (_, why) in HOSTILE.items()}
            _a_jvm_that_does_not_answer_is_killed(run)
            run.program = in_time
            run.start()
            _epoch(run, kafka, 8)
            run.kill()
            run.start()
            now = _epoch(run, kafka, 9)
            assert now.zookeeper is not None
            assert now.zookeeper.unreadable.keys() == HOSTILE.keys() - {CONTROLLER_EPOCH}
            assert run.interrupt() == 0
            # The next start has no other reason for its gap.
            journal = Journal(folder / "zookeeper.db")
            assert getattr(journal.kept()[-1], "why", None) == "Kraftgate was stopped"
            journal.close()
        kafka.close()


def _epoch(run: Killed, kafka: Writer, epoch: int) -> ClusterSummary:
    """Write the controller's epoch; return what is known once `run` has read it."""
    kafka.set(CONTROLLER_EPOCH, b"%d" % epoch)
    return run.wait_for(lambda now: getattr(now.zookeeper, "controller_epoch", None) == epoch)


def _a_jvm_that_does_not_answer_is_killed(run: Killed) -> None:
    java = run.java()
    assert java is not None
    java.suspend()
    run.terminate_group()
    _, errors = run.ended()
    assert f"Spark's JVM {java.pid} did not end: it was killed" in errors
    assert "RuntimeWarning" not in errors

"""`kraftgate move` on real clusters under load: applied, killed, cancelled, and with failures.

KIP-113, "Test Plan": replicas are moved between the directories of their brokers, and every
acknowledged record is consumed. One cluster serves all scenarios of a mode.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from migration.moves.planner import THROTTLE
from migration.observed.probed import Broker, TopicPartition
from orchestrator.audit.log import AUDIT_FILE, AuditLog
from orchestrator.audit.move_entries import left_throttled
from orchestrator.errors import ExitCode
from orchestrator.execution.moves import Requests
from orchestrator.lab import Lab, LabSpec
from streams.kafka.throttle import Throttles
from streams.net.endpoint import Endpoint
from streams.net.security import Security
from tests.support.cli import Done, kraftgate
from tests.support.lab_steps import alter_broker, wait_directory_noticed
from tests.support.log_dirs import listed
from tests.support.polling import polls, until
from tests.system.execution.traffic import Traffic
from tests.system.killing import CLUSTER, Killed

pytestmark = [pytest.mark.lab, pytest.mark.spark, pytest.mark.long(minutes=4)]

SLOW, FAST = "1", "1000000000"
EARLIER: Final = "123456789"
"""The operator's own throttle of broker 1; broker 2 has none."""
BIG: Final = TopicPartition("big", 0)
TOPICS: Final = ("load", BIG.topic)
RECORDS, RECORD_BYTES = 4000, 1000
SPEC = {
    "replica.high.watermark.checkpoint.interval.ms": "500",
    # A throttled move copies its first megabyte, and then nothing more.
    "alter.log.dirs.replication.quota.window.num": "3600",
}


@dataclass
class Cluster:
    """A lab that `kraftgate run` follows."""

    lab: Lab
    run: Killed
    folder: Path

    def move(self, verb: str, *words: str) -> Done:
        return kraftgate(self.run.config, "move", verb, *words)

    def complete(self, verb: str, plan: Path, *words: str) -> None:
        """Apply or cancel, once nothing that the command needs is unknown or stale."""
        ended: list[Done] = []

        def answers() -> bool:
            ended.append(self.move(verb, str(plan), *words))
            return ended[-1].returncode != ExitCode.NO_DATA

        until(answers)
        assert ended[-1].returncode == ExitCode.DONE, ended[-1].stderr

    def plan(self, broker: int, to: int) -> Path:
        """Plan the moves of all replicas of the topics to a directory of the broker.

        Kraftgate plans once it has followed the cluster so far that nothing is unknown.
        """
        target = str(self.lab.directory(broker, to))
        partitions = [
            {
                "topic": topic,
                "partition": number,
                "replicas": replicas,
                "log_dirs": [target if id_ == broker else "any" for id_ in replicas],
            }
            for (topic, number), (replicas, _, _) in sorted(self.lab.isrs().items())
            if topic in TOPICS and broker in replicas
        ]
        (asked := self.folder / "asked.json").write_text(
            json.dumps({"version": 1, "partitions": partitions})
        )
        (out := self.folder / f"plan-{broker}-{to}.json").unlink(missing_ok=True)
        said = ""

        def planned() -> bool:
            nonlocal said
            done = self.move("plan", "--from", str(asked), "--out", str(out))
            said = done.stdout + done.stderr
            assert done.returncode in (ExitCode.DONE, ExitCode.NO_DATA, ExitCode.HAZARD), said
            return out.exists()

        until(planned, "a plan", lambda: said)
        return out

    def futures(self, broker: int) -> set[str]:
        """Return the replicas that the broker moves."""
        found = listed(self.run.config, "--broker", str(broker)).log_dirs.values()
        return {
            f"{each['topic']}-{each['partition']}"
            for one in found
            for each in one["partitions"] or ()
            if each["future"]
        }

    def places(self, broker: int) -> set[str]:
        """Return the directories with replicas of the topics."""
        return {
            path
            for (id_, path), one in listed(self.run.config).log_dirs.items()
            for each in one["partitions"] or ()
            if id_ == broker and each["topic"] in TOPICS
        }

    def elsewhere(self, broker: int) -> int:
        """Return the index of the directory that does not have `big`."""
        found = listed(self.run.config, "--broker", str(broker), "--topic", "big")
        ((path, _),) = found.replicas(broker, "big", 0, future=False)
        return int(path == str(self.lab.directory(broker, 0)))

    def throttle(self, broker: int) -> str | None:
        (endpoint, *_) = Endpoint.parse_list(self.lab.broker_bootstrap)
        return Throttles((endpoint,), Security()).read(broker).own

    def require_clean(self, broker: int, throttle: str | None) -> None:
        """No future replica, no throttle of Kraftgate's, nothing open in the trail."""
        assert self.futures(broker) == set()
        until(lambda: self.throttle(broker) == throttle)
        with AuditLog.open_readonly(self.run.state / AUDIT_FILE) as log:
            assert not left_throttled(log.entries(CLUSTER))

    def has_recorded(self, kind: str, since: int) -> bool:
        with AuditLog.open_readonly(self.run.state / AUDIT_FILE) as log:
            return any(each.kind == kind for each in log.entries(CLUSTER, after=since))

    def recorded(self) -> int:
        with AuditLog.open_readonly(self.run.state / AUDIT_FILE) as log:
            return log.last()[-1].sequence

    def _has_begun(self, process: "subprocess.Popen[str]", since: int) -> bool:
        return process.poll() is not None or self.has_recorded("move_began", since)

    @contextmanager
    def applying(self, plan: Path, throttle: str) -> Iterator[subprocess.Popen[str]]:
        """Run `move apply` as a process of its own, for the block, which has begun its moves.

        A busy job lags, so that the command refuses to begin: then it is run again.
        """
        command = [sys.executable, "-m", "orchestrator", "move", "apply", str(plan), "--yes"]
        # All at once: else `big` waits behind what the traffic has written in the meantime.
        command += ["--throttle", throttle, "--at-once", "3", "--config", str(self.run.config)]
        since = self.recorded()
        for _ in polls():
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            try:
                until(partial(self._has_begun, process, since))
                if process.poll() != ExitCode.NO_DATA:
                    yield process
                    return
            finally:
                process.kill()
                process.wait()
                assert process.stdout is not None
                process.stdout.close()
        raise AssertionError("`move apply` lacks current data all the time")


@pytest.fixture(scope="module", params=["kraft", "zookeeper"])
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("moves")
    with Lab(LabSpec(brokers=2, directories=2, broker_properties=SPEC)) as lab:
        if request.param == "kraft":
            lab.start_kraft()
            sources = f'brokers: {{bootstrap: "{lab.broker_bootstrap}"}}\n'
        else:
            lab.start_zookeeper()
            lab.start_brokers()
            sources = f'brokers: {{bootstrap: "{lab.broker_bootstrap}"}}\n'
            sources += f'zookeeper: {{connect: "{lab.zookeeper_connect}"}}\n'
        lab.create_topic("load", 2, 2)
        lab.create_topic("big", 1, 2)
        lab.wait_in_sync()
        lab.produce("big", 0, RECORDS, size_bytes=RECORD_BYTES)
        alter_broker(lab, 1, THROTTLE, str(EARLIER))
        with Killed(folder, lab.controller_bootstrap, lab.cluster_id, sources) as run:
            if request.param == "zookeeper":
                kept = [
                    line
                    for line in run.config.read_text().splitlines()
                    if not line.startswith("controllers:")
                ]
                run.config.write_text("\n".join(kept) + "\n")
            run.start()
            until((run.state / AUDIT_FILE).exists)
            yield Cluster(lab, run, folder)
            assert run.interrupt() == 0


def test_moves_under_load(cluster: Cluster) -> None:
    kraft = "zookeeper:" not in cluster.run.config.read_text("utf-8")
    with Traffic(cluster.lab.broker_bootstrap, "load", 2) as traffic:
        _applied(cluster, BROKERS if kraft else BROKERS[:1])
        # What a killed command left is found in the audit trail, which has no mode.
        _killed(cluster, KILLED_AFTER if kraft else KILLED_AFTER[-1:])
        _restarted(cluster)
        if kraft:  # under ZooKeeper, tests/orchestrator/execution/test_real_moves.py
            _destination_fails(cluster)
        _source_fails(cluster)
        acknowledged, consumed = traffic.finish()
    assert acknowledged
    assert acknowledged <= consumed
    assert not traffic.failed


BROKERS: Final = ((1, EARLIER), (2, None))
"""Brokers with their throttles."""


def _applied(cluster: Cluster, brokers: tuple[tuple[int, str | None], ...]) -> None:
    """Every replica of a broker, there and back; the throttle is that of before afterwards."""
    for broker, before in brokers:
        _all_in(cluster, broker, 0)
        for to in (1, 0):
            plan = cluster.plan(broker, to)
            cluster.complete("apply", plan, "--yes", "--throttle", FAST)
            assert cluster.places(broker) == {str(cluster.lab.directory(broker, to))}
            cluster.require_clean(broker, before)


def _killed(cluster: Cluster, steps: Sequence[tuple[str, Callable[[Cluster, Path], None]]]) -> None:
    """kill -9 after each kind of entry, or while a replica moves; then resumed, or cancelled."""
    for kind, then in steps:
        plan, since = cluster.plan(1, cluster.elsewhere(1)), cluster.recorded()
        with cluster.applying(plan, SLOW) as process:
            until(partial(cluster.has_recorded, kind or "move_sent", since))
            if not kind:
                until(lambda: "big-0" in cluster.futures(1))
            process.send_signal(signal.SIGKILL)
            process.wait()
        if not kind:
            left = cluster.move("verify", str(plan))
            assert left.returncode == ExitCode.GATE_NOT_MET, left.stderr
            assert "a run has its throttle in force on broker 1" in left.stderr
            assert cluster.throttle(1) == SLOW
        then(cluster, plan)
        cluster.require_clean(1, EARLIER)


def _cancelled(cluster: Cluster, plan: Path) -> None:
    cluster.complete("cancel", plan)
    assert cluster.futures(1) == set()


def _resumed(cluster: Cluster, plan: Path) -> None:
    cluster.complete("apply", plan, "--yes", "--throttle", FAST)
    until(lambda: cluster.move("verify", str(plan)).returncode != ExitCode.GATE_NOT_MET)


KILLED_AFTER: Final = (
    ("move_began", _cancelled),
    ("move_throttled", _resumed),
    ("move_sent", _cancelled),
    ("", _cancelled),
    ("", _resumed),
)
"""A kind of entry, or "" for a replica that moves; then what is done about it."""


@contextmanager
def _moving(cluster: Cluster, broker: int, to: int) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Apply a plan so slowly that `big` still moves, for the block."""
    plan = cluster.plan(broker, to)
    with cluster.applying(plan, SLOW) as process:
        until(lambda: "big-0" in cluster.futures(broker) or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        yield process, plan


def _restarted(cluster: Cluster) -> None:
    """KIP-113, "Handle failure that happens ...": the broker resumes the copy, the command waits.

    After the start, a replica that the throttle had stopped may move no longer (seen on 3.9.1).
    """
    throttles = Throttles(Endpoint.parse_list(cluster.lab.broker_bootstrap), Security())
    assert throttles.read(2).own is None
    with _moving(cluster, 2, cluster.elsewhere(2)) as (process, plan):
        cluster.lab.restart("broker-2")
        cluster.lab.wait_in_sync()
        throttles.read(2)  # answered; the copy may have ended, and with it the throttle
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate()
    if process.returncode != ExitCode.DONE:
        assert process.returncode == ExitCode.FAILED, said
        assert "interrupted" in said or "it no longer moves" in said, said
        assert "is not restored" not in said, said
        kept = "broker 2 keeps the throttle" in said
        until(lambda: cluster.throttle(2) == (SLOW if kept else None))
        _resumed(cluster, plan)
    cluster.require_clean(2, None)


def _destination_fails(cluster: Cluster) -> None:
    """KIP-113, "Complete replica data movement": the broker drops the copy."""
    _all_in(cluster, 2, 0)
    with _moving(cluster, 2, 1) as (process, _):
        _fails(cluster, 2, 1)
        said, _ = process.communicate()
    assert process.returncode == ExitCode.FAILED
    target = str(cluster.lab.directory(2, 1))
    assert f"it does not move: {target} is not online" in said
    cluster.require_clean(2, None)
    requests = Requests({2: Broker(id=2, endpoint=cluster.lab.broker(2).address)}, Security())
    assert requests.alter(2, {BIG: target}) == {BIG: "KAFKA_STORAGE_ERROR (56)"}
    _healed(cluster, 2, 1)


def _source_fails(cluster: Cluster) -> None:
    """KIP-113, "Complete replica data movement": the copy cannot be completed."""
    _all_in(cluster, 2, 1)
    with _moving(cluster, 2, 0) as (process, _):
        _fails(cluster, 2, 1)
        said, _ = process.communicate()
    assert process.returncode == ExitCode.FAILED
    assert "it is in no online directory of broker 2" in said
    until(lambda: cluster.throttle(2) is None)
    _healed(cluster, 2, 1)


def _all_in(cluster: Cluster, broker: int, index: int) -> None:
    if cluster.places(broker) == {str(cluster.lab.directory(broker, index))}:
        return
    plan = cluster.plan(broker, index)
    cluster.complete("apply", plan, "--yes", "--throttle", FAST)


def _fails(cluster: Cluster, broker: int, index: int) -> None:
    """Directory 0 of a KRaft broker has its metadata log: without it the broker ends."""
    cluster.lab.fail_directory(broker, index)
    assert wait_directory_noticed(cluster.lab, broker, index)


def _healed(cluster: Cluster, broker: int, index: int) -> None:
    cluster.lab.stop(f"broker-{broker}")
    cluster.lab.heal_directory(broker, index)
    cluster.lab.start(f"broker-{broker}")
    cluster.lab.wait_in_sync()
    until(lambda: cluster.futures(broker) == set())

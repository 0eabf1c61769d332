"""`make demo`: a real cluster migrates to KRaft while `kraftgate run` follows it.

Three brokers with two directories each, some hundred partitions, one topic created half-way. The
steps run here, on the lab; `kraftgate run --until finalized` is a child process that owns the
terminal. At the end the demo prints the closing table, the time, the memory, and each deviation
from the expected state.
"""

import argparse
import contextlib
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final, Self

import psutil

from migration.image.summary import ClusterSummary, Mode, Phase
from migration.metadata.replica_state import ReplicaState
from orchestrator.config.load import load_config
from orchestrator.errors import KraftgateError
from orchestrator.lab import Lab, LabError, LabSpec
from orchestrator.lab.errors import WaitTimedOutError
from orchestrator.lab.machine.home import write_config
from orchestrator.lab.machine.spawner import tied_to_this_process
from orchestrator.output.printing import echo_message
from orchestrator.output.rich_console import console
from orchestrator.process.crash import guarded
from orchestrator.run.assessed import Assessed, Assessor
from orchestrator.run.reader import Reader
from orchestrator.views.terminal.closing import closing
from orchestrator.views.terminal.live import picture
from orchestrator.views.terminal.table import save_svg
from streams.process.background import BackgroundThread
from streams.process.clocks import wall_clock_ms

SPEC: Final = LabSpec(brokers=3, directories=2, controllers=1)
# Name, partitions, replication factor.
TOPICS: Final = (("payments", 60, 3), ("orders", 90, 3), ("clicks", 120, 2), ("audit", 48, 1))
# Created while only one broker is in KRaft mode: that broker has several directories to choose
# from, and the others cannot report theirs yet, so these replicas begin `unassigned`.
HALF_WAY_TOPIC: Final = ("refunds", 24, 3)
_CLUSTER: Final = "cluster"
_RECORDS: Final = 200
_SEEN_S_MAX: Final = 300.0
_SYNC_S_MAX: Final = 60.0
_WIDTH: Final = 120
_FONT_FACE: Final = re.compile(r"\s*@font-face \{.*?\}|<!--.*?-->", re.DOTALL)
_POLL_S: Final = 0.2
_EVENTS: Final = 10
_STOP_S_MAX: Final = 20.0
_MEASURE_S: Final = 2.0

Step = tuple[str, Callable[[], object]]


class DemoFailed(Exception):
    """The demo did not complete; the message has the reason."""


class Follower:
    """Runs `kraftgate run --until finalized` until this context ends.

    Every wait of the demo on Kraftgate's data goes through here: like an operator, the demo starts
    no step before the last one is on the screen.
    """

    def __init__(self, config: Path) -> None:
        kraftgate = Path(sys.executable).with_name("kraftgate")
        command = [str(kraftgate), "run", "--config", str(config), "--until", "finalized"]
        self._process = subprocess.Popen(tied_to_this_process(command), stdin=subprocess.DEVNULL)
        self._config = load_config(config)
        self._assessor = Assessor(self._config, Reader(self._config, newest=_EVENTS))
        self._picture: Assessed | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Stop the process gracefully, if it has not ended.

        A terminal's Ctrl-C reached the process too, and a second signal would make it exit at once.
        """
        if kind is KeyboardInterrupt and self._ended_within(_STOP_S_MAX):
            return
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        if not self._ended_within(_STOP_S_MAX):
            self._process.kill()
            self._process.wait()

    def must_run(self) -> None:
        """Check that the process is still running.

        Raises:
            DemoFailed: it ended before the migration did.
        """
        code = self._process.poll()
        if code is not None:
            raise DemoFailed(f"kraftgate run ended with {code} before the migration did")

    def wait_until(
        self, what: str, holds: Callable[[ClusterSummary], bool], timeout_s: float
    ) -> None:
        """Wait until Kraftgate's data satisfies a predicate.

        Raises:
            DemoFailed: the process ended, or the timeout is over.
        """
        deadline_s = time.monotonic() + timeout_s
        while not holds(self.summary()):
            self.must_run()
            if time.monotonic() > deadline_s:
                raise DemoFailed(f"kraftgate did not show within {timeout_s:.0f} s that {what}")
            time.sleep(_POLL_S)

    def wait_done(self, timeout_s: float) -> None:
        """Wait until the process ends because its own condition holds.

        Raises:
            DemoFailed: it failed, or did not end in time.
        """
        if not self._ended_within(timeout_s):
            raise DemoFailed(f"kraftgate run did not end within {timeout_s:.0f} s of finalizing")
        code = self._process.returncode
        if code != 0:
            raise DemoFailed(f"kraftgate run ended with {code}")

    def summary(self) -> ClusterSummary:
        (one,) = self._assessor.tick(wall_clock_ms()).clusters
        if self._picture is None or _pending(one.summary) > _pending(self._picture.summary):
            self._picture = one
        return one.summary

    def save_picture(self, path: Path) -> None:
        """Write the live view of the moment with the most replicas pending on a held broker.

        Raises:
            DemoFailed: no summary was read.
        """
        if self._picture is None:
            raise DemoFailed("there is nothing to make a picture of")
        drawn = picture(self._picture, _WIDTH)
        save_svg(drawn, path, width=_WIDTH)
        path.write_text(self_contained(path.read_text("utf-8")), "utf-8")

    def _ended_within(self, seconds: float) -> bool:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True


def self_contained(svg: str) -> str:
    """Remove the fonts that rich would load from the network; the viewer's own fonts are used."""
    return _FONT_FACE.sub("", svg)


def _pending(summary: ClusterSummary) -> tuple[int, int]:
    """Return the pending replicas on held brokers, and on all brokers.

    A later moment with the same numbers shows nothing more.
    """
    brokers = summary.brokers
    return sum(b.pending for b in brokers if b.held), sum(b.pending for b in brokers)


class PeakMemory(BackgroundThread):
    """Measures the memory of this process and its descendants while the context is entered.

    A process counts with its proportional set size, in which a page that several processes share
    counts once: Spark's Python workers are forks of each other.

    Attributes:
        peak_bytes: the largest sum measured.
    """

    def __init__(self) -> None:
        super().__init__("demo-memory", stop_s=_STOP_S_MAX)
        self.peak_bytes = 0

    def _run(self) -> None:
        while not self._stopping.wait(_MEASURE_S):
            self.peak_bytes = max(self.peak_bytes, family_bytes())


def family_bytes() -> int:
    """Return the memory that this process and its descendants use now."""
    me = psutil.Process()
    total = 0
    for process in (me, *me.children(recursive=True)):
        with contextlib.suppress(psutil.Error):  # it has ended in the meantime
            total += process.memory_full_info().pss
    return total


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; the exit code is 0 when the migration ends in the expected state."""
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--home", type=Path, help="keep the cluster and the state directory here")
    parser.add_argument("--picture", type=Path, help="write a picture of the live view here")
    parser.add_argument("--metrics", metavar="HOST:PORT", help="let kraftgate be scraped here")
    asked = parser.parse_args(arguments)
    try:
        if asked.picture is not None:
            _require_writable(asked.picture)
        with _home(asked.home) as home:
            return run(home, asked.picture, asked.metrics)
    except KeyboardInterrupt:
        _say("interrupted; all processes are stopped")
        return 130
    except (DemoFailed, KraftgateError, LabError) as error:
        _say(f"failed: {error}")
        return 1


def run(home: Path, picture_file: Path | None = None, metrics: str | None = None) -> int:
    began_s = time.monotonic()
    with PeakMemory() as memory:
        summary = _migrate_and_follow(home, picture_file, metrics)
    took_s = int(time.monotonic() - began_s)
    out = console() if sys.stdout.isatty() else console(width=_WIDTH)
    out.print(closing(summary))
    _say(
        f"took {took_s // 60} min {took_s % 60} s, at most"
        f" {memory.peak_bytes / 2**30:.1f} GiB in all processes"
    )
    wrong = problems(summary)
    for problem in wrong:
        _say(f"unexpected: {problem}")
    return 1 if wrong else 0


def problems(summary: ClusterSummary) -> list[str]:
    """Return the deviations from the expected state at the end of a migration."""
    found = []
    if summary.phase is not Phase.FINALIZED:
        found.append(f"the phase is {summary.phase}")
    topics = (*TOPICS, HALF_WAY_TOPIC)
    partitions, replicas = sum(t[1] for t in topics), sum(t[1] * t[2] for t in topics)
    if summary.partitions != partitions:
        found.append(f"{summary.partitions} partitions are known, created were {partitions}")
    assigned = sum(broker.replicas[ReplicaState.ASSIGNED] for broker in summary.brokers)
    if assigned != replicas:
        found.append(f"{assigned} replicas are assigned, created were {replicas}")
    ids = tuple(broker.id for broker in summary.brokers)
    if ids != SPEC.broker_ids:
        found.append(f"the brokers are {ids}, started were {SPEC.broker_ids}")
    for broker in summary.brokers:
        if broker.mode is not Mode.KRAFT:
            found.append(f"broker {broker.id} is in mode {broker.mode}")
        if broker.fenced:
            found.append(f"broker {broker.id} is fenced")
        if broker.held:
            found.append(f"broker {broker.id} is held: {broker.pending} replicas are pending")
    return found


def _migrate_and_follow(
    home: Path, picture_file: Path | None, metrics: str | None
) -> ClusterSummary:
    with Lab(SPEC, home / _CLUSTER) as lab:
        for text, step in _set_up(lab):
            _say(text)
            step()
        config = write_config(
            home,
            cluster_id=lab.cluster_id,
            zookeeper=lab.zookeeper_connect,
            controllers=lab.controller_bootstrap,
            brokers=lab.broker_bootstrap,
            jmx_exporters=lab.jmx_exporters,
            metrics=metrics,
        )
        with Follower(config) as follower:
            for text, step in _migration(lab, follower):
                follower.must_run()
                if not sys.stdout.isatty():  # the live view owns a terminal
                    _say(text)
                step()
            follower.wait_done(_SEEN_S_MAX)
            if picture_file is not None:
                follower.save_picture(picture_file)
            _say("stopping the cluster")
            return follower.summary()


def _set_up(lab: Lab) -> Iterator[Step]:
    yield "starting ZooKeeper", lab.start_zookeeper
    yield f"starting {SPEC.brokers} brokers with {SPEC.directories} directories", lab.start_brokers
    for topic in TOPICS:
        yield _creating(lab, *topic)
    yield "writing some records", partial(lab.produce, TOPICS[0][0], 0, _RECORDS)


def _migration(lab: Lab, follower: Follower) -> Iterator[Step]:
    """Yield the steps in the order that Kafka documents, and one topic created in between."""
    in_sync = ("waiting until every replica is in sync", partial(wait_in_sync, lab))
    yield "starting the controller in migration mode", lab.start_controllers
    yield _waiting(follower, "the controller leads", lambda now: now.metadata_offset is not None)
    for id_ in SPEC.broker_ids:
        yield f"restarting broker {id_} with the migration on", partial(lab.enter_migration, id_)
        yield in_sync
    yield "waiting until ZooKeeper's metadata is copied", lab.wait_copied
    yield _waiting(follower, "the phase is hybrid", lambda now: now.phase is Phase.HYBRID)
    for id_ in SPEC.broker_ids:
        yield f"restarting broker {id_} in KRaft mode", partial(lab.move_to_kraft, id_)
        yield _waiting(
            follower,
            f"every replica of broker {id_} has a directory",
            partial(is_complete, broker=id_),
        )
        yield in_sync
        if id_ == SPEC.broker_ids[0]:
            yield _creating(lab, *HALF_WAY_TOPIC)
    yield "finalizing: restarting the controller without the migration", lab.finalize


def wait_in_sync(lab: Lab, timeout_s: float = _SYNC_S_MAX) -> None:
    """Wait until every replica is in sync; restart a leader that admits no replica, once.

    The runbook prescribes this at its checkpoint `copied`.

    Raises:
        LabError: replicas are still not in sync after the restart.
    """
    try:
        lab.wait_in_sync(timeout_s=timeout_s)
    except WaitTimedOutError as error:
        _say(str(error))
        for leader in sorted(set(lab.out_of_sync().values()) - {-1}):
            _say(f"restarting broker {leader}, which admits no replica to its ISRs")
            lab.restart(leader)
        lab.wait_in_sync()


def is_complete(summary: ClusterSummary, broker: int) -> bool:
    """Return whether a broker is in KRaft mode, unfenced, not held and without pending replicas."""
    return any(
        one.mode is Mode.KRAFT and not one.held and not one.fenced and one.pending == 0
        for one in summary.brokers
        if one.id == broker
    )


def _creating(lab: Lab, name: str, partitions: int, factor: int) -> Step:
    text = f"creating topic {name}: {partitions} partitions, replication factor {factor}"
    return text, partial(lab.create_topic, name, partitions, factor)


def _waiting(follower: Follower, what: str, holds: Callable[[ClusterSummary], bool]) -> Step:
    wait = partial(follower.wait_until, what, holds, _SEEN_S_MAX)
    return f"waiting until kraftgate shows that {what}", wait


def _require_writable(picture: Path) -> None:
    """Raise DemoFailed if the file cannot be written; make its directory."""
    try:
        picture.parent.mkdir(parents=True, exist_ok=True)
        picture.open("a").close()
    except OSError as error:
        raise DemoFailed(f"--picture {picture}: {error.strerror}: name another file") from error


@contextlib.contextmanager
def _home(wanted: Path | None) -> Iterator[Path]:
    if wanted is not None:
        if (wanted / _CLUSTER).exists():
            raise DemoFailed(
                f"--home {wanted}: it has the cluster of an earlier demo: name another directory"
            )
        wanted.mkdir(parents=True, exist_ok=True)
        yield wanted.absolute()
        return
    with tempfile.TemporaryDirectory(prefix="kraftgate-demo-") as temporary:
        yield Path(temporary)


def _say(text: str) -> None:
    echo_message(f"demo: {text}")


if __name__ == "__main__":
    sys.exit(guarded(main))

"""`make demo`: a real cluster goes the whole way to KRaft while `kraftgate run` follows it.

Three brokers with two directories each, some hundred partitions, one topic created half-way. The
steps run here, on the lab; `kraftgate run --until finalized` is a child that owns the terminal.
At the end stand the closing table, the time, the memory, and what is not as it should be.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from migration.image.summary import ClusterSummary, Mode, Phase
from migration.metadata.replica_state import ReplicaState
from orchestrator.demo.follower import DemoFailed, Follower
from orchestrator.demo.memory import PeakMemory
from orchestrator.errors import KraftgateError
from orchestrator.lab import Lab, LabError, LabSpec
from orchestrator.lab.errors import WaitTimedOutError
from orchestrator.lab.machine.home import write_config
from orchestrator.output.printing import echo_message
from orchestrator.output.rich_console import console
from orchestrator.views.terminal.closing import closing

SPEC: Final = LabSpec(brokers=3, directories=2, controllers=1)
# Name, partitions, replication factor.
TOPICS: Final = (("payments", 60, 3), ("orders", 90, 3), ("clicks", 120, 2), ("audit", 48, 1))
# Created while only one broker is in KRaft mode: that broker has several directories to choose
# from, and the others cannot report theirs yet, so these replicas begin `unassigned`.
HALF_WAY_TOPIC: Final = ("refunds", 24, 3)
_RECORDS: Final = 200
_SEEN_S_MAX: Final = 120.0
_SYNC_S_MAX: Final = 60.0
_WIDTH: Final = 120

Step = tuple[str, Callable[[], object]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; the exit code is 0 when the migration ends in the expected state."""
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--home", type=Path, help="keep the cluster and the state directory here")
    parser.add_argument("--picture", type=Path, help="write the live view of a telling moment here")
    parser.add_argument("--metrics", metavar="HOST:PORT", help="let kraftgate be scraped here")
    asked = parser.parse_args(arguments)
    try:
        with _home(asked.home) as home:
            return run(home, asked.picture, asked.metrics)
    except KeyboardInterrupt:
        _say("interrupted; everything is stopped")
        return 130
    except (DemoFailed, KraftgateError, LabError) as error:
        _say(f"failed: {error}")
        return 1


def run(home: Path, picture: Path | None = None, metrics: str | None = None) -> int:
    """Run the demo in an empty directory."""
    began_s = time.monotonic()
    with PeakMemory() as memory:
        summary = _migrate_and_follow(home, picture, metrics)
    took_s = int(time.monotonic() - began_s)
    out = console() if sys.stdout.isatty() else console(width=_WIDTH)
    out.print(closing(summary))
    _say(
        f"took {took_s // 60} min {took_s % 60} s, at most"
        f" {memory.peak_bytes / 2**30:.1f} GiB in all processes"
    )
    wrong = problems(summary)
    for problem in wrong:
        _say(f"not as it should be: {problem}")
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


def _migrate_and_follow(home: Path, picture: Path | None, metrics: str | None) -> ClusterSummary:
    with Lab(SPEC, home / "cluster") as lab:
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
            if picture is not None:
                follower.save_picture(picture)
            _say("stopping the cluster")
            return follower.look()


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
    yield _waiting(follower, "the controller leads", lambda seen: seen.metadata_offset is not None)
    for id_ in SPEC.broker_ids:
        yield f"restarting broker {id_} with the migration on", partial(lab.enter_migration, id_)
        yield in_sync
    yield "waiting until ZooKeeper's metadata is copied", lab.wait_copied
    yield _waiting(follower, "the phase is hybrid", lambda seen: seen.phase is Phase.HYBRID)
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
    yield "restarting the controller without the migration: no way back", lab.finalize


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
            _say(f"restarting broker {leader}, which lets nobody into its ISRs")
            lab.restart(leader)
        lab.wait_in_sync()


def is_complete(seen: ClusterSummary, broker: int) -> bool:
    """Return whether a broker is in KRaft mode, unfenced, not held and without pending replicas."""
    return any(
        one.mode is Mode.KRAFT and not one.held and not one.fenced and one.pending == 0
        for one in seen.brokers
        if one.id == broker
    )


def _creating(lab: Lab, name: str, partitions: int, factor: int) -> Step:
    text = f"creating topic {name}: {partitions} partitions, replication factor {factor}"
    return text, partial(lab.create_topic, name, partitions, factor)


def _waiting(follower: Follower, what: str, holds: Callable[[ClusterSummary], bool]) -> Step:
    wait = partial(follower.wait_seen, what, holds, _SEEN_S_MAX)
    return f"waiting until kraftgate sees that {what}", wait


@contextmanager
def _home(wanted: Path | None) -> Iterator[Path]:
    if wanted is not None:
        wanted.mkdir(parents=True, exist_ok=True)
        yield wanted.absolute()
        return
    with tempfile.TemporaryDirectory(prefix="kraftgate-demo-") as temporary:
        yield Path(temporary)


def _say(text: str) -> None:
    echo_message(f"demo: {text}")

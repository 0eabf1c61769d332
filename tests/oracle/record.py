"""Records real metadata logs for the oracle: ``python -m tests.oracle.record DIR [CASE ...]``.

Each case walks a lab cluster through what a projection may get wrong, ends the controllers, and
leaves in ``DIR/CASE`` the log of one of them and what Kafka's own tool prints for every file of
it, all gzipped. This program made the fixtures in the folders of the tests.
"""

import gzip
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from migration.image.summary import Mode
from orchestrator.lab import Lab, LabError, LabSpec
from orchestrator.lab.errors import RequestRefusedError
from tests.support.lab_steps import (
    add_partitions,
    reassign,
    unregister,
    wait_directory_noticed,
    wait_registered,
)

_SESSION_S = 12.0  # a frozen broker is fenced after 9 s
_SNAPSHOTS_OFTEN = {
    "metadata.log.max.record.bytes.between.snapshots": "2500",
    "metadata.log.segment.min.bytes": "1024",
    "metadata.log.segment.bytes": "12000",
}
_COPY_BEGINS = b"ZK Migration"
_COPY_S_MAX = 120.0


def store(lab: Lab, controller: int, target: Path) -> None:
    """Keep a stopped controller's segments and checkpoints, each with its dump."""
    target.mkdir(parents=True)
    source = lab.metadata_log_dir(f"controller-{controller}")
    for file in sorted([*source.glob("*.log"), *source.glob("*.checkpoint")]):
        text = printable(lab.dump_log(file))
        for name, content in ((file.name, file.read_bytes()), (f"{file.name}.txt", text.encode())):
            (target / f"{name}.gz").write_bytes(gzip.compress(content, mtime=0))


def printable(text: str) -> str:
    """Drop the line that names the dumped file's place on this machine."""
    return "".join(line for line in text.splitlines(True) if not line.startswith("Dumping "))


def _log(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")


def _stop_controllers(lab: Lab) -> None:
    """End the quorum while the brokers still run, so that the log ends with them unfenced."""
    for id_ in lab.spec.controller_ids:
        if lab.is_alive(f"controller-{id_}"):
            lab.stop(f"controller-{id_}")


def _kill_active(lab: Lab) -> int:
    active = lab.active_controller()
    lab.kill(f"controller-{active}")
    lab.active_controller()
    return active


def _freeze(lab: Lab, broker: int, seconds: float) -> None:
    lab.freeze(f"broker-{broker}")
    time.sleep(seconds)
    lab.thaw(f"broker-{broker}")


def _wait_begun(lab: Lab) -> None:
    """Wait until some follower holds the beginning of the copy's transaction."""
    active = lab.active_controller()
    logs = [lab.metadata_log_dir(f"controller-{i}") for i in lab.spec.controller_ids if i != active]
    deadline = time.monotonic() + _COPY_S_MAX
    while time.monotonic() < deadline:
        for log in logs:
            if any(_COPY_BEGINS in segment.read_bytes() for segment in log.glob("*.log")):
                lab.kill(f"controller-{active}")
                return
        time.sleep(0.002)
    raise TimeoutError("the copy did not begin")


def migration(target: Path) -> None:
    """Migrate three brokers; the copy is aborted once, and two brokers freeze while held."""
    spec = LabSpec(controllers=3, controller_properties=_SNAPSHOTS_OFTEN)
    with Lab(spec) as lab:
        lab.start_zookeeper()
        lab.start_brokers()
        _create(lab, "orders", 10, 3)
        _create(lab, "single", 6, 1)
        _create(lab, "doomed", 4, 2)
        lab.start_controllers()
        _log("brokers enter the migration")
        lab.enter_migration(1)
        lab.enter_migration(2)
        lab.stop(3)
        lab.start_broker(3, Mode.MIGRATING, wait=False)
        _wait_begun(lab)
        _log("the active controller died within the copy")
        lab.active_controller()
        lab.wait_copied()
        for id_ in spec.controller_ids:
            if not lab.is_alive(f"controller-{id_}"):
                lab.start(f"controller-{id_}")
        lab.wait_in_sync()
        _create(lab, "hybrid", 6, 3)
        lab.delete_topic("doomed")
        _log("broker 1 to KRaft, frozen once registered")
        lab.move_to_kraft(1, wait=False)
        wait_registered(lab, 1)
        _freeze(lab, 1, _SESSION_S)
        lab.wait_in_sync()
        _log("broker 2 to KRaft, frozen once unfenced")
        lab.move_to_kraft(2, wait=False)
        lab.wait_for_log("broker-2", "The broker has been unfenced")
        lab.freeze("broker-2")
        _create(lab, "while-frozen", assignments=[[1, 3], [3, 2], [2, 1]])
        time.sleep(_SESSION_S)
        lab.thaw("broker-2")
        lab.wait_in_sync()
        _kill_and_return(lab)
        _log("broker 3 to KRaft, finalize")
        lab.move_to_kraft(3)
        lab.wait_in_sync()
        lab.finalize()
        _create(lab, "after", 5, 2)
        kept = lab.active_controller()
        _stop_controllers(lab)
        store(lab, kept, target)


def bad_directory(target: Path) -> None:
    """Move a broker to KRaft without one of its directories: it stays held, though unfenced.

    What was MIGRATING is never assigned then; the hold ends when its topic is deleted.
    """
    with Lab(LabSpec(brokers=2, controller_properties=_SNAPSHOTS_OFTEN)) as lab:
        lab.start_zookeeper()
        lab.start_brokers()
        _create(lab, "orders", 10, 2)
        _create(lab, "kept", assignments=[[1], [1]])
        lab.start_controllers()
        lab.enter_migration(1)
        lab.enter_migration(2)
        lab.wait_copied()
        lab.wait_in_sync()
        _create(lab, "hybrid", 4, 2)
        _log("broker 2 to KRaft without its second directory")
        lab.stop(2)
        lab.fail_directory(2, 1)
        lab.move_to_kraft(2)
        time.sleep(5.0)
        _create(lab, "meanwhile", 8, 2)
        _create(lab, "meanwhile-too", 8, 2)
        _freeze(lab, 2, _SESSION_S)
        time.sleep(5.0)
        _log("the topic that holds it is deleted")
        lab.delete_topic("orders")
        _create(lab, "after", 8, 2)
        time.sleep(2.0)
        kept = lab.active_controller()
        _stop_controllers(lab)
        store(lab, kept, target)


def native(target: Path) -> None:
    """Live in KRaft: topics come, go and move; controllers, a directory and brokers fail."""
    spec = LabSpec(controllers=3, controller_properties=_SNAPSHOTS_OFTEN)
    with Lab(spec) as lab:
        lab.start_kraft()
        _log("topics")
        _create(lab, "orders", 8, 3)
        _create(lab, "again", 4, 2)
        lab.delete_topic("again")
        _create(lab, "again", assignments=[[1, 2], [2, 1], [1, 2], [2, 3]])
        add_partitions(lab, "again", 6)
        lab.produce("again", 0, 200)
        reassign(lab, {("again", 0): [2, 3], ("again", 1): [3, 1]})
        _kill_and_return(lab)
        _log("a directory of broker 2 fails")
        lab.fail_directory(2, 1)
        wait_directory_noticed(lab, 2, 1)
        time.sleep(2.0)
        _create(lab, "short", 4, 2)
        lab.heal_directory(2, 1)
        lab.restart(2)
        lab.wait_in_sync()
        _log("broker 3 is killed and comes back at once; broker 1 freezes")
        lab.kill("broker-3")
        lab.start_broker(3)
        lab.wait_in_sync()
        _freeze(lab, 1, _SESSION_S)
        lab.wait_in_sync()
        _log("broker 3 dies before it knows of its new replicas")
        lab.freeze("broker-3")
        _create(lab, "given", assignments=[[1, 3], [2, 3], [1, 3], [2, 1]])
        lab.kill("broker-3")
        lab.start_broker(3)
        lab.wait_in_sync()
        _log("broker 3 leaves, is unregistered, and comes back")
        lab.stop(3)
        unregister(lab, 3)
        _create(lab, "of-two", 2, 2)
        _kill_and_return(lab)
        lab.start_broker(3)
        lab.wait_in_sync()
        lab.stop(2)
        unregister(lab, 2)
        _create(lab, "late", 3, 2)
        time.sleep(2.0)
        kept = lab.active_controller()
        _stop_controllers(lab)
        store(lab, kept, target)


def upgrade(target: Path) -> None:
    """Raise the metadata version past 3.7-IV2: brokers amend the registrations they have."""
    spec = LabSpec(
        brokers=2, directories=1, controller_properties=_SNAPSHOTS_OFTEN, release_version="3.6"
    )
    with Lab(spec) as lab:
        lab.start_kraft()
        _create(lab, "orders", 4, 2)
        _log("the upgrade")
        arguments = ("--bootstrap-server", lab.broker_bootstrap, "upgrade", "--metadata", "3.9")
        lab._java.run_tool("org.apache.kafka.tools.FeatureCommand", arguments, timeout_s=60.0)
        time.sleep(5.0)
        _create(lab, "after", 4, 2)
        lab.restart(2)
        lab.wait_in_sync()
        kept = lab.active_controller()
        _stop_controllers(lab)
        store(lab, kept, target)


def _create(lab: Lab, name: str, *placing: int, **how: Any) -> None:
    """Create a topic; on a busy machine the first request may end without an answer."""
    for _ in range(3):
        try:
            lab.create_topic(name, *placing, **how)
        except RequestRefusedError:
            lab._admin = None  # the old client may still hope for a broker that is gone
            if any(topic == name for topic, _ in lab.isrs()):
                return
        else:
            return
    raise TimeoutError(f"no topic {name}")


def _kill_and_return(lab: Lab) -> None:
    killed = _kill_active(lab)
    _create(lab, f"after-{killed}-died", 2, 2)
    lab.start(f"controller-{killed}")
    lab.wait_quorum_caught_up()


CASES: dict[str, Callable[[Path], None]] = {
    "bad-directory": bad_directory,
    "migration": migration,
    "native": native,
    "upgrade": upgrade,
}


def main() -> int:
    """Record the cases named on the command line, or all."""
    directory = Path(sys.argv[1])
    for name in sys.argv[2:] or list(CASES):
        _log(f"recording {name}")
        try:
            CASES[name](directory / name)
        except LabError as error:
            _log(str(error))
            return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

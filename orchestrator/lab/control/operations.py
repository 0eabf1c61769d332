"""The operations of a running lab: one function per command of the control socket."""

import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TypeAlias

from orchestrator.lab.cluster.lab import Lab
from orchestrator.lab.control.channel import Message, Progress
from orchestrator.lab.control.status import status
from orchestrator.lab.errors import WrongStateError

_Run: TypeAlias = Callable[[Lab, Message, Progress], Message]


@dataclass(frozen=True, slots=True)
class Operation:
    """A command.

    Attributes:
        run: Its function.
        step: Whether it changes the lab's course, so that only one such runs at a time. Faults and
            queries are not steps: they are allowed while one runs.
    """

    run: _Run
    step: bool


class Operations:
    """Passes requests to a lab, one step at a time."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._turn = threading.Lock()
        self._running: str | None = None

    def handle(self, command: str, arguments: Message, progress: Progress) -> Message:
        """Execute one request.

        Raises:
            LabError: It failed, is unknown, or another step is running.
        """
        operation = OPERATIONS.get(command)
        if operation is None:
            raise WrongStateError(
                f"the lab knows no command {command!r}",
                where="lab",
                fix="Use the kraftgate lab commands of this same version.",
            )
        if not operation.step:
            return operation.run(self._lab, arguments, progress)
        if not self._turn.acquire(blocking=False):
            raise WrongStateError(
                f"another step is running: {self._running}",
                where="lab",
                fix="Wait until it ends; faults (kill, freeze, fail-directory) need not wait.",
            )
        self._running = command
        try:
            return operation.run(self._lab, arguments, progress)
        finally:
            self._running = None
            self._turn.release()


def _status(lab: Lab, _: Message, __: Progress) -> Message:
    return asdict(status(lab))


def _controllers(lab: Lab, _: Message, __: Progress) -> Message:
    lab.start_controllers()
    return {"active_controller": lab.active_controller()}


def _migrate_broker(lab: Lab, arguments: Message, _: Progress) -> Message:
    lab.enter_migration(int(arguments["broker"]))
    return {}


def _wait_copied(lab: Lab, arguments: Message, _: Progress) -> Message:
    return {"metadata_offset": lab.wait_copied(timeout_s=float(arguments["timeout_s"]))}


def _kraft_broker(lab: Lab, arguments: Message, _: Progress) -> Message:
    lab.move_to_kraft(int(arguments["broker"]))
    return {}


def _finalize(lab: Lab, arguments: Message, _: Progress) -> Message:
    lab.finalize(early=bool(arguments["early"]))
    return {}


def _finalize_controller(lab: Lab, arguments: Message, _: Progress) -> Message:
    lab.finalize_controller(int(arguments["controller"]))
    return {}


def _revert_to_migration(lab: Lab, arguments: Message, _: Progress) -> Message:
    lab.revert_to_migration(int(arguments["broker"]))
    return {}


def _deprovision(lab: Lab, _: Message, __: Progress) -> Message:
    return {"kept": [str(each) for each in lab.deprovision_controllers()]}


def _clear_znodes(lab: Lab, arguments: Message, _: Progress) -> Message:
    return asdict(lab.clear_znodes(keep_migration=bool(arguments["keep_migration"])))


def _revert_to_zookeeper(lab: Lab, arguments: Message, _: Progress) -> Message:
    lab.revert_to_zookeeper(int(arguments["broker"]))
    return {}


def _roll_back(lab: Lab, arguments: Message, progress: Progress) -> Message:
    lab.roll_back(progress, keep_migration=bool(arguments["keep_migration"]))
    return {}


def _migrate(lab: Lab, _: Message, progress: Progress) -> Message:
    lab.migrate(progress)
    return {}


def _restart(lab: Lab, arguments: Message, _: Progress) -> Message:
    name = lab.resolve(str(arguments["name"]))
    lab.restart(name)
    return {"name": name}


def _stop(lab: Lab, arguments: Message, _: Progress) -> Message:
    name = lab.resolve(str(arguments["name"]))
    lab.stop(name)
    return {"name": name}


def _kill(lab: Lab, arguments: Message, _: Progress) -> Message:
    name = lab.resolve(str(arguments["name"]))
    lab.kill(name)
    return {"name": name}


def _freeze(lab: Lab, arguments: Message, _: Progress) -> Message:
    name = lab.resolve(str(arguments["name"]))
    lab.freeze(name)
    return {"name": name}


def _thaw(lab: Lab, arguments: Message, _: Progress) -> Message:
    name = lab.resolve(str(arguments["name"]))
    lab.thaw(name)
    return {"name": name}


def _fail_directory(lab: Lab, arguments: Message, _: Progress) -> Message:
    broker, index = int(arguments["broker"]), int(arguments["index"])
    lab.fail_directory(broker, index)
    return {"directory": str(lab.directory(broker, index))}


def _heal_directory(lab: Lab, arguments: Message, _: Progress) -> Message:
    broker, index = int(arguments["broker"]), int(arguments["index"])
    lab.heal_directory(broker, index)
    return {"directory": str(lab.directory(broker, index))}


def _create_topic(lab: Lab, arguments: Message, _: Progress) -> Message:
    lab.create_topic(
        str(arguments["name"]),
        int(arguments["partitions"]),
        int(arguments["replication_factor"]),
        config=dict(arguments["config"]),
        assignments=arguments["assignments"],
    )
    return {}


def _delete_topic(lab: Lab, arguments: Message, _: Progress) -> Message:
    lab.delete_topic(str(arguments["name"]))
    return {}


def _dump_log(lab: Lab, arguments: Message, progress: Progress) -> Message:
    name = lab.resolve(str(arguments["name"]))
    target = lab.home / "dumps" / name
    target.mkdir(parents=True, exist_ok=True)
    dumped = []
    for path in sorted(lab.metadata_log_dir(name).iterdir()):
        if path.suffix in {".log", ".checkpoint"}:
            progress(f"dumping {path.name}")
            text = target / f"{path.name}.txt"
            text.write_text(lab.dump_log(path), "utf-8")
            dumped.append(str(text))
    return {"files": dumped}


OPERATIONS = {
    "status": Operation(_status, step=False),
    "controllers": Operation(_controllers, step=True),
    "migrate-broker": Operation(_migrate_broker, step=True),
    "wait-copied": Operation(_wait_copied, step=False),
    "kraft-broker": Operation(_kraft_broker, step=True),
    "finalize": Operation(_finalize, step=True),
    "finalize-controller": Operation(_finalize_controller, step=True),
    "migrate": Operation(_migrate, step=True),
    "revert-to-migration": Operation(_revert_to_migration, step=True),
    "deprovision": Operation(_deprovision, step=True),
    "clear-znodes": Operation(_clear_znodes, step=True),
    "revert-to-zookeeper": Operation(_revert_to_zookeeper, step=True),
    "roll-back": Operation(_roll_back, step=True),
    "restart": Operation(_restart, step=True),
    "stop": Operation(_stop, step=False),
    "kill": Operation(_kill, step=False),
    "freeze": Operation(_freeze, step=False),
    "thaw": Operation(_thaw, step=False),
    "fail-directory": Operation(_fail_directory, step=False),
    "heal-directory": Operation(_heal_directory, step=False),
    "create-topic": Operation(_create_topic, step=False),
    "delete-topic": Operation(_delete_topic, step=False),
    "dump-log": Operation(_dump_log, step=False),
}

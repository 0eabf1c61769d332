"""The operations of a running lab: what each command of the control socket does."""

import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TypeAlias

from orchestrator.lab.cluster.lab import Lab
from orchestrator.lab.control.channel import Message, Progress
from orchestrator.lab.errors import WrongStateError

_Run: TypeAlias = Callable[[Lab, Message, Progress], Message | None]


@dataclass(frozen=True, slots=True)
class Operation:
    """A command.

    Attributes:
        run: Its function; None: an empty answer.
        step: Whether it changes the lab's course, so that only one such runs at a time. Faults and
            queries are not steps: they are allowed while one runs.
    """

    run: _Run
    step: bool = False


class Operations:
    """Passes requests to a lab, one step at a time."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._stepping = threading.Lock()
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
            return operation.run(self._lab, arguments, progress) or {}
        if not self._stepping.acquire(blocking=False):
            raise WrongStateError(
                f"another step is running: {self._running}",
                where="lab",
                fix="Wait until it ends; faults (kill, freeze, fail-directory) need not wait.",
            )
        self._running = command
        try:
            return operation.run(self._lab, arguments, progress) or {}
        finally:
            self._running = None
            self._stepping.release()


def _status(lab: Lab, _: Message, __: Progress) -> Message:
    quorum = lab.quorum()
    has_zookeeper = any(lab.was_started(name) for name in lab.zookeeper_names)
    answers = lab.zookeeper_answers
    offset = lab.zookeeper.copied_offset() if answers else -1
    try:
        cluster_id = lab.cluster_id
    except WrongStateError:
        cluster_id = None  # no broker has given the cluster an id yet
    return {
        "home": str(lab.home),
        "cluster_id": cluster_id,
        "zookeeper": lab.zookeeper_connect if has_zookeeper else None,
        "zookeeper_answers": answers,
        "brokers": lab.broker_bootstrap,
        "controllers": lab.controller_bootstrap,
        "active_controller": quorum.leader if quorum else None,
        "copied_offset": offset if offset > 0 else None,
        "processes": [_process(lab, name) for name in lab.names],
    }


def _process(lab: Lab, name: str) -> Message:
    if not lab.was_started(name):
        state = "not started"
    elif not lab.is_alive(name):
        state = "ended"
    else:
        state = "frozen" if lab.is_frozen(name) else "running"
    return {
        "name": name,
        "state": state,
        "mode": lab.mode(name),
        "pid": lab.pid(name) if lab.is_alive(name) else None,
        "address": lab.address(name),
        "failed_directories": lab.failed_directories(name),
    }


def _controllers(lab: Lab, _: Message, __: Progress) -> Message:
    lab.start_controllers()
    return {"active_controller": lab.active_controller()}


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


def _of_process(change: Callable[[Lab, str], None]) -> _Run:
    """Return a function that changes the process that the request names."""

    def run(lab: Lab, arguments: Message, _: Progress) -> Message:
        name = lab.resolve(str(arguments["name"]))
        change(lab, name)
        return {"name": name}

    return run


def _of_directory(change: Callable[[Lab, int, int], None]) -> _Run:
    def run(lab: Lab, arguments: Message, _: Progress) -> Message:
        broker, index = int(arguments["broker"]), int(arguments["index"])
        change(lab, broker, index)
        return {"directory": str(lab.directory(broker, index))}

    return run


def _call(change: Callable[..., None]) -> _Run:
    """Return a function that passes the arguments, which have the names of `change`'s own."""
    return lambda lab, arguments, _: change(lab, **arguments)


OPERATIONS = {
    "status": Operation(_status),
    "controllers": Operation(_controllers, step=True),
    "migrate-broker": Operation(_call(Lab.enter_migration), step=True),
    "wait-copied": Operation(
        lambda lab, arguments, _: {"metadata_offset": lab.wait_copied(**arguments)}
    ),
    "kraft-broker": Operation(_call(Lab.move_to_kraft), step=True),
    "finalize": Operation(_call(Lab.finalize), step=True),
    "finalize-controller": Operation(_call(Lab.finalize_controller), step=True),
    "migrate": Operation(lambda lab, _, progress: lab.migrate(progress), step=True),
    "revert-to-migration": Operation(_call(Lab.revert_to_migration), step=True),
    "deprovision": Operation(
        lambda lab, _, __: {"kept": [str(each) for each in lab.deprovision_controllers()]},
        step=True,
    ),
    "clear-znodes": Operation(
        lambda lab, arguments, _: asdict(lab.clear_znodes(**arguments)), step=True
    ),
    "revert-to-zookeeper": Operation(_call(Lab.revert_to_zookeeper), step=True),
    "roll-back": Operation(
        lambda lab, arguments, progress: lab.roll_back(progress, **arguments), step=True
    ),
    "raise-metadata-version": Operation(_call(Lab.raise_metadata_version), step=True),
    "set-directories": Operation(_call(Lab.set_directories), step=True),
    "replace-directories": Operation(_call(Lab.replace_directories), step=True),
    "restore-directories": Operation(_call(Lab.restore_directories), step=True),
    "restart": Operation(_of_process(Lab.restart), step=True),
    "stop": Operation(_of_process(Lab.stop)),
    "kill": Operation(_of_process(Lab.kill)),
    "freeze": Operation(_of_process(Lab.freeze)),
    "thaw": Operation(_of_process(Lab.thaw)),
    "fail-directory": Operation(_of_directory(Lab.fail_directory)),
    "heal-directory": Operation(_of_directory(Lab.heal_directory)),
    "create-topic": Operation(_call(Lab.create_topic)),
    "delete-topic": Operation(_call(Lab.delete_topic)),
    "dump-log": Operation(_dump_log),
}

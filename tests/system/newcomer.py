"""A newcomer: reads the headline of a screen, does what it says, and knows nothing else.

A screen gives the headline: the page (tests/orchestrator/views/browser/newcomer.py), a terminal, or
`kraftgate status`. The newcomer performs a task on the lab, or runs the command that the headline
names. An action that the table of tasks does not have fails the test: the headline must say all.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from migration.assessment.next_action import Need
from migration.image.summary import ClusterSummary
from orchestrator.errors import ExitCode
from orchestrator.execution.commands import REASON
from orchestrator.lab import Lab
from tests.support.cli import Done, kraftgate
from tests.support.polling import until
from tests.system.killing import Killed

BY_OPERATOR: Final = frozenset({Need.YOUR_TURN, Need.WRONG})


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """What a screen says about the next action.

    Attributes:
        place: of the execution; on a terminal it is a part of `text`.
    """

    need: Need
    text: str
    why: str = ""
    place: str = ""
    commands: tuple[str, ...] = ()

    @property
    def asks(self) -> bool:
        """Whether an operator must act."""
        return self.need in BY_OPERATOR

    @property
    def says(self) -> tuple[object, ...]:
        """What it says, however wide the screen: a command may be broken anywhere."""
        return self.need, self.text, self.why, self.place

    @property
    def answers(self) -> bool:
        """Whether its first command records what an operator decided or did, with a reason."""
        return bool(self.commands) and REASON in shlex.split(self.commands[0])

    @property
    def decision(self) -> str:
        """The first command without its blanks if it decides about a step; "": it does not."""
        words = shlex.split(self.commands[0]) if self.answers else []
        return "".join(words) if words[1:2] == ["decide"] else ""


_LABELS: Final = {"YOUR TURN": Need.YOUR_TURN, "WRONG": Need.WRONG, "Nothing": Need.NOTHING}
_FIELDS: Final = re.compile(r"(now:  ?|  why: |  run: |   or: |  read: |  \| |also: |$)")


def headline(screen: Iterable[str]) -> Headline | None:
    """Return the headline of a terminal's lines; None: there is none.

    A line that begins with no field's name continues the field before it.
    """
    found: list[tuple[str, str]] = []
    for line in screen:
        match = _FIELDS.match(line)
        if match:
            found.append((match[1].strip(" :"), line[match.end() :].strip()))
        elif found:
            name, text = found[-1]
            found[-1] = (name, f"{text} {line.strip()}")
    said = {name: text for name, text in found if name in ("now", "why")}
    if "now" not in said:
        return None
    label = next((each for each in _LABELS if said["now"].startswith(each)), "")
    text = said["now"] if label == "Nothing" else said["now"].removeprefix(label).strip()
    return Headline(
        need=_LABELS.get(label, Need.WAITING),
        text=text,
        why=said.get("why", ""),
        commands=tuple(text for name, text in found if name in ("run", "or")),
    )


def run_command(command: str, reason: str = "", *more: str) -> Done:
    """Run a command of a headline, with a reason instead of its placeholder."""
    program, *words = (reason if each == REASON else each for each in shlex.split(command))
    assert program == "kraftgate"
    assert "--config" in words, f"complete in every directory: {command}"
    at = words.index("--config")
    return kraftgate(Path(words[at + 1]), *words[:at], *words[at + 2 :], *more)


def perform(lab: Lab, now: Headline, reason: str) -> None:
    """Do what the headline says: its task, then its first command.

    Raises:
        AssertionError: it says neither a task, a decision nor what to wait for, or the command
            fails.
    """
    knows = do_task(lab, now) or now.answers
    if now.commands and shlex.split(now.commands[0])[1] == "wait":
        done = run_command(now.commands[0], reason, "--timeout", "3m")
        assert done.returncode == ExitCode.DONE, done.stdout + done.stderr
        return
    assert knows, f"a newcomer does not know what to do: {now}"
    if now.answers:
        done = run_command(now.commands[0], reason)
        assert done.returncode == ExitCode.DONE, done.stderr
    elif now.commands and shlex.split(now.commands[0])[1] == "hazards":
        _restart_when_safe(lab, now.commands[0])


def do_task(lab: Lab, now: Headline) -> bool:
    """Do a task by hand, the operator's hands; return whether the headline names one."""
    for pattern, do in _TASKS.items():
        match = re.search(pattern, now.text)
        if match:
            do(lab, match)
            return True
    return False


def _restart_when_safe(lab: Lab, command: str) -> None:
    """Wait until the command of a failed directory shows that a restart loses nothing."""
    broker = re.fullmatch(r"kraftgate hazards --before restart --broker (\d+) .*", command)
    assert broker is not None, command
    until(lambda: run_command(command).returncode == ExitCode.DONE, command)
    lab.restart(int(broker[1]))
    lab.wait_in_sync()


def _replace_disk(lab: Lab, match: re.Match[str]) -> None:
    """Do it once: the headline may say first how the host and then how the broker sees the disk."""
    broker, path = int(match[1]), Path(match[2])
    index = lab.broker(broker).directories.index(path)
    if index in lab.failed_directories(f"broker-{broker}"):
        lab.heal_directory(broker, index)


def _is_replaced(lab: Lab, match: re.Match[str]) -> None:
    """The disk is online again, and only the metadata log, which may be read later, lacks it."""
    assert lab.failed_directories(f"broker-{match[1]}") == (), match[0]


def _restore(names: Iterable[str], lab: Lab) -> None:
    """Start those that do not run; others may be starting, which takes its time if it is busy."""
    for each in names:
        if not lab.is_alive(each):
            lab.restart(each)


def _check_controllers(lab: Lab, match: re.Match[str]) -> None:
    """Start them again.

    Observed once on a busy machine with Kafka 3.9.1: one of three newly formatted controllers was
    elected twice, lost the third election, and never caught up with the new leader.
    """
    for each in match[1].split(", "):
        lab.restart(f"controller-{each}")


def _stop_zookeeper(lab: Lab, _: re.Match[str]) -> None:
    for each in lab.zookeeper_names:
        lab.stop(each)


_TASKS: Final[Mapping[str, Callable[[Lab, re.Match[str]], None]]] = {
    r"^Provision the KRaft controllers, in migration mode": lambda lab, _: lab.start_controllers(),
    r"^Restart broker (\d+) on .+ in migration mode": lambda lab, at: lab.enter_migration(
        int(at[1])
    ),
    r"^Restart broker (\d+) on .+ in KRaft mode": lambda lab, at: lab.move_to_kraft(int(at[1])),
    r"^Restart controller (\d+) on .+ without the migration": (
        lambda lab, at: lab.finalize_controller(int(at[1]))
    ),
    r"^(?:Keep|Replace|Restore) the disk of broker (\d+): (\S+) is ": _replace_disk,
    r"^(?:Keep|Replace) the disk of broker (\d+): directory \S+ is no longer registered": (
        _is_replaced
    ),
    r"^Start broker \d+\b": lambda *_: None,  # its command says when
    r"^Switch ZooKeeper off": _stop_zookeeper,
    r"^Start or check controller ([\d, ]+): ": _check_controllers,
    r"^Restore a majority of the controllers": (
        lambda lab, _: _restore((each.name for each in lab.controllers.values()), lab)
    ),
    r"^Restore ZooKeeper": lambda lab, _: _restore(lab.zookeeper_names, lab),
}


_HANGS: Final = "Stop `kraftgate run` and start it again: it does not process its data"


class Newcomer:
    """Follows a run by the headline of one screen.

    Args:
        read: the headline; None: the screen shows none yet.
        act: does what the headline asks for.
    """

    def __init__(
        self, run: Killed, read: Callable[[], Headline | None], act: Callable[[Headline], None]
    ) -> None:
        self._run = run
        self._read = read
        self._act = act
        self._done: tuple[object, ...] | None = None
        self._decided = ""

    def follow(self, holds: Callable[[ClusterSummary], bool]) -> None:
        """Do what the headline says until the store holds a summary of which that is true."""
        while (asked := self._wait(holds)) is not None:
            self._done, self._decided = asked.says, asked.decision or self._decided
            self._act(asked)

    def _wait(self, holds: Callable[[ClusterSummary], bool]) -> Headline | None:
        """Wait for the next action that is not the one just done; None: it holds."""
        asked: list[Headline] = []

        def there(now: ClusterSummary) -> bool:
            found = self._read()  # before `holds`, which may read the screen, too
            if holds(now):
                return True
            if found is None or not found.asks or found.says == self._done:
                return False
            if found.text.startswith(_HANGS):
                return False  # on a busy machine a tick takes longer, and it ends by itself
            if found.decision and found.decision == self._decided:
                return False  # a fault meanwhile changes the words, a tick before the decision does
            asked.append(found)
            return True

        self._run.wait_for(there, 1200.0)
        return asked[0] if asked else None


def edited(config: Path, edits: Mapping[str, str]) -> str:
    """Return what `kraftgate init` wrote, with what the operator puts in place of its parts."""
    text = config.read_text("utf-8")
    for old, new in edits.items():
        assert old in text
        text = text.replace(old, new)
    return text

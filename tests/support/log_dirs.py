"""`kraftgate log-dirs` for a lab, and Kafka's own kafka-log-dirs.sh for the same brokers."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from orchestrator.errors import ExitCode
from orchestrator.lab import Lab
from tests.support.cli import kraftgate
from tests.support.lab_steps import alter_broker
from tests.support.polling import until

_TOOL = "org.apache.kafka.tools.LogDirsCommand"
_TOOL_S_MAX = 120.0
_HEADS = ("Querying brokers", "Received log directory")
"""The tool prints these two lines before its JSON."""
_THROTTLE = "replica.alter.log.dirs.io.max.bytes.per.second"
_RECORDS, _RECORD_BYTES = 30_000, 1000
"""At one byte a second, with a megabyte at once, the move takes longer than any test."""
MOVES_STAND_STILL = {"alter.log.dirs.replication.quota.window.num": "3600"}
"""A broker's property: a throttled move copies nothing more for an hour. By default it copies a
batch every 11 s, and a slow comparison never finds the sizes unchanged."""


@dataclass(frozen=True)
class Listed:
    """The output of one run of the command."""

    exit_code: int
    answer: dict[str, Any]
    stderr: str

    @property
    def log_dirs(self) -> dict[tuple[int, str], dict[str, Any]]:
        return {
            (broker["id"], each["path"]): each
            for broker in self.answer["brokers"]
            for each in broker["log_dirs"]
        }

    def state(self, broker: int, path: Path) -> str:
        found: str = self.log_dirs[broker, str(path)]["state"]
        return found

    def id(self, broker: int, path: Path) -> tuple[str | None, str | None]:
        """Return the directory's id, and how it is known."""
        found = self.log_dirs[broker, str(path)]
        return found["directory"], found["directory_known_by"]

    def replicas(
        self, broker: int, topic: str, partition: int, *, future: bool
    ) -> list[tuple[str, dict[str, Any]]]:
        """Return the partition's current or future replica, with its path."""
        return [
            (path, each)
            for (id_, path), log_dir in self.log_dirs.items()
            for each in log_dir["partitions"] or ()
            if (id_, each["topic"], each["partition"], each["future"])
            == (broker, topic, partition, future)
        ]


def listed(config: Path, *arguments: str) -> Listed:
    done = kraftgate(config, "log-dirs", "--json", *arguments)
    assert done.stdout, done.stderr
    return Listed(done.returncode, json.loads(done.stdout), done.stderr)


def wait_absent(config: Path, broker: int) -> Listed:
    """Wait until no broker lists this one as alive; the command then ends with 4 and names it."""
    why = f"broker {broker} does not describe its log directories: no broker lists it as alive"
    found: list[Listed] = []

    def absent() -> bool:
        found[:] = [listed(config)]
        assert found[0].exit_code == ExitCode.NO_DATA
        return why in found[0].stderr

    until(absent)
    return found[0]


def wait_as_kafkas_tool(
    lab: Lab, config: Path, code: ExitCode, ours: tuple[str, ...] = (), tools: tuple[str, ...] = ()
) -> None:
    """Wait until `--format kafka` and the tool print the same; sizes may change in between.

    `ours`, `tools`: further options, of each.
    """
    printed: list[object] = []

    def alike() -> bool:
        done = kraftgate(config, "log-dirs", "--format", "kafka", *ours)
        if done.returncode != code:  # a busy broker did not answer in time
            printed[:] = [done.stderr]
            return False
        printed[:] = [_in_order(json.loads(done.stdout)), _of_the_tool(lab, tools)]
        return printed[0] == printed[1]

    until(alike, seen=lambda: printed)


def _of_the_tool(lab: Lab, options: tuple[str, ...]) -> object:
    to = ("--bootstrap-server", lab.broker_bootstrap, "--describe")
    *heads, text = lab._java.run_tool(_TOOL, (*to, *options), timeout_s=_TOOL_S_MAX).splitlines()
    for line, begins in zip(heads, _HEADS, strict=True):
        assert line.startswith(begins)
    return _in_order(json.loads(text))


def _in_order(printed: object) -> object:
    """Sort all keys and lists; the tool's order is that of a HashMap."""
    if isinstance(printed, dict):
        return {key: _in_order(printed[key]) for key in sorted(printed)}
    if isinstance(printed, list):
        return sorted(map(_in_order, printed), key=partial(json.dumps, sort_keys=True))
    return printed


@contextmanager
def moving(lab: Lab, config: Path, broker: int, topic: str, partition: int) -> Iterator[None]:
    """Move a replica to another directory of its broker, as slowly as Kafka's throttle permits.

    At the end the move is released, and has ended.
    """
    first = str(lab.directory(broker, 0))
    lab.produce(topic, partition, _RECORDS, size_bytes=_RECORD_BYTES)
    alter_broker(lab, broker, _THROTTLE, "1")

    seen: list[Listed] = []

    def moves() -> bool:
        now = listed(config, "--broker", str(broker), "--topic", topic)
        seen.append(now)
        if future := now.replicas(broker, topic, partition, future=True):
            if future[0][1]["offset_lag"]:
                return True
            # It was copied before the broker had the throttle, which only delays its end.
            alter_broker(lab, broker, _THROTTLE, None)
            until(ended)
            alter_broker(lab, broker, _THROTTLE, "1")
            return False
        # A move that began before the broker had the throttle has ended: it begins again.
        # A busy broker that does not answer in time has none in the list, and is asked again.
        for path, _ in now.replicas(broker, topic, partition, future=False):
            lab.move_replicas(broker, {(topic, partition): int(path == first)})
        return False

    def ended() -> bool:
        now = listed(config, "--broker", str(broker), "--topic", topic)
        return not now.replicas(broker, topic, partition, future=True)

    until(moves, f"{topic}-{partition} to move", lambda: seen[-1:])
    try:
        yield
    finally:
        alter_broker(lab, broker, _THROTTLE, None)
        until(ended)

"""`kraftgate move` for a lab, and Kafka's own kafka-reassign-partitions.sh for the same file."""

import json
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

from migration.moves.plan_file import read
from orchestrator.errors import ExitCode
from orchestrator.lab import Lab
from tests.support.cli import kraftgate
from tests.support.polling import until

_TOOL: Final = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
_TOOL_S_MAX: Final = 120.0
_REPLICA: Final = re.compile(r"^Reassignment of replica (\S+)-(\d+) (.*)\.$", re.MULTILINE)
_AT_REST: Final = re.compile(r"^Partition (\S+) on broker (\d+) is not being moved", re.MULTILINE)


def reassign(lab: Lab, verb: str, file: Path) -> str:
    """Run the tool on the file; return its output."""
    arguments = ["--bootstrap-server", lab.broker_bootstrap, verb]
    arguments += ["--preserve-throttles"] if verb == "--verify" else []
    return lab._java.run_tool(
        _TOOL, (*arguments, "--reassignment-json-file", str(file)), timeout_s=_TOOL_S_MAX
    )


def by_the_tool(lab: Lab, file: Path) -> dict[tuple[str, int], str]:
    """Return the progress of each replica by the tool's --verify, in Kraftgate's words."""
    printed = reassign(lab, "--verify", file)
    words = {"completed successfully": "completed", "is still in progress": "moving"}
    found = {(at, int(id_)): words[said] for at, id_, said in _REPLICA.findall(printed)}
    return found | {(at, int(id_)): "not_moving" for at, id_ in _AT_REST.findall(printed)}


def planned(config: Path, *arguments: str) -> tuple[int, dict[str, Any], str]:
    """Return the exit code, the plan and the messages of `move plan`."""
    done = kraftgate(config, "move", "plan", "--json", *arguments)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


def verified(config: Path, file: Path) -> tuple[int, dict[tuple[str, int], dict[str, Any]]]:
    """Return the exit code of `move verify`, and its moves by replica."""
    done = kraftgate(config, "move", "verify", str(file), "--json")
    assert done.stdout, done.stderr
    moves = json.loads(done.stdout)["moves"]
    return done.returncode, {
        (f"{each['topic']}-{each['partition']}", each["broker"]): each for each in moves
    }


def wait_verified(
    lab: Lab, config: Path, file: Path, code: ExitCode, progress: Collection[str]
) -> dict[tuple[str, int], dict[str, Any]]:
    """Wait until Kraftgate and the tool report the same, and this."""
    seen: list[Any] = []

    def agree() -> bool:
        seen[:] = [*verified(config, file), by_the_tool(lab, file)]
        ours = {at: each["progress"] for at, each in seen[1].items()}
        return seen[0] == code and ours == seen[2] and set(ours.values()) == set(progress)

    until(agree, seen=lambda: seen)
    found: dict[tuple[str, int], dict[str, Any]] = seen[1]
    return found


def drained(lab: Lab, config: Path, broker: int, file: Path) -> dict[tuple[str, int], Any]:
    """Let the tool execute the plan; return Kraftgate's last report of it.

    KIP-113, "Test Plan": move replicas to the other directory of their broker, and verify.
    """
    source = lab.directory(broker, 0)
    wait_verified(lab, config, file, ExitCode.GATE_NOT_MET, ["not_moving"])
    printed = reassign(lab, "--execute", file)
    before = next(line for line in printed.splitlines() if line.startswith('{"version"'))
    wanted, problems = read(before.encode())
    assert wanted, "the tool prints the assignment before, which Kraftgate reads"
    assert [each.text for each in problems if "nothing to move" not in each.text] == []
    found = wait_verified(lab, config, file, ExitCode.DONE, ["completed"])
    assert all(each["log_dir"] != str(source) for each in found.values())
    left = {name.name for name in source.iterdir() if name.is_dir()}
    assert not {at for at, _ in found} & left
    return found

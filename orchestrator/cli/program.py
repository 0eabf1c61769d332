"""The commands of `kraftgate`: the module of each, and the line that `kraftgate --help` shows."""

import atexit
import gc
from typing import Final

import click

from orchestrator.cli.framework import LazyCommand, Program

# When a process ends, Python searches all modules for garbage: a sixth of a short command.
atexit.register(gc.freeze)

_COMMANDS: Final = (
    ("abort", "execution", "End the execution where it is; nothing is undone."),
    ("alerts", "alerts", "Active alerts, deliveries, and a test."),
    ("approve", "execution", "Approve the step of CHECKPOINT, in the cluster's current state."),
    ("audit", "audit", "The audit trail: show, verify, export."),
    ("begin", "execution", "Begin a new execution after the last one has ended."),
    ("decide", "execution", "Decide about a step that failed, is shown, or whose end is unknown."),
    ("done", "execution", "Record that the step that an operator does by hand is done."),
    ("hazards", "hazards", "Print what would lose data, with its evidence and the way out."),
    ("help", "help", "Print a page of the handbook, or the list of topics."),
    ("hooks", "hooks", "Check the commands that perform the steps of a runbook."),
    ("init", "init", "Write kraftgate.yaml and hooks.yaml for a cluster, then check the cluster."),
    ("lab", "lab", "A real cluster on loopback, for rehearsals."),
    ("log-dirs", "log_dirs", "List the brokers' log directories and the replicas in them."),
    ("meta-properties", "meta_properties", "Check a node's meta.properties, and how it starts."),
    ("move", "move", "Plan and verify moves of replicas between a broker's log directories."),
    ("pause", "execution", "Begin no further step; the current one continues to its end."),
    ("preflight", "preflight", "Check, before the window, whether the migration may begin."),
    ("replay", "replay", "Run the job over a metadata log to its end, and print the state there."),
    ("report", "report", "Write a report of the window: one HTML page, JSON or Markdown."),
    ("resume", "execution", "Resume the execution after `pause`."),
    ("rollback", "execution", "Start the rollback of the current checkpoint."),
    ("run", "run", "Follow the clusters, show them, and execute their runbook, until Ctrl-C."),
    ("runbook", "runbook", "Runbooks: list, show, copy, check, schema."),
    ("skip", "execution", "Continue without CHECKPOINT: skip its step and its gate."),
    ("status", "status", "Print the last observed state, and what is pending."),
    ("wait", "wait", "Wait until conditions hold, for a script that performs the steps itself."),
    ("what-if", "what_if", "Print the partitions that a failure of a broker or directory affects."),
)  # fmt: skip
_GROUPS: Final = {
    "Follow": ("run", "status", "wait", "report", "replay"),
    "Decide": (
        "approve", "done", "decide", "pause", "resume", "skip", "rollback", "abort", "begin",
    ),
    "Inspect": ("hazards", "what-if", "log-dirs", "meta-properties", "alerts", "audit"),
    "Prepare": ("init", "preflight", "runbook", "hooks", "move", "lab", "help"),
}  # fmt: skip
"""The groups of `kraftgate --help`."""
_CODES: Final = (
    "Exit codes: 0 done or condition met, 1 failed, 2 usage or configuration,"
    " 3 condition not met in time, 4 stale or no data, 5 a hazard blocks."
)


@click.group(cls=Program, epilog=_CODES)
@click.version_option(package_name="kraftgate", prog_name="kraftgate")
def main() -> None:
    """Follow a Kafka cluster through its ZooKeeper-to-KRaft migration.

    \b
    Example:
      kraftgate run --config kraftgate.yaml
    """


main.groups = _GROUPS
for name, module, short_help in _COMMANDS:
    main.add_command(LazyCommand(name, f"orchestrator.cli.{module}", short_help))

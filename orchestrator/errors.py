"""The errors with which a command ends: one tree of errors, one table of exit codes.

    KraftgateError            1 FAILED
    |- ProblemsError          2 USAGE       a file is invalid, with every problem and its line
    |  |- ConfigError                       kraftgate.yaml
    |  |- RunbookError                      a runbook, or a file of hooks
    |  `- PlanError                         a plan of moves, or a reassignment JSON
    |- ExecutionError         2 USAGE       the state of the execution does not allow the request
    |- UnknownIdError         2 USAGE       there is no such cluster, broker, topic, checkpoint
    |- PathError              2 USAGE       there is no metadata log at the path
    |- FollowingError         1 FAILED      the query that follows the clusters ended
    |- PublishingError        1 FAILED      events cannot be published to the configured topic
    |- AuditError             1 FAILED      the audit trail cannot be used, or is not intact
    |  |- AuditLost                         the audit trail was deleted
    |  `- SecretUnknown       2 USAGE       a secret cannot be read, so it cannot be redacted
    |- LockError              1 FAILED      the lock of a cluster, or of a state directory
    |  `- LockHeld                          another process has it; the message names it
    |     `- ClaimLost                      another process may use this one's state directory
    |- ThirdPartyError        1 FAILED      the console's modules are missing or damaged
    |- MoveError              1 FAILED      moves between log directories ended early
    |- HookError              1 FAILED      a hook cannot be started, or its run cannot be read
    |- GateNotMetError        3 GATE_NOT_MET
    |- NoDataError            4 NO_DATA     there is no data, or it is stale
    `- HazardError            5 HAZARD      a hazard blocks the step

click's own usage errors end with 2 as well.
"""

import enum
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar


class ExitCode(enum.IntEnum):
    """The exit codes of every command, each with its meaning for the manual."""

    meaning: str

    def __new__(cls, value: int, meaning: str) -> "ExitCode":
        code = int.__new__(cls, value)
        code._value_ = value
        code.meaning = meaning
        return code

    DONE = 0, "The command is done, or the condition holds."
    FAILED = 1, "The command failed."
    USAGE = 2, "The usage or the configuration is wrong."
    GATE_NOT_MET = 3, "The condition did not hold within `--timeout`."
    NO_DATA = 4, "The data is stale or missing."
    HAZARD = 5, "A hazard or a preflight check blocks, or `wait` needs an operator."


class KraftgateError(Exception):
    """A command failed; the message is for the operator who ran it."""

    code: ClassVar[ExitCode] = ExitCode.FAILED


class ProblemsError(KraftgateError):
    """A file that an operator wrote cannot be used.

    Attributes:
        problems: one line each: file, line, what is wrong, how to fix it.
    """

    code = ExitCode.USAGE

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class ConfigError(ProblemsError):
    """The configuration cannot be used."""


class RunbookError(ProblemsError):
    """A runbook, or a file of hooks for one, cannot be used."""


class PlanError(ProblemsError):
    """A plan of moves, or a reassignment JSON, cannot be used."""


class ExecutionError(KraftgateError):
    """The state of the execution does not allow the request."""

    code = ExitCode.USAGE


class UnknownIdError(KraftgateError):
    """There is no such cluster, broker, topic, controller or checkpoint."""

    code = ExitCode.USAGE


class PathError(KraftgateError):
    """There is no metadata log at the path."""

    code = ExitCode.USAGE


class FollowingError(KraftgateError):
    """The query that follows the clusters ended."""


class PublishingError(KraftgateError):
    """Events cannot be published there."""


class AuditError(KraftgateError):
    """The audit trail cannot be used or was changed, or another orchestrator took over."""


class AuditLost(AuditError):
    """The audit trail had entries, and its file does not exist."""


class SecretUnknown(AuditError):
    """A named secret cannot be read, so it cannot be redacted.

    Attributes:
        path: its file; None: it is in the environment.
    """

    code = ExitCode.USAGE

    def __init__(self, why: str, path: Path | None = None) -> None:
        super().__init__(why)
        self.path = path


class LockError(KraftgateError):
    """The lock that lets one orchestrator at a time act on a cluster cannot be acquired."""


class LockHeld(LockError):
    """Another process has it."""


class ClaimLost(LockHeld):
    """Another process may use the state directory: this one must write nothing to it."""


class ThirdPartyError(KraftgateError):
    """A locked third-party module is missing, cannot be installed, or does not match its lock."""


class MoveError(KraftgateError):
    """Moves between log directories ended early."""


class HookError(KraftgateError):
    """A hook cannot be started, or its run cannot be read."""


class GateNotMetError(KraftgateError):
    """The condition did not hold within its timeout."""

    code = ExitCode.GATE_NOT_MET


class NoDataError(KraftgateError):
    """There is no data, or it is stale."""

    code = ExitCode.NO_DATA


class HazardError(KraftgateError):
    """A hazard blocks; the message is its reason."""

    code = ExitCode.HAZARD

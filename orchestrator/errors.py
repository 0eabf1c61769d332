"""Everything a command can end with: one tree of errors, one table of exit codes.

    KraftgateError            1 FAILED
    |- ConfigError            2 USAGE       the configuration file, with every problem and its line
    |- ConditionError         2 USAGE       the text of --until is no condition
    |- DurationError          2 USAGE       the text is no duration
    |- DamagedFileError       1 FAILED      a metadata log or snapshot could not be read to its end
    |- FollowingError         1 FAILED      the query that follows the clusters died
    |- GateNotMetError        3 GATE_NOT_MET
    |- NoDataError            4 NO_DATA     nothing was observed, or it is too old to be shown
    `- HazardError            5 HAZARD      a hazard blocks the step

click's own usage errors end with 2 as well.
"""

import enum
from collections.abc import Sequence
from typing import ClassVar


class ExitCode(enum.IntEnum):
    """The exit codes of every command."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    GATE_NOT_MET = 3
    NO_DATA = 4
    HAZARD = 5


class KraftgateError(Exception):
    """A command cannot go on; the message is for the person who gave it."""

    code: ClassVar[ExitCode] = ExitCode.FAILED


class ConfigError(KraftgateError):
    """The configuration cannot be used.

    Attributes:
        problems: one line each: file, line, what is wrong, how to mend it.
    """

    code = ExitCode.USAGE

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class ConditionError(KraftgateError):
    """The text is no condition."""

    code = ExitCode.USAGE


class DurationError(KraftgateError, ValueError):
    """The text is no duration. Also a ValueError, so that pydantic takes it."""

    code = ExitCode.USAGE


class DamagedFileError(KraftgateError):
    """A metadata log or snapshot is damaged: file, byte position, reason."""


class FollowingError(KraftgateError):
    """The query that follows the clusters died."""


class GateNotMetError(KraftgateError):
    """The condition did not come to hold within its time."""

    code = ExitCode.GATE_NOT_MET


class NoDataError(KraftgateError):
    """There is nothing to show, or it is older than what may be shown as the present."""

    code = ExitCode.NO_DATA


class HazardError(KraftgateError):
    """A hazard blocks; the message is its reason."""

    code = ExitCode.HAZARD

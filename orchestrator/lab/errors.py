"""The errors of the lab as one tree: each has the failure, its place and the fix.

LabError
|- WrongStateError           the step is not possible in the lab's current state
|  `- NoSuchIdError          the lab has no broker, controller, process or directory with that id
|- ProcessDiedError          a process ended during a wait or a request that requires it
|  `- BindRefusedError       because its port was taken
|- WaitTimedOutError         a condition was not met within its time
`- RequestRefusedError       Kafka or ZooKeeper refused a request
"""

from typing import ClassVar


class LabError(Exception):
    """An error of the lab.

    Args:
        what: The failure, in one clause.
        where: The file, process or address of the failure.
        fix: The fix, as an instruction.
        exit_code: The exit code of a command; None: that of the class.
    """

    code: ClassVar[int] = 1

    def __init__(self, what: str, *, where: str, fix: str, exit_code: int | None = None) -> None:
        super().__init__(what, where, fix)
        self.exit_code = self.code if exit_code is None else exit_code
        self.what = what
        self.where = where
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.what} ({self.where}). {self.fix}"


class WrongStateError(LabError):
    """The step is not possible in the lab's current state."""


class NoSuchIdError(WrongStateError):
    """The lab has no broker, controller, process or directory with that id."""

    code = 2


class ProcessDiedError(LabError):
    """A process ended during a wait or a request that requires it."""


class BindRefusedError(ProcessDiedError):
    """A process ended because its port was taken."""


class WaitTimedOutError(LabError):
    """A condition was not met within its time."""


class RequestRefusedError(LabError):
    """Kafka or ZooKeeper refused a request."""

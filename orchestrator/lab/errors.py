"""Everything the lab can raise, as one tree: each error says what, where and how to mend it.

LabError
|- ToolMissingError          java or mvn is absent or too old
|- JarsUnavailableError      mvn could not bring the jars, or another process holds the cache
|- JarsDamagedError          a jar is absent or is not the one in jars.sha256
|- SpecInvalidError          the lab that was asked for cannot exist
|- HomeInUseError            the home directory is not an empty place for a new lab
|- WrongStateError           this step does not follow from where the lab stands
|  `- NoSuchIdError          the lab has no broker, controller, process or directory of that id
|- ProcessDiedError          a process ended while something was expected of it
|  `- BindRefusedError       because its port was taken
|- WaitTimedOutError         a condition did not come within its time
|- LabClosedError            the lab was closed while a step waited
|- ToolFailedError           a Kafka tool ended with an error
|- RequestRefusedError       Kafka or ZooKeeper refused a request
|- LabUnreachableError       no lab answers on the control socket
`- CommandFailedError        the lab answered the control socket with an error
"""

from typing import ClassVar


class LabError(Exception):
    """An error of the lab.

    Args:
        what: What went wrong, in one clause.
        where: The file, process or address it happened at.
        mend: What the reader can do about it.
        exit_code: With which a command ends; None: that of the class.
    """

    code: ClassVar[int] = 1

    def __init__(self, what: str, *, where: str, mend: str, exit_code: int | None = None) -> None:
        super().__init__(what, where, mend)
        self.exit_code = self.code if exit_code is None else exit_code
        self.what = what
        self.where = where
        self.mend = mend

    def __str__(self) -> str:
        """Return the three parts as one message."""
        return f"{self.what} ({self.where}). {self.mend}"


class ToolMissingError(LabError):
    """A program that the lab needs is absent or too old."""


class JarsUnavailableError(LabError):
    """The jars could not be fetched."""


class JarsDamagedError(LabError):
    """A jar in the cache is absent or differs from the lock file."""


class SpecInvalidError(LabError):
    """The lab that was asked for cannot exist."""


class HomeInUseError(LabError):
    """The home directory is not an empty place for a new lab."""


class WrongStateError(LabError):
    """The step does not follow from where the lab stands."""


class NoSuchIdError(WrongStateError):
    """The lab has no broker, controller, process or directory of that id."""

    code = 2


class ProcessDiedError(LabError):
    """A process ended while something was expected of it."""


class BindRefusedError(ProcessDiedError):
    """A process ended because its port was taken."""


class WaitTimedOutError(LabError):
    """A condition did not come within its time."""


class LabClosedError(LabError):
    """The lab was closed while a step waited."""


class ToolFailedError(LabError):
    """A Kafka tool ended with an error or did not end in time."""


class RequestRefusedError(LabError):
    """Kafka or ZooKeeper refused a request."""


class LabUnreachableError(LabError):
    """No lab answers on the control socket."""


class CommandFailedError(LabError):
    """The lab answered the control socket with an error of its own."""

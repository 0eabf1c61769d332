"""Determines whether the log of a controller is the log in the spool.

Offsets and epochs alone do not identify a log: if a migration was rolled back and restarted, the
next log of the cluster reaches the same ones. Therefore the first FETCH on each connection requests
the last batch of the spool. If the controller returns another batch or none, the leader's log
either lost committed records or is another log; the beginning of the log distinguishes the two
(`batches.Mark`).
"""

import enum
from typing import NamedTuple

from streams.kafka.messages import FetchReply
from streams.metadata.batches import HEAD_OFFSET, Mark, mark_at, redacted
from streams.metadata.spool import Position


class FetchPurpose(enum.Enum):
    """The purpose of a FETCH."""

    RECORDS = "the next records"
    TAIL = "the last batch of the spool, and the next records"
    HEAD = "the beginning of the log"


class LogIdentity(enum.Enum):
    """The conclusion from a reply about the leader's log."""

    SAME = "it is the log in the spool"
    NOTHING_YET = "the requested batch is not committed yet"
    DOUBTFUL = "it is another log, or it lost records"
    LOST = "it is the log in the spool and lost records, or cannot be distinguished from that"
    ANOTHER = "it is another log"


class Doubt(NamedTuple):
    """Why the leader's log may be another one than the spool's.

    Attributes:
        below_epoch: It holds only for a leader below this epoch; None: for any.
    """

    why: str
    below_epoch: int | None = None


class Continuity:
    """The state of the check on the current connection.

    Attributes:
        purpose: The purpose of the last FETCH.
        doubt: None: there is no evidence of another log.
    """

    def __init__(self) -> None:
        self.purpose = FetchPurpose.RECORDS
        self.doubt: Doubt | None = None
        self._confirmed = False
        self._head_checked = False
        self._head_wanted = False

    def connected(self) -> None:
        self._confirmed = self._head_checked = self._head_wanted = False

    def confirm(self) -> None:
        self._confirmed = True

    def wants_head(self, here: Position) -> bool:
        """Return whether the beginning of the log must be checked before its snapshot is taken.

        Offset and epoch of a snapshot do not show that its log is the one in the spool.
        """
        if self._confirmed or self._head_checked or here.head is None:
            return False
        self._head_wanted = True
        return True

    def leads_in(self, epoch: int) -> None:
        """Withdraw the doubt, if a leader of this epoch ends it."""
        below = None if self.doubt is None else self.doubt.below_epoch
        if below is not None and epoch >= below:
            self.doubt = None

    def question(self, here: Position, leader_epoch: int) -> tuple[int, int] | None:
        """Return offset and last fetched epoch of the check to send; None: no check is needed.

        For the log's beginning, the request claims the leader's own epoch, which covers its whole
        log.
        """
        head = HEAD_OFFSET, leader_epoch
        self.purpose = FetchPurpose.HEAD
        if self.doubt is not None or (self._head_wanted and not self._head_checked):
            return head
        if here.tail is not None and here.epoch is not None and not self._confirmed:
            self.purpose = FetchPurpose.TAIL
            return here.tail.offset, here.epoch
        if here.head is None and here.next_offset > HEAD_OFFSET and not self._head_checked:
            return head
        self.purpose = FetchPurpose.RECORDS
        return None

    def check_tail(self, reply: FetchReply, here: Position) -> LogIdentity:
        """Evaluate the reply to the request for the last batch of the spool.

        The mark of the spool is that of the batch as it was fetched, or as it was spooled: without
        its secrets.

        Raises:
            DamagedBatch: the reply's records are damaged.
        """
        if here.tail is None:
            return LogIdentity.SAME
        found = mark_at(reply.records, here.tail.offset)
        if found is None:
            return LogIdentity.NOTHING_YET
        if here.tail not in (found, mark_at(redacted(reply.records), here.tail.offset)):
            self.doubt = Doubt(f"it has another batch at offset {here.tail.offset}")
            return LogIdentity.DOUBTFUL
        self.confirm()
        return LogIdentity.SAME

    def check_head(self, reply: FetchReply, here: Position) -> tuple[LogIdentity, Mark | None]:
        """Evaluate the reply to the request for the log's beginning; return also the found mark.

        A log with another beginning is another log. If the log lost its beginning, or the spool
        does not have its own, the two logs cannot be distinguished. The mark is None if the spool
        has it already.

        Raises:
            DamagedBatch: the reply's records are damaged.
        """
        theirs = mark_at(reply.records, HEAD_OFFSET, below=reply.high_watermark or 0)
        if theirs is None and reply.snapshot is None:
            return LogIdentity.NOTHING_YET, None
        self._head_checked = True
        if self.doubt is None and (theirs is None or here.head in (None, theirs)):
            return LogIdentity.SAME, None if theirs == here.head else theirs
        begun = here.next_offset > HEAD_OFFSET
        if theirs is None or theirs == here.head or (begun and here.head is None):
            return LogIdentity.LOST, theirs
        self.doubt = None
        return LogIdentity.ANOTHER, theirs

"""Determines whether the log of a controller is the log in the spool.

Offsets and epochs alone do not identify a log: if a migration was rolled back and restarted, the
next log of the cluster reaches the same ones. Therefore the first FETCH on each connection requests
the last batch of the spool. If the controller returns another batch or none, the leader's log
either lost committed records or is another log; the beginning of the log distinguishes the two
(`log_marks.py`).
"""

import enum

from streams.kafka.messages import FetchReply
from streams.metadata.log_marks import HEAD_OFFSET, Mark, mark_at
from streams.metadata.redaction import redacted
from streams.metadata.spool import Position


class Asking(enum.Enum):
    """The purpose of a FETCH."""

    RECORDS = "what comes next"
    TAIL = "the batch that the spool ends with, and what comes next"
    HEAD = "how the log begins"


class Found(enum.Enum):
    """The conclusion from a reply about the leader's log."""

    SAME = "it is the spool's"
    NOTHING_YET = "what was asked for is not there yet"
    DOUBTFUL = "it is not, or lost records"
    LOST = "it is the spool's, and lost records; or it cannot be told from that"
    ANOTHER = "it is another one"


class Continuity:
    """The state of the check on the current connection.

    Attributes:
        asking: The purpose of the last FETCH.
        doubt: Why the leader's log may be another one; None: there is no such evidence.
    """

    def __init__(self) -> None:
        self.asking = Asking.RECORDS
        self.doubt: str | None = None
        self._confirmed = False
        self._asked_for_head = False

    def connected(self) -> None:
        """Reset the state for a new controller, whose log is not confirmed."""
        self._confirmed = self._asked_for_head = False

    def confirm(self) -> None:
        """Record that this controller's log is the log in the spool."""
        self._confirmed = True

    def question(self, here: Position, leader_epoch: int) -> tuple[int, int] | None:
        """Return offset and last fetched epoch of the check to send; None: no check is needed.

        For the log's beginning, the request claims the leader's own epoch, which covers its whole
        log.
        """
        head = HEAD_OFFSET, leader_epoch
        self.asking = Asking.HEAD
        if self.doubt is not None:
            return head
        if here.tail is not None and here.epoch is not None and not self._confirmed:
            self.asking = Asking.TAIL
            return here.tail.offset, here.epoch
        if here.head is None and here.next_offset > HEAD_OFFSET and not self._asked_for_head:
            return head
        self.asking = Asking.RECORDS
        return None

    def tail_told(self, reply: FetchReply, here: Position) -> Found:
        """Evaluate the reply to the request for the last batch of the spool.

        The mark of the spool is that of the batch as it was fetched, or as it was spooled: without
        its secrets.

        Raises:
            DamagedBatch: the reply's records are damaged.
        """
        if here.tail is None:
            return Found.SAME
        found = mark_at(reply.records, here.tail.offset)
        if found is None:
            return Found.NOTHING_YET
        if here.tail not in (found, mark_at(redacted(reply.records), here.tail.offset)):
            self.doubt = f"it has another batch at offset {here.tail.offset}"
            return Found.DOUBTFUL
        self.confirm()
        return Found.SAME

    def head_told(self, reply: FetchReply, here: Position) -> tuple[Found, Mark | None]:
        """Evaluate the reply to the request for the log's beginning; return also the found mark.

        A log with another beginning is another log. If the log lost its beginning, or the spool
        does not have its own, the two logs cannot be distinguished.

        Raises:
            DamagedBatch: the reply's records are damaged.
        """
        theirs = mark_at(reply.records, HEAD_OFFSET, below=reply.high_watermark or 0)
        if theirs is None and reply.snapshot is None:
            return Found.NOTHING_YET, None
        self._asked_for_head = True
        if self.doubt is None:
            return Found.SAME, theirs
        begun = here.next_offset > HEAD_OFFSET
        if theirs is None or theirs == here.head or (begun and here.head is None):
            return Found.LOST, theirs
        self.doubt = None
        return Found.ANOTHER, theirs

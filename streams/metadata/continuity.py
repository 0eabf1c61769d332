"""Whether the log that a controller tells is still the one that the spool holds.

Offsets and epochs alone cannot say: when a migration was rolled back and begun again, the cluster's
next log reaches the same ones. So each connection is asked first for the batch that the spool ends
with. Where that is another one, or none, the leader's log either lost committed records, or is
another log: the two are told apart by the log's beginning (`log_marks.py`).
"""

import enum

from streams.kafka.messages import FetchReply
from streams.metadata.log_marks import HEAD_OFFSET, Mark, mark_at
from streams.metadata.redaction import redacted
from streams.metadata.spool import Position


class Asking(enum.Enum):
    """What a FETCH is for."""

    RECORDS = "what comes next"
    TAIL = "the batch that the spool ends with, and what comes next"
    HEAD = "how the log begins"


class Found(enum.Enum):
    """What a reply says of the log."""

    SAME = "it is the spool's"
    NOTHING_YET = "what was asked for is not there yet"
    DOUBTFUL = "it is not, or lost records"
    LOST = "it is the spool's, and lost records; or it cannot be told from that"
    ANOTHER = "it is another one"


class Continuity:
    """What was found out on the present connection.

    Attributes:
        asking: What the last question was for.
        doubt: Why the leader's log may be another one; None: nothing speaks for it.
    """

    def __init__(self) -> None:
        self.asking = Asking.RECORDS
        self.doubt: str | None = None
        self._confirmed = False
        self._asked_for_head = False

    def connected(self) -> None:
        """Begin with a controller of which nothing is known."""
        self._confirmed = self._asked_for_head = False

    def confirm(self) -> None:
        """Take it that this controller's log is the spool's."""
        self._confirmed = True

    def question(self, here: Position, leader_epoch: int) -> tuple[int, int] | None:
        """Return what to ask before anything else: offset and last epoch; None: go on.

        At the beginning the leader's own epoch is claimed: it covers its whole log.
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
        """Judge the reply to a question for the spool's last batch.

        That is the batch as it was fetched, or as it was spooled: without its secrets.

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
        """Judge the reply to a question for the log's beginning, and return that.

        A log that begins otherwise is another one. One that lost its beginning, or where that of
        the spool was never seen, cannot be told from the spool's.

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

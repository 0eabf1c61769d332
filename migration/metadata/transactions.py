"""Metadata transactions: which records take effect, and when (KIP-868, MetadataBatchLoader).

Between BeginTransaction and EndTransaction the controller may write many batches. Their records
take effect at the End; an Abort drops them. The state is one value, so that processing can stop and
resume at any batch.
"""

import enum
from typing import NamedTuple

from migration.metadata.records import AbortTransaction, BeginTransaction, EndTransaction, Record


class IllegalTransaction(Exception):
    """The log violates the order Begin ... End | Abort; later records cannot be trusted.

    Attributes:
        offset: metadata offset of the offending record.
    """

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(f"metadata offset {offset}: {reason}")
        self.offset = offset


class Transaction(NamedTuple):
    """An open metadata transaction, identified by the offset of its BeginTransactionRecord."""

    begin_offset: int


class Admission(enum.Enum):
    """When a record takes effect."""

    NOW = "takes effect at once"
    HELD = "waits for the transaction's end"
    RELEASE = "the held records take effect"
    DROP = "the held records are void"


def admit(
    transaction: Transaction | None, offset: int, record: Record
) -> tuple[Transaction | None, Admission]:
    """Return when `record` takes effect, and the transaction that is open after it.

    A BeginTransaction is itself HELD and an End or Abort is the RELEASE or DROP.

    Raises:
        IllegalTransaction: a Begin inside a transaction, or an End or Abort outside of one
            (MetadataBatchLoader throws on the same orders).
    """
    match record:
        case BeginTransaction():
            if transaction is not None:
                raise IllegalTransaction(
                    offset,
                    f"BeginTransaction inside the transaction begun at {transaction.begin_offset}",
                )
            return Transaction(offset), Admission.HELD
        case EndTransaction():
            if transaction is None:
                raise IllegalTransaction(offset, "EndTransaction without an open transaction")
            return None, Admission.RELEASE
        case AbortTransaction():
            if transaction is None:
                raise IllegalTransaction(offset, "AbortTransaction without an open transaction")
            return None, Admission.DROP
        case _:
            held = transaction is not None
            return transaction, Admission.HELD if held else Admission.NOW

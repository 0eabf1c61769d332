"""Nothing of a transaction counts before its end, and no other order is accepted."""

import pytest

from migration.metadata.records import AbortTransaction, BeginTransaction, EndTransaction, NoOp
from migration.metadata.transactions import Admission, IllegalTransaction, Transaction, admit

OPEN = Transaction(begin_offset=5)


def test_outside_of_a_transaction_a_record_takes_effect_at_once() -> None:
    assert admit(None, 1, NoOp()) == (None, Admission.NOW)


def test_inside_it_waits() -> None:
    assert admit(None, 5, BeginTransaction("ZK Migration")) == (OPEN, Admission.HELD)
    assert admit(OPEN, 6, NoOp()) == (OPEN, Admission.HELD)


def test_an_end_releases_and_an_abort_drops() -> None:
    assert admit(OPEN, 7, EndTransaction()) == (None, Admission.RELEASE)
    assert admit(OPEN, 7, AbortTransaction(None)) == (None, Admission.DROP)


@pytest.mark.parametrize(
    ("transaction", "record", "words"),
    [
        (OPEN, BeginTransaction(None), "inside the transaction begun at 5"),
        (None, EndTransaction(), "without an open transaction"),
        (None, AbortTransaction(None), "without an open transaction"),
    ],
)
def test_an_illegal_order_is_an_error_with_its_offset(
    transaction: Transaction | None,
    record: BeginTransaction | EndTransaction | AbortTransaction,
    words: str,
) -> None:
    with pytest.raises(IllegalTransaction, match=words) as raised:
        admit(transaction, 9, record)
    assert raised.value.offset == 9

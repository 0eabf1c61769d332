"""What is kept of a reply: whole, committed batches from the position on."""

import pytest

from streams.metadata.batches import Cut, committed, is_no_op, mark_of, survey
from streams.wire.batches import read_batches
from streams.wire.errors import DamagedBatch
from tests.streams.metadata.log_bytes import batch, log, no_op

LOG = log(2, 3, 1)  # batches end at offsets 2, 5, 6


@pytest.mark.parametrize(
    ("high_watermark", "ends"),
    [(0, 0), (1, 0), (2, 2), (3, 2), (4, 2), (5, 5), (6, 6), (99, 6)],
)
def test_only_batches_wholly_below_the_high_watermark_are_kept(
    high_watermark: int, ends: int
) -> None:
    cut = committed(LOG, 0, high_watermark)
    assert cut.next_offset == ends
    assert LOG.startswith(cut.records)
    assert (cut.epoch is None) == (ends == 0)


@pytest.mark.parametrize(("position", "starts"), [(0, 0), (1, 0), (2, 2), (4, 2), (5, 5)])
def test_a_batch_that_ends_before_the_position_is_left_out(position: int, starts: int) -> None:
    cut = committed(LOG, position, 6)
    assert next(read_batches(cut.records, file="cut")).base_offset == starts
    assert cut.next_offset == 6


def test_a_batch_that_is_cut_at_the_end_is_left_for_the_next_reply() -> None:
    for size in range(len(log(2, 3)), len(LOG)):
        cut = committed(LOG[:size], 0, 99)
        first, last = read_batches(log(2, 3), file="log")
        assert cut == Cut(log(2, 3), 5, 1, mark_of(first), mark_of(last), busy_until=5)


def test_how_far_there_is_more_than_no_ops() -> None:
    idle = no_op(6) + no_op(7)
    assert committed(LOG + idle, 0, 99).busy_until == 6
    assert committed(LOG + idle, 6, 99).busy_until is None
    assert committed(LOG + idle + batch(8) + no_op(9), 6, 99).busy_until == 9
    assert committed(LOG + idle, 0, 3).busy_until == 2, "of what is committed"


def test_a_gap_after_the_position_is_damage() -> None:
    with pytest.raises(DamagedBatch, match="offset 6 follows, but 5 was requested"):
        committed(batch(6), 5, 99)


def test_a_flipped_byte_is_damage() -> None:
    flipped = bytearray(LOG)
    flipped[60] ^= 1
    with pytest.raises(DamagedBatch, match="CRC"):
        committed(bytes(flipped), 0, 99)


def test_a_survey_ends_before_the_first_damage() -> None:
    found = survey(LOG + b"\0" * 200, "segment")
    assert (found.whole_bytes, found.next_offset, found.epoch) == (len(LOG), 6, 1)


def test_a_no_op_is_told_from_data_of_its_size() -> None:
    (idle,) = read_batches(no_op(7), file="log")
    (data,) = read_batches(batch(7, body=b"elevenbytes"), file="log")
    assert idle.size == data.size == 72
    assert is_no_op(idle)
    assert not is_no_op(data)

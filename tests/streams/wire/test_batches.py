"""Batches are read as written; each kind of damage is reported with its position."""

import dataclasses
import pickle
import tracemalloc
from contextlib import suppress
from itertools import pairwise, product
from pathlib import Path

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from kio.schema.k_raft_version_record.v0.data import KRaftVersionRecord
from kio.schema.leader_change_message.v0.data import LeaderChangeMessage as LeaderChangeMessageV0
from kio.schema.leader_change_message.v1.data import LeaderChangeMessage as LeaderChangeMessageV1
from kio.schema.snapshot_footer_record.v0.data import SnapshotFooterRecord
from kio.schema.snapshot_header_record.v0.data import SnapshotHeaderRecord
from kio.schema.voters_record.v0.data import VotersRecord

from migration.metadata.records import LeaderChange, NoOp, Unknown
from streams.metadata.batches import committed, survey
from streams.wire.batches import (
    CRC_START,
    HEADER,
    Batch,
    _plain_places,
    _read_entry,
    read_batches,
    read_snapshot,
)
from streams.wire.control import KnownControl, UnknownControl, read_control
from streams.wire.errors import (
    DamagedBatch,
    DamagedValue,
    UnsupportedRecordVersion,
    WireError,
)
from streams.wire.records import read_records
from streams.wire.schema import BeginTransactionRecordV0
from streams.wire.structure import write_uvarint
from tests.streams.wire.strategies import entities
from tests.support.examples import examples
from tests.support.wire_writing import (
    write_batch,
    write_checkpoint,
    write_control,
    write_control_batch,
    write_leader_change,
    write_value,
)

NO_OP = b"\x01\x14\x00\x00"
FILE = "00000000000000000000.log"
LOG = (
    write_leader_change(0, 3, 1000, 3000)
    + write_batch(1, 3, 1001, [NO_OP, b"\x01\x77\x00"])
    + write_batch(3, 4, 1002, [NO_OP])
)
STARTS = [batch.position for batch in read_batches(LOG, file=FILE)]


def read(log: bytes) -> list[Batch]:
    return list(read_batches(log, file=FILE))


def sealed(batch: bytes) -> bytes:
    """Return the batch with a valid CRC."""
    changed = bytearray(batch)
    changed[17:21] = crc32c(changed[CRC_START:]).to_bytes(4)
    return bytes(changed)


def with_header(batch: bytes, index: int, number: int) -> bytes:
    """Return the batch with one header field changed and a valid CRC."""
    header = list(HEADER.unpack_from(batch))
    header[index] = number
    return sealed(HEADER.pack(*header) + batch[HEADER.size :])


def test_a_log_is_read_batch_by_batch() -> None:
    leader, first, second = read(LOG)
    assert (leader.is_control, first.is_control) == (True, False)
    assert (first.position, first.size) == (leader.size, second.position - first.position)
    assert (first.base_offset, first.last_offset, first.leader_epoch) == (1, 2, 3)
    assert (first.max_timestamp, first.count) == (1001, 2)
    assert first.raw() == LOG[first.position : second.position]
    assert first.records() == [(1, 1001, NO_OP), (2, 1001, b"\x01\x77\x00")]
    assert read_records(first) == [(1, 1001, NoOp()), (2, 1001, Unknown(0x77))]
    assert read_records(leader) == [(0, 1000, LeaderChange(3000))]
    assert leader.records() == []
    assert first.control_records() == []
    assert repr(leader) == f"<control batch 0..0 of {FILE}, byte 0>"


def test_positions_count_from_the_file_not_from_the_buffer() -> None:
    batches = list(read_batches(LOG[STARTS[1] :], file=FILE, position=STARTS[1]))
    assert [batch.position for batch in batches] == STARTS[1:]


@examples()
@given(
    st.lists(st.lists(st.binary(max_size=300), min_size=1, max_size=130), min_size=1, max_size=4),
    st.integers(0, 2**40),
    st.integers(0, 2**31 - 1),
    st.integers(0, 2**45),
)
def test_what_is_written_is_read(
    batches: list[list[bytes]], offset: int, epoch: int, timestamp_ms: int
) -> None:
    log, expected = b"", []
    for values in batches:
        log += write_batch(offset, epoch, timestamp_ms, values)
        expected += [(offset + delta, timestamp_ms, value) for delta, value in enumerate(values)]
        offset += len(values)
    found = read(log)
    assert [record for batch in found for record in batch.records()] == expected
    assert all(batch.leader_epoch == epoch for batch in found)


def entries(records: bytes, count: int) -> list[tuple[int, int]]:
    """Return start and end of the values up to the first damage, read one after the other."""
    found: list[tuple[int, int]] = []
    position = 0
    with suppress(DamagedBatch):
        for index in range(count):
            (_, _, value, start), position = _read_entry(records, position, index)
            found.append((start, start + len(value or b"")))
    return found


@pytest.mark.parametrize("sizes", [[3] * 70, [0] * 5 + [7] * 5, [130] * 5, [61, 62, 63] * 2])
@pytest.mark.parametrize("change", [1, 2, 0x40, 0x80])
def test_records_of_equal_length_are_read_together_as_one_by_one(
    sizes: list[int], change: int
) -> None:
    """If a byte of them is another, the records before it are read."""
    records = bytearray(write_batch(0, 1, 1000, [bytes(size) for size in sizes])[HEADER.size :])
    whole = list(zip(*_plain_places(bytes(records), len(sizes)), strict=True))
    assert whole == entries(bytes(records), len(sizes))
    assert [end - start for start, end in whole] == sizes
    for at in range(len(records)):
        records[at] ^= change
        found = list(zip(*_plain_places(bytes(records), len(sizes)), strict=True))
        assert found == entries(bytes(records), len(sizes))[: len(found)]
        assert len(found) >= sum(end < at for _, end in whole)
        records[at] ^= change


@pytest.mark.parametrize("count", [64, 65, 66, 8192, 8193, 8194, 9999, 10_000])
def test_a_batch_of_any_size_has_its_records(count: int) -> None:
    (batch,) = read(write_batch(0, 1, 1000, [NO_OP] * count))
    assert batch.records() == [(offset, 1000, NO_OP) for offset in range(count)]


def until_damage(log: bytes) -> tuple[list[int], DamagedBatch | None]:
    """Return the ends of the batches before the damage, and the damage."""
    ends: list[int] = []
    try:
        for batch in read_batches(log, file=FILE):
            ends.append(batch.position + batch.size)
    except DamagedBatch as damage:
        return ends, damage
    return ends, None


def test_a_cut_batch_is_damage_after_the_good_ones() -> None:
    for cut in sorted({*range(1, len(LOG))} - {*STARTS}):
        good = [end for _, end in pairwise([*STARTS, len(LOG)]) if end <= cut]
        ends, damage = until_damage(LOG[:cut])
        assert ends == good, f"cut at byte {cut}"
        assert damage is not None, f"cut at byte {cut}"
        assert "is cut" in str(damage), f"cut at byte {cut}"
        assert (damage.file, damage.position) == (FILE, [0, *good][-1]), f"cut at byte {cut}"
        whole = list(read_batches(LOG[:cut], file=FILE, allow_partial_tail=True))
        assert [each.position + each.size for each in whole] == good, f"cut at byte {cut}"


def test_a_changed_byte_is_damage_wherever_it_is() -> None:
    for position, flip in product(range(STARTS[1], STARTS[2]), (0x01, 0x80, 0xFF)):
        changed = bytearray(LOG)
        changed[position] ^= flip
        if (
            12 <= position - STARTS[1] < 16
            and 3 <= int.from_bytes(changed[STARTS[1] + 12 :][:4]) <= 4
        ):
            continue  # a leader epoch between its neighbours' is not detectable
        _, damage = until_damage(bytes(changed))
        assert damage is not None, f"byte {position}, changed by {flip:#x}"
        assert damage.position in STARTS[1:], f"byte {position}, changed by {flip:#x}"


def test_the_error_says_what_where_and_what_to_do() -> None:
    changed = bytearray(LOG)
    changed[-1] ^= 1
    with pytest.raises(DamagedBatch) as caught:
        read(bytes(changed))
    words = str(caught.value)
    assert words.startswith(f"{FILE}, byte {STARTS[2]}: CRC-32C is 0x")
    assert words.endswith(
        "Read an undamaged copy: another controller's or broker's, or a later snapshot."
    )
    assert "\n" not in words


@pytest.mark.parametrize("magic", [0, 1, 3, 255])
def test_another_magic_is_damage(magic: int) -> None:
    log = bytearray(LOG)
    log[16] = magic
    with pytest.raises(DamagedBatch, match=f"magic {magic}"):
        read(bytes(log))
    with pytest.raises(DamagedBatch, match=f"magic {magic}"):
        list(read_batches(bytes(log[:20]), file=FILE, allow_partial_tail=True))


@pytest.mark.parametrize("length", [-(2**31), -1, 0, 48])
def test_a_length_below_the_header_is_damage(length: int) -> None:
    log = LOG[:8] + length.to_bytes(4, signed=True) + LOG[12:]
    with pytest.raises(DamagedBatch, match="its header alone has 61"):
        list(read_batches(log, file=FILE, allow_partial_tail=True))


def test_zeros_behind_the_last_batch_are_damage() -> None:
    with pytest.raises(DamagedBatch, match="magic 0") as caught:
        read(LOG + bytes(4096))
    assert caught.value.position == len(LOG)


@pytest.mark.parametrize(
    ("offset", "epoch", "reason"),
    [
        (3, 4, "offset 3 follows on 3"),
        (5, 4, "offset 5 follows on 3"),
        (4, 3, "epoch 3 follows on 4"),
    ],
)
def test_offsets_without_gaps_and_epochs_that_grow(offset: int, epoch: int, reason: str) -> None:
    with pytest.raises(DamagedBatch, match=reason):
        read(LOG + write_batch(offset, epoch, 1003, [NO_OP]))


@pytest.mark.parametrize(
    ("index", "number"), [(6, 5), (6, -1), (12, 0), (12, 3), (12, -1), (0, -1)]
)
def test_a_header_that_contradicts_itself_is_damage(index: int, number: int) -> None:
    with pytest.raises(DamagedBatch, match="records"):
        read(with_header(write_batch(1, 3, 1001, [NO_OP, NO_OP]), index, number))


@examples(400)
@given(
    st.lists(st.binary(max_size=40), min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=3),
    st.booleans(),
)
def test_records_that_do_not_add_up_are_damage_although_the_crc_is_right(
    values: list[bytes], changes: list[tuple[int, int]], as_control: bool
) -> None:
    batch = bytearray(write_batch(9, 3, 1001, values))
    for at, byte in changes:
        batch[HEADER.size + at % (len(batch) - HEADER.size)] = byte
    changed = with_header(bytes(batch), 5, 0x20) if as_control else sealed(bytes(batch))
    [found] = read(changed)
    try:
        offsets = [one[0] for one in (found.control_records() if as_control else found.records())]
    except WireError as error:
        assert (error.file, error.position) == (FILE, 0)  # noqa: PT017 both ends are right
    else:
        assert offsets == list(range(9, 9 + len(values)))


def test_a_record_with_a_key_or_without_a_value_is_damage() -> None:
    for key, value in ((b"k", b"v"), (None, None)):
        builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, 1000)
        builder.append(0, 1, key, value, [])
        with pytest.raises(DamagedBatch, match="a key or no value"):
            read(bytes(builder.build()))[0].records()


def compressed(codec: int, records: int = 20) -> bytes:
    builder = DefaultRecordBatchBuilder(2, codec, 0, -1, -1, -1, 100_000_000)
    for delta in range(records):
        builder.append(delta, 5, None, NO_OP * 1000, [])
    return bytes(builder.build())


def test_a_compressed_batch_is_damage_before_it_is_decompressed() -> None:
    bomb = compressed(1, records=5000)
    assert len(bomb) < 200_000, "20 MB of records"
    tracemalloc.start()
    try:
        with pytest.raises(DamagedBatch, match=r"compressed \(codec 1, gzip\)") as caught:
            read(LOG[: STARTS[1]] + with_header(bomb, 0, 1))
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
    assert (caught.value.file, caught.value.position) == (FILE, STARTS[1])


@pytest.mark.parametrize(
    ("codec", "name"), [(2, "snappy"), (3, "lz4"), (4, "zstd"), (7, "unknown")]
)
def test_every_codec_is_damage(codec: int, name: str) -> None:
    with pytest.raises(DamagedBatch, match=f"codec {codec}, {name}"):
        read(with_header(LOG[STARTS[2] :], 5, codec))


def test_a_compressed_batch_does_not_get_into_the_spool() -> None:
    whole = LOG[: STARTS[1]]
    damaged = with_header(compressed(1), 0, 1)
    with pytest.raises(DamagedBatch, match="compressed"):
        committed(whole + damaged, 0, 100)
    assert survey(whole + damaged, FILE).whole_bytes == len(whole)


def varint(number: int) -> bytes:
    """Return a zigzag varint of any length, as ByteUtils.writeVarlong writes it."""
    return write_uvarint((number << 1) ^ (number >> 127))


def batch_of(*parts: bytes, count: int = 1) -> bytes:
    """Return a batch with these bytes as records and a matching header."""
    records = b"".join(parts)
    fields = list(HEADER.unpack_from(write_batch(0, 1, 1001, [NO_OP])))
    fields[1], fields[6], fields[12] = HEADER.size - 12 + len(records), count - 1, count
    return sealed(HEADER.pack(*fields) + records)


def record(*, delta: int = 0, key: bytes = varint(-1), value: bytes, headers: int = 0) -> bytes:
    body = b"\0" + varint(0) + varint(delta) + key + value + varint(headers)
    return varint(len(body)) + body


EXTREMES = [2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1, -(2**63), -2, 10**6]
"""Lengths that lead out of the batch, or that wrap around when a position is added to them."""


@pytest.mark.parametrize("number", EXTREMES)
def test_no_length_or_number_leads_out_of_the_batch(number: int) -> None:
    """Readers of client libraries raise OverflowError or MemoryError for these."""
    good = varint(len(NO_OP)) + NO_OP
    for damaged in (
        varint(number) + b"\0" * 10,
        record(value=varint(number) + NO_OP),
        record(key=varint(number) + b"k", value=good),
        record(delta=number, value=good),
        record(value=good, headers=number),
        record(value=good)[:-1] + b"\x80" * 12,
    ):
        with pytest.raises(DamagedBatch, match="the records do not add up") as caught:
            read(batch_of(damaged))[0].records()
        assert (caught.value.file, caught.value.position) == (FILE, 0)


def test_a_batch_holds_as_many_records_as_its_header_says() -> None:
    good = record(value=varint(len(NO_OP)) + NO_OP)
    for count in (2, 100_000):
        with pytest.raises(DamagedBatch, match="do not add up"):
            read(batch_of(good, count=count))[0].records()
    with pytest.raises(DamagedBatch, match=f"{len(good)} bytes are left behind"):
        read(batch_of(good, good))[0].records()


def test_a_timestamp_fits_64_bits() -> None:
    body = b"\0" + varint(2**63 - 1) + varint(0) + varint(-1) + varint(4) + NO_OP + varint(0)
    with pytest.raises(DamagedBatch, match="does not fit 64 bits"):
        read(batch_of(varint(len(body)) + body))[0].records()
    earliest = with_header(LOG[STARTS[2] :], 7, -(2**63))
    assert read(earliest)[0].records() == [(3, -(2**63), NO_OP)]


def test_the_offset_behind_a_batch_fits_64_bits() -> None:
    last = 2**63 - 1
    assert read(write_batch(last - 1, 1, 1, [NO_OP]))[0].last_offset == last - 1
    with pytest.raises(DamagedBatch, match="records"):
        read(write_batch(last, 1, 1, [NO_OP]))


@examples()
@given(
    st.lists(
        st.binary(max_size=300) | st.sampled_from([b"x" * size for size in (8191, 8192, 20000)]),
        min_size=1,
        max_size=140,
    ),
    st.integers(0, 2**40),
    st.sampled_from([0, 0, 0, 1, 10**9]),
)
def test_entries_are_read_as_kafka_python_reads_them(
    values: list[bytes], base_ms: int, step_ms: int
) -> None:
    builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, 10**7)
    for index, value in enumerate(values):
        builder.append(index, base_ms + index * step_ms, None, value, [])
    batch = bytes(builder.build())
    theirs = [(one.offset, one.timestamp, one.value) for one in DefaultRecordBatch(batch)]
    assert read(batch)[0].records() == theirs


@examples()
@given(st.lists(st.sampled_from([NO_OP, b"\x01\x04\x00\x00", b"\x01\x77\x01"]), min_size=1))
def test_mentions_has_no_false_no(values: list[bytes]) -> None:
    begin = write_value(BeginTransactionRecordV0(name="ZK Migration"))
    log = write_batch(0, 1, 1, values) + write_batch(len(values), 1, 1, [*values, begin])
    without, with_begin = read(log)
    assert with_begin.mentions(23)
    assert not without.mentions(23)
    assert without.mentions(20) == (NO_OP in values)


CONTROLS: list[type[KnownControl]] = [
    LeaderChangeMessageV0,
    LeaderChangeMessageV1,
    SnapshotHeaderRecord,
    SnapshotFooterRecord,
    KRaftVersionRecord,
    VotersRecord,
]


@pytest.mark.parametrize("kind", CONTROLS, ids=lambda kind: f"{kind.__name__}V{kind.__version__}")
@examples(25)
@given(data=st.data())
def test_control_records_come_back(kind: type[KnownControl], data: st.DataObject) -> None:
    record = dataclasses.replace(data.draw(entities(kind)), version=kind.__version__)
    [batch] = read(write_control_batch(7, 2, 99, [record]))
    assert batch.control_records() == [(7, 99, record)]


def test_control_records_that_are_not_known_or_not_whole() -> None:
    assert read_control(b"\x00\x00\x00\x01", b"\x00\x00") == UnknownControl(1)
    key, value = write_control(SnapshotHeaderRecord(version=0, last_contained_log_timestamp=5))  # type: ignore[arg-type]
    with pytest.raises(UnsupportedRecordVersion, match="SnapshotHeaderRecord has version 1"):
        read_control(key, b"\x00\x01" + value[2:])
    for broken in (b"", value[:-1], value + b"\x00"):
        with pytest.raises(DamagedValue):
            read_control(key, broken)
    with pytest.raises(DamagedValue):
        read_control(key[:3], value)


def test_a_checkpoint_begins_and_ends_with_its_control_records() -> None:
    header, first, second, footer = read(write_checkpoint(5, 77, [[NO_OP, NO_OP], [NO_OP]]))
    [(_, _, opening)], [(at, _, closing)] = header.control_records(), footer.control_records()
    assert isinstance(opening, SnapshotHeaderRecord)
    assert opening.last_contained_log_timestamp == 77
    assert isinstance(closing, SnapshotFooterRecord)
    assert at == first.count + second.count + 1
    assert read_records(header) == []


def test_a_checkpoint_that_is_cut_between_two_batches_is_damage(tmp_path: Path) -> None:
    whole = write_checkpoint(3, 1_000, [[NO_OP, NO_OP], [NO_OP]])
    path = tmp_path / FILE
    *cuts, end = [0, *(each.position + each.size for each in read(whole))]
    for cut in cuts:
        path.write_bytes(whole[:cut])
        batches = read_snapshot(path)
        for _ in range(cuts.index(cut)):
            next(batches)
        with pytest.raises(DamagedBatch, match="the snapshot has no footer: it is cut") as caught:
            next(batches)
        assert (caught.value.file, caught.value.position) == (str(path), cut)
    path.write_bytes(whole)
    assert [each.position + each.size for each in read_snapshot(path)] == [*cuts[1:], end]
    path.write_bytes(whole + write_batch(5, 3, 1_000, [NO_OP]))
    with pytest.raises(DamagedBatch, match="no footer"):
        list(read_snapshot(path))


def test_a_checkpoint_without_its_beginning_is_damage(tmp_path: Path) -> None:
    """Kafka (RecordsSnapshotReader) rejects it, too; what it says first would be missing."""
    whole = write_checkpoint(3, 1_000, [[NO_OP, NO_OP], [NO_OP]])
    path = tmp_path / FILE
    header, *later = read(whole)
    for each in later:
        path.write_bytes(whole[each.position :])
        with pytest.raises(DamagedBatch, match="no header: its beginning is missing") as caught:
            next(read_snapshot(path))
        assert (caught.value.file, caught.value.position) == (str(path), 0)
    assert header.is_control


def test_a_value_error_gets_the_batch_s_place() -> None:
    log = LOG + write_batch(4, 4, 1003, [NO_OP, b"\x02\x00\x00"])
    with pytest.raises(WireError) as caught:
        read_records(read(log)[-1])
    error = caught.value
    assert (error.file, error.position, error.offset) == (FILE, len(LOG), 5)
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 our own bytes
    assert (type(again), str(again)) == (type(error), str(error))

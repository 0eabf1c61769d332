"""PartitionRecords and PartitionChangeRecords as columns, and ids of 16 bytes as numbers.

Nearly all records of a large metadata log are of these two types.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from migration.metadata.directory_ids import DirectoryId
from migration.metadata.partitions import NO_LEADER_CHANGE
from migration.metadata.records import Partition, PartitionChange
from migration.shard.lists import Flags, Integers, Lists, end_to_end, integers, rows_of

Ids: TypeAlias = NDArray[np.uint64]
"""A row for each id of 16 bytes: its two halves, each as a big-endian number."""

UNCHANGED: Final = -1
"""In `adding` and `removing`: the record does not change them."""
NO_NUMBER: Final = -1
_ID_BYTES: Final = 16
_SOME: Final = (-1,)


class PartitionRecords(NamedTuple):
    """A row for each record.

    Attributes:
        offsets: ascending.
        timestamps: ms since 1970.
        topic_ids: the ids of the topics.
        created: whether it is a PartitionRecord.
        leaders: in a change, -2: did not change.
        brokers: of the replicas; absent: did not change.
        isr: absent: did not change.
        directories: for each broker, the position of the id in `directory_ids`; absent or empty:
            did not change, or of a PartitionRecord: every replica is MIGRATING.
        directory_ids: the ids that `directories` refers to.
        adding: whether a reassignment adds replicas: 0, 1 or UNCHANGED.
        removing: whether it removes replicas, as `adding`.
        recovering: whether it sets the LeaderRecoveryState of an unclean election.
    """

    offsets: Integers
    timestamps: Integers
    topic_ids: Ids
    partitions: Integers
    created: Flags
    leaders: Integers
    brokers: Lists
    isr: Lists
    directories: Lists
    directory_ids: Ids
    adding: Integers
    removing: Integers
    recovering: Flags

    @classmethod
    def of(
        cls, records: Iterable[tuple[int, int, Partition | PartitionChange]]
    ) -> "PartitionRecords":
        """Return (offset, timestamp in ms, record) as columns."""
        rows = list(records)
        only = [record for _, _, record in rows]
        directories = [each.directories for each in only]
        flat = [each for some in directories if some is not None for each in some]
        column = Lists.of(None if each is None else range(len(each)) for each in directories)
        return cls(
            offsets=integers([offset for offset, _, _ in rows]),
            timestamps=integers([timestamp_ms for _, timestamp_ms, _ in rows]),
            topic_ids=ids_of([each.topic_id for each in only]),
            partitions=integers([each.partition_id for each in only]),
            created=np.array([isinstance(each, Partition) for each in only], dtype=np.bool_),
            leaders=integers([each.leader for each in only]),
            brokers=Lists.of(each.replicas for each in only),
            isr=Lists.of(each.isr for each in only),
            directories=column._replace(values=np.arange(len(column.values), dtype=np.int64)),
            directory_ids=ids_of(flat),
            adding=_flags(each.adding_replicas for each in only),
            removing=_flags(each.removing_replicas for each in only),
            recovering=np.array([each.recovering for each in only], dtype=np.bool_),
        )

    @classmethod
    def joined(cls, parts: "Sequence[PartitionRecords]") -> "PartitionRecords":
        """Return the rows of all parts, ordered by offset."""
        sizes = np.cumsum([0, *(len(each.directory_ids) for each in parts)])
        placed = [
            part._replace(
                directories=part.directories._replace(values=part.directories.values + size)
            )
            for part, size in zip(parts, sizes[:-1], strict=True)
        ]
        whole = cls(*map(end_to_end, zip(*placed, strict=True)))
        if bool(np.all(whole.offsets[1:] >= whole.offsets[:-1])):
            return whole
        return whole.take(np.argsort(whole.offsets, kind="stable"))

    def take(self, rows: Integers | slice) -> "PartitionRecords":
        columns = self._asdict()
        del columns["directory_ids"]
        return self._replace(**{name: rows_of(each, rows) for name, each in columns.items()})

    def record(self, row: int) -> Partition | PartitionChange:
        """Return one record as an object; `adding` and `removing` only show whether it has any."""
        places = self.directories.at(row)
        directories = None if places is None else tuple(map(self._directory, places))
        partition, leader = int(self.partitions[row]), int(self.leaders[row])
        topic_id = id_at(self.topic_ids, row)
        brokers, isr = self.brokers.at(row), self.isr.at(row)
        adding, removing = _some(self.adding[row]), _some(self.removing[row])
        recovering = bool(self.recovering[row])
        if not self.created[row]:
            return PartitionChange(
                partition,
                topic_id,
                isr=isr,
                leader=leader,
                replicas=brokers,
                removing_replicas=removing,
                adding_replicas=adding,
                directories=directories,
                recovering=recovering,
            )
        return Partition(
            partition,
            topic_id,
            replicas=brokers or (),
            isr=isr or (),
            removing_replicas=removing or (),
            adding_replicas=adding or (),
            leader=leader,
            directories=directories,
            recovering=recovering,
        )

    def _directory(self, place: int) -> DirectoryId:
        return DirectoryId(id_at(self.directory_ids, place))


class IdIndex:
    """Finds the numbers of ids: one search in sorted hashes for many ids at once."""

    def __init__(self, ids: Sequence[bytes], numbers: Sequence[int]) -> None:
        self._ids = ids_of(ids)
        self._numbers = integers(numbers)
        self._factor = np.uint64(1)
        hashes = self._hashes(self._ids)
        while len(np.unique(hashes)) < len(hashes):
            # Two halves that differ in the sum of one factor only by chance: try the next one.
            self._factor = np.uint64((int(self._factor) * 6364136223846793005 + 2) % 2**64)
            hashes = self._hashes(self._ids)
        order = np.argsort(hashes)
        self._sorted = hashes[order]
        self._ids, self._numbers = self._ids[order], self._numbers[order]

    def find(self, ids: Ids) -> Integers:
        """Return the number of each id; NO_NUMBER: it is not known."""
        if not len(self._sorted):
            return np.full(len(ids), NO_NUMBER, dtype=np.int64)
        rows = np.searchsorted(self._sorted, self._hashes(ids))
        rows = np.minimum(rows, len(self._sorted) - 1)
        return np.where((self._ids[rows] == ids).all(axis=1), self._numbers[rows], NO_NUMBER)

    def _hashes(self, ids: Ids) -> Ids:
        return ids[:, 0] * self._factor ^ ids[:, 1]


def ids_of(ids: Sequence[bytes]) -> Ids:
    """Return ids of 16 bytes as rows of numbers."""
    halves = np.frombuffer(b"".join(ids), dtype=">u8").reshape(-1, 2)
    return halves.astype(np.uint64)


def id_at(ids: Ids, row: int) -> bytes:
    found: bytes = ids[row].astype(">u8").tobytes()
    return found


def distinct(ids: Ids) -> list[bytes]:
    """Return the ids without repetitions, in the order of their first occurrence."""
    _, first = np.unique(ids, axis=0, return_index=True)
    packed = ids[np.sort(first)].astype(">u8").tobytes()
    return [packed[at : at + _ID_BYTES] for at in range(0, len(packed), _ID_BYTES)]


def unchanged(records: PartitionRecords) -> Flags:
    """Return which records leave the leader as it is."""
    found: Flags = ~records.created & (records.leaders == NO_LEADER_CHANGE)
    return found


def _flags(lists: Iterable[tuple[int, ...] | None]) -> Integers:
    return integers([UNCHANGED if each is None else int(bool(each)) for each in lists])


def _some(flag: np.int64) -> tuple[int, ...] | None:
    if flag == UNCHANGED:
        return None
    return _SOME if flag else ()

"""Control records: leader changes, and the header and footer of a snapshot.

In: key and value of a record of a control batch. Out: an entity of kio, by the type in the key
(org.apache.kafka.common.record.ControlRecordType, ControlRecordUtils).
"""

import struct
from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from kio.schema.k_raft_version_record.v0.data import KRaftVersionRecord
from kio.schema.leader_change_message.v0.data import LeaderChangeMessage as LeaderChangeMessageV0
from kio.schema.leader_change_message.v1.data import LeaderChangeMessage as LeaderChangeMessageV1
from kio.schema.snapshot_footer_record.v0.data import SnapshotFooterRecord
from kio.schema.snapshot_header_record.v0.data import SnapshotHeaderRecord
from kio.schema.voters_record.v0.data import VotersRecord
from kio.serial import entity_reader
from kio.serial.errors import SerialError

from streams.wire.errors import DamagedValue, UnsupportedRecordVersion
from streams.wire.structure import normalize

__all__ = [
    "ControlRecord",
    "KRaftVersionRecord",
    "KnownControl",
    "LeaderChangeMessage",
    "LeaderChangeMessageV0",
    "LeaderChangeMessageV1",
    "SnapshotFooterRecord",
    "SnapshotHeaderRecord",
    "UnknownControl",
    "VotersRecord",
    "read_control",
]


class UnknownControl(NamedTuple):
    """A control record of a type that the metadata log of Kafka 3.9 does not have."""

    control_type: int


LeaderChangeMessage: TypeAlias = LeaderChangeMessageV0 | LeaderChangeMessageV1
KnownControl: TypeAlias = (
    LeaderChangeMessage
    | SnapshotHeaderRecord
    | SnapshotFooterRecord
    | KRaftVersionRecord
    | VotersRecord
)
ControlRecord: TypeAlias = KnownControl | UnknownControl

_KEY: Final = struct.Struct(">hh")
_TYPES: Final[Mapping[int, tuple[type[KnownControl], ...]]] = {
    2: (LeaderChangeMessageV0, LeaderChangeMessageV1),
    3: (SnapshotHeaderRecord,),
    4: (SnapshotFooterRecord,),
    5: (KRaftVersionRecord,),
    6: (VotersRecord,),
}


def read_control(key: bytes, value: bytes) -> ControlRecord:
    """Decode one control record.

    Each message begins with its version, which selects the schema.

    Raises:
        DamagedValue: key or value do not decode.
        UnsupportedRecordVersion: the version of the message is newer than Kafka 3.9's.
    """
    if len(key) < _KEY.size or len(value) < 2:
        raise DamagedValue("a control record's key or value is too short")
    _, control_type = _KEY.unpack_from(key)
    kinds = _TYPES.get(control_type)
    if kinds is None:
        return UnknownControl(control_type)
    version = int.from_bytes(value[:2], signed=True)
    if not 0 <= version < len(kinds):
        raise UnsupportedRecordVersion(
            f"{kinds[-1].__name__} has version {version}, known are 0 to {len(kinds) - 1}"
        )
    kind = kinds[version]
    try:
        return entity_reader(kind)(normalize(kind, value, 0), 0)[0]
    except (SerialError, ValueError) as error:
        raise DamagedValue(f"{kind.__name__} does not decode ({error})") from error

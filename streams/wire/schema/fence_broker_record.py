"""FenceBrokerRecord (7).

Generated from Kafka 3.9's FenceBrokerRecord.json
by `python -m streams.wire.generate`; do not edit.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from kio.schema.types import BrokerId
from kio.static.constants import EntityType
from kio.static.primitive import i16, i64


@dataclass(frozen=True, slots=True, kw_only=True)
class FenceBrokerRecordV0:
    """FenceBrokerRecord (7), version 0."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(7)
    id: BrokerId = field(metadata={"kafka_type": "int32"})
    """The broker ID to fence. It will be removed from all ISRs."""
    epoch: i64 = field(metadata={"kafka_type": "int64"})
    """The epoch of the broker to fence."""

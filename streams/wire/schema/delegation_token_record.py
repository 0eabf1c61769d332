"""DelegationTokenRecord (10).

Generated from Kafka 3.9's DelegationTokenRecord.json
by `python -m streams.wire.generate`; do not edit.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from kio.static.constants import EntityType
from kio.static.primitive import i16, i64


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationTokenRecordV0:
    """DelegationTokenRecord (10), version 0."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(10)
    owner: str = field(metadata={"kafka_type": "string"})
    """The delegation token owner."""
    requester: str = field(metadata={"kafka_type": "string"})
    """The delegation token requester."""
    renewers: tuple[str, ...] = field(metadata={"kafka_type": "string"})
    """The principals which can renew this token."""
    issue_timestamp: i64 = field(metadata={"kafka_type": "int64"})
    """The time at which this timestamp was issued."""
    max_timestamp: i64 = field(metadata={"kafka_type": "int64"})
    """The time at which this token cannot be renewed any more."""
    expiration_timestamp: i64 = field(metadata={"kafka_type": "int64"})
    """The next time at which this token must be renewed."""
    token_id: str = field(metadata={"kafka_type": "string"})
    """The token id."""

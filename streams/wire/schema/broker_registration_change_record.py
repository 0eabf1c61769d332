"""BrokerRegistrationChangeRecord (17).

Generated from Kafka 3.9's BrokerRegistrationChangeRecord.json
by `python -m streams.wire.generate`; do not edit.
"""

import uuid
from dataclasses import dataclass, field
from typing import ClassVar

from kio.schema.types import BrokerId
from kio.static.constants import EntityType
from kio.static.primitive import i8, i16, i64


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistrationChangeRecordV0:
    """BrokerRegistrationChangeRecord (17), version 0."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(17)
    broker_id: BrokerId = field(metadata={"kafka_type": "int32"})
    """The broker id."""
    broker_epoch: i64 = field(metadata={"kafka_type": "int64"})
    """The broker epoch assigned by the controller."""
    fenced: i8 = field(metadata={"kafka_type": "int8", "tag": 0}, default=i8(0))
    """-1 if the broker has been unfenced, 0 if no change, 1 if the broker has been fenced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistrationChangeRecordV1:
    """BrokerRegistrationChangeRecord (17), version 1."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(1)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(17)
    broker_id: BrokerId = field(metadata={"kafka_type": "int32"})
    """The broker id."""
    broker_epoch: i64 = field(metadata={"kafka_type": "int64"})
    """The broker epoch assigned by the controller."""
    fenced: i8 = field(metadata={"kafka_type": "int8", "tag": 0}, default=i8(0))
    """-1 if the broker has been unfenced, 0 if no change, 1 if the broker has been fenced."""
    in_controlled_shutdown: i8 = field(metadata={"kafka_type": "int8", "tag": 1}, default=i8(0))
    """0 if no change, 1 if the broker is in controlled shutdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistrationChangeRecordV2:
    """BrokerRegistrationChangeRecord (17), version 2."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(2)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(17)
    broker_id: BrokerId = field(metadata={"kafka_type": "int32"})
    """The broker id."""
    broker_epoch: i64 = field(metadata={"kafka_type": "int64"})
    """The broker epoch assigned by the controller."""
    fenced: i8 = field(metadata={"kafka_type": "int8", "tag": 0}, default=i8(0))
    """-1 if the broker has been unfenced, 0 if no change, 1 if the broker has been fenced."""
    in_controlled_shutdown: i8 = field(metadata={"kafka_type": "int8", "tag": 1}, default=i8(0))
    """0 if no change, 1 if the broker is in controlled shutdown."""
    log_dirs: tuple[uuid.UUID | None, ...] = field(
        metadata={"kafka_type": "uuid", "tag": 2}, default=()
    )
    """Log directories configured in this broker which are available."""

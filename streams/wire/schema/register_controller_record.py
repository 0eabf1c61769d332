"""RegisterControllerRecord (27).

Generated from Kafka 3.9's RegisterControllerRecord.json
by `python -m streams.wire.generate`; do not edit.
"""

import uuid
from dataclasses import dataclass, field
from typing import ClassVar

from kio.static.constants import EntityType
from kio.static.primitive import i16, i32, u16


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerEndpointV0:
    """ControllerEndpoint of RegisterControllerRecord, version 0."""

    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(27)
    name: str = field(metadata={"kafka_type": "string"})
    """The name of the endpoint."""
    host: str = field(metadata={"kafka_type": "string"})
    """The hostname."""
    port: u16 = field(metadata={"kafka_type": "uint16"})
    """The port."""
    security_protocol: i16 = field(metadata={"kafka_type": "int16"})
    """The security protocol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerFeatureV0:
    """ControllerFeature of RegisterControllerRecord, version 0."""

    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(27)
    name: str = field(metadata={"kafka_type": "string"})
    """The feature name."""
    min_supported_version: i16 = field(metadata={"kafka_type": "int16"})
    """The minimum supported feature level."""
    max_supported_version: i16 = field(metadata={"kafka_type": "int16"})
    """The maximum supported feature level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterControllerRecordV0:
    """RegisterControllerRecord (27), version 0."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(27)
    controller_id: i32 = field(metadata={"kafka_type": "int32"})
    """The controller id."""
    incarnation_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    """The incarnation ID of the controller process"""
    zk_migration_ready: bool = field(metadata={"kafka_type": "bool"})
    """Set if the required configurations for ZK migration are present."""
    end_points: tuple[ControllerEndpointV0, ...]
    """The endpoints that can be used to communicate with this controller."""
    features: tuple[ControllerFeatureV0, ...]
    """The features on this controller"""

"""RegisterBrokerRecord (0).

Generated from Kafka 3.9's RegisterBrokerRecord.json
by `python -m streams.wire.generate`; do not edit.
"""

import uuid
from dataclasses import dataclass, field
from typing import ClassVar

from kio.schema.types import BrokerId
from kio.static.constants import EntityType
from kio.static.primitive import i16, i64, u16


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerEndpointV0:
    """BrokerEndpoint of RegisterBrokerRecord, version 0."""

    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(0)
    name: str = field(metadata={"kafka_type": "string"})
    """The name of the endpoint."""
    host: str = field(metadata={"kafka_type": "string"})
    """The hostname."""
    port: u16 = field(metadata={"kafka_type": "uint16"})
    """The port."""
    security_protocol: i16 = field(metadata={"kafka_type": "int16"})
    """The security protocol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFeatureV0:
    """BrokerFeature of RegisterBrokerRecord, version 0."""

    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(0)
    name: str = field(metadata={"kafka_type": "string"})
    """The feature name."""
    min_supported_version: i16 = field(metadata={"kafka_type": "int16"})
    """The minimum supported feature level."""
    max_supported_version: i16 = field(metadata={"kafka_type": "int16"})
    """The maximum supported feature level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerRecordV0:
    """RegisterBrokerRecord (0), version 0."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(0)
    broker_id: BrokerId = field(metadata={"kafka_type": "int32"})
    """The broker id."""
    incarnation_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    """The incarnation ID of the broker process"""
    broker_epoch: i64 = field(metadata={"kafka_type": "int64"})
    """The broker epoch assigned by the controller."""
    end_points: tuple[BrokerEndpointV0, ...]
    """The endpoints that can be used to communicate with this broker."""
    features: tuple[BrokerFeatureV0, ...]
    """The features on this broker"""
    rack: str | None = field(metadata={"kafka_type": "string"})
    """The broker rack."""
    fenced: bool = field(metadata={"kafka_type": "bool"}, default=True)
    """True if the broker is fenced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerEndpointV1:
    """BrokerEndpoint of RegisterBrokerRecord, version 1."""

    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(1)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(0)
    name: str = field(metadata={"kafka_type": "string"})
    """The name of the endpoint."""
    host: str = field(metadata={"kafka_type": "string"})
    """The hostname."""
    port: u16 = field(metadata={"kafka_type": "uint16"})
    """The port."""
    security_protocol: i16 = field(metadata={"kafka_type": "int16"})
    """The security protocol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFeatureV1:
    """BrokerFeature of RegisterBrokerRecord, version 1."""

    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(1)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(0)
    name: str = field(metadata={"kafka_type": "string"})
    """The feature name."""
    min_supported_version: i16 = field(metadata={"kafka_type": "int16"})
    """The minimum supported feature level."""
    max_supported_version: i16 = field(metadata={"kafka_type": "int16"})
    """The maximum supported feature level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerRecordV1:
    """RegisterBrokerRecord (0), version 1."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(1)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(0)
    broker_id: BrokerId = field(metadata={"kafka_type": "int32"})
    """The broker id."""
    incarnation_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    """The incarnation ID of the broker process"""
    broker_epoch: i64 = field(metadata={"kafka_type": "int64"})
    """The broker epoch assigned by the controller."""
    end_points: tuple[BrokerEndpointV1, ...]
    """The endpoints that can be used to communicate with this broker."""
    features: tuple[BrokerFeatureV1, ...]
    """The features on this broker"""
    rack: str | None = field(metadata={"kafka_type": "string"})
    """The broker rack."""
    fenced: bool = field(metadata={"kafka_type": "bool"}, default=True)
    """True if the broker is fenced."""
    in_controlled_shutdown: bool = field(metadata={"kafka_type": "bool"}, default=False)
    """True if the broker is in controlled shutdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerEndpointV2:
    """BrokerEndpoint of RegisterBrokerRecord, version 2."""

    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(2)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(0)
    name: str = field(metadata={"kafka_type": "string"})
    """The name of the endpoint."""
    host: str = field(metadata={"kafka_type": "string"})
    """The hostname."""
    port: u16 = field(metadata={"kafka_type": "uint16"})
    """The port."""
    security_protocol: i16 = field(metadata={"kafka_type": "int16"})
    """The security protocol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFeatureV2:
    """BrokerFeature of RegisterBrokerRecord, version 2."""

    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(2)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(0)
    name: str = field(metadata={"kafka_type": "string"})
    """The feature name."""
    min_supported_version: i16 = field(metadata={"kafka_type": "int16"})
    """The minimum supported feature level."""
    max_supported_version: i16 = field(metadata={"kafka_type": "int16"})
    """The maximum supported feature level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerRecordV2:
    """RegisterBrokerRecord (0), version 2."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(2)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(0)
    broker_id: BrokerId = field(metadata={"kafka_type": "int32"})
    """The broker id."""
    is_migrating_zk_broker: bool = field(metadata={"kafka_type": "bool"}, default=False)
    """True if the broker is a ZK broker in migration mode. Otherwise, false"""
    incarnation_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    """The incarnation ID of the broker process"""
    broker_epoch: i64 = field(metadata={"kafka_type": "int64"})
    """The broker epoch assigned by the controller."""
    end_points: tuple[BrokerEndpointV2, ...]
    """The endpoints that can be used to communicate with this broker."""
    features: tuple[BrokerFeatureV2, ...]
    """The features on this broker"""
    rack: str | None = field(metadata={"kafka_type": "string"})
    """The broker rack."""
    fenced: bool = field(metadata={"kafka_type": "bool"}, default=True)
    """True if the broker is fenced."""
    in_controlled_shutdown: bool = field(metadata={"kafka_type": "bool"}, default=False)
    """True if the broker is in controlled shutdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerEndpointV3:
    """BrokerEndpoint of RegisterBrokerRecord, version 3."""

    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(3)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(0)
    name: str = field(metadata={"kafka_type": "string"})
    """The name of the endpoint."""
    host: str = field(metadata={"kafka_type": "string"})
    """The hostname."""
    port: u16 = field(metadata={"kafka_type": "uint16"})
    """The port."""
    security_protocol: i16 = field(metadata={"kafka_type": "int16"})
    """The security protocol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFeatureV3:
    """BrokerFeature of RegisterBrokerRecord, version 3."""

    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(3)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(0)
    name: str = field(metadata={"kafka_type": "string"})
    """The feature name."""
    min_supported_version: i16 = field(metadata={"kafka_type": "int16"})
    """The minimum supported feature level."""
    max_supported_version: i16 = field(metadata={"kafka_type": "int16"})
    """The maximum supported feature level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerRecordV3:
    """RegisterBrokerRecord (0), version 3."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(3)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(0)
    broker_id: BrokerId = field(metadata={"kafka_type": "int32"})
    """The broker id."""
    is_migrating_zk_broker: bool = field(metadata={"kafka_type": "bool"}, default=False)
    """True if the broker is a ZK broker in migration mode. Otherwise, false"""
    incarnation_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    """The incarnation ID of the broker process"""
    broker_epoch: i64 = field(metadata={"kafka_type": "int64"})
    """The broker epoch assigned by the controller."""
    end_points: tuple[BrokerEndpointV3, ...]
    """The endpoints that can be used to communicate with this broker."""
    features: tuple[BrokerFeatureV3, ...]
    """The features on this broker"""
    rack: str | None = field(metadata={"kafka_type": "string"})
    """The broker rack."""
    fenced: bool = field(metadata={"kafka_type": "bool"}, default=True)
    """True if the broker is fenced."""
    in_controlled_shutdown: bool = field(metadata={"kafka_type": "bool"}, default=False)
    """True if the broker is in controlled shutdown."""
    log_dirs: tuple[uuid.UUID | None, ...] = field(
        metadata={"kafka_type": "uuid", "tag": 0}, default=()
    )
    """Log directories configured in this broker which are available."""

"""AccessControlEntryRecord (18).

Generated from Kafka 3.9's AccessControlEntryRecord.json
by `python -m streams.wire.generate`; do not edit.
"""

import uuid
from dataclasses import dataclass, field
from typing import ClassVar

from kio.static.constants import EntityType
from kio.static.primitive import i8, i16


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessControlEntryRecordV0:
    """AccessControlEntryRecord (18), version 0."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(18)
    id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    """The unique ID of this ACL."""
    resource_type: i8 = field(metadata={"kafka_type": "int8"})
    """The resource type."""
    resource_name: str = field(metadata={"kafka_type": "string"})
    """The resource name."""
    pattern_type: i8 = field(metadata={"kafka_type": "int8"})
    """The resource name pattern type."""
    principal: str = field(metadata={"kafka_type": "string"})
    """The principal name."""
    host: str = field(metadata={"kafka_type": "string"})
    """The host name."""
    operation: i8 = field(metadata={"kafka_type": "int8"})
    """The AclOperation."""
    permission_type: i8 = field(metadata={"kafka_type": "int8"})
    """The AclPermissionType."""

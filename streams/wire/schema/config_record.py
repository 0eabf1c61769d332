"""ConfigRecord (4).

Generated from Kafka 3.9's ConfigRecord.json
by `python -m streams.wire.generate`; do not edit.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from kio.static.constants import EntityType
from kio.static.primitive import i8, i16


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigRecordV0:
    """ConfigRecord (4), version 0."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(4)
    resource_type: i8 = field(metadata={"kafka_type": "int8"})
    """The type of resource this configuration applies to."""
    resource_name: str = field(metadata={"kafka_type": "string"})
    """The name of the resource this configuration applies to."""
    name: str = field(metadata={"kafka_type": "string"})
    """The name of the configuration key."""
    value: str | None = field(metadata={"kafka_type": "string"})
    """The value of the configuration, or null if the it should be deleted."""

"""RemoveAccessControlEntryRecord (19).

Generated from Kafka 3.9's RemoveAccessControlEntryRecord.json
by `python -m streams.wire.generate`; do not edit.
"""

import uuid
from dataclasses import dataclass, field
from typing import ClassVar

from kio.static.constants import EntityType
from kio.static.primitive import i16


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveAccessControlEntryRecordV0:
    """RemoveAccessControlEntryRecord (19), version 0."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(19)
    id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    """The ID of the AccessControlEntry to remove."""

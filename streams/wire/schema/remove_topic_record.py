"""RemoveTopicRecord (9).

Generated from Kafka 3.9's RemoveTopicRecord.json
by `python -m streams.wire.generate`; do not edit.
"""

import uuid
from dataclasses import dataclass, field
from typing import ClassVar

from kio.static.constants import EntityType
from kio.static.primitive import i16


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveTopicRecordV0:
    """RemoveTopicRecord (9), version 0."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(9)
    topic_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    """The topic to remove. All associated partitions will be removed as well."""

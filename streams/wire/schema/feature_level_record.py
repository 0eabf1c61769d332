"""FeatureLevelRecord (12).

Generated from Kafka 3.9's FeatureLevelRecord.json
by `python -m streams.wire.generate`; do not edit.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from kio.static.constants import EntityType
from kio.static.primitive import i16


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureLevelRecordV0:
    """FeatureLevelRecord (12), version 0."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(12)
    name: str = field(metadata={"kafka_type": "string"})
    """The feature name."""
    feature_level: i16 = field(metadata={"kafka_type": "int16"})
    """The current finalized feature level of this feature for the cluster, a value of 0 means
    feature not supported."""

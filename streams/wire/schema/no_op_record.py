"""NoOpRecord (20).

Generated from Kafka 3.9's NoOpRecord.json
by `python -m streams.wire.generate`; do not edit.
"""

from dataclasses import dataclass
from typing import ClassVar

from kio.static.constants import EntityType
from kio.static.primitive import i16


@dataclass(frozen=True, slots=True, kw_only=True)
class NoOpRecordV0:
    """NoOpRecord (20), version 0."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(20)

"""AbortTransactionRecord (25).

Generated from Kafka 3.9's AbortTransactionRecord.json
by `python -m streams.wire.generate`; do not edit.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from kio.static.constants import EntityType
from kio.static.primitive import i16


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortTransactionRecordV0:
    """AbortTransactionRecord (25), version 0."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(25)
    reason: str | None = field(metadata={"kafka_type": "string", "tag": 0}, default=None)
    """An optional textual description of why the transaction was aborted."""

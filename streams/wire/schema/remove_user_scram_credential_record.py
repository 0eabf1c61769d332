"""RemoveUserScramCredentialRecord (22).

Generated from Kafka 3.9's RemoveUserScramCredentialRecord.json
by `python -m streams.wire.generate`; do not edit.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from kio.static.constants import EntityType
from kio.static.primitive import i8, i16


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveUserScramCredentialRecordV0:
    """RemoveUserScramCredentialRecord (22), version 0."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(22)
    name: str = field(metadata={"kafka_type": "string"})
    """The user name."""
    mechanism: i8 = field(metadata={"kafka_type": "int8"})
    """The SCRAM mechanism."""

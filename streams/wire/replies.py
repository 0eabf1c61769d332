"""Check a reply before anything decodes it: its header, and its structure by kio's schema.

In: a frame as it came, without its length. Out: the body, of which kio and kafka-python alike read
no more than is there. Tags that are newer than the schema are cut, as Kafka skips them.
"""

from typing import Any, Final

from streams.wire.errors import DamagedValue
from streams.wire.structure import measure, normalize

_CORRELATION_BYTES: Final = 4


def body_of(frame: bytes, kind: Any, correlation_id: int) -> bytes:  # noqa: ANN401 kio's classes
    """Return a reply's body: a whole value of `kind`, as kio reads it.

    Args:
        frame: Header and body.
        kind: kio's class of the reply.
        correlation_id: The request's.

    Raises:
        DamagedValue: the frame is too short, answers another request, or is not such a reply.
    """
    if len(frame) < _CORRELATION_BYTES:
        raise DamagedValue(f"a reply of {len(frame)} bytes has no header")
    answered = int.from_bytes(frame[:_CORRELATION_BYTES], signed=True)
    if answered != correlation_id:
        raise DamagedValue(f"it answers request {answered}, {correlation_id} was sent")
    start = measure(kind.__header_schema__, frame, 0)
    return normalize(kind, frame, start)[start:]

"""Checks a reply before it is decoded: its header, and its structure by kio's schema.

In: a received frame without its length. Out: the body; kio and kafka-python cannot read beyond its
end. Tags that are newer than the schema are removed, because Kafka skips them.
"""

from typing import Any, Final

from streams.wire.errors import DamagedValue
from streams.wire.structure import measure, normalize

_CORRELATION_BYTES: Final = 4


def body_of(frame: bytes, kind: Any, correlation_id: int) -> bytes:  # noqa: ANN401 kio's classes
    """Return the body of a reply: a whole value of `kind` that kio can decode.

    Args:
        frame: Header and body.
        kind: kio's class of the reply.
        correlation_id: The correlation id of the request.

    Raises:
        DamagedValue: the frame is too short, answers another request, or is not a reply of `kind`.
    """
    if len(frame) < _CORRELATION_BYTES:
        raise DamagedValue(f"a reply of {len(frame)} bytes has no header")
    answered = int.from_bytes(frame[:_CORRELATION_BYTES], signed=True)
    if answered != correlation_id:
        raise DamagedValue(f"it answers request {answered}, {correlation_id} was sent")
    start = measure(kind.__header_schema__, frame, 0)
    return normalize(kind, frame, start)[start:]

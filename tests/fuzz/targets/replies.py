"""Replies of controllers and brokers: from the frame to the values that callers work with."""

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, Final

from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader
from kio.serial.errors import SerialError

from streams.kafka import messages
from streams.kafka.errors import ReplyDamaged
from streams.kafka.framing import BadFrame, Frames, RequestFrame, body_of
from streams.kafka.node import LATEST, Node
from streams.net.endpoint import Endpoint
from streams.net.errors import LiveError
from streams.wire.errors import DamagedValue
from tests.fuzz.examples import example, written
from tests.fuzz.mutations import mutate_bytes
from tests.fuzz.target import Target
from tests.fuzz.targets.logs import segments

_CORRELATION: Final = 1
_ENDPOINT: Final = Endpoint("controller", 9093)
_ASKED: Final[Mapping[int, Sequence[int]]] = {
    1: range(13, 18),
    2: (7,),
    3: (12,),
    17: (0, 1),
    18: range(5),
    32: range(1, 5),
    34: (2,),
    35: (3, 4),
    36: range(3),
    45: (0,),
    46: (0,),
    55: range(3),
    59: (0, 1),
    60: (0, 1),
}
"""By API key, the versions that are spoken."""
_RECORDS_OF: Final = {1: "records", 59: "unaligned_records"}


def _frame(kind: Any, records: bytes = b"", elements: int = 2, text: str = "some-name") -> bytes:
    entity = example(kind, elements, text)
    name = _RECORDS_OF.get(kind.__api_key__)
    if name is not None:
        topics = entity.responses if name == "records" else entity.topics
        (part, *_), *_ = (topic.partitions for topic in topics)
        object.__setattr__(part, name, records)
        object.__setattr__(topics[0], "partitions", (part,))
        object.__setattr__(entity, "responses" if name == "records" else "topics", topics[:1])
    header = struct.pack(">i", _CORRELATION)
    return header + (b"\0" if kind.__header_schema__.__flexible__ else b"") + written(entity)


@cache
def _seeds(key: int) -> Sequence[bytes]:
    """Each input begins with the place of the version that it answers in `_ASKED`."""
    records = segments()[:3] if key in _RECORDS_OF else (b"",)
    return tuple(
        bytes((at,)) + _frame(load_response_schema(key, version), each, elements, text)
        for at, version in enumerate(_ASKED[key])
        for each in records
        for elements, text in ((1, "3"), (2, "some-name"))
    )


def _mutate(rng: Any, data: bytes, others: Sequence[bytes]) -> bytes:
    return data[:1] + mutate_bytes(rng, data[1:], [each[1:] for each in others])


def _reply(key: int, data: bytes) -> Any:
    version = _ASKED[key][data[0] % len(_ASKED[key])]
    kind = load_response_schema(key, version)
    try:
        return entity_reader(kind)(body_of(data[1:], kind, _CORRELATION), 0)[0]
    except (DamagedValue, SerialError, ValueError) as error:  # as Connection does
        raise ReplyDamaged(repr(error)) from error


class _Answering(Node):
    """A node that answers each request with the same bytes; kio or kafka-python decodes them."""

    def __init__(self, key: int, data: bytes) -> None:
        self.endpoint = _ENDPOINT
        self._key, self._data = key, data
        self._reply_timeout_ms = 0

    def version(self, api_key: int) -> int:
        return _ASKED[api_key][self._data[0] % len(_ASKED[api_key])]

    def ask(self, request: Any, **_: int) -> Any:  # noqa: ARG002 the same reply to any
        return _reply(self._key, self._data)

    def send(self, request: Any, **_: int) -> Any:
        request.API_VERSION = self.version(self._key)
        return _through_frames(request, self._data[1:])


def _through_frames(request: Any, frame: bytes) -> Any:
    frames = Frames()
    frames.send_request(request, correlation_id=_CORRELATION)
    framed = struct.pack(">i", len(frame)) + frame
    middle = len(framed) // 2
    replies = frames.receive_bytes(framed[:middle]) + frames.receive_bytes(framed[middle:])
    ((_, reply),) = replies
    return reply


def _node(key: int, call: Callable[[Node], object], data: bytes) -> object:
    return call(_Answering(key, data))


def _lengths(data: bytes) -> object:
    """A stream of frames, with lengths of their own."""
    frames = Frames()
    request = example(load_request_schema(60, 1))
    for _ in range(3):
        frames.send_request(RequestFrame(request))
    return [frames.receive_bytes(data[at : at + 7]) for at in range(0, len(data), 7)]


@cache
def _streams() -> Sequence[bytes]:
    frame = _frame(load_response_schema(60, 1))
    numbered = [struct.pack(">i", number) + frame[4:] for number in (1, 2, 3)]
    return (b"".join(struct.pack(">i", len(each)) + each for each in numbered),)


_READ: Final[Mapping[str, tuple[int, Callable[[bytes], object]]]] = {
    "fetch": (1, lambda data: messages.read_fetch(_reply(1, data))),
    "fetch-snapshot": (59, lambda data: messages.read_snapshot(_reply(59, data))),
    "describe-cluster": (60, lambda data: messages.read_cluster(_reply(60, data))),
    "metadata": (3, partial(_node, 3, Node.metadata)),
    "describe-log-dirs": (35, partial(_node, 35, Node.log_dirs)),
    "list-offsets": (2, partial(_node, 2, lambda each: each.offsets([("t", 0)], LATEST))),
    "api-versions": (18, partial(_node, 18, Node.features)),
    "describe-configs": (32, partial(_node, 32, lambda each: each.settings(1, ["a"]))),
    "topic-settings": (32, partial(_node, 32, lambda each: each.topic_settings(["a"]))),
    "describe-quorum": (55, partial(_node, 55, Node.quorum)),
    "list-reassignments": (46, partial(_node, 46, Node.reassignments)),
    "sasl-handshake": (17, partial(_reply, 17)),
    "sasl-authenticate": (36, partial(_reply, 36)),
    "alter-log-dirs": (
        34,
        partial(_node, 34, lambda each: each.alter_log_dirs({("3", 3): "/d"})),
    ),
    "alter-reassignments": (45, partial(_reply, 45)),
}
_ERRORS: Final = (BadFrame, LiveError)

TARGETS = (
    *(
        Target(
            name=f"reply-{name}",
            seeds=partial(_seeds, key),
            parse=parse,
            errors=_ERRORS,
            mutate=_mutate,
            cost=2,
        )
        for name, (key, parse) in _READ.items()
    ),
    Target(
        name="frames",
        seeds=_streams,
        parse=_lengths,
        errors=(BadFrame,),
        mutate=mutate_bytes,
        cost=3,
    ),
)

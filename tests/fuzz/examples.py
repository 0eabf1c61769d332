"""A plain value of any class in kio's style: each field filled, each list of the same length."""

import dataclasses
import uuid
from datetime import timedelta
from io import BytesIO
from types import NoneType, UnionType
from typing import Any, Final, get_args, get_origin

from kio.schema.errors import ErrorCode
from kio.serial import entity_writer

_VALUES: Final[dict[str, Any]] = {
    "bool": True,
    "bytes": b"\x01\x02",
    "records": b"",
    "uuid": uuid.UUID(int=(5 << 96) + 7),
    "float64": 1048576.0,
    "error_code": ErrorCode.none,
    "timedelta_i32": timedelta(0),
    "timedelta_i64": timedelta(0),
}
_SMALL: Final = 3


def example(kind: Any, elements: int = 2, text: str = "some-name") -> Any:
    """Make one, with so many elements in each list, and this text wherever there is one."""
    return kind(**{each.name: _field(each, elements, text) for each in dataclasses.fields(kind)})


def written(entity: Any) -> bytes:
    """Write it as Kafka would."""
    with BytesIO() as buffer:
        entity_writer(type(entity))(buffer, entity)
        return buffer.getvalue()


def _field(field: "dataclasses.Field[Any]", elements: int, text: str) -> Any:
    annotation: Any = field.type
    if get_origin(annotation) is UnionType:
        annotation = next(each for each in get_args(annotation) if each is not NoneType)
    is_list = get_origin(annotation) is tuple
    kafka_type = field.metadata.get("kafka_type")
    if kafka_type is None:
        one = example(get_args(annotation)[0] if is_list else annotation, elements, text)
    else:
        one = text if kafka_type == "string" else _VALUES.get(kafka_type, _SMALL)
    return (one,) * elements if is_list else one

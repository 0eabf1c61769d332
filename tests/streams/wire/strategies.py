"""Hypothesis strategies for metadata records, from the fields of the generated dataclasses."""

import dataclasses
import uuid
from datetime import timedelta
from functools import cache
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from streams.wire.schema import RECORDS, MetadataRecord

_INTEGERS = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
UUIDS = st.sampled_from([None, uuid.UUID(int=1), uuid.UUID(int=2), uuid.UUID(int=2**128 - 1)]) | (
    st.binary(min_size=16, max_size=16).map(lambda raw: uuid.UUID(bytes=raw) if any(raw) else None)
)
_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)


def _primitive(kafka_type: str) -> st.SearchStrategy[Any]:
    match kafka_type:
        case "bool":
            return st.booleans()
        case "float64":
            return st.floats(allow_nan=False, allow_infinity=False)
        case "string":
            return _TEXT
        case "bytes" | "records":
            return st.binary(max_size=200)
        case "error_code":
            return st.sampled_from(ErrorCode)
        case "timedelta_i32" | "timedelta_i64":
            return st.integers(0, 2**31 - 1).map(lambda each: timedelta(milliseconds=each))
        case "uuid":
            return UUIDS
        case _:
            low, high = _INTEGERS[kafka_type]
            return st.integers(low, high)


def _tuples(elements: st.SearchStrategy[Any], *, long: bool) -> st.SearchStrategy[tuple[Any, ...]]:
    """Mostly short lists; if wanted, now and then one whose length needs two bytes."""
    short = st.lists(elements, max_size=5)
    if not long:
        return short.map(tuple)
    lengthy = st.tuples(elements, st.integers(120, 140)).map(lambda drawn: [drawn[0]] * drawn[1])
    return st.one_of(short, short, short, lengthy).map(tuple)


def _field(field: "dataclasses.Field[Any]") -> st.SearchStrategy[Any]:
    annotation: Any = field.type
    is_union = get_origin(annotation) is UnionType
    inner = next(one for one in get_args(annotation) if one is not NoneType) if is_union else None
    plain = inner or annotation
    kafka_type = field.metadata.get("kafka_type")
    is_tuple = get_origin(plain) is tuple
    nested = get_args(plain)[0] if is_tuple else plain
    element = _primitive(kafka_type) if kafka_type else entities(nested)
    strategy = _tuples(element, long=kafka_type is not None) if is_tuple else element
    return strategy | st.none() if is_union else strategy


def entities(kind: type) -> st.SearchStrategy[Any]:
    """Any value of one generated class; examples that ask for it share the strategy."""
    return _entities(kind)


@cache
def _entities(kind: type) -> st.SearchStrategy[Any]:
    assert dataclasses.is_dataclass(kind)
    return st.builds(kind, **{field.name: _field(field) for field in dataclasses.fields(kind)})


def records(*api_keys: int) -> st.SearchStrategy[MetadataRecord]:
    """Any record of these types (all when none is named), of any version."""
    kinds = [kind for (api_key, _), kind in RECORDS.items() if not api_keys or api_key in api_keys]
    return st.one_of([entities(kind) for kind in kinds])

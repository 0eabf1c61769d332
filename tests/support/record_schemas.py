"""Write `streams/wire/schema.py` from the record schemas inside Kafka's own jar.

    python -m tests.support.record_schemas --jar kafka-metadata-3.9.1.jar [--into FILE]

In: `common/metadata/*.json` of the jar (Kafka's generator input, apache/kafka `generator/`).
Out: a dataclass in kio's style for each version of each record type; a class has no field that its
version lacks, and inherits those of the previous version if it only adds some at the end. The
generator does not import the generated module, so it can always replace a broken one. It needs ruff
to format the module.
"""

import argparse
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

JsonObject = dict[str, Any]
"""One schema, or one field of it, as `json` reads it."""

_COMMENT: Final = re.compile(r"^\s*//.*$", re.MULTILINE)
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WIDTH: Final = 100
SCHEMA: Final = Path(__file__).parents[2] / "streams" / "wire" / "schema.py"
_PRIMITIVES: Final[Mapping[str, str]] = {
    "bool": "bool",
    "int8": "i8",
    "int16": "i16",
    "uint16": "u16",
    "int32": "i32",
    "int64": "i64",
    "float64": "f64",
    "string": "str",
    "bytes": "bytes",
    "uuid": "uuid.UUID | None",
}
_ENTITY_TYPES: Final[Mapping[str, str]] = {"brokerId": "BrokerId", "topicName": "TopicName"}
_HEAD: Final = '''"""The metadata record types of Kafka 3.9, a class for each version.

Generated from the schemas in Kafka's jar by `python -m tests.support.record_schemas`; do not edit.
A version that only adds fields at the end inherits those of the previous one. The jar has Kafka's
descriptions of the fields.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Final, TypeVar, dataclass_transform

from kio.schema.types import BrokerId, TopicName
from kio.static.constants import EntityType
from kio.static.primitive import f64, i8, i16, i32, i64, u16

T = TypeVar("T", bound="MetadataRecord")


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataRecord:
    """The value of a data record of the metadata log."""

    __type__: ClassVar = EntityType.data
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16]
    __version__: ClassVar[i16]


class _Nested:
    __slots__ = ()
    __type__: ClassVar = EntityType.nested
    __flexible__: ClassVar[bool] = True


RECORDS: Final[dict[tuple[int, int], type[MetadataRecord]]] = {}
"""Every record class by (api key, version)."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def _record(api_key: int, version: int) -> Callable[[type[T]], type[T]]:
    def make(kind: type[T]) -> type[T]:
        kind.__api_key__, kind.__version__ = i16(api_key), i16(version)
        made = dataclass(frozen=True, slots=True, kw_only=True)(kind)
        RECORDS[api_key, version] = made
        return made

    return make
'''


class SchemaNotUnderstood(ValueError):
    """The jar has no schemas, or one that this generator cannot convert to a dataclass."""


@dataclass(frozen=True, slots=True)
class RecordSchema:
    """One of the 25 schema files.

    Attributes:
        name: Kafka's name of the record, such as PartitionRecord.
        api_key: The number of the record type.
        versions: The versions that exist.
        fields: Kafka's description of the fields, as parsed JSON.
    """

    name: str
    api_key: int
    versions: range
    fields: list[JsonObject]


def versions(text: str | None) -> range:
    """Return a range that Kafka writes as "0", "0-2", "1+" or "none"; None is the empty range."""
    if text is None or text == "none":
        return range(0)
    first, _, last = text.removesuffix("+").partition("-")
    return range(int(first), 2**15 if text.endswith("+") else int(last or first) + 1)


def snake(name: str) -> str:
    """Convert a name such as IsMigratingZkBroker to is_migrating_zk_broker."""
    return _HUMP.sub("_", name).lower()


def read_schemas(jar: Path) -> list[RecordSchema]:
    """Return every metadata record schema of the jar, ordered by api key.

    Raises:
        SchemaNotUnderstood: the jar has no schemas, or one is not a flexible metadata record.
    """
    with zipfile.ZipFile(jar) as archive:
        schemas = [
            _parse(path.rpartition("/")[2], archive.read(path).decode())
            for path in archive.namelist()
            if path.startswith("common/metadata/") and path.endswith(".json")
        ]
    if not schemas:
        raise SchemaNotUnderstood(f"{jar} holds no common/metadata/*.json: is it kafka-metadata?")
    return sorted(schemas, key=lambda schema: schema.api_key)


def _parse(source: str, text: str) -> RecordSchema:
    raw = json.loads(_COMMENT.sub("", text))
    if raw["type"] != "metadata" or raw["flexibleVersions"] != "0+":
        raise SchemaNotUnderstood(f"{source} is not a flexible metadata record")
    return RecordSchema(
        name=raw["name"],
        api_key=raw["apiKey"],
        versions=versions(raw["validVersions"]),
        fields=raw["fields"],
    )


class _Classes:
    """The classes of one record type, a version after the other, not yet formatted.

    A version that only adds fields at the end is a subclass of the previous one. A nested class
    that a version does not change remains the class of the earlier version.
    """

    def __init__(self, schema: RecordSchema) -> None:
        self._schema = schema
        self._last: dict[str, tuple[str, list[str]]] = {}

    def all(self) -> Iterator[str]:
        name, fields = self._schema.name, self._schema.fields
        for version in self._schema.versions:
            yield from self._render(name, fields, version, "MetadataRecord")

    def _render(
        self, name: str, fields: list[JsonObject], version: int, base: str
    ) -> Iterator[str]:
        """Yield the nested classes of a class, then the class itself."""
        present = [one for one in fields if version in versions(one["versions"])]
        for one in present:
            if "fields" in one:
                yield from self._render(_element(one["type"]), one["fields"], version, "_Nested")
        rendered = [_render_field(one, version, self._last) for one in present]
        last, known = self._last.get(name, ("", [""]))
        if rendered == known and base == "_Nested":
            return
        extends = rendered[: len(known)] == known
        own = f"{name}V{version}"
        self._last[name] = own, rendered
        lines = [
            "@dataclass(frozen=True, slots=True, kw_only=True)"
            if base == "_Nested"
            else f"@_record({self._schema.api_key}, {version})",
            f"class {own}({last if extends else base}):",
            *(rendered[len(known) if extends else 0 :] or ["    pass"]),
        ]
        yield "\n\n" + "\n".join(lines) + "\n"


def _render_field(
    one: JsonObject, version: int, nested: Mapping[str, tuple[str, list[str]]]
) -> str:
    element, is_array = _element(one["type"]), one["type"].startswith("[]")
    primitive = _PRIMITIVES.get(element)
    inner = _ENTITY_TYPES.get(one.get("entityType", ""), primitive) or nested[element][0]
    nullable = version in versions(one.get("nullableVersions"))
    annotation = f"tuple[{inner}, ...]" if is_array else inner
    if nullable:
        annotation += " | None"
    tag = int(one["tag"]) if version in versions(one.get("taggedVersions")) else None
    metadata: JsonObject = {"kafka_type": element} if primitive else {}
    if tag is not None:
        metadata["tag"] = tag
    arguments = [f"metadata={metadata!r}"] if metadata else []
    if "default" in one or tag is not None:
        arguments.append(f"default={_default(one, inner, is_array=is_array)}")
    given = f" = field({', '.join(arguments)})" if arguments else ""
    return f"    {snake(one['name'])}: {annotation}{given}"


def _default(one: JsonObject, inner: str, *, is_array: bool) -> str:
    """Return the default of the schema, or Kafka's default if it has none (FieldSpec.fieldDefault).

    Raises:
        SchemaNotUnderstood: the type of the field has no known default.
    """
    text = one.get("default")
    if text == "null":
        return "None"
    if is_array and not text:
        return "()"
    if inner == "bool":
        return str(text == "true")
    if inner in {"i8", "i16", "u16", "i32", "i64", "BrokerId"}:
        return f"{inner}({int(text or 0)})"
    raise SchemaNotUnderstood(f"field {one['name']}: no way to write default {text!r}")


def _element(kafka_type: str) -> str:
    return kafka_type.removeprefix("[]")


def _format(source: str) -> str:
    command = [sys.executable, "-m", "ruff", "format", "--line-length", str(_WIDTH), "-"]
    return subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout


def generate(jar: Path) -> str:
    """Return the text of the module.

    Raises:
        SchemaNotUnderstood: a schema cannot be converted to a dataclass.
    """
    classes = "".join(text for schema in read_schemas(jar) for text in _Classes(schema).all())
    return _format(_HEAD + classes)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--jar", type=Path, required=True, help="kafka-metadata-3.9.1.jar")
    parser.add_argument("--into", type=Path, default=SCHEMA)
    arguments = parser.parse_args()
    arguments.into.write_text(generate(arguments.jar))


if __name__ == "__main__":
    main()

"""Write `streams/wire/schema/` from the record schemas inside Kafka's own jar.

    python -m streams.wire.generate --jar kafka-metadata-3.9.1.jar [--into DIRECTORY]

In: `common/metadata/*.json` of the jar (Kafka's generator input, apache/kafka `generator/`).
Out: one module for each record type, with a dataclass in kio's style for each version; a class has
no field that its version lacks. The generator imports nothing from the generated modules, so it can
always replace a broken set. It needs ruff to format the modules.
"""

import argparse
import json
import re
import subprocess
import sys
import textwrap
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
_HEAD: Final = '''"""{title}

Generated from Kafka 3.9's {source}
by `python -m streams.wire.generate`; do not edit.
"""
'''


class SchemaNotUnderstood(ValueError):
    """The jar has no schemas, or one that this generator cannot convert to a dataclass."""


@dataclass(frozen=True, slots=True)
class Versions:
    """A range of versions, which Kafka writes as "0", "0-2", "1+" or "none"."""

    first: int
    last: int

    @classmethod
    def parse(cls, text: str | None) -> "Versions":
        """Parse a range; None or "none" is the empty range."""
        if text is None or text == "none":
            return cls(1, 0)
        if text.endswith("+"):
            return cls(int(text[:-1]), 32767)
        first, _, last = text.partition("-")
        return cls(int(first), int(last or first))

    def __contains__(self, version: int) -> bool:
        """Whether the version is in the range."""
        return self.first <= version <= self.last


@dataclass(frozen=True, slots=True)
class RecordSchema:
    """One of the 25 schema files.

    Attributes:
        name: Kafka's name of the record, such as PartitionRecord.
        source: The name of the file in the jar.
        api_key: The number of the record type.
        versions: The versions that exist.
        fields: Kafka's description of the fields, as parsed JSON.
    """

    name: str
    source: str
    api_key: int
    versions: Versions
    fields: list[JsonObject]

    @property
    def module(self) -> str:
        """The name of the generated module."""
        return snake(self.name)

    @property
    def classes(self) -> list[str]:
        """The names of the generated record classes, in the order of versions."""
        return [f"{self.name}V{v}" for v in range(self.versions.first, self.versions.last + 1)]


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
        source=source,
        api_key=raw["apiKey"],
        versions=Versions.parse(raw["validVersions"]),
        fields=raw["fields"],
    )


def render(schema: RecordSchema) -> str:
    """Return the module of one record type, not yet formatted."""
    body = "".join(
        _render_class(schema, schema.name, schema.fields, version, nested=False)
        for version in range(schema.versions.first, schema.versions.last + 1)
    )
    title = f"{schema.name} ({schema.api_key})."
    return _HEAD.format(title=title, source=schema.source) + _imports(body) + body


def render_index(schemas: list[RecordSchema]) -> str:
    """Return `__init__.py`, not yet formatted: every class, by api key and version."""
    lines = [
        _HEAD.format(
            title="The 25 metadata record types, every version.", source="kafka-metadata jar"
        )
    ]
    lines.append("from collections.abc import Mapping\nfrom typing import Final, TypeAlias\n")
    for schema in sorted(schemas, key=lambda schema: schema.module):
        imported = ", ".join(schema.classes)
        lines.append(f"from streams.wire.schema.{schema.module} import {imported}")
    classes = [name for schema in schemas for name in schema.classes]
    lines.append(
        f"\n__all__ = {sorted(['RECORDS', 'MetadataRecord', *classes], key=_case_order)!r}"
    )
    lines.append(f"\nMetadataRecord: TypeAlias = ({' | '.join(classes)})")
    lines.append('"""The value of any data record of the metadata log."""')
    lines.append("\nRECORDS: Final[Mapping[tuple[int, int], type[MetadataRecord]]] = {")
    for schema in schemas:
        for version, name in enumerate(schema.classes, start=schema.versions.first):
            lines.append(f"    ({schema.api_key}, {version}): {name},")
    lines.append('}\n"""Every record class by (api key, version)."""')
    return "\n".join(lines) + "\n"


def _case_order(name: str) -> tuple[bool, str]:
    """Return the sort key of `__all__` that ruff requires: constants before classes."""
    return not name.isupper(), name


def _render_class(
    schema: RecordSchema, name: str, fields: list[JsonObject], version: int, *, nested: bool
) -> str:
    present = [one for one in fields if version in Versions.parse(one["versions"])]
    structs = "".join(
        _render_class(schema, _element(one["type"]), one["fields"], version, nested=True)
        for one in present
        if "fields" in one
    )
    what = f"{name} of {schema.name}" if nested else f"{name} ({schema.api_key})"
    lines = [
        "@dataclass(frozen=True, slots=True, kw_only=True)",
        f"class {name}V{version}:",
        f'    """{what}, version {version}."""\n',
        f"    __type__: ClassVar = EntityType.{'nested' if nested else 'data'}",
        f"    __version__: ClassVar[i16] = i16({version})",
        "    __flexible__: ClassVar[bool] = True",
        f"    __api_key__: ClassVar[i16] = i16({schema.api_key})",
    ]
    for one in present:
        lines.extend(_render_field(one, version))
    return structs + "\n\n" + "\n".join(lines) + "\n"


def _render_field(one: JsonObject, version: int) -> Iterator[str]:
    element, is_array = _element(one["type"]), one["type"].startswith("[]")
    primitive = _PRIMITIVES.get(element)
    inner = _ENTITY_TYPES.get(one.get("entityType", ""), primitive) or f"{element}V{version}"
    nullable = version in Versions.parse(one.get("nullableVersions"))
    annotation = f"tuple[{inner}, ...]" if is_array else inner
    if nullable:
        annotation += " | None"
    tag = int(one["tag"]) if version in Versions.parse(one.get("taggedVersions")) else None
    metadata: JsonObject = {"kafka_type": element} if primitive else {}
    if tag is not None:
        metadata["tag"] = tag
    arguments = [f"metadata={metadata!r}"] if metadata else []
    if "default" in one or tag is not None:
        arguments.append(f"default={_default(one, inner, is_array=is_array)}")
    given = f" = field({', '.join(arguments)})" if arguments else ""
    yield f"    {snake(one['name'])}: {annotation}{given}"
    about = textwrap.fill(f'"""{one["about"]}"""', _WIDTH - 4)
    yield textwrap.indent(about, "    ")


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


def _imports(body: str) -> str:
    """Return the imports that the body needs, in the order that ruff requires."""

    def used(*names: str) -> str:
        return ", ".join(name for name in names if re.search(rf"\b{name}\b", body))

    lines = ["import uuid"] if "uuid.UUID" in body else []
    lines.append(f"from dataclasses import {used('dataclass')}{', field' * ('field(' in body)}")
    lines.append("from typing import ClassVar\n")
    if types := used("BrokerId", "TopicName"):
        lines.append(f"from kio.schema.types import {types}")
    lines.append("from kio.static.constants import EntityType")
    numbers = used("f64", "i8", "i16", "i32", "i64", "u16")
    lines.append(f"from kio.static.primitive import {numbers}")
    return "\n".join(lines) + "\n"


def _format(source: str) -> str:
    command = [sys.executable, "-m", "ruff", "format", "--line-length", str(_WIDTH), "-"]
    return subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout


def generate(jar: Path) -> dict[str, str]:
    """Return the text of every module by file name, including `__init__.py`.

    Raises:
        SchemaNotUnderstood: a schema cannot be converted to a dataclass.
    """
    schemas = read_schemas(jar)
    modules = {f"{schema.module}.py": render(schema) for schema in schemas}
    modules["__init__.py"] = render_index(schemas)
    return {name: _format(text) for name, text in modules.items()}


def main() -> None:
    """Write the modules of `generate` to the directory `--into`."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--jar", type=Path, required=True, help="kafka-metadata-3.9.1.jar")
    parser.add_argument("--into", type=Path, default=Path(__file__).parent / "schema")
    arguments = parser.parse_args()
    for name, text in generate(arguments.jar).items():
        (arguments.into / name).write_text(text)


if __name__ == "__main__":
    main()

"""The base of every JSON shape: `status --json`, the console and the report.

An attribute keeps the name that the fact has in `migration`, and a moment is in ms since the epoch,
UTC. That is what the console's page gets. The public JSON (`Row.public`) has moments in ISO 8601,
under the key without the unit.
"""

from typing import Annotated, Self, TypeAlias

from pydantic import (
    AliasGenerator,
    BaseModel,
    ConfigDict,
    PlainSerializer,
    WithJsonSchema,
)

from migration.values.timestamps import iso

Moment: TypeAlias = Annotated[
    int,
    PlainSerializer(iso, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}, mode="serialization"),
]
"""ms since the epoch here; ISO 8601 in UTC with milliseconds in JSON."""


class Shape(BaseModel):
    """A JSON object; every key is there."""

    model_config = ConfigDict(frozen=True, extra="forbid", from_attributes=True, defer_build=True)

    @classmethod
    def from_facts(cls, source: object, /, **others: object) -> Self:
        """Return the shape with the attributes of `source` that have its names, and the others."""
        names = cls.model_fields.keys() - others.keys()
        found = {name: getattr(source, name) for name in names if hasattr(source, name)}
        return cls.model_validate(found | others)


def _public_key(name: str) -> str:
    """Return the key of an attribute: `read_ms` is `read_at`, `since_ms` is `since`."""
    moment = name.removesuffix("_ms")
    if moment == name or moment == "duration":
        return name
    return moment if moment.endswith(("since", "at")) else f"{moment}_at"


class Row(Shape):
    """An object that `status --json` and the console share."""

    model_config = ConfigDict(alias_generator=AliasGenerator(serialization_alias=_public_key))

    def public(self) -> dict[str, object]:
        """Return the JSON object that commands print."""
        return self.model_dump(mode="json", by_alias=True)

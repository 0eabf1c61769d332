"""The console's shapes as JSDoc types, for whoever edits the page with an editor that checks them.

    python -m tests.browser.typedefs > orchestrator/views/console/static/js/types.js

The server's model is the one place where they are said; `test_static` holds the file against it.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

from orchestrator.api.console.published import schema_text

_HEAD: Final = "/** The shapes of /api/schema. Made by tests/browser/typedefs.py; do not edit. */\n"
_PLAIN: Final = {"integer": "number", "number": "number", "string": "string", "boolean": "boolean"}


def typedefs() -> str:
    """Give the whole module."""
    shapes = json.loads(schema_text())["$defs"]
    told = (each for name in sorted(shapes) for each in _typedef(name, shapes[name]))
    return "\n".join([_HEAD, *told, "export {};\n"])


def _typedef(name: str, shape: Mapping[str, Any]) -> Iterator[str]:
    if "properties" not in shape:
        yield f"/** @typedef {{{_type(shape)}}} {name} */\n"
        return
    required = shape.get("required", ())
    keys = [
        f" * @property {{{_type(value)}}} {key if key in required else f'[{key}]'}"
        for key, value in shape["properties"].items()
    ]
    yield "\n".join(["/**", f" * @typedef {{object}} {name}", *keys, " */\n"])


def _type(value: Mapping[str, Any]) -> str:
    if "$ref" in value:
        return str(value["$ref"]).rpartition("/")[2]
    if "enum" in value:
        return "|".join(json.dumps(each) for each in value["enum"])
    if "const" in value:
        return json.dumps(value["const"])
    if "anyOf" in value:
        return "|".join(_type(each) for each in value["anyOf"])
    kind = value.get("type")
    if kind == "array":
        return f"readonly ({_type(value['items'])})[]"
    if kind == "object":
        inner = value.get("additionalProperties")
        return f"Record<string, {_type(inner) if isinstance(inner, dict) and inner else 'unknown'}>"
    return "null" if kind == "null" else _PLAIN.get(str(kind), "unknown")


if __name__ == "__main__":
    sys.stdout.write(typedefs())

"""Grafana's JSON Schemas, made from the types that its npm package publishes.

`package-lock.json` in this folder locks the package and the generator.
"""

import functools
import hashlib
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

from orchestrator.views.console.third_party import installed
from streams.state.directory import cache_root

_FOLDER: Final = Path(__file__).parent
_RAW: Final = "@grafana/schema/dist/types/raw"
_TYPES: Final = {
    "dashboard": "dashboard/x/types.gen.d.ts",
    "stat": "composable/stat/panelcfg/x/types.gen.d.ts",
    "state-timeline": "composable/statetimeline/panelcfg/x/types.gen.d.ts",
    "table": "composable/table/panelcfg/x/types.gen.d.ts",
    "timeseries": "composable/timeseries/panelcfg/x/types.gen.d.ts",
}


@functools.cache
def schemas() -> dict[str, Any]:
    """Return `dashboard`, and by kind of panel `KIND options` and, if it has any, `KIND custom`.

    They are made once for each lock and kept in the cache.
    """
    lock = hashlib.sha256((_FOLDER / "package-lock.json").read_bytes()).hexdigest()
    place = cache_root() / f"grafana-schema-{lock[:16]}.json"
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        made = json.dumps(_made())
        with tempfile.NamedTemporaryFile("w", dir=place.parent, delete=False) as scratch:
            scratch.write(made)
        Path(scratch.name).replace(place)
    read: dict[str, Any] = json.loads(place.read_text("utf-8"))
    return read


def _made() -> dict[str, Any]:
    found: dict[str, Any] = {}
    with installed(_FOLDER) as packages:
        for kind, types in _TYPES.items():
            schema = _generated(packages, types)
            names = schema["definitions"]
            if kind == "dashboard":
                found[kind] = schema | {"$ref": "#/definitions/Dashboard"}
            else:
                found[f"{kind} options"] = schema | {"$ref": "#/definitions/Options"}
                if "FieldConfig" in names:
                    found[f"{kind} custom"] = schema | {"$ref": "#/definitions/FieldConfig"}
    return found


def _generated(packages: Path, types: str) -> dict[str, Any]:
    generator = packages / ".bin/ts-json-schema-generator"
    done = subprocess.run(
        [generator, "--no-type-check", "--path", packages / _RAW / types],
        capture_output=True,
        text=True,
        check=True,
    )
    made: dict[str, Any] = json.loads(done.stdout)
    return made

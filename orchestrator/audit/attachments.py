"""Stores content that is too long for an entry in a file, which the entry names with its hash.

In a body the reference is an object of exactly these keys, at any depth; `audit verify` finds it:

    {"file": "hooks/7f3a/output", "sha256": "9f86d08188...", "bytes": 81234}
"""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from orchestrator.errors import AuditError
from orchestrator.output.json_value import JsonValue
from streams.state.files import replace_file

KEPT: Final = "audit-files"
"""The directory below the state directory where `keep` writes content that has no file yet."""
_KEYS: Final = {"file", "sha256", "bytes"}


def keep(state_dir: Path, content: bytes) -> dict[str, JsonValue]:
    """Write content to its own file, named by its hash; return the reference for the entry.

    Raises:
        AuditError: it cannot be written.
    """
    name = hashlib.sha256(content).hexdigest()
    path = state_dir / KEPT / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, content)
    except OSError as error:
        raise AuditError(f"{path} cannot be written: {error}") from error
    return name_kept(state_dir, path)


def name_kept(state_dir: Path, path: Path) -> dict[str, JsonValue]:
    """Return the reference to a file below the state directory that no longer changes.

    Raises:
        AuditError: it cannot be read.
    """
    try:
        sha256, size = _digest(path)
    except OSError as error:
        raise AuditError(f"{path} cannot be read: {error}") from error
    return {"file": path.relative_to(state_dir).as_posix(), "sha256": sha256, "bytes": size}


def check_kept(state_dir: Path, body: Mapping[str, JsonValue]) -> Iterator[str]:
    """Yield a problem for each file in a body's references that is missing or was changed."""
    for named in _named(body):
        path = state_dir / str(named["file"])
        try:
            sha256, _ = _digest(path)
        except OSError as error:
            yield f"{path} cannot be read: {error.strerror}"
            continue
        if sha256 != named["sha256"]:
            yield f"{path} was changed: its hash is {sha256}, and it was {named['sha256']}"


def _named(value: JsonValue) -> Iterator[Mapping[str, JsonValue]]:
    if isinstance(value, Mapping):
        if value.keys() == _KEYS:
            yield value
        for each in value.values():
            yield from _named(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _named(each)


def _digest(path: Path) -> tuple[str, int]:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest(), file.tell()

"""Reads a runbook by name or from a file, and reports all problems at once, with their lines."""

import hashlib
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Final

from migration.values.nearest import did_you_mean
from orchestrator.config.yaml_models import in_order, read_model, read_text
from orchestrator.errors import RunbookError
from orchestrator.runbook.checks.check import check
from orchestrator.runbook.loaded import Loaded
from orchestrator.runbook.model import Runbook

RUNBOOK: Final = "zk-to-kraft-jbod"
"""The bundled runbook of the whole migration."""
_SUFFIX: Final = ".yaml"
_DOCUMENTED: Final = "see `kraftgate runbook schema`"


def shipped() -> dict[str, Path]:
    """Return the bundled runbooks: name to file, ordered by name."""
    folder = Path(str(resources.files("runbooks")))
    return {path.stem: path for path in sorted(folder.glob(f"*{_SUFFIX}"))}


def load(source: str | Path) -> Loaded:
    """Read and check a runbook.

    Args:
        source: the name of a bundled one, or a file: a path, or text with a `/` or a YAML suffix.

    Raises:
        RunbookError: it cannot be used; the error has every problem that was found.
    """
    path = _find(source)
    _, text = read_text(path, RunbookError)
    return parse(text, path)


def load_kept(path: Path) -> Loaded:
    """Read a stored runbook that this or an older version executed; it must not be executed again.

    Raises:
        RunbookError: it cannot be read, or is not a runbook.
    """
    _, text = read_text(path, RunbookError)
    return _read(text, path)


@lru_cache(maxsize=8)
def parse(text: str, path: Path) -> Loaded:
    """Check the text of a runbook whose path is `path`.

    Raises:
        RunbookError: it cannot be used; the error has every problem that was found.
    """
    loaded = _read(text, path)
    wrong = check(loaded)
    if wrong:
        raise RunbookError(in_order(wrong, path))
    return loaded


def _read(text: str, path: Path) -> Loaded:
    """Read the shape, without the checks that involve more than one key."""
    runbook, read = read_model(Runbook, path, text, RunbookError, _DOCUMENTED)
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    return Loaded(runbook=runbook, path=path, text=text, sha256=sha256, read=read)


def _find(source: str | Path) -> Path:
    if isinstance(source, Path) or "/" in source or source.endswith((".yaml", ".yml")):
        return Path(source)
    known = shipped()
    if source not in known:
        hint = did_you_mean(source, known) if known else "none is bundled."
        raise RunbookError([f"there is no runbook `{source}`; {hint} Name a file with a `/`."])
    return known[source]

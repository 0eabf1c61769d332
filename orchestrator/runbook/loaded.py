"""A runbook that was read from a file."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from orchestrator.config.yaml_lines import YamlFile
from orchestrator.runbook.model import Runbook


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A runbook, with its origin. One that `load` returned may be executed.

    Attributes:
        path: the file.
        text: its content when it was read; the file may change later.
        sha256: the hash of that text, in hexadecimal: it identifies the executed text in the audit
            trail.
        read: the file as YAML, with the line of each part.
    """

    runbook: Runbook
    path: Path
    text: str
    sha256: str
    read: YamlFile

    @property
    def identity(self) -> dict[str, str]:
        """Its name, file and hash, as JSON shows them."""
        return {"name": self.runbook.name, "file": str(self.path), "sha256": self.sha256}


def has_hash(path: Path, sha256: str) -> bool:
    """Return whether a file has this hash now; False also if it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() == sha256
    except OSError:
        return False

"""A runbook that was read from a file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator.config.yaml_lines import YamlPath, nearest_line
from orchestrator.runbook.model import Runbook


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A runbook, with its origin. One that `load` returned may be executed.

    Attributes:
        path: the file.
        sha256: the hash of its bytes, in hexadecimal: it identifies the executed text in the audit
            trail.
        lines: the line of each part, by its path in the file; the first line is 1.
    """

    runbook: Runbook
    path: Path
    sha256: str
    lines: Mapping[YamlPath, int]

    def line(self, *path: str | int) -> int:
        """Return the line of a part, or of the nearest existing part around it."""
        return nearest_line(self.lines, path)

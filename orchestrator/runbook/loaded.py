"""A runbook that was read and checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator.config.yaml_lines import YamlPath, nearest_line
from orchestrator.runbook.model import Runbook


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A runbook that may be walked.

    Attributes:
        path: where it was read.
        sha256: of its bytes, in hexadecimal: the audit says which text was walked.
        lines: where each part stands, by its path in the file; lines from 1.
    """

    runbook: Runbook
    path: Path
    sha256: str
    lines: Mapping[YamlPath, int]

    def line(self, *path: str | int) -> int:
        """Give the line of a part, or of the nearest part around it that exists."""
        return nearest_line(self.lines, path)

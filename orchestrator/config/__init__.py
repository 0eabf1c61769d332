"""Reads and checks kraftgate.yaml and the state directory that it names."""

from pathlib import Path
from typing import Final

CONFIG_FILE: Final = Path("kraftgate.yaml")
"""The default of `--config`."""

"""Hazards: what would lose data, or has, with its evidence and the way out. All pure."""

from migration.hazards.all import hazards
from migration.hazards.hazard import Action, Hazard, HazardKind, Severity

__all__ = ["Action", "Hazard", "HazardKind", "Severity", "hazards"]

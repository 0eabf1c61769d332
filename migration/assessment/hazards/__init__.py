"""Hazards: states that would lose data, or have lost it, with evidence and a remedy. All pure."""

from migration.assessment.hazards.all import hazards
from migration.assessment.hazards.hazard import Action, Hazard, HazardKind, due

__all__ = ["Action", "Hazard", "HazardKind", "due", "hazards"]

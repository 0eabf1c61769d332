"""The lab: a real Kafka cluster on loopback that walks the whole migration, for users and tests."""

from orchestrator.lab.cluster import Lab
from orchestrator.lab.errors import LabError
from orchestrator.lab.layout import Mode
from orchestrator.lab.spec import LabSpec

__all__ = ["Lab", "LabError", "LabSpec", "Mode"]

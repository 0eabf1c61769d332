"""The lab: a real Kafka cluster on loopback that runs a full migration, for users and tests."""

from orchestrator.lab.cluster.lab import Lab
from orchestrator.lab.cluster.spec import LabSpec
from orchestrator.lab.errors import LabError

__all__ = ["Lab", "LabError", "LabSpec"]

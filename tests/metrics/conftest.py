"""The configuration file and the fake store of the orchestrator's tests."""

from tests.orchestrator.conftest import config_file, store

__all__ = ["config_file", "store"]

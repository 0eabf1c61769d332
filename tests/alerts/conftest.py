"""The configuration file, the fake store and the logging of the orchestrator's tests."""

from tests.orchestrator.conftest import config_file, store
from tests.preflight.conftest import _logging_as_it_was

__all__ = ["_logging_as_it_was", "config_file", "store"]

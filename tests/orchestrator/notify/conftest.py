"""The logging of the orchestrator's tests."""

from tests.migration.assessment.checks.conftest import _logging_as_it_was

__all__ = ["_logging_as_it_was"]

"""What the tests of the command share."""

from tests.migration.assessment.checks.conftest import _logging_as_it_was

__all__ = ["_logging_as_it_was"]

"""Parses durations of the configuration and command line with `migration.values.durations`."""

from datetime import timedelta

from migration.values import durations
from orchestrator.errors import DurationError


def parse_duration(value: object) -> timedelta:
    """Parse a duration above zero; units go from large to small, each at most once.

    Raises:
        DurationError: it is not a duration; the message has the reason and an example.
    """
    try:
        return durations.parse_duration(value)
    except durations.NoDuration as error:
        raise DurationError(str(error)) from error

"""Durations in the configuration and on the command line, read by `migration.values.durations`."""

from datetime import timedelta

from migration.values import durations
from orchestrator.errors import DurationError


def parse_duration(value: object) -> timedelta:
    """Read a duration longer than nothing; units go from large to small, each once.

    Raises:
        DurationError: it is none, with the reason and an example.
    """
    try:
        return durations.parse_duration(value)
    except durations.NoDuration as error:
        raise DurationError(str(error)) from error

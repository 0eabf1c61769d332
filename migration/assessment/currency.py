"""Which of a cluster's sources show the present."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from migration.assessment.data_source import DataSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Currency:
    """The currency of a cluster's sources at one moment.

    Attributes:
        not_current: a source -> why it does not show the present; an absent source does.
        last_ms: when a source last answered, by the wall clock; absent: not known.
    """

    not_current: Mapping[DataSource, str] = field(default_factory=dict)
    last_ms: Mapping[DataSource, int] = field(default_factory=dict)

    def is_current(self, source: DataSource) -> bool:
        """Whether the source shows the present."""
        return source not in self.not_current


CURRENT: Final = Currency()
"""Every source shows the present."""

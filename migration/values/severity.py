"""How urgent a hazard or an alert is."""

import enum


class Severity(enum.StrEnum):
    """How urgent it is, in ascending order.

    `critical`: data is lost or about to be, or the migration cannot go on; it pages. `warning`: a
    protection is missing. `info`: only test notifications have it.
    """

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"

    def is_at_least(self, other: "Severity") -> bool:
        order = list(Severity)
        return order.index(self) >= order.index(other)

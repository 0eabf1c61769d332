"""All rules, group by group."""

from typing import Final

from migration.alerts import brokers, directories, itself, phases, walk

RULES: Final = (*brokers.RULES, *directories.RULES, *phases.RULES, *walk.RULES, *itself.RULES)

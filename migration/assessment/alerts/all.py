"""All rules, group by group."""

from typing import Final

from migration.assessment.alerts import brokers, directories, execution, phases, sources

RULES: Final = (*brokers.RULES, *directories.RULES, *phases.RULES, *execution.RULES, *sources.RULES)

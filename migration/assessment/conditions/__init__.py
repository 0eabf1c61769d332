"""Conditions on a cluster: named, typed, pure functions of the known data."""

from migration.assessment.conditions.authority import hazards_not_known
from migration.assessment.conditions.condition import (
    Condition,
    ConditionError,
    judge_all,
)
from migration.assessment.conditions.parse import SOAK, Call, call_of, external, known, parse
from migration.assessment.conditions.view import (
    STEP_NEEDS_DECISION,
    CheckSeen,
    Execution,
    PreflightSeen,
    QuorumSeen,
    SettingsSeen,
    TopicsSeen,
    View,
)
from migration.assessment.data_source import DataSource
from migration.assessment.finding import Finding, Verdict, verdict_of

__all__ = [
    "SOAK",
    "STEP_NEEDS_DECISION",
    "Call",
    "CheckSeen",
    "Condition",
    "ConditionError",
    "DataSource",
    "Execution",
    "Finding",
    "PreflightSeen",
    "QuorumSeen",
    "SettingsSeen",
    "TopicsSeen",
    "Verdict",
    "View",
    "call_of",
    "external",
    "hazards_not_known",
    "judge_all",
    "known",
    "parse",
    "verdict_of",
]

"""Predicts the effect on partitions if a broker, or one of its log directories, failed now.

`if_broker_fails` and `if_directory_fails` take a `Situation` and return a `Prediction`. Pure:
`kraftgate what-if` collects the situation. Unknown is never treated as harmless.
"""

from migration.assessment.checks.phase import mode_of
from migration.what_if.predict import if_broker_fails, if_directory_fails
from migration.what_if.situation import Assignment, Situation, metadata_dir
from migration.what_if.values import HARMLESS, SERIOUS, Basis, Fate, Line, Prediction

__all__ = [
    "HARMLESS",
    "SERIOUS",
    "Assignment",
    "Basis",
    "Fate",
    "Line",
    "Prediction",
    "Situation",
    "if_broker_fails",
    "if_directory_fails",
    "metadata_dir",
    "mode_of",
]

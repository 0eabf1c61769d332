"""How many examples a property takes: its own number, scaled by the profile in force."""

from collections.abc import Collection
from typing import Final

from hypothesis import HealthCheck, settings

WHOLE: Final = 100
"""The examples of a property that names no number, in the profile `kraftgate`."""


def examples(max_examples: int = WHOLE, *, suppress: Collection[HealthCheck] = ()) -> settings:
    """Return settings for `max_examples` examples; the profile `fast` takes a share of them.

    There is no deadline: a busy machine is no failure.
    """
    in_force = settings.get_profile(settings.get_current_profile_name())
    return settings(
        max_examples=max(1, max_examples * in_force.max_examples // WHOLE),
        deadline=None,
        suppress_health_check=(*in_force.suppress_health_check, *suppress),
    )

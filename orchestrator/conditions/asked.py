"""What was asked for outside the pipeline, of one cluster."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from migration.assessment.conditions import (
    Finding,
    PreflightSeen,
    QuorumSeen,
    SettingsSeen,
    TopicsSeen,
)
from migration.observed.probed import Maybe, Unknown

_FROM_BROKERS: Final = Unknown("not polled from the brokers yet")
_FROM_CONTROLLERS: Final = Unknown("not polled from the controllers yet")
_NOT_RUN: Final = Unknown("not run yet")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The latest answers; an `Unknown` says why there is none.

    Attributes:
        log_dirs: None: the disks, which are followed, were looked at when that was asked for.
        external: the users' own conditions, by name.
    """

    topics: Maybe[TopicsSeen] = _FROM_BROKERS
    settings: Maybe[SettingsSeen] = _FROM_BROKERS
    quorum: Maybe[QuorumSeen] = _FROM_CONTROLLERS
    preflight: Maybe[PreflightSeen] = _NOT_RUN
    log_dirs: Maybe[None] = None
    external: Mapping[str, Finding] = field(default_factory=dict)


NOTHING_ASKED = Asked()

"""What was asked for outside the pipeline, of one cluster."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from migration.conditions import Finding, PreflightSeen, QuorumSeen, SettingsSeen, TopicsSeen
from migration.preflight.facts import NOT_ASKED, Maybe


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The latest answers; an `Unknown` says why there is none.

    Attributes:
        log_dirs: None: the disks, which are followed, were looked at when that was asked for.
        external: the users' own conditions, by name.
    """

    topics: Maybe[TopicsSeen] = NOT_ASKED
    settings: Maybe[SettingsSeen] = NOT_ASKED
    quorum: Maybe[QuorumSeen] = NOT_ASKED
    preflight: Maybe[PreflightSeen] = NOT_ASKED
    log_dirs: Maybe[None] = None
    external: Mapping[str, Finding] = field(default_factory=dict)


NOTHING_ASKED = Asked()

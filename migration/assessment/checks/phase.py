"""The phase of the migration, from the cluster's answers, and the checks that apply to it.

ZooKeeper shows whether the KRaft controllers are active and whether they made the copy. The
brokers' settings show the mode of each. The controllers report whether they have the migration
enabled, which they lose when it is finalized. If an answer is missing, the phase is unknown and
each check applies, unless all brokers are in KRaft mode, or KRaft controllers lead in ZooKeeper.
"""

from collections.abc import Mapping
from typing import Final

from migration.assessment.checks.check import image_of, silent_controllers
from migration.image.summary import Mode, Phase
from migration.observed.probed import Facts, Maybe, Unknown

_NOTHING: Final = "nothing to migrate"
OVER: Final[Mapping[Phase, str]] = {
    Phase.FINALIZED: f"already finalized: {_NOTHING}",
    Phase.KRAFT: f"in KRaft mode, with no migration enabled: {_NOTHING}",
}
"""The phases to which no check of a migration applies, and the message instead."""

UNDER_WAY: Final = frozenset({Phase.COPYING, Phase.HYBRID, Phase.DUAL_WRITE})
_COPIED: Final = "the migration is in progress: "
NOT_UNDER_WAY: Final[Mapping[str, str]] = {
    "metadata-version": _COPIED + "the quorum that made the copy must not be formatted",
    "migration-enabled-everywhere": _COPIED + "brokers in KRaft mode no longer enable it",
    "inter-broker-protocol": _COPIED + "brokers in KRaft mode use metadata.version",
    "generated-ids": _COPIED + "every broker has started in migration mode",
    "kraft-settings": _COPIED + "brokers in KRaft mode have accepted their settings",
    "broker-ids-agree": _COPIED + "brokers in KRaft mode do not register in ZooKeeper",
    "topic-deletions-pending": _COPIED + "the controllers delete topics by the metadata log",
    "znode-payloads": _COPIED + "the content of ZooKeeper was read for the copy",
    "dynamic-secrets": _COPIED + "the content of ZooKeeper was read for the copy",
}
"""Checks with advice only for the time before the copy, and why they do not apply after it."""
_READ_BY_THE_COPY: Final = frozenset(
    {"znode-payloads", "dynamic-secrets", "topic-deletions-pending"}
)
"""Of these checks, those that apply until the copy is made: it may stop at what they find,
or omit it."""


def not_applicable(check: str, phase: Phase | None) -> str | None:
    """Return why a check does not apply in a phase; None: it applies."""
    if phase is None:
        return None
    if phase in OVER:
        return OVER[phase]
    if phase not in UNDER_WAY or (phase is Phase.COPYING and check in _READ_BY_THE_COPY):
        return None
    return NOT_UNDER_WAY.get(check)


def phase_of(facts: Facts) -> Phase | None:
    """Return the phase that the answers agree on; None: unknown.

    While KRaft controllers lead, a broker whose settings are unknown may be in either mode.
    """
    modes = _modes(facts)
    if modes is None:
        led = _led_by(facts, migrating=False)
        return led if led in UNDER_WAY else None
    if modes == {Mode.KRAFT}:
        return _without_zookeeper_brokers(facts)
    if Mode.KRAFT in modes:
        return Phase.HYBRID
    return _led_by(facts, migrating=Mode.MIGRATING in modes)


def _modes(facts: Facts) -> set[Mode] | None:
    """Return the modes of all known brokers; None: one is unknown."""
    found = set()
    for broker in facts.brokers:
        mode = mode_of(broker.settings)
        if isinstance(mode, Unknown):
            return None
        found.add(mode)
    return found or None


def nothing_copied(facts: Facts) -> bool:
    """Return whether it is known that no quorum has copied this cluster's metadata."""
    if isinstance(facts.zookeeper, Unknown) or _modes(facts) != {Mode.ZOOKEEPER}:
        return False
    found = image_of(facts.zookeeper).migration
    return facts.zookeeper.migration is None or (found is not None and not found.is_copied)


def mode_of(settings: Maybe[Mapping[str, str]]) -> Maybe[Mode]:
    """Return the mode in a broker's settings (KafkaConfig: ZooKeeper mode without roles)."""
    if isinstance(settings, Unknown):
        return settings
    if settings.get("process.roles"):
        return Mode.KRAFT
    enabled = settings.get("zookeeper.metadata.migration.enable") == "true"
    return Mode.MIGRATING if enabled else Mode.ZOOKEEPER


def _without_zookeeper_brokers(facts: Facts) -> Phase:
    """Return dual write until every controller is known to have the migration disabled."""
    enabled = {one.migration_ready for one in facts.answering}
    if facts.quorum is None or silent_controllers(facts) or enabled != {False}:
        return Phase.DUAL_WRITE
    if isinstance(facts.zookeeper, Unknown) or image_of(facts.zookeeper).migration is None:
        return Phase.KRAFT
    return Phase.FINALIZED  # a finalized migration leaves /migration in ZooKeeper


def _led_by(facts: Facts, *, migrating: bool) -> Phase | None:
    """Return the phase without KRaft brokers, from ZooKeeper's controller and /migration."""
    if isinstance(facts.zookeeper, Unknown):
        return None
    image = image_of(facts.zookeeper)
    if image.controller is None:
        return None
    copied = image.migration is not None and image.migration.is_copied
    if image.controller.is_kraft:
        return Phase.HYBRID if copied else Phase.COPYING
    if copied:
        return Phase.ROLLED_BACK
    return Phase.PRE_MIGRATION if migrating or facts.has_controllers else Phase.ZOOKEEPER

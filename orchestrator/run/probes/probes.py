"""Selects the functions that poll what the conditions of one cluster need."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

from migration.assessment.conditions import Condition, DataSource, Finding
from orchestrator.config.models import ClusterEntry
from orchestrator.run.probes.background import Asker, Asking


def needs_of(conditions: Iterable[Condition]) -> frozenset[DataSource]:
    """Return the sources that any of these conditions may need."""
    return frozenset[DataSource]().union(*(each.needs for each in conditions))


def asking_for(
    entry: ClusterEntry,
    conditions: Iterable[Condition],
    own: Mapping[str, Callable[[], Finding]],
) -> Asking:
    """Return the polls that the conditions need, and no others.

    A condition on a controller needs the quorum too, to know which controllers exist.
    """
    asked = tuple(conditions)
    needs = set(needs_of(asked))
    if any(each.controller is not None for each in asked):
        needs.add(DataSource.QUORUM)
    return Asking(askers_of(entry, needs), own)


def askers_of(entry: ClusterEntry, needs: Collection[DataSource]) -> Mapping[DataSource, Asker]:
    """Return a polling function for each source that is needed and not followed."""
    from orchestrator.config.targets import target_of
    from streams.probe.gather import ask_checks
    from streams.probe.quorum import ask_quorum
    from streams.probe.settings import ask_settings
    from streams.probe.topics import ask_topics

    askers = {
        DataSource.TOPICS: ask_topics,
        DataSource.SETTINGS: ask_settings,
        DataSource.QUORUM: ask_quorum,
        DataSource.PREFLIGHT: ask_checks,
    }
    target = target_of(entry)
    return {
        source: partial(ask, target, _now_ms) for source, ask in askers.items() if source in needs
    }


def _now_ms() -> int:
    return time.time_ns() // 1_000_000

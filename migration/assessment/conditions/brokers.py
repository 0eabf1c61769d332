"""Conditions on the brokers' modes, registrations and fencing."""

from typing import Final

from migration.assessment.conditions.authority import (
    BROKER_NOT_READ,
    authority_not_known,
    brokers_not_known,
    brokers_not_read,
    in_use,
    not_known,
    zookeeper_of,
)
from migration.assessment.conditions.kind import BROKER, LEVEL, MODE, kind
from migration.assessment.conditions.view import View
from migration.assessment.data_source import DataSource
from migration.assessment.finding import Finding, satisfied, unknown, waiting
from migration.image.known_ids import ids, in_zookeeper, member_brokers
from migration.image.summary import BrokerSummary, Mode, Phase
from migration.metadata.versions import name_of
from migration.values.evidence import count

_LOG: Final = DataSource.METADATA_LOG
_ZOOKEEPER: Final = DataSource.ZOOKEEPER
_SETTINGS: Final = DataSource.SETTINGS


@kind(
    "The broker is registered in this mode; in zookeeper mode, by its own settings"
    " and in /brokers/ids.",
    may_use=frozenset({_LOG, _ZOOKEEPER, _SETTINGS}),
    parameters=(BROKER, MODE),
)
def broker_mode(view: View, broker: int, text: str) -> Finding:
    mode = Mode(text)
    if mode is Mode.ZOOKEEPER:
        return _not_read(view, broker) or _in_zookeeper_mode(view, [broker])
    if (stale := not_known(view, _LOG)) is not None:
        return stale
    found = view.summary.broker(broker)
    if found is None:
        return waiting(f"broker {broker} is not registered")
    reason = f"broker {broker} is in {found.mode} mode"
    evidence = _registration(found)
    return satisfied(reason, *evidence) if found.mode is mode else waiting(reason, *evidence)


def _registration(broker: BrokerSummary) -> tuple[str, ...]:
    if broker.epoch is None:
        return ("it is in /brokers/ids, and not registered with a controller",)
    return (f"registered at metadata offset {broker.registered_offset}, epoch {broker.epoch}",)


@kind(
    "Every known broker is in this mode.",
    may_use=frozenset({_LOG, _ZOOKEEPER, _SETTINGS}),
    parameters=(MODE,),
)
def all_brokers(view: View, text: str) -> Finding:
    mode = Mode(text)
    if (stale := brokers_not_known(view)) is not None:
        return stale
    known = [each.id for each in view.summary.brokers]
    if not known:
        return waiting("no broker is known yet")
    if mode is Mode.ZOOKEEPER:
        members = sorted(member_brokers(view.summary))
        return _not_read(view) or _in_zookeeper_mode(view, members)
    if (stale := not_known(view, _LOG)) is not None:
        return stale
    others = [each for each in view.summary.brokers if each.mode is not mode]
    if others:
        lines = [f"broker {each.id} is in {each.mode} mode" for each in others]
        reason = f"{len(others)} of {count(len(known), 'broker')} not in {mode} mode"
        return waiting(f"{reason}: {ids([each.id for each in others])}", *lines)
    if in_use(view, _ZOOKEEPER) and (unread := _not_read(view)) is not None:
        return unread
    return satisfied(f"all in {mode} mode: {ids(known)}")


def _in_zookeeper_mode(view: View, brokers: list[int]) -> Finding:
    """Evaluate the brokers' own settings: `/brokers/ids` is the same in migration mode.

    The metadata log cannot show it, because a broker that leaves the migration stays registered
    there.
    """
    if (stale := not_known(view, _ZOOKEEPER, _SETTINGS)) is not None:
        return stale
    zookeeper, settings = zookeeper_of(view), view.settings
    there = zookeeper.brokers if zookeeper is not None else {}
    modes = settings.modes if settings is not None else {}
    silent = settings.silent if settings is not None else {}
    absent = [each for each in brokers if each not in there]
    if absent:
        return waiting(f"not in /brokers/ids: {ids(absent)}")
    unpolled = [each for each in brokers if each not in modes]
    if unpolled:
        lines = [f"broker {each}: {silent.get(each, 'not polled yet')}" for each in unpolled]
        return unknown(f"the settings of {ids(unpolled)} are unknown", *lines)
    restarted = [each for each in brokers if settings and there[each].started_ms > settings.at_ms]
    if restarted:
        return unknown(f"started after its settings were polled: {ids(restarted)}")
    others = [each for each in brokers if modes[each] is not Mode.ZOOKEEPER]
    if others:
        lines = [f"broker {each} is configured for {modes[each]} mode" for each in others]
        return waiting(f"not in zookeeper mode: {ids(others)}", *lines)
    return satisfied(f"in zookeeper mode, and in /brokers/ids: {ids(brokers)}")


@kind("No broker uses ZooKeeper.", may_use=frozenset({_LOG, _ZOOKEEPER}))
def no_zookeeper_broker(view: View) -> Finding:
    sources = (_LOG, _ZOOKEEPER) if in_use(view, _ZOOKEEPER) else (_LOG,)
    if (stale := not_known(view, *sources)) is not None:
        return stale
    if not view.summary.brokers:
        return waiting("no broker is known yet")
    others = [each.id for each in view.summary.brokers if each.mode is not Mode.KRAFT]
    if others:
        return waiting(f"not in kraft mode: {ids(others)}")
    if left := _left_in_zookeeper(view):
        when = ", as last known" if zookeeper_of(view) is None else ""
        return waiting(f"still in /brokers/ids{when}: {ids(left)}")
    if (unread := _not_read(view)) is not None:
        return unread
    return satisfied("every broker is in kraft mode, and /brokers/ids is not used any more")


def _not_read(view: View, broker: int | None = None) -> Finding | None:
    """Return a finding if the broker's znode, or one in /brokers/ids, cannot be read."""
    seen = zookeeper_of(view)
    found = [] if seen is None else brokers_not_read(seen, broker)
    if not found:
        return None
    what = found[0] if len(found) == 1 else f"{len(found)} znodes in /brokers/ids cannot be read"
    return unknown(f"{what}; {BROKER_NOT_READ}", *found)


def _left_in_zookeeper(view: View) -> list[int]:
    """Return the brokers in /brokers/ids, as last known if ZooKeeper is not current."""
    current = zookeeper_of(view)
    return sorted(in_zookeeper(view.summary) if current is None else current.brokers)


@kind(
    "No broker is in kraft mode, by its own settings or by its registration.",
    requires=(_SETTINGS,),
    may_use=frozenset({_LOG}),
)
def no_kraft_broker(view: View) -> Finding:
    """Evaluate the brokers' own settings and the metadata log.

    A registration in KRaft mode counts even if the log is no longer followed: a rollback leads
    through a registration in migration mode.
    """
    if not view.summary.brokers:
        return waiting("no broker is known yet")
    settings = view.settings
    modes = dict(settings.modes) if settings is not None else {}
    log_followed = not_known(view, _LOG) is None
    for each in view.summary.brokers:
        counts = each.mode is Mode.KRAFT or (log_followed and each.id not in modes)
        if each.epoch is not None and counts:
            modes[each.id] = each.mode
    found = [each for each, mode in modes.items() if mode is Mode.KRAFT]
    if found:
        return waiting(f"in kraft mode: {ids(found)}")
    unpolled = [each.id for each in view.summary.brokers if each.id not in modes]
    if unpolled:
        return unknown(f"the settings of {ids(unpolled)} are unknown, and there is no registration")
    return satisfied(f"not in kraft mode: {ids(list(modes))}")


@kind(
    "The broker supports this metadata.version, by its registration.",
    requires=(_LOG,),
    parameters=(BROKER, LEVEL),
)
def broker_supports(view: View, broker: int, wanted: int) -> Finding:
    found = view.summary.broker(broker)
    if found is None or found.epoch is None:
        return waiting(f"broker {broker} is not registered with the controllers")
    if found.supports is None:
        return unknown(f"broker {broker} did not report which metadata.version it supports")
    reason = f"broker {broker} supports metadata.version {name_of(found.supports)}"
    evidence = _registration(found)
    return satisfied(reason, *evidence) if found.supports >= wanted else waiting(reason, *evidence)


@kind(
    "The broker is unfenced and not shutting down; while there is no KRaft controller,"
    " it is in /brokers/ids.",
    may_use=frozenset({_LOG, _ZOOKEEPER}),
    parameters=(BROKER,),
)
def broker_unfenced(view: View, broker: int) -> Finding:
    if (stale := authority_not_known(view)) is not None:
        return stale
    if not in_use(view, _LOG):
        return _up_in_zookeeper(view, broker)
    if (stale := not_known(view, _LOG)) is not None:
        return stale
    found = view.summary.broker(broker)
    if found is None or found.epoch is None:
        return waiting(f"broker {broker} is not registered with the controllers")
    if (trouble := _trouble(found)) is not None:
        return waiting(trouble, *_registration(found))
    return satisfied(f"broker {broker} is unfenced", *_registration(found))


def _up_in_zookeeper(view: View, broker: int) -> Finding:
    """Evaluate /brokers/ids: without a KRaft controller each broker there counts as unfenced."""
    if (unread := _not_read(view, broker)) is not None:
        return unread
    zookeeper = zookeeper_of(view)
    if zookeeper is not None and broker in zookeeper.brokers:
        return satisfied(f"broker {broker} is in /brokers/ids, and there is no KRaft controller")
    return waiting(f"not in /brokers/ids: broker {broker}")


@kind(
    "Every broker that is registered with the controllers is unfenced and not"
    " shutting down; before the migration none needs to be registered.",
    requires=(_LOG,),
)
def no_broker_fenced(view: View) -> Finding:
    registered = [each for each in view.summary.brokers if each.epoch is not None]
    if not registered:
        if view.summary.brokers and view.summary.phase is Phase.PRE_MIGRATION:
            return satisfied("no broker is registered with the controllers yet")
        return waiting("no broker is registered with the controllers")
    troubles = [trouble for each in registered if (trouble := _trouble(each)) is not None]
    if troubles:
        return waiting(
            f"{len(troubles)} of {count(len(registered), 'broker')}: {troubles[0]}",
            *troubles,
        )
    return satisfied(f"unfenced: {ids([each.id for each in registered])}")


def _trouble(broker: BrokerSummary) -> str | None:
    if broker.fenced:
        return f"broker {broker.id} is fenced"
    if broker.in_controlled_shutdown:
        return f"broker {broker.id} is shutting down"
    return None

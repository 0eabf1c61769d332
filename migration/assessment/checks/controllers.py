"""The configuration of each controller for this cluster and its migration.

Before the controllers exist each check here is skipped: that is a phase of the migration, not an
error.
"""

from collections.abc import Mapping

from migration.assessment.checks.brokers import (
    PROTOCOL,
    controller_settings,
    inter_broker_name,
    known_settings,
)
from migration.assessment.checks.check import (
    GRANT,
    SEE_BROKERS,
    check,
    dotted,
    listed,
    missing_data,
    phase_without_quorum,
    silent_controllers,
    unknowns,
    worse_first,
)
from migration.assessment.checks.phase import nothing_copied
from migration.assessment.checks.quorum import ASK
from migration.assessment.finding import Finding, Verdict, satisfied, skipped, violated, warned
from migration.metadata.versions import (
    JBOD_LEVEL,
    JBOD_NAME,
    MIGRATION_RELEASE,
    SETTLED_RELEASE,
    level_of,
    name_of,
)
from migration.observed.probed import Facts, Unknown


@check("migration-enabled-everywhere", "The migration is enabled where it must be")
def migration_enabled(facts: Facts) -> Finding:
    """Check that each controller has the migration enabled, and all brokers or none of them."""
    flag = "zookeeper.metadata.migration.enable"
    on = [b.id for b, settings in known_settings(facts) if settings.get(flag) == "true"]
    off = [b.id for b, settings in known_settings(facts) if settings.get(flag) != "true"]
    if not facts.has_controllers and on:
        return violated(
            "brokers are in migration mode and no controller answers",
            *[f"broker {id_}: {flag}=true" for id_ in on],
            fix="start the controllers: these brokers cannot register",
        )
    if (phase := phase_without_quorum(facts)) is not None:
        return phase
    wrong = [one.endpoint for one in facts.answering if one.migration_ready is False]
    missing = silent_controllers(facts) + unknowns(
        (one.endpoint, one.migration_ready) for one in facts.answering
    )
    if wrong:
        fix = f"stop these controllers and start them with {flag}=true and zookeeper.connect"
        if nothing_copied(facts):
            fix += ". A quorum that was first started without it can never migrate: format it again"
        lines = worse_first([f"{where}: not ready to migrate" for where in wrong], missing)
        return violated("a controller does not have the migration enabled", *lines, fix=fix)
    if missing:
        return missing_data(*missing, fix=ASK)
    if on and off:
        lines = [f"broker {id_}: {flag}=true" for id_ in on]
        lines += [f"broker {id_}: not yet" for id_ in off]
        return warned(
            "the migration has begun on some brokers",
            *lines,
            fix="continue with `kraftgate run`; a failing directory now halts these brokers",
        )
    brokers = "on every broker as well" if on else "on no broker yet"
    return satisfied(f"on every controller, {brokers}")


@check("metadata-version", f"metadata.version is {JBOD_NAME} or later", needs=phase_without_quorum)
def metadata_version(facts: Facts) -> Finding:
    """Check that metadata.version supports directories and equals the brokers' protocol version.

    A broker in migration mode registers with its inter.broker.protocol.version as the only
    supported metadata.version; a quorum with another one rejects its registration.
    """
    known: dict[str, int] = {}
    missing = []
    for one in facts.answering:
        if isinstance(one.metadata_version, int):
            known[one.endpoint] = one.metadata_version
        else:
            missing.append(
                f"metadata.version of {one.endpoint}: it has none yet or does not report it"
            )
    fix = (
        "while nothing has been copied, format the controllers again"
        f" (kafka-storage format --release-version {_release_version(facts)}); metadata.version"
        f" must equal the brokers' {PROTOCOL}, and be {JBOD_NAME} or later for several log"
        " directories"
    )
    bad = [f"{where}: {name_of(level)}" for where, level in known.items() if level < JBOD_LEVEL]
    if bad:
        return violated(
            f"metadata.version is below {JBOD_NAME}", *worse_first(bad, missing), fix=fix
        )
    for broker, settings in known_settings(facts):
        wanted = level_of(settings.get(PROTOCOL, ""))
        for where, level in known.items():
            if wanted is not None and level != wanted:
                bad.append(
                    f"broker {broker.id}: {PROTOCOL}={settings[PROTOCOL]},"
                    f" {where}: {name_of(level)}"
                )
    if bad:
        return violated("brokers cannot register", *worse_first(bad, missing), fix=fix)
    if missing:
        return missing_data(*missing, fix=ASK)
    return satisfied(listed(sorted({name_of(level) for level in known.values()})))


def _release_version(facts: Facts) -> str:
    """Return the brokers' protocol version, if directories are possible with it."""
    texts = [settings.get(PROTOCOL, "") for _, settings in known_settings(facts)]
    fit = (text for text in texts if (level_of(text) or 0) >= JBOD_LEVEL)
    return next(fit, dotted(SETTLED_RELEASE))


@check(
    "controller-versions", "The controllers run the brokers' release", needs=phase_without_quorum
)
def controller_versions(facts: Facts) -> Finding:
    known = {
        one.endpoint: one.release for one in facts.answering if not isinstance(one.release, Unknown)
    }
    missing = silent_controllers(facts) + unknowns(
        (f"the release of {one.endpoint}", one.release) for one in facts.answering
    )
    lines = [f"controller {where}: {dotted(release)}" for where, release in known.items()]
    if any(not MIGRATION_RELEASE <= release <= SETTLED_RELEASE for release in known.values()):
        fix = f"run the controllers with Kafka {dotted(SETTLED_RELEASE)}: Kafka 4 cannot migrate"
        return violated(
            "a controller's release cannot migrate", *worse_first(lines, missing), fix=fix
        )
    if missing:
        return missing_data(*missing, fix=ASK)
    brokers = {one.release for one in facts.brokers if not isinstance(one.release, Unknown)}
    if brokers and set(known.values()) != brokers:
        lines += [f"brokers: {dotted(release)}" for release in sorted(brokers)]
        return warned(
            "controllers and brokers run different releases",
            *lines,
            fix="run the same release everywhere before the window",
        )
    return satisfied(listed(sorted({dotted(release) for release in known.values()})))


@check("inter-broker-listener", "The controllers can reach the brokers", needs=phase_without_quorum)
def inter_broker_listener(facts: Facts) -> Finding:
    """Check that the controllers know the listener of the brokers in ZooKeeper mode.

    Until a broker is in KRaft mode the controllers send it LeaderAndIsr and UpdateMetadata over
    their own inter.broker.listener.name; if the brokers' listener has another name, the controllers
    find no address.
    """
    theirs = {b.id: _listener(settings) for b, settings in known_settings(facts)}
    ours = {where: _listener(settings) for where, settings in controller_settings(facts)}
    lines = [f"broker {id_}: {name}" for id_, name in theirs.items()]
    lines += [f"controller {where}: {name}" for where, name in ours.items()]
    if len({*theirs.values(), *ours.values()}) > 1:
        fix = (
            "give the controllers the brokers' inter.broker.listener.name (or"
            " security.inter.broker.protocol), with this listener in"
            " listener.security.protocol.map and its credentials"
        )
        return violated("the controllers cannot reach the brokers", *lines, fix=fix)
    if (unknown := _settings_unknown(facts)) is not None:
        return unknown
    if not theirs:
        return missing_data("the brokers' settings", fix=SEE_BROKERS)
    return satisfied(next(iter(theirs.values())))


def _settings_unknown(facts: Facts) -> Finding | None:
    """Return a finding if the settings of a controller are unknown; None: all are known."""
    asked = [(f"the settings of {one.endpoint}", one.settings) for one in facts.answering]
    missing = silent_controllers(facts) + unknowns(asked)
    denied = any(isinstance(each, Unknown) and each.denied for _, each in asked)
    return missing_data(*missing, fix=GRANT if denied else ASK) if missing else None


def _listener(settings: Mapping[str, str]) -> str:
    """Return the name of the listener between brokers, and its protocol if that has another name.

    The controllers take the name from the broker's registration, and the protocol from their own
    map (ControllerChannelManager.addNewBroker).
    """
    name = inter_broker_name(settings) or "PLAINTEXT"
    pairs = settings.get("listener.security.protocol.map", "").split(",")
    protocols = {
        n.strip().upper(): protocol.strip() for n, _, protocol in (e.partition(":") for e in pairs)
    }
    protocol = protocols.get(name) or name
    return name if protocol == name else f"{name}:{protocol}"


@check("authorizer-agrees", "Controllers check ACLs as brokers do")
def authorizer_agrees(facts: Facts) -> Finding:
    with_it = {
        b.id: name
        for b, settings in known_settings(facts)
        if (name := settings.get("authorizer.class.name"))
    }
    if not with_it:
        return skipped("no broker with known settings has an authorizer")
    lines = [f"broker {id_}: {name}" for id_, name in with_it.items()]
    fix = (
        "set authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer on"
        " the controllers, and on the brokers in KRaft mode, with the same super.users;"
        " AclAuthorizer needs ZooKeeper and does not start in KRaft mode"
    )
    if (phase := phase_without_quorum(facts)) is not None:
        will = warned("the controllers will need an authorizer", *lines, fix=fix)
        return phase if phase.verdict is Verdict.UNKNOWN else will
    bare = [
        f"controller {where}: none"
        for where, settings in controller_settings(facts)
        if not settings.get("authorizer.class.name")
    ]
    if bare:
        return violated(
            "the controllers do not check ACLs, but the brokers do", *(bare + lines), fix=fix
        )
    return _settings_unknown(facts) or satisfied("brokers and controllers have an authorizer")

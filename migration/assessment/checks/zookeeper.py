"""ZooKeeper itself: available, complete, and writable by the controllers."""

from collections.abc import Iterator
from typing import Final

from migration.assessment.checks.brokers import (
    controller_settings,
    known_settings,
    unknown_settings,
)
from migration.assessment.checks.check import (
    REACH_ZOOKEEPER,
    SEE_BROKERS,
    SEE_ZOOKEEPER,
    at_endpoint,
    check,
    missing_data,
    phase_without_quorum,
    silent_controllers,
    unknowns,
    worse_first,
)
from migration.assessment.checks.quorum import ASK
from migration.assessment.finding import Finding, Verdict, satisfied, skipped, violated, warned
from migration.observed.probed import Facts, Unknown
from migration.values.secret_settings import is_sensitive

_OLDEST: Final = (3, 5)
_ENCODER: Final = "password.encoder.secret"
_MAY_READ: Final = (
    "give Kraftgate the brokers' ZooKeeper credentials (`security`), or check these znodes yourself"
)


@check("zookeeper-reachable", "ZooKeeper answers")
def zookeeper_reachable(facts: Facts) -> Finding:
    """Check that ZooKeeper answers, and that Kafka's znodes are below the configured path."""
    if isinstance(facts.zookeeper, Unknown):
        return missing_data(facts.zookeeper.why, fix=REACH_ZOOKEEPER)
    if facts.zookeeper.cluster_id is None:
        return violated(
            "no Kafka cluster is below this path",
            f"{facts.zookeeper_connect}: no znode /cluster/id",
            fix="set zookeeper.connect to the brokers' value, including the chroot",
        )
    return satisfied(f"{facts.zookeeper_connect} answers")


@check("znode-payloads", "Znodes have the format that Kafka writes")
def znode_payloads(facts: Facts) -> Finding:
    """Check that the znodes that the copy reads have the content of Kafka 2.8 or later."""
    if isinstance(facts.zookeeper, Unknown):
        return missing_data(facts.zookeeper.why, fix=SEE_ZOOKEEPER)
    hidden = [f"{path}: {why}" for path, why in facts.zookeeper.hidden]
    if facts.zookeeper.unreadable:
        lines = [f"{path}: {why}" for path, why in facts.zookeeper.unreadable]
        fix = (
            "check these znodes (zookeeper-shell get) and find out which client wrote them. The"
            " copy stops at them, or treats such a topic as one without partitions. The next"
            " controller that is elected adds a topic_id to each topic of a Kafka before 2.8"
        )
        reason = f"znodes with content that Kafka does not write: {len(lines)}"
        return violated(reason, *worse_first(lines, hidden), fix=fix)
    if hidden:
        return missing_data(*hidden, fix=_MAY_READ)
    return satisfied("every znode that was read has the format that Kafka writes")


@check("zookeeper-connect-agrees", "All use one ensemble and chroot")
def zookeeper_connect_agrees(facts: Facts) -> Finding:
    """Check that brokers, controllers and the configuration name one ensemble and one chroot."""
    if facts.zookeeper_connect is None:
        return missing_data("zookeeper.connect in the configuration", fix=SEE_ZOOKEEPER)
    ours = _chroot(facts.zookeeper_connect)
    named = list(_named(facts))
    wrong = [f"{who}: {text}" for who, text in named if _chroot(text) != ours]
    if wrong:
        fix = (
            "give controllers and brokers the same zookeeper.connect, including the chroot: a"
            " quorum with another one copies another cluster, or nothing"
        )
        return violated(f"zookeeper.connect has a chroot other than {ours or '/'}", *wrong, fix=fix)
    if not named:
        return missing_data(
            "zookeeper.connect of the brokers", fix=f"{SEE_BROKERS}; or see inter-broker-listener"
        )
    others = [f"{who}: {text}" for who, text in named if _hosts(text) != _hosts(named[0][1])]
    if others:
        fix = "check that all of these are servers of the same ensemble"
        return warned("zookeeper.connect names different servers", *others, fix=fix)
    return satisfied(f"{len(named)} brokers and controllers use the chroot {ours or '/'}")


def _named(facts: Facts) -> Iterator[tuple[str, str]]:
    for broker, settings in known_settings(facts):
        if text := settings.get("zookeeper.connect"):
            yield f"broker {broker.id}", text
    for where, settings in controller_settings(facts):
        if text := settings.get("zookeeper.connect"):
            yield f"controller {where}", text


def _chroot(connect: str) -> str:
    _, slash, path = connect.partition("/")
    return (slash + path).rstrip("/")


def _hosts(connect: str) -> frozenset[str]:
    return frozenset(part.strip() for part in connect.partition("/")[0].split(","))


@check("zookeeper-ensemble", "Every server of the ensemble answers", blocks=False)
def zookeeper_ensemble(facts: Facts) -> Finding:
    """Check that each server of the ensemble answers, with a version that Kafka 3.9 supports."""
    if not facts.ensemble:
        return missing_data("no ZooKeeper server is known", fix=SEE_ZOOKEEPER)
    bad, known = [], []
    for server in facts.ensemble:
        if isinstance(server.version, Unknown):
            bad.append(at_endpoint(server.endpoint, server.version.why))
            continue
        version = ".".join(map(str, server.version))
        known.append(f"{server.endpoint} {version} {server.mode}".strip())
        if server.version < _OLDEST:
            bad.append(f"{server.endpoint}: version {version}, before 3.5")
    if bad:
        fix = (
            "start the server, upgrade it (Kafka 3.9 is tested with 3.8), or allow srvr"
            " (4lw.commands.whitelist): ZooKeeper is needed until the migration is finalized"
        )
        return warned("a server of the ensemble does not answer, or is too old", *bad, fix=fix)
    return satisfied("; ".join(known))


@check("zookeeper-acl", "The controllers may write to ZooKeeper", blocks=False)
def zookeeper_acl(facts: Facts) -> Finding:
    if isinstance(facts.zookeeper, Unknown):
        return missing_data(facts.zookeeper.why, fix=SEE_ZOOKEEPER)
    found = [f"{path} is not open to everyone" for path in facts.zookeeper.restricted]
    found += [
        f"broker {broker.id}: zookeeper.set.acl=true"
        for broker, settings in known_settings(facts)
        if settings.get("zookeeper.set.acl") == "true"
    ]
    if found:
        fix = (
            "give the controllers the brokers' ZooKeeper credentials (the same JAAS login or TLS"
            " identity, and zookeeper.set.acl); otherwise the takeover fails with NoAuth"
        )
        return warned("ZooKeeper's ACLs are restricted", *found, fix=fix)
    return satisfied("ZooKeeper's ACLs let any client write, including the controllers")


@check("zookeeper-lock", "Only Kraftgate can change its lock", blocks=False)
def zookeeper_lock(facts: Facts) -> Finding:
    """Check that only Kraftgate can change the lock that lets one orchestrator act at a time."""
    if facts.zookeeper_connect is None:
        return skipped("no ZooKeeper is configured, so there is no lock to protect")
    if facts.zookeeper_identity:
        return satisfied("/kraftgate is writable by the configured identity only")
    return skipped(
        "Kraftgate does not authenticate to ZooKeeper: any client can change its lock, /kraftgate",
        fix="set `security` of `zookeeper` to a user or a certificate, if the ensemble supports it",
    )


@check("dynamic-secrets", "The controllers can decrypt the secrets")
def dynamic_secrets(facts: Facts) -> Finding:
    """Check that /config/brokers has no encrypted value that the controllers could not read.

    Kafka closes these znodes to other clients where `zookeeper.set.acl` is true. Then the brokers'
    settings show whether they may have one (DynamicBrokerConfig.passwordEncoder).
    """
    if isinstance(facts.zookeeper, Unknown):
        return missing_data(facts.zookeeper.why, fix=SEE_ZOOKEEPER)
    found = [
        f"{path}: {key}"
        for path, keys in sorted(facts.zookeeper.dynamic_keys.items())
        for key in keys
        if is_sensitive(key)
    ]
    closed = [f"{path}: {why}" for path, why in facts.zookeeper.closed]
    if not found and not closed:
        return skipped("no secret was set dynamically")
    if not found and _cannot_encrypt(facts):
        return skipped(f"no broker has {_ENCODER}, so none can set a secret dynamically")
    have = "have" if found else "may have"
    said = f"dynamic configurations in ZooKeeper {have} encrypted secrets"
    fix = (
        f"give each controller the brokers' {_ENCODER}: without it the copy takes the encrypted"
        " text as the password"
    )
    if (phase := phase_without_quorum(facts)) is not None:
        will = warned(said, *worse_first(found, closed + silent_controllers(facts)), fix=fix)
        return phase if phase.verdict is Verdict.UNKNOWN else will
    without = [
        f"controller {where}: no {_ENCODER}"
        for where, settings in controller_settings(facts)
        if not settings.get(_ENCODER)
    ]
    missing = silent_controllers(facts) + unknowns(
        (f"the settings of {one.endpoint}", one.settings) for one in facts.answering
    )
    if without:
        return violated(said, *worse_first(found + without, closed + missing), fix=fix)
    if missing:
        return missing_data(*missing, fix=f"grant DESCRIBE_CONFIGS on CLUSTER, and {ASK}")
    values = f"{len(found)} encrypted values" if found else "there may be encrypted values"
    return satisfied(f"{values}, and every controller has {_ENCODER}", *worse_first([], closed))


def _cannot_encrypt(facts: Facts) -> bool:
    """Return whether every broker is known to have no secret to encrypt values with."""
    known = [settings for _, settings in known_settings(facts)]
    return (
        bool(known)
        and not unknown_settings(facts)
        and not any(settings.get(_ENCODER) for settings in known)
    )

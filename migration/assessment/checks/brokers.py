"""The brokers' releases and settings: the requirements of a migration and of KRaft mode."""

from collections.abc import Iterator, Mapping
from typing import Final

from migration.assessment.checks.check import (
    SEE_BROKERS,
    check,
    dotted,
    missing_data,
    no_brokers,
    unknowns,
    worse_first,
)
from migration.assessment.finding import Finding, satisfied, violated, warned
from migration.metadata.versions import (
    JBOD_LEVEL,
    JBOD_NAME,
    MIGRATION_RELEASE,
    SETTLED_RELEASE,
    TESTED_RELEASES,
    level_of,
    release_of_level,
)
from migration.observed.log_dirs import FAILURE_TIMEOUT, FAILURE_TIMEOUT_MS
from migration.observed.probed import (
    LISTENER_SETTINGS,
    LOG_DIR_SETTINGS,
    QUORUM_SETTINGS,
    UNCLEAN,
    Broker,
    Facts,
    Unknown,
    log_dirs_of,
)
from migration.values.paths import is_same

PROTOCOL: Final = "inter.broker.protocol.version"
_KRAFT_ONLY: Final = (4, 0)
_SESSION_TIMEOUT: Final = "broker.session.timeout.ms"
_METADATA_LOG_DIR: Final = "metadata.log.dir"
_DEFAULTS_MS: Final = {FAILURE_TIMEOUT: FAILURE_TIMEOUT_MS, _SESSION_TIMEOUT: 9_000}

SETTINGS: Final = (
    PROTOCOL,
    "alter.config.policy.class.name",
    "authorizer.class.name",
    "broker.id",
    "broker.id.generation.enable",
    _SESSION_TIMEOUT,
    "control.plane.listener.name",
    "controlled.shutdown.enable",
    *QUORUM_SETTINGS,
    "create.topic.policy.class.name",
    *LISTENER_SETTINGS,
    FAILURE_TIMEOUT,
    *LOG_DIR_SETTINGS,
    _METADATA_LOG_DIR,
    "password.encoder.secret",
    "process.roles",
    "reserved.broker.max.id",
    UNCLEAN,
    "zookeeper.connect",
    "zookeeper.metadata.migration.enable",
    "zookeeper.set.acl",
)
"""The server properties that checks and step texts use; `streams` requests only these."""


def known_settings(facts: Facts) -> Iterator[tuple[Broker, Mapping[str, str]]]:
    for broker in facts.brokers:
        if not isinstance(broker.settings, Unknown):
            yield broker, broker.settings


def controller_settings(facts: Facts) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the endpoint and the settings of each controller whose settings are known."""
    for one in facts.answering:
        if not isinstance(one.settings, Unknown):
            yield one.endpoint, one.settings


def unknown_settings(facts: Facts) -> list[str]:
    return unknowns((f"the settings of broker {each.id}", each.settings) for each in facts.brokers)


def inter_broker_name(settings: Mapping[str, str]) -> str:
    """Return the name of the listener between brokers, as Kafka reads it; "": unknown.

    Kafka writes the names of listeners in capitals (ListenerName.normalised).
    """
    named = settings.get("inter.broker.listener.name", "").strip().upper()
    return named or settings.get("security.inter.broker.protocol", "")


@check("broker-versions", "Every broker runs a release that can migrate", needs=no_brokers)
def broker_versions(facts: Facts) -> Finding:
    """Check that all brokers run one release that can migrate several directories."""
    known = [(b.id, b.release) for b in facts.brokers if not isinstance(b.release, Unknown)]
    missing = unknowns((f"the release of broker {b.id}", b.release) for b in facts.brokers)
    lines = [f"broker {id_}: {dotted(release)}" for id_, release in known]
    releases = {release for _, release in known}
    if any(release < MIGRATION_RELEASE for release in releases):
        fix = (
            f"upgrade every broker to {dotted(SETTLED_RELEASE)} first: before"
            f" {dotted(MIGRATION_RELEASE)} a broker with several directories cannot migrate"
        )
        return violated("a broker is too old", *worse_first(lines, missing), fix=fix)
    if any(release >= _KRAFT_ONLY for release in releases):
        fix = "check that brokers.bootstrap names the right cluster: Kafka 4 has no ZooKeeper mode"
        return violated(
            "a broker's release has no ZooKeeper mode", *worse_first(lines, missing), fix=fix
        )
    if len(releases) > 1:
        fix = "complete the rolling upgrade first, so that every broker runs the same release"
        return violated("brokers run several releases", *worse_first(lines, missing), fix=fix)
    if missing:
        return missing_data(*missing, fix=SEE_BROKERS)
    if SETTLED_RELEASE not in releases:
        fix = (
            f"before the window, upgrade to the latest {dotted(SETTLED_RELEASE)}, or read what"
            " differs: `kraftgate help limits`"
        )
        return warned(_little_tested(*releases), *lines, fix=fix)
    return satisfied(f"all {len(known)} brokers run {dotted(next(iter(releases)))}")


def _little_tested(release: tuple[int, ...]) -> str:
    if release in TESTED_RELEASES:
        return (
            f"Kafka {dotted(release)} is less tested than {dotted(SETTLED_RELEASE)}: with only one"
            " whole migration"
        )
    return f"Kraftgate is not tested with Kafka {dotted(release)}"


@check("inter-broker-protocol", f"{PROTOCOL} is {JBOD_NAME} or later", needs=no_brokers)
def inter_broker_protocol(facts: Facts) -> Finding:
    """Check that all brokers have one `inter.broker.protocol.version`, at least 3.7-IV2."""
    lines, levels, low = [], set(), []
    missing = unknown_settings(facts)
    for broker, settings in known_settings(facts):
        text = settings.get(PROTOCOL, "")
        level = level_of(text)
        if level is None:
            missing.append(f"the version {text!r} of broker {broker.id}")
            continue
        lines.append(f"broker {broker.id}: {PROTOCOL}={text}")
        levels.add(level)
        if level < JBOD_LEVEL:
            low.append(lines[-1])
    if low:
        fix = (
            f"raise {PROTOCOL} to the brokers' own release and restart them one by one: below"
            f" {JBOD_NAME} a broker with several log directories does not start in migration mode,"
            " and no replica gets a directory id, which the runbook waits for. It cannot be changed"
            " during the migration"
        )
        return violated(f"{PROTOCOL} is below {JBOD_NAME}", *worse_first(low, missing), fix=fix)
    if len(levels) > 1:
        fix = f"set the same {PROTOCOL} everywhere and restart one by one, before the window"
        return violated(f"{PROTOCOL} differs", *worse_first(lines, missing), fix=fix)
    if missing:
        return missing_data(*missing, fix=SEE_BROKERS)
    own = {each.release for each in facts.brokers if not isinstance(each.release, Unknown)}
    if own and not {release_of_level(level) for level in levels} <= own:
        fix = (
            f"set {PROTOCOL} to the brokers' release and restart them one by one, before the"
            " window: it is fixed once the migration begins, and Kraftgate is tested only with"
            " the release's own"
        )
        return warned(f"{PROTOCOL} is not that of the brokers' release", *lines, fix=fix)
    return satisfied(lines[0].partition(": ")[2] + " on every broker")


@check("generated-ids", "No broker's id was generated", needs=no_brokers)
def generated_ids(facts: Facts) -> Finding:
    """Check that no broker's id was generated: Kafka does not start it in migration mode."""
    found = [
        f"broker {broker.id}: {why}"
        for broker, settings in known_settings(facts)
        if (why := _generated(broker, settings))
    ]
    if found:
        fix = (
            "set broker.id to the id and broker.id.generation.enable=false, and restart the broker"
            " in ZooKeeper mode, before the window"
        )
        return violated(
            "a broker with a generated id does not start in migration mode", *found, fix=fix
        )
    if missing := unknown_settings(facts):
        return missing_data(*missing, fix=SEE_BROKERS)
    return satisfied("every broker's id is configured")


def _generated(broker: Broker, settings: Mapping[str, str]) -> str | None:
    """Return what shows that an id is not configured; None: it is.

    The setting of a generated id stays -1. The id is above those that can be configured while ids
    are generated.
    """
    if settings.get("broker.id") == "-1":
        return "broker.id=-1"
    reserved = settings.get("reserved.broker.max.id", "")
    generates = settings.get("broker.id.generation.enable") != "false"
    above = generates and reserved.isdecimal() and broker.id > int(reserved)
    return "its id was generated" if above else None


@check(
    "kraft-settings", "No setting has another meaning in KRaft mode", blocks=False, needs=no_brokers
)
def kraft_settings(facts: Facts) -> Finding:
    found = [
        f"broker {broker.id}: {line}"
        for broker, settings in known_settings(facts)
        for line in _unfit(settings)
    ]
    if found:
        fix = (
            "fix these in the KRaft-mode configuration before the window (brokers' and"
            " controllers'), so that no restart fails during the window"
        )
        return warned("settings have another meaning in KRaft mode", *found, fix=fix)
    if missing := unknown_settings(facts):
        return missing_data(*missing, fix=SEE_BROKERS)
    return satisfied("no setting that KRaft mode rejects")


def _unfit(settings: Mapping[str, str]) -> Iterator[str]:
    if settings.get("control.plane.listener.name"):
        yield "control.plane.listener.name is set: a broker in KRaft mode does not start with it"
    for name in ("alter.config.policy.class.name", "create.topic.policy.class.name"):
        if settings.get(name):
            yield f"{name} is set: in KRaft mode the controllers enforce it: set it there"


@check("metadata-log-dir", f"{_METADATA_LOG_DIR} is spelled as in log.dirs", needs=no_brokers)
def metadata_log_dir(facts: Facts) -> Finding:
    """Check that log.dirs spells the directory of the metadata log as metadata.log.dir does.

    MetaPropertiesEnsemble compares the text of the paths: with two spellings it reads one file
    twice, and rejects its `directory.id` as a duplicate.
    """
    found = [
        f"broker {broker.id}: {_METADATA_LOG_DIR}={path}, but the log directory {other}"
        for broker, settings in known_settings(facts)
        if (path := settings.get(_METADATA_LOG_DIR))
        for other in log_dirs_of(settings)
        if is_same(path, other) and path != other
    ]
    missing = unknown_settings(facts)
    if found:
        fix = (
            "write the same text in both, in the configuration of every mode: a broker whose"
            " directories have ids does not start in migration or KRaft mode (Duplicate directory"
            " ID)"
        )
        return violated(
            f"{_METADATA_LOG_DIR} names a log directory by another text",
            *worse_first(found, missing),
            fix=fix,
        )
    if missing:
        return missing_data(*missing, fix=SEE_BROKERS)
    return satisfied("no directory has two spellings")


@check(
    "failure-timeout",
    "A broker has time to report a failed log directory",
    blocks=False,
    needs=no_brokers,
)
def failure_timeout(facts: Facts) -> Finding:
    """Check how long a broker in KRaft mode keeps running with a failure that it cannot report.

    After that time the broker shuts down if the failed directory has a leader (KIP-858). The
    controllers tolerate the same silence for the session timeout.
    """
    low, missing = [], unknown_settings(facts)
    lines = []
    for broker, settings in known_settings(facts):
        texts = {name: settings.get(name, str(ms)) for name, ms in _DEFAULTS_MS.items()}
        if not all(text.isdecimal() for text in texts.values()):
            missing.append(f"the timeouts of broker {broker.id}: {', '.join(texts.values())}")
            continue
        timeout_ms, session_ms = (int(texts[name]) for name in _DEFAULTS_MS)
        lines.append(f"broker {broker.id}: {FAILURE_TIMEOUT}={timeout_ms}")
        if timeout_ms < session_ms:
            low.append(f"{lines[-1]}, {_SESSION_TIMEOUT}={session_ms}")
    if low:
        fix = (
            f"raise {FAILURE_TIMEOUT} to Kafka's default, {_DEFAULTS_MS[FAILURE_TIMEOUT]}: in"
            " KRaft mode a broker with a failed directory shuts down when no controller answers"
            " for that time"
        )
        return warned(f"{FAILURE_TIMEOUT} is short", *worse_first(low, missing), fix=fix)
    if missing:
        return missing_data(*missing, fix=SEE_BROKERS)
    values = sorted({line.partition(": ")[2] for line in lines})
    return satisfied(", ".join(values), *lines)


@check("restart-settings", "Restarts move leaders away first", blocks=False, needs=no_brokers)
def restart_settings(facts: Facts) -> Finding:
    """Check that a restart moves leaders away first and elects no replica that is out of sync."""
    found = []
    for broker, settings in known_settings(facts):
        if settings.get("controlled.shutdown.enable") == "false":
            found.append(f"broker {broker.id}: controlled.shutdown.enable=false")
        if settings.get(UNCLEAN) == "true":
            found.append(f"broker {broker.id}: {UNCLEAN}=true")
    topics, missing = facts.topics, unknown_settings(facts)
    if isinstance(topics, Unknown) or isinstance(topics.min_isr, Unknown):
        missing.append("the settings of the topics")
    else:
        found += [f"topic {each}: {UNCLEAN}=true" for each in sorted(topics.unclean)]
    if found:
        fix = (
            "set them to Kafka's defaults for the window: a restart then moves leaders away"
            " first, and no leader that was behind loses acknowledged records"
        )
        return warned("restarts are less safe than necessary", *found, fix=fix)
    if missing:
        return missing_data(*missing, fix=SEE_BROKERS)
    return satisfied("restarts move leaders away first and elect only replicas in sync")

"""The identities: cluster ids, broker and controller ids, and the directories' ids."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from migration.assessment.checks.check import (
    GRANT,
    SEE_BROKERS,
    SEE_ZOOKEEPER,
    check,
    listed,
    missing_data,
    phase_without_quorum,
    unknowns,
    worse_first,
)
from migration.assessment.checks.phase import mode_of
from migration.assessment.finding import Finding, Verdict, satisfied, skipped, violated
from migration.assessment.meta_properties import file_faults, id_faults, ids_of, version_refusal
from migration.image.summary import Mode
from migration.observed.probed import Broker, Facts, MetaProperties, Topics, Unknown, ZooKeeper
from migration.observed.znode_codec import cluster_id_of


@check("broker-ids-agree", "Every broker with replicas is alive")
def broker_ids_agree(facts: Facts) -> Finding:
    """Check that ZooKeeper and metadata have the same live brokers, and all replicas are there.

    The migration copies nothing before each id in /brokers/ids and each replica's id in
    /brokers/topics has registered, so a replica on a dead broker makes it wait forever.
    """
    if isinstance(facts.topics, Unknown):
        return missing_data(facts.topics.why, fix=SEE_BROKERS)
    if isinstance(facts.zookeeper, Unknown):
        return missing_data(facts.zookeeper.why, fix=SEE_ZOOKEEPER)
    in_metadata, in_zookeeper = facts.topics.broker_ids, facts.zookeeper.broker_ids
    bad = [
        f"broker {id_} is in /brokers/ids but not in the brokers' metadata"
        for id_ in sorted(in_zookeeper - in_metadata)
    ]
    bad += [
        f"broker {id_} is in the brokers' metadata but not in /brokers/ids"
        for id_ in sorted(in_metadata - in_zookeeper)
    ]
    for id_, topics in sorted(_on_absent(facts.zookeeper, facts.topics).items()):
        bad.append(f"broker {id_} is dead and has replicas of {_few(topics)}")
    if bad:
        fix = (
            "start these brokers, or move their replicas to live brokers"
            " (kafka-reassign-partitions): the controllers wait for each of them before they"
            " copy"
        )
        return violated("not all required brokers are alive", *bad, fix=fix)
    return satisfied(f"{len(in_metadata)} brokers, and no replica on any other")


def _on_absent(zookeeper: ZooKeeper, topics: Topics) -> dict[int, list[str]]:
    alive = topics.broker_ids | zookeeper.broker_ids
    by_topic: dict[str, set[int]] = {name: set(ids) for name, ids in zookeeper.assignments.items()}
    for part in topics.partitions:
        by_topic.setdefault(part.at.topic, set()).update(part.replicas)
    found: dict[int, list[str]] = defaultdict(list)
    for topic, ids in sorted(by_topic.items()):
        for id_ in ids - alive:
            found[id_].append(topic)
    return found


def _few(topics: list[str]) -> str:
    more = f" and {len(topics) - 3} more topics" if len(topics) > 3 else ""
    return listed(topics[:3]) + more


@check("cluster-id-agrees", "All addresses belong to one cluster")
def cluster_id_agrees(facts: Facts) -> Finding:
    """Check that all sources, the directories and the configuration have one cluster id."""
    known, missing = _cluster_ids(facts)
    if len(set(known.values())) > 1:
        lines = [f"{where}: {id_}" for where, id_ in known.items()]
        fix = (
            "configure addresses of one cluster only; format the controllers with the id in"
            " /cluster/id (kafka-storage format --cluster-id=ID), or brokers cannot register with"
            " them"
        )
        return violated("there are several cluster ids", *worse_first(lines, missing), fix=fix)
    if missing:
        return missing_data(*missing, fix=f"{SEE_BROKERS}; {SEE_ZOOKEEPER}; or see quorum-rights")
    id_ = next(iter(known.values()))
    return satisfied(f"{id_}, in {len(known)} places")


def _cluster_ids(facts: Facts) -> tuple[dict[str, str], list[str]]:
    known: dict[str, str] = {}
    missing = []
    if facts.wanted_id is not None:
        known["configured or followed before"] = facts.wanted_id
    if isinstance(facts.topics, Topics) and facts.topics.cluster_id:
        known["the brokers"] = facts.topics.cluster_id
    else:
        missing.append("the brokers' cluster id")
    known |= {f"broker at {address}": id_ for address, id_ in facts.bootstrap_ids.items()}
    zookeeper = facts.zookeeper
    in_zookeeper = None if isinstance(zookeeper, Unknown) else cluster_id_of(zookeeper.cluster_id)
    if in_zookeeper is not None:
        known["/cluster/id"] = in_zookeeper
    else:
        missing.append("the cluster id in ZooKeeper (/cluster/id)")
    for controller in facts.answering:
        if isinstance(controller.cluster_id, Unknown):
            missing.append(f"the cluster id of {controller.endpoint}: {controller.cluster_id.why}")
        else:
            known[f"controller {controller.endpoint}"] = controller.cluster_id
    for broker in facts.brokers:
        for one in broker.meta or ():
            if one.cluster_id is not None:
                known[f"{one.path} of broker {broker.id}"] = one.cluster_id
    return known, missing


_GRANT: Final = f"{GRANT} at the controllers"


@check("controller-ids-distinct", "No controller has a broker's id")
def controller_ids_distinct(facts: Facts) -> Finding:
    """Check that no controller has the id of a broker: node ids are unique in a cluster."""
    controllers, missing = _controller_ids(facts)
    if not controllers:
        phase = phase_without_quorum(facts)
        if phase is not None and phase.verdict is Verdict.UNKNOWN:
            return phase
        if phase is not None:
            return skipped(phase.reason, fix=f"give them ids that no broker has: {_taken(facts)}")
        return missing_data(*missing, fix=_GRANT)
    brokers = {broker.id for broker in facts.brokers}
    bad = [
        f"node id {id_} is a controller ({where}) and a broker"
        for id_, where in sorted(controllers.items())
        if id_ in brokers
    ]
    if bad:
        fix = (
            "format the controllers again with ids that no broker has or had; a quorum without"
            " migrated metadata can be discarded"
        )
        return violated("a controller has the id of a broker", *bad, fix=fix)
    if not brokers:
        return missing_data("the brokers' ids", fix=SEE_BROKERS)
    if missing:
        return missing_data(*missing, fix=_GRANT)
    return satisfied(f"controllers {listed(sorted(controllers))} share no id with a broker")


def _controller_ids(facts: Facts) -> tuple[dict[int, str], list[str]]:
    found: dict[int, str] = {}
    for broker in facts.brokers:
        if not isinstance(broker.settings, Unknown):
            for id_ in voter_ids(broker.settings.get("controller.quorum.voters", "")):
                found.setdefault(id_, f"controller.quorum.voters of broker {broker.id}")
    for controller in facts.answering:
        if isinstance(controller.node_id, int):
            found[controller.node_id] = controller.endpoint
        if controller.quorum is not None:
            for id_ in controller.quorum.voters:
                found.setdefault(id_, "a voter of the quorum")
    missing = unknowns((f"the node id of {one.endpoint}", one.node_id) for one in facts.answering)
    if any(one.quorum is not None for one in facts.answering):
        missing = []  # the voters are all controllers
    return found, missing


def voter_ids(text: str) -> Iterator[int]:
    """Yield the ids of a `controller.quorum.voters`: `3000@c1:9093,3001@c2:9093`."""
    for entry in text.split(","):
        id_, at, _ = entry.strip().partition("@")
        if at and id_.isdecimal():
            yield int(id_)


def _taken(facts: Facts) -> str:
    return f"brokers have {listed(broker.id for broker in facts.brokers) or 'none yet'}"


@check("directory-ids", "meta.properties are consistent")
def directory_ids(facts: Facts) -> Finding:
    """Check each `meta.properties` that was read: no duplicate or missing id, one cluster.

    Also that no partition has a log in two directories of a broker.
    A broker that was never in migration mode has no directory ids; it writes them in that mode.
    Until then its files have version 0.
    """
    read = [(broker, broker.meta) for broker in facts.brokers if broker.meta]
    if not read:
        where = "run preflight on the brokers' hosts to check meta.properties, too"
        return skipped(
            "Kraftgate does not run on a broker's host, so it cannot read meta.properties",
            fix=where,
        )
    need_ids = {broker.id for broker, meta in read if _wants_ids(broker, meta)}
    of_ids = id_faults({broker.id: ids_of(meta) for broker, meta in read}, need_ids)
    bad = [
        f"broker {broker.id}: {each.path}: {each.text}"
        for broker, meta in read
        for each in (*of_ids.get(broker.id, ()), *file_faults(meta, node_id=broker.id))
    ]
    bad += [
        f"broker {broker.id}: {refusal}"
        for broker, meta in read
        if mode_of(broker.settings) is Mode.ZOOKEEPER
        for one in meta
        if (refusal := version_refusal(one.path, one.version))
    ]
    if bad:
        fix = (
            "do not start the migration before this is fixed: check meta.properties in every"
            " directory named here. A copied volume has the directory.id of its source; mount"
            " the right volume, or stop the broker, remove the line and let the broker write a"
            " new id. Replace version=1 by version=0, and node.id by broker.id. Of a partition's"
            " two logs, move the one without its records away"
        )
        return violated("log directories contradict each other", *bad, fix=fix)
    unread = [f"broker {one.id}: {each}" for one, _ in read for each in one.unread_meta]
    if unread:
        return missing_data(*unread, fix="run preflight as a user that may read these directories")
    count = sum(len(meta) for _, meta in read)
    others = len(facts.brokers) - len(read)
    rest = f"; {others} brokers are on other hosts and were not checked" if others else ""
    return satisfied(f"{count} meta.properties are consistent{rest}")


def _wants_ids(broker: Broker, meta: tuple[MetaProperties, ...]) -> bool:
    settings = {} if isinstance(broker.settings, Unknown) else broker.settings
    migrating = settings.get("zookeeper.metadata.migration.enable") == "true"
    return migrating or any(one.directory_id is not None for one in meta)

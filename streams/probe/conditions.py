"""The data of single conditions: partitions, settings, the quorum, the checks of preflight."""

import socket
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from migration.assessment.checks.check import Result
from migration.assessment.checks.phase import mode_of
from migration.assessment.checks.run import judge
from migration.assessment.conditions import (
    CheckSeen,
    PreflightSeen,
    QuorumSeen,
    SettingsSeen,
    TopicsSeen,
)
from migration.assessment.finding import Verdict
from migration.image.summary import Mode
from migration.observed.probed import (
    LISTENER_SETTINGS,
    LOG_DIR_SETTINGS,
    QUORUM_SETTINGS,
    Maybe,
    Quorum,
    Unknown,
    latest_quorum,
    log_dirs_of,
)
from streams.kafka.broker_values import ClusterView, PartitionView
from streams.kafka.errors import GRANT_FETCH, NotAuthorized
from streams.kafka.node import Node
from streams.net.endpoint import Endpoint
from streams.net.errors import LiveError
from streams.net.security import Security
from streams.probe.asking import in_parallel, maybe, query_node
from streams.probe.brokers import first_view, settings_of
from streams.probe.controllers import ask_fetch
from streams.probe.gather import Target, gather

_NAMED_MAX: Final = 20
_CONNECT_S_MAX: Final = 3.0
_ROLES: Final = "process.roles"
_MIGRATION: Final = "zookeeper.metadata.migration.enable"
_SETTINGS: Final = (_ROLES, _MIGRATION, *LISTENER_SETTINGS, *LOG_DIR_SETTINGS)


def ask_checks(target: Target, clock_ms: Callable[[], int]) -> Maybe[PreflightSeen]:
    """Gather all facts and run every check; takes seconds, at most about a minute."""
    at_ms = clock_ms()
    facts = gather(target)
    if facts.nothing_reached:
        return Unknown("neither ZooKeeper nor a broker or controller answers")
    results = judge(facts)
    return PreflightSeen(
        at_ms=at_ms,
        checks=len(results),
        blocking=tuple(_seen(each) for each in results if each.is_blocking),
        warning=tuple(_seen(each) for each in results if each.is_warning),
    )


def _seen(result: Result) -> CheckSeen:
    finding = result.finding
    is_unknown = finding.verdict is Verdict.UNKNOWN
    why = finding.evidence[:1] if is_unknown else ()
    text = ": ".join((finding.reason, *why))
    return CheckSeen(id=result.check.id, text=text, is_unknown=is_unknown)


def ask_topics(target: Target, clock_ms: Callable[[], int]) -> Maybe[TopicsSeen]:
    """Query the controller, whose view is ahead of all others', or any broker that answers.

    Under a KRaft controller, Kafka names an arbitrary broker as the controller.
    """
    at_ms = clock_ms()
    known = _cluster_view(target)
    if isinstance(known, Unknown):
        return known
    controller = known.brokers.get(-1 if known.controller is None else known.controller)
    first = target.brokers if controller is None else [controller, *target.brokers]
    same = replace(target, brokers=first, cluster_id=known.cluster_id)
    view = _cluster_view(same, topics=True)
    if isinstance(view, Unknown):
        return view
    if view.errors:
        named = sorted(view.errors.items())[:_NAMED_MAX]
        errors = ", ".join(f"{topic} (error code {code})" for topic, code in named)
        return Unknown(f"topics are listed with an error: {errors}")
    return _topics_seen(view, _reassigning(controller, target), at_ms)


def _reassigning(controller: Endpoint | None, target: Target) -> int | None:
    """Return the number of reassignments that the ZooKeeper controller knows.

    In KRaft the answer may be that of a controller that does not lead (observed on 3.9.1): there,
    `no_reassignment` reads the metadata log.
    """
    if controller is None:
        return None
    moves = query_node(controller, target.brokers_security, lambda node: node.reassignments())
    return None if moves is None or isinstance(moves, Unknown) else len(moves)


def _topics_seen(view: ClusterView, reassigning: int | None, at_ms: int) -> TopicsSeen:
    out = [(each, gone) for each in view.partitions.values() if (gone := _out_of_isr(each))]
    missing = Counter(broker for _, gone in out for broker in gone)
    alone = Counter(each.isr[0] for each, _ in out if len(each.isr) == 1)
    leaderless = [each for each in view.partitions.values() if each.leader is None]
    unhealthy = sorted(
        {(each.topic, each.partition) for each in (*leaderless, *(one for one, _ in out))}
    )
    return TopicsSeen(
        at_ms=at_ms,
        partitions=len(view.partitions),
        under_replicated=len(out),
        missing=dict(missing),
        alone=dict(alone),
        leaderless=len(leaderless),
        reassigning=reassigning,
        controller=view.controller,
        odd=len(unhealthy),
        named=tuple(_named(view.partitions[each]) for each in unhealthy[:_NAMED_MAX]),
    )


def _out_of_isr(partition: PartitionView) -> tuple[int, ...]:
    return tuple(each for each in partition.replicas if each not in partition.isr)


def _named(partition: PartitionView) -> str:
    leader = "no leader" if partition.leader is None else f"leader {partition.leader}"
    replicas, isr = list(partition.replicas), list(partition.isr)
    return f"{partition.topic}-{partition.partition}: {leader}, replicas {replicas}, ISR {isr}"


def ask_settings(target: Target, clock_ms: Callable[[], int]) -> Maybe[SettingsSeen]:
    at_ms = clock_ms()
    view = _cluster_view(target)
    if isinstance(view, Unknown):
        return view
    found = settings_of(view, target.brokers_security, _SETTINGS)
    known = {id_: each for id_, each in found.items() if not isinstance(each, Unknown)}
    answers = {id_: _mode(each) for id_, each in found.items()}
    return SettingsSeen(
        at_ms=at_ms,
        modes={id_: each for id_, each in answers.items() if not isinstance(each, Unknown)},
        silent={id_: each.why for id_, each in answers.items() if isinstance(each, Unknown)},
        listeners={
            id_: {name: each.get(name, "") for name in LISTENER_SETTINGS}
            for id_, each in known.items()
        },
        log_dirs={id_: log_dirs_of(each) for id_, each in known.items()},
    )


def _mode(settings: Maybe[Mapping[str, str]]) -> Maybe[Mode]:
    if isinstance(settings, Unknown):
        return settings
    if not settings.get(_ROLES) and settings.get(_MIGRATION) not in ("true", "false"):
        return Unknown(f"it does not report {_MIGRATION}")
    return mode_of(settings)


class _QuorumAnswer(NamedTuple):
    """The result of querying one controller.

    Attributes:
        quorum: None: it is not the leader, or did not answer.
        why: why it did not answer; None: it did.
        refused: the host refuses the connection.
        denied: it answers, and rejects the request as not authorized.
        settings: the leader's `QUORUM_SETTINGS`; None: unknown, or it does not lead.
    """

    quorum: Quorum | None = None
    why: str | None = None
    refused: bool = False
    denied: str | None = None
    settings: Mapping[str, str] | None = None


def ask_quorum(target: Target, clock_ms: Callable[[], int]) -> Maybe[QuorumSeen]:
    """Query every configured controller; only the leader describes the quorum.

    A controller of another cluster counts as silent, if the cluster id is known.
    """
    at_ms = clock_ms()
    if not target.controllers:
        return Unknown("the configuration names no controllers")
    answers = in_parallel(
        lambda one: _ask_controller(one, target.controllers_security, target.cluster_id),
        target.controllers,
    )
    latest = latest_quorum(each.quorum for each in answers)
    settings = [each.settings for each in answers if each.settings]
    denied = next((each.denied for each in answers if each.denied is not None), None)
    if denied is not None and latest is None:
        return Unknown(denied)
    pairs = list(zip(map(str, target.controllers), answers, strict=True))
    if latest is not None and (apart := _apart(latest, pairs)):
        return Unknown(
            f"{', '.join(apart)}: not part of the quorum that {latest.leader} leads: does"
            " `controllers` have an address of another cluster?"
        )
    return QuorumSeen(
        at_ms=at_ms,
        leader=None if latest is None else latest.leader,
        epoch=None if latest is None else latest.epoch,
        high_watermark=None if latest is None else latest.high_watermark,
        voters=() if latest is None else latest.progress,
        refused=tuple(endpoint for endpoint, each in pairs if each.refused),
        silent={
            endpoint: each.why
            for endpoint, each in pairs
            if each.why is not None and not each.refused
        },
        answering=sum(each.why is None for each in answers),
        settings=next(iter(settings), {}),
    )


def _apart(latest: Quorum, pairs: Iterable[tuple[str, _QuorumAnswer]]) -> list[str]:
    """Return the endpoints that lead a quorum without any voter of this one."""
    return [
        endpoint
        for endpoint, each in pairs
        if each.quorum is not None and not set(each.quorum.voters) & set(latest.voters)
    ]


def _ask_controller(
    endpoint: Endpoint, security: Security, cluster_id: str | None
) -> _QuorumAnswer:
    try:
        node = Node(endpoint, security)
    except LiveError as error:
        return _QuorumAnswer(why=str(error), refused=_refuses(endpoint))
    try:
        with node:
            if cluster_id is not None:
                may_fetch, agrees = ask_fetch(node, cluster_id)
                if isinstance(may_fetch, Unknown):
                    return _QuorumAnswer(why=may_fetch.why)
                if agrees is False:
                    return _QuorumAnswer(why=f"it belongs to another cluster, not {cluster_id}")
                if agrees is None:
                    return _QuorumAnswer(
                        denied=f"{endpoint}: whether it belongs to {cluster_id} is not known:"
                        f" {GRANT_FETCH}"
                    )
            quorum = node.quorum()
            if quorum is None:
                return _QuorumAnswer()
            settings = maybe(lambda: node.settings(quorum.leader, QUORUM_SETTINGS))
            known = None if isinstance(settings, Unknown) else settings
            return _QuorumAnswer(quorum=quorum, settings=known)
    except NotAuthorized as error:
        return _QuorumAnswer(denied=str(error))
    except LiveError as error:
        return _QuorumAnswer(why=str(error))


def _refuses(endpoint: Endpoint) -> bool:
    """Return whether the host is up, at each of its addresses, and refuses the connection."""
    try:
        address = endpoint.host, endpoint.port
        socket.create_connection(address, _CONNECT_S_MAX, all_errors=True).close()
    except OSError:
        return False
    except ExceptionGroup as errors:
        return all(isinstance(each, ConnectionRefusedError) for each in errors.exceptions)
    return False


def _cluster_view(target: Target, *, topics: bool = False) -> Maybe[ClusterView]:
    """Return the view of the first broker that answers, if it belongs to the expected cluster."""
    view = first_view(target.brokers, target.brokers_security, topics=topics)
    if isinstance(view, Unknown):
        return view
    why = target.mismatch(view.cluster_id)
    return view if why is None else Unknown(why)

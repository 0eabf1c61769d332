"""Queries the controllers, and whether they permit Kraftgate to follow their metadata log.

Permissions are tested without an effect: a FETCH as replica -1 is authorized before anything else
is checked (ControllerApis.handleFetch), so any answer except "not authorized" proves the
permission; it does not change a controller's log, high watermark or voters. It also contains the
cluster id, and a controller of another cluster rejects it (INCONSISTENT_CLUSTER_ID), which requires
no further permission.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from migration.assessment.checks.brokers import SETTINGS
from migration.metadata.versions import release_of_level
from migration.observed.probed import QUORUM_SETTINGS, Controller, Maybe, Quorum, Unknown
from streams.kafka import messages
from streams.kafka.error_codes import ErrorCode
from streams.kafka.errors import NotAuthorized, NotListening
from streams.kafka.messages import ClusterReply
from streams.kafka.node import Features, Node
from streams.net.endpoint import Endpoint
from streams.net.errors import LiveError
from streams.net.security import Security
from streams.probe.asking import in_parallel, maybe
from streams.probe.brokers import first_view, settings_of

_UNKNOWN_CLUSTER: Final = Unknown(
    "it does not report it: CLUSTER_ACTION or ALTER on CLUSTER is needed", denied=True
)
_UNKNOWN_NODE: Final = Unknown(
    "it does not report its node id: DESCRIBE and DESCRIBE_CONFIGS on CLUSTER are needed",
    denied=True,
)


def ask_controllers(
    bootstrap: Sequence[Endpoint], security: Security, cluster_id: str | None
) -> tuple[Controller, ...]:
    """Query every controller. `cluster_id`: the one that they should belong to, when known."""
    answers = in_parallel(lambda one: _ask(one, security, cluster_id), bootstrap)
    ids = sorted({id_ for each in answers for id_ in each.ids})
    return tuple(in_parallel(lambda each: _identified(each, ids, security), answers))


def ask_addresses(brokers: Sequence[Endpoint], security: Security) -> Maybe[tuple[str, ...]]:
    """Return host:port of each controller that a broker's settings name; empty: none does."""
    view = first_view(brokers, security, topics=False)
    if isinstance(view, Unknown):
        return view
    for settings in settings_of(view, security, QUORUM_SETTINGS).values():
        for name in QUORUM_SETTINGS:
            named = "" if isinstance(settings, Unknown) else settings.get(name, "")
            if named:
                return tuple(each.strip().rpartition("@")[2] for each in named.split(","))
    return ()


class _ControllerAnswer(NamedTuple):
    """The answers of one controller; `ids` are those of all controllers that it knows."""

    endpoint: Endpoint
    controller: Controller
    ids: frozenset[int] = frozenset()


def _ask(endpoint: Endpoint, security: Security, cluster_id: str | None) -> _ControllerAnswer:
    try:
        node = Node(endpoint, security)
    except LiveError as error:
        exists = not isinstance(error, NotListening)
        silent = Controller(endpoint=str(endpoint), unreachable=str(error), exists=exists)
        return _ControllerAnswer(endpoint, silent)
    with node:
        return _query(node, endpoint, cluster_id)


def _identified(answer: _ControllerAnswer, ids: Sequence[int], security: Security) -> Controller:
    """Determine the controller's id, if it did not report it, by requesting its settings.

    A controller describes its own configuration and rejects any other id.
    """
    controller = answer.controller
    if controller.unreachable is not None or isinstance(controller.node_id, int) or not ids:
        return controller
    try:
        node = Node(answer.endpoint, security)
    except LiveError:
        return controller
    with node:
        for id_ in ids:
            settings = maybe(lambda id_=id_: node.settings(id_, SETTINGS))  # type: ignore[misc]
            if not isinstance(settings, Unknown):
                return replace(controller, node_id=id_, settings=settings)
    return controller


def _query(node: Node, endpoint: Endpoint, cluster_id: str | None) -> _ControllerAnswer:
    features = maybe(node.features)
    may_describe, quorum = _quorum(node)
    may_fetch, agrees = ask_fetch(node, cluster_id, quorum)
    described = maybe(lambda: _cluster(node))
    node_id = _node_id(described, endpoint, quorum)
    controller = Controller(
        endpoint=str(endpoint),
        node_id=node_id,
        release=_release(features),
        metadata_version=features if isinstance(features, Unknown) else features.finalized,
        migration_ready=features if isinstance(features, Unknown) else features.migration_ready,
        cluster_id=_cluster_id(described, cluster_id, agrees=agrees),
        may_fetch=may_fetch,
        may_describe=may_describe,
        quorum=quorum,
        settings=node_id
        if isinstance(node_id, Unknown)
        else maybe(lambda: node.settings(node_id, SETTINGS)),
    )
    ids = set() if quorum is None else set(quorum.voters)
    if not isinstance(described, Unknown):
        ids.update(described.endpoints)
    return _ControllerAnswer(endpoint, controller, frozenset(ids))


def _release(features: Maybe[Features]) -> Maybe[tuple[int, ...]]:
    """Infer the release from the supported metadata.version; the APIs do not determine it."""
    if isinstance(features, Unknown):
        return features
    if features.supported is None:
        return Unknown("it supports no metadata.version: is it a controller?")
    return release_of_level(features.supported)


def _quorum(node: Node) -> tuple[Maybe[bool], Quorum | None]:
    try:
        return True, node.quorum()
    except NotAuthorized:
        return False, None
    except LiveError as error:
        return Unknown(str(error)), None


def ask_fetch(
    node: Node, cluster_id: str | None, quorum: Quorum | None = None
) -> tuple[Maybe[bool], bool | None]:
    """Return whether the log may be fetched, and whether the cluster id is right, when known."""
    try:
        request = messages.fetch_request(
            node.version(messages.FETCH),
            cluster_id=cluster_id,
            leader_epoch=0 if quorum is None else quorum.epoch,
            offset=0,
            last_fetched_epoch=0,
            max_wait_ms=0,
            max_bytes=1,
        )
        code = messages.read_fetch(node.ask(request)).error
    except LiveError as error:
        return Unknown(str(error)), None
    if code == ErrorCode.cluster_authorization_failed:
        return False, None
    return True, None if cluster_id is None else code != ErrorCode.inconsistent_cluster_id


def _cluster(node: Node) -> ClusterReply:
    version = node.version(messages.DESCRIBE_CLUSTER)
    return messages.read_cluster(node.ask(messages.cluster_request(version)))


def _node_id(
    described: Maybe[ClusterReply], endpoint: Endpoint, quorum: Quorum | None
) -> Maybe[int]:
    if quorum is not None:
        return quorum.leader  # only the leader describes the quorum
    if isinstance(described, Unknown):
        return described
    for id_, where in described.endpoints.items():
        if where == endpoint:
            return id_
    if described.error:
        return _UNKNOWN_NODE
    return Unknown(f"the controllers list none at {endpoint}, only under other names")


def _cluster_id(
    described: Maybe[ClusterReply], expected: str | None, *, agrees: bool | None
) -> Maybe[str]:
    if not isinstance(described, Unknown) and described.cluster_id is not None:
        return described.cluster_id
    if agrees is None or expected is None:
        return _UNKNOWN_CLUSTER
    return expected if agrees else "another one, which it does not report"

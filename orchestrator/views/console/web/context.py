"""The shared objects of the routes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from orchestrator.config.load import Config
from orchestrator.process.admission import Crowd
from orchestrator.run.assessed import Tick
from orchestrator.runbook.loaded import Loaded
from orchestrator.views.console.access.bearer_token import Token
from orchestrator.views.console.access.permissions import Access, Sessions
from orchestrator.views.console.access.redaction import RedactedJson
from orchestrator.views.console.answers.pending_replicas import Replicas
from orchestrator.views.console.feed.hub import Hub


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The objects of one console.

    Attributes:
        insecure: whether it serves plain HTTP beyond loopback.
        tls: whether it serves HTTPS.
        loaded: the runbook of each cluster that has one.
        tick: returns the last tick; None before the first.
    """

    config: Config
    cleaner: RedactedJson
    hub: Hub
    token: Token
    sessions: Sessions
    access: Access
    crowd: Crowd
    insecure: bool
    tls: bool
    replicas: Replicas
    loaded: Mapping[str, Loaded]
    tick: Callable[[], Tick | None]

"""What the routes have in common."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from orchestrator.config import Config
from orchestrator.console.access import Access
from orchestrator.console.clean import Cleaner
from orchestrator.console.hub import Hub
from orchestrator.console.pending import Replicas
from orchestrator.console.sessions import Sessions
from orchestrator.console.token import Token
from orchestrator.door import Crowd
from orchestrator.run.assessed import Tick
from orchestrator.runbook.loaded import Loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """One console.

    Attributes:
        insecure: it speaks plain HTTP beyond loopback.
        tls: it speaks HTTPS.
        loaded: the runbook of each cluster that has one.
        tick: gives the last tick; None before the first.
    """

    config: Config
    cleaner: Cleaner
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

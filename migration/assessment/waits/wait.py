"""One reason to wait: its name for scripts and alerts, and its text for an operator."""

import enum
from dataclasses import dataclass
from typing import Final


class WaitKind(enum.StrEnum):
    """The kind of a wait; the name stays when the text changes. In order of importance."""

    SOURCE_ERROR = "source_error"
    NOT_RUNNING = "not_running"
    NO_CONTROLLER = "no_controller"
    STALE_DATA = "stale_data"
    CATCHING_UP = "catching_up"
    ZOOKEEPER_BLIND = "zookeeper_blind"
    BROKER_STALLED = "broker_stalled"
    BROKER_HELD = "broker_held"
    REPLICAS_OFFLINE = "replicas_offline"
    DISKS_UNKNOWN = "disks_unknown"
    BROKER_FENCED = "broker_fenced"
    REPLICAS_PENDING = "replicas_pending"
    JMX_UNKNOWN = "jmx_unknown"
    ROLLING_BACK = "rolling_back"
    BROKER_IN_ZOOKEEPER_MODE = "broker_in_zookeeper_mode"
    CONTROLLERS = "controllers"
    REGISTRATIONS = "registrations"
    COPY = "copy"
    FINALIZE = "finalize"
    ROLLED_BACK = "rolled_back"


_NEED_A_PERSON: Final = frozenset(
    {
        WaitKind.SOURCE_ERROR,
        WaitKind.NOT_RUNNING,
        WaitKind.BROKER_STALLED,
        WaitKind.REPLICAS_OFFLINE,
        WaitKind.BROKER_IN_ZOOKEEPER_MODE,
        WaitKind.CONTROLLERS,
        WaitKind.FINALIZE,
        WaitKind.ROLLED_BACK,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """One reason to wait.

    Attributes:
        text: the reason as shown to users; follows "waiting for: ".
        broker: the broker that it concerns, if any.
        since_ms: since when, by the records' timestamps or the source's clock.
    """

    kind: WaitKind
    text: str
    broker: int | None = None
    since_ms: int | None = None

    @property
    def needs_person(self) -> bool:
        """Whether it lasts until an operator acts."""
        return self.kind in _NEED_A_PERSON

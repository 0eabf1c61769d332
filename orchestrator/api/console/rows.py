"""The rows of the console's model: brokers, directories, sources, hazards, waits, events."""

from collections.abc import Mapping
from typing import Literal

from migration.assessment.hazards import Action, HazardKind
from migration.assessment.waits.wait import WaitKind
from migration.image.summary import Mode
from migration.metadata.replica_state import ReplicaState
from migration.values.severity import Severity
from orchestrator.api.console.shape import Lane, Ms, Shape


class Eta(Shape):
    """When nothing pending should be left, if it goes on as it did.

    Attributes:
        at_ms: the estimate; `earliest_ms` and `latest_ms` its interval, null without one.
        made_at_ms: when it was made.
        how: from what, in words.
    """

    at_ms: Ms
    earliest_ms: Ms | None = None
    latest_ms: Ms | None = None
    made_at_ms: Ms
    how: str


class Early(Shape):
    """Kafka unfenced the broker while it was held; `standing`: it serves so now."""

    pending: int
    duration_ms: int | None
    standing: bool


class BrokerRow(Shape):
    """One broker.

    Attributes:
        registered: whether the controllers know it; else it is in /brokers/ids only and what the
            metadata log would tell is null.
        held: registered in KRaft mode, with replicas that have no directory since.
        stalled: held, without progress for longer than configured.
        replicas: by state; null: the metadata log has no say.
        pending: migrating and unassigned ones together.
        rate_per_second: replicas that got a directory, over the latest steps of progress.
        eta: of a held broker; `no_eta`: or why there is none, in words.
        last_progress_ms: when a replica of a held broker last got a directory, or, before the
            first, when it registered.
        urgency: 0 is the most urgent; the terminal's order is by (urgency, id).
    """

    id: int
    host: str | None
    rack: str | None
    mode: Mode
    registered: bool
    epoch: int | None
    fenced: bool | None
    shutting_down: bool | None
    held: bool
    stalled: bool
    unfenced_early: Early | None
    replicas: Mapping[ReplicaState, int] | None
    pending: int | None
    total: int | None
    under_replicated: int | None
    rate_per_second: float | None
    eta: Eta | None
    no_eta: str | None
    last_progress_ms: Ms | None
    registered_ms: Ms | None
    registered_offset: int | None
    unfenced_ms: Ms | None
    unfenced_offset: int | None
    complete_ms: Ms | None
    complete_offset: int | None
    urgency: int


class Cell(Shape):
    """One log directory of one broker.

    Attributes:
        path: as the broker names it; null: only the id is known.
        directory: its id, 22 characters; null: not known which it is.
        state: `offline`: known not to be usable; `unknown`: nobody can look.
        assigned: replicas that the metadata log has in it.
        pending: replicas that lie in it and have no directory in the metadata log.
        offline: replicas that cannot be reached in it.
        on_disk: replicas in it, as the broker or a look on its host last told.
    """

    path: str | None
    directory: str | None
    state: Literal["online", "offline", "unknown"]
    assigned: int | None
    pending: int | None
    offline: int | None
    on_disk: int | None


class Disks(Shape):
    """One broker's row of the heat map.

    Attributes:
        told_ms: when the broker last described its directories, to the minute; null: never.
        silent: why it does not answer now; null: it does, or was never asked.
        pending_elsewhere: pending replicas of which no directory is known to hold them; null: the
            metadata log has no say.
    """

    broker: int
    told_ms: Ms | None
    silent: str | None
    silent_since_ms: Ms | None
    pending_elsewhere: int | None
    cells: tuple[Cell, ...]


class Source(Shape):
    """One of the four sources.

    Attributes:
        in_use: whether the cluster still has it at this point of its way.
        current: whether what is known from it is the present.
        why_not: if it is not current.
        waiting: what it waits for, in its own words.
        error: why it cannot go on without a person.
        last_reply_ms: when it last got an answer.
        unread: what was seen and is yet to be taken in.
    """

    name: Literal["metadata_log", "zookeeper", "log_dirs", "jmx"]
    configured: bool
    in_use: bool
    current: bool
    why_not: str | None
    waiting: str | None
    error: str | None
    last_reply_ms: Ms | None
    endpoint: str | None
    unread: int | None
    limits: tuple[str, ...]


class HazardTold(Shape):
    """A hazard; `blocks`: what must not be done while it stands."""

    id: HazardKind
    severity: Severity
    blocks: Action | None
    broker: int | None
    text: str
    evidence: tuple[str, ...]
    way_out: str
    since_ms: Ms | None


class WaitTold(Shape):
    """A reason to wait, the most important first in its list."""

    name: WaitKind
    text: str
    broker: int | None
    since_ms: Ms | None
    needs_person: bool


class EventTold(Shape):
    """Something on the timeline.

    Attributes:
        id: unique in the cluster, and stable.
        at_ms: when the cluster says that it happened, else when it was seen.
        by: who decided.
        text: its fields as the terminal shows them.
    """

    id: str
    at_ms: Ms
    seen_ms: Ms | None
    lane: Lane
    kind: str
    broker: int | None
    offset: int | None
    checkpoint: str | None
    by: str | None
    text: str

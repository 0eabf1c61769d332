"""The contract between the console's server and its page: routes, events, JSON, errors.

Moments are ms since the epoch, UTC, and end in `_ms`; the page computes ages from `beat`'s clock.
Null means unknown, never zero. Texts are plain text: never show them as HTML. The streamed shapes
are here, on the rows that `status --json` prints too; those of single answers are in `answers`.

Reading (GET; no token on loopback, see Token):
    /               the page; /static/FILE its parts
    /api/state      `State`: everything, once
    /api/stream     server-sent events, see below
    /api/schema     JSON Schema of all of this, by the names of the shapes in `$defs`
    /api/session    `Session`: who may read from here; needs no token
    /api/clusters/NAME/timeline
        `Timeline`: counts for the axis. ?from_ms= &to_ms= (without them the whole window)
        &buckets=1..1000 (200) &lane= (repeat for several) &kind= &broker=
    /api/clusters/NAME/events
        `EventPage`. ?from_ms= &to_ms= (exclusive) &lane= (repeat for several) &kind= &broker=
        &limit=1..1000 (200) &order=newest|oldest (newest) &cursor= (from `next`)
    /api/clusters/NAME/brokers/ID/pending
        `PendingPage`. ?state= (repeat for several; the pending ones) &limit=1..1000 (200)
        &cursor=
    /api/clusters/NAME/checkpoints/ID
        `GateEvidence`: what the audit trail has of a checkpoint, the gate's judgements first of
        all. ID is a `CheckpointState.id` such as brokers-kraft[3], percent-encoded

Events of /api/stream; each but `beat` has an id, and data of one line of JSON:
    state    `State`: first, and after each reconnect (Last-Event-ID is ignored); again after the
             first tick if there was none before
    change   `Change`: the changes since the previous event. An absent key did not change; rows are
             complete
    beat     `Beat`: after the first `state`, and every 5 s; after 15 s without any event the data
             is stale: show that, reconnect
    end      `Beat`: kraftgate ends and closes the connection. Show that; reconnect slowly
Changes come at most every 100 ms. A slow reader gets them merged; one that does not read for 20 s
is disconnected. More than 64 streams, or 48 without the token: 503 `too_many`.

Changing (POST, `Content-Type: application/json`, `Authorization: Bearer TOKEN`, own origin):
    /api/clusters/NAME/approve, /done, /repeat, /execute, /skip    body `ActionRequest` with
                                                                   `checkpoint`
    /api/clusters/NAME/rollback    the same; without `checkpoint` from the current one
    /api/clusters/NAME/pause, /resume, /abort, /begin    body `ActionRequest`
        answer `ActionResult`; its effect arrives on the stream. With `at` and `basis`, it is
        refused if the execution has moved on, or the state to approve has changed, since.
    /api/session    body {}: 204 if the token is right, with a cookie that lets this browser read

Errors have the body `Failure`: 400 `bad_request`, 401 `token_needed`, `token_wrong`; 403
`other_origin`, `other_host`; 404 `not_found`; 405 `method`; 409 `refused`: the execution does not
allow it, with the command's message; 413 `too_long`; 415 `content_type`; 429 `slow_down`: too many
wrong tokens; 503 `too_many`, `not_known`: data is stale or missing; 500 `failed`.

Token: it is in the file that `kraftgate run` names at its start; the operator types it in. The page
keeps it in memory or sessionStorage and sends it in the header only, never in a URL. On loopback
every client may read. Elsewhere reading needs the token too: then `Session.may_read` is false and
the other routes of /api answer 401; the page asks for the token, POSTs /api/session and connects.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from migration.assessment.currency import LogData
from migration.image.summary import Mode, Phase
from migration.metadata.event_kinds import Weight
from migration.metadata.replica_state import ReplicaState
from orchestrator.api.rows import (
    AlertRow,
    BrokerRow,
    CheckpointRow,
    EtaRow,
    ExecutionRow,
    HazardRow,
    NextRow,
    WaitRow,
)
from orchestrator.api.shape import Moment, Row
from orchestrator.execution.allowed import Action

Lane: TypeAlias = Literal["metadata", "zookeeper", "disks", "jmx", "decisions"]
SourceName: TypeAlias = Literal["metadata_log", "zookeeper", "log_dirs", "jmx"]
CellState: TypeAlias = Literal["online", "offline", "unknown"]


class EtaState(EtaRow):
    """An estimate; its seconds count from `made_at_ms`."""

    made_at_ms: Moment


class BrokerState(BrokerRow):
    """One broker.

    Attributes:
        stalled: held, without progress for longer than configured.
        is_unfenced_early: held and unfenced.
        pending: replicas without a known directory; null, like `total`: unknown.
        eta: of a held broker.
        held_since_ms: when the hold, or the last one, began.
        last_progress_ms: when a replica of a held broker last got a directory; before the first,
            when the hold began.
        in_order: it needs no attention; one that has not migrated yet needs none.
        urgency: 0 is the most urgent; the terminal's order is by (urgency, id).
    """

    host: str | None
    rack: str | None
    stalled: bool
    is_unfenced_early: bool
    pending: int | None
    total: int | None
    eta: EtaState | None
    held_since_ms: Moment | None
    last_progress_ms: Moment | None
    in_order: bool
    urgency: int


class Cell(Row):
    """One log directory of one broker.

    Attributes:
        path: as the broker names it; null: only the id is known.
        directory: its id, 22 characters; null: unknown.
        state: `offline`: known to be unusable; `unknown`: no source describes it now.
        assigned: replicas that the metadata log has in it.
        pending: replicas in it that have no directory in the metadata log.
        offline: replicas in it that cannot be reached.
        on_disk: replicas in it, as last described by the broker or read on its host.
    """

    path: str | None
    directory: str | None
    state: CellState
    assigned: int | None
    pending: int | None
    offline: int | None
    on_disk: int | None


class Disks(Row):
    """One broker's row of the heat map.

    Attributes:
        told_ms: when the broker last described its directories, to the minute; null: never.
        silent: why it does not answer now; null: it does, or was never polled.
        pending_elsewhere: pending replicas that no known directory holds; null: the metadata log
            is not authoritative.
    """

    broker: int
    told_ms: Moment | None
    silent: str | None
    silent_since_ms: Moment | None
    pending_elsewhere: int | None
    cells: tuple[Cell, ...]


class SourceState(Row):
    """One of the four sources.

    Attributes:
        in_use: whether the cluster still has it in this phase.
        why_not: why it is not current.
        waiting: what it waits for, as it reports.
        error: what an operator must fix.
        unread: records or facts that were received and not processed yet.
    """

    name: SourceName
    configured: bool
    in_use: bool
    current: bool
    why_not: str | None
    waiting: str | None
    error: str | None
    last_reply_ms: Moment | None
    endpoint: str | None
    unread: int | None
    limits: tuple[str, ...]


class WaitState(WaitRow):
    """A reason to wait; `needs_person`: it lasts until an operator acts."""

    needs_person: bool


class TimelineEvent(Row):
    """An event or a decision on the timeline.

    Attributes:
        id: unique in the cluster, and stable.
        at_ms: by the cluster's clock; if unknown, when it was observed.
        by: who decided.
        weight: how much it matters; `bad`: something failed, or may be lost.
        text: a sentence.
    """

    id: str
    at_ms: Moment
    seen_ms: Moment | None
    lane: Lane
    kind: str
    broker: int | None
    offset: int | None
    checkpoint: str | None
    by: str | None
    weight: Weight
    text: str


class Instance(CheckpointRow):
    """A checkpoint for one broker or controller: `id` is like brokers-kraft[3]."""

    of: int


class CheckpointState(CheckpointRow):
    """A checkpoint of the runbook's path, in the order of the execution.

    Attributes:
        for_each: it has an instance for each of these; `instances` are the entered ones, and
            `stage` is that of the first unfinished one.
        people: how many must approve its step; 0: nobody, or those of an earlier checkpoint.
        destructive: its step removes data.
        step: the step's name; null: it only waits for its gate.
        needs, opens_when: the guards and the gate, as in the runbook.
    """

    title: str
    explain: str
    for_each: Literal["broker", "controller"] | None
    instances: tuple[Instance, ...]
    irreversible: bool
    destructive: bool
    people: int
    step: str | None
    needs: tuple[str, ...]
    opens_when: tuple[str, ...]


class ExecutionState(ExecutionRow):
    """The execution of the runbook; its `at_ms` is cut to the minute.

    Attributes:
        stage_text: the stage as in the terminal.
        holds: why it does not continue, the most severe reason first.
        people: how many must approve the step before it begins; 0: none.
        basis: identifies the state that an approval would be given for; null: none is needed.
            Send it with an approval.
        approved_by: whose approvals are in force.
        output: the last lines that the failed hook printed.
        can: the actions that are possible now, the most likely first.
        at: what each of them concerns: the execution, its pause, or an attempt at the current
            checkpoint. Send it with the action.
    """

    stage_text: str | None
    holds: tuple[str, ...]
    people: int
    basis: str | None
    approved_by: tuple[str, ...]
    output: tuple[str, ...]
    can: tuple[Action, ...]
    at: Mapping[Action, str]


class PhaseStep(Row):
    """A phase of the migration; `rolled-back` and `kraft`, outside its order, stand alone."""

    phase: Phase
    state: Literal["behind", "here", "ahead"]


class Next(NextRow):
    """The next action; `more`: the number of further reasons to wait."""

    more: int


class Head(Row):
    """The top of the page.

    Attributes:
        phase: null: unknown; see `ClusterSummary.known_phase`.
        phase_since_ms: when the phase began.
        current: `reading`: records are unread; `over`: nothing writes the metadata log any more.
        current_text: the same as text.
        last_reply_ms: when a controller last answered.
        observed_ms: the timestamp of the last metadata record.
        behind: committed records that are unread.
        topics, partitions, replicas: null: the metadata log is not authoritative.
        held, fenced, unfenced_early: numbers of brokers; null: no metadata record was read.
        eta: until no broker is held; null: none is.
        limits: what the sources cannot show.
        hazards_not_known: why hazards may exist that are not shown; empty: all are known.
    """

    phase: Phase | None
    phases: tuple[PhaseStep, ...]
    phase_since_ms: Moment | None
    current: LogData
    current_text: str
    next: Next
    eta: EtaState | None
    last_reply_ms: Moment | None
    observed_ms: Moment | None
    metadata_offset: int | None
    behind: int
    active_controller: int | None
    leader_epoch: int | None
    metadata_version: str | None
    topics: int | None
    partitions: int | None
    under_replicated: int | None
    leaderless: int | None
    reassigning: int | None
    brokers: Mapping[Mode, int]
    held: int | None
    fenced: int | None
    unfenced_early: int | None
    replicas: Mapping[ReplicaState, int] | None
    limits: tuple[str, ...]
    hazards_not_known: tuple[str, ...]


class ClusterState(Row):
    """One cluster.

    Attributes:
        walkable: whether a runbook is configured.
        walk: null: there is no execution.
        alerts: the active ones, the critical ones first.
        checkpoints: of the runbook; empty: there is no execution.
        events: the newest ones by `at_ms`, oldest first, at most 200.
    """

    name: str
    walkable: bool
    head: Head
    sources: tuple[SourceState, ...]
    walk: ExecutionState | None
    checkpoints: tuple[CheckpointState, ...]
    waits: tuple[WaitState, ...]
    hazards: tuple[HazardRow, ...]
    alerts: tuple[AlertRow, ...]
    brokers: tuple[BrokerState, ...]
    disks: tuple[Disks, ...]
    events: tuple[TimelineEvent, ...]


class State(Row):
    """Everything; `clusters` in the configuration's order, empty before the first tick.

    Attributes:
        insecure: plain HTTP beyond loopback: show that.
    """

    at_ms: Moment
    version: str
    stall_after_ms: int
    insecure: bool
    clusters: tuple[ClusterState, ...]


class ClusterChange(Row):
    """The changes of one cluster; an absent key did not change.

    Attributes:
        brokers: rows that replace those with their id; so for `disks`.
        events: new ones, to sort in by `at_ms`; `events_missed`: they replace all others.
        waits, hazards, alerts: the first 200; `Next.more` counts all.
    """

    name: str
    head: Head | None = None
    sources: tuple[SourceState, ...] = ()
    walk: ExecutionState | None = None
    checkpoints: tuple[CheckpointState, ...] = ()
    waits: tuple[WaitState, ...] = ()
    hazards: tuple[HazardRow, ...] = ()
    alerts: tuple[AlertRow, ...] = ()
    brokers: tuple[BrokerState, ...] = ()
    brokers_gone: tuple[int, ...] = ()
    disks: tuple[Disks, ...] = ()
    disks_gone: tuple[int, ...] = ()
    events: tuple[TimelineEvent, ...] = ()
    events_missed: bool = False


class Change(Row):
    """The changes since the previous event of the stream."""

    at_ms: Moment
    clusters: tuple[ClusterChange, ...]

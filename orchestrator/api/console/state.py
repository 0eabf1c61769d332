"""The contract between the console's server and its page: routes, events, JSON, errors.

Times are ms since the epoch, UTC, and end in `_ms`; they are moments, so an age is the page's to
work out, from `beat`'s clock. Null is "not known", never zero. Texts are plain text: show them as
such, never as HTML. The shapes are here (what is streamed) and in `model_rows`, `model_walk` and
`model_answers`.

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
        `PendingPage`. ?state= (repeat for several; migrating and unassigned) &limit=1..1000 (200)
        &cursor=
    /api/clusters/NAME/checkpoints/ID
        `GateEvidence`: what the audit trail has of a checkpoint, the gate's judgements first of
        all. ID is a `CheckpointTold.id` such as brokers-kraft[3], percent-encoded

Events of /api/stream; each but `beat` has an id, and data of one line of JSON:
    state    `State`: first of all, and after each reconnect (Last-Event-ID changes nothing); a
             second one when there was no look at the clusters before
    change   `Change`: what is other than before. An absent key did not change; rows are whole
    beat     `Beat`: every 5 s; nothing at all for 15 s: what is shown is old, so say it, reconnect
    end      `Beat`: kraftgate ends, and the connection is closed. Say so; reconnect slowly
Changes come at most every 100 ms. A reader that is slow gets them joined together; one that does
not read for 20 s is cut off. More than 64 streams, or 48 without the token: 503 `too_many`.

Changing (POST, `Content-Type: application/json`, `Authorization: Bearer TOKEN`, own origin):
    /api/clusters/NAME/approve                   body `Say` with `checkpoint`
    /api/clusters/NAME/pause, /resume, /abort    body `Say`
        answer `Done`; what follows from it comes by the stream.
    /api/session    body {}: 204 if the token holds, with a cookie by which this browser may read

Errors have the body `Failure`: 400 `bad_request`, 401 `token_needed`, `token_wrong`; 403
`other_origin`, `other_host`; 404 `not_found`; 405 `method`; 409 `refused`: the walk does not allow
it, in the words of the command; 413 `too_long`; 415 `content_type`; 429 `slow_down`: too many wrong
tokens; 503 `too_many`, `not_known`: data is stale or missing; 500 `failed`.

Token: the person finds it in the file that `kraftgate run` names at its start, and types it in.
The page keeps it in memory or sessionStorage and sends it in the header only, never in an URL. On
loopback whoever reaches the port may read. Elsewhere reading needs the token too: then
`Session.may_read` is false and the other routes of /api answer 401; the page asks for the token,
POSTs /api/session and connects.
"""

from collections.abc import Mapping
from typing import Literal

from migration.assessment.waits.wait import WaitKind
from migration.image.summary import Mode, Phase
from migration.metadata.replica_state import ReplicaState
from orchestrator.api.console.execution import CheckpointTold, WalkState
from orchestrator.api.console.rows import (
    BrokerRow,
    Disks,
    Eta,
    EventTold,
    HazardTold,
    Source,
    WaitTold,
)
from orchestrator.api.console.shape import Ms, Shape


class PhaseStep(Shape):
    """A phase of the line; a phase beside the way (rolled-back, kraft) stands alone."""

    phase: Phase
    state: Literal["behind", "here", "ahead"]


class Waiting(Shape):
    """The one thing that is waited for.

    Attributes:
        text: in the words of the terminal, also when it is nothing.
        by: whether the runbook's checkpoint holds, or the migration itself waits.
        name: of the reason; null: of the runbook's own.
        more: how many further reasons there are.
        needs_person: it will not come by itself.
    """

    text: str
    by: Literal["runbook", "migration", "nothing"]
    name: WaitKind | None
    broker: int | None
    since_ms: Ms | None
    more: int
    needs_person: bool


class Head(Shape):
    """The top of the page.

    Attributes:
        phase_since_ms: when the phase began.
        current: `current`: what is shown is the present; `reading`: records are yet to be read;
            `over`: nobody writes the metadata log any more. Else it is old or nothing is known.
        current_text: the same in words.
        last_reply_ms: when a controller last answered.
        observed_ms: the timestamp of the last metadata record.
        behind: committed records that are yet to be read.
        replicas: of all brokers, by state; null: the metadata log has no say.
        eta: until no broker is held; null: none is, or `no_eta` says why it is not known.
        limits: what the sources do not see here.
    """

    phase: Phase
    phases: tuple[PhaseStep, ...]
    phase_since_ms: Ms | None
    current: Literal["current", "reading", "stale", "no_data", "source_error", "over", "finished"]
    current_text: str
    waiting: Waiting
    eta: Eta | None
    no_eta: str | None
    last_reply_ms: Ms | None
    observed_ms: Ms | None
    metadata_offset: int | None
    behind: int
    active_controller: int | None
    leader_epoch: int | None
    metadata_version: int | None
    topics: int
    partitions: int
    under_replicated: int | None
    leaderless: int | None
    reassigning: int | None
    brokers: Mapping[Mode, int]
    held: int
    fenced: int
    unfenced_early: int
    replicas: Mapping[ReplicaState, int] | None
    limits: tuple[str, ...]


class ClusterState(Shape):
    """One cluster.

    Attributes:
        walk: null: no runbook is walked.
        events: the newest ones, oldest first, at most 200.
        walkable: whether a runbook is configured.
        checkpoints: of the runbook that is walked; empty: its text is not at hand.
    """

    name: str
    walkable: bool
    head: Head
    sources: tuple[Source, ...]
    walk: WalkState | None
    checkpoints: tuple[CheckpointTold, ...]
    waits: tuple[WaitTold, ...]
    hazards: tuple[HazardTold, ...]
    brokers: tuple[BrokerRow, ...]
    disks: tuple[Disks, ...]
    events: tuple[EventTold, ...]


class State(Shape):
    """Everything; `clusters` in the configuration's order, empty before the first look.

    Attributes:
        insecure: the console is served over plain HTTP beyond its own host: show that.
    """

    at_ms: Ms
    version: str
    stall_after_ms: int
    insecure: bool
    clusters: tuple[ClusterState, ...]


class ClusterChange(Shape):
    """What changed of one cluster; absent keys did not.

    Attributes:
        brokers: rows to put in place of those with their id; so for `disks`.
        events: new ones, to append; `events_missed`: some before them are not in here.
        waits, hazards: the first 200; `Waiting.more` counts all.
    """

    name: str
    head: Head | None = None
    sources: tuple[Source, ...] = ()
    walk: WalkState | None = None
    checkpoints: tuple[CheckpointTold, ...] = ()
    waits: tuple[WaitTold, ...] = ()
    hazards: tuple[HazardTold, ...] = ()
    brokers: tuple[BrokerRow, ...] = ()
    brokers_gone: tuple[int, ...] = ()
    disks: tuple[Disks, ...] = ()
    disks_gone: tuple[int, ...] = ()
    events: tuple[EventTold, ...] = ()
    events_missed: bool = False


class Change(Shape):
    """What changed since the event before."""

    at_ms: Ms
    clusters: tuple[ClusterChange, ...]

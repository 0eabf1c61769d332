"""The heat map: each broker's log directories, and the replicas in them.

The metadata log knows directories by id, the brokers by path (see
`ClusterSummary.directory_ids`). A replica without a directory in the metadata log has one on the
disk: in a directory whose id is known, replicas beyond the assigned ones are pending.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from migration.assessment.failed_directories import DirectoryFailed, state_of
from migration.observed.facts import LogDirSeen
from migration.observed.log_dirs import BrokerDisks
from orchestrator.api.console.state import Cell, CellState, Disks
from orchestrator.run.assessed import Assessed

_MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskFacts:
    """The facts of one broker's row; the log's are None where it is not authoritative."""

    disks: BrokerDisks
    failed: tuple[DirectoryFailed, ...]
    assigned: Mapping[str, int] | None
    pending: int | None
    registered: frozenset[str]
    ids: Mapping[str, str]

    @property
    def answers(self) -> bool:
        return self.disks.unreachable is None and self.disks.answered_ms is not None


def disk_facts(one: Assessed) -> Iterator[DiskFacts]:
    """Yield the facts of each broker that a source knows, by id."""
    summary, failed = one.summary, one.assessment.failed_by_broker
    brokers = {each.id: each for each in summary.brokers}
    disks, identities = one.disks, summary.directory_ids()
    for id_ in sorted({*brokers, *disks, *failed}):
        broker, bad = brokers.get(id_), failed.get(id_, ())
        known = broker if broker is not None and one.assessment.counts(broker) else None
        ids = {path: each.directory for path, each in identities.get(id_, {}).items()}
        named = {each.path: each.directory for each in bad if each.path and each.directory}
        yield DiskFacts(
            disks=disks.get(id_, BrokerDisks(id=id_)),
            failed=bad,
            assigned=None if known is None else known.directories,
            pending=None if known is None else known.pending,
            registered=frozenset(() if broker is None else broker.log_dirs),
            ids={path: e for path, e in ids.items() if e not in named.values()} | named,
        )


def disks_row(known: DiskFacts) -> Disks:
    """Return one broker's directories, by path, then those of which only the id is known."""
    cells = (*_by_path(known), *_by_id(known))
    placed = sum(each.pending or 0 for each in cells)
    answered_ms = known.disks.answered_ms
    return Disks(
        broker=known.disks.id,
        told_ms=None if answered_ms is None else answered_ms - answered_ms % _MINUTE_MS,
        silent=known.disks.unreachable,
        silent_since_ms=known.disks.unreachable_since_ms,
        pending_elsewhere=None if known.pending is None else max(0, known.pending - placed),
        cells=cells,
    )


def _by_path(known: DiskFacts) -> Iterator[Cell]:
    left = known.pending
    for each in sorted(known.disks.log_dirs, key=lambda one: one.path):
        directory = known.ids.get(each.path)
        state: CellState = state_of(each, known.disks, known.failed).value
        here = each.replicas if state == "online" and known.answers else None
        assigned = _assigned(known, directory)
        pending = _pending(here, assigned, left, known)
        if pending is not None and left is not None:
            left -= pending
        yield Cell(
            path=each.path,
            directory=directory,
            state=state,
            assigned=assigned,
            pending=pending,
            offline=_cut_off(known, each, state, assigned),
            on_disk=here,
        )


def _by_id(known: DiskFacts) -> Iterator[Cell]:
    """Yield the directories that the metadata log names and that have no known path."""
    named = {known.ids.get(each.path) for each in known.disks.log_dirs}
    hosted = known.assigned or {}
    failed = [each.directory for each in known.failed if each.path is None]
    known_ids = ({*known.registered, *hosted} - named) | {*failed}
    for directory in sorted(known_ids, key=lambda id_: id_ or ""):
        registered = directory in known.registered or not known.registered
        online = registered and directory not in failed
        count = None if known.assigned is None else hosted.get(directory or "", 0)
        yield Cell(
            path=None,
            directory=directory,
            state="online" if online else "offline",
            assigned=count,
            pending=0 if known.pending == 0 else None,
            offline=0 if online else count,
            on_disk=None,
        )


def _assigned(known: DiskFacts, directory: str | None) -> int | None:
    if known.assigned is None:
        return None
    if directory is None:  # if the log assigns nothing to any directory, this one has none either
        return None if known.assigned else 0
    return known.assigned.get(directory, 0)


def _pending(
    here: int | None, assigned: int | None, left: int | None, known: DiskFacts
) -> int | None:
    """Return the replicas here without a directory in the log; at most the broker's number."""
    if known.pending == 0:
        return 0
    if here is None or assigned is None or left is None:
        return None
    return min(max(0, here - assigned), left)


def _cut_off(
    known: DiskFacts, log_dir: LogDirSeen, state: CellState, assigned: int | None
) -> int | None:
    cut_off = known.disks.cut_off.get(log_dir.path)
    if cut_off is not None:
        return cut_off.replicas
    if state == "online":
        return 0
    return assigned if state == "offline" else None

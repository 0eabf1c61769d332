"""Reads all facts that a state directory has; it does not connect to the cluster."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from migration.assessment.assess import unread_facts
from migration.assessment.currency import unread_records
from migration.assessment.data_source import SOURCE_WORDS, DataSource
from migration.values.evidence import capitalized
from orchestrator.audit import AUDIT_FILE, GENESIS, AuditLog, Entry, VerifyResult
from orchestrator.audit.execution.entries import RUNBOOKS
from orchestrator.audit.kinds import EntryKind
from orchestrator.config.load import Config
from orchestrator.config.models import ClusterEntry
from orchestrator.errors import AuditError, FollowingError, NoDataError, RunbookError
from orchestrator.run.assessed import configured_sources
from orchestrator.run.execution_status import read_for
from orchestrator.run.reader import STORE_FILE, ClusterRead, open_store, read_cluster, require_id
from orchestrator.runbook.load import load_kept
from orchestrator.runbook.loaded import Loaded
from streams.spark.transition_files import (
    TransitionColumns,
    TransitionsUnreadable,
    read_transitions,
)
from streams.state.store import Store, StoreError

TRANSITIONS: Final = "transitions"
READ_AGAIN: Final = (
    "start `kraftgate run`, or restore store.db* from a backup, as `kraftgate help"
    " state-and-backup` describes"
)
"""What to do if the store lacks data about a cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFacts:
    """The facts about one cluster.

    Attributes:
        entry: its configuration.
        snapshot: its summary, every event, and the last state of its sources.
        entries: its entries in the audit trail, up to the last intact one.
        unread: why the store has no data about it, or not all data; None: it has all.
        transitions: None: they cannot be read.
        unreadable: why some facts could not be read, in sentences.
        runbooks: the executed runbooks by hash, if their text is stored.
        stall_after_ms: as configured.
    """

    entry: ClusterEntry
    snapshot: ClusterRead
    entries: tuple[Entry, ...]
    unread: str | None
    transitions: TransitionColumns | None
    unreadable: tuple[str, ...]
    runbooks: Mapping[str, Loaded]
    stall_after_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The content of a state directory; `audit` None: there is no audit trail."""

    audit: VerifyResult | None
    audit_file: Path
    clusters: tuple[ClusterFacts, ...]


def gather(config: Config, clusters: Sequence[str]) -> Facts:
    """Return the facts about these clusters.

    Raises:
        NoDataError: there is neither a store nor an audit trail.
        FollowingError: the store cannot be read.
        ConfigError: the state belongs to another cluster than the configured one.
    """
    path = config.state_dir / AUDIT_FILE
    store = open_store(config.state_dir)
    if store is None and not path.exists():
        raise NoDataError(
            f"{config.state_dir} has neither {STORE_FILE} nor {AUDIT_FILE}: nothing was followed"
            f" with {config.path} yet. Start `kraftgate run` with it, or name the configuration"
            " that the window was followed with by --config"
        )
    verified, entries = _trail(path)
    try:
        found = tuple(
            _gathered(config, store, each, [e for e in entries if e.cluster == each.name])
            for each in config.clusters
            if each.name in clusters
        )
    except StoreError as error:
        raise FollowingError(str(error)) from error
    return Facts(audit=verified, audit_file=path, clusters=found)


def _trail(path: Path) -> tuple[VerifyResult | None, list[Entry]]:
    """Return the verification of the trail, and its entries up to the last intact one."""
    try:
        with AuditLog.open_readonly(path) as log:
            verified = log.verify()
            return verified, log.entries(limit=verified.count)
    except NoDataError:
        return None, []
    except AuditError as error:
        return VerifyResult(ok=False, count=0, head=GENESIS, why=str(error)), []


def _gathered(
    config: Config, store: Store | None, entry: ClusterEntry, entries: list[Entry]
) -> ClusterFacts:
    name, state_dir = entry.name, config.state_dir
    one = read_cluster(store, state_dir, name, execution=read_for(state_dir, name))
    require_id(config, entry, one.sources)
    transitions, why = _transitions(state_dir, store, name)
    unread, known = _unread(state_dir / STORE_FILE, store, one), "unknown"
    if unread is None:
        unread, known = _behind(state_dir / STORE_FILE, entry, one), "out of date"
    unreadable = [] if why is None else [why]
    if unread is not None:
        unreadable.append(
            f"Phase, brokers, events and replicas are {known}: {unread}. {capitalized(READ_AGAIN)}."
        )
    sha256s = {str(e.body.get("sha256")) for e in entries if e.kind == EntryKind.WALK_BEGAN}
    return ClusterFacts(
        entry=entry,
        snapshot=one,
        entries=tuple(entries),
        unread=unread,
        transitions=transitions,
        unreadable=tuple(unreadable),
        runbooks=_runbooks(state_dir / RUNBOOKS, sha256s),
        stall_after_ms=config.stall_after_ms,
    )


def _unread(path: Path, store: Store | None, one: ClusterRead) -> str | None:
    """Return why the store has no data about the cluster; None: it has data."""
    if store is None:
        return f"{path} {'is empty' if path.exists() else 'does not exist'}"
    seen = one.summary
    if seen.known_phase or seen.disks or one.events:
        return None
    return f"{path} has no data of {seen.cluster}"


def _behind(path: Path, entry: ClusterEntry, one: ClusterRead) -> str | None:
    """Return which data the store lacked when its source last reported; None: it had all."""
    found = []
    for source in sorted(configured_sources(entry)):
        if source is not DataSource.METADATA_LOG:
            why = unread_facts(one.journals.get(source), one.sources[source].observed_ms)
        elif one.position(source)[0] is None:
            continue  # no controller ever reported the end of the log
        else:
            why = unread_records(one.summary, one.status)
        if why is not None:
            found.append(f"{SOURCE_WORDS[source]}: {why}")
    return f"{path} lacks data of {entry.name}: {'; '.join(found)}" if found else None


def _transitions(
    state_dir: Path, store: Store | None, name: str
) -> tuple[TransitionColumns | None, str | None]:
    files = [] if store is None else store.transition_files(name)
    try:
        return read_transitions(state_dir / TRANSITIONS, [each.path for each in files]), None
    except TransitionsUnreadable as error:
        return None, (
            f"It is unknown which replicas were assigned, when and how fast: {error}. Restore it"
            " from a backup, as `kraftgate help state-and-backup` describes."
        )


def _runbooks(folder: Path, sha256s: set[str]) -> dict[str, Loaded]:
    """Return the runbooks whose stored text has the executed hash; others have no titles."""
    found = {}
    for sha256 in sha256s:
        try:
            loaded = load_kept(folder / f"{sha256}.yaml")
        except RunbookError:
            continue  # `runbook_kept` reports it
        if loaded.sha256 == sha256:
            found[sha256] = loaded
    return found

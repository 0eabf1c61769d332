"""The times in which a source was not current, and what may have been missed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal

from migration.assessment.conditions import DataSource
from migration.image.summary import WITHOUT_ZOOKEEPER, Phase
from migration.metadata.events import Event
from orchestrator.api.report.report import PhaseSpan, UnseenAccount
from orchestrator.api.report.shape import span
from orchestrator.audit.run_spans import NOT_RUNNING, Periods, SourceGap

_READ_LATER: Final = "nothing: the controllers keep the log, and reading resumed at the last offset"
_ZOOKEEPER: Final = "changes that were reverted meanwhile; everything else was read afterwards"
_DISKS: Final = "a failed directory that came back, and records that were lost and written again"
_JMX: Final = "numbers that rose and fell again"


def gaps(
    events: Sequence[Event], found: Periods, phases: Sequence[PhaseSpan], as_of_ms: int
) -> list[UnseenAccount]:
    """Return the times in which a source in use was not current, by their beginning."""
    all_ = [
        *_skipped(events, as_of_ms),
        *_zookeeper(events, as_of_ms),
        *_nodes(events, as_of_ms),
        *(_lost(each, as_of_ms) for each in found.gaps if each.source in _KEPT),
    ]
    parts = [part for each in all_ for part in _in_use(each, phases, as_of_ms)]
    return sorted(parts, key=lambda each: (each.began_at or 0, each.source, each.node or 0))


_KEPT: Final = (DataSource.METADATA_LOG, DataSource.LOG_DIRS, DataSource.JMX)
"""Without ZooKeeper: its own events report its gaps, also those between two processes."""
_MISSED: Final = {DataSource.METADATA_LOG: _READ_LATER, DataSource.LOG_DIRS: _DISKS}


_UNUSED: Final[Mapping[str, frozenset[str]]] = {
    "zookeeper": frozenset(WITHOUT_ZOOKEEPER),
    "metadata_log": frozenset({Phase.ROLLED_BACK}),
}
"""In these phases the cluster does not use the source: it may be switched off as planned."""


def _in_use(
    each: UnseenAccount, phases: Sequence[PhaseSpan], as_of_ms: int
) -> Iterator[UnseenAccount]:
    """Yield the parts of a gap in phases in which the cluster uses the source."""
    unused = _UNUSED.get(each.source, frozenset())
    rest: UnseenAccount | None = each
    for phase in phases:
        if rest is None or phase.phase not in unused or phase.began_at is None:
            continue
        if rest.began_at is None or rest.began_at < phase.began_at:
            if rest.ended_at is not None and rest.ended_at <= phase.began_at:
                break
            yield _cut(rest, rest.began_at, phase.began_at, as_of_ms)
        rest = _behind(rest, phase.ended_at, as_of_ms)
    if rest is not None:
        yield rest


def _behind(each: UnseenAccount, ms: int | None, as_of_ms: int) -> UnseenAccount | None:
    """Return the part of a gap from a moment on; None: there is none."""
    if ms is None or (each.ended_at is not None and each.ended_at <= ms):
        return None
    return _cut(each, max(ms, each.began_at or ms), each.ended_at, as_of_ms)


def _cut(
    each: UnseenAccount, began_ms: int | None, ended_ms: int | None, as_of_ms: int
) -> UnseenAccount:
    of = span(began_ms, ended_ms, as_of_ms, exact=each.exact)
    return each.model_copy(update=of.model_dump())


def _lost(each: SourceGap, as_of_ms: int) -> UnseenAccount:
    source: Literal["metadata_log", "log_dirs", "jmx"] = (
        "metadata_log"
        if each.source == DataSource.METADATA_LOG
        else "log_dirs"
        if each.source == DataSource.LOG_DIRS
        else "jmx"
    )
    return UnseenAccount(
        **span(each.began_ms, each.ended_ms, as_of_ms).model_dump(),
        source=source,
        node=None,
        why=each.why,
        missed=_MISSED.get(DataSource(each.source), _JMX),
    )


def _skipped(events: Iterable[Event], as_of_ms: int) -> Iterator[UnseenAccount]:
    """Yield the gaps whose records the controllers trimmed before they were read.

    A snapshot replaces these records. The first snapshot of a log is the start of reading: it
    skipped nothing.
    """
    for event in events:
        skipped = event.fields.get("skipped")
        if event.kind == "snapshot_loaded" and isinstance(skipped, int) and skipped > 0:
            yield UnseenAccount(
                **span(None, event.moment_ms, as_of_ms, exact=False).model_dump(),
                source="metadata_log",
                node=None,
                why=f"{skipped} records were trimmed before they were read",
                missed="changes that were reverted in them; the snapshot has the state after them",
            )


def _zookeeper(events: Iterable[Event], as_of_ms: int) -> Iterator[UnseenAccount]:
    lost: Event | None = None
    for event in events:
        if event.kind == "zookeeper_blind":
            lost = event
        elif event.kind == "zookeeper_seen_again":
            since_ms = event.fields.get("blind_since_ms")
            began_ms = since_ms if isinstance(since_ms, int) else None
            why = NOT_RUNNING if lost is None else str(lost.fields.get("reason"))
            yield _of_zookeeper(began_ms, event.moment_ms, why, as_of_ms)
            lost = None
    if lost is not None:
        yield _of_zookeeper(lost.moment_ms, None, str(lost.fields.get("reason")), as_of_ms)


def _of_zookeeper(
    began_ms: int | None, ended_ms: int | None, why: str, as_of_ms: int
) -> UnseenAccount:
    return UnseenAccount(
        **span(began_ms, ended_ms, as_of_ms).model_dump(),
        source="zookeeper",
        node=None,
        why=why,
        missed=_ZOOKEEPER,
    )


_SILENT: Final = {"disks_unreachable": "log_dirs", "jmx_unreachable": "jmx"}
_AGAIN: Final = {"disks_answer_again": "log_dirs", "jmx_answers_again": "jmx"}


def _nodes(events: Iterable[Event], as_of_ms: int) -> Iterator[UnseenAccount]:
    """Yield the gaps of single nodes: one broker's disks, or one node's JMX numbers."""
    silent: dict[tuple[str, int], Event] = {}
    for event in events:
        source = _SILENT.get(event.kind) or _AGAIN.get(event.kind)
        node = event.broker if event.broker is not None else event.fields.get("node")
        if source is None or not isinstance(node, int):
            continue
        before = silent.pop((source, node), None)
        if event.kind in _SILENT:
            silent[source, node] = before or event
        elif before is not None:
            yield _of_node(source, node, before, event.moment_ms, as_of_ms)
    for (source, node), event in silent.items():
        yield _of_node(source, node, event, None, as_of_ms)


def _of_node(
    source: str, node: int, silent: Event, ended_ms: int | None, as_of_ms: int
) -> UnseenAccount:
    return UnseenAccount(
        **span(silent.moment_ms, ended_ms, as_of_ms).model_dump(),
        source="log_dirs" if source == "log_dirs" else "jmx",
        node=node,
        why=str(silent.fields.get("reason")),
        missed=_DISKS if source == "log_dirs" else _JMX,
    )

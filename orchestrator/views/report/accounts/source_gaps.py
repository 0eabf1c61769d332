"""The times in which a source was not current, and what may have been missed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from migration.assessment.conditions import DataSource
from migration.image.summary import WITHOUT_ZOOKEEPER, Phase
from migration.metadata.events import Event
from orchestrator.api.report.report import PhaseSpan, UnseenAccount, Window
from orchestrator.audit.run_spans import NOT_RUNNING, Periods
from orchestrator.run.recorder import SETTLE_MS

_MISSED: Final[Mapping[str, str]] = {
    DataSource.METADATA_LOG: (
        "nothing: the controllers keep the log, and reading resumed at the last offset"
    ),
    DataSource.ZOOKEEPER: (
        "changes that were reverted meanwhile; everything else was read afterwards"
    ),
    DataSource.LOG_DIRS: (
        "a failed directory that came back, and records that were lost and written again"
    ),
    DataSource.JMX: "numbers that rose and fell again",
}
_MISSED_BEFORE: Final[Mapping[str, str]] = {
    **_MISSED,
    DataSource.METADATA_LOG: (
        "what the first snapshot of the quorum that was read does not show; without one, nothing"
    ),
    DataSource.LOG_DIRS: (
        "a failed directory that came back, and every record that was lost before"
    ),
}
"""Before a source was first current: no earlier reading exists."""
_NO_LATER: Final = "since then: no later reading is recorded"
_MISSED_TO_THE_END: Final[Mapping[str, str]] = {
    DataSource.METADATA_LOG: f"every record {_NO_LATER}",
    DataSource.ZOOKEEPER: f"every change {_NO_LATER}",
    DataSource.LOG_DIRS: f"every failed directory and every lost record {_NO_LATER}",
    DataSource.JMX: f"every number {_NO_LATER}",
}
_LOST: Final = {
    "zookeeper_blind": DataSource.ZOOKEEPER,
    "disks_unreachable": DataSource.LOG_DIRS,
    "jmx_unreachable": DataSource.JMX,
}
_BACK: Final = {
    "zookeeper_seen_again": DataSource.ZOOKEEPER,
    "disks_answer_again": DataSource.LOG_DIRS,
    "jmx_answers_again": DataSource.JMX,
}
_UNUSED: Final[Mapping[str, frozenset[str]]] = {
    DataSource.ZOOKEEPER: frozenset(WITHOUT_ZOOKEEPER),
    DataSource.METADATA_LOG: frozenset({Phase.ZOOKEEPER, Phase.ROLLED_BACK}),
}
"""In these phases the cluster does not use the source: it may be off, or not exist yet."""


_NOT_YET: Final = "it was not current yet"
_ENTRIES_MS: Final = 10_000
"""A process that begins, or ends, writes all its entries within this time."""


def gaps(
    events: Sequence[Event],
    found: Periods,
    phases: Sequence[PhaseSpan],
    window: Window,
    as_of_ms: int,
) -> list[UnseenAccount]:
    """Return the times in which a source in use was not current, by their beginning."""
    every = [
        *_skipped(events, as_of_ms),
        *_reported(events, as_of_ms),
        *_not_followed(found, phases, window, as_of_ms),
        *(
            _gap(each.source, None, each.why, each.began_ms, each.ended_ms, as_of_ms)
            for each in found.gaps
        ),
    ]
    of_zookeeper = [each for each in every if each.source == "zookeeper"]
    others = [each for each in every if each.source != "zookeeper"]
    every = [*others, *_joined(of_zookeeper, as_of_ms)]
    parts = [part for each in every for part in _in_use(each, phases, as_of_ms)]
    return sorted(parts, key=lambda each: (each.began_at or 0, each.source, each.node or 0))


def _joined(found: Sequence[UnseenAccount], as_of_ms: int) -> list[UnseenAccount]:
    """Return ZooKeeper's gaps, those that overlap as one.

    Its events report lost connections, and the trail every time in which it was not current.
    """
    joined: list[UnseenAccount] = []
    for each in sorted(found, key=lambda each: each.began_at or 0):
        last = joined[-1] if joined else None
        if last is None or (last.ended_at is not None and last.ended_at <= (each.began_at or 0)):
            joined.append(each)
            continue
        ended_ms = None
        if last.ended_at is not None and each.ended_at is not None:
            ended_ms = max(last.ended_at, each.ended_at)
        joined[-1] = _gap(last.source, None, last.why, last.began_at, ended_ms, as_of_ms)
    return joined


def _not_followed(
    found: Periods, phases: Sequence[PhaseSpan], window: Window, as_of_ms: int
) -> Iterator[UnseenAccount]:
    """Yield the parts of the window before a source was current and after the last process.

    A process that begins needs up to `SETTLE_MS` until its sources are current.
    """
    if not found.runs or window.began_at is None:
        return
    first_ms, last_ms = found.runs[0].began_ms, found.runs[-1].until_ms
    followed_ms = max(first_ms, window.began_at)
    until_ms = as_of_ms if window.ended_at is None else window.ended_at
    lasting = {each.source for each in found.gaps if each.ended_ms is None}
    for source, seen_ms in sorted(found.sources.items()):
        if first_ms - window.began_at > _ENTRIES_MS and source != DataSource.METADATA_LOG:
            yield _first_gap(source, NOT_RUNNING, window.began_at, seen_ms, as_of_ms)
        elif seen_ms > followed_ms:
            late = _first_gap(source, _NOT_YET, followed_ms, seen_ms, as_of_ms)
            in_use = _in_use(late, phases, as_of_ms)
            if any((each.duration_ms or 0) > SETTLE_MS for each in in_use):
                yield late
        if last_ms is not None and until_ms - last_ms > _ENTRIES_MS and source not in lasting:
            yield _gap(source, None, NOT_RUNNING, last_ms, None, as_of_ms)


def _gap(
    source: str, node: int | None, why: str, began_ms: int | None, ended_ms: int | None, as_of: int
) -> UnseenAccount:
    missed = (_MISSED_TO_THE_END if ended_ms is None else _MISSED)[source]
    return UnseenAccount.lasting(
        began_ms, ended_ms, as_of, source=str(source), node=node, why=why, missed=missed
    )


def _first_gap(source: str, why: str, began_ms: int, ended_ms: int, as_of_ms: int) -> UnseenAccount:
    """Return the gap before a source was first current."""
    missed = _MISSED_BEFORE[source]
    return UnseenAccount.lasting(
        began_ms, ended_ms, as_of_ms, source=source, node=None, why=why, missed=missed
    )


def _in_use(
    each: UnseenAccount, phases: Sequence[PhaseSpan], as_of_ms: int
) -> Iterator[UnseenAccount]:
    """Yield the parts of a gap in phases in which the cluster uses the source."""
    began_ms, ended_ms = each.began_at, each.ended_at
    for phase in phases:
        is_dated = phase.began_at is not None or (phase.exact and phase.ended_at is not None)
        if phase.phase not in _UNUSED.get(each.source, ()) or not is_dated:
            continue
        if phase.began_at is not None and (began_ms is None or began_ms < phase.began_at):
            if ended_ms is not None and ended_ms <= phase.began_at:
                break
            yield each.cut(began_ms, phase.began_at, as_of_ms)
        if phase.ended_at is None or (ended_ms is not None and ended_ms <= phase.ended_at):
            return
        began_ms = max(phase.ended_at, began_ms or phase.ended_at)
    yield each.cut(began_ms, ended_ms, as_of_ms)


def _skipped(events: Sequence[Event], as_of_ms: int) -> Iterator[UnseenAccount]:
    """Yield the gaps whose records the controllers trimmed before they were read.

    A snapshot replaces these records. The first snapshot of a log is the start of reading: it
    skipped nothing.
    """
    for event in events:
        skipped = event.fields.get("skipped")
        if event.kind == "snapshot_loaded" and isinstance(skipped, int) and skipped > 0:
            yield UnseenAccount.lasting(
                None,
                event.moment_ms,
                as_of_ms,
                exact=False,
                source="metadata_log",
                node=None,
                why=f"{skipped} records were trimmed before they were read",
                missed="changes that were reverted in them; the snapshot has the state after them",
            )


def _reported(events: Sequence[Event], as_of_ms: int) -> Iterator[UnseenAccount]:
    """Yield the gaps that events report: ZooKeeper, one broker's disks, one node's JMX numbers."""
    lost: dict[tuple[DataSource, int | None], Event] = {}
    for event in events:
        source = _LOST.get(event.kind) or _BACK.get(event.kind)
        node = event.broker if event.broker is not None else event.fields.get("node")
        if source is None or not (node is None or isinstance(node, int)):
            continue
        if event.kind in _LOST:
            lost.setdefault((source, node), event)
            continue
        before = lost.pop((source, node), None)
        since_ms = event.fields.get("blind_since_ms")
        if before is not None or source is DataSource.ZOOKEEPER:
            why = NOT_RUNNING if before is None else str(before.fields.get("reason"))
            began_ms = None if before is None else before.moment_ms
            if source is DataSource.ZOOKEEPER:
                began_ms = since_ms if isinstance(since_ms, int) else None
            yield _gap(source, node, why, began_ms, event.moment_ms, as_of_ms)
    for (source, node), event in lost.items():
        why = str(event.fields.get("reason"))
        yield _gap(source, node, why, event.moment_ms, None, as_of_ms)

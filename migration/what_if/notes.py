"""Notes of a prediction: why the broker would halt, and what is not known."""

from collections.abc import Iterator, Sequence
from typing import Final

from migration.assessment.failed_directories import harm, restart_advice
from migration.image.summary import Mode
from migration.observed.log_dirs import STORAGE_ERROR
from migration.observed.probed import Unknown
from migration.values.evidence import named
from migration.what_if.situation import Situation
from migration.what_if.values import Fate, Line

_NAMED_MAX: Final = 10


def of_broker(now: Situation) -> Iterator[str]:
    """Yield the notes on the failure of the broker."""
    if now.broker not in now.topics.broker_ids:
        yield f"broker {now.broker} is not alive: this is the effect of its absence"
    if now.mode is None:
        yield "the broker's mode is not known; a broker's failure has the same effect in every mode"
    if now.hidden is not None:
        yield now.hidden
    elif isinstance(now.log_dirs, Unknown):
        yield f"where its logs are is not known: {now.log_dirs.why}"
    yield from _around(now)


def of_directory(
    now: Situation, path: str, halts: bool | None, lines: Sequence[Line]
) -> Iterator[str]:
    """Yield the notes on the failure of the broker's directory at `path`."""
    if path not in now.online:
        yield from _offline(now, path)
        return
    yield from _halting(now, path, halts)
    if now.mode in {None, Mode.KRAFT}:
        yield from _metadata_log(now, path)
    if any(each.fate is Fate.LEADER_NOT_MOVED for each in lines):
        yield (
            f"leaders that are not moved stay on broker {now.broker} until its assignments are"
            " complete, or until it is stopped"
        )
    yield from _restart(now, path)
    yield from _around(now)


def _restart(now: Situation, path: str) -> Iterator[str]:
    """Yield the advice if a restart then loses replicas, as headline, hazard and alert give it."""
    known = () if isinstance(now.assignments, Unknown) else now.assignments.values()
    harms = harm(now.mode, {each.state for each in known})
    if harms is not None:
        yield f"if {path} fails, restore its disk, and {restart_advice(now.broker, harms)}"


def _offline(now: Situation, path: str) -> Iterator[str]:
    told = () if isinstance(now.log_dirs, Unknown) else now.log_dirs
    error = next((each.error for each in told if each.path == path), 0)
    what = "already offline" if error == STORAGE_ERROR else f"not described (error {error})"
    yield (
        f"{path} is {what}: the broker does not report its content, so every replica that is in no"
        " other directory counts as one in it"
    )
    yield from _around(now)


def _halting(now: Situation, path: str, halts: bool | None) -> Iterator[str]:
    if halts is False:
        return
    would = f"broker {now.broker} {'would' if halts else 'may'} halt, and all its replicas with it"
    if not now.online - {path}:
        yield f"{would}: this is its last directory"
    elif now.mode is Mode.MIGRATING:
        yield f"{would}: in migration mode any directory's failure halts the broker"
    elif now.mode is None:
        yield f"{would}: its mode is not known"
    elif halts:
        yield f"{would}: its metadata log is in this directory"
    elif isinstance(now.metadata_dir, Unknown):
        yield f"{would}: its metadata log may be in this directory ({now.metadata_dir.why})"


def _metadata_log(now: Situation, path: str) -> Iterator[str]:
    if isinstance(now.assignments, Unknown):
        yield (
            "the metadata log's content is not known here, so leader_not_moved cannot be excluded:"
            f" {now.assignments.why}"
        )
    elif path not in now.identities:
        yield (
            f"the directory id of {path} is not known: its meta.properties cannot be read here, and"
            " no id has a clear majority of its replicas"
        )


def _around(now: Situation) -> Iterator[str]:
    placed = now.places
    strays = sorted(
        at for at in placed if at in now.listed and at not in {part.at for part in now.hosted}
    )
    if strays:
        yield (
            f"{len(strays)} logs are on the disks, but the cluster has no such replicas here (stray"
            f" logs, not affected): {named(strays, _NAMED_MAX)}"
        )
    nowhere = [part.at for part in now.hosted if part.at not in placed]
    if nowhere and not isinstance(now.log_dirs, Unknown):
        offline = [each.path for each in now.log_dirs if each.error]
        why = f"offline: {', '.join(offline)}" if offline else "none is offline"
        yield (
            f"{len(nowhere)} of its replicas are in no directory that answers ({why}):"
            f" {named(nowhere, _NAMED_MAX)}"
        )
    yield from _others(now)


def _others(now: Situation) -> Iterator[str]:
    if now.no_election is not None:
        yield f"no controller is known to elect leaders: {now.no_election}"
    for id_, why in now.doubtful.items():
        yield f"the directories of broker {id_} are unknown, so it is not counted on: {why}"
    broken = sorted({at for _, at in now.broken})
    if broken:
        yield f"replicas on other brokers in an offline directory: {named(broken, _NAMED_MAX)}"
    if isinstance(now.topics.min_isr, Unknown):
        yield f"min.insync.replicas is not known: {now.topics.min_isr.why}"

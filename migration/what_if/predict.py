"""Predicts the fate of every partition when a broker, or one of its directories, fails.

The effect of a failed directory in Kafka 3.9 (kafka-facts.md, section 2):

- ZooKeeper mode: the broker reports it in a znode, the controller moves leaders and shrinks ISRs.
- migration mode: the broker halts, whichever directory it was.
- KRaft mode: the broker reports it in a heartbeat; the controller acts for the replicas that the
  metadata log assigns to that directory's id. Pending ones are skipped.
- In every mode the last directory halts the broker, in KRaft mode also that of the metadata log.

If an input is not known, all its possible values are tried; a result that differs is `unknown`.
"""

from collections.abc import Iterable
from typing import Final

from migration.image.summary import Mode
from migration.observed.probed import Partition, TopicPartition, Unknown
from migration.what_if.notes import of_broker, of_directory
from migration.what_if.situation import Assignment, Situation
from migration.what_if.takeover import After, min_isr, settled, unnoticed, without_broker
from migration.what_if.values import Basis, Fate, Line, Prediction

_UNLISTED: Final = (
    "only on the disk: no broker lists this partition; it may be hidden from our principal"
    " (DESCRIBE on all topics), or just created or deleted"
)


def if_broker_fails(now: Situation) -> Prediction:
    """Predict the fate of all partitions with a replica on the broker, in any mode."""
    lines = [
        _line(now, part, without_broker(now, part, data_gone=True), Basis.CLUSTER)
        for part in now.hosted
    ]
    unlisted = [_unlisted(at, path) for at, path in now.places.items() if at not in now.listed]
    return Prediction(
        broker=now.broker,
        log_dir=None,
        mode=now.mode,
        halts=None,
        lines=_ordered(lines + unlisted),
        hidden=now.hidden,
        notes=tuple(of_broker(now)),
    )


def if_directory_fails(now: Situation, path: str) -> Prediction:
    """Predict the fate of all partitions that the failure of the directory affects.

    Raises:
        ValueError: the broker does not describe its directories, or has none at this path.
    """
    if isinstance(now.log_dirs, Unknown) or path not in {each.path for each in now.log_dirs}:
        raise ValueError(f"broker {now.broker} describes no log directory {path}")
    if path in now.online:
        halts = may_halt(now, path)
        found = [_fate(now, part, path) for part in now.hosted]
    else:
        halts = frozenset({False})
        is_only = not any(each.error for each in now.log_dirs if each.path != path)
        found = [_cut_off(now, part, path, is_only=is_only) for part in now.hosted]
    lines = [each for each in found if each is not None]
    unlisted = [
        _unlisted(at, lies)
        for at, lies in now.places.items()
        if at not in now.listed and (lies == path or True in halts)
    ]
    identity = now.identities.get(path)
    made = _ordered(lines + unlisted)
    certain = next(iter(halts)) if len(halts) == 1 else None
    return Prediction(
        broker=now.broker,
        log_dir=path,
        directory=None if identity is None else identity.directory,
        directory_by=None if identity is None else identity.by,
        mode=now.mode,
        halts=certain,
        lines=made,
        notes=tuple(of_directory(now, path, certain, made)),
    )


def may_halt(now: Situation, path: str) -> frozenset[bool]:
    """Whether the failure of this directory halts the broker; both, if unknown."""
    return frozenset(halts for mode in _modes(now) for halts in _halts(now, path, mode))


def _halts(now: Situation, path: str, mode: Mode) -> tuple[bool, ...]:
    if mode is Mode.MIGRATING or not now.online - {path}:
        return (True,)
    if mode is Mode.ZOOKEEPER:
        return (False,)
    if isinstance(now.metadata_dir, Unknown):
        return (True, False)
    return (now.metadata_dir == path,)


def _modes(now: Situation) -> tuple[Mode, ...]:
    return tuple(Mode) if now.mode is None else (now.mode,)


def _fate(now: Situation, part: Partition, path: str) -> Line | None:
    """Try all possible values of unknown inputs, and combine the results."""
    lies = now.places.get(part.at) == path
    worlds: list[After | None] = []
    bases = set()
    doubts = []
    for mode in _modes(now):
        for halts in _halts(now, path, mode):
            if halts:
                # In another directory the log survives; a log in none is not assumed intact.
                gone = lies or part.at not in now.places
                worlds.append(without_broker(now, part, data_gone=gone))
                bases.add(Basis.DISKS if lies else Basis.CLUSTER)
            elif mode is Mode.ZOOKEEPER:
                worlds.append(without_broker(now, part, data_gone=True) if lies else None)
                bases.add(Basis.DISKS)
            else:
                after, basis, doubt = _in_kraft(now, part, path, lies=lies)
                worlds += after
                bases.add(basis)
                doubts += doubt
    if now.mode is None:
        doubts.append("the broker's mode is not known")
    elif len(may_halt(now, path)) > 1:
        doubts.append("where the broker keeps its metadata log is not known")
    after_all = settled(worlds, doubts)
    basis = bases.pop() if len(bases) == 1 else Basis.DISKS if lies else Basis.CLUSTER
    return None if after_all is None else _line(now, part, after_all, basis)


def _in_kraft(
    now: Situation, part: Partition, path: str, *, lies: bool
) -> tuple[list[After | None], Basis, list[str]]:
    """Return all possible results in KRaft mode, their basis, and the reason if they differ."""
    acts, why = _controller_acts(now, part, path)
    if not lies:
        # Only the metadata log can place it here, and its assignment is not known.
        taken = acts == {True}
        after = without_broker(now, part, data_gone=False) if taken else None
        return [after], Basis.METADATA_LOG if taken else Basis.DISKS, []
    worlds: list[After | None] = []
    if True in acts:
        worlds.append(without_broker(now, part, data_gone=True))
    if False in acts:
        worlds.append(unnoticed(now, part, why))
    return worlds, Basis.BOTH if acts == {True} else Basis.DISKS, [why] if len(acts) > 1 else []


def _controller_acts(now: Situation, part: Partition, path: str) -> tuple[frozenset[bool], str]:
    """Whether the controller changes leader and ISR when this directory fails, and why not."""
    either = frozenset({True, False})
    if isinstance(now.assignments, Unknown):
        return either, "the metadata log's content about this replica is not known"
    assigned = now.assignments.get(part.at)
    if assigned is None:
        return either, "the metadata log lists no such replica"
    if not assigned.is_real:
        return frozenset(
            {False}
        ), f"the metadata log says {assigned.state}: the controller skips it"
    identity = now.identities.get(path)
    if identity is None:
        return either, f"the directory id of {path} is not known"
    if identity.directory == assigned.directory:
        return frozenset({True}), ""
    return frozenset({False}), f"the metadata log has it in {_named(now, assigned)}, not here"


def _named(now: Situation, assigned: Assignment) -> str:
    paths = [
        path for path, known in now.identities.items() if known.directory == assigned.directory
    ]
    return f"{assigned.directory} ({paths[0]})" if paths else assigned.directory


def _cut_off(now: Situation, part: Partition, path: str, *, is_only: bool) -> Line | None:
    """For a directory that is offline: any log in no online directory may be in it.

    The leader shows whether the controller has been notified.
    """
    if part.at in now.places:
        return None
    why = "this log is in no directory that answers"
    worlds: list[After | None] = [unnoticed(now, part, f"{why}, and its leader is still here")]
    if not is_only:
        worlds.append(None)
    after = settled(worlds, [f"{why}, and {path} is not the only one that is offline"])
    return None if after is None else _line(now, part, after, Basis.CLUSTER)


def _line(now: Situation, part: Partition, after: After, basis: Basis) -> Line:
    path = now.places.get(part.at)
    why = after.why
    if basis is Basis.METADATA_LOG:
        lies = "in no directory that answers" if path is None else f"in {path}"
        why = f"the metadata log has it in this directory, but its log is {lies}; {why}"
    return Line(
        at=part.at,
        fate=after.fate,
        path=path,
        replicas=part.replicas,
        isr=part.isr,
        min_isr=min_isr(now, part),
        leader=part.leader,
        leader_after=after.leader,
        isr_after=after.isr,
        basis=basis,
        why=why,
    )


def _unlisted(at: TopicPartition, path: str) -> Line:
    return Line(
        at=at,
        fate=Fate.UNKNOWN,
        path=path,
        replicas=(),
        isr=(),
        min_isr=None,
        leader=None,
        leader_after=None,
        isr_after=None,
        basis=Basis.DISKS,
        why=_UNLISTED,
    )


def _ordered(lines: Iterable[Line]) -> tuple[Line, ...]:
    return tuple(sorted(lines, key=lambda each: (each.fate.rank, each.at)))

"""Hazards of a broker's directories: those that Kafka 3.9 lets happen without a word (H1-H3).

A broker that restarts while one of its directories is gone creates the replicas of that directory
anew, empty, in the others, as long as the controller does not know where they were: in migration
mode all of them (H1), in KRaft mode those `unassigned` (H2); those `migrating` it refuses to create
at all (H3). See LogManager.getOrCreateLog and MigrationPropagator.
"""

from collections import Counter
from collections.abc import Iterator

from migration.disks import STORAGE_ERROR, BrokerDisks, CutOff, DisksImage, is_bad
from migration.hazards.hazard import Action, Hazard, HazardKind, Severity, bounded
from migration.replica_state import ReplicaState
from migration.summary import BrokerSummary, ClusterSummary, Mode, Phase

_BEFORE_KRAFT = (Mode.ZOOKEEPER, Mode.MIGRATING)
_WAY_BACK = (
    "Stop the broker and do not start it before {path} is back as it was: repair or mount it, check"
    " that its meta.properties and the partitions' folders are there; this hazard ends when it can"
    " be read on its host. If the disk is lost for good, move its partitions to other brokers or"
    " accept the loss first: those of one replica are lost, the others are filled again from their"
    " leaders."
)


def restart_loses_replicas(summary: ClusterSummary, disks: DisksImage) -> Iterator[Hazard]:
    """A directory cannot be read and a restart is next (H1, H2, H3, before)."""
    brokers = {each.id: each for each in summary.brokers}
    for one in disks.brokers.values():
        broker = brokers.get(one.id)
        if not _creates_anew(broker):
            continue
        for path in sorted({each.path for each in one.log_dirs if is_bad(each)} | set(one.cut_off)):
            yield _restart_hazard(one, path, broker, summary.phase)


def _creates_anew(broker: BrokerSummary | None) -> bool:
    """Whether the controller does not know where some of the broker's replicas are."""
    return broker is None or broker.mode in _BEFORE_KRAFT or broker.pending > 0


def _restart_hazard(
    one: BrokerDisks, path: str, broker: BrokerSummary | None, phase: Phase
) -> Hazard:
    cut_off = one.cut_off.get(path)
    danger = _danger(broker, phase)
    held = "its replicas" if cut_off is None else _count(cut_off)
    text = (
        f"broker {one.id} must not be restarted: its log directory {path} is"
        f" {_state(one, path)}, and {held} {danger}"
    )
    return Hazard(
        kind=HazardKind.RESTART_LOSES_REPLICAS,
        severity=Severity.CRITICAL,
        blocks=Action.RESTART,
        broker=one.id,
        text=text,
        evidence=bounded(_evidence(one, path, cut_off, broker)),
        way_out=_WAY_BACK.format(path=path),
        since_ms=None if cut_off is None else cut_off.since_ms,
    )


def _danger(broker: BrokerSummary | None, phase: Phase) -> str:
    if broker is not None and broker.mode is Mode.KRAFT:
        states = [
            name
            for state, name in (
                (ReplicaState.UNASSIGNED, "created anew and empty elsewhere where unassigned (H2)"),
                (ReplicaState.MIGRATING, "refused where migrating (H3)"),
            )
            if broker.replicas[state]
        ]
        return "would be " + " and ".join(states)
    if phase is Phase.ZOOKEEPER or broker is None or broker.mode is Mode.ZOOKEEPER:
        return "would be created anew and empty elsewhere once it restarts in migration mode (H1)"
    return "would be created anew and empty in its other directories (H1; in KRaft mode H2, H3)"


def _state(one: BrokerDisks, path: str) -> str:
    for each in one.log_dirs:
        if each.path == path and each.error == STORAGE_ERROR:
            return "offline"
        if each.path == path and each.readable is False:
            return "not readable on its host"
    return "not among those that it reports"


def _count(cut_off: CutOff) -> str:
    sole = f", {cut_off.sole} of them the only one of their partition," if cut_off.sole else ""
    return f"the {cut_off.replicas} replicas in it{sole}"


def _evidence(
    one: BrokerDisks, path: str, cut_off: CutOff | None, broker: BrokerSummary | None
) -> list[str]:
    lines = [f"{each.path}: {_state(one, path)}" for each in one.log_dirs if each.path == path]
    if one.unreachable is not None:
        lines.append(f"the broker does not answer: {one.unreachable}")
    if broker is not None and broker.pending:
        states = (ReplicaState.MIGRATING, ReplicaState.UNASSIGNED)
        lines.append(", ".join(f"{broker.replicas[each]} replicas {each}" for each in states))
    for each in cut_off.named if cut_off is not None else ():
        end = "" if each.end_offset is None else f", log end offset {each.end_offset}"
        copies = "the only replica" if each.replicas == 1 else f"one of {each.replicas} replicas"
        lines.append(f"{each.topic}-{each.partition}: {copies}, {each.bytes} bytes{end}")
    return lines


def halted_in_migration(summary: ClusterSummary, disks: DisksImage) -> Iterator[Hazard]:
    """A broker in migration mode is gone: a failed directory halts it, and leaves no other trace.

    Kafka does not say why it went (KAFKA-16431), so unless its host was looked at it stays open.
    """
    for broker in summary.brokers:
        one = disks.brokers.get(broker.id)
        if broker.mode is not Mode.MIGRATING or one is None or one.unreachable is None:
            continue
        unseen = [each.path for each in one.log_dirs if each.readable is None]
        if not unseen:
            continue
        yield Hazard(
            kind=HazardKind.HALTED_IN_MIGRATION,
            severity=Severity.WARNING,
            blocks=Action.RESTART,
            broker=broker.id,
            text=(
                f"broker {broker.id} is gone in migration mode, in which a failed log directory"
                " halts it; whether its directories are well is not known"
            ),
            evidence=bounded([f"not looked at: {each}" for each in unseen]),
            way_out=(
                "Look at each directory on the broker's host (is it mounted, can meta.properties"
                " and the partitions' folders be read, what do the broker's and the kernel's log"
                " say?) before you start it."
            ),
            since_ms=one.unreachable_since_ms,
        )


def replicas_recreated(summary: ClusterSummary) -> Iterator[Hazard]:
    """A broker came back with fewer directories while replicas had none (H1, H2, H3, after)."""
    for broker in summary.brokers:
        gone = broker.gone
        if gone is None:
            continue
        restarted = gone.at_registration
        text = (
            f"broker {broker.id} came back without {len(gone.directories)} of its log directories"
            f" while {gone.pending} of its replicas had no known one: they may have been created"
            " anew, empty"
            if restarted
            else f"a log directory of broker {broker.id} failed while {gone.pending} of its"
            " replicas had no known one: their leaders are not moved"
        )
        kind = (
            HazardKind.REPLICAS_RECREATED
            if restarted
            else HazardKind.DIRECTORY_FAILED_UNDER_PENDING
        )
        yield Hazard(
            kind=kind,
            severity=Severity.CRITICAL,
            blocks=None if restarted else Action.RESTART,
            broker=broker.id,
            text=text,
            evidence=bounded([f"directory id {each} is gone" for each in gone.directories]),
            way_out=(
                "Stop the broker before more is overwritten, bring the directory back as it was,"
                " and compare its partitions' log end offsets with those of the new logs."
                if restarted
                else "Do not restart the broker; bring the directory back, or move the leaders"
                " away by hand."
            ),
            since_ms=gone.at_ms,
        )


def one_directory_left(summary: ClusterSummary, disks: DisksImage) -> Iterator[Hazard]:
    """The next failure ends the broker: with no directory left it halts."""
    for broker in summary.brokers:
        one = disks.brokers.get(broker.id)
        if one is None or len(one.log_dirs) < 2:
            continue
        left = [each.path for each in one.log_dirs if not is_bad(each)]
        if len(left) == 1:
            yield Hazard(
                kind=HazardKind.ONE_DIRECTORY_LEFT,
                severity=Severity.WARNING,
                blocks=None,
                broker=broker.id,
                text=f"broker {broker.id} has one log directory left: {left[0]}",
                evidence=bounded([f"{e.path}: offline" for e in one.log_dirs if is_bad(e)]),
                way_out="Bring the others back before anything else is done to this broker.",
            )


def directory_ids(summary: ClusterSummary, disks: DisksImage) -> Iterator[Hazard]:
    """A directory.id that is there twice, or missing where the broker needs one."""
    known = [
        (one.id, each.path, each.directory_id)
        for one in disks.brokers.values()
        for each in one.log_dirs
        if each.readable
    ]
    uses = Counter(id_ for _, _, id_ in known if id_ is not None)
    twice = [(b, p, i) for b, p, i in known if i is not None and uses[i] > 1]
    # A broker gives its directories their ids just before it registers.
    looked_at = {
        each.id
        for each in summary.brokers
        if each.mode in _NEED_IDS
        and each.id in disks.brokers
        and (disks.brokers[each.id].answered_ms or 0) > (each.registered_ms or 0)
    }
    without = [(b, p) for b, p, i in known if i is None and b in looked_at]
    if not twice and not without:
        return
    yield Hazard(
        kind=HazardKind.DIRECTORY_IDS,
        severity=Severity.CRITICAL,
        blocks=Action.RESTART,
        text="log directories cannot be told apart: a directory.id is there twice, or missing",
        evidence=bounded(
            [f"broker {b}, {p}: directory.id {i}, not the only one" for b, p, i in twice]
            + [f"broker {b}, {p}: no directory.id in meta.properties" for b, p in without]
        ),
        way_out=(
            "A meta.properties was copied or made by hand: stop the broker, remove the line"
            " directory.id from the copy (the broker writes a new one), and start it again."
        ),
    )


_NEED_IDS = (Mode.MIGRATING, Mode.KRAFT)

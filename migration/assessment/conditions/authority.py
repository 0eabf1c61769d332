"""What of a view may be taken for the present, and who has the say about partitions.

Before the copy, and after a roll-back, ZooKeeper's controller has the say: the metadata log then
knows no topics, or old ones. That is only taken to be so while ZooKeeper itself shows it.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from migration.assessment.conditions.condition import Answer
from migration.assessment.conditions.verdict import Verdict
from migration.assessment.conditions.view import View
from migration.assessment.data_source import SOURCE_WORDS, DataSource
from migration.assessment.hazards.dual_write import unheard
from migration.assessment.hazards.hazard import Action, HazardKind
from migration.comparison.result import Compared
from migration.image.known_ids import known_brokers, member_brokers
from migration.image.summary import WITHOUT_ZOOKEEPER, BrokerSummary, Phase
from migration.observed.zookeeper import ZooKeeperImage
from migration.values.evidence import bounded

FOLLOWED: Final = (DataSource.METADATA_LOG, DataSource.ZOOKEEPER, DataSource.LOG_DIRS)
"""The sources that are followed all the time."""
_BEFORE_THE_COPY: Final = (Phase.ZOOKEEPER, Phase.PRE_MIGRATION, Phase.COPYING)


def satisfied(reason: str, *evidence: str, counted: int = 0) -> Answer:
    """It holds."""
    return Answer(verdict=Verdict.SATISFIED, reason=reason, evidence=evidence, counted=counted)


def waiting(reason: str, *evidence: str, counted: int = 0) -> Answer:
    """It will come by itself, or by the step."""
    return Answer(verdict=Verdict.WAITING, reason=reason, evidence=evidence, counted=counted)


def violated(reason: str, *evidence: str, counted: int = 0) -> Answer:
    """It needs a person."""
    return Answer(verdict=Verdict.VIOLATED, reason=reason, evidence=evidence, counted=counted)


def unknown(reason: str, *evidence: str, counted: int = 0) -> Answer:
    """It cannot be told."""
    return Answer(verdict=Verdict.UNKNOWN, reason=reason, evidence=evidence, counted=counted)


def not_known(view: View, *sources: DataSource) -> Answer | None:
    """Say which of these is not current; None: all are, and something was seen of each."""
    reasons = reasons_not_known(view, sources)
    return unknown("; ".join(reasons)) if reasons else None


def reasons_not_known(view: View, sources: Iterable[DataSource]) -> tuple[str, ...]:
    """The same, a reason for each of them."""
    found = ((each, _why_not(view, each)) for each in sources)
    return tuple(f"{SOURCE_WORDS[each]}: {why}" for each, why in found if why)


def _why_not(view: View, source: DataSource) -> str | None:
    if source in view.not_current:
        return view.not_current[source]
    seen = {
        DataSource.METADATA_LOG: view.summary.metadata_offset is not None,
        DataSource.ZOOKEEPER: zookeeper_of(view) is not None,
        DataSource.LOG_DIRS: view.summary.disks is not None,
        DataSource.JMX: view.summary.jmx is not None,
        DataSource.TOPICS: view.topics is not None,
        DataSource.SETTINGS: view.settings is not None,
        DataSource.QUORUM: view.quorum is not None,
        DataSource.PREFLIGHT: view.preflight is not None,
    }
    return None if seen.get(source, True) else "no data yet"


def zookeeper_of(view: View) -> ZooKeeperImage | None:
    """ZooKeeper, if it is seen now; None: it is not."""
    seen = view.summary.zookeeper
    if DataSource.ZOOKEEPER in view.not_current or seen is None:
        return None
    return None if seen.seen_ms is None or seen.blind_since_ms is not None else seen


def zookeeper_rules(view: View) -> bool:
    """Whether a broker in ZooKeeper mode is seen to be the controller."""
    seen = zookeeper_of(view)
    return seen is not None and seen.controller is not None and not seen.controller.is_kraft


def is_log_past(view: View) -> bool:
    """Whether the metadata log is not expected to be followed, since no KRaft controller is there.

    ZooKeeper's controller rules, and `/migration`, which every KRaft controller creates that is to
    migrate, is not there: they do not exist yet, or were taken away again.
    """
    seen = zookeeper_of(view)
    return zookeeper_rules(view) and seen is not None and seen.migration is None


def ruler_not_known(view: View) -> Answer | None:
    """Say that nobody knows who has the cluster; None: it is known, or ZooKeeper was never seen.

    A broker in ZooKeeper mode controlled it when ZooKeeper was last seen: what the metadata log
    says since may be of no account, or all there is.
    """
    seen = view.summary.zookeeper
    if zookeeper_of(view) is not None or seen is None or not in_use(view, DataSource.ZOOKEEPER):
        return None
    if seen.controller is None or seen.controller.is_kraft:
        return None
    return not_known(view, DataSource.ZOOKEEPER)


def brokers_alone_not_known(view: View) -> Answer | None:
    """Say why the brokers alone do not say how the partitions are; None: they do.

    They do while ZooKeeper shows that one of them is the controller.
    """
    if zookeeper_rules(view):
        return None
    if (unseen := not_known(view, DataSource.ZOOKEEPER)) is not None:
        return unseen
    return unknown(
        "the metadata log has no topics yet, and no broker in ZooKeeper mode is the controller"
    )


def log_has_topics(view: View) -> bool:
    """Whether the metadata log has a say about partitions; True where that is not known."""
    if zookeeper_rules(view):
        return False
    return not (
        not_known(view, DataSource.METADATA_LOG) is None
        and view.summary.phase in _BEFORE_THE_COPY
        and view.summary.partitions == 0
    )


def in_use(view: View, source: DataSource) -> bool:
    """Whether the cluster still has this source at this point of its way."""
    if source is DataSource.METADATA_LOG:
        return not is_log_past(view)
    if source is DataSource.ZOOKEEPER:
        return (
            DataSource.METADATA_LOG in view.not_current
            or view.summary.phase not in WITHOUT_ZOOKEEPER
        )
    if source is DataSource.JMX:  # nothing is missed of what was never configured
        return source in view.not_current or view.summary.jmx is not None
    return True


def is_seen_now(view: View, source: DataSource) -> bool | None:
    """Whether what is known from this source is the present; None: the cluster has it no more."""
    return source not in view.not_current if in_use(view, source) else None


def knows_phase(view: View) -> bool:
    """Whether a record, or ZooKeeper, was ever read."""
    seen = view.summary.zookeeper
    return view.summary.metadata_offset is not None or (
        seen is not None and seen.seen_ms is not None
    )


def knows_partitions(view: View) -> bool:
    """Whether the metadata log has a say about topics and replicas."""
    return view.summary.metadata_offset is not None and log_has_topics(view)


def hazards_not_known(
    view: View, subject: str | None = None, broker: int | None = None
) -> tuple[str, ...]:
    """What would show a hazard, is still in use, and is not known now.

    Args:
        view: Of the cluster.
        subject: Of the hazards that forbid this action, or of this kind; None: of all.
        broker: Of this broker; None: of all.
    """
    sources = (*FOLLOWED, DataSource.JMX)
    found = reasons_not_known(view, (each for each in sources if in_use(view, each)))
    content = view.summary.content
    of_it = subject in (None, Action.FINALIZE, HazardKind.CONTENT_DIFFERS)
    if of_it and content.unreadable and in_use(view, DataSource.ZOOKEEPER):
        told = count(content.unreadable, "znode")
        why = f"whether ZooKeeper and the metadata log differ: {told} cannot be read"
        found += (f"{why} ({'; '.join(bounded(unread(content), content.unreadable))})",)
    if subject in (None, Action.RESTART):
        found += tuple(_directories_not_known(view, broker))
    if subject in (None, Action.FINALIZE, HazardKind.DUAL_WRITE_STUCK):
        found += _dual_write_not_known(view)
    return found


def _directories_not_known(view: View, broker: int | None) -> Iterator[str]:
    """Yield the brokers that have never described their directories, though disks are current."""
    if not_known(view, DataSource.LOG_DIRS) is not None or view.summary.disks is None:
        return
    summary = view.summary
    asked = member_brokers(summary) if broker is None else known_brokers(summary) & {broker}
    for id_ in sorted(asked):
        disks = summary.disks.brokers.get(id_) if summary.disks else None
        if disks is None or not (disks.answered_ms or disks.log_dirs):
            yield f"broker {id_} has not described its log directories yet"


def _dual_write_not_known(view: View) -> tuple[str, ...]:
    seen = zookeeper_of(view)
    if seen is None or view.summary.phase not in (Phase.HYBRID, Phase.DUAL_WRITE):
        return ()
    why = unheard(seen, view.now_ms)
    return () if why is None else (why,)


def unread(compared: Compared) -> tuple[str, ...]:
    """What could not be compared, as far as it is named."""
    return tuple(f"{path}: {why}" for path, why in compared.unread)


def brokers_not_known(view: View) -> Answer | None:
    """Say why it is not known which brokers there are; None: it is."""
    kept = (DataSource.METADATA_LOG, DataSource.ZOOKEEPER)
    return not_known(view, *(each for each in kept if in_use(view, each)))


def broker_of(view: View, broker: int) -> BrokerSummary | None:
    """A broker of the cluster; None: neither the log nor ZooKeeper knows it."""
    return next((each for each in view.summary.brokers if each.id == broker), None)


def ids(found: list[int]) -> str:
    """Ids as one reads them: `broker 3`, `brokers 1, 2`."""
    listed = ", ".join(map(str, sorted(found)))
    return f"broker {listed}" if len(found) == 1 else f"brokers {listed}"


def count(number: int, noun: str, nouns: str | None = None) -> str:
    """`1 replica`, `2 replicas`; `nouns`: of more than one, where an s does not do."""
    return f"{number} {noun}" if number == 1 else f"{number} {nouns or noun + 's'}"

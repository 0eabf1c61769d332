"""The facts of a cluster that a plan needs: brokers, controllers, their hosts, and the leaders."""

from dataclasses import dataclass
from typing import Final

from migration.assessment.checks.check import image_of
from migration.assessment.checks.identity import cluster_id_agrees
from migration.assessment.finding import Verdict
from migration.observed.probed import Facts, Unknown, log_dirs_of
from migration.values.evidence import joined
from orchestrator.config.models import ClusterEntry
from orchestrator.config.values import parse_host_port
from orchestrator.errors import ConfigError
from orchestrator.runbook.instance_order import Leaders, Member
from orchestrator.runbook.step_values import NO_ANSWERS, Answers, step_fields
from streams.probe.gather import cluster_id_from

_PHASE: Final = "PHASE"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFacts:
    """The facts of one cluster.

    Attributes:
        cluster: its name in the configuration.
        brokers: all known brokers, including those that are down.
        controllers: the controllers that answer; none before they are provisioned.
        nameless: the number of configured controllers whose id is unknown.
        addresses: the fields `brokers`, `controllers`, `zookeeper`, as configured; an absent one is
            not configured.
        answers: for the other fields.
        not_known: the facts that are unknown, as text.
        reached: whether a source answered.
    """

    cluster: str
    brokers: tuple[Member, ...]
    controllers: tuple[Member, ...]
    leaders: Leaders
    addresses: dict[str, str]
    nameless: int = 0
    answers: Answers = NO_ANSWERS
    not_known: tuple[str, ...] = ()
    reached: bool = True

    def values(self, member: Member | None = None, each: str | None = None) -> dict[str, str]:
        """Return the fields of a step's texts.

        `each` is the kind of `member`: broker or controller. The phase differs at each step, so a
        plan shows a placeholder for it.
        """
        return step_fields(
            cluster=self.cluster,
            phase=_PHASE,
            addresses=self.addresses,
            answers=self.answers,
            bind={} if member is None or each is None else {each: str(member.id)},
            member=member,
        )


def addresses_of(entry: ClusterEntry) -> dict[str, str]:
    """Return the configured addresses by the names of their fields."""
    found = {}
    if entry.brokers is not None:
        found["brokers"] = ",".join(map(str, entry.brokers.bootstrap))
    if entry.controllers is not None:
        found["controllers"] = ",".join(map(str, entry.controllers.bootstrap))
    if entry.zookeeper is not None:
        found["zookeeper"] = str(entry.zookeeper.connect)
    return found


def facts_of(entry: ClusterEntry, asked: Facts) -> ClusterFacts:
    """Convert the answers of the preflight polls (`streams.probe.gather`) to a plan's facts.

    Raises:
        ConfigError: they are of several clusters.
    """
    agree = cluster_id_agrees.judge(asked)
    if agree.verdict is Verdict.VIOLATED:
        what = f"cluster {entry.name}: {agree.reason}: {joined(agree.evidence)}"
        raise ConfigError([f"{what}: {agree.fix}"])
    brokers = tuple(
        Member(id=each.id, host=_host(each.endpoint), rack=each.rack or "")
        for each in asked.brokers
    )
    controllers = tuple(
        Member(id=each.node_id, host=_host(each.endpoint))
        for each in asked.controllers
        if isinstance(each.node_id, int)
    )
    quorum = asked.quorum
    holder = None if isinstance(asked.zookeeper, Unknown) else image_of(asked.zookeeper).controller
    return ClusterFacts(
        cluster=entry.name,
        brokers=brokers,
        controllers=controllers,
        leaders=Leaders.of(holder, None if quorum is None else quorum.leader),
        addresses=addresses_of(entry),
        nameless=len(asked.controllers) - len(controllers),
        answers=_answers(entry, asked),
        not_known=tuple(_not_known(asked)),
        reached=not asked.nothing_reached,
    )


def planned_controllers(entry: ClusterEntry) -> tuple[str, ...]:
    return () if entry.controllers is None else tuple(map(str, entry.controllers.bootstrap))


def _answers(entry: ClusterEntry, asked: Facts) -> Answers:
    return Answers(
        cluster_id=asked.wanted_id or cluster_id_from(asked.topics, asked.zookeeper),
        controllers=[
            each.settings for each in asked.controllers if not isinstance(each.settings, Unknown)
        ],
        brokers=[each.settings for each in asked.brokers if not isinstance(each.settings, Unknown)],
        planned=() if asked.answering else planned_controllers(entry),
        taken={each.id for each in asked.brokers},
        log_dirs={
            each.id: log_dirs_of(each.settings)
            for each in asked.brokers
            if not isinstance(each.settings, Unknown)
        },
    )


def _host(endpoint: str) -> str:
    return parse_host_port(endpoint).host if endpoint else ""


def _not_known(asked: Facts) -> list[str]:
    lines = []
    if isinstance(asked.topics, Unknown):
        lines.append(f"brokers: {asked.topics.why}")
    lines += [
        f"broker {each.id}: {each.release.why}"
        for each in asked.brokers
        if isinstance(each.release, Unknown)
    ]
    for one in asked.controllers:
        if one.unreachable is not None:
            lines.append(f"controller at {one.endpoint}: {one.unreachable}")
        elif isinstance(one.node_id, Unknown):
            lines.append(f"controller at {one.endpoint}: {one.node_id.why}")
    if isinstance(asked.zookeeper, Unknown):
        lines.append(f"ZooKeeper: {asked.zookeeper.why}")
    return lines

"""`kraftgate what-if`: predicts the effect of a failure of a broker or a log directory."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import click

from migration.image.known_ids import no_such
from migration.image.summary import Mode
from migration.observed.probed import Broker, Maybe, Unknown
from migration.values.evidence import named
from migration.what_if import (
    SERIOUS,
    Line,
    Prediction,
    Situation,
    if_broker_fails,
    if_directory_fails,
    metadata_dir,
    mode_of,
)
from migration.what_if.situation import SETTINGS
from orchestrator.cli.framework import (
    cluster_option,
    config_option,
    json_option,
    log_options,
    named_directory,
    polled_cluster,
    require_cluster_id,
)
from orchestrator.config.load import Config, load_config
from orchestrator.config.models import ClusterEntry
from orchestrator.errors import HazardError, NoDataError, UnknownIdError
from orchestrator.output.printing import echo_json
from orchestrator.output.rich_console import console
from orchestrator.run.followed import followed
from orchestrator.run.identity import followed_target
from orchestrator.views.terminal.what_if import picture
from streams.net.endpoint import Endpoint
from streams.probe.brokers import ask_brokers, broker_settings
from streams.probe.conditions import ask_quorum
from streams.probe.gather import ZOOKEEPER_BELONGS, Target
from streams.process.clocks import wall_clock_ms
from streams.zookeeper.probe import ask_addresses

_MODES_WITHOUT_METADATA: Final = frozenset({Mode.ZOOKEEPER, Mode.MIGRATING})
_NOT_NEEDED: Final = "in this mode the effect does not depend on it"
_NAMED_MAX: Final = 5


@click.command("what-if")
@config_option
@click.option("--broker", type=int, metavar="ID", required=True, help="The broker that fails.")
@click.option("--log-dir", metavar="PATH", help="Only this log directory of the broker fails.")
@cluster_option
@json_option
@log_options
def what_if(
    config_path: Path, broker: int, log_dir: str | None, cluster: str | None, *, as_json: bool
) -> None:
    """Print the partitions that a failure of a broker or directory affects.

    Asks the brokers, ZooKeeper and the controllers; only reads. While `kraftgate run` runs, the
    prediction also uses the replicas' directories in the metadata log. Exits with 5 if that
    failure would leave a partition lost, unavailable or leaderless, or if that is unknown, such as
    without a controller that leads or without DESCRIBE on CLUSTER; with 4 if the brokers cannot be
    reached. Without --log-dir, the broker fails as a whole; what a failure of only one directory
    would do is listed, not counted.

    \b
    Examples:
      kraftgate what-if --broker 3
      kraftgate what-if --broker 3 --log-dir /data/d1 --json | jq .counts
    """
    config = load_config(config_path)
    entry = polled_cluster(config, cluster, "what-if")
    now, notes = _situation(config, entry, broker)
    if log_dir is None:
        prediction = if_broker_fails(now)
        reported = () if isinstance(now.log_dirs, Unknown) else now.log_dirs
        directories = [if_directory_fails(now, each.path) for each in reported]
    else:
        if isinstance(now.log_dirs, Unknown):
            why = now.log_dirs.why
            raise NoDataError(f"the directories of broker {broker} are unknown: {why}")
        path = named_directory(entry, broker, now.log_dirs, log_dir)
        prediction, directories = if_directory_fails(now, path), []
    if as_json:
        echo_json(_json(entry.name, prediction, directories, notes))
    else:
        console().print(picture(entry.name, prediction, directories, notes))
    if prediction.is_serious:
        raise HazardError(f"{entry.name}: {_serious(prediction)}")


def _situation(config: Config, entry: ClusterEntry, broker: int) -> tuple[Situation, list[str]]:
    """Return the situation by all nodes and the metadata log, and notes about it.

    Takes at most about a minute.

    Raises:
        NoDataError: no broker answers.
        ConfigError: they belong to another cluster than the configured or followed one.
        UnknownIdError: the cluster has no such broker.
    """
    target = followed_target(config, entry)
    security = target.brokers_security
    answers = ask_brokers(target.brokers, security)
    topics = answers.topics
    if isinstance(topics, Unknown):
        raise NoDataError(f"{entry.name}: no broker answers: {topics.why}")
    require_cluster_id(config, target, topics.cluster_id)
    known = topics.broker_ids.union(*(part.replicas for part in topics.partitions))
    if broker not in known:
        raise UnknownIdError(no_such("broker", broker, entry.name, known))
    alive = {each.id: each for each in answers.brokers if each.id in topics.broker_ids}
    settings = broker_settings(alive.get(broker), security, SETTINGS)
    reported = mode_of(settings)
    summary, assigned = (
        (None, Unknown(_NOT_NEEDED))
        if reported in _MODES_WITHOUT_METADATA
        else followed(config, entry, broker)
    )
    recorded = None if summary is None else summary.broker(broker)
    registered = None if recorded is None else recorded.mode
    mode = registered if isinstance(reported, Unknown) else reported
    notes = []
    if mode is not registered and registered is not None:
        notes.append(
            f"broker {broker} runs in {mode} mode, but is registered in {registered} mode: it has"
            " just been restarted, or does not reach the controllers"
        )
    now = Situation(
        broker=broker,
        topics=topics,
        brokers=alive,
        mode=mode,
        metadata_dir=settings if isinstance(settings, Unknown) else metadata_dir(settings),
        assignments=assigned,
        no_election=_no_election(
            replace(target, cluster_id=topics.cluster_id), answers.brokers, topics.reassignments
        ),
    )
    return now, notes


def _no_election(
    target: Target, brokers: Sequence[Broker], reassignments: Maybe[tuple[str, ...]]
) -> str | None:
    """Return why no controller is known to elect leaders; None: one does.

    A broker needs ZooKeeper to be the controller. In KRaft only the quorum shows that one leads:
    a controller that does not lead answers for the reassignments, too (observed on 3.9.1).
    """
    modes = {
        each.endpoint: mode_of(each.settings)
        for each in brokers
        if not isinstance(each.settings, Unknown)
    }
    in_kraft = [endpoint for endpoint, mode in modes.items() if mode is Mode.KRAFT]
    if target.zookeeper is not None and not in_kraft:
        znodes = ask_addresses(target.zookeeper)
        if isinstance(znodes, Unknown):
            return znodes.why
        if znodes.controller is None:
            return "there is no /controller in ZooKeeper"
        if (why := target.mismatch(znodes.cluster_id, ZOOKEEPER_BELONGS)) is not None:
            return why
        if not znodes.controller.is_kraft:
            return None
    elif not in_kraft:
        if isinstance(reassignments, Unknown):
            return f"{reassignments.why}; the configuration has no `zookeeper`"
        if {*modes.values()} == {Mode.ZOOKEEPER}:
            return None
    return _no_leader(target, in_kraft)


def _no_leader(target: Target, in_kraft: Sequence[str]) -> str | None:
    """Return why no controller is known to lead the quorum; None: one does.

    `in_kraft`: the addresses of the brokers in KRaft mode, which forward the request to the leader.
    """
    none_leads = "no controller leads the quorum"
    if not target.controllers:
        none_leads = "no broker reaches one, and the configuration has no `controllers.bootstrap`"
        if not in_kraft:
            return none_leads
        target = replace(
            target,
            cluster_id=None,
            controllers=Endpoint.parse_list(",".join(in_kraft)),
            controllers_security=target.brokers_security,
        )
    quorum = ask_quorum(target, wall_clock_ms)
    if isinstance(quorum, Unknown):
        return quorum.why
    return none_leads if quorum.leader is None else None


def _serious(prediction: Prediction) -> str:
    serious = [each.at for each in prediction.lines if each.fate in SERIOUS]
    counts = ", ".join(
        f"{n} {fate}" for fate, n in prediction.counts.items() if n and fate in SERIOUS
    )
    what = f"broker {prediction.broker}" if prediction.log_dir is None else prediction.log_dir
    found = [f"{counts}: {named(serious, _NAMED_MAX)}"] if serious else []
    found += [] if prediction.hidden is None else [prediction.hidden]
    return f"if {what} failed now: {'; '.join(found)}"


def _json(
    cluster: str, prediction: Prediction, directories: Sequence[Prediction], notes: Sequence[str]
) -> dict[str, object]:
    return {
        "cluster": cluster,
        "broker": prediction.broker,
        **_prediction_json(prediction),
        "partitions": [_line_json(each) for each in prediction.lines],
        "directories": [_prediction_json(each) for each in directories],
        "notes": [*notes, *prediction.notes],
    }


def _prediction_json(one: Prediction) -> dict[str, object]:
    return {
        "log_dir": one.log_dir,
        "directory": one.directory,
        "directory_known_by": one.directory_by,
        "mode": None if one.mode is None else str(one.mode),
        "halts": one.halts,
        "serious": one.is_serious,
        "counts": {str(fate): count for fate, count in one.counts.items()},
    }


def _line_json(one: Line) -> dict[str, object]:
    return {
        "topic": one.at.topic,
        "partition": one.at.number,
        "fate": str(one.fate),
        "path": one.path,
        "replicas": list(one.replicas),
        "isr": list(one.isr),
        "min_isr": one.min_isr,
        "leader": one.leader,
        "leader_after": one.leader_after,
        "isr_after": None if one.isr_after is None else list(one.isr_after),
        "rests_on": str(one.basis),
        "why": one.why,
    }

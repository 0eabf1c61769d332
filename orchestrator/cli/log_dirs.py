"""`kraftgate log-dirs`: the brokers' log directories, and the replicas in them."""

from collections.abc import Collection, Iterable
from pathlib import Path

import click

from migration.image.known_ids import no_such
from migration.image.summary import ClusterSummary
from migration.observed.probed import Unknown
from orchestrator.api.log_dirs import kafka_json, log_dirs_row
from orchestrator.cli.framework import (
    cluster_option,
    config_option,
    json_option,
    log_options,
    polled_cluster,
    require_cluster_id,
)
from orchestrator.config.load import Config, load_config
from orchestrator.config.models import ClusterEntry
from orchestrator.errors import FollowingError, NoDataError, UnknownIdError
from orchestrator.output.printing import echo_json
from orchestrator.output.rich_console import console
from orchestrator.run.identity import followed_target
from orchestrator.run.reader import open_store, read_sources, require_id
from orchestrator.views.terminal.log_dirs import picture
from streams.kafka.broker_values import ClusterView
from streams.probe.brokers import first_view
from streams.probe.log_dirs import BrokerLogDirs, ask_log_dirs
from streams.state.store import StoreError


@click.command("log-dirs")
@config_option
@cluster_option
@click.option(
    "--broker",
    "brokers",
    type=int,
    multiple=True,
    metavar="ID",
    help="Only this broker; repeatable.",
)
@click.option(
    "--topic", "topics", multiple=True, metavar="NAME", help="Only this topic; repeatable."
)
@json_option
@click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "kafka"]),
    help="`kafka`: the JSON of kafka-log-dirs.sh --describe, in one line. Default: table.",
)
@log_options
def log_dirs(
    config_path: Path,
    cluster: str | None,
    brokers: tuple[int, ...],
    topics: tuple[str, ...],
    format_: str | None,
    *,
    as_json: bool,
) -> None:
    """List the brokers' log directories and the replicas in them.

    Asks every broker (DescribeLogDirs, which needs DESCRIBE on CLUSTER); only reads. A directory's
    id is from its meta.properties if the broker runs on this host, else from the stored state of
    `kraftgate run`, if there is one. Exits with 4 if a broker or directory is not described; it
    still prints the others.

    \b
    Examples:
      kraftgate log-dirs --broker 3
      kraftgate log-dirs --json | jq '.brokers[].log_dirs[].state'
      kraftgate log-dirs --format kafka --topic orders
    """
    if as_json and format_ is not None:
        raise click.UsageError("pass either --json or --format")
    config = load_config(config_path)
    entry = polled_cluster(config, cluster, "log-dirs")
    target = followed_target(config, entry)
    view = first_view(target.brokers, target.brokers_security)
    if isinstance(view, Unknown):
        raise NoDataError(f"{entry.name}: no broker answers: {view.why}")
    require_cluster_id(config, target, view.cluster_id)
    wanted = _wanted(entry.name, view, brokers)
    answers = ask_log_dirs(view, target.brokers_security, wanted)
    _require_topics(entry.name, view, answers, topics)
    stored, notes = _stored(config, entry)
    row = log_dirs_row(entry.name, view.cluster_id, answers, stored, topics, notes)
    if as_json:
        echo_json(row.public())
    elif format_ == "kafka":
        echo_json(kafka_json(row), indent=None)
    else:
        console().print(picture(row))
    missing = list(row.missing())
    if missing:
        raise NoDataError("; ".join(f"{entry.name}: {each}" for each in missing))


def _wanted(cluster: str, view: ClusterView, brokers: Collection[int]) -> frozenset[int]:
    """Return the ids of the brokers to ask: those alive, and those that only have replicas.

    Raises:
        UnknownIdError: the cluster has no such broker.
    """
    hosting = (each.replicas for each in view.partitions.values())
    known = frozenset(view.brokers).union(*hosting)
    for each in brokers:
        if each not in known:
            raise UnknownIdError(no_such("broker", each, cluster, known))
    return frozenset(brokers) or known


def _require_topics(
    cluster: str, view: ClusterView, answers: Iterable[BrokerLogDirs], topics: Collection[str]
) -> None:
    """Raise UnknownIdError for a topic that no broker lists and that is in no log directory."""
    known = {topic for topic, _ in view.partitions} | view.errors.keys()
    for answer in answers:
        described = () if isinstance(answer.log_dirs, Unknown) else answer.log_dirs
        known.update(each.topic for log_dir in described for each in log_dir.replicas)
    for topic in topics:
        if topic not in known:
            raise UnknownIdError(
                f"{cluster} has no topic {topic}, or Kraftgate's principal may not describe it."
                " Correct --topic, or grant DESCRIBE on it"
            )


def _stored(config: Config, entry: ClusterEntry) -> tuple[ClusterSummary | None, tuple[str, ...]]:
    """Return the stored state, None if there is none, and a note if it cannot be read.

    Raises:
        ConfigError: it belongs to another cluster than the configured one.
    """
    require_id(config, entry, read_sources(config.state_dir, entry.name))
    try:
        store = open_store(config.state_dir)
        if store is None:
            return None, ()
        with store:
            return store.summary(entry.name), ()
    except (FollowingError, StoreError) as error:
        return None, (f"the stored state is not used: {error}",)

"""`kraftgate move`: moves of replicas between the log directories of a broker."""

import hashlib
import json
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Final

import click

from migration.assessment.checks.phase import mode_of
from migration.assessment.conditions import hazards_not_known
from migration.assessment.hazards import Action, HazardKind
from migration.image.known_ids import no_such
from migration.image.summary import Mode
from migration.moves.permission import Permission, permission
from migration.moves.plan_file import (
    BYTES_MAX,
    Problem,
    Wanted,
    origin,
    problems_with,
    read,
)
from migration.moves.planner import (
    THROTTLE,
    Measure,
    Move,
    Unusable,
    drain,
    even_out,
    listed,
    obstacles,
    requested,
)
from migration.moves.verify import Progress, Verified, verify
from migration.observed.probed import NOT_ASKED, Broker, TopicPartition, Topics, Unknown
from migration.values.evidence import joined
from migration.values.foreign import INT64_MAX, Unreadable, whole
from migration.what_if import Situation
from orchestrator.api.moves import Planned, plan_json, verified_json
from orchestrator.audit.entry import Entry
from orchestrator.audit.log import AUDIT_FILE, AuditLog
from orchestrator.audit.move_entries import left_throttled, resting_throttles
from orchestrator.audit.opening import open_verified
from orchestrator.cli.framework import (
    Group,
    cluster_option,
    config_option,
    json_option,
    log_options,
    named_directory,
    polled_cluster,
    require_cluster_id,
    require_outside,
)
from orchestrator.config.load import Config, load_config
from orchestrator.config.models import ClusterEntry
from orchestrator.errors import (
    ConfigError,
    FollowingError,
    GateNotMetError,
    HazardError,
    KraftgateError,
    NoDataError,
    PlanError,
    UnknownIdError,
)
from orchestrator.execution.commands import Commands
from orchestrator.execution.moves import MoveRun, Plan, Requests, orchestrating
from orchestrator.output.printing import ask, echo, echo_if_open, echo_json
from orchestrator.output.rich_console import console
from orchestrator.run.caught_up import caught_up
from orchestrator.run.followed import followed
from orchestrator.run.identity import followed_target
from orchestrator.run.probes.disks import why_not_polled
from orchestrator.views.terminal.live import Stop, is_terminal
from orchestrator.views.terminal.moves import MovesView, plan_picture, verified_picture
from streams.probe.asking import in_parallel, maybe
from streams.probe.brokers import ask_brokers, broker_settings
from streams.probe.gather import ZOOKEEPER_BELONGS, Target
from streams.state.files import write_to
from streams.zookeeper.probe import ask_addresses

_UNLIMITED: Final = INT64_MAX
"""Kafka's default of the throttle."""
_OWN: Final = HazardKind.FUTURE_REPLICA_STUCK
"""A broker copies one replica after the other (ReplicaAlterLogDirsThread), so some moves of a plan
make no progress. A move of another client is a separate obstacle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A cluster and its answers; `target`: its addresses, with the id that the brokers report."""

    config: Config
    entry: ClusterEntry
    target: Target
    topics: Topics
    brokers: Mapping[int, Broker]


@click.group(cls=Group)
def move() -> None:
    """Plan, apply, verify and cancel moves of replicas between the log directories of a broker.

    `move apply` and `move cancel` write to Kafka; `move plan` and `move verify` only read.

    \b
    Example:
      kraftgate move plan --broker 3 --drain /data/d1 --out plan.json
      kraftgate move apply plan.json
      kraftgate move verify plan.json
    """


@move.command()
@config_option
@cluster_option
@click.option("--broker", type=int, metavar="ID", help="The broker, for --drain and --even.")
@click.option("--drain", "path", metavar="PATH", help="Move all replicas out of this directory.")
@click.option(
    "--even",
    "measure",
    type=click.Choice([str(each) for each in Measure]),
    help="Even out the broker's directories.",
)
@click.option(
    "--from",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Plan the moves of a reassignment JSON with `log_dirs`.",
)
@click.option(
    "--throttle",
    type=click.IntRange(1, INT64_MAX - 1),
    metavar="BYTES",
    help="Bytes per second of each broker, for the time. Default: what the broker has.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the plan, if nothing is against it.",
)
@json_option
@log_options
def plan(
    config_path: Path,
    cluster: str | None,
    broker: int | None,
    path: str | None,
    measure: str | None,
    file: Path | None,
    throttle: int | None,
    out: Path | None,
    *,
    as_json: bool,
) -> None:
    """Print the moves that drain a directory, even out a broker, or that a file asks for.

    Asks the brokers (DESCRIBE and DESCRIBE_CONFIGS on CLUSTER) and the running `kraftgate run`;
    only reads. The plan has the format of kafka-reassign-partitions.sh. Exits with 5 if a broker's
    mode, its hold, a hazard, the space or another move is against a move; with 4 if that is
    unknown; with 2 if the file has problems, each named with its line.

    \b
    Examples:
      kraftgate move plan --broker 3 --drain /data/d1
      kraftgate move plan --broker 3 --even bytes --out plan.json
      kraftgate move plan --from reassignment.json --json | jq .kraftgate.moves
    """
    if sum(each is not None for each in (path, measure, file)) != 1:
        raise click.UsageError("pass one of --drain, --even and --from")
    if out is not None:
        require_outside(load_config(config_path), out)
    how = path if measure is None else Measure(measure)
    unknown: tuple[str, ...] = ()
    if file is not None and broker is None:
        asked, wanted, _ = _ask_about(file, config_path, cluster, "move plan")
        moves, unknown = requested(wanted, asked.brokers)
    elif how is not None and broker is not None:
        asked = _ask(config_path, cluster, "move plan")
        moves, unknown = listed(_planned(asked, broker, how), asked.topics)
    else:
        raise click.UsageError("pass --broker with --drain or --even, and not with --from")
    ids = sorted({each.broker for each in moves})
    found = Planned(
        cluster=asked.entry.name,
        topics=asked.topics,
        brokers=asked.brokers,
        moves=moves,
        throttles={} if throttle is None else dict.fromkeys(ids, throttle),
        rates={id_: throttle or _throttle(asked, id_) for id_ in ids},
        permissions=_permissions(asked, ids),
        obstacles=obstacles(moves, asked.brokers),
        unknown=unknown,
    )
    if as_json:
        echo_json(plan_json(found))
    else:
        console().print(plan_picture(found))
    _require_allowed(found.forbidden, found.not_known, f"{found.cluster}: ")
    if out is not None:
        _write(out, found)


@move.command()
@config_option
@cluster_option
@click.argument("file", type=click.Path(path_type=Path), metavar="PLAN.json")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--throttle",
    type=click.IntRange(1, INT64_MAX - 1),
    metavar="BYTES",
    help="Bytes per second of each broker while replicas move. Default: the plan's, or else what"
    " the broker has.",
)
@click.option(
    "--at-once",
    type=click.IntRange(1, 1000),
    default=4,
    show_default=True,
    metavar="N",
    help="How many replicas of one broker move at the same time.",
)
@log_options
def apply(
    config_path: Path,
    cluster: str | None,
    file: Path,
    throttle: int | None,
    at_once: int,
    *,
    yes: bool,
) -> None:
    """Start the moves of PLAN.json, and wait for their end. Writes to Kafka.

    Sets the throttle of each broker for the time, and restores what was set before. Takes the lock
    of `run --execute`; records in the audit trail what it is about to send. A second run resumes
    the moves, also after a kill. Ctrl-C ends the command, not the moves that run.

    Needs ALTER, ALTER_CONFIGS, DESCRIBE and DESCRIBE_CONFIGS on CLUSTER. Exits with 0 once all
    replicas are in their target; with 1 if Kafka refuses a move or one ends early, and names what
    is left; with 2, 4 and 5 as `move plan`.

    \b
    Example:
      kraftgate move apply plan.json --throttle 50000000 --at-once 2
    """
    asked, wanted, plan = _ask_about(file, config_path, cluster, "move apply")
    if throttle is not None:
        plan = replace(plan, throttles=dict.fromkeys(plan.targets, throttle))
    _show_left(asked, wanted, plan)
    if not wanted and not left_throttled(_entries(asked)):
        return
    if not yes:
        _confirm(asked.entry.name)

    def require_allowed(brokers: Collection[int], now: Mapping[int, Broker]) -> None:
        found = _permissions_now(asked, brokers, without=_OWN).values()
        moves = [each for each in _left(wanted, plan, now)[0] if each.broker in brokers]
        forbidden = [why for each in found for why in each.forbidden]
        forbidden += obstacles(moves, now, plan.targets)
        _require_allowed(forbidden, [why for each in found for why in each.unknown])

    terminal = console() if is_terminal() else None
    with _run(asked, plan) as run, MovesView(asked.entry.name, terminal) as view:
        run.apply(at_once, require_allowed, view.show)
    name = asked.entry.name
    echo_if_open(f"{name}: all replicas are in their target: {_command(asked, 'verify', file)}")


@move.command()
@config_option
@cluster_option
@click.argument("file", type=click.Path(path_type=Path), metavar="PLAN.json")
@log_options
def cancel(config_path: Path, cluster: str | None, file: Path) -> None:
    """End the moves of PLAN.json that run, and restore the throttle. Writes to Kafka.

    Assigns to each replica that moves the directory that it has now: the broker deletes the copy.
    Replicas that have arrived stay there. Takes the lock of `run --execute`. Needs the rights of
    `move apply`. Exits with 0 if no replica of the plan moves any more, with 1 if one cannot be
    cancelled, with 4 if a broker does not answer, with 2 if the file cannot be used. What the
    cluster no longer has, such as a deleted topic, is named and does not prevent it. Restores the
    throttles that were set with the same state directory; another one is named.

    \b
    Example:
      kraftgate move cancel plan.json
    """
    asked, _, plan = _ask_about(file, config_path, cluster, "move cancel", must_fit=False)
    with _run(asked, plan) as run:
        run.cancel()
    echo_if_open(f"{asked.entry.name}: no replica of {file} moves")
    _show_foreign_throttles(asked, plan)


@contextmanager
def _run(asked: _Asked, plan: Plan) -> Iterator[MoveRun]:
    """Hold the cluster's lock, and yield the run of the plan; signals end its waits.

    Raises:
        ConfigError: ZooKeeper, where the lock is, belongs to another cluster than the brokers.
    """
    if asked.target.zookeeper is not None:
        znodes = ask_addresses(asked.target.zookeeper)
        if not isinstance(znodes, Unknown):  # else taking the lock fails, if it is there
            why = asked.target.mismatch(znodes.cluster_id, ZOOKEEPER_BELONGS)
            if why is not None:
                raise ConfigError([f"{asked.config.path}: {why}: correct `zookeeper` or `brokers`"])
    with (
        open_verified(asked.config) as log,
        orchestrating(asked.config, asked.entry, log) as held,
        Stop() as stop,
    ):
        yield MoveRun(plan, held, _requests(asked), stop.wait, partial(echo, err=True))


def _requests(asked: _Asked) -> Requests:
    return Requests(asked.brokers, asked.target.brokers_security)


def _command(asked: _Asked, verb: str, file: Path) -> str:
    return Commands.of(asked.config, asked.entry.name).without_reason("move", verb, str(file))


def _plan_of(asked: _Asked, file: Path, data: bytes, wanted: Iterable[Wanted]) -> Plan:
    """Return the moves of the file; `data`: its content.

    Raises:
        PlanError: its `kraftgate` is not what `move plan` writes, or names another cluster.
    """
    try:
        planned = origin(data)
    except Unreadable as error:
        raise PlanError([f"{file}: {error}"]) from error
    name, found = asked.entry.name, asked.topics.cluster_id
    if planned.cluster_id not in (None, found):
        text = f"it was planned for cluster {planned.cluster_id}, and {name} is cluster {found}"
        raise PlanError([f"{file}: {text}: plan again"])
    targets: dict[int, dict[TopicPartition, str]] = {}
    for one in wanted:
        for id_, to in one.targets.items():
            targets.setdefault(id_, {})[one.at] = to
    return Plan(
        file=file,
        sha256=hashlib.sha256(data).hexdigest(),
        targets=targets,
        throttles={id_: rate for id_, rate in planned.throttles.items() if id_ in targets},
    )


def _show_left(asked: _Asked, wanted: Iterable[Wanted], plan: Plan) -> None:
    """Print the rest of the plan, unless something forbids it.

    The moves of an interrupted run do not forbid it, and need only the space for the rest of the
    copies.

    Raises:
        HazardError: a move is forbidden.
        NoDataError: whether one is forbidden is unknown.
    """
    moves, unknown = _left(wanted, plan, asked.brokers)
    moving = {(id_, at) for id_, at, _ in _copied(asked.brokers, plan)}
    ids = sorted({each.broker for each in moves if (each.broker, each.at) not in moving})
    brokers = list(dict.fromkeys(each.broker for each in moves))
    found = Planned(
        cluster=asked.entry.name,
        topics=asked.topics,
        brokers=asked.brokers,
        moves=moves,
        throttles=plan.throttles,
        rates={id_: plan.throttles.get(id_) or _throttle(asked, id_) for id_ in brokers},
        permissions=dict.fromkeys(brokers, Permission()) | dict(_permissions(asked, ids, _OWN)),
        obstacles=obstacles(moves, asked.brokers, plan.targets),
        unknown=unknown,
    )
    console().print(plan_picture(found))
    _require_allowed(found.forbidden, found.not_known, f"{found.cluster}: ")


def _left(
    wanted: Iterable[Wanted], plan: Plan, brokers: Mapping[int, Broker]
) -> tuple[tuple[Move, ...], tuple[str, ...]]:
    """Return the rest of the plan, with the bytes left to copy, and the unknown facts."""
    moves, unknown = requested(wanted, brokers)
    copied = {(id_, at): size for id_, at, size in _copied(brokers, plan)}
    left = (
        each._replace(bytes=max(0, each.bytes - copied.get((each.broker, each.at), 0)))
        for each in moves
    )
    return tuple(left), unknown


def _copied(brokers: Mapping[int, Broker], plan: Plan) -> Iterator[tuple[int, TopicPartition, int]]:
    """Yield the replicas that the brokers move as the plan asks, and the bytes that are copied."""
    for id_, targets in plan.targets.items():
        log_dirs = brokers[id_].log_dirs
        for one in () if isinstance(log_dirs, Unknown) else log_dirs:
            for at in one.futures:
                if targets.get(at) == one.path:
                    yield id_, at, one.future_sizes.get(at, 0)


def _confirm(cluster: str) -> None:
    """Ask for the cluster's name.

    Raises:
        click.UsageError: there is no terminal.
        click.Abort: another text was typed.
    """
    if not sys.stdin.isatty():
        raise click.UsageError("there is no terminal to confirm the moves on: pass --yes")
    if ask(f"This writes to Kafka. Type the cluster's name, {cluster}, to begin") != cluster:
        raise click.Abort


def _require_allowed(forbidden: Sequence[str], unknown: Sequence[str], where: str = "") -> None:
    """Raise an error that begins with `where` if a move is forbidden, or this is unknown."""
    if forbidden:
        raise HazardError(f"{where}{joined(forbidden)}")
    if unknown:
        raise NoDataError(f"{where}not known: {joined(unknown)}")


@move.command("verify")
@config_option
@cluster_option
@click.argument("file", type=click.Path(path_type=Path), metavar="PLAN.json")
@json_option
@log_options
def verify_(config_path: Path, cluster: str | None, file: Path, *, as_json: bool) -> None:
    """Print how far the moves of PLAN.json are: on the disks, and in the metadata log.

    Asks the brokers (DESCRIBE and DESCRIBE_CONFIGS on CLUSTER) and, for brokers in KRaft mode, the
    running `kraftgate run`; only reads. PLAN.json may be any reassignment JSON with `log_dirs`.
    Exits with 0 if all moves are completed, with 3 if one is not or a run still has its throttle in
    force, with 4 if that is unknown; with 2 if the file has problems, each named with its line. A
    throttle that was set with another state directory is named, and does not change the exit code.

    \b
    Example:
      kraftgate move verify plan.json
    """
    asked, _, plan = _ask_about(file, config_path, cluster, "move verify")
    found = [
        each
        for id_, moves in sorted(plan.targets.items())
        for each in verify(moves, _situation(asked, id_))
    ]
    if as_json:
        echo_json(verified_json(asked.entry.name, found))
    else:
        console().print(verified_picture(asked.entry.name, found))
    _show_foreign_throttles(asked, plan)
    _judge(asked.entry.name, found, _left_throttle(asked, file))


def _judge(cluster: str, found: Iterable[Verified], throttled: Sequence[str]) -> None:
    """Raise an error unless every move is completed, and no run has its throttle in force."""
    left = [each for each in found if each.progress is not Progress.COMPLETED]
    open_ = [each for each in left if each.progress is not Progress.UNKNOWN]
    lines = [
        *throttled,
        *(
            f"{each.at} on broker {each.broker}: {each.progress.replace('_', ' ')}"
            + (f" ({each.why})" if each.why else "")
            for each in open_ or left
        ),
    ]
    if open_ or throttled:
        raise GateNotMetError(f"{cluster}: {joined(lines)}")
    if left:
        raise NoDataError(f"{cluster}: {joined(lines)}")


def _entries(asked: _Asked) -> tuple[Entry, ...]:
    try:
        with AuditLog.open_readonly(asked.config.state_dir / AUDIT_FILE) as log:
            return tuple(log.entries(asked.entry.name))
    except NoDataError:  # nothing was ever recorded
        return ()


def _show_foreign_throttles(asked: _Asked, plan: Plan) -> None:
    """Print the throttles that an interrupted run with another state directory may have left."""
    entries = _entries(asked)
    known = resting_throttles(entries)
    requests = _requests(asked)
    ids = [
        id_
        for id_ in sorted(plan.targets.keys() - left_throttled(entries).keys())
        if id_ in asked.brokers and not isinstance(asked.brokers[id_].log_dirs, Unknown)
    ]
    answers = in_parallel(lambda id_: maybe(lambda: requests.throttle(id_)), ids)
    file, servers = quote(str(plan.file)), ",".join(map(str, asked.target.brokers))
    for id_, found in zip(ids, answers, strict=True):
        what = f"{asked.entry.name}: broker {id_}"
        if isinstance(found, Unknown):
            echo(f"{what}: whether it has a throttle is unknown: {found.why}", err=True)
        elif found.own is not None and found.own not in known.get(id_, ()):
            echo(
                f"{what} has the throttle {found.own}, which this state directory did not set. If"
                f" an interrupted run set it, call `kraftgate move cancel {file} --config FILE`,"
                " where FILE has that run's `state_dir`; if that is lost, and no run is active,"
                f" kafka-configs.sh --bootstrap-server {servers}"
                f" --alter --entity-type brokers --entity-name {id_} --delete-config {THROTTLE}",
                err=True,
            )


def _left_throttle(asked: _Asked, file: Path) -> Sequence[str]:
    """Return a message if a run, active or killed, still has its throttle set; else none."""
    left = left_throttled(_entries(asked))
    if not left:
        return ()
    ids = ", ".join(map(str, sorted(left)))
    line = (
        f"a run has its throttle in force on broker {ids}: wait for its end;"
        f" if it was killed, `{_command(asked, 'cancel', file)}`, or move apply, restores what was"
        " set before"
    )
    return (line,)


def _ask_about(
    file: Path, config_path: Path, cluster: str | None, command: str, *, must_fit: bool = True
) -> tuple[_Asked, tuple[Wanted, ...], Plan]:
    """Return the cluster's answers, the file's partitions, and their moves.

    `must_fit`: whether the file must not contradict the cluster; else contradictions are printed.

    Raises:
        PlanError: the file has problems, with or without the cluster.
        NoDataError: no broker answers.
    """
    try:
        with file.open("rb") as opened:
            data = opened.read(BYTES_MAX + 1)
    except OSError as error:
        raise PlanError([f"{file}: {error.strerror}"]) from error
    wanted, problems = read(data)
    try:
        asked = _ask(config_path, cluster, command)
    except NoDataError:
        _refuse(file, problems)
        raise
    contradictions = problems_with(wanted, asked.topics, asked.brokers)
    if problems:
        _refuse(file, sorted((*problems, *contradictions)))
    plan = _plan_of(asked, file, data, wanted)
    lines = _lines(file, contradictions)
    if must_fit and lines:
        raise PlanError([*lines, *_left_throttle(asked, file)])
    for line in lines:
        echo(line, err=True)
    return asked, wanted, plan


def _refuse(file: Path, problems: Sequence[Problem]) -> None:
    if problems:
        raise PlanError(_lines(file, problems))


def _lines(file: Path, problems: Iterable[Problem]) -> list[str]:
    return [f"{file}:{each.line}: {each.text}" for each in problems]


def _ask(config_path: Path, cluster: str | None, command: str) -> _Asked:
    """Return the cluster's answers.

    Raises:
        NoDataError: no broker answers.
    """
    config = load_config(config_path)
    entry = polled_cluster(config, cluster, command)
    target = followed_target(config, entry)
    answers = ask_brokers(target.brokers, target.brokers_security)
    if isinstance(answers.topics, Unknown):
        raise NoDataError(f"{entry.name}: no broker answers: {answers.topics.why}")
    require_cluster_id(config, target, answers.topics.cluster_id)
    return _Asked(
        config=config,
        entry=entry,
        target=replace(target, cluster_id=answers.topics.cluster_id),
        topics=answers.topics,
        brokers={each.id: each for each in answers.brokers},
    )


def _planned(asked: _Asked, broker: int, how: str | Measure) -> tuple[Move, ...]:
    """Return the moves that drain the directory, or even out the broker by a measure.

    Raises:
        UnknownIdError: there is no such broker or directory.
        HazardError: no directory is there to move to.
        NoDataError: the broker does not describe its directories.
    """
    name = asked.entry.name
    if broker not in asked.brokers:
        raise UnknownIdError(no_such("broker", broker, name, asked.brokers))
    one = asked.brokers[broker]
    try:
        if isinstance(how, Measure):
            return even_out(one, how)
        if not isinstance(one.log_dirs, Unknown):
            how = named_directory(asked.entry, broker, one.log_dirs, how)
        return drain(one, how)
    except Unusable as error:
        kind = NoDataError if error.is_unknown else HazardError
        raise kind(f"{name}: {error.why}") from error


def _throttle(asked: _Asked, broker: int) -> int | None:
    """Return the throttle that the broker has now; None: none, or it is unknown."""
    settings = broker_settings(asked.brokers[broker], asked.target.brokers_security, (THROTTLE,))
    if isinstance(settings, Unknown):
        return None
    try:
        rate = whole(settings.get(THROTTLE), "throttle", 1, _UNLIMITED)
    except Unreadable:
        return None
    return None if rate == _UNLIMITED else rate


def _permissions(
    asked: _Asked, brokers: Iterable[int], without: HazardKind | None = None
) -> Mapping[int, Permission]:
    """Return the constraints on moves of these brokers, after a poll of the disks."""
    ids = tuple(brokers)
    if not ids:
        return {}
    config, entry = asked.config, asked.entry
    why = why_not_polled(config.state_dir, entry.name, None, "kraftgate move")
    stale = () if why is None else (why,)
    return _permissions_now(asked, ids, stale, without)


def _permissions_now(
    asked: _Asked, ids: Iterable[int], stale: Sequence[str] = (), without: HazardKind | None = None
) -> Mapping[int, Permission]:
    """Return the same constraints as of the last poll, without the hazards of a kind."""
    try:
        view = caught_up(asked.config, [asked.entry])[asked.entry.name]
    except FollowingError as error:
        return {
            id_: permission(id_, mode_of(asked.brokers[id_].settings), None, (), [str(error)])
            for id_ in ids
        }
    return {
        id_: permission(
            id_,
            mode_of(asked.brokers[id_].settings),
            view.summary,
            [each for each in view.due_hazards if each.kind is not without],
            (*stale, *hazards_not_known(view, Action.RESTART, id_)),
        )
        for id_ in ids
    }


def _situation(asked: _Asked, broker: int) -> Situation:
    """Return the broker's state; its assignments only in KRaft mode, which alone records them."""
    one = asked.brokers[broker]
    mode = mode_of(one.settings)
    return Situation(
        broker=broker,
        topics=asked.topics,
        brokers=asked.brokers,
        mode=None if isinstance(mode, Unknown) else mode,
        assignments=followed(asked.config, asked.entry, broker)[1]
        if mode is Mode.KRAFT
        else NOT_ASKED,
    )


def _write(file: Path, found: Planned) -> None:
    """Write the plan: the old file, or the whole new one, is there at every moment."""
    try:
        write_to(file, json.dumps(plan_json(found), indent=2) + "\n")
    except OSError as error:
        raise KraftgateError(f"{file}: {error.strerror}") from error

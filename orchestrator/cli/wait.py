"""`kraftgate wait`: the gate of whoever does the steps himself, such as Ansible or a shell script.

It reads the store of a `kraftgate run` that runs elsewhere, and changes nothing.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path

import click

from migration.assessment.conditions import Condition, Finding, Verdict
from migration.assessment.polled import NOT_POLLED
from migration.values.durations import format_duration
from orchestrator.api.rows import finding_row
from orchestrator.api.status import several_json
from orchestrator.config.identifiers import clusters_named
from orchestrator.config.load import Config, load_config
from orchestrator.config.models import ClusterEntry
from orchestrator.config.state_dir import not_followed
from orchestrator.errors import GateNotMetError, HazardError, KraftgateError, NoDataError
from orchestrator.execution.passed_checkpoint import checkpoint_condition, checkpoint_named, passed
from orchestrator.output.printing import echo, echo_json
from orchestrator.run.assessor import Assessor
from orchestrator.run.probes.probes import asking_for
from orchestrator.run.reader import Reader
from orchestrator.run.soak import SOAK
from orchestrator.run.waiting import Found, Outcome, Waiting, World


def wait(
    config_path: Path,
    conditions: Sequence[Condition],
    timeout: timedelta,
    cluster: str | None,
    *,
    checkpoint: str | None,
    fail_fast: bool,
    as_json: bool,
) -> None:
    """Wait until all conditions hold of every configured cluster, or of one.

    `checkpoint`: and it is passed, too.

    Raises:
        ConfigError: the configuration cannot be used.
        UnknownIdError: there is no such cluster, broker, controller or checkpoint.
        KraftgateError: the checkpoint cannot be waited for.
        FollowingError: there is a store, and it cannot be read.
        GateNotMetError: they did not hold in time.
        NoDataError: likewise, and what they rest on is missing or stale.
        HazardError: likewise, and one is violated: only a person can change that.
    """
    config = load_config(config_path)
    entries = clusters_named(config, cluster)
    if checkpoint is not None:
        for each in entries:
            of = checkpoint_named(config, each.name, checkpoint)
        conditions = (*conditions, checkpoint_condition(checkpoint, of))
    _refuse_a_soak_of_nothing(conditions)
    with _world(config, entries, conditions, checkpoint) as world:
        waiting = Waiting(entries, conditions, world)
        outcome = waiting.wait(timeout.total_seconds(), fail_fast=fail_fast)
    if as_json:
        many = config.many and cluster is None
        echo_json(_as_json(outcome, many=many))
    elif outcome.verdict is Verdict.SATISFIED:
        for line in _lines(outcome.found):
            echo(line)
    _end(outcome, timeout)


@contextmanager
def _world(
    config: Config,
    entries: Sequence[ClusterEntry],
    conditions: Sequence[Condition],
    checkpoint: str | None,
) -> Iterator[World]:
    from streams.spark.log_dirs_poll import look_at_disks

    assessor = Assessor(config, Reader(config, newest=1))
    assessor.not_followed = partial(not_followed, config.state_dir)
    with ExitStack() as stack:
        asking = {}
        for each in entries:
            own = _own(config, each, checkpoint)
            asking[each.name] = stack.enter_context(closing(asking_for(each, conditions, own)))

        def look_at(cluster: str, broker: int | None, timeout_s: float) -> bool:
            return look_at_disks(config.state_dir, cluster, broker, "kraftgate wait", timeout_s)

        assessor.polled = lambda name: asking[name].latest() if name in asking else NOT_POLLED
        yield World(
            tick=assessor.tick,
            look_at_disks=look_at,
            ask_anew=lambda name, timeout_s: asking[name].anew(timeout_s),
            say=_say,
            not_followed=assessor.not_followed,
        )


def _own(
    config: Config, entry: ClusterEntry, checkpoint: str | None
) -> Mapping[str, Callable[[], Finding]]:
    if checkpoint is None:
        return {}
    name = checkpoint_condition(checkpoint).name
    return {name: partial(passed, config, entry.name, checkpoint)}


def _refuse_a_soak_of_nothing(conditions: Sequence[Condition]) -> None:
    if all(each.name == SOAK for each in conditions):
        raise click.UsageError("soak counts since other conditions hold: give another --condition")


def _say(found: Found) -> None:
    for line in _lines(found):
        echo(f"kraftgate: {line}", err=True)


def _lines(found: Found) -> Iterator[str]:
    for cluster, findings in found.items():
        for each in findings:
            yield f"{cluster}: {each.condition}: {each.verdict}: {each.reason}"


def _as_json(outcome: Outcome, *, many: bool) -> dict[str, object]:
    clusters: list[dict[str, object]] = [
        {"cluster": name, "findings": [finding_row(each).public() for each in findings]}
        for name, findings in outcome.found.items()
    ]
    told = several_json(clusters) if many else clusters[0]
    return {
        "satisfied": outcome.verdict is Verdict.SATISFIED,
        "verdict": str(outcome.verdict),
        "waited_seconds": round(outcome.waited_s, 3),
        **told,
    }


def _end(outcome: Outcome, timeout: timedelta) -> None:
    if outcome.verdict is Verdict.SATISFIED:
        return
    errors: dict[Verdict, type[KraftgateError]] = {
        Verdict.VIOLATED: HazardError,
        Verdict.UNKNOWN: NoDataError,
        Verdict.WAITING: GateNotMetError,
    }
    worst = [
        f"{name}: {each.condition}: {each.reason}"
        for name, findings in outcome.found.items()
        for each in _of(findings, outcome.verdict)
    ]
    within = f"not within {format_duration(timeout)}"
    raise errors[outcome.verdict](f"{within}: {'; '.join(worst)}")


def _of(findings: Sequence[Finding], verdict: Verdict) -> Iterator[Finding]:
    return (each for each in findings if each.verdict is verdict)

"""`kraftgate wait`: a gate for scripts that perform the steps themselves; changes nothing."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path

import click

from migration.assessment.conditions import Condition, Verdict
from migration.assessment.polled import NOT_POLLED
from migration.values.durations import duration_text, format_duration
from orchestrator.api.rows import finding_row
from orchestrator.api.status import clusters_json
from orchestrator.cli.framework import (
    ConditionType,
    DurationType,
    cluster_option,
    config_option,
    log_options,
    require_more_than_soak,
)
from orchestrator.config.load import Config, load_config
from orchestrator.config.models import ClusterEntry
from orchestrator.errors import GateNotMetError, HazardError, KraftgateError, NoDataError
from orchestrator.execution.passed_checkpoint import checkpoint_named, passed
from orchestrator.output.formatting import local_times
from orchestrator.output.printing import echo, echo_json
from orchestrator.run.assessed import Assessor
from orchestrator.run.probes.disks import why_not_polled
from orchestrator.run.probes.poller import OwnPoll
from orchestrator.run.probes.probes import poller_for
from orchestrator.run.reader import Reader
from orchestrator.run.waiting import ConditionWait, Findings, WaitResult, WaitSources


@click.command()
@config_option
@click.option(
    "--condition",
    "conditions",
    type=ConditionType(),
    multiple=True,
    metavar="CONDITION",
    help="A condition, such as isr_full or assignments_complete(3); may be given several times.",
)
@click.option("--checkpoint", metavar="ID", help="A checkpoint of the runbook that must be passed.")
@click.option(
    "--timeout",
    type=DurationType(),
    default="30m",
    show_default=True,
    metavar="DURATION",
    help="Exit with 3, 4 or 5 if it does not hold within this time.",
)
@cluster_option
@click.option(
    "--fail-fast", is_flag=True, help="Exit with 5 as soon as a condition needs an operator."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end.")
@log_options
def wait(
    config_path: Path,
    conditions: Sequence[Condition],
    checkpoint: str | None,
    timeout: timedelta,
    cluster: str | None,
    *,
    fail_fast: bool,
    as_json: bool,
) -> None:
    """Wait until conditions hold, for a script that performs the steps itself.

    Reads the observations of the running `kraftgate run`, and lets it poll the disks before it
    reports that a condition holds. Prints pending conditions to stderr. Exits with 0 if all hold;
    after --timeout with 3 if one does not hold, 4 if that is unknown, 5 if an operator has to act.

    \b
    Examples:
      kraftgate wait --condition 'assignments_complete(3)' --timeout 30m
      kraftgate wait --condition 'no_hazard(restart, 3)' --timeout 1m
      kraftgate wait --condition isr_full --condition 'soak(10m)'
    """
    if not conditions and checkpoint is None:
        raise click.UsageError("nothing to wait for: add --condition or --checkpoint")
    config = load_config(config_path)
    entries = config.clusters_named(cluster)
    own: dict[str, Mapping[str, OwnPoll]] = {}
    if checkpoint is not None:
        for each in entries:
            awaited = checkpoint_named(config, each.name, checkpoint)
            evaluate = OwnPoll(partial(passed, config, each.name, awaited))
            own[each.name] = {awaited.condition.name: evaluate}
        conditions = (*conditions, awaited.condition)
    require_more_than_soak(conditions, "add another --condition")
    with _sources(config, entries, conditions, own) as sources:
        waiting = ConditionWait(entries, conditions, sources)
        outcome = waiting.wait(timeout.total_seconds(), fail_fast=fail_fast)
    if as_json:
        many = config.many and cluster is None
        echo_json(_as_json(outcome, many=many))
    elif outcome.verdict is Verdict.SATISFIED:
        for line in _lines(outcome.found):
            echo(line)
    _end(outcome, timeout)


@contextmanager
def _sources(
    config: Config,
    entries: Sequence[ClusterEntry],
    conditions: Sequence[Condition],
    own: Mapping[str, Mapping[str, OwnPoll]],
) -> Iterator[WaitSources]:
    assessor = Assessor(config, Reader(config, newest=1))
    with ExitStack() as stack:
        pollers = {}
        for each in entries:
            poller = poller_for(config, each, conditions, own.get(each.name, {}))
            pollers[each.name] = stack.enter_context(closing(poller))

        assessor.polled = lambda name: pollers[name].latest() if name in pollers else NOT_POLLED
        yield WaitSources(
            tick=assessor.tick,
            poll_disks=lambda name, broker, timeout_s: why_not_polled(
                config.state_dir, name, broker, "kraftgate wait", timeout_s
            ),
            poll_again=lambda name, timeout_s: pollers[name].poll_again(timeout_s),
            report=_print_pending,
            not_followed=assessor.not_followed,
        )


def _print_pending(found: Findings) -> None:
    for line in _lines(found):
        echo(f"kraftgate: {line}", err=True)


def _lines(found: Findings) -> Iterator[str]:
    for cluster, findings in found.items():
        for each in findings:
            yield local_times(f"{cluster}: {each.condition}: {each.verdict}: {each.reason}")


def _as_json(outcome: WaitResult, *, many: bool) -> dict[str, object]:
    clusters: list[dict[str, object]] = [
        {"cluster": name, "findings": [finding_row(each).public() for each in findings]}
        for name, findings in outcome.found.items()
    ]
    findings = clusters_json(clusters, many=many)
    return {
        "satisfied": outcome.verdict is Verdict.SATISFIED,
        "verdict": str(outcome.verdict),
        "waited_seconds": round(outcome.waited_s, 3),
        **findings,
    }


def _end(outcome: WaitResult, timeout: timedelta) -> None:
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
        for each in findings
        if each.verdict is outcome.verdict
    ]
    waited = timedelta(seconds=outcome.waited_s)
    when = f"not within {format_duration(timeout)}"
    if waited < timeout:  # --fail-fast
        when = f"after {duration_text(waited // timedelta(milliseconds=1))}"
    raise errors[outcome.verdict](f"{when}: {'; '.join(worst)}")

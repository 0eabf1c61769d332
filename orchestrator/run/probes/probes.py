"""Selects the functions that poll what the conditions of one cluster need.

They include the users' own conditions: commands, and queries of their Prometheus.
"""

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from migration.assessment.conditions import Condition, DataSource, Finding, Verdict
from migration.assessment.data_source import POLLED
from migration.observed.probed import Unknown
from migration.values.durations import format_duration
from orchestrator.config.load import Config
from orchestrator.config.models import ClusterEntry
from orchestrator.errors import ConfigError
from orchestrator.process.command import OUTPUT_BYTES_MAX, run_command
from orchestrator.process.environment import VariableNotSet, child_environment
from orchestrator.redaction.known_secrets import Secrets
from orchestrator.run.probes.disks import why_not_polled
from orchestrator.run.probes.poller import OwnPoll, Poll, Poller
from orchestrator.runbook.model import OwnCondition, ShellCondition
from streams.process.clocks import wall_clock_ms

CLUSTER: Final = "KRAFTGATE_CLUSTER"
"""The environment variable that names the cluster of the condition."""
_VERDICTS: Final = {0: Verdict.SATISFIED, 1: Verdict.WAITING, 2: Verdict.VIOLATED}
_LINE_MAX: Final = 300


def needs_of(conditions: Iterable[Condition]) -> frozenset[DataSource]:
    return frozenset[DataSource]().union(*(each.needs for each in conditions))


def poller_for(
    config: Config,
    entry: ClusterEntry,
    conditions: Iterable[Condition],
    own: Mapping[str, OwnPoll],
) -> Poller:
    """Return the poller of what the conditions need, and of nothing else.

    A condition on a controller needs the quorum too, to know which controllers exist.
    """
    conditions = tuple(conditions)
    needs = set(needs_of(conditions))
    if any(each.controller is not None for each in conditions):
        needs.add(DataSource.QUORUM)
    return Poller(polls_of(config, entry, needs), own)


def polls_of(
    config: Config, entry: ClusterEntry, needs: Collection[DataSource]
) -> Mapping[DataSource, Poll]:
    """Return the function that polls each source that is needed and not followed."""
    needed = [source for source in POLLED if source in needs]
    if not needed:
        return {}  # without the import of the Kafka clients, which takes a third of a second
    from orchestrator.run.identity import followed_target
    from streams.probe.conditions import ask_checks, ask_quorum, ask_settings, ask_topics

    polls = {
        DataSource.TOPICS: ask_topics,
        DataSource.SETTINGS: ask_settings,
        DataSource.QUORUM: ask_quorum,
        DataSource.PREFLIGHT: ask_checks,
    }

    def poll(ask: Callable[..., object]) -> object:
        """Ask the cluster whose id the sources report by now."""
        try:
            return ask(followed_target(config, entry), wall_clock_ms)
        except ConfigError as error:
            return Unknown(str(error))

    return {source: partial(poll, polls[source]) for source in needed}


def disks_poller(state_dir: Path, cluster: str, purpose: str) -> Poller:
    """Return the poller that lets the running job poll the log directories of all brokers."""
    return Poller({DataSource.LOG_DIRS: partial(disks_polled, state_dir, cluster, purpose)}, {})


def disks_polled(state_dir: Path, cluster: str, purpose: str) -> Unknown | None:
    """Let the running job poll the log directories of all brokers; None: its answers are stored."""
    why = why_not_polled(state_dir, cluster, None, purpose)
    return None if why is None else Unknown(why)


def own_polls(conditions: Iterable[OwnCondition], cluster: str) -> Mapping[str, OwnPoll]:
    """Return the function that polls each condition, by name; none raises anything."""
    return {
        each.name: OwnPoll(partial(ask_own, each, cluster), _limit_s(each)) for each in conditions
    }


def _limit_s(own: OwnCondition) -> float:
    given = own.shell or own.promql
    return 0.0 if given is None else given.timeout.total_seconds()


def ask_own(own: OwnCondition, cluster: str) -> Finding:
    """Evaluate one condition now.

    Raises:
        ValueError: it is neither a command nor a query, so the runbook was not checked.
    """
    if own.shell is not None:
        return _ask_shell(own.name, own.shell, cluster)
    if own.promql is not None:
        from orchestrator.run.probes.promql import ask_promql

        return ask_promql(own.name, own.promql)
    raise ValueError(f"the condition {own.name} is neither `shell` nor `promql`")


def _ask_shell(name: str, shell: ShellCondition, cluster: str) -> Finding:
    """Run the command without a shell; it and the processes it leaves end within its timeout."""

    def unknown(reason: str) -> Finding:
        return Finding(condition=name, verdict=Verdict.UNKNOWN, reason=reason)

    try:
        environment = child_environment(shell.pass_env)
        ended = run_command(
            shell.argv, {**environment, CLUSTER: cluster}, shell.timeout.total_seconds()
        )
    except VariableNotSet as error:
        return unknown(str(error))
    except OSError as error:
        return unknown(f"{shell.argv[0]} cannot be started: {error.strerror}")
    if ended.code is None:
        return unknown(f"{shell.argv[0]} did not end within {format_duration(shell.timeout)}")
    how = f"exit code {ended.code}" if ended.code >= 0 else f"ended by signal {-ended.code}"
    return Finding(
        condition=name,
        verdict=_VERDICTS.get(ended.code, Verdict.UNKNOWN),
        reason=_last_line(ended.output) or f"{shell.argv[0]}: {how}",
        evidence=(how,),
    )


def _last_line(output: bytes) -> str:
    shown = Secrets().redactor(os.environ).output(output, OUTPUT_BYTES_MAX)
    last = next((each for line in reversed(shown.splitlines()) if (each := line.strip())), "")
    return "".join(each for each in last if each.isprintable())[:_LINE_MAX]

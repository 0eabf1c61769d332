"""`kraftgate preflight`: the checks before the window; changes nothing."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from migration.assessment.checks.check import Result, consequences
from migration.assessment.checks.phase import UNDER_WAY, phase_of
from migration.assessment.checks.run import judge, overall
from migration.image.summary import Phase
from migration.observed.probed import Facts, Unknown
from migration.values.evidence import total_of
from migration.values.severity import Severity
from orchestrator.api.status import clusters_json
from orchestrator.cli.framework import config_option, json_option, log_options
from orchestrator.config.load import Config, load_config
from orchestrator.config.targets import require_secrets, target_of
from orchestrator.errors import ConfigError, HazardError, NoDataError
from orchestrator.output.printing import echo_json
from orchestrator.output.rich_console import console
from orchestrator.views.terminal.preflight import outcome_of, picture, worst_outcome
from streams.probe.gather import gather

_AT_ONCE_MAX: Final = 4


@dataclass(frozen=True, slots=True)
class _Checked:
    facts: Facts
    results: tuple[Result, ...]

    @property
    def phase(self) -> Phase | None:
        return phase_of(self.facts)

    @property
    def worst(self) -> Severity | None:
        return overall(self.results)


@click.command()
@config_option
@json_option
@log_options
def preflight(config_path: Path, *, as_json: bool) -> None:
    """Check, before the window, whether the migration may begin.

    Asks ZooKeeper, every broker and, once they exist, the controllers; only reads. Exits with 5
    if a check blocks or cannot be decided, with 4 if nothing could be reached. On a finalized
    cluster nothing blocks and nothing is advised.

    \b
    Examples:
      kraftgate preflight --config kraftgate.yaml
      kraftgate preflight --json | jq -r '.checks[] | select(.blocking).id'
    """
    config = load_config(config_path)
    _require_addresses(config)
    targets = [target_of(entry) for entry in config.clusters]
    for each in targets:
        ensemble = () if each.zookeeper is None else (each.zookeeper.security,)
        require_secrets(config, *ensemble, each.brokers_security, each.controllers_security)
    with ThreadPoolExecutor(min(_AT_ONCE_MAX, len(config.clusters))) as pool:
        gathered = list(pool.map(gather, targets))
    checked = [_Checked(facts, judge(facts)) for facts in gathered]
    _show(config, checked, as_json=as_json)
    unreachable = [one.facts for one in checked if one.facts.nothing_reached]
    blocked = [
        one for one in checked if one.worst is Severity.CRITICAL and one.facts not in unreachable
    ]
    if blocked:
        raise HazardError("; ".join(map(_blocked, blocked)))
    if unreachable:
        raise NoDataError(
            "; ".join(f"{facts.cluster}: {_why_unreachable(facts)}" for facts in unreachable)
        )


def _require_addresses(config: Config) -> None:
    incomplete = [
        f"{config.path}: cluster `{entry.name}` has neither `zookeeper` nor `brokers`: preflight"
        " needs both, see the example in `kraftgate run --help`"
        for entry in config.clusters
        if entry.zookeeper is None and entry.brokers is None
    ]
    if incomplete:
        raise ConfigError(incomplete)


def _show(config: Config, checked: Sequence[_Checked], *, as_json: bool) -> None:
    if as_json:
        found = [_as_json(one) for one in checked]
        echo_json(clusters_json(found, many=config.many))
        return
    out = console()
    for position, one in enumerate(checked):
        if position:
            out.print()
        out.print(picture(one.facts.cluster, one.worst, one.results, one.phase))


def _as_json(one: _Checked) -> dict[str, object]:
    return {
        "cluster": one.facts.cluster,
        "phase": None if one.phase is None else str(one.phase),
        "outcome": worst_outcome(one.worst),
        "checks": [_check_json(result) for result in one.results],
    }


def _check_json(result: Result) -> dict[str, object]:
    return {
        "id": result.check.id,
        "title": result.check.title,
        "outcome": outcome_of(result.finding),
        "blocks": result.check.blocks,
        "blocking": result.is_blocking,
        "summary": result.finding.reason,
        "evidence": list(result.finding.evidence),
        "what_to_do": result.finding.fix or None,
        "evidence_total": total_of(result.finding.evidence, result.finding.evidence_total),
    }


def _blocked(one: _Checked) -> str:
    blocking = [result for result in one.results if result.is_blocking]
    depend = consequences(one.results)
    ids = ", ".join(result.check.id for result in blocking if result not in depend)
    more = sum(result in depend for result in blocking)
    checks = f"{ids}, and {more} checks that depend on these" if more else ids
    step = "continue" if one.phase in UNDER_WAY else "begin"
    return f"{one.facts.cluster}: do not {step} the migration: {checks}"


def _why_unreachable(facts: Facts) -> str:
    """Return why nothing was reached, in one line."""
    why = [one.why for one in (facts.zookeeper, facts.topics) if isinstance(one, Unknown)]
    return f"nothing could be reached ({'; '.join(why)})"

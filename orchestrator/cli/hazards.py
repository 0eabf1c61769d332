"""`kraftgate hazards`: the conditions that would lose data now, and the steps that they block."""

from collections.abc import Mapping
from pathlib import Path

import click
from rich.text import Text

from migration.assessment.conditions import View, hazards_not_known
from migration.assessment.conditions.condition import absent_broker
from migration.assessment.hazards import Action, Hazard
from migration.image.known_ids import known_brokers
from migration.values.evidence import count
from orchestrator.api.rows import HazardRow
from orchestrator.api.status import clusters_json
from orchestrator.cli.framework import config_option, json_option, log_options
from orchestrator.config.load import Config, load_config
from orchestrator.config.models import ClusterEntry
from orchestrator.errors import HazardError, NoDataError, UnknownIdError
from orchestrator.output.formatting import local_times
from orchestrator.output.printing import echo_json
from orchestrator.output.rich_console import console
from orchestrator.run.caught_up import caught_up
from orchestrator.run.probes.disks import why_not_polled


@click.command()
@config_option
@click.option(
    "--before",
    "step",
    type=click.Choice([str(each) for each in Action]),
    help="Only hazards that block this step.",
)
@click.option("--broker", type=int, metavar="ID", help="Only hazards of this broker.")
@click.option("--cluster", metavar="NAME", help="Only this cluster.")
@json_option
@log_options
def hazards(
    config_path: Path, step: str | None, broker: int | None, cluster: str | None, *, as_json: bool
) -> None:
    """Print what would lose data, with its evidence and the way out.

    Lets the running `kraftgate run` poll the brokers' disks now, and waits up to 15 s until it has
    processed what it received. Exits with 5 if a hazard blocks, with 4 if a source that would show
    one is not current, with 2 for a broker that does not exist.
    `finalize_too_early` is shown once finalizing is near, and with --before finalize.

    \b
    Example:
      kraftgate hazards --before restart --broker 3 && systemctl restart kafka
    """
    config = load_config(config_path)
    entries = config.clusters_named(cluster)
    action = None if step is None else Action(step)
    if broker is not None:
        _broker_not_known(broker, caught_up(config, entries, waits=False))
    unknown = {each.name: _not_polled(config, each, broker) for each in entries}
    views = caught_up(config, entries)
    if broker is not None:
        for name, why in _broker_not_known(broker, views).items():
            unknown[name].append(why)
    found = {}
    for name, view in views.items():
        active = view.due_hazards if action is None else view.hazards
        found[name] = _selected(active, action, broker)
        unknown[name] += hazards_not_known(view, action, broker)
    if as_json:
        printed = [_as_json(name, found[name], unknown[name]) for name in found]
        echo_json(clusters_json(printed, many=config.many and cluster is None))
    else:
        for name, active in found.items():
            _print(name, active, unknown[name], others=len(views[name].due_hazards))
    blocking = [each for active in found.values() for each in active if each.blocks is not None]
    if blocking:
        raise HazardError(blocking[0].text)
    missing = [f"{name}: {why}" for name, whys in unknown.items() for why in whys]
    if missing:
        raise NoDataError("; ".join(missing))


def _broker_not_known(broker: int, views: Mapping[str, View]) -> Mapping[str, str]:
    """Return the clusters that may have the broker, with the reason; empty if one has it.

    Raises:
        UnknownIdError: no cluster has it, and the sources that would show it are current.
    """
    if any(broker in known_brokers(each.summary) for each in views.values()):
        return {}
    absent = {name: absent_broker(broker, view) for name, view in views.items()}
    if all(absent.values()):
        raise UnknownIdError("; ".join(why for why in absent.values() if why))
    why = f"whether broker {broker} exists: the sources that would show it are not current"
    return {name: why for name, known in absent.items() if known is None}


def _not_polled(config: Config, cluster: ClusterEntry, broker: int | None) -> list[str]:
    """Poll the disks now; return why that failed. The view reports disks without configuration."""
    if cluster.brokers is None:
        return []
    why = why_not_polled(config.state_dir, cluster.name, broker, "kraftgate hazards")
    return [] if why is None else [why]


def _selected(
    found: tuple[Hazard, ...], action: Action | None, broker: int | None
) -> tuple[Hazard, ...]:
    return tuple(
        each
        for each in found
        if (action is None or each.forbids(action))
        and (broker is None or each.broker in (None, broker))
    )


def _as_json(cluster: str, found: tuple[Hazard, ...], unknown: list[str]) -> dict[str, object]:
    return {
        "cluster": cluster,
        "blocked": any(each.blocks is not None for each in found),
        "unknown": unknown,
        "hazards": [HazardRow.model_validate(each).public() for each in found],
    }


def _print(cluster: str, found: tuple[Hazard, ...], unknown: list[str], *, others: int) -> None:
    """Print the selected hazards; `others`: the number of active ones if none is selected."""
    out = console(soft_wrap=True)
    if not found:
        none = "no hazard is known"
        if others:
            none = f"no such hazard is known; active: {count(others, 'other hazard')}"
            none += " (kraftgate hazards)"
        out.print(Text.assemble((cluster, "bold"), f": {none}"))
    for each in found:
        blocked = " and ".join(filter(None, (each.blocks, each.also_blocks)))
        blocks = f", blocks {blocked}" if blocked else ""
        style = "bold red" if each.severity == "critical" else "bold yellow"
        out.print(Text(f"{cluster}: {each.kind} ({each.severity}{blocks})", style=style))
        out.print(Text(local_times(f"  {each.text}")))
        for line in each.shown:
            out.print(Text(local_times(f"    - {line}")))
        out.print(Text(local_times(f"  way out: {each.way_out}\n")))
    for why in unknown:
        out.print(Text.assemble((f"{cluster}: not known:", "bold yellow"), f" {local_times(why)}"))

"""`kraftgate hazards`: what would lose data now, and whether a step may be taken."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rich.text import Text

from migration.assessment.conditions import View, hazards_not_known
from migration.assessment.hazards import Action, Hazard
from orchestrator.api.rows import hazard_row
from orchestrator.api.status import several_json
from orchestrator.config.identifiers import broker_not_known
from orchestrator.config.load import Config, load_config
from orchestrator.config.models import ClusterEntry
from orchestrator.errors import HazardError, NoDataError
from orchestrator.output.printing import echo_json
from orchestrator.output.rich_console import console
from orchestrator.run.assessor import Assessor
from orchestrator.run.reader import Reader

LOOK_S: Final = 15.0


def show(config_path: Path, action: Action | None, broker: int | None, *, as_json: bool) -> None:
    """Print the hazards of every configured cluster.

    `action`, `broker`: only what blocks this step, for this broker. Without a step: what is
    dangerous now, and not what would be only if the migration were finalized early.

    Raises:
        ConfigError: the configuration cannot be used.
        UnknownIdError: no cluster has this broker.
        HazardError: one blocks; all were printed.
        NoDataError: none is known to block, but what would show one is not known; likewise.
    """
    config = load_config(config_path)
    if broker is not None:
        broker_not_known(broker, _views(config))
    unknown = {each.name: _unknown(config, each, broker) for each in config.clusters}
    views = _views(config)
    if broker is not None:
        for name, why in broker_not_known(broker, views).items():
            unknown[name].append(why)
    found = {}
    for name, view in views.items():
        some = view.dangers if action is None else view.hazards
        found[name] = _asked(some, action, broker)
        unknown[name] += hazards_not_known(view, action, broker)
    if as_json:
        told = [_as_json(name, found[name], unknown[name]) for name in found]
        echo_json(several_json(told) if config.many else told[0])
    else:
        for name, some in found.items():
            _print(name, some, unknown[name])
    blocking = [each for some in found.values() for each in some if each.blocks is not None]
    if blocking:
        raise HazardError(blocking[0].text)
    missing = [f"{name}: {why}" for name, some in unknown.items() for why in some]
    if missing:
        raise NoDataError("; ".join(missing))


def _views(config: Config) -> Mapping[str, View]:
    assessor = Assessor(config, Reader(config, newest=1), once=True)
    tick = assessor.tick(time.time_ns() // 1_000_000)
    return {one.entry.name: one.assessment.view for one in tick.clusters}


def _unknown(config: Config, cluster: ClusterEntry, broker: int | None) -> list[str]:
    """Have the disks looked at now; that they are not configured is said by the view."""
    if cluster.brokers is None:
        return []
    from streams.spark.log_dirs_poll import look_at_disks

    if look_at_disks(config.state_dir, cluster.name, broker, "kraftgate hazards", LOOK_S):
        return []
    return ["the disks could not be looked at now: is `kraftgate run` running?"]


def _asked(
    found: tuple[Hazard, ...], action: Action | None, broker: int | None
) -> tuple[Hazard, ...]:
    return tuple(
        each
        for each in found
        if (action is None or each.blocks is action)
        and (broker is None or each.broker in (None, broker))
    )


def _as_json(cluster: str, found: tuple[Hazard, ...], unknown: list[str]) -> dict[str, object]:
    return {
        "cluster": cluster,
        "blocked": any(each.blocks is not None for each in found),
        "unknown": unknown,
        "hazards": [hazard_row(each).public() for each in found],
    }


def _print(cluster: str, found: tuple[Hazard, ...], unknown: list[str]) -> None:
    out = console(soft_wrap=True)
    if not found:
        out.print(Text.assemble((cluster, "bold"), ": no hazard is known"))
    for each in found:
        blocks = f", blocks {each.blocks}" if each.blocks else ""
        style = "bold red" if each.severity == "critical" else "bold yellow"
        out.print(Text(f"{cluster}: {each.kind} ({each.severity}{blocks})", style=style))
        out.print(Text(f"  {each.text}"))
        for line in each.shown:
            out.print(Text(f"    - {line}"))
        out.print(Text(f"  way out: {each.way_out}\n"))
    for why in unknown:
        out.print(Text.assemble((f"{cluster}: not known:", "bold yellow"), f" {why}"))

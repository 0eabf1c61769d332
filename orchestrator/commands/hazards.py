"""`kraftgate hazards`: what would lose data now, and whether a step may be taken."""

import json
import time
from pathlib import Path
from typing import Final

import click
from rich.console import Console
from rich.markup import escape

from migration.hazards import Action, Hazard, hazards
from migration.source_status import is_current
from orchestrator.commands.reading import Reader
from orchestrator.config import Config, load_config
from orchestrator.config_models import ClusterEntry
from orchestrator.contract import hazard_json, several_json
from orchestrator.errors import HazardError, NoDataError
from orchestrator.following import Snapshot

LOOK_S: Final = 15.0


def show(config_path: Path, action: Action | None, broker: int | None, *, as_json: bool) -> None:
    """Print the hazards of every configured cluster.

    `action`, `broker`: only what blocks this step, for this broker.

    Raises:
        ConfigError: the configuration cannot be used.
        HazardError: one blocks; all were printed.
        NoDataError: none is known to block, but what would show one is not known; likewise.
    """
    config = load_config(config_path)
    unknown = {each.name: _unknown(config, each, broker) for each in config.clusters}
    now_ms = time.time_ns() // 1_000_000
    found = {}
    for one in Reader(config, newest=1).look(now_ms):
        name = one.summary.cluster
        found[name] = _asked(hazards(one.summary, now_ms), action, broker)
        unknown[name] += _stale(config, one, now_ms)
    if as_json:
        told = [_as_json(name, found[name], unknown[name]) for name in found]
        click.echo(json.dumps(several_json(told) if config.many else told[0], indent=2))
    else:
        for name, some in found.items():
            _print(name, some, unknown[name])
    blocking = [each for some in found.values() for each in some if each.blocks is not None]
    if blocking:
        raise HazardError(blocking[0].text)
    missing = [f"{name}: {why}" for name, some in unknown.items() for why in some]
    if missing:
        raise NoDataError("; ".join(missing))


def _unknown(config: Config, cluster: ClusterEntry, broker: int | None) -> list[str]:
    if cluster.brokers is None:
        return ["the disks are not looked at: `brokers` is not configured"]
    from streams.job.fresh import look_at_disks

    if look_at_disks(config.state_dir, cluster.name, broker, "kraftgate hazards", LOOK_S):
        return []
    return ["the disks could not be looked at now: is `kraftgate run` running?"]


def _stale(config: Config, one: Snapshot, now_ms: int) -> list[str]:
    """What is configured and not current; the metadata log may be absent until it has begun."""
    entry = next(each for each in config.clusters if each.name == one.summary.cluster)
    told = []
    zookeeper = one.summary.zookeeper
    if entry.zookeeper is not None and (
        zookeeper is None
        or zookeeper.seen_ms is None
        or zookeeper.blind_since_ms is not None
        or not is_current(one.zookeeper, now_ms)
    ):
        told.append("ZooKeeper is not seen")
    begun = one.summary.metadata_offset is not None
    if entry.controllers is not None and begun and not is_current(one.status, now_ms):
        told.append("the metadata log is not current")
    return told


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
        "hazards": [hazard_json(each) for each in found],
    }


def _print(cluster: str, found: tuple[Hazard, ...], unknown: list[str]) -> None:
    console = Console(soft_wrap=True, highlight=False)
    if not found:
        console.print(f"[bold]{cluster}[/]: no hazard is known")
    for each in found:
        blocks = f", blocks {each.blocks}" if each.blocks else ""
        style = "bold red" if each.severity == "critical" else "bold yellow"
        console.print(
            f"[{style}]{cluster}: {each.kind} ({each.severity}{blocks})[/]\n  {escape(each.text)}"
        )
        for line in each.evidence:
            console.print(f"    - {escape(line)}")
        console.print(f"  way out: {escape(each.way_out)}\n")
    for why in unknown:
        console.print(f"[bold yellow]{cluster}: not known:[/] {escape(why)}")

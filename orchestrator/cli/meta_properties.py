"""`kraftgate meta-properties`: checks the meta.properties of one node's directories."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import click
from rich.text import Text

from migration.assessment.meta_properties import META, Fault, faults
from migration.assessment.next_start import (
    Effect,
    NextStart,
    Role,
    modes_that_count,
    next_start,
    role_of,
)
from migration.image.summary import Mode
from migration.observed.probed import MetaProperties
from migration.values.paths import is_same
from orchestrator.api.meta_properties import DirectoryRow, MetaPropertiesReport, StartRow
from orchestrator.cli.framework import json_option, log_options
from orchestrator.errors import HazardError, KraftgateError
from orchestrator.output.printing import echo_json
from orchestrator.output.rich_console import console
from orchestrator.views.terminal.blocks import bare_table
from streams.log_dirs.local_host import read_meta

_NAMES: Final = {
    Role.BROKER: "broker",
    Role.CONTROLLER: "controller",
    Role.COMBINED: "combined node",
}
_AT_RISK: Final = {
    Role.BROKER: "replicas",
    Role.CONTROLLER: "metadata",
    Role.COMBINED: "replicas or metadata",
}


@click.command("meta-properties")
@click.argument(
    "paths",
    nargs=-1,
    required=True,
    type=click.Path(exists=True),
    metavar="PATH...",
)
@click.option("--cluster-id", metavar="ID", help="The cluster's id.  [default: the first file's]")
@click.option(
    "--node-id",
    type=click.IntRange(min=0),
    metavar="ID",
    help="The configured broker.id or node.id.  [default: the first file's]",
)
@click.option(
    "--metadata-log-dir",
    metavar="PATH",
    help="The directory of the metadata log.  [default: the first PATH]",
)
@click.option(
    "--role",
    type=click.Choice([each.value for each in Role]),
    help="The node's process.roles.  [default: by the metadata log and the partitions]",
)
@click.option(
    "--mode",
    type=click.Choice([each.value for each in Mode]),
    help="The mode of the next start.  [default: each mode]",
)
@json_option
@log_options
def meta_properties(
    paths: tuple[str, ...],
    cluster_id: str | None,
    node_id: int | None,
    metadata_log_dir: str | None,
    role: str | None,
    mode: str | None,
    *,
    as_json: bool,
) -> None:
    """Check a node's meta.properties, and how it starts.

    Also finds partitions with a log in two of the directories, with which no broker starts.

    PATH is a log directory of a broker or controller, or the meta.properties in it; name all
    directories of its log.dirs and metadata.log.dir, those of log.dirs first and in that order.
    Spell them as the configuration does: for Kafka, /data/d1 and /data/d1/ are two directories.
    Only reads. Exits with 5 if the next start is refused, or puts replicas or metadata at risk: in
    the mode of --mode; without it, in any mode. Controllers and combined nodes have KRaft mode
    only, and so have brokers whose files all have version 1. Kafka 3.9's rules apply.

    \b
    Examples:
      kraftgate meta-properties /data/d0 /data/d1
      kraftgate meta-properties /data/d0 /data/d1 --mode kraft --node-id 1 --json
      kraftgate meta-properties /data/metadata --role controller --cluster-id ID
    """
    files = [_read(each) for each in paths]
    known = [each.path for each in files]
    if len(set(known)) < len(known):
        raise click.UsageError("a directory is named twice; name each directory once")
    metadata = known[0] if metadata_log_dir is None else _directory(metadata_log_dir)
    if not any(is_same(each, metadata) for each in known):
        raise click.UsageError(
            f"{metadata} is not among the directories; name it as a PATH, too: Kafka reads its"
            f" {META} with the others"
        )
    node = role_of(files) if role is None else Role(role)
    if node is not Role.BROKER and mode not in (None, Mode.KRAFT.value):
        raise click.UsageError(f"a {_NAMES[node]} starts in KRaft mode only; pass --mode kraft")
    found = faults(files, cluster_id=cluster_id, node_id=node_id, metadata_log_dir=metadata)
    starts = [
        next_start(
            files,
            each,
            metadata_log_dir=metadata,
            cluster_id=cluster_id,
            node_id=node_id,
            role=node,
        )
        for each in Mode
        if mode in (None, each.value) and (node is Role.BROKER or each is Mode.KRAFT)
    ]
    counting = modes_that_count(files, node) if mode is None else tuple(Mode)
    if as_json:
        echo_json(_report(files, found, starts, metadata, counting, node).model_dump(mode="json"))
    else:
        _print(files, found, starts, node)
    unsafe = [each.mode.value for each in starts if each.mode in counting and not each.is_safe]
    if unsafe:
        raise HazardError(
            f"the next start is refused or puts {_AT_RISK[node]} at risk in mode"
            f" {', '.join(unsafe)}: fix the faults named above before the {_NAMES[node]} starts"
        )


def _directory(path: str) -> str:
    """Return the absolute path of a directory, or of its file, as it is spelled."""
    directory = path.removesuffix(f"/{META}") if path != META else "."
    return directory if directory.startswith("/") else f"{Path.cwd()}/{directory}"


def _read(path: str) -> MetaProperties:
    """Read one directory.

    Raises:
        click.UsageError: the path is another file.
        KraftgateError: it cannot be read.
    """
    directory = _directory(path)
    if not Path(directory).is_dir():
        raise click.UsageError(f"{path} is neither a directory nor a {META}")
    try:
        return replace(read_meta(Path(directory)), path=directory)
    except OSError as error:
        raise KraftgateError(f"{directory}: cannot read it: {error.strerror}") from error


def _report(
    files: Sequence[MetaProperties],
    found: Sequence[Fault],
    starts: Sequence[NextStart],
    metadata: str,
    counting: Sequence[Mode],
    role: Role,
) -> MetaPropertiesReport:
    return MetaPropertiesReport(
        role=role,
        metadata_log_dir=metadata,
        directories=tuple(
            DirectoryRow.from_facts(
                one,
                version=one.version if one.readable else None,
                partitions=len(one.partitions),
                faults=[each for each in found if each.path == one.path],
            )
            for one in files
        ),
        starts=tuple(
            StartRow.from_facts(each, counts=each.mode in counting, safe=each.is_safe)
            for each in starts
        ),
    )


def _print(
    files: Sequence[MetaProperties],
    found: Sequence[Fault],
    starts: Sequence[NextStart],
    role: Role,
) -> None:
    out = console(soft_wrap=True)
    table = bare_table(gap=2)
    table.add_column("directory", overflow="fold")
    for head in ("version", "node", "cluster", "directory.id"):
        table.add_column(head, no_wrap=True)
    for one in files:
        version = str(one.version) if one.readable else "-"
        node = "-" if one.node_id is None else str(one.node_id)
        cells = (one.path, version, node, one.cluster_id or "-", one.directory_id or "-")
        table.add_row(*map(Text, cells))
    out.print(table)
    for fault in found:
        out.print(Text(f"{fault.path}: {fault.text}", style="bold yellow"))
    for start in starts:
        node = "" if role is Role.BROKER else f"{_NAMES[role]}, "
        verdict = "starts" if start.refusal is None else f"refuses to start: {start.refusal}"
        style = "bold green" if start.is_safe else "bold red"
        out.print(Text(f"\n{node}{start.mode} mode: {verdict}", style=style))
        for effect in start.directories:
            style = "bold red" if effect.effect is Effect.HARMS else ""
            out.print(Text(f"  {effect.path}: {effect.text}", style=style))

"""The click group `audit`: verify, export and show the audit trail. Nothing here writes."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from migration.values.foreign import INT64_MAX
from orchestrator.audit.entry import Entry, parse_hash
from orchestrator.audit.log import AUDIT_FILE, AuditLog
from orchestrator.audit.sentences import author, checked_text, folded, sentence
from orchestrator.audit.verify import VerifyResult
from orchestrator.cli.framework import Group, config_option, json_option
from orchestrator.config.load import load_config
from orchestrator.errors import AuditError, NoDataError
from orchestrator.output.formatting import local_times, moment_text, quoted
from orchestrator.output.printing import echo, echo_exact, echo_json

_cluster = click.option("--cluster", metavar="NAME", help="Only this cluster's entries.")


@click.group(cls=Group)
def audit() -> None:
    """Show, export and verify the audit trail: decisions, actions, and who made them.

    \b
    Example:
      kraftgate audit show --last 20
    """


def _head(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    try:
        return None if value is None else parse_hash(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@audit.command()
@config_option
@click.option(
    "--head",
    metavar="HASH",
    callback=_head,
    help="A head that was noted earlier: the trail must still contain it.",
)
@json_option
def verify(config_path: Path, head: str | None, *, as_json: bool) -> None:
    """Verify that no entry was changed, deleted or inserted, and that the end exists.

    Exits with 1 if the trail is damaged. Note the printed head where no user of the state directory
    can write: with --head it detects a trail that was written again from the beginning.

    \b
    Example:
      kraftgate audit verify --head sha256:9f86d08188...
    """
    path = load_config(config_path).state_dir / AUDIT_FILE
    with AuditLog.open_readonly(path) as log:
        found = log.verify(head)
    if as_json:
        result = {
            "ok": found.ok,
            "entries": found.count,
            "head": found.head,
            "first_bad": found.first_bad,
            "why": found.why,
        }
        echo_json(result)
    _require_intact(path, found)
    if found.count == 0 and head is None:
        raise NoDataError(f"{path}: the audit trail has no entry yet")
    if not as_json:
        echo(f"intact: {found.count} entries, head {found.head}")


@audit.command()
@config_option
@_cluster
@click.option(
    "--after",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Only entries after number N.",
)
def export(config_path: Path, cluster: str | None, after: int) -> None:
    """Print the entries as lines of JSON, each with its hash.

    Exits with 1 if the trail is damaged, as `audit verify` does; it still prints the entries.
    An entry's hash is the SHA-256 of its line without `hash`. With --cluster the entries of other
    clusters are omitted, so `previous` may name an omitted entry.

    \b
    Example:
      kraftgate audit export --after 120 >> /mnt/elsewhere/audit.jsonl
    """
    with _opened(config_path, cluster) as log:
        newest = log.last(None, 1)
        number = newest[-1].sequence if newest else 0
        if after > number:
            raise click.UsageError(f"--after {after}: the audit trail ends with entry {number}")
        for line in log.export(cluster, after):
            echo_exact(line)


@audit.command()
@config_option
@_cluster
@click.option(
    "--last",
    type=click.IntRange(1, INT64_MAX),
    metavar="N",
    help="Only the newest N.",
)
@json_option
def show(config_path: Path, cluster: str | None, last: int | None, *, as_json: bool) -> None:
    """Print time, person and content of each entry, one line each, the newest last.

    Exits with 1 if the trail is damaged, as `audit verify` does; it still prints the entries.
    Consecutive evaluations of one checkpoint's guards, or of its gate, are one line, with their
    number; the JSON has all entries, with all fields.

    \b
    Example:
      kraftgate audit show --last 20
    """
    with _opened(config_path, cluster) as log:
        found = log.entries(cluster) if last is None else log.last(cluster, last)
        if as_json:
            echo_json({"entries": [json.loads(each.line()) for each in found]})
            return
        for each, times in folded(found):
            echo(_shown(each, times))


@contextmanager
def _opened(config_path: Path, cluster: str | None) -> Iterator[AuditLog]:
    """Open the trail; after its entries are printed, verify it.

    Raises:
        AuditError: it is not intact.
    """
    config = load_config(config_path)
    path = config.state_dir / AUDIT_FILE
    configured = [each.name for each in config.clusters]
    with AuditLog.open_readonly(path) as log:
        if cluster is not None and cluster not in configured and not _is_recorded(log, cluster):
            names = ", ".join(configured)
            raise click.UsageError(f"unknown cluster {cluster!r}. Configured clusters: {names}")
        yield log
        _require_intact(path, log.verify())


def _require_intact(path: Path, found: VerifyResult) -> None:
    if not found.ok:
        raise AuditError(f"{path} is not intact: {found.why} (intact up to entry {found.count})")


def _is_recorded(log: AuditLog, cluster: str) -> bool:
    try:
        cluster.encode()
    except UnicodeEncodeError:  # half of a surrogate pair: not text, so it is in no entry
        return False
    return bool(log.last(cluster))


def _shown(entry: Entry, times: int) -> str:
    what = f"{quoted(author(entry))}  {local_times(sentence(entry))}{checked_text(times)}"
    return f"{moment_text(entry.at_ms)}  {entry.cluster} #{entry.sequence}  {what}"

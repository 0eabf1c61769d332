"""`kraftgate report`: a report of the window, from the state directory alone."""

import logging
import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal, TypeAlias

import click

from migration.values.evidence import joined
from orchestrator.api.report.report import Report, schema_text
from orchestrator.cli.framework import cluster_option, config_option, require_outside
from orchestrator.config.load import Config, load_config
from orchestrator.errors import AuditError, KraftgateError, NoDataError
from orchestrator.output.printing import echo_text, write_document
from orchestrator.redaction.configured_secrets import configured_files
from orchestrator.redaction.known_secrets import Secrets
from orchestrator.redaction.redactor import redacted_model
from orchestrator.views.report.build import build
from orchestrator.views.report.formats.text import html_text, json_text, markdown_text
from orchestrator.views.report.gather import READ_AGAIN, gather
from streams.state.files import write_to

_log: Final = logging.getLogger(__name__)
Format: TypeAlias = Literal["html", "json", "markdown"]
_ENDINGS: Final[Mapping[str, Format]] = {".json": "json", ".md": "markdown"}
_TEXTS_KEPT: Final = 65_536
_FORMATS: Final = {"json": json_text, "markdown": markdown_text, "html": html_text}


@click.command()
@config_option
@cluster_option
@click.option(
    "--format",
    "format_",
    type=click.Choice(["html", "json", "markdown"]),
    help="Default: by the suffix of --out (.json, .md), else html.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write to this file instead of to stdout.",
)
@click.option("--schema", is_flag=True, help="Print the JSON Schema (2020-12) of --format json.")
def report(
    config_path: Path,
    cluster: str | None,
    format_: Format | None,
    out: Path | None,
    *,
    schema: bool,
) -> None:
    """Write a report of the window: one HTML page, JSON or Markdown.

    Reads only the state directory: no cluster, no network, no other process. During the window the
    report says that it has not ended. Exits with 4 if the store has nothing about a cluster, or
    lacks data that a source reported, with 1 if the audit trail is damaged; it still writes the
    report, which says so.

    \b
    Examples:
      kraftgate report --out window.html
      kraftgate report --format json | jq -r '.clusters[].summary[]'
      kraftgate report --out post-mortem.md
    """
    if schema:
        echo_text(schema_text())
        return
    config = load_config(config_path)
    if out is not None:
        require_outside(config, out)
    state = gather(config, [each.name for each in config.clusters_named(cluster)])
    found = _redacted(build(state), config)
    if format_ is None:
        format_ = "html" if out is None else _ENDINGS.get(out.suffix.lower(), "html")
    _write(_FORMATS[format_](found), out)
    unread = {each.unread: None for each in state.clusters if each.unread is not None}
    if found.audit is not None and not found.audit.intact:
        problem = f"{state.audit_file} {found.audit.problem}: {found.audit.why}"
        raise AuditError(f"{problem}; the report says so")
    if unread:
        raise NoDataError(f"{joined(list(unread))}: {READ_AGAIN}")


def _redacted(report: Report, config: Config) -> Report:
    """Return the report without secrets, which are recognised by value or by pattern.

    The trail was redacted when it was written; the store was not. The report may be made where the
    files of the secrets are not, such as on a copy of the state directory.

    Raises:
        SecretUnknown: a secret's file changed while it was read.
    """
    configured = configured_files(config)
    secrets = Secrets(files=tuple(configured)).readable()
    for path in sorted(set(configured) - set(secrets.files)):
        _log.warning(
            "%s: `%s`: %s cannot be used, so the report may show this secret where only its value"
            " identifies it: check the report before you send it on",
            *(config.path, configured[path], path),
        )
    redactor = secrets.redactor(os.environ)
    return redacted_model(report, lru_cache(_TEXTS_KEPT)(redactor.text))


def _write(text: str, out: Path | None) -> None:
    """Write to a file atomically, or to stdout as UTF-8.

    Raises:
        KraftgateError: the file cannot be written.
    """
    if out is None:
        write_document(text)
        return
    try:
        if not out.parent.is_dir():
            raise FileNotFoundError(2, "its directory does not exist")
        write_to(out, text, durable=False)
    except OSError as error:
        raise KraftgateError(f"{out} cannot be written: {error.strerror}") from error

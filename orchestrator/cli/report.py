"""`kraftgate report`: what happened in a window, written from the state directory alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, TypeAlias

from pydantic import ValidationError

from orchestrator.api.report.report import Report
from orchestrator.config.identifiers import clusters_named
from orchestrator.config.load import Config, load_config
from orchestrator.errors import AuditError, KraftgateError, NoDataError
from orchestrator.output.printing import write_document
from orchestrator.views.report.build import build
from orchestrator.views.report.formats.text import html_text, json_text, markdown_text
from orchestrator.views.report.gather import State, gather
from orchestrator.views.report.redaction import cleaned
from streams.state.files import replace_file

Format: TypeAlias = Literal["html", "json", "markdown"]
_ENDINGS: Final[Mapping[str, Format]] = {".json": "json", ".md": "markdown"}
_FORMATS: Final = {"json": json_text, "markdown": markdown_text, "html": html_text}


def report(
    config_path: Path, cluster: str | None, format_: Format | None, out: Path | None
) -> None:
    """Write the report of every configured cluster, or of one.

    `format_`: None: by the ending of `out`, else a page.

    Raises:
        ConfigError: the configuration cannot be used.
        NoDataError: there is nothing of a cluster to report on; what there is was written.
        AuditError: the audit trail is not as it was written; the report says so, and was written.
        FollowingError: the store cannot be read.
    """
    config = load_config(config_path)
    state = gather(config, _asked(config, cluster))
    found = _built(state, config)
    if format_ is None:
        format_ = "html" if out is None else _ENDINGS.get(out.suffix.lower(), "html")
    _write(_FORMATS[format_](found), out)
    empty = [name.snapshot.summary.cluster for name in state.clusters if name.is_empty]
    if found.audit is not None and not found.audit.intact:
        raise AuditError(f"{state.audit_file} is not intact: {found.audit.why}; the report says so")
    if empty:
        raise NoDataError(
            f"nothing was seen of {', '.join(empty)} with {config.state_dir}: start"
            f" `kraftgate run --config {config.path}`"
        )


def _asked(config: Config, cluster: str | None) -> list[str]:
    return [each.name for each in clusters_named(config, cluster)]


def _built(state: State, config: Config) -> Report:
    try:
        return cleaned(build(state), config)
    except ValidationError as error:
        first = error.errors()[0]["msg"]
        raise AuditError(
            f"{state.audit_file} has entries that this version does not read: use the Kraftgate"
            f" that wrote it ({error.error_count()} problems, the first: {first})"
        ) from error


def _write(text: str, out: Path | None) -> None:
    """Write to a file, whole or not at all, or to stdout as UTF-8.

    Raises:
        KraftgateError: the file cannot be written.
    """
    if out is None:
        write_document(text)
        return
    try:
        if not out.parent.is_dir():
            raise FileNotFoundError(2, "its directory does not exist")
        replace_file(out, text, durable=False)
    except OSError as error:
        raise KraftgateError(f"{out} cannot be written: {error.strerror}") from error

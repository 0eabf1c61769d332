"""The report as JSON, as Markdown and as one HTML page: without scripts, other files or requests.

The templates escape every value, with its control characters visible.
"""

import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from migration.values.timestamps import iso
from orchestrator.api.report.report import Happening, Report
from orchestrator.api.report.shape import Span
from orchestrator.errors import ThirdPartyError
from orchestrator.output.formatting import local_clock, local_times, moment_text, zone_text
from orchestrator.output.visible import visible
from orchestrator.views.report.times import clock, lasting, words

HAPPENINGS_MAX: Final = 3000
"""The most rows of the table of events; a browser lays out more of them slowly."""
_TEMPLATES: Final = Path(__file__).with_name("templates")
_SPECIAL: Final = re.compile(r"[\\`*{}\[\]<>#|~&$]|(?<!\w)_|_(?!\w)|^[-+=]")
"""Characters that are markup anywhere, or only at the end of a word or the start of a line."""
_NUMBERED: Final = re.compile(r"^(\d+)([.)])(?=\s|$)")
_BREAKS: Final = re.compile(r"\s+")


def json_text(report: Report) -> str:
    """Return the report as JSON; its schema is `runbooks/report.schema.json`."""
    return json.dumps(report.model_dump(mode="json"), indent=2) + "\n"


def html_text(report: Report) -> str:
    """Return the report as one HTML page.

    Raises:
        ThirdPartyError: matplotlib, which only this format needs, is not installed.
    """
    try:
        from orchestrator.views.report.formats.plots import plots  # matplotlib is slow to import
    except ModuleNotFoundError as error:
        raise ThirdPartyError(
            f"the report as HTML needs matplotlib, and there is no module {error.name}: install"
            " requirements-report.lock or `kraftgate[report]`, or use --format json or markdown"
        ) from error

    drawn = [plots(each, f"c{number}") for number, each in enumerate(report.clusters)]
    return _template("report.html.jinja", _shown).render(report=report, plots=drawn) + "\n"


def markdown_text(report: Report) -> str:
    """Return the report as Markdown, for a ticket or a post-mortem; the others have more."""
    return _template("report.md.jinja", _escaped).render(report=report) + "\n"


@cache
def _template(name: str, finalize: Callable[[object], object]) -> Template:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=finalize,
    )
    environment.filters |= {"lasting": lasting, "words": words}
    environment.filters |= {"iso": iso, "clock": clock, "bounded": bounded, "markup": Markup}
    environment.filters |= {
        "at": _at,
        "spent": _spent,
        "code": _code,
        "fenced": fenced,
        "verbatim": _verbatim,
    }
    environment.filters |= {"moment": moment_text, "local": _local, "zone": _zone}
    environment.globals |= {"heads": heads, "row": row}
    return environment.get_template(name)


def _shown(value: object) -> object:
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible(local_times(value))
    return value


def bounded(happened: Sequence[Happening]) -> tuple[list[Happening], int]:
    """Return at most HAPPENINGS_MAX items and the number left out: the least important ones."""
    shown = list(happened)
    for weight in ("plain", "notable"):
        excess = len(shown) - HAPPENINGS_MAX
        if excess <= 0:
            break
        dropped = {id(each) for each in [e for e in shown if e.weight == weight][-excess:]}
        shown = [each for each in shown if id(each) not in dropped]
    return shown[:HAPPENINGS_MAX], len(happened) - len(shown[:HAPPENINGS_MAX])


def plain(text: object) -> str:
    r"""Return text, escaped for Markdown, on one line.

    >>> plain("<b>|`x`\n[y](z)")
    '\\<b\\>\\|\\`x\\` \\[y\\](z)'
    """
    line = _BREAKS.sub(" ", visible(local_times(str(text)))).strip()
    return _NUMBERED.sub(r"\1\\\2", _SPECIAL.sub(r"\\\g<0>", line))


def heads(*names: str) -> Markup:
    """Return the first two lines of a table; a head that ends with # is of numbers."""
    rules = ["--:" if name.endswith("#") else "---" for name in names]
    return _markdown(
        f"| {' | '.join(n.removesuffix('#') for n in names)} |\n| {' | '.join(rules)} |"
    )


def row(*cells: object) -> Markup:
    """Return a line of a table; None and "" are shown as -."""
    return _markdown(
        f"| {' | '.join('-' if each is None else plain(each) or '-' for each in cells)} |"
    )


def fenced(text: str) -> Markup:
    """Return the text unchanged between fences that are longer than any in it."""
    ticks = "`" * max(3, *(len(each) + 1 for each in re.findall(r"`+", text)), 3)
    return _markdown("\n".join((f"{ticks}text", visible(text).rstrip("\n"), ticks)))


def _escaped(value: object) -> object:
    return value if isinstance(value, Markup) else _markdown(plain(value))


def _code(text: str) -> Markup:
    return _markdown(visible(text))


def _markdown(text: str) -> Markup:
    """Mark text as Markdown whose values are escaped."""
    return Markup(text)  # noqa: S704


def _at(moment_ms: int | None, none: str = "-") -> str:
    return none if moment_ms is None else clock(moment_ms)


def _verbatim(output: str) -> Markup:
    """Return what a command printed, with its own times."""
    return escape(visible(output))


def _local(moment_ms: int | None) -> str:
    return "-" if moment_ms is None else local_clock(moment_ms)


def _zone(moment_ms: int | None) -> str:
    """Return where local times are; empty if that is UTC, too."""
    zone = "UTC" if moment_ms is None else zone_text(moment_ms)
    return "" if zone == "UTC" else f", local times are {zone}"


def _spent(each: Span) -> str:
    if each.duration_ms is None:
        return "unknown"
    return lasting(each.duration_ms) + (", still" if each.ended_at is None else "")

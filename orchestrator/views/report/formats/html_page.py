"""The report as one HTML page: without scripts, other files or requests."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from migration.values.timestamps import iso
from orchestrator.api.report.report import Happening, Report
from orchestrator.output.visible import visible
from orchestrator.views.report.formats.plots import plots
from orchestrator.views.report.times import clock, lasting, words

TEMPLATES: Final = Path(__file__).with_name("templates")
HAPPENINGS_MAX: Final = 3000
"""The most rows of the table of events; a browser lays out more of them slowly."""


def html_text(report: Report) -> str:
    """Return the page."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=shown,
    )
    environment.filters |= {
        "iso": iso,
        "clock": clock,
        "lasting": lasting,
        "words": words,
        "bounded": bounded,
        "markup": Markup,
    }
    drawn = [plots(each, f"c{number}") for number, each in enumerate(report.clusters)]
    template = environment.get_template("report.html.jinja")
    return template.render(report=report, plots=drawn) + "\n"


def shown(value: object) -> object:
    """Return a template's value with its control characters visible; our own markup unchanged."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


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

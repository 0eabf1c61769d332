"""The report as one page: no script, no other file, nothing fetched."""

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
"""So many rows has the table of everything; a browser lays out more of them slowly."""


def html_text(report: Report) -> str:
    """Write it."""
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
    """What a template writes: text with nothing hidden in it; markup of ours as it is."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def bounded(happened: Sequence[Happening]) -> tuple[list[Happening], int]:
    """Give as many as a page may have, and how many are left out: first what matters least."""
    shown = list(happened)
    for weight in ("plain", "notable"):
        excess = len(shown) - HAPPENINGS_MAX
        if excess <= 0:
            break
        dropped = {id(each) for each in [e for e in shown if e.weight == weight][-excess:]}
        shown = [each for each in shown if id(each) not in dropped]
    return shown[:HAPPENINGS_MAX], len(happened) - len(shown[:HAPPENINGS_MAX])

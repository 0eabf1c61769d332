"""Writes a matplotlib figure as SVG for a page, with text as text and the page's own colours.

The output is deterministic: no date, no random ids. Ids begin with the plot's name, because a page
has several plots.
"""

import enum
import io
import re
from contextlib import AbstractContextManager
from typing import Any, Final
from xml.etree import ElementTree as Tree

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.typing import RcKeyType


class Colour(enum.StrEnum):
    """Placeholders for custom properties of the page's style, such as `--ink`: dark and light."""

    INK = "#010101"
    QUIET = "#020202"
    LINE = "#030303"
    HELD = "#040404"
    FENCED = "#050505"
    EXPOSED = "#060606"
    GOOD = "#070707"
    PENDING = "#080808"
    BAD = "#090909"
    PASSED = "#0a0a0a"
    BACK = "#0b0b0b"


SERIES: Final = tuple(f"#0c0c{n:02x}" for n in range(12))
"""Colours for lines that only need to differ: `--series-0` and so on."""

_SVG: Final = "http://www.w3.org/2000/svg"
_XLINK: Final = "{http://www.w3.org/1999/xlink}href"
_REFERENCE: Final = re.compile(r"#(?=[\w-]+\))")
_STYLE: Final[dict[RcKeyType, Any]] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "kraftgate",
    "font.family": "sans-serif",
    "font.size": 9,
    "text.parse_math": False,
    "text.color": Colour.INK,
    "axes.edgecolor": Colour.LINE,
    "axes.labelcolor": Colour.INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": Colour.QUIET,
    "ytick.color": Colour.QUIET,
    "grid.color": Colour.LINE,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "legend.frameon": False,
    "timezone": "UTC",
}


def style() -> AbstractContextManager[None]:
    """Return the context with the plots' style; figures are made and written inside it."""
    return mpl.rc_context(_STYLE)


def embedded(figure: Figure, name: str, title: str, told: str) -> str:
    """Return a figure as SVG; screen readers read `title` and `told`."""
    written = io.StringIO()
    figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    root = Tree.fromstring(written.getvalue())  # noqa: S314  # it was written just now
    for each in list(root):
        if each.tag == f"{{{_SVG}}}metadata":
            root.remove(each)
    for each in root.iter():
        _settle(each, name)
    root.attrib.pop("width", None)
    root.attrib.pop("height", None)
    width = root.attrib["viewBox"].split()[2]
    root.set("style", f"min-width:{float(width):.0f}px")
    root.set("role", "img")
    root.set("aria-labelledby", f"{name}-title {name}-told")
    for at, (tag, text) in enumerate((("title", title), ("desc", told))):
        element = Tree.Element(f"{{{_SVG}}}{tag}", {"id": f"{name}-{'told' if at else 'title'}"})
        element.text = text
        root.insert(at, element)
    Tree.register_namespace("", _SVG)
    return Tree.tostring(root, encoding="unicode")


def _settle(element: Tree.Element, name: str) -> None:
    """Replace the colours by the page's, and prefix the ids with the plot's name."""
    if "id" in element.attrib:
        element.set("id", f"{name}-{element.attrib['id']}")
    if _XLINK in element.attrib:
        element.set("href", element.attrib.pop(_XLINK).replace("#", f"#{name}-", 1))
    for key in ("clip-path", "style", "fill", "stroke"):
        if key in element.attrib:
            element.set(key, _coloured(_REFERENCE.sub(f"#{name}-", element.attrib[key])))


def _coloured(text: str) -> str:
    for each in Colour:
        text = text.replace(each, f"var(--{each.name.lower()})")
    for number, colour in enumerate(SERIES):
        text = text.replace(colour, f"var(--series-{number})")
    return text

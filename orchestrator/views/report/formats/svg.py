"""Writes a matplotlib figure as SVG for a page, with text as text and the page's own colours.

The output is deterministic: no date, no random ids. Ids begin with the plot's name, because a page
has several plots.
"""

import io
import re
from contextlib import AbstractContextManager
from typing import Any, Final
from xml.etree import ElementTree as Tree

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.typing import RcKeyType

INK: Final = "#010101"
QUIET: Final = "#020202"
LINE: Final = "#030303"
HELD: Final = "#040404"
FENCED: Final = "#050505"
EXPOSED: Final = "#060606"
GOOD: Final = "#070707"
PENDING: Final = "#080808"
BAD: Final = "#090909"
PASSED: Final = "#0a0a0a"
BACK: Final = "#0b0b0b"
_COLOURS: Final = {
    INK: "ink", QUIET: "quiet", LINE: "line", HELD: "held", FENCED: "fenced", EXPOSED: "exposed",
    GOOD: "good", PENDING: "pending", BAD: "bad", PASSED: "passed", BACK: "back",
}  # fmt: skip
"""Placeholders for custom properties of the page's style, such as `--ink`: dark and light."""
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
    "text.color": INK,
    "axes.edgecolor": LINE,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "grid.color": LINE,
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
    for colour, prop in _COLOURS.items():
        text = text.replace(colour, f"var(--{prop})")
    for number, colour in enumerate(SERIES):
        text = text.replace(colour, f"var(--series-{number})")
    return text

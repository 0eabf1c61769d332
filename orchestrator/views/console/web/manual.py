"""The handbook as pages of the console: each hazard, alert and headline links to one."""

import html
import re
from functools import cache
from itertools import pairwise
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from orchestrator.errors import UnknownIdError
from orchestrator.output.manual import HANDBOOK, text, title, topics
from orchestrator.views.console.access.refusals import Refused

_PAGE: Final = """<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>{title} - Kraftgate</title>
    <script src="../static/early.js"></script>
    <link rel="icon" href="../static/icon.svg" type="image/svg+xml" />
    <link rel="stylesheet" href="../static/css/tokens.css" />
    <link rel="stylesheet" href="../static/css/base.css" />
    <link rel="stylesheet" href="../static/css/manual.css" />
  </head>
  <body class="manual">
    <nav aria-label="Manual"><a href="..">Console</a> <a href="index">All pages</a></nav>
    <main>{body}</main>
  </body>
</html>
"""
_INDEX: Final = "index"
_PICTURES: Final = HANDBOOK.parent / "pictures"


def routes() -> list[BaseRoute]:
    """Return the routes of the manual; its pages are public and need no token."""
    found: list[BaseRoute] = [Route("/help/{topic}", _page, methods=["GET"])]
    if _PICTURES.is_dir():  # a package has none: the page then shows their descriptions
        found.append(Mount("/pictures", StaticFiles(directory=_PICTURES)))
    return found


def _page(request: Request) -> Response:
    topic = request.path_params["topic"]
    try:
        return HTMLResponse(_index() if topic == _INDEX else rendered(topic))
    except UnknownIdError as error:
        raise Refused(404, "not_found", str(error)) from error


@cache
def rendered(topic: str) -> str:
    """Return a page of the handbook as HTML; text in it that looks like HTML stays text.

    Raises:
        UnknownIdError: there is no such topic.
    """
    source = text(topic)
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(source)
    _with_anchors(tokens)
    return _filled(title(topics()[topic]), parser.renderer.render(tokens, parser.options, {}))


@cache
def _index() -> str:
    lines = (
        f'<li><a href="{name}">{html.escape(title(page))}</a></li>'
        for name, page in topics().items()
    )
    return _filled("Manual", f"<h1>Manual</h1><ul>{''.join(lines)}</ul>")


def _filled(heading: str, body: str) -> str:
    wide = body.replace("<table>", '<div class="wide" tabindex="0"><table>')
    return _PAGE.format(title=html.escape(heading), body=wide.replace("</table>", "</table></div>"))


def _with_anchors(tokens: list[Token]) -> None:
    """Give each heading the id that GitHub gives it, and each row that of its first cell."""
    before = ""
    for opening, inside in pairwise(tokens):
        if opening.type == "heading_open":
            plain = re.sub(r"[^\w\- ]", "", inside.content.lower())
            opening.attrSet("id", plain.replace(" ", "-"))
        elif opening.type == "td_open" and before == "tr_open" and inside.content.startswith("`"):
            opening.attrSet("id", inside.content.split("`")[1])
        before = opening.type

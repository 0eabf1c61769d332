"""The web application: the page, its files, and the routes below /api, behind the guard."""

from importlib import resources
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from orchestrator.errors import KraftgateError
from orchestrator.process.admission import Crowd
from orchestrator.views.console.access.refusals import Refusals, Refused
from orchestrator.views.console.web.guard import Guard
from orchestrator.views.console.web.routes import Routes

STATIC: Final = Path(str(resources.files("orchestrator.views.console"))) / "static"


def application(routes: Routes, crowd: Crowd) -> Starlette:
    """Return the application with all routes; `crowd`: its connections."""
    refusals = Refusals(routes.cleaner)
    guard = Middleware(
        Guard, config=routes.config, access=routes.access, crowd=crowd, refusals=refusals
    )
    return Starlette(
        routes=[
            Route("/", _page, methods=["GET"]),
            Mount("/static", StaticFiles(directory=STATIC)),
            *routes.routes(),
        ],
        middleware=[guard],
        exception_handlers=dict.fromkeys(
            (Refused, HTTPException, KraftgateError, Exception), refusals.answer
        ),
    )


async def _page(_: Request) -> Response:
    return FileResponse(STATIC / "index.html")

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
from orchestrator.views.console.access.refusals import Refusals, Refused
from orchestrator.views.console.web.context import Context
from orchestrator.views.console.web.guard import Guard
from orchestrator.views.console.web.routes import Routes

STATIC: Final = Path(str(resources.files("orchestrator.views.console"))) / "static"


def application(context: Context) -> Starlette:
    """Return the application with all routes."""
    refusals = Refusals(context.cleaner)
    return Starlette(
        routes=[
            Route("/", _page, methods=["GET"]),
            Mount("/static", StaticFiles(directory=STATIC)),
            *Routes(context).routes(),
        ],
        middleware=[Middleware(Guard, context=context, refusals=refusals)],
        exception_handlers={
            Refused: refusals.refused,
            HTTPException: refusals.by_starlette,
            KraftgateError: refusals.by_kraftgate,
            Exception: refusals.by_bug,
        },
    )


async def _page(_: Request) -> Response:
    return FileResponse(STATIC / "index.html")

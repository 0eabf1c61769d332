"""The console's errors and their responses: always a `Failure`."""

import http
import logging
from collections.abc import Mapping
from types import MappingProxyType

from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from orchestrator.api.console.answers import Failure, Problem
from orchestrator.errors import (
    ConfigError,
    ExecutionError,
    KraftgateError,
    NoDataError,
    RunbookError,
)
from orchestrator.views.console.access.redaction import RedactedJson

_LOG = logging.getLogger(__name__)
_CODES = {404: "not_found", 405: "method", 413: "too_long", 415: "content_type"}


class Refused(Exception):
    """The console rejects a request, with an HTTP status and a `Problem`."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        fix: str | None = None,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers
        self.problem = Problem(code=code, message=message, mend=fix)


class Refusals:
    """Returns the responses for errors."""

    def __init__(self, cleaner: RedactedJson) -> None:
        self._cleaner = cleaner

    def answer(self, status: int, problem: Problem, **headers: str) -> Response:
        """Return a failure as a response; it closes the connection, since the rest is not read."""
        ending = {"Connection": "close", **headers}
        return json_response(self._cleaner, Failure(error=problem), status, **ending)

    def refused(self, _: Request, error: Exception) -> Response:
        """Return the response for `Refused`."""
        if not isinstance(error, Refused):
            raise error
        return self.answer(error.status, error.problem, **error.headers)

    def by_starlette(self, _: Request, error: Exception) -> Response:
        """Return the response for an unknown path, or a method that the path does not have."""
        if not isinstance(error, HTTPException):
            raise error
        code = _CODES.get(error.status_code, "bad_request")
        words = http.HTTPStatus(error.status_code).phrase
        return self.answer(
            error.status_code, Problem(code=code, message=words), **(error.headers or {})
        )

    def by_kraftgate(self, _: Request, error: Exception) -> Response:
        """Return the response for a command that fails, or state that cannot be read."""
        message = str(error)
        match error:
            case ExecutionError() | RunbookError() | ConfigError():
                return self.answer(409, Problem(code="refused", message=message))
            case NoDataError():
                return self.answer(503, Problem(code="not_known", message=message))
            case KraftgateError():
                _LOG.error("the console: %s", message)
                return self.answer(500, Problem(code="failed", message=message))
        raise error

    def by_bug(self, _: Request, error: Exception) -> Response:
        """Return the response for any other error; the server logs it."""
        message = f"the console failed ({type(error).__name__}): its log has more"
        return self.answer(500, Problem(code="failed", message=message))


def json_response(
    cleaner: RedactedJson, model: BaseModel, status: int = 200, **headers: str
) -> Response:
    """Return a model as a response without secrets."""
    return Response(cleaner.json(model), status, headers, "application/json")

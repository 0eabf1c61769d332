"""The console's errors and their responses: always a `Failure`."""

import http
import logging
from collections.abc import Mapping
from types import MappingProxyType

from pydantic import BaseModel
from starlette.exceptions import HTTPException
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


def failure_response(cleaner: RedactedJson, error: Exception) -> Response:
    """Return a failure as a response; it closes the connection, since the rest is not read."""
    refused = _refused(error)
    ending = {"Connection": "close", **refused.headers}
    return json_response(cleaner, Failure(error=refused.problem), refused.status, **ending)


def _refused(error: Exception) -> Refused:
    message = str(error)
    match error:
        case Refused():
            return error
        case HTTPException(status_code=status):  # an unknown path, or method
            code = _CODES.get(status, "bad_request")
            phrase = http.HTTPStatus(status).phrase
            return Refused(status, code, phrase, headers=error.headers or {})
        case ExecutionError() | RunbookError() | ConfigError():
            return Refused(409, "refused", message)
        case NoDataError():
            return Refused(503, "not_known", message)
        case KraftgateError():
            _LOG.error("the console: %s", message)
            return Refused(500, "failed", message)
    # The server logs any other error.
    message = f"the console failed ({type(error).__name__}): its log has more"
    return Refused(500, "failed", message)


def json_response(
    cleaner: RedactedJson, model: BaseModel, status: int = 200, **headers: str
) -> Response:
    """Return a model as a response without secrets."""
    return Response(cleaner.json(model), status, headers, "application/json")

"""Errors as callers see them."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from rankfall.errors import InvalidError, JournalError, RankfallError, ServiceError, StoreError, UnavailableError
from rankfall.service.http.bodies import json_response
from rankfall.wire import ErrorDetails, ErrorResponse

_CODES = {404: "not_found"}  # all that the framework refuses by itself is this, or a bad request


def service_error(problem: RankfallError) -> ServiceError:
    """An error as the interface has it."""
    if isinstance(problem, ServiceError):
        return problem
    if isinstance(problem, JournalError):
        return UnavailableError(f"this server must be upgraded: {problem}", status=503)
    if isinstance(problem, StoreError):
        return UnavailableError("the store cannot be reached or written; try again", status=503)
    return InvalidError(str(problem))


def error_body(problem: RankfallError) -> ErrorResponse:
    """What an error says to the caller."""
    shown = service_error(problem)
    return ErrorResponse(ErrorDetails(shown.code, shown.message, shown.where))


def error_response(problem: Exception) -> Response:
    """The response to a request that failed as some must; an error that nobody expects is raised again."""
    if isinstance(problem, RankfallError):
        status = service_error(problem).status or 422
        return json_response(error_body(problem), status, {"Retry-After": "1"} if status == 503 else None)
    if isinstance(problem, HTTPException):
        details = ErrorDetails(_CODES.get(problem.status_code, "bad_request"), str(problem.detail))
        return json_response(ErrorResponse(details), problem.status_code, problem.headers)
    raise problem


def refusal(problem: ServiceError) -> Response:
    """The response to a request that is not read to its end: the connection cannot be used again."""
    return json_response(error_body(problem), problem.status or 422, {"Connection": "close"})


async def handle_http_error(_request: Request, problem: Exception) -> Response:
    """The response where there is no route, or no such method; a body is not read."""
    response = error_response(problem)
    response.headers["Connection"] = "close"
    return response

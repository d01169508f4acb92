"""Errors as callers see them."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route

from rankfall.errors import (
    InvalidError,
    JournalError,
    RankfallError,
    ServiceError,
    StoreError,
    UnavailableError,
    short,
)
from rankfall.service.http.bodies import json_response
from rankfall.wire import ErrorDetails, ErrorResponse


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
    raise problem


def refusal(problem: ServiceError) -> Response:
    """The response to a request that is not read to its end: the connection cannot be used again."""
    return json_response(error_body(problem), problem.status or 422, {"Connection": "close"})


async def handle_http_error(request: Request, problem: Exception) -> Response:
    """The response where there is no route, or no such method; a body is not read."""
    assert isinstance(problem, HTTPException)
    code, said, headers = "bad_request", str(problem.detail), {**(problem.headers or {}), "Connection": "close"}
    if problem.status_code == 404:
        code, said = "not_found", f"there is nothing at {short(request.url.path)}; /docs shows what there is"
    elif problem.status_code == 405 and (methods := _methods_at(request)):
        headers["Allow"] = ", ".join(methods)
        said = f"{short(request.method)} is not possible at {short(request.url.path)}; {headers['Allow']} can be sent"
    return json_response(ErrorResponse(ErrorDetails(code, said)), problem.status_code, headers)


def _methods_at(request: Request) -> list[str]:
    """The methods of all routes that a path has: each operation is a route of its own, and the framework sees one."""
    routes = [route for route in request.app.routes if isinstance(route, Route)]
    matching = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
    return sorted({method for route in matching for method in route.methods or ()})

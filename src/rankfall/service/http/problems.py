"""Errors as callers see them."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from rankfall.errors import InvalidError, RankfallError, ServiceError, StoreError, UnavailableError
from rankfall.service.http.edge import error_body

_CODES = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "bad_request",
    408: "timeout",
    409: "conflict",
    413: "too_large",
    415: "unsupported",
    422: "invalid",
    503: "unavailable",
}


def problem_of(problem: RankfallError) -> ServiceError:
    """An error as the interface has it."""
    if isinstance(problem, ServiceError):
        return problem
    if isinstance(problem, StoreError):
        return UnavailableError("the store cannot be reached or written; try again", status=503)
    return InvalidError(str(problem))


def response_of(problem: Exception) -> JSONResponse:
    """What the caller gets for an error that is expected; raises it again if it is not."""
    headers: dict[str, str] = {}
    where = None
    if isinstance(problem, RankfallError):
        seen = problem_of(problem)
        status, message, where = seen.status or 422, seen.message, seen.where
    elif isinstance(problem, RequestValidationError):
        first = problem.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        status, message = 400 if first["type"] == "json_invalid" else 422, f"{where}: {first['msg']}"
    elif isinstance(problem, HTTPException):
        status, message = problem.status_code, str(problem.detail)
        headers |= problem.headers or {}
    else:
        raise problem
    if status == 503:
        headers["Retry-After"] = "1"
    return JSONResponse(error_body(_CODES.get(status, "bad_request"), message, where), status, headers)


def install(app: FastAPI) -> None:
    """Have the app answer errors in one form."""

    async def answer(_request: Request, problem: Exception) -> JSONResponse:
        return response_of(problem)

    for kind in (RankfallError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, answer)

"""Errors as callers see them."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from rankfall.errors import InvalidError, RankfallError, ServiceError, StoreError, UnavailableError
from rankfall.service.edge import error_body

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


def _response(status: int, message: str, where: str | None = None) -> JSONResponse:
    headers = {"Retry-After": "1"} if status == 503 else None
    return JSONResponse(error_body(_CODES.get(status, "bad_request"), message, where), status, headers)


def install(app: FastAPI) -> None:
    """Have the app answer errors in one form."""

    @app.exception_handler(RankfallError)
    async def ours(_request: Request, problem: RankfallError) -> JSONResponse:
        seen = problem_of(problem)
        return _response(seen.status or 422, seen.message)

    @app.exception_handler(RequestValidationError)
    async def invalid(_request: Request, problem: RequestValidationError) -> JSONResponse:
        first = problem.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return _response(400 if first["type"] == "json_invalid" else 422, f"{where}: {first['msg']}", where)

    @app.exception_handler(HTTPException)
    async def http(_request: Request, problem: HTTPException) -> JSONResponse:
        response = _response(problem.status_code, str(problem.detail))
        response.headers.update(problem.headers or {})
        return response

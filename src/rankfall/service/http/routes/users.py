"""Users who want to be forgotten."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from rankfall.service.commands import ForgetUser
from rankfall.service.http.app_state import state_of
from rankfall.service.http.auth import everywhere
from rankfall.service.http.bodies import json_response
from rankfall.service.http.operations import Operations
from rankfall.service.http.parameters import path_name
from rankfall.wire import ForgetResponse

operations = Operations("users")


@operations.add("DELETE", "/v1/users/{user:path}", "Forget a user", needs=everywhere("admin"), gives=ForgetResponse)
async def forget_user(request: Request) -> Response:
    """Remove the states and lists of models of scope user, and the name from all other lists."""
    user = path_name(request, "user")
    forgotten = await state_of(request).engine.writer.submit(ForgetUser(user))
    return json_response(ForgetResponse(user, *forgotten))

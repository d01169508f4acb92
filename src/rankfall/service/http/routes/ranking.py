"""Lists to show."""

from __future__ import annotations

import asyncio

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from rankfall.errors import RankfallError, StoreError
from rankfall.service.events import response_of
from rankfall.service.http.app_state import AppState, state_of
from rankfall.service.http.auth import allowed, grant_of, on_model, somewhere
from rankfall.service.http.bodies import JSON, body_of, json_response, read_json
from rankfall.service.http.errors import error_body
from rankfall.service.http.operations import Operations
from rankfall.service.ranking import ChosenList, ResolvedRequest
from rankfall.wire import BatchedRankRequest, RankBatchRequest, RankBatchResponse, RankRequest, RankResponse, decode

operations = Operations("rank")


@operations.add(
    "POST",
    "/v1/models/{model}/rank",
    "Rank items for a caller",
    needs=on_model("rank"),
    takes=(RankRequest,),
    gives=RankResponse,
)
async def rank(request: Request) -> Response:
    """Give a list, best item first. It is stored with its features before it is sent, so feedback can come any time."""
    wanted = decode(RankRequest, body_of(request))
    return Response(await _rank(state_of(request), request.path_params["model"], wanted), media_type=JSON)


@operations.add(
    "POST",
    "/v1/rank",
    "Rank for several callers at once",
    needs=somewhere("rank"),
    takes=(RankBatchRequest,),
    gives=RankBatchResponse,
)
async def rank_batch(request: Request) -> Response:
    """Give lists in the order of the requests; one that fails has an error in its place."""
    state, grant = state_of(request), grant_of(request)
    batch = read_json(request, RankBatchRequest)
    state.limits.check_batch(len(batch.requests))
    state.limits.check_batch_items(sum(_items(state, wanted) for wanted in batch.requests))

    async def one(wanted: BatchedRankRequest) -> msgspec.Raw:
        try:
            allowed(grant, "rank", wanted.model)
            return msgspec.Raw(await _rank(state, wanted.model, wanted))
        except RankfallError as problem:
            return msgspec.Raw(msgspec.json.encode(error_body(problem)))

    return json_response(RankBatchResponse(await asyncio.gather(*map(one, batch.requests))))


def _items(state: AppState, wanted: BatchedRankRequest) -> int:
    """How many items a list is to have."""
    if wanted.k is not None:
        return wanted.k
    model = state.engine.state.models.get(wanted.model)
    return 0 if model is None else model.settings.k


async def _rank(state: AppState, name: str, wanted: RankRequest) -> bytes:
    """The response, as JSON. If the list cannot be stored, it is the caller's baseline."""
    model = state.model(name)
    state.limits.check_request(wanted, model, len(state.items))
    try:
        event = await state.engine.rank(model, wanted)
    except StoreError:
        if not wanted.baseline:
            raise
        state.metrics.count_unstored_list(name)
        resolved = ResolvedRequest(model, wanted, state.engine.clock())
        chosen = resolved.as_shown(ChosenList(resolved.baseline(), "fallback"))
        return msgspec.json.encode(response_of(model, resolved, chosen))
    state.metrics.count_list(name, event.arm, event.covered)
    return event.response.encode()

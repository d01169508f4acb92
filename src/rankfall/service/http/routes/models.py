"""Models: their settings, what they have learned, and how they do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from rankfall.errors import InvalidError
from rankfall.policies import LinearPolicy
from rankfall.policies.explanation import Weight as LearnedWeight
from rankfall.service.commands import FIXED, ChangeSettings, CreateModel, Reset
from rankfall.service.engine import Engine
from rankfall.service.events import moment
from rankfall.service.http.app_state import state_of
from rankfall.service.http.auth import allowed, grant_of, on_model, to_know
from rankfall.service.http.bodies import json_response, read_json
from rankfall.service.http.operations import Operations
from rankfall.service.http.parameters import path_name, read_query
from rankfall.service.model import Model
from rankfall.service.template import changed, check_pinned, check_rules, new_settings, policy_of
from rankfall.wire import (
    ArmCounts,
    Bucket,
    BucketCounts,
    HistoryQuery,
    HistoryResponse,
    ModelChanges,
    ModelCounts,
    ModelResponse,
    ModelSettings,
    ModelsResponse,
    NamedSettings,
    NewModel,
    OwnerQuery,
    PriorResponse,
    RewardCounts,
    SettingsResponse,
    VersionResponse,
    Weight,
)

operations = Operations("models")
_MODEL = "/v1/models/{model}"


@operations.add("GET", "/v1/models", "List models", gives=ModelsResponse)
async def models(request: Request) -> Response:
    """Give the models that this key may know of."""
    grant, found = grant_of(request), state_of(request).engine.state.models
    named = [_named(name, found[name].settings) for name in sorted(found) if grant.may_any(name)]
    return json_response(ModelsResponse(named))


@operations.add(
    "PUT",
    _MODEL,
    "Create a model",
    needs=on_model("admin"),
    takes=(NewModel,),
    gives=NamedSettings,
    statuses={200: "there already, with these settings", 201: "created"},
)
async def create_model(request: Request) -> Response:
    """Answer 201 if it was made now, 200 if it is there with these settings, 409 if with others."""
    name = path_name(request, "model")
    state = state_of(request)
    there = state.engine.state.models.get(name)
    settings = new_settings(
        msgspec.to_builtins(read_json(request, NewModel)), None if there is None else there.settings
    )
    catalog = await state.laid_out()
    await asyncio.to_thread(policy_of, settings, catalog)  # raises what the catalog cannot give
    check_pinned(settings, catalog)
    check_rules(settings.rules, catalog)
    created = await state.engine.writer.submit(CreateModel(name, settings))
    return json_response(_named(name, settings), 201 if created else 200)


@operations.add("PATCH", _MODEL, "Change a model", needs=on_model("admin"), takes=(ModelChanges,), gives=NamedSettings)
async def change_model(request: Request) -> Response:
    """Change only what is named. What was learned stays."""
    name = path_name(request, "model")
    state = state_of(request)
    model, changes = state.model(name), msgspec.to_builtins(_changes(request))
    await asyncio.to_thread(changed, model.settings, changes, await state.laid_out())  # raises what does not fit
    await state.engine.writer.submit(ChangeSettings(name, changes))
    return json_response(_named(name, state.model(name).settings))


@operations.add("GET", _MODEL, "What a model is and knows", needs=to_know, query=OwnerQuery, gives=ModelResponse)
async def model(request: Request) -> Response:
    """Give settings, counts, and the weights with their uncertainty; of a user or segment with the right admin only."""
    name = path_name(request, "model")
    engine, found = state_of(request).engine, state_of(request).model(name)
    query = read_query(request, OwnerQuery)
    owner = found.owner(query.user, query.segment)
    if owner:
        allowed(grant_of(request), "admin", name)  # what one person likes is not for everybody who may ask for lists
    view = None if owner is None else await engine.view(found, owner)
    counts, rewards = found.history.counts.counts, found.history.counts.rewards
    with_feedback, clicked, expired = (sum(arm[i] for arm in counts.values()) for i in range(3))
    return json_response(
        ModelResponse(
            name=name,
            settings=SettingsResponse(**msgspec.structs.asdict(found.settings)),
            version=engine.state.position if view is None else view.version,
            learned=None if view is None else view.policy.n_updates,
            created_at=moment(found.history.created),
            weights=[] if view is None else _weights(await asyncio.to_thread(view.policy.learned)),
            counts=ModelCounts(
                ranked=await asyncio.to_thread(engine.reader.ranked, name) + found.history.forgotten,
                with_feedback=with_feedback,
                clicked=clicked,
                no_click=with_feedback - clicked,
                expired=expired,
            ),
            arms={arm: _arm(lists, clicks, rewards.get(arm)) for arm, (lists, clicks, _) in counts.items()},
            prior=await asyncio.to_thread(_prior, engine, found),
        )
    )


@operations.add(
    "GET", f"{_MODEL}/history", "How a model did over time", needs=to_know, query=HistoryQuery, gives=HistoryResponse
)
async def history(request: Request) -> Response:
    """Give feedback and clicks of each arm.

    In buckets of ten seconds up to half an hour, of a minute up to six hours, of an hour beyond that.
    """
    name = path_name(request, "model")
    state, hours = state_of(request), read_query(request, HistoryQuery).hours
    width, buckets = state.model(name).history.counts.history(hours, state.engine.clock())
    shown = []
    for start, arms in buckets:
        lists = sum(cell[0] for cell in arms.values())
        covered = sum(cell[2] for cell in arms.values()) / lists if lists else None
        shown.append(Bucket(moment(start), {arm: BucketCounts(*cell[:2]) for arm, cell in arms.items()}, covered))
    return json_response(HistoryResponse(width, shown))


@operations.add("POST", f"{_MODEL}/reset", "Unlearn everything", needs=on_model("admin"), gives=VersionResponse)
async def reset_model(request: Request) -> Response:
    """Unlearn everything. The log stays, so a snapshot made before can be restored."""
    name = path_name(request, "model")
    model = state_of(request).model(name)
    return json_response(VersionResponse(await state_of(request).engine.writer.submit(Reset(model.name))))


def _changes(request: Request) -> ModelChanges:
    """What is to be changed; a setting that never changes is not one that nobody knows."""
    try:
        return read_json(request, ModelChanges)
    except InvalidError as problem:
        if (problem.where or "").removeprefix("body.") not in FIXED:
            raise
        raise InvalidError(f"{problem.where} never changes: make another model", where=problem.where) from None


def _arm(lists: int, clicked: int, sums: list[float] | None) -> ArmCounts:
    rate = clicked / lists if lists else None
    if sums is None:
        return ArmCounts(lists, clicked, rate)
    total, squares = sums
    mean = total / lists if lists else None
    sd = None if mean is None or lists < 2 else (max(0.0, squares - lists * mean**2) / (lists - 1)) ** 0.5
    return ArmCounts(lists, clicked, rate, RewardCounts(total, mean, sd))


def _prior(engine: Engine, model: Model) -> PriorResponse | None:
    """What users of a model start from, if there is a prior."""
    position = engine.state.position
    note, start = model.history.prior_at(position), model.prior_at(engine.reader, position)
    policy = model.template.policy
    if note is None or start is None or not isinstance(policy, LinearPolicy):
        return None
    return PriorResponse(
        learned_at=moment(note.at),
        age_seconds=max(0.0, engine.clock() - note.at),
        users=note.users,
        lists=note.lists,
        weights=_weights(policy.described(start.prior)),
    )


def _named(name: str, settings: ModelSettings) -> NamedSettings:
    return NamedSettings(name=name, **msgspec.structs.asdict(settings))


def _weights(learned: Iterable[LearnedWeight]) -> list[Weight]:
    return [Weight(one.name, one.block, float(one.weight), float(one.sd)) for one in learned]

"""Models: their settings, what they have learned, and how they do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict, Unpack

from rankfall.client.call import Call
from rankfall.client.encoding import body, path, query
from rankfall.wire import (
    HistoryResponse,
    Mode,
    ModelResponse,
    ModelsResponse,
    NamedSettings,
    Rule,
    Scope,
    Seen,
    VersionResponse,
)


class Changes(TypedDict, total=False):
    """Settings that can be changed of a model; docs/service.md has their meanings."""

    policy: str
    gamma: float
    k: int
    mode: Mode
    feedback_wait: float
    control: float
    randomize: float
    pinned: Iterable[Mapping[str, Any]]
    blocked: Iterable[str | int]
    rules: Iterable[Rule | Mapping[str, Any]]


class Settings(Changes, total=False):
    """All settings of a model."""

    scope: Scope
    forgetting: Mapping[str, float] | None
    feedback: Seen | None
    rewards: Mapping[str, float] | None
    across_users: bool
    context: Mapping[str, Mapping[str, Any]] | None
    request_features: Mapping[str, Mapping[str, float]] | None


def models() -> Call[list[NamedSettings]]:
    """The models that this client may know of: the ``name`` and the settings of each."""
    return Call("GET", "/v1/models", lambda reply: reply.read(ModelsResponse).models)


def create_model(model: str, /, **settings: Unpack[Settings]) -> Call[NamedSettings]:
    """Make a model; settings not given have the service's defaults.

    They are ``policy``, ``gamma``, ``k``, ``mode``, ``feedback_wait``, ``control``, ``randomize``, ``pinned``,
    ``blocked``, ``rules``, ``scope``, ``forgetting``, ``feedback``, ``rewards``, ``across_users``, ``context`` and
    ``request_features``.

    Making it again with the same settings changes nothing; with others it is a `ConflictError`.

    Examples
    --------
    >>> create_model("news", k=5, forgetting={"discount": 0.99}).content
    b'{"k":5,"forgetting":{"discount":0.99}}'
    """
    return Call("PUT", path("models", model), lambda reply: reply.read(NamedSettings), content=body({**settings}))


def model(model: str = "default", *, user: str | None = None, segment: str | None = None) -> Call[ModelResponse]:
    """Settings, version, learned weights and counts of a model, for one user or segment if it has many states."""
    params = query(user=user, segment=segment)
    return Call("GET", path("models", model), lambda reply: reply.read(ModelResponse), params=params)


def change_model(model: str, /, **settings: Unpack[Changes]) -> Call[NamedSettings]:
    """Change settings of a model; what it has learned stays.

    All can be changed but ``scope``, ``forgetting``, ``feedback``, ``rewards``, ``across_users``, ``context`` and
    ``request_features``.

    Examples
    --------
    >>> change_model("default", gamma=0.5).method
    'PATCH'
    """
    return Call("PATCH", path("models", model), lambda reply: reply.read(NamedSettings), content=body({**settings}))


def reset_model(model: str) -> Call[int]:
    """Make a model forget everything; its new version.

    Asked again only if the service cannot have heard it: a second reset would forget what came in between.
    """
    place = path("models", model, "reset")
    return Call("POST", place, lambda reply: reply.read(VersionResponse).version, repeatable=False)


def history(model: str = "default", *, hours: float | None = None) -> Call[HistoryResponse]:
    """What came of a model's lists over the last hours, in buckets of time."""
    place = path("models", model, "history")
    return Call("GET", place, lambda reply: reply.read(HistoryResponse), params=query(hours=hours))

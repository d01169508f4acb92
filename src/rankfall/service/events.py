"""A list as it is stored, with the response to its caller."""

from __future__ import annotations

import hashlib
import json
import math
from datetime import UTC, datetime

import msgspec
import numpy as np

from rankfall.arrays import FloatArray, IntArray
from rankfall.policies import Policy
from rankfall.policies.list_rules import RulesKept
from rankfall.service import tokens
from rankfall.service.clock import Moment
from rankfall.service.model import Model
from rankfall.service.owners import OwnerView
from rankfall.service.ranking import ChosenList, ResolvedRequest
from rankfall.stores import Event
from rankfall.wire import HeldBackItem, RankedItem, RankRequest, RankResponse, RelaxedRule
from rankfall.wire.rules import rule_to_json


def event_of(model: Model, owner: OwnerView, resolved: ResolvedRequest, chosen: ChosenList, now: Moment) -> Event:
    """The list as it is stored, with the response to the caller."""
    request = resolved.request
    event_id = tokens.event_id(now.time)
    expires = now.time + model.settings.feedback_wait
    said = {name: getattr(request, name) for name in ("candidates", "exclude", "context")}
    limits = {name: msgspec.to_builtins(value) for name, value in said.items() if value is not None}
    if request.rules:
        limits["rules"] = [rule_to_json(rule) for rule in request.rules]
    if chosen.chances is not None:
        limits["chances"] = chosen.chances.plain()
    response = response_of(
        model, resolved, chosen, policy=owner.policy, event_id=event_id, version=owner.version, expires=expires
    )
    return Event(
        id=event_id,
        model=model.name,
        owner=model.owner(request.user, request.segment) or "",
        user=request.user,
        segment=request.segment,
        request_id=request.request_id,
        digest=digest_of(request) if request.request_id is not None else None,
        created=now.time,
        expires=expires,
        active=not request.defer_activation,
        arm=chosen.arm,
        learn=chosen.ranking is not None,
        propensity=chosen.propensity,
        catalog=owner.catalog_version,
        covered=_covered(resolved.catalog.coverage, chosen.rows),
        request=json.dumps(limits) if limits else None,
        response=msgspec.json.encode(response).decode(),
        features=None if chosen.ranking is None else owner.policy.record(chosen.ranking),
        gaps=now.gaps,
    )


def _covered(coverage: FloatArray, rows: IntArray) -> int:
    """How many topics a list covers."""
    return int(np.count_nonzero(np.maximum.reduce(coverage.take(rows, axis=0), axis=0, initial=0.0)))


def response_of(
    model: Model,
    resolved: ResolvedRequest,
    chosen: ChosenList,
    *,
    policy: Policy | None = None,
    event_id: str | None = None,
    version: int = 0,
    expires: float | None = None,
) -> RankResponse:
    """What the caller gets. Without an ``event_id`` the list is not stored, and no feedback on it can be given."""
    return RankResponse(
        event_id=event_id,
        model=model.name,
        items=_ranked_items(resolved, chosen, policy if resolved.request.explain else None),
        model_version=version,
        policy=model.settings.policy if chosen.arm == "policy" else "random" if chosen.drawn else "baseline",
        mode=model.settings.mode,
        arm=chosen.arm,
        expires_at=None if expires is None else moment(expires),
        unknown=tuple(resolved.unknown),
        relaxed=tuple(
            RelaxedRule(one.position + 1, rule_to_json(one.rule), str(one.rule)) for one in chosen.kept.relaxed
        ),
        held_back=_held_back(chosen.kept) if resolved.request.explain else (),
    )


def _held_back(kept: RulesKept) -> tuple[HeldBackItem, ...]:
    return tuple(
        HeldBackItem(one.position + 1, one.id, _finite(one.score), rule_to_json(one.rule), str(one.rule))
        for one in kept.held_back
    )


def _ranked_items(resolved: ResolvedRequest, chosen: ChosenList, explained_by: Policy | None) -> tuple[RankedItem, ...]:
    ids, titles, ranking, rows = resolved.catalog.ids, resolved.catalog.titles, chosen.ranking, chosen.rows.tolist()
    scores = [None] * len(rows) if ranking is None else [_finite(score) for score in ranking.scores.tolist()]
    items = tuple(
        RankedItem(ids[row], i + 1, scores[i], None if titles is None else titles[row]) for i, row in enumerate(rows)
    )
    if explained_by is None or ranking is None:
        return items
    return tuple(
        msgspec.structs.replace(
            item,
            relevance=float(parts.relevance),
            coverage={topic: float(gain) for topic, gain in parts.coverage.items()},
            bonus=_finite(float(parts.bonus)),
            features={name: float(part) for name, part in parts.features.items()} or None,
        )
        for item, parts in zip(items, explained_by.explain(ranking), strict=True)
    )


def _finite(score: float) -> float | None:
    """A score as JSON has it: that of an item never observed is without bound, and has no number there."""
    return score if math.isfinite(score) else None


def digest_of(request: RankRequest) -> str:
    """A fingerprint of a request, to tell a retry from another request with the same ``request_id``.

    It is stored with the event, so it must never change: the fields of RankRequest in their order, as JSON. Those that
    came after version 0.1.0 are left out where they are not given.

    >>> digest_of(RankRequest(user="anna", k=3, request_id="r1"))
    '586f080c9b9d1d50de1a48ea3ada8c2e'
    """
    told = {name: getattr(request, name) for name in RankRequest.__struct_fields__}  # without the model, in a batch
    for name in _LATER:
        if told[name] is None:
            del told[name]
    return hashlib.blake2b(msgspec.json.encode(told), digest_size=16).hexdigest()


_LATER = ("rules", "context")
"""Fields of a request that version 0.1.0 did not have."""


def moment(seconds: float) -> datetime:
    """A moment, in UTC, from seconds since 1970."""
    return datetime.fromtimestamp(seconds, UTC)


def as_logged(seconds: float) -> float:
    """A moment as an export of the log has it, to the microsecond: rules that look at the time take this one."""
    return moment(seconds).timestamp()


def iso(seconds: float) -> str:
    """A moment as text, in UTC."""
    return moment(seconds).isoformat(timespec="microseconds").replace("+00:00", "Z")

"""From a request to a list: who is asked, what may be shown, and in what order."""

from __future__ import annotations

import hashlib
import json
import math
import random
import secrets
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np

from rankfall.arrays import IntArray
from rankfall.catalog import Catalog, Id
from rankfall.errors import RankError
from rankfall.policies import Ranking, Served
from rankfall.service.model import Held, Model
from rankfall.stores import Arm, Event
from rankfall.wire import RankedItem, RankRequest, RankResponse


@dataclass(frozen=True)
class Shown:
    """A list, whose it is, and how it came about."""

    rows: IntArray
    arm: Arm
    ranking: Ranking | None = None
    propensity: float | None = None


def in_control(model: Model, user: str | None) -> bool:
    """Whether this user always gets the baseline. A user stays where they are; who has no name is drawn each time."""
    share = model.settings.control
    if not share:
        return False
    if user is None:
        return random.random() < share
    digest = hashlib.blake2b(f"{model.name}\0{user}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64 < share


_pool: deque[str] = deque()


def token(size: int) -> str:
    """Random bytes nobody can guess, as hexadecimal digits; drawn in bulk, as asking the system takes long."""
    try:
        return _pool.popleft()[: 2 * size]
    except IndexError:
        drawn = secrets.token_hex(1024 * 16)
        _pool.extend(drawn[i : i + 32] for i in range(0, len(drawn), 32))
        return secrets.token_hex(size)


class ResolvedRequest:
    """A request against the catalog of a model: ids looked up, unknown ones set aside."""

    def __init__(self, model: Model, request: RankRequest, catalog: Catalog | None = None) -> None:
        self.request = request
        self.catalog: Catalog = model.catalog if catalog is None else catalog
        self.unknown: list[Id] = []
        self.candidates = self._rows(request.candidates)
        self.exclude = self._rows(request.exclude)
        baseline = self._rows(request.baseline)
        left = len(self.catalog) if self.candidates is None else len(self.candidates)
        if self.exclude:
            left -= len(set(self.exclude) & set(self.candidates)) if self.candidates is not None else len(self.exclude)
        self.k = min(request.k or model.settings.k, left)
        if self.k < 1:
            raise RankError("nothing may be shown: no item is left of the candidates without those excluded")
        self._baseline = baseline

    def _rows(self, ids: list[Any] | None) -> list[int] | None:
        if ids is None:
            return None
        found: dict[int, None] = {}
        for item in ids:
            row = self.catalog.row(item)
            if row is None:
                self.unknown.append(item)
            else:
                found[row] = None
        return list(found)

    def baseline(self) -> IntArray:
        """The caller's order; without one that of the candidates, or of the catalog. Only what may be shown."""
        order: Iterable[int] = range(len(self.catalog))
        if self.candidates is not None:
            order = self.candidates
        if self._baseline:
            order = self._baseline
        allowed = None if self.candidates is None else set(self.candidates)
        banned = set(self.exclude or ())
        rows = []
        for row in order:
            if row not in banned and (allowed is None or row in allowed):
                rows.append(row)
                if len(rows) == self.k:
                    break
        if not rows:
            raise RankError("nothing may be shown: no item of the baseline is among the candidates")
        return np.array(rows, dtype=np.int64)

    def learned(self, model: Model, held: Held) -> Shown:
        """The list of the policy, with pinned items in their places; now and then one drawn at random."""
        policy = held.policy
        fixed = {}
        for pin in model.settings.pinned:
            row = self.catalog.row(pin.id)
            if row is not None and pin.position <= self.k and row not in (self.exclude or ()):
                fixed[pin.position - 1] = row
        if self.candidates is None and not self.exclude and not fixed and policy.catalog is self.catalog:
            ranking = held.rank(self.k, model.rng)
        else:
            ranking = policy.rank(
                self.k, rng=model.rng, candidates=self.candidates, exclude=self.exclude, fixed=fixed or None
            )
        # How likely a policy that draws was to make its list nobody knows; of a list drawn uniformly, one does.
        draws = policy.randomised
        share = model.settings.randomize
        if not share:
            return Shown(ranking.items, "policy", ranking, None if draws else 1.0)
        free = self.k - len(fixed)
        pool = self._pool(set(fixed.values()))
        chance = share  # of each list drawn at random; step by step, for their number soon exceeds any float
        for drawn_already in range(free):
            chance /= len(pool) - drawn_already
        if random.random() >= share:
            return Shown(ranking.items, "policy", ranking, None if draws else 1.0 - share + chance)
        drawn = iter(random.sample(pool, free))
        rows = np.array([fixed[i] if i in fixed else next(drawn) for i in range(self.k)], dtype=np.int64)
        if draws:
            return Shown(rows, "policy", given(policy, rows, model.rng), chance / share)
        greedy = bool((rows == ranking.items).all())
        return Shown(rows, "policy", given(policy, rows, model.rng), chance + (1.0 - share if greedy else 0.0))

    def _pool(self, taken: set[int]) -> list[int]:
        banned = taken | set(self.exclude or ())
        rows = range(len(self.catalog)) if self.candidates is None else self.candidates
        return [row for row in rows if row not in banned]


def given(policy: Served, rows: IntArray, rng: np.random.Generator) -> Ranking:
    """A list made by someone else, with the features and scores this policy sees in it."""
    return policy.rank(len(rows), rng=rng, fixed=dict(enumerate(rows.tolist())))


def show(
    model: Model, held: Held, request: RankRequest, on_error: Callable[[Exception], None]
) -> tuple[ResolvedRequest, Shown]:
    """The list for a request. An error inside the policy gives the baseline, and is reported to ``on_error``."""
    resolved = ResolvedRequest(model, request, held.policy.catalog)  # rows mean to the policy what they mean here
    try:
        if in_control(model, request.user):
            return resolved, Shown(resolved.baseline(), "control")
        if model.settings.mode == "online":
            return resolved, resolved.learned(model, held)
        rows = resolved.baseline()
        learns = model.settings.mode == "apprentice"
        return resolved, Shown(rows, "baseline", given(held.policy, rows, model.rng) if learns else None)
    except RankError:
        raise
    except Exception as problem:  # whatever went wrong, the caller gets a list
        on_error(problem)
        return resolved, Shown(resolved.baseline(), "fallback")


def event_of(model: Model, held: Held, resolved: ResolvedRequest, shown: Shown, now: float) -> Event:
    """The list as it is stored, with the response to the caller."""
    request = resolved.request
    event_id = f"{int(now * 1000):012x}{token(10)}"
    expires = now + model.settings.feedback_wait
    limits = {name: getattr(request, name) for name in ("candidates", "exclude") if getattr(request, name) is not None}
    response = response_of(
        model, resolved, shown, policy=held.policy, event_id=event_id, version=held.position.seq, expires=expires
    )
    return Event(
        id=event_id,
        model=model.name,
        owner=model.key(request.user, request.segment) or "",
        user=request.user,
        segment=request.segment,
        request_id=request.request_id,
        digest=digest_of(request) if request.request_id is not None else None,
        created=now,
        expires=expires,
        active=not request.defer_activation,
        arm=shown.arm,
        learn=shown.ranking is not None,
        propensity=shown.propensity,
        catalog=held.catalog,
        covered=int(np.count_nonzero(resolved.catalog.coverage[shown.rows].max(axis=0, initial=0.0))),
        request=json.dumps(limits) if limits else None,
        response=msgspec.json.encode(response).decode(),
        features=None if shown.ranking is None else held.policy.kept(shown.ranking),
    )


def response_of(
    model: Model,
    resolved: ResolvedRequest,
    shown: Shown,
    *,
    policy: Served | None = None,
    event_id: str | None = None,
    version: int = 0,
    expires: float | None = None,
) -> RankResponse:
    """What the caller gets. Without an ``event_id`` the list is not stored, and no feedback on it can be given."""
    return RankResponse(
        event_id=event_id,
        model=model.name,
        items=_ranked_items(resolved, shown, policy if resolved.request.explain else None),
        model_version=version,
        policy=model.settings.policy if shown.arm == "policy" else "baseline",
        mode=model.settings.mode,
        arm=shown.arm,
        expires_at=None if expires is None else moment(expires),
        unknown=tuple(resolved.unknown),
    )


def _ranked_items(resolved: ResolvedRequest, shown: Shown, explained_by: Served | None) -> tuple[RankedItem, ...]:
    ids, titles, ranking, rows = resolved.catalog.ids, resolved.catalog.titles, shown.ranking, shown.rows.tolist()
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
        )
        for item, parts in zip(items, explained_by.explain(ranking), strict=True)
    )


def _finite(score: float) -> float | None:
    """A score as JSON has it: that of an item never observed is without bound, and has no number there."""
    return score if math.isfinite(score) else None


def digest_of(request: RankRequest) -> str:
    """A fingerprint of a request, to tell a retry from another request with the same ``request_id``.

    It is stored with the event, so it must never change: the fields of RankRequest in their order, as JSON.

    >>> digest_of(RankRequest(user="anna", k=3, request_id="r1"))
    '586f080c9b9d1d50de1a48ea3ada8c2e'
    """
    if type(request) is not RankRequest:  # one of a batch is the same request as it is alone
        request = RankRequest(**{name: getattr(request, name) for name in RankRequest.__struct_fields__})
    return hashlib.blake2b(msgspec.json.encode(request), digest_size=16).hexdigest()


def moment(seconds: float) -> datetime:
    """A moment, in UTC, from seconds since 1970."""
    return datetime.fromtimestamp(seconds, UTC)


def iso(seconds: float) -> str:
    """A moment as text, in UTC."""
    return moment(seconds).isoformat(timespec="microseconds").replace("+00:00", "Z")

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

import numpy as np
from pydantic_core import to_json

from rankfall.arrays import FloatArray, IntArray
from rankfall.catalog import Catalog, Id
from rankfall.errors import RankError
from rankfall.policies import Ranking, Served
from rankfall.service.model import Held, Model
from rankfall.service.schemas import Ask
from rankfall.stores import Arm, Event


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


class Request:
    """A request against the catalog of a model: ids looked up, unknown ones set aside."""

    def __init__(self, model: Model, ask: Ask, catalog: Catalog | None = None) -> None:
        self.catalog: Catalog = model.catalog if catalog is None else catalog
        self.unknown: list[Id] = []
        self.candidates = self._rows(ask.candidates)
        self.exclude = self._rows(ask.exclude)
        baseline = self._rows(ask.baseline)
        left = len(self.catalog) if self.candidates is None else len(self.candidates)
        if self.exclude:
            left -= len(set(self.exclude) & set(self.candidates)) if self.candidates is not None else len(self.exclude)
        self.k = min(ask.k or model.settings.k, left)
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


def show(model: Model, held: Held, ask: Ask, on_error: Callable[[Exception], None]) -> tuple[Request, Shown]:
    """The list for a request. An error inside the policy gives the baseline, and is reported to ``on_error``."""
    request = Request(model, ask, held.policy.catalog)  # rows mean to the policy what they mean here
    try:
        if in_control(model, ask.user):
            return request, Shown(request.baseline(), "control")
        if model.settings.mode == "online":
            return request, request.learned(model, held)
        rows = request.baseline()
        learns = model.settings.mode == "apprentice"
        return request, Shown(rows, "baseline", given(held.policy, rows, model.rng) if learns else None)
    except RankError:
        raise
    except Exception as problem:  # whatever went wrong, the caller gets a list
        on_error(problem)
        return request, Shown(request.baseline(), "fallback")


def event_of(model: Model, held: Held, ask: Ask, request: Request, shown: Shown, now: float) -> Event:
    """The list as it is stored and answered."""
    settings = model.settings
    event_id = f"{int(now * 1000):012x}{token(10)}"
    expires = now + settings.feedback_wait
    answer = answer_of(model, request, shown, explain=ask.explain, policy=held.policy)
    answer |= {"event_id": event_id, "model_version": held.position.seq, "expires_at": iso(expires)}
    limits = {name: getattr(ask, name) for name in ("candidates", "exclude") if getattr(ask, name) is not None}
    return Event(
        id=event_id,
        model=model.name,
        owner=model.key(ask.user, ask.segment) or "",
        user=ask.user,
        segment=ask.segment,
        request_id=ask.request_id,
        digest=digest_of(ask) if ask.request_id is not None else None,
        created=now,
        expires=expires,
        active=not ask.defer_activation,
        arm=shown.arm,
        learn=shown.ranking is not None,
        propensity=shown.propensity,
        catalog=held.catalog,
        covered=int(np.count_nonzero(request.catalog.coverage[shown.rows].max(axis=0, initial=0.0))),
        request=json.dumps(limits) if limits else None,
        response=to_json(answer).decode(),
        features=None if shown.ranking is None else held.policy.kept(shown.ranking),
    )


def answer_of(
    model: Model, request: Request, shown: Shown, *, explain: bool = False, policy: Served | None = None
) -> dict[str, Any]:
    """What the caller gets, for a list that is not stored: without an event id nothing can be fed back."""
    catalog, ranking = request.catalog, shown.ranking
    scores = [None] * len(shown.rows) if ranking is None else _finite(ranking.scores)
    items = []
    for i, row in enumerate(shown.rows.tolist()):
        item = {"id": catalog.ids[row], "position": i + 1, "score": scores[i]}
        if catalog.titles is not None:
            item["title"] = catalog.titles[row]
        items.append(item)
    if explain and ranking is not None and policy is not None:
        for item, parts in zip(items, policy.explain(ranking), strict=True):
            bonus = parts.bonus if math.isfinite(parts.bonus) else None
            item |= {"relevance": parts.relevance, "coverage": dict(parts.coverage), "bonus": bonus}
    return {
        "event_id": None,
        "model": model.name,
        "items": items,
        "model_version": 0,
        "policy": model.settings.policy if shown.arm == "policy" else "baseline",
        "mode": model.settings.mode,
        "arm": shown.arm,
        "expires_at": None,
        "unknown": request.unknown,
    }


def _finite(scores: FloatArray) -> list[float | None]:
    """Scores as JSON has them: that of an item never observed is without bound, and has no number there."""
    return [score if math.isfinite(score) else None for score in scores.tolist()]


def digest_of(ask: Ask) -> str:
    """A fingerprint of a request, to tell a retry from another request of the same name."""
    return hashlib.blake2b(ask.model_dump_json().encode(), digest_size=16).hexdigest()


def iso(seconds: float) -> str:
    """A moment as text, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")

"""From a request to a list: whose list it is, what may be shown, and in what order."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec import UNSET

from rankfall.arrays import IntArray
from rankfall.catalog import Catalog, Id
from rankfall.errors import RankError
from rankfall.policies import Policy, Ranking
from rankfall.policies.request import check_request
from rankfall.service.model import Model
from rankfall.service.owners import OwnerView
from rankfall.stores import Arm
from rankfall.wire import RankRequest


@dataclass(frozen=True)
class ChosenList:
    """A list, whose it is, and how it came about; ``drawn``: at random, not the caller's or the policy's."""

    rows: IntArray
    arm: Arm
    ranking: Ranking | None = None
    propensity: float | None = None
    drawn: bool = False


def in_control(model: Model, user: str | None) -> bool:
    """Whether this user is in the control group, for good; a request without a user is drawn each time."""
    share = model.settings.control
    if not share:
        return False
    if user is None:
        return float(model.rng.random()) < share
    digest = hashlib.blake2b(f"{model.name}\0{user}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64 < share


class ResolvedRequest:
    """A request against the catalog of a model: ids looked up, unknown ones set aside."""

    def __init__(self, model: Model, request: RankRequest, catalog: Catalog | None = None) -> None:
        self.request = request
        self.catalog: Catalog = model.catalog if catalog is None else catalog
        self.unknown: list[Id] = []
        self.candidates = self._rows(request.candidate_ids)
        self.exclude = self._rows(request.exclude)
        baseline = self._rows(request.baseline)
        left = len(self.catalog) if self.candidates is None else len(self.candidates)
        if self.exclude:
            left -= len(set(self.exclude) & set(self.candidates)) if self.candidates is not None else len(self.exclude)
        self.k = min(request.k or model.settings.k, left)
        if self.k < 1:
            raise RankError("nothing may be shown: no item is left of the candidates without those excluded")
        self._baseline = baseline
        self.situation = _situation(request, self.catalog)

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

    def control(self, rng: np.random.Generator) -> ChosenList:
        """What the control group gets: the caller's order, or, if the request has none, a list drawn at random.

        The catalog's own order would be no control: it is the same list for everybody, as good or bad as it happens to
        be.
        """
        if self._baseline or self.candidates is not None:
            return ChosenList(self.baseline(), "control")
        pool = np.array(self._pool(set())) if self.exclude else np.arange(len(self.catalog))
        rows = rng.choice(pool, self.k, replace=False)
        return ChosenList(rows, "control", propensity=_chance(len(pool), self.k), drawn=True)

    def learned(self, model: Model, owner: OwnerView) -> ChosenList:
        """The list of the policy, with pinned items in their places; now and then one drawn at random."""
        policy = owner.policy
        fixed = {}
        for pin in model.settings.pinned:
            row = self.catalog.row(pin.id)
            if row is not None and pin.position <= self.k and row not in (self.exclude or ()):
                fixed[pin.position - 1] = row
        limited = self.candidates is not None or self.exclude or fixed
        if not limited and not self.situation and policy.catalog is self.catalog:
            ranking = owner.rank(self.k, model.rng)
        else:
            ranking = policy.rank(
                self.k,
                rng=model.rng,
                candidates=self.candidates,
                exclude=self.exclude,
                fixed=fixed or None,
                **self.situation,
            )
        # How likely a policy that draws was to make its list nobody knows; of a list drawn uniformly, one does.
        draws = policy.randomised
        share = model.settings.randomize
        if not share:
            return ChosenList(ranking.items, "policy", ranking, None if draws else 1.0)
        free = self.k - len(fixed)
        pool = self._pool(set(fixed.values()))
        chance = share * _chance(len(pool), free)  # of each list drawn at random
        if model.rng.random() >= share:
            return ChosenList(ranking.items, "policy", ranking, None if draws else 1.0 - share + chance)
        drawn = iter(model.rng.choice(pool, free, replace=False).tolist())
        rows = np.array([fixed[i] if i in fixed else next(drawn) for i in range(self.k)], dtype=np.int64)
        drawn_list = self.given(policy, rows, model.rng)
        if draws:
            return ChosenList(rows, "policy", drawn_list, chance / share)
        greedy = bool((rows == ranking.items).all())
        return ChosenList(rows, "policy", drawn_list, chance + (1.0 - share if greedy else 0.0))

    def given(self, policy: Policy, rows: IntArray, rng: np.random.Generator) -> Ranking:
        """A list made by someone else, with the features and scores this policy sees in it."""
        return policy.rank(len(rows), rng=rng, fixed=dict(enumerate(rows.tolist())), **self.situation)

    def check(self, policy: Policy) -> None:
        """Raise :class:`RankError` for a context or features of candidates that the policy does not have."""
        if self.situation:
            policy.within(check_request(self.k, policy.n_items), None, **{**_NOWHERE, **self.situation})

    def _pool(self, taken: set[int]) -> list[int]:
        banned = taken | set(self.exclude or ())
        rows = range(len(self.catalog)) if self.candidates is None else self.candidates
        return [row for row in rows if row not in banned]


def _chance(items: int, k: int) -> float:
    """Of each list of k out of so many items, drawn uniformly; step by step, for their number soon exceeds any float.

    >>> _chance(4, 2)
    0.08333333333333333
    """
    chance = 1.0
    for drawn_already in range(k):
        chance /= items - drawn_already
    return chance


_NOWHERE = {"context": None, "features": None}


def _situation(request: RankRequest, catalog: Catalog) -> dict[str, Any]:
    """What a request says beside who asks, and for which items, as policies take it; nothing where it says nothing."""
    said: dict[str, Any] = {}
    if request.context is not UNSET:
        said["context"] = request.context
    if features := request.candidate_features:
        found = {catalog.row(item): named for item, named in features.items()}
        said["features"] = {row: named for row, named in found.items() if row is not None}
    return said


def choose(
    model: Model, owner: OwnerView, request: RankRequest, on_error: Callable[[Exception], None]
) -> tuple[ResolvedRequest, ChosenList]:
    """The list for a request. An error inside the policy gives the baseline, and is reported to ``on_error``."""
    resolved = ResolvedRequest(model, request, owner.policy.catalog)  # rows mean to the policy what they mean here
    resolved.check(owner.policy)
    try:
        if in_control(model, request.user):
            return resolved, resolved.control(model.rng)
        if model.settings.mode == "online":
            return resolved, resolved.learned(model, owner)
        rows = resolved.baseline()
        learns = model.settings.mode == "apprentice"
        return resolved, ChosenList(rows, "baseline", resolved.given(owner.policy, rows, model.rng) if learns else None)
    except RankError:
        raise
    except Exception as problem:  # whatever went wrong, the caller gets a list
        on_error(problem)
        return resolved, ChosenList(resolved.baseline(), "fallback")

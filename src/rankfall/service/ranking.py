"""From a request to a list: whose list it is, what may be shown, and in what order."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankfall.arrays import IntArray
from rankfall.catalog import Catalog
from rankfall.errors import RankError, short
from rankfall.estimates import ListChances
from rankfall.item_names import Id
from rankfall.policies import Policy, Ranking
from rankfall.policies.list_rules import NO_RULES, RulesKept
from rankfall.policies.request import check_request
from rankfall.service.model import Model
from rankfall.service.owners import OwnerView
from rankfall.stores import Arm
from rankfall.wire import ModelSettings, RankRequest


@dataclass(frozen=True)
class ChosenList:
    """A list, whose it is, and how it came about; ``drawn``: at random, not the caller's or the policy's.

    ``chances`` (of this one list) are known where ``propensity`` is known and below 1. ``kept`` says what came of the
    rules.
    """

    rows: IntArray
    arm: Arm
    ranking: Ranking | None = None
    propensity: float | None = None
    drawn: bool = False
    kept: RulesKept = NO_RULES
    chances: ListChances | None = None

    @classmethod
    def by_chance(
        cls, rows: IntArray, arm: Arm, chances: ListChances | None, ranking: Ranking | None = None, **more: Any
    ) -> ChosenList:
        """A list that came about with these chances; None if nobody knows them."""
        propensity = None if chances is None else float(chances.down_to[0, -1])
        return cls(rows, arm, ranking, propensity, chances=chances, **more)


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
    """A request against the catalog of a model at a moment: ids looked up, unknown ones set aside, rules laid out.

    The list is as long as what may be shown, at most as long as asked for. Items that filters do not allow may not be
    shown, unless there are no others.
    """

    def __init__(self, model: Model, request: RankRequest, now: float, catalog: Catalog | None = None) -> None:
        self.request = request
        self.catalog: Catalog = model.catalog if catalog is None else catalog
        self.unknown: list[Id] = []
        self.candidates = self._rows(request.candidate_ids)
        self.exclude = self._rows(request.exclude)
        baseline = self._rows(request.baseline)
        left = len(self.catalog) if self.candidates is None else len(self.candidates)
        if self.exclude:
            left -= len(set(self.exclude) & set(self.candidates)) if self.candidates is not None else len(self.exclude)
        self.rules = model.rules(self.catalog, request.rules or (), now)
        if self.rules is not None and self.rules.filters:
            left = int(np.count_nonzero(self.rules.admitted[self.pool()])) or left
        self.k = min(request.k or model.settings.k, left)
        if self.k < 1:
            raise RankError(
                f"nothing may be shown: no item is left of the candidates without those excluded{self._not_there()}"
            )
        self._baseline = baseline
        self.situation = _situation(request, model.settings, self.catalog)

    def _not_there(self) -> str:
        """What to add about ids that are unknown; text and numbers are not alike, and quotes show which it is."""
        named = ", ".join(short(item) for item in self.unknown[:3])
        more = f" and {len(self.unknown) - 3} more" if len(self.unknown) > 3 else ""
        return f"; unknown or blocked: {named}{more}" if self.unknown else ""

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
        """The caller's order; without one that of the candidates, or of the catalog. Only what may be shown.

        Under rules: at each position the first that they allow there.
        """
        if self.rules is None:
            return np.array(self._in_order(self.k), dtype=np.int64)
        order = np.array(self._in_order(None), dtype=np.int64)
        admitted = int(np.count_nonzero(self.rules.admitted[order])) or len(order)
        return self.rules.in_order(order, min(self.k, admitted)).rows

    def _in_order(self, most: int | None) -> list[int]:
        """The rows that may be shown, the caller's order first, and at most so many."""
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
                if len(rows) == most:
                    break
        if not rows:
            raise RankError("nothing may be shown: no item of the baseline is among the candidates")
        return rows

    def as_shown(self, chosen: ChosenList) -> ChosenList:
        """A list with what came of the rules, also if the policy did not make it."""
        if self.rules is None or chosen.kept is not NO_RULES:
            return chosen
        return replace(chosen, kept=self.rules.told_of(chosen.rows))

    def control(self, rng: np.random.Generator) -> ChosenList:
        """What the control group gets: the caller's order, or, if the request has none, a list drawn at random.

        The catalog's own order would be no control: it is the same list for everybody, as good or bad as it happens to
        be.
        """
        if self._baseline or self.candidates is not None:
            return ChosenList(self.baseline(), "control")
        drawn = RandomLists(self, {})
        rows = drawn.draw(rng)
        return ChosenList.by_chance(rows, "control", drawn.chances_of(rows), drawn=True)

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
            ranking = owner.rank(self.k, model.rng, self.rules)
        else:
            ranking = policy.rank(
                self.k,
                rng=model.rng,
                candidates=self.candidates,
                exclude=self.exclude,
                fixed=fixed or None,
                rules=self.rules,
                **self.situation,
            )
        # How likely a policy that draws was to make its list nobody knows; of a list drawn uniformly, one does.
        draws = policy.randomised
        share = model.settings.randomize
        if not share:
            return ChosenList(ranking.items, "policy", ranking, None if draws else 1.0, kept=ranking.kept)
        at_random = RandomLists(self, fixed)
        if model.rng.random() >= share:
            chances = None if draws else at_random.mixed(share, ranking.items, ranking.items)
            return ChosenList.by_chance(ranking.items, "policy", chances, ranking, kept=ranking.kept)
        rows = at_random.draw(model.rng)
        chances = at_random.chances_of(rows) if draws else at_random.mixed(share, rows, ranking.items)
        return ChosenList.by_chance(rows, "policy", chances, self.given(policy, rows, model.rng))

    def given(self, policy: Policy, rows: IntArray, rng: np.random.Generator) -> Ranking:
        """A list made by someone else, with the features and scores this policy sees in it."""
        return policy.rank(len(rows), rng=rng, fixed=dict(enumerate(rows.tolist())), **self.situation)

    def check(self, policy: Policy) -> None:
        """Raise what :meth:`Policy.rank` would for a context or features of candidates, for a list it does not make."""
        if self.situation:
            policy.within(check_request(self.k, policy.n_items), None, **{**_NOWHERE, **self.situation})

    def pool(self, taken: Iterable[int] = ()) -> IntArray:
        """The rows to choose from, without those that are taken."""
        rows = np.arange(len(self.catalog)) if self.candidates is None else np.array(self.candidates, dtype=np.int64)
        banned = [*taken, *(self.exclude or ())]
        return rows[~np.isin(rows, banned)] if banned else rows


class RandomLists:
    """Lists drawn at random around fixed rows: at each free position all that is allowed there is equally likely.

    Without rules, or if they only filter, that makes all lists equally likely.
    """

    def __init__(self, resolved: ResolvedRequest, fixed: Mapping[int, int]) -> None:
        self._rules, self._k, self._fixed = resolved.rules, resolved.k, fixed
        self._pool = resolved.pool(fixed.values())
        self._free = self._k - len(fixed)
        if self._rules is not None and self._rules.only_filters:
            admitted = self._pool[self._rules.admitted[self._pool]]
            if len(admitted) >= self._free:
                self._rules, self._pool = None, admitted

    def draw(self, rng: np.random.Generator) -> IntArray:
        """One of them."""
        if self._rules is not None:
            return self._rules.at_random(self._pool, self._held(), rng).rows
        drawn = iter(rng.choice(self._pool, self._free, replace=False).tolist())
        fixed = self._fixed
        return np.array([fixed[i] if i in fixed else next(drawn) for i in range(self._k)], dtype=np.int64)

    def chances_of(self, rows: IntArray) -> ListChances:
        """How likely a list is to be drawn, if it can be. Under rules nobody knows the chances at single positions."""
        if self._rules is not None:
            return ListChances.given_above([self._rules.chances_of(rows, self._pool, self._held()).given_above])
        free = np.array([position not in self._fixed for position in range(self._k)])
        return ListChances.uniform([len(self._pool)], free[None])

    def mixed(self, share: float, rows: IntArray, chosen: IntArray) -> ListChances:
        """How likely a list is to be shown where a share is drawn, and the others are the one that is chosen."""
        other = ListChances.of_drawn(rows[None], chosen[None, None])
        return ListChances.mixture([(share, self.chances_of(rows)), (1.0 - share, other)])

    def _held(self) -> IntArray:
        return np.array([self._fixed.get(position, -1) for position in range(self._k)], dtype=np.int64)


_NOWHERE = {"context": None, "features": None}


def _situation(request: RankRequest, settings: ModelSettings, catalog: Catalog) -> dict[str, Any]:
    """What a request says beside who asks, and for which items, as policies take it; nothing where it says nothing."""
    said: dict[str, Any] = {}
    if request.context is not None:
        _check_declared(settings.context, "context", "context")
        said["context"] = request.context
    if features := request.candidate_features:
        _check_declared(settings.request_features, "features of candidates", "request_features")
        found = {catalog.row(item): named for item, named in features.items()}
        said["features"] = {row: named for row, named in found.items() if row is not None}
    return said


def _check_declared(declared: object | None, said: str, setting: str) -> None:
    if declared is None:
        raise RankError(f"this model takes no {said}; only one that was made with {setting} does")


def choose(
    model: Model, owner: OwnerView, request: RankRequest, now: float, on_error: Callable[[Exception], None]
) -> tuple[ResolvedRequest, ChosenList]:
    """The list for a request. An error inside the policy gives the baseline, and is reported to ``on_error``."""
    catalog = owner.policy.catalog  # rows mean to the policy what they mean here
    resolved = ResolvedRequest(model, request, now, catalog)
    try:
        return resolved, resolved.as_shown(_chosen(resolved, model, owner))
    except RankError:
        raise
    except Exception as problem:  # whatever went wrong, the caller gets a list
        on_error(problem)
        return resolved, resolved.as_shown(ChosenList(resolved.baseline(), "fallback"))


def _chosen(resolved: ResolvedRequest, model: Model, owner: OwnerView) -> ChosenList:
    if in_control(model, resolved.request.user):
        resolved.check(owner.policy)
        return resolved.control(model.rng)
    if model.settings.mode == "online":
        return resolved.learned(model, owner)
    rows = resolved.baseline()
    if model.settings.mode == "apprentice":
        return ChosenList(rows, "baseline", resolved.given(owner.policy, rows, model.rng))
    resolved.check(owner.policy)
    return ChosenList(rows, "baseline")

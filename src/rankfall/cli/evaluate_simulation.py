"""How policies go on learning after the log, simulated on people who click like those of the log."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from rankfall.arrays import FloatArray
from rankfall.catalog import Catalog
from rankfall.errors import RankError
from rankfall.estimates import CountedAs, Interval
from rankfall.history.evaluation import Snapshot
from rankfall.history.judged_lists import Earning, JudgedLists
from rankfall.history.logged_requests import asked, owner_of
from rankfall.history.replayable import ReplayableLog
from rankfall.item_names import Id
from rankfall.policies import Policy
from rankfall.policies.rewards import Rewards
from rankfall.users import User
from rankfall.users.fitting import fit_hybrid
from rankfall.users.fitting.hybrid import MODELS
from rankfall.users.fitting.hybrid_columns import HybridModel
from rankfall.users.fitting.reward_model import ChosenFit

REPEATS, MOST_LISTS, MOST_OWNERS = 5, 10_000, 200
"""How often a simulation is repeated, how many lists it asks for at most, and for how many users or segments."""


class GoingOn(NamedTuple):
    """What lists earn on fitted people: of the snapshot as it is, and on average over the lists while it learns on."""

    snapshot: float
    learning: Interval
    steps: int


@dataclass(frozen=True)
class People:
    """Simulated people, whose items are the rows of a catalog.

    Attributes
    ----------
    about : who they are, in words.
    user_of : the one who looks at a logged request.
    """

    about: str
    user_of: Callable[[dict[str, Any]], User]


def people_alike(chosen: ChosenFit, catalog: Catalog, counted: CountedAs) -> People:
    """People who all click alike, by item."""
    user = chosen.fitted.over(catalog.ids).user(reward=counted)
    return People("the fitted users", lambda _: user)


def people_apart(
    chosen: ChosenFit, catalog: Catalog, counted: CountedAs, clicks: pl.DataFrame, by: Any, seed: int
) -> People:
    """People whose tastes differ: fitted to features and topics, each user or segment held to all of them.

    How they go through a list is the likeliest of the click models that can be fitted so.
    """
    known = [name for name in (chosen.fitted.model, *chosen.likelihoods) if name in MODELS]
    model: HybridModel = known[0] if known else "cascade"
    fitted = fit_hybrid(clicks, catalog, model=model, by=by, seed=seed)
    groups = set(fitted.groups)

    @cache
    def user_of(owner: str) -> User:
        return fitted.user(reward=counted, group=owner if owner in groups else "")

    about = f"{len(groups) - 1:,} {by}s fitted one by one to features and topics ({fitted.model})"
    return People(about, lambda event: user_of(event[by] or ""))


@dataclass(frozen=True)
class Simulation:
    """Policies that go on from their snapshots, asked for the lists that they are judged by, one after the other.

    Attributes
    ----------
    log, events, catalog : where the requests are from, and the items that can be shown.
    people : who looks at the lists.
    earning : what a list earns.
    rewards, worth : what clicks and outcomes are worth, for policies that learn it; and (items,) what comes of a click
        on each item. None where only clicks count.
    """

    log: ReplayableLog
    events: Sequence[dict[str, Any]]
    catalog: Catalog
    people: People
    earning: Earning
    rewards: Rewards | None = None
    worth: FloatArray | None = None

    def of(self, snapshot: Snapshot, seed: int) -> GoingOn | None:
        """What comes of a policy; None if it can make none of the lists."""
        frozen, steps = self._run(snapshot, seed, learns=False)
        if not steps:
            return None
        each = np.array([self._run(snapshot, seed + n, learns=True)[0] for n in range(REPEATS)])
        return GoingOn(frozen, Interval(float(each.mean()), float(each.std(ddof=1) / REPEATS**0.5)), steps)

    def _run(self, snapshot: Snapshot, seed: int, *, learns: bool) -> tuple[float, int]:
        """What a list earns on average, and over how many."""
        rng, coins = (np.random.default_rng([seed, stream]) for stream in range(2))
        policies: dict[str, Policy] = {}
        total, steps = 0.0, 0
        for event in self.events:
            owner = owner_of(event, snapshot.scope)
            if owner is None:
                continue
            if owner not in policies:
                policies[owner] = copy.deepcopy(snapshot.policy_of(owner, self.catalog))
            policy = policies[owner]
            try:
                ranking = policy.rank(len(event["items"]), rng=rng, **asked(self.log, policy, event, self.catalog))
            except RankError:  # items of the request are gone from the catalog
                continue
            user = self.people.user_of(event)
            view = user.view(ranking.items)
            clicked = user.decide(view.chances, coins.random(len(ranking)).tolist())
            places = [clicked] if isinstance(clicked, int) else list(clicked or ())
            earned = {} if self.worth is None else {place: float(self.worth[ranking.items[place]]) for place in places}
            total += sum(earned.values()) if self.earning == "worth" else view.reward
            steps += 1
            if learns and self.rewards is not None and policy.why_not_rewarded is None:
                largest = self.rewards.largest
                policy.update(ranking, clicked, {place: worth / largest for place, worth in earned.items()})
            elif learns:
                policy.update(ranking, clicked)
        return total / max(steps, 1), steps


def simulated(
    log: ReplayableLog,
    judged: JudgedLists,
    snapshots: Sequence[Snapshot],
    chosen: ChosenFit,
    clicks: pl.DataFrame,
    earning: Earning,
    rewards: Rewards | None,
    worth: Callable[[Sequence[Id]], FloatArray] | None,
    seed: int,
) -> tuple[str, dict[str, GoingOn]]:
    """Who the people are, and for each policy, by name, what comes of it.

    ``clicks`` is the first part of the log, ``worth`` what comes of a click on items.
    """
    catalog = log.catalog(judged.events[-1]["catalog_version"])
    assert catalog is not None  # lists without a catalog are not judged by
    counted, by = counted_for(earning), None if log.scope == "global" else log.scope
    events = _requests(judged, by, seed)
    people = people_alike(chosen, catalog, counted)
    if by is not None and catalog.coverage.shape[1] + catalog.relevance.shape[1]:
        theirs = clicks.filter(pl.col(by).is_in({event[by] for event in events}))
        if len(theirs):
            people = people_apart(chosen, catalog, counted, theirs, by, seed)
    simulation = Simulation(
        log, events, catalog, people, earning, rewards, None if worth is None else worth(catalog.ids)
    )
    found = {one.name: simulation.of(one, seed) for one in snapshots}
    return people.about, {name: one for name, one in found.items() if one is not None}


def _requests(judged: JudgedLists, by: str | None, seed: int) -> list[dict[str, Any]]:
    """The lists to ask for: of some users or segments, if there are many, and the first of them."""
    events = judged.events
    if by is not None:
        owners = sorted({event[by] for event in events if event[by] is not None})
        if len(owners) > MOST_OWNERS:
            some = set(np.random.default_rng(seed).choice(owners, MOST_OWNERS, replace=False).tolist())
            events = [event for event in events if event[by] in some]
    return events[:MOST_LISTS]


def counted_for(earning: Earning) -> CountedAs:
    """The clicks from which it is predicted what a list earns."""
    return "any" if earning == "any" else "clicks"

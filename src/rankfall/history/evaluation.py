"""What policies are worth, from the later part of a log: policies as they are, judged by lists they did not learn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from rankfall.arrays import FloatArray, IntArray
from rankfall.catalog import Catalog
from rankfall.errors import CatalogError, ProblemError, RankError
from rankfall.estimates import (
    Estimate,
    Estimator,
    ListChances,
    RewardModel,
    drawn_lists,
    estimate_all,
    predicted,
)
from rankfall.estimates.chances import NOTHING
from rankfall.estimates.without_chances import Bounds, ByItem, item_position_means, prefix_bounds
from rankfall.history.judged_lists import Earning, JudgedLists
from rankfall.history.logged_requests import asked, owner_of
from rankfall.history.replay import CLICKS_ONLY, replay
from rankfall.history.replayable import ReplayableLog
from rankfall.item_names import Id
from rankfall.policies import Policy
from rankfall.policies.registry import find_served_policy
from rankfall.policies.rewards import Rewards
from rankfall.wire import Scope


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A policy as it is at one moment, which does not learn while it is judged.

    Attributes
    ----------
    name : what to call it.
    about : what it is a snapshot of, in words.
    scope : whose state it has: one for all, or for each segment or user.
    policy_of : the policy with the state of an owner, over a catalog.
    notes : what there is to know of it.
    """

    name: str
    about: str
    scope: Scope
    policy_of: Callable[[str, Catalog], Policy]
    notes: tuple[str, ...] = ()


def learned_snapshot(
    log: ReplayableLog, name: str, policy: str, gamma: float, until: Any, rewards: Rewards | None = None
) -> Snapshot:
    """A policy of this name as it is after the log up to a moment.

    ``rewards`` says what clicks and outcomes are worth; a policy that cannot learn them learns from the clicks.
    """
    why_not = find_served_policy(policy).why_not_rewarded
    done = replay(log, policy, gamma, rewards=rewards if why_not is None else None, until=until)
    about = f"as learned from the first {done.counts.learned:,} lists with feedback"
    notes = tuple(note for note in done.notes if note not in log.notes)
    if rewards is not None and why_not is not None and log.rewards is None:
        notes = (*notes, CLICKS_ONLY.format(why_not))
    return Snapshot(name, about, done.scope, done.policy_of, notes)


def saved_snapshot(name: str, policy: Policy) -> Snapshot:
    """A policy that was saved, the same for everybody."""

    def over(_owner: str, catalog: Catalog) -> Policy:
        if policy.catalog == catalog:
            return policy
        try:
            return policy.with_catalog(catalog)
        except CatalogError as problem:
            raise ProblemError(f"{name} cannot rank the items of the log: {problem}") from None

    return Snapshot(name, f"as saved, after {policy.n_updates:,} updates", "global", over)


def clicks_until(log: ReplayableLog, moment: Any) -> pl.DataFrame:
    """The lists shown up to a moment, with feedback, as the table of a click log: with user and segment."""
    lists = log.events().filter(pl.col("created") <= moment, pl.col("result").is_not_null())
    places = pl.int_ranges(1, pl.col("items").list.len() + 1).alias("position")
    kept = lists.select("event_id", "clicked", "user", "segment", places, pl.col("items").alias("item"))
    clicked = pl.col("clicked").list.contains(pl.col("position") - 1).alias("click")
    rows = kept.explode("position", "item")
    return rows.select(pl.col("event_id").alias("list"), "position", "item", clicked, "user", "segment")


@dataclass(frozen=True, eq=False)
class Judgement:
    """What a policy is worth.

    Attributes
    ----------
    snapshot : the policy that was judged.
    lists : how many lists it was judged by.
    agreed : (k,) share of the lists that agree with the policy down to each position.
    estimates : by estimator.
    bounds, by_item : where no list was drawn; see :mod:`rankfall.estimates.without_chances`.
    """

    snapshot: Snapshot
    lists: int
    agreed: FloatArray
    estimates: dict[Estimator, Estimate] = field(default_factory=dict)
    bounds: Bounds | None = None
    by_item: ByItem | None = None


def judge(
    log: ReplayableLog,
    judged: JudgedLists,
    snapshot: Snapshot,
    earning: Earning,
    model: Callable[[Sequence[Id]], RewardModel] | None = None,
    *,
    draws: int = 100,
    resamples: int = 0,
    seed: int = 0,
    progress: Callable[[int], None] = lambda _: None,
) -> Judgement:
    """Ask a policy for every list that it is judged by, and estimate what it earns.

    Parameters
    ----------
    earning : what a list earns.
    model : gives a model of rewards over the numbers of these ids, for the direct method and Cascade-DR.
    draws : how many lists to ask a policy for that draws.
    resamples, seed : of the bootstrap; see :func:`rankfall.estimates.estimate_all`.
    """
    rng, ids, kept, lists = np.random.default_rng(seed), dict(judged.ids), [], []
    width, over, numbers = judged.items.shape[1], None, np.empty(0, dtype=np.int64)
    for n, event in enumerate(judged.events):
        progress(1)
        found = _asked_for(log, snapshot, event, draws, rng)
        if found is None:
            continue
        policy, drawn = found
        if policy.catalog is not over:
            over, numbers = policy.catalog, np.array([ids.setdefault(item, len(ids)) for item in policy.catalog.ids])
        wide = np.full((len(drawn), width), NOTHING)
        wide[:, : drawn.shape[1]] = numbers[drawn]
        kept.append(n)
        lists.append(wide)
    if len(kept) < 2:
        raise ProblemError(f"{snapshot.name} can make {len(kept)} of the {len(judged):,} lists it is judged by")
    which = np.array(kept)
    most = max(map(len, lists))
    drawn = np.stack([np.resize(one, (most, width)) for one in lists])  # one list of a policy that never draws
    shown, clicks = judged.items[which], judged.clicks[which]
    chosen, rewards = ListChances.of_drawn(shown, drawn), judged.rewards(earning)[which]
    agreed = chosen.down_to.mean(axis=0)
    predictions = None if model is None else predicted(shown, drawn, model(list(ids)))
    logged, options = judged.chances.take(which), {"resamples": resamples, "seed": seed}
    if judged.basis == "positions":
        if earning == "any":  # it always depends on the items above whether a click is the first
            logged = ListChances(logged.down_to)
        found_all = estimate_all(logged, chosen, rewards, predictions, **options)
        return Judgement(snapshot, len(which), agreed, found_all)
    if judged.basis == "lists":
        whole = ListChances(np.repeat(chosen.down_to[:, -1:], width, axis=1))
        names: tuple[Estimator, ...] = ("ips", "sn_ips", "direct")
        known = estimate_all(logged, whole, rewards, predictions, **options)
        return Judgement(snapshot, len(which), agreed, {name: known[name] for name in names if name in known})
    direct: dict[Estimator, Estimate] = {}
    if predictions is not None:
        direct["direct"] = estimate_all(logged, chosen, rewards, predictions, **options)["direct"]
    by_item = None if earning == "any" else item_position_means(shown, drawn, rewards)
    bounds = None if earning == "worth" else prefix_bounds(shown, drawn, clicks, earning)
    return Judgement(snapshot, len(which), agreed, direct, bounds, by_item)


def _asked_for(
    log: ReplayableLog, snapshot: Snapshot, event: dict[str, Any], draws: int, rng: np.random.Generator
) -> tuple[Policy, IntArray] | None:
    """The policy for a logged request, and its lists (draws, k); None if it cannot make any."""
    owner = owner_of(event, snapshot.scope)
    catalog = log.catalog(event["catalog_version"])
    if owner is None or catalog is None:
        return None
    policy = snapshot.policy_of(owner, catalog)
    try:
        return policy, drawn_lists(policy, len(event["items"]), draws, rng, **asked(log, policy, event, catalog))
    except RankError:  # the settings changed between the request and its list
        return None

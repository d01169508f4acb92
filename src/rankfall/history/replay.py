"""The log of one policy, learned by another: what it would know, what it would show, what it might earn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from heapq import merge
from itertools import starmap
from typing import Any

import numpy as np
import polars as pl

from rankfall.catalog import Catalog
from rankfall.errors import ProblemError
from rankfall.history.estimate import OffPolicy, off_policy
from rankfall.history.exported import LoggedPrior, in_order
from rankfall.history.logged_outcomes import LoggedOutcomes
from rankfall.history.replayable import ReplayableLog
from rankfall.history.walk import Counts, Walk
from rankfall.policies import SERVED, LinearPolicy, Policy
from rankfall.policies.forgetting import Forgetting
from rankfall.policies.linear.prior import Prior
from rankfall.policies.linear.settings import Feedback
from rankfall.policies.registry import find_served_policy, settings_of
from rankfall.policies.rewards import Rewards
from rankfall.wire import Scope

NO_SUPPORT = (
    "no estimate: no list with feedback is known to be chosen at random, so the log says nothing about lists that were "
    'not shown. Set "randomize" in the settings of the model (0.1 shows one list in ten at random), over few '
    "candidates and short lists, so that the same list comes up often enough; in a click log of your own, give the "
    'probability of each list in the column "propensity", or of each item given those above in "propensity_given_above"'
)
NO_MATCH = (
    "no estimate: of {n} lists with a known chance below 1 none is one this policy would have shown. There are too "
    "many possible lists; randomize over fewer candidates or shorter lists, or log for longer"
)
FORGETS = "it forgets, and an outcome would have to fade with its list"
NO_PRIOR = (
    "Users of the logged model start from what all have shown, and here from nothing: {} has other weights than {}"
)
RULES_IGNORED = (
    "{n} lists of the log were made under rules, and the lists of this policy do not keep them: {why}. So it is judged "
    "by lists that could not have been shown"
)
CLICKS_ONLY = "The log has outcomes, and this policy learned from the clicks alone: {}"


@dataclass
class Replay:
    """What came of a replay. ``why`` says why there is no ``estimate``, if there is none.

    ``estimate`` is of the click rate; ``reward_estimate`` of what a list earns, where there are ``rewards``, and
    ``outcomes`` is how many were learned from. ``policy_of`` gives the policy with what it knows of an owner in the
    end, over a catalog.
    """

    model: str
    policy: str
    gamma: float
    scope: Scope
    forgetting: Forgetting | None
    counts: Counts
    weights: dict[str, float]
    policies: dict[str, Policy]
    policy_of: Callable[[str, Catalog], Policy]
    estimate: OffPolicy | None
    why: str | None
    notes: tuple[str, ...] = ()
    rewards: Mapping[str, float] | None = None
    outcomes: int = 0
    reward_estimate: OffPolicy | None = None

    def plain(self) -> dict[str, Any]:
        """All but the policies, for JSON."""
        plain = {name: getattr(self, name) for name in ("model", "policy", "gamma", "scope", "weights", "why", "notes")}
        return {
            **plain,
            "forgetting": None if self.forgetting is None else repr(self.forgetting),
            "rewards": None if self.rewards is None else dict(self.rewards),
            "states": len(self.policies),
            "counts": asdict(self.counts),
            "outcomes": self.outcomes,
            "support": self.support,
            "estimate": None if self.estimate is None else _plain(self.estimate),
            "reward_estimate": None if self.reward_estimate is None else _plain(self.reward_estimate),
        }

    @property
    def support(self) -> float:
        """The share of the lists with feedback that an estimate can be made from."""
        with_feedback = self.counts.lists - self.counts.without_feedback
        return self.counts.random / with_feedback if with_feedback else 0.0


def _plain(estimate: OffPolicy) -> dict[str, Any]:
    """An estimate, with the ends of its intervals."""
    plain = asdict(estimate)
    for name in ("ips", "self_normalised"):
        interval = getattr(estimate, name)
        if interval is not None:
            plain[name] |= {"low": interval.low, "high": interval.high}
    return plain


def replay(
    log: ReplayableLog,
    policy: str,
    gamma: float,
    scope: Scope | None = None,
    *,
    forgetting: Forgetting | None = None,
    feedback: Feedback | None = None,
    rewards: Rewards | None = None,
    every_list: bool = False,
    until: Any = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Replay:
    """Walk through a log with a fresh model of a policy.

    Lists are ranked in the order of their creation and learned in the order of the journal, each feedback after the
    lists created before it came. Resets and restores are passed over: the model learns from all of the log. If users of
    the logged model start from what all have shown, so do those of a policy with the same weights, by the same priors.

    Parameters
    ----------
    policy : the name of one that can be served, or ``module:Name`` of your own.
    scope : one state for all, or for each segment or user; as the logged model has it, if None.
    forgetting : how old lists count less and less, if at all.
    feedback : which items of a list were seen, if not as the policy has it.
    rewards : what a click and outcomes are worth; as to the logged model, if None.
    every_list : learn also from lists that the service did not learn from: control group, ``logging_only``, fallback.
    until : the moment at which to stop: what came later was neither shown nor learned; by default the end of the log.
    """
    scope, served = scope or log.scope, find_served_policy(policy)
    why_not = served.why_not_rewarded if forgetting is None else FORGETS
    if rewards is not None and why_not is not None:
        raise ProblemError(f"{policy} cannot learn rewards: {why_not}")
    rewards = rewards or log.rewards
    lists = log.events() if until is None else _known_at(until, log.events())
    outcomes = LoggedOutcomes(log, lists, rewards, until)

    across = scope == "user" and log.across_users
    fits = across and _weights_alike(served, SERVED[log.policy])
    known = settings_of(served)
    declared: dict[str, Any] = {
        name: value
        for name, value in zip(("context", "request_features"), log.declared, strict=True)
        if value is not None and name in known
    }

    def make(catalog: Catalog) -> Policy:
        shared = scope != "user"
        policy = served.serve(catalog, gamma=gamma, forgetting=forgetting, feedback=feedback, shared=shared, **declared)
        if fits and isinstance(policy, LinearPolicy):
            return policy.with_prior(Prior.identity(len(policy.weights)))
        return policy

    learned = rewards if why_not is None else None
    walk = Walk(log, make, scope, every_list=every_list, rewards=learned, outcomes=outcomes)
    notes = [*log.notes]
    if outcomes.rows and learned is None:
        notes.append(CLICKS_ONLY.format(why_not))
    if across and not fits:
        notes.append(NO_PRIOR.format(policy, log.policy))
    priors = [one for one in log.priors() if until is None or one.at <= until] if fits else []
    for what, row in _in_order(lists, outcomes, priors):
        walk.take(what, row)
        if what == "list":
            progress(1)
    if walk.ruled and served.why_not_ruled is not None:
        notes.append(RULES_IGNORED.format(n=walk.ruled, why=served.why_not_ruled))
    chances = walk.chances
    estimate = off_policy(chances.propensities, chances.clicks, chances.same)
    why = NO_SUPPORT if estimate is None else None
    if estimate is not None and not estimate.matched:
        why, estimate = NO_MATCH.format(n=estimate.lists), None
    return Replay(
        model=log.model,
        policy=policy,
        gamma=gamma,
        scope=walk.scope,
        forgetting=forgetting,
        counts=walk.counts,
        weights=_weights(walk),
        policies=walk.policies,
        policy_of=walk.policy,
        estimate=estimate,
        why=why,
        notes=tuple(notes),
        rewards=None if rewards is None else rewards.worth,
        outcomes=walk.earned,
        reward_estimate=None
        if rewards is None or estimate is None
        else off_policy(chances.propensities, chances.worth, chances.same),
    )


def _known_at(moment: Any, lists: pl.DataFrame) -> pl.DataFrame:
    """The lists that were there at a moment, with the feedback that was."""
    late = pl.col("feedback_at") > moment
    nothing = [pl.when(late).then(None).otherwise(pl.col(name)).alias(name) for name in ("result", "clicked")]
    return lists.filter(pl.col("created") <= moment).with_columns(nothing)


def _weights_alike(one: type[Policy], other: type[Policy]) -> bool:
    """Whether the weights of one policy mean what those of another do."""
    if not (issubclass(one, LinearPolicy) and issubclass(other, LinearPolicy)):
        return False
    return (one.coverage, one.relevance) == (other.coverage, other.relevance)


def _in_order(
    lists: pl.DataFrame, outcomes: LoggedOutcomes, priors: Sequence[LoggedPrior]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Lists, feedback, outcomes and priors, as the service saw them."""
    shown = lists.iter_rows(named=True)
    waiting = next(shown, None)
    for what, row in _journal(lists, outcomes, priors):
        until = max(row["created"], row["at"])  # clocks of several servers need not agree
        while waiting is not None and waiting["created"] <= until:
            yield "list", waiting
            waiting = next(shown, None)
        yield what, row
    while waiting is not None:
        yield "list", waiting
        waiting = next(shown, None)


def _journal(
    lists: pl.DataFrame, outcomes: LoggedOutcomes, priors: Sequence[LoggedPrior]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Feedback, outcomes and priors, in the order of the journal."""
    given = in_order(lists.filter(lists["result"].is_not_null())).rename({"feedback_at": "at"})
    feedback = given.select("event_id", "clicked", "created", "at", "seq").iter_rows(named=True)
    if not outcomes.rows and not priors:
        return (("feedback", row) for row in feedback)
    started = [{"seq": one.seq, "created": one.at, "at": one.at, "prior": one.prior} for one in priors]
    each = {"feedback": feedback, "outcome": outcomes.rows, "prior": started}
    return merge(*starmap(_told, each.items()), key=lambda one: int(one[1]["seq"]))


def _told(what: str, rows: Iterable[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((what, row) for row in rows)


def _weights(walk: Walk) -> dict[str, float]:
    """Weights by name; with several states the mean of those that know the name."""
    known: dict[str, list[float]] = defaultdict(list)
    for policy in walk.policies.values():
        for one in policy.learned():
            known[one.name].append(one.weight)
    return {name: float(np.mean(weights)) for name, weights in known.items()}

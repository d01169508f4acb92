"""The log of one policy, learned by another: what it would know, what it would show, what it might earn."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from heapq import merge
from itertools import starmap
from typing import Any

import numpy as np
import polars as pl

from rankfall.catalog import Catalog
from rankfall.errors import ProblemError, RankError
from rankfall.history.estimate import OffPolicy, off_policy
from rankfall.history.exported import LoggedPrior, in_order, rows_of
from rankfall.history.logged_outcomes import LoggedOutcomes, outcome_in
from rankfall.history.replayable import ReplayableLog
from rankfall.journal.entries import FeedbackGiven, OutcomeGiven
from rankfall.journal.outcomes import ListStory
from rankfall.policies import SERVED, LinearPolicy, Policy
from rankfall.policies.forgetting import Forgetting
from rankfall.policies.linear.prior import Prior
from rankfall.policies.linear.settings import Feedback
from rankfall.policies.list_rules import ListRules
from rankfall.policies.registry import find_served_policy, settings_of
from rankfall.policies.rewards import Rewards
from rankfall.wire import ModelSettings, Scope
from rankfall.wire.rules import rule_from_json

NO_SUPPORT = (
    "no estimate: no list with feedback is known to be chosen at random, so the log says nothing about lists that were "
    'not shown. Set "randomize" in the settings of the model (0.1 shows one list in ten at random), over few '
    "candidates and short lists, so that the same list comes up often enough; in a click log of your own, give the "
    'probability of each list in the column "propensity"'
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
class Counts:
    """What was done with the lists of the log. ``random``: chosen with a known chance below 1, drawn or not."""

    lists: int = 0
    ranked: int = 0
    same_list: int = 0
    same_top: int = 0
    random: int = 0
    learned: int = 0
    without_feedback: int = 0
    not_for_learning: int = 0
    without_owner: int = 0
    without_catalog: int = 0


@dataclass
class Replay:
    """What came of a replay. ``why`` says why there is no ``estimate``, if there is none.

    ``estimate`` is of the click rate; ``reward_estimate`` of what a list earns, where there are ``rewards``, and
    ``outcomes`` is how many were learned from.
    """

    model: str
    policy: str
    gamma: float
    scope: Scope
    forgetting: Forgetting | None
    counts: Counts
    weights: dict[str, float]
    policies: dict[str, Policy]
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


@dataclass
class _Chances:
    """What off-policy estimates are made of."""

    propensities: list[float] = field(default_factory=list)
    clicks: list[float] = field(default_factory=list)
    worth: list[float] = field(default_factory=list)
    same: list[bool] = field(default_factory=list)


class Walk:
    """A fresh model on its way through a log."""

    def __init__(
        self,
        log: ReplayableLog,
        make: Callable[[Catalog], Policy],
        scope: Scope,
        *,
        every_list: bool,
        rewards: Rewards | None,
        outcomes: LoggedOutcomes,
        told: tuple[bool, bool] = (False, False),
    ) -> None:
        self._log, self._make, self.scope = log, make, scope
        self._every_list, self._told = every_list, told
        self._rewards, self._outcomes = rewards, outcomes
        self._stories: dict[str, ListStory] = {}
        self.earned = 0
        self._prior: Prior | None = None
        self.ruled = 0
        """Lists that were made under rules."""
        self._templates: dict[int, Policy] = {}
        self.policies: dict[str, Policy] = {}
        self._pending: dict[str, tuple[str, bytes]] = {}
        self.counts = Counts()
        self.chances = _Chances()
        self._rng = np.random.default_rng(0)  # for policies that draw; a replay gives the same each time

    def show(self, event: dict[str, Any]) -> None:
        """Rank a logged request, compare, and keep what the logged list can teach until its feedback comes."""
        self.counts.lists += 1
        with_feedback = event["result"] is not None
        self.counts.without_feedback += not with_feedback
        owner = {"global": "", "segment": event["segment"], "user": event["user"]}[self.scope]
        if owner is None:
            self.counts.without_owner += 1
            return
        catalog = self._log.catalog(event["catalog_version"])
        rows = None if catalog is None else rows_of(catalog, event["items"])
        if catalog is None or rows is None or len(rows) < len(event["items"]):
            self.counts.without_catalog += 1
            return
        policy = self._policy(owner, catalog)
        situation = self._situation(event, catalog)
        self._compare(policy, event, catalog, rows, situation)
        if not with_feedback:
            return
        if event["learn"] or self._every_list:
            shown = policy.records(np.array([rows]))[0]
            if situation:
                given = policy.rank(len(rows), rng=self._rng, fixed=dict(enumerate(rows)), **situation)
                shown = policy.record(given)
            self._pending[event["event_id"]] = owner, shown
        else:
            self.counts.not_for_learning += 1

    def _situation(self, event: dict[str, Any], catalog: Catalog) -> dict[str, Any]:
        """The context of a logged request and the features of its candidates, as far as the policy knows of them."""
        said: dict[str, Any] = {}
        if self._told[0] and event.get("context") is not None:
            said["context"] = json.loads(event["context"])
        if self._told[1] and event.get("candidate_features") is not None:
            named = [(catalog.row(one["id"]), one["features"]) for one in json.loads(event["candidate_features"])]
            said["features"] = {row: features for row, features in named if row is not None}
        return said

    def _compare(
        self, policy: Policy, event: dict[str, Any], catalog: Catalog, rows: list[int], situation: dict[str, Any]
    ) -> None:
        k, settings = len(rows), self._log.settings(event["created"])
        limits = _limits(settings, event, catalog, k)
        if (rules := _rules(settings, event, catalog)) is not None:
            self.ruled += 1
            limits["rules"] = rules if policy.why_not_ruled is None else None
        try:
            own = policy.rank(k, rng=self._rng, **limits, **situation).items.tolist()
        except RankError:  # the settings changed between the request and its list
            return
        self.counts.ranked += 1
        self.counts.same_list += own == rows
        self.counts.same_top += own[0] == rows[0]
        if event["propensity"] is not None and event["propensity"] < 1.0 and event["result"] is not None:
            self.counts.random += 1
            self.chances.propensities.append(event["propensity"])
            self.chances.clicks.append(float(bool(event["clicked"])))
            self.chances.worth.append(self._outcomes.worth(event["event_id"], event["clicked"]))
            self.chances.same.append(own == rows)

    def learn(self, event_id: str, clicked: list[int]) -> None:
        """Take in the feedback on a list, and the outcomes that came before it."""
        if event_id not in self._pending:
            return
        owner, record = self._pending[event_id]
        if self._rewards is None:
            self.policies[owner].learn_record(record, clicked)
        else:
            story = self._stories.get(event_id, ListStory()).after(FeedbackGiven(tuple(clicked)), 0)
            self.policies[owner].learn_record(record, clicked, rewards=story.earned(self._rewards))
            self._stories[event_id] = story
        if event_id not in self._outcomes:  # nothing more comes of it
            del self._pending[event_id]
            self._stories.pop(event_id, None)
        self.counts.learned += 1

    def earn(self, event_id: str, outcome: OutcomeGiven) -> None:
        """Take in an outcome: at once where there was feedback, with the feedback otherwise."""
        if self._rewards is None or event_id not in self._pending:
            return
        story = self._stories.get(event_id, ListStory())
        self._stories[event_id] = story.after(outcome, 0)
        self.earned += 1
        if story.clicked is not None:
            owner, record = self._pending[event_id]
            reward = self._rewards.earned(outcome.type, outcome.value)
            earned = story.earned(self._rewards).get(outcome.position, 0.0)
            self.policies[owner].add_outcome_to_record(record, story.clicked, outcome.position, reward, earned=earned)

    def start_from(self, prior: Prior) -> None:
        """Have all users start from a prior, those who come later too."""
        self._prior = prior
        self._templates.clear()
        self.policies = {owner: _starting_from(prior, policy) for owner, policy in self.policies.items()}

    def _policy(self, owner: str, catalog: Catalog) -> Policy:
        """The policy with the state of an owner, over a catalog."""
        policy = self.policies.get(owner)
        if policy is None or policy.catalog is not catalog:
            template = self._templates.get(id(catalog))
            if template is None or template.catalog is not catalog:
                template = self._make(catalog)
                if self._prior is not None:
                    template = _starting_from(self._prior, template)
                self._templates[id(catalog)] = template
                while len(self._templates) > _TEMPLATES:
                    self._templates.pop(next(iter(self._templates)))
            policy = self.policies[owner] = template.fresh() if policy is None else template.sharing(policy)
        return policy


_TEMPLATES = 8


def _starting_from(prior: Prior, policy: Policy) -> Policy:
    """The policy with a prior, which may be older than some topics."""
    assert isinstance(policy, LinearPolicy)
    return policy.with_prior(policy.widened_prior(prior, range(policy.catalog.n_topics)))


def _limits(settings: ModelSettings, event: dict[str, Any], catalog: Catalog, k: int) -> dict[str, Any]:
    """What may be shown for a logged request, and what must be, as the service had it."""
    exclude = rows_of(catalog, event["exclude"])
    fixed = {}
    for pin in settings.pinned if event["arm"] == "policy" else ():
        row = catalog.row(pin.id)
        if row is not None and pin.position <= k and row not in (exclude or ()) and pin.id not in settings.blocked:
            fixed[pin.position - 1] = row
    if settings.blocked:
        exclude = list(dict.fromkeys([*(exclude or ()), *(rows_of(catalog, list(settings.blocked)) or ())]))
    return {"candidates": rows_of(catalog, event["candidates"]), "exclude": exclude, "fixed": fixed or None}


def _rules(settings: ModelSettings, event: dict[str, Any], catalog: Catalog) -> ListRules | None:
    """The rules of a logged list, at the moment it was made; None if it had none."""
    asked = [rule_from_json(rule) for rule in json.loads(event.get("rules") or "[]")]
    rules = [*settings.rules, *asked]
    return ListRules(rules, catalog, event["created"].timestamp(), checked=False) if rules else None


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
    """
    scope, served = scope or log.scope, find_served_policy(policy)
    why_not = (
        served.why_not_rewarded if forgetting is None else "it forgets, and outcomes would have to fade with lists"
    )
    if rewards is not None and why_not is not None:
        raise ProblemError(f"{policy} cannot learn rewards: {why_not}")
    rewards = rewards or log.rewards
    lists = log.events()
    outcomes = LoggedOutcomes(log, lists, rewards)

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
    told = "context" in declared, "request_features" in declared
    walk = Walk(log, make, scope, every_list=every_list, rewards=learned, outcomes=outcomes, told=told)
    notes = [*log.notes]
    if outcomes.rows and learned is None:
        notes.append(CLICKS_ONLY.format(why_not))
    if across and not fits:
        notes.append(NO_PRIOR.format(policy, log.policy))
    for what, row in _in_order(lists, outcomes, log.priors() if fits else []):
        if what == "list":
            walk.show(row)
            progress(1)
        elif what == "feedback":
            walk.learn(row["event_id"], row["clicked"])
        elif what == "prior":
            walk.start_from(row["prior"])
        else:
            walk.earn(row["event_id"], outcome_in(row))
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
        estimate=estimate,
        why=why,
        notes=tuple(notes),
        rewards=None if rewards is None else rewards.worth,
        outcomes=walk.earned,
        reward_estimate=None
        if rewards is None or estimate is None
        else off_policy(chances.propensities, chances.worth, chances.same),
    )


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

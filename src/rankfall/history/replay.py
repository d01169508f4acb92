"""The log of one policy, learned by another: what it would know, what it would show, what it might earn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from rankfall.catalog import Catalog
from rankfall.errors import RankError
from rankfall.history.estimate import OffPolicy, off_policy
from rankfall.history.exported import in_order, rows_of
from rankfall.history.replayable import ReplayableLog
from rankfall.policies import Policy
from rankfall.policies.forgetting import Forgetting
from rankfall.policies.linear.settings import Feedback
from rankfall.policies.registry import find_served_policy
from rankfall.wire import ModelSettings, Scope

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
    """What came of a replay. ``why`` says why there is no ``estimate``, if there is none."""

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

    def plain(self) -> dict[str, Any]:
        """All but the policies, for JSON."""
        plain = {name: getattr(self, name) for name in ("model", "policy", "gamma", "scope", "weights", "why", "notes")}
        estimate = None if self.estimate is None else asdict(self.estimate)
        for name in ("ips", "self_normalised"):
            interval = getattr(self.estimate, name, None)
            if estimate is not None and interval is not None:
                estimate[name] |= {"low": interval.low, "high": interval.high}
        return {
            **plain,
            "forgetting": None if self.forgetting is None else repr(self.forgetting),
            "states": len(self.policies),
            "counts": asdict(self.counts),
            "support": self.support,
            "estimate": estimate,
        }

    @property
    def support(self) -> float:
        """The share of the lists with feedback that an estimate can be made from."""
        with_feedback = self.counts.lists - self.counts.without_feedback
        return self.counts.random / with_feedback if with_feedback else 0.0


@dataclass
class _Chances:
    """What off-policy estimates are made of."""

    propensities: list[float] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    same: list[bool] = field(default_factory=list)


class Walk:
    """A fresh model on its way through a log."""

    def __init__(
        self, log: ReplayableLog, make: Callable[[Catalog], Policy], scope: Scope, *, every_list: bool
    ) -> None:
        self._log, self._make, self.scope = log, make, scope
        self._every_list = every_list
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
        self._compare(policy, event, catalog, rows)
        if not with_feedback:
            return
        if event["learn"] or self._every_list:
            self._pending[event["event_id"]] = owner, policy.records(np.array([rows]))[0]
        else:
            self.counts.not_for_learning += 1

    def _compare(self, policy: Policy, event: dict[str, Any], catalog: Catalog, rows: list[int]) -> None:
        k, settings = len(rows), self._log.settings(event["created"])
        limits = _limits(settings, event, catalog, k)
        try:
            own = policy.rank(k, rng=self._rng, **limits).items.tolist()
        except RankError:  # the settings changed between the request and its list
            return
        self.counts.ranked += 1
        self.counts.same_list += own == rows
        self.counts.same_top += own[0] == rows[0]
        if event["propensity"] is not None and event["propensity"] < 1.0 and event["result"] is not None:
            self.counts.random += 1
            self.chances.propensities.append(event["propensity"])
            self.chances.rewards.append(float(bool(event["clicked"])))
            self.chances.same.append(own == rows)

    def learn(self, event_id: str, clicked: list[int]) -> None:
        """Take in the feedback on a list."""
        if event_id in self._pending:
            owner, record = self._pending.pop(event_id)
            self.policies[owner].learn_record(record, clicked)
            self.counts.learned += 1

    def _policy(self, owner: str, catalog: Catalog) -> Policy:
        """The policy with the state of an owner, over a catalog."""
        policy = self.policies.get(owner)
        if policy is None or policy.catalog is not catalog:
            template = self._templates.get(id(catalog))
            if template is None or template.catalog is not catalog:
                template = self._templates[id(catalog)] = self._make(catalog)
                while len(self._templates) > _TEMPLATES:
                    self._templates.pop(next(iter(self._templates)))
            policy = self.policies[owner] = template.fresh() if policy is None else template.sharing(policy)
        return policy


_TEMPLATES = 8


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


def replay(
    log: ReplayableLog,
    policy: str,
    gamma: float,
    scope: Scope | None = None,
    *,
    forgetting: Forgetting | None = None,
    feedback: Feedback | None = None,
    every_list: bool = False,
    progress: Callable[[int], None] = lambda _: None,
) -> Replay:
    """Walk through a log with a fresh model of a policy.

    Lists are ranked in the order of their creation and learned in the order of the journal, each feedback after the
    lists created before it came. Resets and restores are passed over: the model learns from all of the log.

    Parameters
    ----------
    policy : the name of one that can be served, or ``module:Name`` of your own.
    scope : one state for all, or for each segment or user; as the logged model has it, if None.
    forgetting : how old lists count less and less, if at all.
    feedback : which items of a list were seen, if not as the policy has it.
    every_list : learn also from lists that the service did not learn from: control group, ``logging_only``, fallback.
    """
    scope, served = scope or log.scope, find_served_policy(policy)

    def make(catalog: Catalog) -> Policy:
        shared = scope != "user"
        return served.serve(catalog, gamma=gamma, forgetting=forgetting, feedback=feedback, shared=shared)

    walk = Walk(log, make, scope, every_list=every_list)
    for shown, event in _in_order(log):
        if shown:
            walk.show(event)
            progress(1)
        else:
            walk.learn(event["event_id"], event["clicked"])
    estimate = off_policy(walk.chances.propensities, walk.chances.rewards, walk.chances.same)
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
        notes=log.notes,
    )


def _in_order(log: ReplayableLog) -> Iterator[tuple[bool, dict[str, Any]]]:
    """Lists (True) and feedback (False), as the service saw them."""
    lists = log.events()
    given = in_order(lists.filter(lists["result"].is_not_null()))
    shown = lists.iter_rows(named=True)
    waiting = next(shown, None)
    for feedback in given.select("event_id", "clicked", "created", "feedback_at").iter_rows(named=True):
        until = max(feedback["created"], feedback["feedback_at"])  # clocks of several servers need not agree
        while waiting is not None and waiting["created"] <= until:
            yield True, waiting
            waiting = next(shown, None)
        yield False, feedback
    while waiting is not None:
        yield True, waiting
        waiting = next(shown, None)


def _weights(walk: Walk) -> dict[str, float]:
    """Weights by name; with several states the mean of those that know the name."""
    known: dict[str, list[float]] = defaultdict(list)
    for policy in walk.policies.values():
        for one in policy.learned():
            known[one.name].append(one.weight)
    return {name: float(np.mean(weights)) for name, weights in known.items()}

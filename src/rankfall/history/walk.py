"""A fresh model on its way through a log: it ranks every logged request, and learns the logged lists."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from rankfall.catalog import Catalog
from rankfall.errors import RankError
from rankfall.history.exported import rows_of
from rankfall.history.logged_outcomes import LoggedOutcomes, outcome_in
from rankfall.history.logged_requests import asked, owner_of, ruled, situation_of
from rankfall.history.replayable import ReplayableLog
from rankfall.journal.entries import FeedbackGiven, OutcomeGiven
from rankfall.journal.outcomes import ListStory
from rankfall.policies import LinearPolicy, Policy
from rankfall.policies.linear.prior import Prior
from rankfall.policies.rewards import Rewards
from rankfall.wire import Scope

Look: TypeAlias = Callable[[Policy, dict[str, Any], Catalog, list[int]], None]
"""Called with the policy as it is, a logged list, the catalog it was made from, and the rows shown."""


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
class Chances:
    """What off-policy estimates are made of."""

    propensities: list[float] = field(default_factory=list)
    clicks: list[float] = field(default_factory=list)
    worth: list[float] = field(default_factory=list)
    same: list[bool] = field(default_factory=list)


class Walk:
    """A fresh model on its way through a log. ``look`` sees each list before it is learned; by default it compares."""

    def __init__(
        self,
        log: ReplayableLog,
        make: Callable[[Catalog], Policy],
        scope: Scope,
        *,
        every_list: bool,
        rewards: Rewards | None,
        outcomes: LoggedOutcomes,
        look: Look | None = None,
    ) -> None:
        self._log, self._make, self.scope = log, make, scope
        self._every_list = every_list
        self._look = self._compare if look is None else look
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
        self.chances = Chances()
        self._rng = np.random.default_rng(0)  # for policies that draw; a replay gives the same each time

    def take(self, what: str, row: dict[str, Any]) -> None:
        """Take in what the log says next: a ``list``, ``feedback``, a ``prior`` or an ``outcome``."""
        if what == "list":
            self.show(row)
        elif what == "feedback":
            self.learn(row["event_id"], row["clicked"])
        elif what == "prior":
            self.start_from(row["prior"])
        else:
            self.earn(row["event_id"], outcome_in(row))

    def show(self, event: dict[str, Any]) -> None:
        """Rank a logged request, compare, and keep what the logged list can teach until its feedback comes."""
        self.counts.lists += 1
        with_feedback = event["result"] is not None
        self.counts.without_feedback += not with_feedback
        owner = owner_of(event, self.scope)
        if owner is None:
            self.counts.without_owner += 1
            return
        catalog = self._log.catalog(event["catalog_version"])
        rows = None if catalog is None else rows_of(catalog, event["items"])
        if catalog is None or rows is None or len(rows) < len(event["items"]):
            self.counts.without_catalog += 1
            return
        policy = self.policy(owner, catalog)
        situation = situation_of(policy, event, catalog)
        self._look(policy, event, catalog, rows)
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

    def _compare(self, policy: Policy, event: dict[str, Any], catalog: Catalog, rows: list[int]) -> None:
        k = len(rows)
        request = asked(self._log, policy, event, catalog)
        self.ruled += ruled(self._log, event)
        try:
            own = policy.rank(k, rng=self._rng, **request).items.tolist()
        except RankError:  # the settings changed between the request and its list
            return
        self.counts.ranked += 1
        self.counts.same_list += own == rows
        self.counts.same_top += own[0] == rows[0]
        chance = _chance_of(event)
        if chance is not None and 0.0 < chance < 1.0 and event["result"] is not None:
            self.counts.random += 1
            self.chances.propensities.append(chance)
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

    def policy(self, owner: str, catalog: Catalog) -> Policy:
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


def _chance_of(event: dict[str, Any]) -> float | None:
    """How likely a logged list was as a whole, if the log says so, or says it of each item given those above."""
    whole: float | None = event["propensity"]
    given: list[float] | None = event.get("propensity_given_above")
    return math.prod(given) if whole is None and given is not None else whole


def _starting_from(prior: Prior, policy: Policy) -> Policy:
    """The policy with a prior, which may be older than some topics."""
    assert isinstance(policy, LinearPolicy)
    return policy.with_prior(policy.widened_prior(prior, range(policy.catalog.n_topics)))

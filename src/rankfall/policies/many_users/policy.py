"""The contract of policies for many users, and what all of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from rankfall.errors import ProblemError
from rankfall.policies.clicks import Click
from rankfall.policies.linear.policy import LinearPolicy
from rankfall.policies.ranking import Ranking


class ManyUsers(ABC):
    """Ranks for a user and learns from a user, with one or more models of one linear policy.

    The contract is that of a policy, with a user before everything else: ``rank`` changes nothing that was learned,
    and ``update`` gets back the ranking it is about. A user is anything that can be the key of a dictionary.

    Parameters
    ----------
    policy : how each model ranks and learns: any linear policy that has learned nothing. If it has a prior, each model
        starts from it.

    Attributes
    ----------
    policy, n_items : that policy, and how many items it ranks.
    summary : of the class: what it is in a line.
    """

    summary: ClassVar[str] = ""

    def __init__(self, policy: LinearPolicy) -> None:
        if not isinstance(policy, LinearPolicy):
            raise ProblemError(f"policies for many users take a linear policy, got {policy!r}")
        if policy.n_updates:
            raise ProblemError(f"each user begins anew, and {policy!r} has learned already; give policy.fresh()")
        self.policy = policy
        self.n_items = policy.n_items
        self._models: dict[Hashable, LinearPolicy] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.policy!r}, {len(self._models)} models)"

    @abstractmethod
    def shares(self, user: Hashable) -> Hashable:
        """What users who share a model with this one have in common: their model's key."""

    def model_for(self, user: Hashable) -> LinearPolicy:
        """The model that ranks for this user, as it is now."""
        key = self.shares(user)
        model = self._models.get(key)
        if model is None:
            model = self._models[key] = self.new_model(key)
        return model

    def new_model(self, key: Hashable) -> LinearPolicy:  # noqa: ARG002 - where users differ from the start, it matters
        """A model that nobody has used yet."""
        return self.policy.fresh()

    @property
    def models(self) -> Mapping[Hashable, LinearPolicy]:
        """Every model that was used, by its key."""
        return self._models

    def rank(
        self,
        user: Hashable,
        k: int,
        *,
        rng: np.random.Generator | None = None,
        candidates: Iterable[int] | Iterable[str] | None = None,
        exclude: Iterable[int] | Iterable[str] | None = None,
        fixed: Mapping[int, int] | None = None,
        context: Mapping[str, Any] | None = None,
        features: Any = None,
    ) -> Ranking:
        """Make a list for this user; see :meth:`rankfall.Policy.rank`."""
        return self.model_for(user).rank(
            k, rng=rng, candidates=candidates, exclude=exclude, fixed=fixed, context=context, features=features
        )

    def update(self, user: Hashable, ranking: Ranking, click: Click) -> None:
        """Learn from this user's clicks; see :meth:`rankfall.Policy.update`."""
        self.model_for(user).update(ranking, click)
        self.count(1)

    # What simulations use, to learn from many lists at once.

    def lists_ahead(self) -> int | None:
        """After how many more lists models change other than by learning from their own users; None: never."""
        return None

    def count(self, lists: int) -> None:  # noqa: B027 - most policies have nothing to do then
        """So many more lists were learned from, no more than :meth:`lists_ahead`."""

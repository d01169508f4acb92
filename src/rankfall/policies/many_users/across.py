"""Learning across users: each has a model of their own, and all start from what the crowd knows."""

from __future__ import annotations

from collections.abc import Hashable

from rankfall.arrays import number, whole
from rankfall.errors import ProblemError
from rankfall.policies.linear.empirical_bayes import Statistics, learn_prior, rounds_again
from rankfall.policies.linear.policy import LinearPolicy
from rankfall.policies.linear.prior import Prior
from rankfall.policies.many_users.policy import ManyUsers


class AcrossUsers(ManyUsers):
    """A model for each user that starts from a prior learned from all of them: empirical Bayes.

    A new user begins with what the crowd knows, and departs from it as fast as their own clicks justify. What a user
    has shown is kept as sums that know nothing of the prior; see :mod:`rankfall.policies.linear.empirical_bayes`. The
    prior is learned again when the number of lists has grown by a share, so ever more rarely; then it takes the place
    of the earlier one in every model.

    Parameters
    ----------
    policy : how each model ranks and learns. If it has a prior, it holds until the first one is learned.
    first : after how many lists a prior is learned for the first time.
    growth : by what share the number of lists grows until it is learned again.

    >>> from rankfall import CascadeLinUCB, Catalog
    >>> users = AcrossUsers(CascadeLinUCB(Catalog(relevance=[[0.6, 0.0], [0.0, 0.5]])), first=40)
    >>> for turn in range(40):
    ...     name = "ann" if turn % 2 else "bob"
    ...     users.update(name, users.rank(name, 1, fixed={0: turn % 4 // 2}), 0 if turn % 4 > 1 else None)
    >>> users.prior, users.rank("a new user", 1)
    (Prior(2 columns, learned from 2 users), Ranking(1))
    """

    summary = "a model for each user, which starts from what the crowd knows"

    def __init__(self, policy: LinearPolicy, *, first: int = 100, growth: float = 0.25) -> None:
        super().__init__(policy)
        if policy.prior is None:
            self.policy = policy.with_prior(Prior.identity(len(policy.weights)))
        self.first = whole("first", first, ProblemError, low=1)
        self.growth = number("growth", growth, ProblemError, low=0.0)
        self._lists, self._due = 0, self.first

    @property
    def prior(self) -> Prior:
        """What a new user starts from."""
        assert self.policy.prior is not None
        return self.policy.prior

    def shares(self, user: Hashable) -> Hashable:
        """Nobody else: what is common is in the prior."""
        return user

    def statistics(self) -> Statistics:
        """What each user has shown, in the order in which they came."""
        owns = [model.model.own for model in self._models.values()]
        return Statistics.of([own for own in owns if own is not None], len(self.policy.weights))

    def refresh(self) -> None:
        """Learn the prior again, from what all users have shown so far."""
        rounds = rounds_again(len(self._models))
        self.start_from(learn_prior(self.statistics(), start=self.prior, rounds=rounds))

    def start_from(self, prior: Prior) -> None:
        """Put this prior in the place of the one that is there."""
        self.policy = self.policy.with_prior(prior)
        self._models = {user: model.with_prior(prior) for user, model in self._models.items()}

    def lists_ahead(self) -> int | None:
        """Until the prior is learned again."""
        return self._due - self._lists

    def count(self, lists: int) -> None:
        """Learn the prior again if it is time."""
        self._lists += lists
        if self._lists >= self._due:
            self.refresh()
            self._due = self._lists + max(1, int(self.growth * self._lists))

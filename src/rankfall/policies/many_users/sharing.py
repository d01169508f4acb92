"""Users apart, all together, or in segments: three fixed ways to share models."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from rankfall.policies.linear.policy import LinearPolicy
from rankfall.policies.many_users.policy import ManyUsers


class IndependentUsers(ManyUsers):
    """A model for each user, which begins with nothing: no user gains from another.

    >>> from rankfall import CascadeLinUCB, Catalog
    >>> users = IndependentUsers(CascadeLinUCB(Catalog(relevance=[[0.6, 0.0], [0.0, 0.5]])))
    >>> for _ in range(9):
    ...     users.update("ann", users.rank("ann", 1, exclude=[0]), 0)
    >>> users.rank("ann", 1), users.rank("bob", 1)
    (Ranking(1), Ranking(0))
    """

    summary = "a model for each user"

    def shares(self, user: Hashable) -> Hashable:
        """Nobody else."""
        return user


class SharedModel(ManyUsers):
    """One model for everyone, as if all were one user.

    >>> from rankfall import CascadeLinUCB, Catalog
    >>> users = SharedModel(CascadeLinUCB(Catalog(relevance=[[0.6, 0.0], [0.0, 0.5]])))
    >>> for _ in range(9):
    ...     users.update("ann", users.rank("ann", 1, exclude=[0]), 0)
    >>> users.rank("bob", 1)
    Ranking(1)
    """

    summary = "one model for everyone"

    def shares(self, user: Hashable) -> Hashable:  # noqa: ARG002 - all do
        """Everyone."""
        return None


class Segments(ManyUsers):
    """A model for each segment that the caller puts users in, by country, plan, or what else is known of them.

    Parameters
    ----------
    policy : how each model ranks and learns.
    segment_of : gives the segment of a user.

    >>> from rankfall import CascadeLinUCB, Catalog
    >>> country = {"ann": "se", "bo": "se", "chloe": "fr"}
    >>> users = Segments(CascadeLinUCB(Catalog(relevance=[[0.6, 0.0], [0.0, 0.5]])), country.__getitem__)
    >>> for _ in range(9):
    ...     users.update("ann", users.rank("ann", 1, exclude=[0]), 0)
    >>> users.rank("bo", 1), users.rank("chloe", 1)
    (Ranking(1), Ranking(0))
    """

    summary = "a model for each segment of the caller"

    def __init__(self, policy: LinearPolicy, segment_of: Callable[[Hashable], Hashable]) -> None:
        super().__init__(policy)
        self.segment_of = segment_of

    def shares(self, user: Hashable) -> Hashable:
        """Those in the same segment."""
        return self.segment_of(user)

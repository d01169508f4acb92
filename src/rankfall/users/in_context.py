"""Users whose preferences depend on the context of each visit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from rankfall.arrays import FloatArray, IntArray, finite, whole
from rankfall.errors import ProblemError
from rankfall.users.environment import Environment

Values: TypeAlias = Mapping[str, Any]
"""A context as requests have it: values by name."""

_BLOCK = 4096


class InContext:
    """A user who comes again and again, each time in another situation, and wants something else in each of them.

    :func:`rankfall.simulate` calls ``at(step)`` and ``context_at(step)`` before each list. Policies that have a
    ``context`` are told of it, as far as they have declared it. Regret is measured against the best list of that step.
    All other methods are those of step 0.

    Parameters
    ----------
    situations : each a context, and the user as they are in it.
    shares : how often each of them comes, in any unit; by default equally often.
    seed : situations are drawn with it; the same seed gives the same visits.

    >>> from rankfall.users import Cascade, PerItem, User
    >>> tired, awake = User(PerItem([0.8, 0.2]), Cascade()), User(PerItem([0.0, 0.6]), Cascade())
    >>> user = InContext([({"hour": 23}, tired), ({"hour": 10}, awake)], seed=1)
    >>> [user.context_at(step)["hour"] for step in range(6)], user.at(0) is awake
    ([10, 23, 10, 23, 23, 10], True)
    """

    def __init__(
        self, situations: Sequence[tuple[Values, Environment]], shares: ArrayLike | None = None, seed: int = 0
    ) -> None:
        if not situations:
            raise ProblemError("situations is empty; a user comes in at least one")
        self._contexts = [dict(context) for context, _ in situations]
        self._users = [user for _, user in situations]
        for user in self._users:
            if not isinstance(user, Environment):
                raise ProblemError(f"users of situations must be environments, got {user!r}")
            if user.n_items != self._users[0].n_items:
                raise ProblemError(
                    f"all users must have the same number of items, got {self._users[0].n_items} and {user.n_items}"
                )
        each = finite("shares", np.ones(len(situations)) if shares is None else shares, 1, ProblemError)
        if len(each) != len(situations) or not (each >= 0).all() or not each.sum() > 0:
            raise ProblemError(f"shares must be one number from 0 on for each of {len(situations)} situations")
        self._shares: FloatArray = each / each.sum()
        self._seed = whole("seed", seed, ProblemError, low=0)
        self._drawn: tuple[int, IntArray] = (-1, np.empty(0, dtype=np.int64))

    def __repr__(self) -> str:
        return f"InContext({len(self._users)} situations, seed={self._seed})"

    @property
    def n_items(self) -> int:
        """How many items the user may be shown."""
        return self._users[0].n_items

    def situation_at(self, step: int) -> int:
        """The number of the situation in which the list after ``step`` others is shown."""
        block, place = divmod(step, _BLOCK)
        drawn = self._drawn  # read and set as one, since several simulations may run at a time
        if drawn[0] != block:
            rng = np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=(block,)))
            drawn = self._drawn = block, rng.choice(len(self._users), size=_BLOCK, p=self._shares)
        return int(drawn[1][place])

    def at(self, step: int) -> Environment:
        """The user after ``step`` lists."""
        return self._users[self.situation_at(step)]

    def context_at(self, step: int) -> Values:
        """The context after ``step`` lists."""
        return self._contexts[self.situation_at(step)]

    def reward(self, items: IntArray) -> float:
        """Expected reward of a list at step 0."""
        return self.at(0).reward(items)

    def click(self, items: IntArray, coins: FloatArray) -> int | tuple[int, ...] | None:
        """Clicks at step 0."""
        return self.at(0).click(items, coins)

    def best(self, k: int) -> IntArray:
        """The list that regret is measured against at step 0."""
        return self.at(0).best(k)

"""Users who change while a policy learns."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable

from rankfall.arrays import FloatArray, IntArray, whole
from rankfall.errors import ProblemError
from rankfall.users.environment import Environment
from rankfall.users.mixture import Mixture
from rankfall.users.user import User


class Drifting:
    """A user who becomes another one, abruptly or little by little.

    :func:`rankfall.simulate` calls ``at(step)`` before each list, and measures regret against the best list of that
    step. All other methods are those of step 0.

    Parameters
    ----------
    changes : (step, user) pairs: from that step on, that is after so many lists, the user is this one. The first pair
        is at step 0, the others follow in ascending order.
    smooth : between two steps of ``changes``, the attraction of each item as shown moves in a straight line from one
        user to the next; after the last step it stays. Users must then be :class:`User`, alike in all but attraction.
    every : for smooth drift only: attraction changes every so many lists; by default a thousandth of the longest
        stretch.

    >>> from rankfall.users import Cascade, PerItem
    >>> one, other = User(PerItem([0.8, 0.2]), Cascade()), User(PerItem([0.0, 0.6]), Cascade())
    >>> abrupt = Drifting([(0, one), (1000, other)])
    >>> abrupt.at(999) is one, abrupt.at(1000) is other
    (True, True)
    >>> Drifting([(0, one), (1000, other)], smooth=True).at(250).attraction.alone
    array([0.6, 0.3])
    """

    def __init__(
        self, changes: Iterable[tuple[int, Environment]], *, smooth: bool = False, every: int | None = None
    ) -> None:
        given = list(changes)
        if not given:
            raise ProblemError("changes is empty; it needs at least the user of step 0")
        self._steps = [whole("a step of changes", step, ProblemError, low=0) for step, _ in given]
        self._users = [user for _, user in given]
        if self._steps[0] != 0:
            raise ProblemError(f"the first of changes must be at step 0, got {self._steps[0]}")
        for before, after in itertools.pairwise(self._steps):
            if after <= before:
                raise ProblemError(f"steps of changes must ascend, got {after} after {before}")
        for user in self._users:
            if not isinstance(user, Environment):
                raise ProblemError(f"users of changes must be environments, got {user!r}")
            if user.n_items != self._users[0].n_items:
                raise ProblemError(
                    f"all users must have the same number of items, got {self._users[0].n_items} and {user.n_items}"
                )
        self.smooth = smooth
        if every is not None and not smooth:
            raise ProblemError("every is for smooth drift only")
        longest = max((b - a for a, b in itertools.pairwise(self._steps)), default=1)
        self.every = math.ceil(longest / 1000) if every is None else whole("every", every, ProblemError, low=1)
        if smooth:
            _check_alike(self._users)
        self._last: tuple[int, int, Environment] = (0, 0, self._users[0])

    def __repr__(self) -> str:
        how = ", smooth=True" if self.smooth else ""
        return f"Drifting({list(zip(self._steps, self._users, strict=True))!r}{how})"

    @property
    def n_items(self) -> int:
        """How many items the user may be shown."""
        return self._users[0].n_items

    def at(self, step: int) -> Environment:
        """The user after ``step`` lists."""
        which = bisect.bisect_right(self._steps, step) - 1
        if which < 0:
            raise ProblemError(f"step must be a whole number from 0 on, got {step}")
        since = step - self._steps[which]
        if not self.smooth or which + 1 == len(self._users) or since < self.every:
            return self._users[which]
        since -= since % self.every
        before, after, user = self._last  # read and set as one, since several simulations may run at a time
        if (before, after) != (which, since):
            user = self._between(which, since / (self._steps[which + 1] - self._steps[which]))
            self._last = (which, since, user)
        return user

    def _between(self, which: int, weight: float) -> User:
        first, second = self._users[which : which + 2]
        assert isinstance(first, User)
        assert isinstance(second, User)
        return User(Mixture(first.attraction, second.attraction, weight), first.clicks, first.rewarded)

    def reward(self, items: IntArray) -> float:
        """Expected reward of a list at step 0."""
        return self._users[0].reward(items)

    def click(self, items: IntArray, coins: FloatArray) -> int | tuple[int, ...] | None:
        """Clicks at step 0."""
        return self._users[0].click(items, coins)

    def best(self, k: int) -> IntArray:
        """The list that regret is measured against at step 0."""
        return self._users[0].best(k)


def _check_alike(users: list[Environment]) -> None:
    first = users[0]
    for user in users:
        if not isinstance(user, User) or not isinstance(first, User):
            raise ProblemError(f"smooth drift goes from User to User, got {user!r}")
        if (repr(user.clicks), user.rewarded) != (repr(first.clicks), first.rewarded):
            raise ProblemError(
                f"smooth drift changes attraction only; got {first.clicks!r} with reward {first.rewarded!r} and "
                f"{user.clicks!r} with reward {user.rewarded!r}"
            )

"""What every simulated user can do."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from rankfall.arrays import FloatArray, IntArray


@runtime_checkable
class Environment(Protocol):
    """A user to learn from; :func:`check_environment` says in words whether an object is one.

    Two methods more are asked where they exist:

    - ``at(step)``: the environment as it is after ``step`` lists, for users who change. An environment that stays the
      same from one step to the next must come back as the same object. What the others answer then holds at step 0.
    - ``earned(items, coins)``: what a list earns with these coins; on average, ``reward(items)``. Without it a list
      earns 1 if it is clicked anywhere, and 0 if not.
    """

    @property
    def n_items(self) -> int:
        """How many items the user may be shown."""
        ...

    def reward(self, items: IntArray) -> float:
        """Expected reward of a list."""
        ...

    def click(self, items: IntArray, coins: FloatArray) -> int | tuple[int, ...] | None:
        """Position of the click, or of several, decided by one coin (uniform in [0, 1)) for each position."""
        ...

    def best(self, k: int) -> IntArray:
        """The list that regret is measured against."""
        ...

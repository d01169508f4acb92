"""What every simulated user must offer."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from rankfall.arrays import FloatArray, IntArray


@runtime_checkable
class Environment(Protocol):
    """A user to learn from; :func:`check_environment` says in words what an object lacks to be one.

    Three methods more are called where they exist:

    - ``at(step)``: the environment as it is after ``step`` lists, for users who change. As long as it stays the same,
      it must be the same object. The other methods then hold for step 0.
    - ``earned(items, coins)``: what a list earns with these coins; on average, ``reward(items)``. Without it a list
      earns 1 if it is clicked anywhere, and 0 if not.
    - ``covered(items)``: how many topics a list touches, and how many it covers, each weighted by how well.
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

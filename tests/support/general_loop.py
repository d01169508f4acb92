"""A user that no fast path of a simulation takes."""

from typing import Any

from rankfall import CascadeUser


class Stepwise(CascadeUser):
    """The user of the paper; as it has a ``click`` of its own, it is met in the general loop."""

    def click(self, items: Any, coins: Any) -> Any:
        return super().click(items, coins)

"""The user of the paper."""

from __future__ import annotations

from numpy.typing import ArrayLike

from rankfall.users.click_models import Cascade
from rankfall.users.hybrid import Hybrid
from rankfall.users.user import User


class CascadeUser(User):
    """The click simulator of section 4.1: reads from the top, clicks the first attractive item, and leaves.

    Short for ``User(Hybrid(coverage, relevance, theta, beta, tradeoff), Cascade())``.

    Parameters
    ----------
    coverage : (items, topics) in [0, 1]; the user's own, which policies may know only roughly.
    relevance : (items, features).
    theta, beta : the user's preferences for topics and features.
    tradeoff : the paper's lambda; 1 is all relevance, 0 all diversity.

    >>> user = CascadeUser([[0.5, 0.0], [0.5, 0.0], [0.0, 0.4]], [[0], [0], [0]], [0.6, 0.4], [0], tradeoff=0)
    >>> user.attraction_of([0, 1, 2])
    array([0.3 , 0.15, 0.16])
    >>> user.best(2)
    array([0, 2])
    """

    attraction: Hybrid

    def __init__(
        self, coverage: ArrayLike, relevance: ArrayLike, theta: ArrayLike, beta: ArrayLike, tradeoff: float = 0.5
    ) -> None:
        super().__init__(Hybrid(coverage, relevance, theta, beta, tradeoff), Cascade())

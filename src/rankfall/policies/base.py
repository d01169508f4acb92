"""What policies that are not linear share: the contract's questions and checks, around what each does its own way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import fields

import numpy as np

from rankfall.arrays import BoolArray, FloatArray, IntArray, frozen, whole
from rankfall.catalog import Catalog
from rankfall.errors import FeedbackError, ProblemError
from rankfall.policies.ranking import Click, Ranking, all_clicks, eligible

Size = int | Catalog
"""How many items there are, or a catalog of them."""

_PLAIN = Ranking(np.zeros(1, dtype=np.int64))
_REST = tuple(
    (each.name, getattr(_PLAIN, each.name)) for each in fields(Ranking) if each.name not in ("items", "scores", "note")
)


class BasePolicy(ABC):
    """Ranks and learns once it says by ``_list`` what to show, and by ``_learn`` what an answer means.

    What either is given has been checked, so that nothing is learned from an answer that makes no sense.

    Parameters
    ----------
    items : how many there are, or a catalog of them.

    >>> class InOrder(BasePolicy):
    ...     def _list(self, k, rows, rng):
    ...         return Ranking(rows[:k])
    ...     def _learn(self, ranking, clicks):
    ...         print(clicks)
    >>> policy = InOrder(4)
    >>> shown = policy.rank(2, exclude=[0])
    >>> policy, shown
    (InOrder(4 items), Ranking(1, 2))
    >>> policy.update(shown, 1)
    [1]
    """

    def __init__(self, items: Size) -> None:
        self._n_items = whole("items", len(items) if isinstance(items, Catalog) else items, ProblemError, low=1)
        self._rows: IntArray = np.arange(self._n_items)
        self._everything: BoolArray = np.ones(self._n_items, dtype=bool)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._n_items} items)"

    @property
    def n_items(self) -> int:
        """How many items there are to rank."""
        return self._n_items

    def rank(
        self,
        k: int,
        *,
        rng: np.random.Generator | None = None,
        candidates: Iterable[int] | None = None,
        exclude: Iterable[int] | None = None,
    ) -> Ranking:
        """Show ``k`` items, best first, out of ``candidates`` (all) without ``exclude`` (none)."""
        rows = self._rows
        if candidates is not None or exclude is not None or type(k) is not int or not 0 < k <= self._n_items:
            k, rows = eligible(k, self._n_items, candidates, exclude)
        return self._list(k, rows, rng)

    def update(self, ranking: Ranking, click: Click) -> None:
        """Learn from the answer to ``ranking``."""
        self._learn(ranking, self._checked(ranking, click))

    @abstractmethod
    def _list(self, k: int, rows: IntArray, rng: np.random.Generator | None) -> Ranking:
        """A list of ``k`` of the ``rows``, which ascend and are at least as many."""

    @abstractmethod
    def _learn(self, ranking: Ranking, clicks: list[int]) -> None:
        """Learn from a list of known rows, and the positions clicked, from the top."""

    def _checked(self, ranking: Ranking, click: Click) -> list[int]:
        """The positions clicked in a list that can be one of ours."""
        if not isinstance(ranking, Ranking):
            raise FeedbackError(f"expected the Ranking that was shown, got {type(ranking).__name__}")
        clicks = all_clicks(click, len(ranking.items))
        highest = max(ranking.items.tolist(), default=-1)
        if not 0 <= highest < self._n_items:
            said = f"row {highest} of {self._n_items} items" if highest >= 0 else "no items"
            raise FeedbackError(
                f"the ranking shows {said}; give back one that rank() made, "
                f"with rows from 0 to {self._n_items - 1} and its note"
            )
        return clicks

    def _not_ours(self, ranking: Ranking) -> FeedbackError:
        """What to raise when the note is not one that ``_list`` writes."""
        name = type(self).__name__
        return FeedbackError(f"the ranking must be one that {name} made, got one with the note {ranking.note!r}")

    def _mask(self, rows: IntArray) -> BoolArray:
        """Which items may be shown."""
        if len(rows) == self._n_items:
            return self._everything
        mask = np.zeros(self._n_items, dtype=bool)
        mask[rows] = True
        return mask


def as_shown(items: IntArray, note: object = None, scores: FloatArray = _PLAIN.scores) -> Ranking:
    """``Ranking(items, note=note, scores=scores)`` for rows of our own, which need no check and no copy: much faster.

    >>> as_shown(np.array([3, 1]))
    Ranking(3, 1)
    """
    ranking = object.__new__(Ranking)
    put = object.__setattr__
    put(ranking, "items", frozen(items))
    put(ranking, "scores", frozen(scores))
    put(ranking, "note", note)
    for name, value in _REST:
        put(ranking, name, value)
    return ranking

"""What policies that are not linear share: the contract's questions and checks, around what each does its own way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import numpy as np

from rankfall.arrays import BoolArray, IntArray, frozen, whole
from rankfall.catalog import Catalog
from rankfall.errors import FeedbackError, ProblemError
from rankfall.policies.ranking import Click, Ranking, all_clicks, eligible

Size = int | Catalog
"""How many items there are, or a catalog of them."""

_PLAIN = Ranking(np.zeros(1, dtype=np.int64))
_PUT = {each.name: getattr(Ranking, each.name).__set__ for each in fields(Ranking)}  # past what keeps it frozen
_DEFAULTS = tuple((put, getattr(_PLAIN, name)) for name, put in _PUT.items() if name not in ("items", "note"))
_put_items, _put_note = _PUT["items"], _PUT["note"]


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
        self._resize(whole("items", len(items) if isinstance(items, Catalog) else items, ProblemError, low=1))

    def _resize(self, n_items: int) -> None:
        """Rank so many items from now on."""
        self._n_items = n_items
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
        rows = ranking.items.tolist()
        clicks = all_clicks(click, len(rows))
        if not rows or max(rows) >= self._n_items:
            said = f"row {max(rows)} of {self._n_items} items" if rows else "no items"
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


def as_shown(items: IntArray, note: object = None, **more: Any) -> Ranking:
    """``Ranking(items, note=note, **more)`` of arrays of our own, which need no check and no copy: much faster.

    >>> as_shown(np.array([3, 1]), scores=np.array([0.5, 0.2])).scores
    array([0.5, 0.2])
    """
    ranking = object.__new__(Ranking)
    _put_items(ranking, frozen(items))
    _put_note(ranking, note)
    for put, value in _DEFAULTS:
        put(ranking, value)
    for name, value in more.items():
        _PUT[name](ranking, frozen(value) if isinstance(value, np.ndarray) else value)
    return ranking
